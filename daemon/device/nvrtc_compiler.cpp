#include "daemon/device/nvrtc_compiler.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace overlap {
namespace {

namespace fs = std::filesystem;

/// A program of NVRTC's, given back at the end.
class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcLibrary& nvrtc, const SourceProgram& program)
      : nvrtc_(nvrtc), file_(program.file) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const SourceHeader& header : source_headers()) {
      texts.push_back(header.text);
      names.push_back(header.name);
    }
    check(nvrtc_.create_program(&handle_, program.text.c_str(), "overlap_source_kernel.cu",
                                static_cast<int>(texts.size()), texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram() { nvrtc_.destroy_program(&handle_); }

  [[nodiscard]] NvrtcLibrary::Program get() const noexcept { return handle_; }

  [[nodiscard]] std::string log() const {
    return text(nvrtc_.get_log_bytes, nvrtc_.get_log, "nvrtcGetProgramLog", 1);
  }
  [[nodiscard]] std::string image() const {
    return text(nvrtc_.get_image_bytes, nvrtc_.get_image, "nvrtcGetCUBIN", 0);
  }

  /// @throws SourceError if NVRTC does not do as it should
  void check(NvrtcLibrary::Result result, const char* call) const {
    if (result != 0) {
      throw SourceError(file_, 0, std::string(call) + ": " + nvrtc_.get_error_string(result));
    }
  }

 private:
  template <class SizeOf, class Read>
  [[nodiscard]] std::string text(SizeOf size_of, Read read, const char* call,
                                 std::size_t zeros_behind) const {
    std::size_t bytes = 0;
    check(size_of(handle_, &bytes), call);
    std::string result(bytes, '\0');
    check(read(handle_, result.data()), call);
    result.resize(bytes - std::min(bytes, zeros_behind));
    return result;
  }

  const NvrtcLibrary& nvrtc_;
  std::string file_;
  NvrtcLibrary::Program handle_ = nullptr;
};

/// The toolkit that NVRTC belongs to, else the one that is usual.
std::vector<std::string> find_include_folders(const std::string& library) {
  std::error_code ignored;
  for (const fs::path& folder : {fs::path(library).parent_path().parent_path() / "include",
                                 fs::path("/usr/local/cuda/include")}) {
    if (!fs::exists(folder / "cuda_fp16.h", ignored)) {
      continue;
    }
    std::vector<std::string> folders{folder.string()};
    // From 13.0 on libcu++ has a folder of its own.
    if (fs::is_directory(folder / "cccl", ignored)) {
      folders.push_back((folder / "cccl").string());
    }
    return folders;
  }
  return {};
}

/// Tells a header from the one that another version of the toolkit has in its place.
std::string state_of_header(const std::vector<std::string>& folders, const std::string& header) {
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path path = fs::path(folder) / header;
    const auto bytes = fs::file_size(path, error);
    if (error) {
      continue;
    }
    const auto written = fs::last_write_time(path, error);
    if (!error) {
      return path.string() + ", " + std::to_string(bytes) + " bytes of " +
             std::to_string(written.time_since_epoch().count());
    }
  }
  return header;
}

}  // namespace

NvrtcCompiler::NvrtcCompiler(const std::optional<std::string>& nvrtc_path, std::string architecture)
    : nvrtc_(nvrtc_path),
      architecture_(std::move(architecture)),
      include_folders_(find_include_folders(nvrtc_.file())),
      // As the built-in kernels, and the host: a * x + b rounds twice.
      options_{"--gpu-architecture=" + architecture_, "--std=c++20", "--fmad=false"} {
  for (const std::string& folder : include_folders_) {
    options_.push_back("--include-path=" + folder);
  }
}

std::string NvrtcCompiler::identity(const SourceProgram& program) const {
  std::string text = "NVRTC " + nvrtc_.version() + ", " + nvrtc_.file() + "\n";
  std::error_code ignored;
  text += std::to_string(fs::file_size(nvrtc_.file(), ignored)) + " bytes\n";
  for (const std::string& option : options_) {
    text += option + "\n";
  }
  for (const SourceHeader& header : source_headers()) {
    text.append(header.name).append("\n").append(header.text).append("\n");
  }
  for (const std::string& header : program.included) {
    text += state_of_header(include_folders_, header) + "\n";
  }
  return text;
}

CompiledSource NvrtcCompiler::compile(const SourceProgram& program) const {
  const NvrtcProgram handle(nvrtc_, program);
  handle.check(nvrtc_.add_name_expression(handle.get(), program.entry.c_str()),
               "nvrtcAddNameExpression");
  std::vector<const char*> options;
  for (const std::string& option : options_) {
    options.push_back(option.c_str());
  }
  const NvrtcLibrary::Result result =
      nvrtc_.compile_program(handle.get(), static_cast<int>(options.size()), options.data());
  CompiledSource compiled;
  compiled.log = with_positions(handle.log());
  if (result != 0) {
    throw SourceError(program.file, 0,
                      "does not compile with " + description() + ": " +
                          nvrtc_.get_error_string(result) + "\n" + compiled.log);
  }
  const char* name = nullptr;
  handle.check(nvrtc_.get_lowered_name(handle.get(), program.entry.c_str(), &name),
               "nvrtcGetLoweredName");
  compiled.entry = name;
  compiled.image = handle.image();
  return compiled;
}

std::string NvrtcCompiler::description() const {
  return "NVRTC " + nvrtc_.version() + " for " + architecture_ + " (" + nvrtc_.file() + ")";
}

std::string with_positions(std::string_view log) {
  std::string result;
  while (!log.empty()) {
    const std::size_t length = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, length);
    log.remove_prefix(std::min(length + 1, log.size()));
    const std::size_t close = line.find("): ");
    const std::size_t open = close == std::string_view::npos ? close : line.rfind('(', close);
    const auto is_digit = [](char character) { return character >= '0' && character <= '9'; };
    if (open != std::string_view::npos && open + 1 < close &&
        std::ranges::all_of(line.substr(open + 1, close - open - 1), is_digit)) {
      result.append(line.substr(0, open)).append(":");
      result.append(line.substr(open + 1, close - open - 1));
      line.remove_prefix(close + 1);
    }
    result.append(line).append("\n");
  }
  while (!result.empty() && result.back() == '\n') {
    result.pop_back();
  }
  return result;
}

}  // namespace overlap
