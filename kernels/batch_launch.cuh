#pragma once

#include "kernels/batch_items.hpp"
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

/// What most kernels need to know of one item: the first sector of it on the bus.
struct ItemView {
  const void* input;
  void* output;
  std::uint64_t input_bytes;

  [[nodiscard]] static __host__ __device__ ItemView of(const overlap_batch_item& item) {
    return {item.input, item.output, item.input_bytes};
  }
};

/// The same for kernels with a table or a state, or that find out what they make.
struct FullItemView {
  const void* input;
  void* output;
  std::uint64_t input_bytes;
  const void* table;
  void* state;
  std::uint64_t* output_bytes;
  std::uint32_t* status;

  [[nodiscard]] static __host__ __device__ FullItemView of(const overlap_batch_item& item) {
    return {item.input, item.output,       item.input_bytes, item.table,
            item.state, item.output_bytes, item.status};
  }
};

/// The items of a small batch, by value in the kernel's parameters.
template <class View>
struct InlineItems {
  View views[kInlineItemLimit];

  [[nodiscard]] __device__ View for_block(std::uint32_t index) const { return views[index]; }
  [[nodiscard]] __device__ View for_thread(std::uint32_t index) const { return views[index]; }
};

/// The items of a large batch, in memory that the host wrote.
template <class View>
struct MappedItems {
  const std::byte* first;
  std::uint32_t stride_bytes;

  /// One thread reads the item over the bus for its whole block.
  /// @pre every thread of the block calls it
  [[nodiscard]] __device__ View for_block(std::uint32_t index) const {
    __shared__ View view;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
      view = for_thread(index);
    }
    __syncthreads();
    return view;
  }

  /// Every thread that calls it reads over the bus: for blocks whose threads read different items.
  [[nodiscard]] __device__ View for_thread(std::uint32_t index) const {
    return View::of(
        *reinterpret_cast<const overlap_batch_item*>(first + std::size_t{index} * stride_bytes));
  }
};

/// Multiprocessors of the current device, asked once per device. Thread safety: any.
/// @param[out] count at least 1 on success
[[nodiscard]] cudaError_t multiprocessor_count(std::uint32_t& count);

/// @pre at most kInlineItemLimit items
template <class View>
[[nodiscard]] InlineItems<View> inline_items(const overlap_batch& batch) {
  InlineItems<View> items{};
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    items.views[index] = View::of(item_at(batch, index));
  }
  return items;
}

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
/// @tparam View what the kernel needs to know of an item
/// @param launch called as `launch(config, items)`; returns what `cudaLaunchKernelEx` returned
/// @return the error of this launch alone, as a number; it is not left behind for a later call
template <class View = ItemView, class Launch>
int launch_batch(const overlap_batch& batch, void* stream, dim3 block, std::uint64_t work_units,
                 std::uint32_t units_per_block, const Launch& launch) {
  if (batch.max_input_bytes == 0) {
    return cudaSuccess;
  }
  const bool travels_inline =
      batch.item_count <= kInlineItemLimit && (batch.flags & OVERLAP_BATCH_SIZES_ON_DEVICE) == 0;
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
    status = travels_inline
                 ? launch(config, inline_items<View>(batch))
                 : launch(config,
                          MappedItems<View>{reinterpret_cast<const std::byte*>(batch.device_items),
                                            batch.item_stride_bytes});
  }
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // also remembered by the runtime; an innocent call would report it
  }
  return status;
}

}  // namespace overlap
