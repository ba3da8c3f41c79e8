#include "tests/unit/scripted_kernels.hpp"

#include "kernels/batch_items.hpp"

#include <cstring>
#include <memory>

namespace overlap::testing {
namespace {

void run_twice(const overlap_batch& batch) {
  for (std::uint32_t i = 0; i < batch.item_count; ++i) {
    const overlap_batch_item& item = item_at(batch, i);
    auto* const output = static_cast<std::byte*>(item.output);
    std::memcpy(output, item.input, item.input_bytes);
    std::memcpy(output + item.input_bytes, item.input, item.input_bytes);
  }
}

void run_judge(const overlap_batch& batch) {
  for (std::uint32_t i = 0; i < batch.item_count; ++i) {
    const overlap_batch_item& item = item_at(batch, i);
    const std::byte verdict = *static_cast<const std::byte*>(item.input);
    if (verdict == kFailing) {
      *item.status = OVERLAP_ITEM_FAILED;
    } else if (verdict == kTooSmall) {
      *item.status = OVERLAP_ITEM_OUTPUT_TOO_SMALL;
      *item.output_bytes = kJudgeNeedsBytes;
    } else {
      std::memcpy(item.output, item.input, item.input_bytes);
    }
  }
}

}  // namespace

PlanOrRefusal ScriptedKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  Plan plan;
  plan.max_output_bytes = input_bytes * script_.growth;
  plan.workspace_bytes = script_.workspace_bytes;
  plan.state_bytes =
      script_.state_bytes_for ? script_.state_bytes_for(input_bytes) : script_.state_bytes;
  plan.output_size = script_.output_size;
  return plan;
}

void ScriptedKernel::run(const overlap_batch& batch) const {
  if (script_.run) {
    script_.run(batch);
  }
}

int ScriptedKernel::launch(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) const {
  constexpr int kNotSupported = 801;
  return kNotSupported;
}

std::uint64_t ScriptedKernel::reference(const ReferenceJob& job) const {
  for (std::uint64_t i = 0; i < script_.growth; ++i) {
    std::memcpy(job.output.data() + i * job.input.size(), job.input.data(), job.input.size());
  }
  return script_.growth * job.input.size();
}

const KernelRegistry& scripted_registry() {
  static const KernelRegistry registry = [] {
    KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
    kernels.add(std::make_unique<ScriptedKernel>(
        ScriptedKernel::Script{.name = "twice", .growth = 2, .run = run_twice}));
    kernels.add(std::make_unique<ScriptedKernel>(
        ScriptedKernel::Script{.name = "judge", .run = run_judge}));
    return kernels;
  }();
  return registry;
}

}  // namespace overlap::testing
