#include "kernels/numeric/copy.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"

#include <cstring>

namespace overlap {

std::string_view CopyKernel::name() const noexcept { return "copy"; }

std::string_view CopyKernel::summary() const noexcept {
  return "the output is the input, byte for byte";
}

std::span<const Parameter> CopyKernel::parameters() const noexcept { return {}; }

std::uint64_t CopyKernel::granule_bytes(ParameterView /*params*/) const noexcept { return 1; }

PlanOrRefusal CopyKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void CopyKernel::run(const overlap_batch& batch) const {
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    if (item.input_bytes != 0) {
      std::memcpy(item.output, item.input, item.input_bytes);
    }
  }
}

bool CopyKernel::has_cuda() const noexcept { return built_with_cuda(); }

int CopyKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_copy(batch, stream);
}

}  // namespace overlap
