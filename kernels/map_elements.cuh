#pragma once

#include "kernels/batch_launch.cuh"

#include <cstring>

namespace overlap {

/// Puts `map` on every element of every item: 16 bytes a thread and load, the rest one by one.
/// Each byte is read and written once, so both are marked as streaming.
template <class Element, class Map, class Items>
__global__ void __launch_bounds__(kBlockThreads)
    map_elements(const __grid_constant__ Items items, std::uint32_t item_count,
                 const __grid_constant__ Map map) {
  constexpr std::uint32_t kPerVector = sizeof(uint4) / sizeof(Element);
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const auto* const input = static_cast<const uint4*>(item.input);
    auto* const output = static_cast<uint4*>(item.output);
    const std::uint64_t vectors = item.input_bytes / sizeof(uint4);
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
          for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
            elements[lane] = map(elements[lane]);
          }
          uint4 result;
          memcpy(&result, elements, sizeof result);
          __stcs(output + base + load * step, result);
        }
      }
    }
    const std::uint64_t done = vectors * kPerVector;
    const std::uint64_t tail = item.input_bytes / sizeof(Element) - done;
    if (blockIdx.x == 0 && threadIdx.x < tail) {
      const auto* const in = static_cast<const Element*>(item.input) + done;
      static_cast<Element*>(item.output)[done + threadIdx.x] = map(in[threadIdx.x]);
    }
  }
}

/// One launch of `map_elements` for the batch. @return as `launch_batch`
template <class Element, class Map>
int launch_map(const overlap_batch& batch, void* stream, Map map) {
  return launch_batch(batch, stream, dim3(kBlockThreads), batch.max_input_bytes / sizeof(uint4),
                      kBlockThreads, [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, map_elements<Element, Map, Items>, items,
                                                  batch.item_count, map);
                      });
}

}  // namespace overlap
