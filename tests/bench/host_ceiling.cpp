#include "tests/bench/host_ceiling.hpp"

#include "shared/channel_geometry.hpp"
#include "shared/monotonic_clock.hpp"

#include <sys/mman.h>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

namespace overlap::bench {

HostCeiling::HostCeiling(const Pipeline& pipeline, std::uint64_t slot_bytes,
                         std::uint32_t slot_count)
    : pipeline_(pipeline),
      slot_bytes_(slot_bytes),
      slot_count_(slot_count),
      mapped_bytes_(2 * stride_for(slot_bytes) * slot_count),
      memory_(nullptr) {
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
  const std::uint64_t stride = stride_for(slot_bytes_);
  const Stage& stage = pipeline_.stages().front();
  std::uint64_t output_bytes = slot_bytes_;
  std::uint32_t status = OVERLAP_ITEM_OK;
  overlap_batch_item item{};
  item.input = memory_ + slot * stride;
  item.input_bytes = slot_bytes_;
  item.output = memory_ + mapped_bytes_ / 2 + slot * stride;
  item.output_capacity_bytes = slot_bytes_;
  item.params = stage.params.data();
  item.output_bytes = &output_bytes;
  item.status = &status;
  overlap_batch batch{};
  batch.struct_bytes = sizeof batch;
  batch.item_stride_bytes = sizeof item;
  batch.item_count = 1;
  batch.param_count = static_cast<std::uint32_t>(stage.params.size());
  batch.items = &item;
  batch.params = stage.params.data();
  batch.max_input_bytes = slot_bytes_;
  stage.kernel->run(batch);
}

double HostCeiling::measure(std::uint32_t thread_count, std::chrono::milliseconds duration) {
  std::atomic<std::uint64_t> jobs{0};
  const std::uint64_t start_ns = monotonic_now_ns();
  const std::uint64_t end_ns =
      start_ns + static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      std::uint64_t done = 0;
      for (std::uint32_t slot = t % slot_count_; monotonic_now_ns() < end_ns;
           slot = (slot + thread_count) % slot_count_) {
        run_slot(slot);
        ++done;
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

}  // namespace overlap::bench
