#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace overlap {

/// NVRTC is not there, or is not what it should be. The message says where it was looked for.
class NvrtcAbsent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// NVRTC, found at run time: the program needs neither it nor its headers to be built or to start.
/// Stays loaded for the rest of the process. Thread safety: any.
class NvrtcLibrary {
 public:
  /// NVRTC's own `nvrtcProgram` and `nvrtcResult`; 0 is success.
  using Program = struct OpaqueNvrtcProgram*;
  using Result = int;

  /// @param path the library or its folder; empty: as the dynamic linker finds it, then in
  ///        `/usr/local/cuda/lib64`
  /// @throws NvrtcAbsent
  explicit NvrtcLibrary(const std::optional<std::string>& path);

  /// `13.0`
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// The file that was loaded, links resolved.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  // As declared by NVRTC, for every version from 11.1 on.
  const char* (*get_error_string)(Result) = nullptr;
  Result (*create_program)(Program*, const char* text, const char* name, int header_count,
                           const char* const* headers, const char* const* header_names) = nullptr;
  Result (*destroy_program)(Program*) = nullptr;
  Result (*compile_program)(Program, int option_count, const char* const* options) = nullptr;
  Result (*get_log_bytes)(Program, std::size_t*) = nullptr;
  Result (*get_log)(Program, char*) = nullptr;
  Result (*get_image_bytes)(Program, std::size_t*) = nullptr;
  Result (*get_image)(Program, char*) = nullptr;
  Result (*add_name_expression)(Program, const char*) = nullptr;
  Result (*get_lowered_name)(Program, const char* expression, const char** name) = nullptr;

 private:
  std::string version_;
  std::string file_;
};

}  // namespace overlap
