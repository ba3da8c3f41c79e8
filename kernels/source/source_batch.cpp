#include "kernels/source/source_batch.hpp"

#include "kernels/batch_items.hpp"

#include <algorithm>

namespace overlap {

SourceGrid source_grid(const SourceShape& shape, std::uint64_t max_input_bytes,
                       std::uint32_t item_count, std::uint64_t resident_threads) noexcept {
  constexpr std::uint32_t kMaxRows = 65'535;
  constexpr std::uint64_t kMaxBlocks = 0x7fffffff;
  const std::uint64_t useful = shape.block_bytes == 0
                                   ? 1
                                   : max_input_bytes / shape.block_bytes +
                                         (max_input_bytes % shape.block_bytes != 0 ? 1 : 0);
  const std::uint64_t resident = resident_threads / shape.threads;
  const std::uint64_t share = std::max<std::uint64_t>((resident + item_count - 1) / item_count, 1);
  return {
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(useful, 1, std::min(share, kMaxBlocks))),
      std::min(item_count, kMaxRows)};
}

bool reads_items_itself(const overlap_batch& batch) noexcept {
  return batch.item_count > kSourceInlineItems ||
         (batch.flags & OVERLAP_BATCH_SIZES_ON_DEVICE) != 0;
}

SourceBatch source_batch(const overlap_batch& batch) noexcept {
  SourceBatch result{};
  result.max_input_bytes = batch.max_input_bytes;
  result.count = batch.item_count;
  result.stride_bytes = batch.item_stride_bytes;
  if (reads_items_itself(batch)) {
    result.items = reinterpret_cast<const std::byte*>(batch.device_items);
    return result;
  }
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    result.inline_items[index] = {
        item.input, item.input_bytes, item.output, item.output_capacity_bytes,
        item.table, item.table_bytes, item.status};
  }
  return result;
}

}  // namespace overlap
