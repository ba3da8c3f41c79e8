#pragma once

#include "kernels/batch_launch.cuh"
#include "kernels/signal/channel_chain.hpp"

namespace overlap {

/// In place of an item's index.
inline constexpr std::uint32_t kNoItem = 0xffffffff;
/// Threads of the one block that links a batch.
inline constexpr std::uint32_t kLinkThreads = 512;

/// An item of a batch in device memory, and its neighbours among those with the same state: what a
/// stateful kernel walks along. Empty items are in no chain.
struct alignas(16) ChainedItem {
  FullItemView item;
  std::uint32_t previous;
  std::uint32_t next;
  /// Of entry i, for i below `head_count`: the index of some channel's first item.
  std::uint32_t head;
  /// Of entry 0 alone.
  std::uint32_t head_count;
  // What the kernel notes itself; 0 at first.
  std::uint64_t kept_elements;
  std::uint64_t cleared_elements;
  /// Of entry 0 alone.
  unsigned long long most_elements;
  std::uint32_t flags;
  /// Of entry i, for i below `run_count`: the index of the first item of some run between others.
  std::uint32_t run;
  /// Of entry 0 alone.
  std::uint32_t run_count;
  std::uint32_t reserved;
};
static_assert(sizeof(ChainedItem) == kChainedItemBytes);

/// Items whose links lie in shared memory.
inline constexpr std::uint32_t kNearItems = 2048;

/// What one thread walks along to see all items of a channel, without waiting for device memory.
struct ChannelWalk {
  ChainedItem* chain;
  const std::uint32_t* near_next;
  const std::uint64_t* near_input_bytes;

  [[nodiscard]] __device__ std::uint32_t next(std::uint32_t index) const {
    return index < kNearItems ? near_next[index] : chain[index].next;
  }
  [[nodiscard]] __device__ std::uint64_t input_bytes(std::uint32_t index) const {
    return index < kNearItems ? near_input_bytes[index] : chain[index].item.input_bytes;
  }
};

/// Nothing more to do for a channel or an item.
struct LinkOnly {
  __device__ void channel(const ChannelWalk& /*walk*/, std::uint32_t /*head*/) const {}
  __device__ void item(const ChainedItem& /*item*/) const {}
};

/// One block. Writes the batch's items to `chain`, linked by their state; then calls
/// `then.channel(walk, head)` from one thread a channel, and after all of those `then.item(item)`
/// for every item, the empty ones too.
///
/// The search for the item before goes backwards from each item, so that jobs of a channel that
/// stand side by side cost one comparison.
template <class Items, class Then>
__global__ void __launch_bounds__(kLinkThreads)
    link_channels(const __grid_constant__ Items items, std::uint32_t item_count, ChainedItem* chain,
                  const __grid_constant__ Then then) {
  __shared__ void* near_states[kNearItems];
  __shared__ std::uint32_t near_next[kNearItems];
  __shared__ std::uint64_t near_input_bytes[kNearItems];
  __shared__ std::uint32_t heads;
  if (threadIdx.x == 0) {
    heads = 0;
  }
  for (std::uint32_t index = threadIdx.x; index < item_count; index += kLinkThreads) {
    FullItemView item = items.for_thread(index);
    if (item.input_bytes == 0) {
      item.state = nullptr;
    }
    chain[index] = ChainedItem{item, kNoItem, kNoItem, kNoItem, 0, 0, 0, 0, 0, 0, 0, 0};
    if (index < kNearItems) {
      near_states[index] = item.state;
      near_next[index] = kNoItem;
      near_input_bytes[index] = item.input_bytes;
    }
  }
  __syncthreads();
  const auto state_of = [&](std::uint32_t index) {
    return index < kNearItems ? near_states[index] : chain[index].item.state;
  };
  for (std::uint32_t index = threadIdx.x; index < item_count; index += kLinkThreads) {
    if (chain[index].item.input_bytes == 0) {
      continue;
    }
    void* const state = state_of(index);
    std::uint32_t previous = state == nullptr ? 0 : index;
    while (previous != 0 && state_of(previous - 1) != state) {
      --previous;
    }
    if (previous != 0) {
      chain[index].previous = previous - 1;
      chain[previous - 1].next = index;
      if (previous - 1 < kNearItems) {
        near_next[previous - 1] = index;
      }
    } else {
      chain[atomicAdd(&heads, 1U)].head = index;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    chain[0].head_count = heads;
  }
  const ChannelWalk walk{chain, near_next, near_input_bytes};
  for (std::uint32_t entry = threadIdx.x; entry < heads; entry += kLinkThreads) {
    then.channel(walk, chain[entry].head);
  }
  __syncthreads();
  for (std::uint32_t index = threadIdx.x; index < item_count; index += kLinkThreads) {
    then.item(chain[index]);
  }
}

/// Enqueues `link_channels` into the batch's workspace. @return as `launch_batch`
template <class Then>
int launch_links(const overlap_batch& batch, void* stream, const Then& then) {
  if (batch.max_input_bytes != 0 &&
      batch.workspace_bytes < std::uint64_t{batch.item_count} * sizeof(ChainedItem)) {
    return cudaErrorInvalidValue;
  }
  return launch_batch<FullItemView>(
      batch, stream, dim3(kLinkThreads), 1, 1,
      [&](const cudaLaunchConfig_t& config, const auto& items) {
        using Items = std::decay_t<decltype(items)>;
        cudaLaunchConfig_t one_block = config;
        one_block.gridDim = dim3(1);
        return cudaLaunchKernelEx(&one_block, link_channels<Items, Then>, items, batch.item_count,
                                  static_cast<ChainedItem*>(batch.workspace), then);
      });
}

}  // namespace overlap
