#include "kernels/pass_sizes.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"

#include <algorithm>

namespace overlap {

PlanOrRefusal PassSizesKernel::plan(ParameterView /*params*/, std::uint64_t /*input_bytes*/) const {
  return Plan{};
}

void PassSizesKernel::run(const overlap_batch& batch) const {
  for (std::uint32_t i = 0; i < batch.item_count; ++i) {
    const overlap_batch_item& made = item_at(batch, i);
    const bool ran = made.input_bytes != 0 && *made.status == OVERLAP_ITEM_OK;
    // Only the array's type is const: it is the lane's own.
    const_cast<overlap_batch_item&>(item_at(batch, batch.item_count + i)).input_bytes =
        ran ? std::min(*made.output_bytes, made.output_capacity_bytes) : 0;
  }
}

bool PassSizesKernel::has_cuda() const noexcept { return built_with_cuda(); }

int PassSizesKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_pass_sizes(batch, stream);
}

std::uint64_t PassSizesKernel::reference(const ReferenceJob& /*job*/) const { return 0; }

}  // namespace overlap
