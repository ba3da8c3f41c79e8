#include "tests/bench/host_ceiling.hpp"

#include "shared/channel_geometry.hpp"
#include "shared/monotonic_clock.hpp"
#include "tests/bench/payload.hpp"

#include <sys/mman.h>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

namespace overlap::bench {
namespace {

constexpr std::uint64_t kBytesBetweenClocks = 64U << 10U;

}  // namespace

HostCeiling::HostCeiling(std::uint64_t slot_bytes, std::uint32_t slot_count)
    : kernel_(pipeline_text(Work::scale)),
      slot_bytes_(slot_bytes),
      mapped_bytes_(2 * stride_for(slot_bytes) * slot_count) {
  // Shared and anonymous: the same kind of page as a channel's.
  void* mapped = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  memory_ = static_cast<std::byte*>(mapped);
  auto* values = reinterpret_cast<float*>(memory_);
  for (std::uint64_t i = 0; i < mapped_bytes_ / 2 / sizeof(float); ++i) {
    values[i] = static_cast<float>(i % 4093);
  }
}

HostCeiling::~HostCeiling() { ::munmap(memory_, mapped_bytes_); }

void HostCeiling::run_slot(std::uint32_t slot) {
  const std::uint64_t offset_bytes = slot * stride_for(slot_bytes_);
  kernel_.run(memory_ + offset_bytes, memory_ + mapped_bytes_ / 2 + offset_bytes, slot_bytes_);
}

void HostCeiling::fill_slot(std::uint32_t slot) {
  auto* const values = reinterpret_cast<float*>(memory_ + slot * stride_for(slot_bytes_));
  fill_payload({values, slot_bytes_ / sizeof(float)}, slot);
}

template <class SlotWork>
double HostCeiling::measure_with(std::uint32_t thread_count, std::uint32_t slot_count,
                                 std::chrono::milliseconds duration, SlotWork work) {
  std::atomic<std::uint64_t> jobs{0};
  const std::uint64_t start_ns = monotonic_now_ns();
  const std::uint64_t end_ns =
      start_ns + static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      std::uint64_t done = 0;
      std::uint32_t slot = t % slot_count;
      while (monotonic_now_ns() < end_ns) {
        // A clock reading costs as much as a tiny job.
        for (std::uint64_t bytes = 0; bytes < kBytesBetweenClocks; bytes += slot_bytes_) {
          work(slot);
          slot = (slot + thread_count) % slot_count;
          ++done;
        }
      }
      jobs += done;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const double seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
  return static_cast<double>(jobs) * static_cast<double>(slot_bytes_) / seconds * 1e-9;
}

double HostCeiling::measure(std::uint32_t thread_count, std::uint32_t slot_count,
                            std::chrono::milliseconds duration) {
  return measure_with(thread_count, slot_count, duration,
                      [this](std::uint32_t slot) { run_slot(slot); });
}

double HostCeiling::measure_filling(std::uint32_t thread_count, std::uint32_t slot_count,
                                    std::chrono::milliseconds duration) {
  return measure_with(thread_count, slot_count, duration,
                      [this](std::uint32_t slot) { fill_slot(slot); });
}

}  // namespace overlap::bench
