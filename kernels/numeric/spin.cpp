#include "kernels/numeric/spin.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"

#include <array>
#include <chrono>
#include <cstring>

namespace overlap {
namespace {

constexpr std::array<Parameter, 1> kParameters = {Parameter{"microseconds",
                                                            ParameterType::integer,
                                                            {.i64 = 1000},
                                                            1,
                                                            10'000'000,
                                                            "microseconds",
                                                            "how long to be busy",
                                                            {},
                                                            true}};

}  // namespace

std::string_view SpinKernel::name() const noexcept { return "spin"; }

std::string_view SpinKernel::summary() const noexcept {
  return "busy for a given time, then a copy: a load of known duration";
}

std::span<const Parameter> SpinKernel::parameters() const noexcept { return kParameters; }

std::uint64_t SpinKernel::granule_bytes(ParameterView /*params*/) const noexcept { return 1; }

PlanOrRefusal SpinKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = Path::copy | Path::gather;
  return plan;
}

void SpinKernel::run(const overlap_batch& batch) const {
  if (batch.max_input_bytes == 0) {
    return;
  }
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::microseconds(batch.params[0].i64);
  while (std::chrono::steady_clock::now() < end) {
  }
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    if (item.input_bytes != 0) {
      std::memcpy(item.output, item.input, item.input_bytes);
    }
  }
}

bool SpinKernel::has_cuda() const noexcept { return built_with_cuda(); }

int SpinKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_spin(batch, stream);
}

}  // namespace overlap
