#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/numeric/histogram.hpp"

#include <cstring>

namespace overlap {
namespace {

constexpr std::uint32_t kWarpThreads = 32;
constexpr std::uint32_t kByteValues = 256;
/// What a block may have without asking for more, less 1 KiB: the item of a large batch is there too.
constexpr std::uint32_t kSharedBytes = 47 * 1024;
/// Copies of the bins are worth this much: six blocks fit a multiprocessor.
constexpr std::uint32_t kCopiesBytes = 32 * 1024;

/// A byte counts for its value; the bins are made of those at the end.
struct ByteBins {
  using Element = std::uint8_t;
  std::uint32_t bins;

  [[nodiscard]] __host__ __device__ std::uint32_t counters() const { return kByteValues; }
  [[nodiscard]] __device__ std::uint32_t counter_of(std::uint8_t x) const { return x; }
  [[nodiscard]] __device__ std::uint32_t bin_of(std::uint32_t counter) const {
    return counter * bins / kByteValues;
  }
};

/// The intrinsics round each step to nearest and are never fused.
struct FloatBins {
  using Element = float;
  std::uint32_t bins;
  double lower;
  double upper;
  double bins_per_unit;

  [[nodiscard]] __host__ __device__ std::uint32_t counters() const { return bins; }
  /// @return `bins` for what is not counted
  [[nodiscard]] __device__ std::uint32_t counter_of(float element) const {
    const auto x = static_cast<double>(element);
    if (!(x >= lower && x <= upper)) {
      return bins;
    }
    return min(__double2uint_rz(__dmul_rn(__dadd_rn(x, -lower), bins_per_unit)), bins - 1);
  }
  [[nodiscard]] __device__ std::uint32_t bin_of(std::uint32_t counter) const { return counter; }
};

template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    clear_counts(const __grid_constant__ Items items, std::uint32_t item_count,
                 std::uint32_t bins) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    if (item.input_bytes != 0) {
      auto* const counts = static_cast<std::uint32_t*>(item.output);
      const std::uint32_t step = gridDim.x * kBlockThreads;
      for (std::uint32_t bin = blockIdx.x * kBlockThreads + threadIdx.x; bin < bins; bin += step) {
        counts[bin] = 0;
      }
    }
  }
}

/// Calls `count` with every element of the item, 16 bytes a thread and load.
template <class Element, class Count>
__device__ void for_each_element(const ItemView& item, const Count& count) {
  constexpr std::uint32_t kPerVector = sizeof(uint4) / sizeof(Element);
  const auto* const input = static_cast<const uint4*>(item.input);
  const std::uint64_t vectors = item.input_bytes / sizeof(uint4);
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  for (std::uint64_t base = first; base < vectors; base += kLoadsInFlight * step) {
    uint4 loaded[kLoadsInFlight];
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadsInFlight; ++load) {
      if (base + load * step < vectors) {
        loaded[load] = __ldcs(input + base + load * step);
      }
    }
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadsInFlight; ++load) {
      if (base + load * step < vectors) {
        Element elements[kPerVector];
        memcpy(elements, &loaded[load], sizeof elements);
#pragma unroll
        for (const Element element : elements) {
          count(element);
        }
      }
    }
  }
  const std::uint64_t done = vectors * kPerVector;
  if (blockIdx.x == 0 && threadIdx.x < item.input_bytes / sizeof(Element) - done) {
    count(__ldcs(static_cast<const Element*>(item.input) + done + threadIdx.x));
  }
}

/// Counts in shared memory, `copies` counters for each value next to each other, and adds them to
/// the output. @pre the output was cleared; `copies` is a power of two up to a warp's threads
template <class Bins, class Items>
__global__ void __launch_bounds__(kBlockThreads)
    count_in_shared(const __grid_constant__ Items items, std::uint32_t item_count, const Bins bins,
                    std::uint32_t copies) {
  extern __shared__ std::uint32_t counters[];
  const std::uint32_t copy = threadIdx.x & (copies - 1);
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    if (item.input_bytes == 0) {
      continue;
    }
    for (std::uint32_t i = threadIdx.x; i < bins.counters() * copies; i += kBlockThreads) {
      counters[i] = 0;
    }
    __syncthreads();
    for_each_element<typename Bins::Element>(item, [&](typename Bins::Element element) {
      const std::uint32_t counter = bins.counter_of(element);
      if (counter < bins.counters()) {
        atomicAdd(&counters[counter * copies + copy], 1U);
      }
    });
    __syncthreads();
    auto* const counts = static_cast<std::uint32_t*>(item.output);
    for (std::uint32_t counter = threadIdx.x; counter < bins.counters(); counter += kBlockThreads) {
      std::uint32_t sum = 0;
      for (std::uint32_t i = 0; i < copies; ++i) {
        // Each thread begins at another copy, which lies in another bank.
        sum += counters[counter * copies + ((i + threadIdx.x) & (copies - 1))];
      }
      if (sum != 0) {
        atomicAdd(&counts[bins.bin_of(counter)], sum);
      }
    }
    __syncthreads();  // the counters are cleared again for the next item
  }
}

/// Bins that do not fit: each element is added to the output. @pre the output was cleared
template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    count_in_output(const __grid_constant__ Items items, std::uint32_t item_count,
                    const FloatBins bins) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    auto* const counts = static_cast<std::uint32_t*>(item.output);
    for_each_element<float>(item, [&](float element) {
      const std::uint32_t counter = bins.counter_of(element);
      if (counter < bins.counters()) {
        atomicAdd(&counts[counter], 1U);
      }
    });
  }
}

int clear_outputs(const overlap_batch& batch, OpaqueStream stream, std::uint32_t bins) {
  return launch_batch(batch, stream, dim3(kBlockThreads), bins, kBlockThreads,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, clear_counts<Items>, items,
                                                  batch.item_count, bins);
                      });
}

template <class Bins>
int count_with(const overlap_batch& batch, OpaqueStream stream, const Bins& bins) {
  const std::uint32_t counters_bytes = bins.counters() * std::uint32_t{sizeof(std::uint32_t)};
  std::uint32_t copies = kWarpThreads;
  while (copies > 1 && copies * counters_bytes > kCopiesBytes) {
    copies /= 2;
  }
  // A block adds all its bins to the output: it should have counted more elements than that.
  const std::uint64_t vectors = batch.max_input_bytes / sizeof(uint4);
  const std::uint32_t vectors_per_block =
      std::max(kBlockThreads * kLoadsInFlight / 2, bins.counters() / 2);
  return launch_batch(batch, stream, dim3(kBlockThreads), vectors, vectors_per_block,
                      [&](cudaLaunchConfig_t config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        config.dynamicSmemBytes = copies * counters_bytes;
                        return cudaLaunchKernelEx(&config, count_in_shared<Bins, Items>, items,
                                                  batch.item_count, bins, copies);
                      });
}

int count_many_bins(const overlap_batch& batch, OpaqueStream stream, const FloatBins& bins) {
  return launch_batch(batch, stream, dim3(kBlockThreads), batch.max_input_bytes / sizeof(uint4),
                      kBlockThreads, [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, count_in_output<Items>, items,
                                                  batch.item_count, bins);
                      });
}

}  // namespace

int launch_histogram(const overlap_batch& batch, OpaqueStream stream) {
  const HistogramParams wanted = HistogramParams::from({batch.params, batch.param_count});
  const int cleared = clear_outputs(batch, stream, wanted.bins);
  if (cleared != cudaSuccess) {
    return cleared;
  }
  if (wanted.type == HistogramType::u8) {
    return count_with(batch, stream, ByteBins{wanted.bins});
  }
  const FloatBins bins{wanted.bins, wanted.lower, wanted.upper, wanted.bins_per_unit()};
  return wanted.bins * sizeof(std::uint32_t) <= kSharedBytes ? count_with(batch, stream, bins)
                                                             : count_many_bins(batch, stream, bins);
}

}  // namespace overlap
