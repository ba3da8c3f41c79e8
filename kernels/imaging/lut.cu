#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/imaging/lut.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kLutThreads = 512;
constexpr std::uint32_t kLutLoadsInFlight = 4;
constexpr std::uint32_t kLanes = 32;
constexpr std::uint32_t kTableBytes = 256;
/// A table for every lane of a warp, each in a bank of its own: 32 lookups never wait for each other.
/// Entry e of lane l is byte e % 4 of word e / 4 of bank l.
constexpr std::uint32_t kSpreadBytes = kTableBytes * kLanes;

/// Entry `shift / 8` of the word's bytes, looked up.
[[nodiscard]] __device__ std::uint32_t look_up(const std::uint8_t* spread,
                                               std::uint32_t lane_offset, std::uint32_t word,
                                               std::uint32_t shift) {
  const std::uint32_t entry = word >> shift;
  return spread[((entry & 0xfcU) * kLanes) + ((entry & 3U) | lane_offset)];
}

template <std::uint32_t kTables, class Items>
__global__ void __launch_bounds__(kLutThreads)
    look_up_items(const __grid_constant__ Items items, std::uint32_t item_count) {
  __shared__ std::uint32_t spread[kTables * kSpreadBytes / sizeof(std::uint32_t)];
  __shared__ std::uint32_t plain[kTables * kTableBytes / sizeof(std::uint32_t)];
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(spread);
  const std::uint32_t lane_offset = threadIdx.x % kLanes * 4;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kLutThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kLutThreads + threadIdx.x;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const FullItemView item = items.for_block(index);
    if (item.input_bytes == 0) {
      continue;  // for the whole block
    }
    const auto* const table = static_cast<const std::uint8_t*>(item.table);
    __syncthreads();  // the tables of the item before this one are no longer needed
    for (std::uint32_t at = threadIdx.x; at < kTables * kTableBytes; at += kLutThreads) {
      reinterpret_cast<std::uint8_t*>(plain)[at] = table[at];
    }
    __syncthreads();
    for (std::uint32_t at = threadIdx.x; at < kTables * kSpreadBytes / 4; at += kLutThreads) {
      spread[at] = plain[at / kLanes];
    }
    __syncthreads();
    const auto* const input = static_cast<const uint4*>(item.input);
    auto* const output = static_cast<uint4*>(item.output);
    const std::uint64_t vectors = item.input_bytes / sizeof(uint4);
    for (std::uint64_t base = first; base < vectors; base += kLutLoadsInFlight * step) {
      uint4 loaded[kLutLoadsInFlight];
#pragma unroll
      for (std::uint32_t load = 0; load < kLutLoadsInFlight; ++load) {
        if (base + load * step < vectors) {
          loaded[load] = __ldcs(input + base + load * step);
        }
      }
#pragma unroll
      for (std::uint32_t load = 0; load < kLutLoadsInFlight; ++load) {
        const std::uint64_t vector = base + load * step;
        if (vector < vectors) {
          // Byte i of the item is of channel i % kTables, and 16 is 1 more than a multiple of 3.
          const auto turn = static_cast<std::uint32_t>(kTables == 3 ? vector % 3 : 0);
          std::uint32_t words[4] = {loaded[load].x, loaded[load].y, loaded[load].z, loaded[load].w};
          const std::uint8_t* tables[kTables];
#pragma unroll
          for (std::uint32_t channel = 0; channel < kTables; ++channel) {
            const std::uint32_t turned = channel + turn;
            tables[channel] =
                bytes + (turned >= kTables ? turned - kTables : turned) * kSpreadBytes;
          }
#pragma unroll
          for (std::uint32_t word = 0; word < 4; ++word) {
            std::uint32_t result = 0;
#pragma unroll
            for (std::uint32_t byte = 0; byte < 4; ++byte) {
              result |=
                  look_up(tables[(4 * word + byte) % kTables], lane_offset, words[word], 8 * byte)
                  << (8 * byte);
            }
            words[word] = result;
          }
          __stcs(output + vector, make_uint4(words[0], words[1], words[2], words[3]));
        }
      }
    }
    const std::uint64_t byte = vectors * sizeof(uint4) + threadIdx.x;
    if (blockIdx.x == 0 && byte < item.input_bytes) {
      const std::uint32_t entry = static_cast<const std::uint8_t*>(item.input)[byte];
      static_cast<std::uint8_t*>(item.output)[byte] = static_cast<std::uint8_t>(
          look_up(bytes + byte % kTables * kSpreadBytes, lane_offset, entry, 0));
    }
  }
}

template <std::uint32_t kTables>
int launch_tables(const overlap_batch& batch, OpaqueStream stream) {
  return launch_batch<FullItemView>(
      batch, stream, dim3(kLutThreads), batch.max_input_bytes / sizeof(uint4), kLutThreads,
      [&](const cudaLaunchConfig_t& config, const auto& items) {
        using Items = std::decay_t<decltype(items)>;
        return cudaLaunchKernelEx(&config, look_up_items<kTables, Items>, items, batch.item_count);
      });
}

}  // namespace

int launch_lut(const overlap_batch& batch, OpaqueStream stream) {
  switch (LutParams::from({batch.params, batch.param_count}).tables) {
    case 3:
      return launch_tables<3>(batch, stream);
    case 4:
      return launch_tables<4>(batch, stream);
    default:
      return launch_tables<1>(batch, stream);
  }
}

}  // namespace overlap
