#include "kernels/numeric/saxpy.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/parameter_text.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace overlap {
namespace {

constexpr std::uint64_t kPairBytes = 2 * sizeof(float);
constexpr double kLargest = std::numeric_limits<double>::max();

constexpr std::array<Parameter, 1> kParameters = {Parameter{
    "a", ParameterType::real, {.f64 = 1.0}, -kLargest, kLargest, "", "factor of x", {}, true}};

/// Two roundings: the target is compiled with contraction off.
struct SaxpyLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict x,
                                                const float* __restrict y, float* __restrict out,
                                                std::size_t count, float a) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = a * x[i] + y[i];
    }
  }
};

}  // namespace

std::string_view SaxpyKernel::name() const noexcept { return "saxpy"; }

std::string_view SaxpyKernel::summary() const noexcept {
  return "a * first half + second half of the input, f32";
}

std::span<const Parameter> SaxpyKernel::parameters() const noexcept { return kParameters; }

std::uint64_t SaxpyKernel::granule_bytes(ParameterView /*params*/) const noexcept {
  return kPairBytes;
}

PlanOrRefusal SaxpyKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  if (!fits_granule(input_bytes, kPairBytes)) {
    return refuse_misfit(name(), "f32 element of each of the two arrays", input_bytes, kPairBytes);
  }
  if (!std::isfinite(static_cast<float>(params[0].f64))) {
    return Refusal{"saxpy cannot use a=" + format_value(kParameters[0], params[0]) +
                   ": rounded to f32 that is infinite; use a smaller value"};
  }
  Plan plan;
  plan.max_output_bytes = input_bytes / 2;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void SaxpyKernel::run(const overlap_batch& batch) const {
  const auto a = static_cast<float>(batch.params[0].f64);
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto count = static_cast<std::size_t>(item.input_bytes / kPairBytes);
    const auto* const x = static_cast<const float*>(item.input);
    run_widest<SaxpyLoop>(x, x + count, static_cast<float*>(item.output), count, a);
  }
}

bool SaxpyKernel::has_cuda() const noexcept { return built_with_cuda(); }

int SaxpyKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_saxpy(batch, stream);
}

}  // namespace overlap
