#pragma once

#include "kernels/overlap_kernel.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace overlap {

/// Threads of a block in the element-wise kernels.
inline constexpr std::uint32_t kBlockThreads = 256;
/// Independent 16-byte loads a thread keeps in flight; measured best over PCIe.
inline constexpr std::uint32_t kLoadsInFlight = 8;
/// Up to here a batch travels in the launch itself; beyond, the GPU reads the items over the bus.
inline constexpr std::uint32_t kInlineItemLimit = 16;
/// The largest grid.y; more items than that share blocks.
inline constexpr std::uint32_t kMaxGridItems = 65'535;

/// What a kernel here needs to know of one item.
struct ItemView {
  const void* input;
  void* output;
  std::uint64_t input_bytes;
  const void* table;
};

/// The items of a small batch, by value in the kernel's parameters.
struct InlineItems {
  ItemView views[kInlineItemLimit];

  [[nodiscard]] __device__ ItemView for_block(std::uint32_t index) const { return views[index]; }
};

/// The items of a large batch, in memory that the host wrote.
struct MappedItems {
  const std::byte* first;
  std::uint32_t stride_bytes;

  /// One thread reads the item over the bus for its whole block.
  /// @pre every thread of the block calls it
  [[nodiscard]] __device__ ItemView for_block(std::uint32_t index) const {
    __shared__ ItemView view;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
      const auto* const item =
          reinterpret_cast<const overlap_batch_item*>(first + std::size_t{index} * stride_bytes);
      view = ItemView{item->input, item->output, item->input_bytes, item->table};
    }
    __syncthreads();
    return view;
  }
};

/// Multiprocessors of the current device, asked once per device. Thread safety: any.
/// @param[out] count at least 1 on success
[[nodiscard]] cudaError_t multiprocessor_count(std::uint32_t& count);

[[nodiscard]] InlineItems inline_items(const overlap_batch& batch);

/// Blocks in x for items of up to `work_units`, of which a block does `units_per_block` at a time:
/// enough to fill the GPU over the whole batch, and no more than there is work.
[[nodiscard]] constexpr std::uint32_t blocks_per_item(std::uint64_t work_units,
                                                      std::uint32_t units_per_block,
                                                      std::uint32_t item_count,
                                                      std::uint32_t resident_blocks) {
  const std::uint64_t useful = (work_units + units_per_block - 1) / units_per_block;
  const std::uint64_t share = (std::uint64_t{resident_blocks} + item_count - 1) / item_count;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(useful, 1, std::max<std::uint64_t>(share, 1)));
}

/// Launches once for the whole batch: blocks of `block` threads, `work_units` in x, items in y.
/// @param launch called as `launch(config, items)`; returns what `cudaLaunchKernelEx` returned
/// @return the error of this launch alone, as a number; it is not left behind for a later call
template <class Launch>
int launch_batch(const overlap_batch& batch, void* stream, dim3 block, std::uint64_t work_units,
                 std::uint32_t units_per_block, const Launch& launch) {
  if (batch.max_input_bytes == 0) {
    return cudaSuccess;
  }
  const bool travels_inline = batch.item_count <= kInlineItemLimit;
  if (!travels_inline && batch.device_items == nullptr) {
    return cudaErrorInvalidValue;
  }
  std::uint32_t multiprocessors = 0;
  cudaError_t status = multiprocessor_count(multiprocessors);
  if (status == cudaSuccess) {
    const std::uint32_t resident = multiprocessors * (2048 / (block.x * block.y));
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks_per_item(work_units, units_per_block, batch.item_count, resident),
                          std::min(batch.item_count, kMaxGridItems));
    config.blockDim = block;
    config.stream = static_cast<cudaStream_t>(stream);
    status =
        travels_inline
            ? launch(config, inline_items(batch))
            : launch(config, MappedItems{reinterpret_cast<const std::byte*>(batch.device_items),
                                         batch.item_stride_bytes});
  }
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // also remembered by the runtime; an innocent call would report it
  }
  return status;
}

}  // namespace overlap
