#pragma once

#include "shared/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace overlap {

/// The input cannot be read.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bytes to send, read straight into a slot. Restricted: one thread.
class InputSource {
 public:
  virtual ~InputSource() = default;
  /// Bytes of one pass where that is known beforehand: for a regular file and a pattern.
  [[nodiscard]] virtual std::optional<std::uint64_t> pass_bytes() const noexcept = 0;
  /// To poll before a read that may block; -1 if none does.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  /// @return how many bytes were read; 0 at the end
  /// @throws InputError
  [[nodiscard]] virtual std::size_t read(std::span<std::byte> into) = 0;
  /// Begins another pass.
  /// @throws InputError
  virtual void rewind() = 0;
};

/// Generated numbers: the i-th little-endian float32, i counted over the whole stream, is
/// ((i * 2654435761) mod 2^32 >> 8) * 2^-8.
class PatternSource final : public InputSource {
 public:
  explicit PatternSource(std::uint64_t bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] std::optional<std::uint64_t> pass_bytes() const noexcept override { return bytes_; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
  void rewind() override { position_ = 0; }

 private:
  std::uint64_t bytes_;
  std::uint64_t position_ = 0;
};

/// A regular file from its current position on, or anything else that can be read.
class FileSource final : public InputSource {
 public:
  /// @throws InputError
  FileSource(FileDescriptor file, std::string name);
  /// @throws InputError naming the path
  [[nodiscard]] static std::unique_ptr<FileSource> open(const std::string& path);
  /// @throws InputError
  [[nodiscard]] static std::unique_ptr<FileSource> standard_input();

  [[nodiscard]] std::optional<std::uint64_t> pass_bytes() const noexcept override {
    return pass_bytes_;
  }
  [[nodiscard]] int descriptor() const noexcept override { return pass_bytes_ ? -1 : file_.get(); }
  [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
  void rewind() override;
  /// Whether this descriptor is of the same file.
  [[nodiscard]] bool is_same_file(int descriptor) const noexcept;

 private:
  FileDescriptor file_;
  std::string name_;
  std::int64_t start_ = 0;
  std::optional<std::uint64_t> pass_bytes_;
};

}  // namespace overlap
