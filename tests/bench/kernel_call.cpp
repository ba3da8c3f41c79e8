#include "tests/bench/kernel_call.hpp"

#include "kernels/kernel_registry.hpp"

namespace overlap::bench {
namespace {

/// Lives as long as the process: pipelines point into it.
const KernelRegistry& registry() {
  static const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  return kernels;
}

}  // namespace

KernelCall::KernelCall(const std::string& pipeline)
    : pipeline_(Pipeline::parse(pipeline, registry())) {}

void KernelCall::run(const void* input, void* output, std::uint64_t bytes) const {
  const Stage& stage = pipeline_.stages().front();
  std::uint64_t output_bytes = bytes;
  std::uint32_t status = OVERLAP_ITEM_OK;
  overlap_batch_item item{};
  item.input = input;
  item.input_bytes = bytes;
  item.output = output;
  item.output_capacity_bytes = bytes;
  item.params = stage.params.data();
  item.output_bytes = &output_bytes;
  item.status = &status;
  overlap_batch batch{};
  batch.struct_bytes = sizeof batch;
  batch.item_stride_bytes = sizeof item;
  batch.item_count = 1;
  batch.param_count = static_cast<std::uint32_t>(stage.params.size());
  batch.items = &item;
  batch.params = stage.params.data();
  batch.max_input_bytes = bytes;
  stage.kernel->run(batch);
}

}  // namespace overlap::bench
