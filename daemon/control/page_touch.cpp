#include "daemon/control/page_touch.hpp"

#include "shared/channel_layout.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace overlap {
namespace {

constexpr std::size_t kPieceBytes = 16U << 20U;

int touch_piece(std::span<std::byte> piece) noexcept {
  int result = 0;
  do {
    result = ::madvise(piece.data(), piece.size(), MADV_POPULATE_WRITE);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  if (result == 0) {
    return 0;
  }
  if (errno != EINVAL) {
    return errno;
  }
  touch_each_page(piece);
  return 0;
}

}  // namespace

int touch_pages(std::span<std::byte> memory, unsigned thread_count,
                const std::function<bool()>& go_on) {
  const std::size_t piece_count = (memory.size() + kPieceBytes - 1) / kPieceBytes;
  std::atomic<std::size_t> next{0};
  std::atomic<int> error_number{0};
  const auto work = [&] {
    while (error_number.load(std::memory_order_relaxed) == 0 && go_on()) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= piece_count) {
        return;
      }
      const auto rest = memory.subspan(index * kPieceBytes);
      if (const int failed = touch_piece(rest.first(std::min(rest.size(), kPieceBytes)))) {
        error_number.store(failed, std::memory_order_relaxed);
      }
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t i = 1; i < std::min<std::size_t>(thread_count, piece_count); ++i) {
      others.emplace_back(work);
    }
  } catch (const std::system_error&) {
    // A limit on threads: those that there are do it.
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  return error_number.load(std::memory_order_relaxed);
}

void touch_each_page(std::span<std::byte> memory) noexcept {
  for (std::size_t offset = 0; offset < memory.size(); offset += kPageBytes) {
    // A write that changes nothing, not even a byte that the producer writes at this moment.
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(&memory[offset]), 0, __ATOMIC_RELAXED);
  }
}

}  // namespace overlap
