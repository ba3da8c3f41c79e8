#pragma once

#include "daemon/device/cuda_factory.hpp"
#include "daemon/device/device_memory.hpp"
#include "tests/gpu/spin_kernel.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>

namespace overlap::test {

/// Longer than any work of these tests takes, also under a checker and beside other processes on the
/// GPU; shorter than a `SpinKernel` spins.
inline constexpr std::chrono::seconds kEnough{30};

/// Asks until `done()` is true. @return whether that came in time
template <class Done>
[[nodiscard]] bool comes_true(const Done& done) {
  const auto give_up = std::chrono::steady_clock::now() + kEnough;
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

/// What becomes of an event; still `pending` if that takes too long.
[[nodiscard]] inline EventQuery outcome(Device& device, EventId event) {
  EventQuery last;
  (void)comes_true([&] {
    last = device.query(event);
    return last.state != EventState::pending;
  });
  return last;
}

/// Page-aligned host memory, pinned while it lives.
class PinnedPages {
 public:
  PinnedPages(Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      throw std::runtime_error("mmap");
    }
    data_ = static_cast<std::byte*>(mapped);
    if (!device_.pin(span()).ok()) {
      ::munmap(data_, bytes_);
      throw std::runtime_error("pin");
    }
  }
  PinnedPages(const PinnedPages&) = delete;
  PinnedPages& operator=(const PinnedPages&) = delete;
  ~PinnedPages() {
    EXPECT_TRUE(device_.unpin(data_).ok());
    ::munmap(data_, bytes_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::span<std::byte> span() const noexcept { return {data_, bytes_}; }

 private:
  Device& device_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

/// A `SpinWord` in pinned memory. Declare it last: when it goes, it releases what still spins.
class PinnedSpinWord {
 public:
  explicit PinnedSpinWord(Device& device)
      : pages_(device, 4096), word_(new (pages_.data()) SpinWord) {}
  ~PinnedSpinWord() { release(); }
  PinnedSpinWord(const PinnedSpinWord&) = delete;
  PinnedSpinWord& operator=(const PinnedSpinWord&) = delete;

  [[nodiscard]] SpinWord* get() const noexcept { return word_; }
  void release() noexcept {
    std::atomic_ref<std::uint32_t>(word_->released).store(1, std::memory_order_release);
  }
  /// @return whether a kernel has begun to spin, after waiting for it
  [[nodiscard]] bool is_spun_on() const {
    return comes_true([&] {
      return std::atomic_ref<std::uint32_t>(word_->running).load(std::memory_order_acquire) != 0;
    });
  }

 private:
  PinnedPages pages_;
  SpinWord* word_;
};

/// A batch of one job; its item lies in a host table.
class OneJob {
 public:
  OneJob(Device& device, const std::byte* input, std::byte* output, std::uint64_t bytes)
      : memory_(device, DeviceMemory::Kind::host_table, sizeof(Table)) {
    if (memory_.data() == nullptr) {
      throw std::runtime_error("allocate_host_table");
    }
    table_ = new (memory_.data()) Table{};
    table_->output_bytes = bytes;
    table_->item.input = input;
    table_->item.input_bytes = bytes;
    table_->item.output = output;
    table_->item.output_capacity_bytes = bytes;
    table_->item.output_bytes = &table_->output_bytes;
    table_->item.status = &table_->status;
    batch_.struct_bytes = sizeof(overlap_batch);
    batch_.item_stride_bytes = sizeof(overlap_batch_item);
    batch_.item_count = 1;
    batch_.items = &table_->item;
    batch_.device_items = &table_->item;
    batch_.max_input_bytes = bytes;
  }

  [[nodiscard]] const overlap_batch& batch() const noexcept { return batch_; }
  /// @pre the work is over
  [[nodiscard]] std::uint32_t status() const noexcept { return table_->status; }

 private:
  struct Table {
    overlap_batch_item item;
    std::uint64_t output_bytes;
    std::uint32_t status;
  };

  DeviceMemory memory_;
  Table* table_ = nullptr;
  overlap_batch batch_{};
};

/// A stream with buffers for one job, on both sides of the link.
class TestLane {
 public:
  TestLane(Device& device, std::size_t bytes)
      : device_(device),
        stream_(device.create_stream(StreamPriority::normal)),
        over_(device.create_event()),
        host_input_(device, bytes),
        host_output_(device, bytes),
        input_(device, DeviceMemory::Kind::buffer, bytes),
        output_(device, DeviceMemory::Kind::buffer, bytes),
        job_(device, input_.data(), output_.data(), bytes) {
    if (input_.data() == nullptr || output_.data() == nullptr) {
      throw std::runtime_error("allocate");
    }
    fill(1);
  }

  /// Puts bytes that tell one `seed` from another into the input, and none of them in the output.
  void fill(unsigned seed) {
    unsigned next = seed * 2654435761U;
    for (std::byte& byte : host_input_.span()) {
      next = next * 1664525U + 1013904223U;
      byte = static_cast<std::byte>(next >> 24U);
    }
    for (std::size_t index = 0; index < host_input_.span().size(); ++index) {
      host_output_.data()[index] = ~host_input_.data()[index];
    }
  }

  [[nodiscard]] bool copies_in() {
    const CopyRange range{input_.data(), host_input_.data(), host_input_.span().size()};
    return device_.copy_in(stream_, {&range, 1}).ok();
  }
  [[nodiscard]] bool launches(const Kernel& kernel) {
    return device_.launch(stream_, kernel, job_.batch()).ok();
  }
  [[nodiscard]] bool copies_out() { return copies_out(output_); }
  /// The input as it is on the device, without any kernel.
  [[nodiscard]] bool copies_input_back() { return copies_out(input_); }
  [[nodiscard]] bool records() { return device_.record(over_, stream_).ok(); }
  /// In, kernel, out, event.
  [[nodiscard]] bool issues(const Kernel& kernel) {
    return copies_in() && launches(kernel) && copies_out() && records();
  }

  /// Whether the output holds the input. @pre the work is over
  [[nodiscard]] bool has_result() const {
    return std::ranges::equal(host_input_.span(), host_output_.span());
  }
  [[nodiscard]] StreamId stream() const noexcept { return stream_; }
  [[nodiscard]] EventId over() const noexcept { return over_; }
  [[nodiscard]] const OneJob& job() const noexcept { return job_; }

 private:
  [[nodiscard]] bool copies_out(const DeviceMemory& from) {
    const CopyRange range{host_output_.data(), from.data(), host_output_.span().size()};
    return device_.copy_out(stream_, {&range, 1}).ok();
  }

  Device& device_;
  StreamId stream_;
  EventId over_;
  PinnedPages host_input_;
  PinnedPages host_output_;
  DeviceMemory input_;
  DeviceMemory output_;
  OneJob job_;
};

/// A test with the first GPU; skipped where there is none.
class CudaFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    // A GPU that was there is not to be missed in silence: an earlier test has lost it.
    static bool was_there = false;
    CudaProbe probe = make_cuda_device(0);
    ASSERT_TRUE(probe.device != nullptr || !was_there) << "the GPU is gone: " << probe.why_not;
    was_there = was_there || probe.device != nullptr;
    if (probe.device == nullptr) {
      GTEST_SKIP() << "no GPU: " << probe.why_not;
    }
    device_ = std::move(probe.device);
  }

  [[nodiscard]] Device& device() noexcept { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace overlap::test
