#pragma once

#include "shared/file_descriptor.hpp"

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace overlap {

/// The output cannot be written: a full disk, a reader that has gone.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where results go. Restricted: one thread. @pre SIGPIPE is ignored
class OutputSink {
 public:
  OutputSink(FileDescriptor file, std::string name) noexcept
      : file_(std::move(file)), name_(std::move(name)) {}
  /// Opens or makes a file without emptying it yet.
  /// @throws OutputError
  [[nodiscard]] static OutputSink open(const std::string& path);
  /// @throws OutputError
  [[nodiscard]] static OutputSink standard_output();

  /// Empties a regular file; anything else is left alone.
  /// @throws OutputError
  void begin();
  /// Writes all of it.
  /// @throws OutputError
  void write(std::span<const std::byte> bytes);

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

 private:
  FileDescriptor file_;
  std::string name_;
};

}  // namespace overlap
