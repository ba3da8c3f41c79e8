#pragma once

#include <sys/mman.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <system_error>

namespace overlap {

/// Zeroed memory between two inaccessible pages, shared with forked children: a step over either
/// end is a SIGSEGV at that instruction, in every build. Restricted: one thread.
class GuardedMemory {
 public:
  static constexpr std::size_t kGuardBytes = 4096;

  /// @pre bytes is a multiple of the page
  explicit GuardedMemory(std::uint64_t bytes) : size_bytes_(bytes) {
    if (bytes == 0 || bytes % kGuardBytes != 0) {
      throw std::invalid_argument("guarded memory comes in whole pages");
    }
    void* const whole =
        ::mmap(nullptr, bytes + 2 * kGuardBytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (whole == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap");
    }
    whole_ = static_cast<std::byte*>(whole);
    protect(0, size_bytes_, PROT_READ | PROT_WRITE);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { ::munmap(whole_, size_bytes_ + 2 * kGuardBytes); }

  /// Starts at a page, one page after the start of the mapping.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {whole_ + kGuardBytes, size_bytes_};
  }

  /// Leaves only the pages of this range accessible: the rest guards it.
  void allow_only(std::uint64_t offset_bytes, std::uint64_t bytes) {
    const std::uint64_t first = offset_bytes / kGuardBytes * kGuardBytes;
    const std::uint64_t last = (offset_bytes + bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
    protect(0, size_bytes_, PROT_NONE);
    protect(first, last - first, PROT_READ | PROT_WRITE);
  }

  void allow_all() { protect(0, size_bytes_, PROT_READ | PROT_WRITE); }

 private:
  void protect(std::uint64_t offset_bytes, std::uint64_t bytes, int protection) {
    if (::mprotect(whole_ + kGuardBytes + offset_bytes, bytes, protection) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect");
    }
  }

  std::size_t size_bytes_;
  std::byte* whole_ = nullptr;
};

}  // namespace overlap
