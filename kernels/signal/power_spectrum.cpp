#include "kernels/signal/power_spectrum.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"

#include <array>
#include <limits>

namespace overlap {
namespace {

constexpr std::uint64_t kComplexBytes = 2 * sizeof(float);
/// Within it, rounding to f32 gives no infinity.
constexpr double kLargestFactor = std::numeric_limits<float>::max();

constexpr std::array<Parameter, 1> kParameters = {Parameter{"scale",
                                                            ParameterType::real,
                                                            {.f64 = 1.0},
                                                            -kLargestFactor,
                                                            kLargestFactor,
                                                            "",
                                                            "factor on every power",
                                                            {},
                                                            true}};

struct PowerLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict in, float* __restrict out,
                                                std::size_t count, float scale) {
    for (std::size_t i = 0; i < count; ++i) {
      const float re = in[2 * i];
      const float im = in[2 * i + 1];
      out[i] = (re * re + im * im) * scale;
    }
  }
};

}  // namespace

std::string_view PowerSpectrumKernel::name() const noexcept { return "power_spectrum"; }

std::string_view PowerSpectrumKernel::summary() const noexcept {
  return "(re * re + im * im) * scale of every complex f32 sample";
}

std::span<const Parameter> PowerSpectrumKernel::parameters() const noexcept { return kParameters; }

std::uint64_t PowerSpectrumKernel::granule_bytes(ParameterView /*params*/) const noexcept {
  return kComplexBytes;
}

PlanOrRefusal PowerSpectrumKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  if (!fits_granule(input_bytes, kComplexBytes)) {
    return refuse_misfit(name(), "complex f32 sample", input_bytes, kComplexBytes);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes / 2;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void PowerSpectrumKernel::run(const overlap_batch& batch) const {
  const auto scale = static_cast<float>(batch.params[0].f64);
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    run_widest<PowerLoop>(static_cast<const float*>(item.input), static_cast<float*>(item.output),
                          static_cast<std::size_t>(item.input_bytes / kComplexBytes), scale);
  }
}

bool PowerSpectrumKernel::has_cuda() const noexcept { return built_with_cuda(); }

int PowerSpectrumKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_power_spectrum(batch, stream);
}

}  // namespace overlap
