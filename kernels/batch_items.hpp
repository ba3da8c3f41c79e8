#pragma once

#include "kernels/overlap_kernel.h"

#include <cstddef>
#include <cstdint>

namespace overlap {

/// Item `index` as the host reads it. The batch's stride counts, not `sizeof`, so that items may
/// grow fields in a later minor version.
/// @pre `index < batch.item_count`
[[nodiscard]] inline const overlap_batch_item& item_at(const overlap_batch& batch,
                                                       std::uint32_t index) noexcept {
  const auto* const first = reinterpret_cast<const std::byte*>(batch.items);
  return *reinterpret_cast<const overlap_batch_item*>(first +
                                                      std::size_t{index} * batch.item_stride_bytes);
}

}  // namespace overlap
