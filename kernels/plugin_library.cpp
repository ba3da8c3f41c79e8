#include "kernels/plugin_library.hpp"

#include "kernels/plugin_kernel.hpp"
#include "kernels/plugin_text.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

namespace overlap {
namespace {

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

/// A descriptor until it is kept for good.
class OpenFile {
 public:
  explicit OpenFile(int fd) noexcept : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Why others could change what this descriptor is of; empty if they could not.
std::string why_not_safe(int fd, bool wants_folder) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    return "cannot be examined: " + error_text(errno);
  }
  if (wants_folder ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode)) {
    return wants_folder ? "is no folder" : "is no regular file";
  }
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return "belongs to uid " + std::to_string(status.st_uid) + ", neither to root nor to uid " +
           std::to_string(::geteuid()) + " of this process; chown it";
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return std::string("can be written by ") +
           ((status.st_mode & S_IWOTH) != 0 ? "everybody" : "its group") + "; chmod go-w it";
  }
  return {};
}

/// The names of a folder's libraries, in alphabetical order.
/// @throws PluginError if it cannot be listed to its end
std::vector<std::string> library_names(int folder_fd) {
  constexpr std::string_view kEnding = ".so";
  const auto failure = [] { return PluginError("cannot be listed: " + error_text(errno)); };
  OpenFile listed(::fcntl(folder_fd, F_DUPFD_CLOEXEC, 0));
  if (!listed) {
    throw failure();
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listed.get()), &::closedir);
  if (entries == nullptr) {
    throw failure();
  }
  listed.release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;  // the end and a failure both give null
    const dirent* const entry = ::readdir(entries.get());
    if (entry == nullptr) {
      if (errno != 0) {
        throw failure();
      }
      break;
    }
    const std::string_view name(entry->d_name);
    if (name.front() != '.' && name.size() > kEnding.size() &&
        name.substr(name.size() - kEnding.size()) == kEnding) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// What the loader says, without the name that it knows the file by.
std::string loader_text(const std::string& opened_name) {
  const char* const said = ::dlerror();
  std::string text = printable(said == nullptr ? "the loader does not say why" : said);
  if (text.compare(0, opened_name.size() + 2, opened_name + ": ") == 0) {
    text.erase(0, opened_name.size() + 2);
  }
  return text;
}

/// Opens and checks one library, and adds its kernels: all of them or none.
/// @throws PluginError
LoadedPlugin load(const std::string& file, OpenFile& opened, KernelRegistry& registry) {
  if (const std::string why = why_not_safe(opened.get(), false); !why.empty()) {
    throw PluginError(why);
  }
  const std::string opened_name = "/proc/self/fd/" + std::to_string(opened.get());
  void* const library = ::dlopen(opened_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw PluginError("cannot be loaded: " + loader_text(opened_name));
  }
  // Open for good from here on. Another file with this number would be taken for this library.
  opened.release();
  using Entry = const overlap_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, OVERLAP_PLUGIN_ENTRY));
  if (entry == nullptr) {
    throw PluginError(std::string("is no plug-in: it exports no function ") + OVERLAP_PLUGIN_ENTRY);
  }
  const PluginDeclaration declared = read_plugin(entry());
  LoadedPlugin loaded{file, declared.name, declared.version, {}};
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (const overlap_kernel* const kernel : declared.kernels) {
    kernels.push_back(std::make_unique<PluginKernel>(*kernel, file));
    const std::string name(kernels.back()->name());
    if (const Kernel* const holder = registry.find(name)) {
      throw PluginError("kernel '" + name + "' is taken (" + std::string(holder->origin()) +
                        "); rename it, or remove one of the two");
    }
    if (std::find(loaded.kernels.begin(), loaded.kernels.end(), name) != loaded.kernels.end()) {
      throw PluginError("it declares kernel '" + name + "' twice");
    }
    loaded.kernels.push_back(name);
  }
  for (std::unique_ptr<Kernel>& kernel : kernels) {
    registry.add(std::move(kernel));
  }
  return loaded;
}

}  // namespace

PluginFolder load_plugins(const std::string& folder, KernelRegistry& registry) {
  const OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) {
    throw PluginFolderError("the plug-in folder " + folder +
                            " cannot be opened: " + error_text(errno));
  }
  PluginFolder result;
  const auto refuse = [&](const std::string& file, const std::string& reason) {
    result.refused.push_back({file, reason});
    registry.add_refused(result.refused.back());
  };
  if (const std::string why = why_not_safe(opened.get(), true); !why.empty()) {
    refuse(folder, why);
    return result;
  }
  std::vector<std::string> names;
  try {
    names = library_names(opened.get());
  } catch (const PluginError& error) {
    refuse(folder, error.what());
    return result;
  }
  for (const std::string& name : names) {
    const std::string file = folder + (folder.back() == '/' ? "" : "/") + name;
    // Not blocking: a pipe of that name would wait for its writer.
    OpenFile library(::openat(opened.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!library) {
      refuse(file, "cannot be opened: " + error_text(errno));
      continue;
    }
    try {
      result.loaded.push_back(load(file, library, registry));
    } catch (const PluginError& error) {
      refuse(file, error.what());
    }
  }
  return result;
}

}  // namespace overlap
