#pragma once

#include <sys/stat.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace overlap::test {

/// A folder for plug-ins that is gone at the end of the test.
class PluginFiles {
 public:
  PluginFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "overlap_plugins_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder like " + name);
    }
    folder_ = name;
  }
  ~PluginFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  PluginFiles(const PluginFiles&) = delete;
  PluginFiles& operator=(const PluginFiles&) = delete;

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] std::string path(std::string_view name) const {
    return folder_ + "/" + std::string(name);
  }
  /// A plug-in of this build, which lies beside the running program.
  [[nodiscard]] static std::string built(std::string_view kind) {
    return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "test_plugins" /
            (std::string(kind) + ".so"))
        .string();
  }
  /// Puts a copy of a built plug-in into the folder. @return its path
  std::string add(std::string_view kind, std::string_view name, mode_t mode = 0644) const {
    std::filesystem::copy_file(built(kind), path(name));
    set_mode(name, mode);
    return path(name);
  }
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    set_mode(name, 0644);
    return path(name);
  }
  void set_mode(std::string_view name, mode_t mode) const {
    if (::chmod(path(name).c_str(), mode) != 0) {
      throw std::runtime_error("chmod failed for " + path(name));
    }
  }

 private:
  std::string folder_;
};

}  // namespace overlap::test
