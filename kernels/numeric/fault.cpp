#include "kernels/numeric/fault.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"

#include <array>
#include <cstring>

namespace overlap {
namespace {

constexpr std::array<std::string_view, 4> kKindNames = {"failed", "too_small", "launch", "trap"};

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{
        "kind", ParameterType::choice, {.choice_index = 0}, 0, 0, "", "how a job ends", kKindNames},
    Parameter{"byte",
              ParameterType::integer,
              {.i64 = -1},
              -1,
              255,
              "",
              "first byte of the jobs that end so; -1: all jobs",
              {}}};

void end_badly(FaultKind kind, const overlap_batch_item& item) {
  if (kind == FaultKind::too_small) {
    *item.status = OVERLAP_ITEM_OUTPUT_TOO_SMALL;
    *item.output_bytes = item.output_capacity_bytes + 1;
  } else {
    *item.status = OVERLAP_ITEM_FAILED;
  }
}

}  // namespace

FaultParams FaultParams::from(ParameterView params) noexcept {
  return {static_cast<FaultKind>(params[0].choice_index), params[1].i64};
}

std::string_view FaultKernel::name() const noexcept { return "fault"; }

std::string_view FaultKernel::summary() const noexcept {
  return "ends jobs badly, for tests; the others are copied";
}

std::span<const Parameter> FaultKernel::parameters() const noexcept { return kParameters; }

std::uint64_t FaultKernel::granule_bytes(ParameterView /*params*/) const noexcept { return 1; }

PlanOrRefusal FaultKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = Path::copy | Path::gather;
  return plan;
}

void FaultKernel::run(const overlap_batch& batch) const {
  const FaultParams wanted = FaultParams::from({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    if (item.input_bytes == 0) {
      continue;
    }
    const auto first_byte = *static_cast<const volatile std::uint8_t*>(item.input);
    if (wanted.kind == FaultKind::launch || wanted.strikes(first_byte)) {
      end_badly(wanted.kind, item);
    } else {
      std::memcpy(item.output, item.input, item.input_bytes);
    }
  }
}

bool FaultKernel::has_cuda() const noexcept { return built_with_cuda(); }

int FaultKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_fault(batch, stream);
}

}  // namespace overlap
