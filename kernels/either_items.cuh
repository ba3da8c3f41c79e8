#pragma once

#include "kernels/batch_launch.cuh"

namespace overlap {

/// The items of a batch of any length, for a kernel that comes in many variants: it is then compiled
/// once for both ways in which items travel.
class EitherItems {
 public:
  explicit EitherItems(const InlineItems<ItemView>& items) : inline_(items), mapped_{nullptr, 0} {}
  explicit EitherItems(const MappedItems<ItemView>& items) : inline_{}, mapped_(items) {}

  /// @pre every thread of the block calls it
  [[nodiscard]] __device__ ItemView for_block(std::uint32_t index) const {
    return mapped_.first == nullptr ? inline_.for_block(index) : mapped_.for_block(index);
  }

 private:
  InlineItems<ItemView> inline_;
  MappedItems<ItemView> mapped_;
};

}  // namespace overlap
