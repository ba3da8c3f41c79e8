#include "daemon/device/nvrtc_library.hpp"

#include <dlfcn.h>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

namespace overlap {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

std::vector<std::string> candidates(const std::optional<std::string>& path) {
  std::vector<std::string> result;
  const auto add_folder = [&result](const fs::path& folder) {
    for (const char* const name : kNames) {
      result.push_back((folder / name).string());
    }
  };
  std::error_code ignored;
  if (path && !fs::is_directory(*path, ignored)) {
    // With a slash, or the dynamic linker would look for it elsewhere.
    result.push_back(fs::absolute(*path).string());
  } else if (path) {
    add_folder(fs::absolute(*path));
  } else {
    result.assign(kNames.begin(), kNames.end());
    add_folder("/usr/local/cuda/lib64");
  }
  return result;
}

template <class Function>
void find_function(void* library, const std::string& file, const char* name, Function*& function) {
  void* const found = ::dlsym(library, name);
  if (found == nullptr) {
    throw NvrtcAbsent(file + " is no NVRTC that can be used: it has no " + name +
                      "; NVRTC of CUDA 12 or 13 is needed");
  }
  function = reinterpret_cast<Function*>(found);
}

std::string file_of(const void* function, const std::string& opened) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) {
    return opened;
  }
  std::error_code error;
  const fs::path resolved = fs::canonical(info.dli_fname, error);
  return error ? std::string(info.dli_fname) : resolved.string();
}

}  // namespace

NvrtcLibrary::NvrtcLibrary(const std::optional<std::string>& path) {
  void* library = nullptr;
  std::string opened;
  std::string reasons;
  for (const std::string& candidate : candidates(path)) {
    library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      opened = candidate;
      break;
    }
    const char* const reason = ::dlerror();
    reasons += "\n  " + (reason != nullptr ? std::string(reason) : candidate);
  }
  if (library == nullptr) {
    throw NvrtcAbsent(
        "NVRTC, which compiles source kernels, was not found; install it (cuda-nvrtc), or name its "
        "library or folder with nvrtc-path. Tried:" +
        reasons);
  }
  Result (*get_version)(int*, int*) = nullptr;
  find_function(library, opened, "nvrtcVersion", get_version);
  find_function(library, opened, "nvrtcGetErrorString", get_error_string);
  find_function(library, opened, "nvrtcCreateProgram", create_program);
  find_function(library, opened, "nvrtcDestroyProgram", destroy_program);
  find_function(library, opened, "nvrtcCompileProgram", compile_program);
  find_function(library, opened, "nvrtcGetProgramLogSize", get_log_bytes);
  find_function(library, opened, "nvrtcGetProgramLog", get_log);
  find_function(library, opened, "nvrtcGetCUBINSize", get_image_bytes);
  find_function(library, opened, "nvrtcGetCUBIN", get_image);
  find_function(library, opened, "nvrtcAddNameExpression", add_name_expression);
  find_function(library, opened, "nvrtcGetLoweredName", get_lowered_name);
  int major = 0;
  int minor = 0;
  if (const Result result = get_version(&major, &minor); result != 0) {
    throw NvrtcAbsent(opened + " does not say its version: " + get_error_string(result));
  }
  if (major < 12) {
    throw NvrtcAbsent(opened + " is NVRTC " + std::to_string(major) + "." + std::to_string(minor) +
                      "; NVRTC of CUDA 12 or 13 is needed");
  }
  version_ = std::to_string(major) + "." + std::to_string(minor);
  file_ = file_of(reinterpret_cast<const void*>(get_version), opened);
}

}  // namespace overlap
