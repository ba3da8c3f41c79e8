#include "tests/gpu/spin_kernel.hpp"

#include "kernels/batch_items.hpp"

#include <cuda_runtime.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace overlap::test {
namespace {

constexpr std::chrono::seconds kPatience{60};

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// @return whether it was released in time
__device__ bool spin(volatile SpinWord* word, std::uint64_t patience_ns) {
  word->running = 1;
  const std::uint64_t start = nanoseconds();
  while (word->released == 0) {
    if (nanoseconds() - start > patience_ns) {
      return false;
    }
    __nanosleep(500);
  }
  // What the host wrote before the release is read after it.
  __threadfence_system();
  return true;
}

/// One block an item.
__global__ void spin_then_copy(volatile SpinWord* word, std::uint64_t patience_ns,
                               const std::byte* items, std::uint32_t stride_bytes) {
  const auto& item = *reinterpret_cast<const overlap_batch_item*>(
      items + static_cast<std::size_t>(blockIdx.x) * stride_bytes);
  __shared__ bool released;
  if (threadIdx.x == 0) {
    released = spin(word, patience_ns);
    if (!released) {
      *item.status = OVERLAP_ITEM_FAILED;
    }
  }
  __syncthreads();
  if (!released) {
    return;
  }
  const auto* const input = static_cast<const unsigned char*>(item.input);
  auto* const output = static_cast<unsigned char*>(item.output);
  for (std::uint64_t byte = threadIdx.x; byte < item.input_bytes; byte += blockDim.x) {
    output[byte] = input[byte];
  }
}

}  // namespace

PlanOrRefusal SpinKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = Path::copy | Path::mapped;
  return plan;
}

void SpinKernel::run(const overlap_batch& batch) const {
  std::atomic_ref<std::uint32_t>(word_->running).store(1, std::memory_order_relaxed);
  const std::atomic_ref<std::uint32_t> released(word_->released);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  bool go_on = false;
  // Acquires what the host wrote before it released.
  while (!(go_on = released.load(std::memory_order_acquire) != 0) &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    if (!go_on) {
      *item.status = OVERLAP_ITEM_FAILED;
    } else if (item.input_bytes != 0) {
      std::memcpy(item.output, item.input, item.input_bytes);
    }
  }
}

int SpinKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  constexpr std::uint64_t kPatienceNs = std::chrono::nanoseconds(kPatience).count();
  spin_then_copy<<<batch.item_count, block_threads_, 0, static_cast<cudaStream_t>(stream)>>>(
      word_, kPatienceNs, reinterpret_cast<const std::byte*>(batch.device_items),
      batch.item_stride_bytes);
  return cudaGetLastError();
}

std::uint64_t SpinKernel::reference(const ReferenceJob& job) const {
  std::copy(job.input.begin(), job.input.end(), job.output.begin());
  return job.input.size();
}

}  // namespace overlap::test
