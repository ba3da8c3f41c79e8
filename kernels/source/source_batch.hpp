#pragma once

#include "kernels/overlap_kernel.h"

#include <cstddef>
#include <cstdint>

namespace overlap {

// A batch as a source kernel gets it: by value, as its first argument. `source_prelude.cpp` says the
// same to the run-time compiler, in text; the two change together.

/// A job.
struct SourceItem {
  const void* input;
  std::uint64_t input_bytes;
  void* output;
  std::uint64_t output_bytes;
  const void* table;
  std::uint64_t table_bytes;
  std::uint32_t* status;
};

/// Up to here the items travel in the launch itself; of more, the GPU reads each over the bus. Half
/// as many as with the built-in kernels: an item here says more.
inline constexpr std::uint32_t kSourceInlineItems = 8;

struct SourceBatch {
  /// Null: the items travel inline.
  const std::byte* items;
  std::uint64_t max_input_bytes;
  std::uint32_t count;
  std::uint32_t stride_bytes;
  SourceItem inline_items[kSourceInlineItems];
};

static_assert(sizeof(SourceItem) == 56);
static_assert(sizeof(SourceBatch) == 24 + kSourceInlineItems * sizeof(SourceItem));
// What the text reads of an item over the bus.
static_assert(offsetof(overlap_batch_item, input) == 0);
static_assert(offsetof(overlap_batch_item, input_bytes) == 8);
static_assert(offsetof(overlap_batch_item, output) == 16);
static_assert(offsetof(overlap_batch_item, output_capacity_bytes) == 24);
static_assert(offsetof(overlap_batch_item, table) == 48);
static_assert(offsetof(overlap_batch_item, table_bytes) == 56);
static_assert(offsetof(overlap_batch_item, status) == 72);

/// How a source kernel is launched.
struct SourceShape {
  /// Of a block.
  std::uint32_t threads = 256;
  /// Input bytes that one block is meant for; 0: one block a job.
  std::uint64_t block_bytes = 0;
};

struct SourceGrid {
  std::uint32_t blocks_per_item;
  std::uint32_t item_rows;
};

/// Blocks for a batch: enough to fill the GPU over all its jobs, no more than the largest job has
/// work for, and at least one a job; 65,535 jobs in y at most, beyond which rows take turns.
/// @param resident_threads how many the whole GPU holds at a time
/// @pre the batch has an item
[[nodiscard]] SourceGrid source_grid(const SourceShape& shape, std::uint64_t max_input_bytes,
                                     std::uint32_t item_count,
                                     std::uint64_t resident_threads) noexcept;

/// The batch as the kernel gets it. Without sizes on the host, or with more items than travel inline,
/// the GPU reads the items itself.
/// @pre there are `device_items` then
[[nodiscard]] SourceBatch source_batch(const overlap_batch& batch) noexcept;

/// Whether the GPU has to read the items itself.
[[nodiscard]] bool reads_items_itself(const overlap_batch& batch) noexcept;

}  // namespace overlap
