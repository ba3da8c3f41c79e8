#include "kernels/fft/fft.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/fft/cufft_plans.hpp"
#include "kernels/fft/host_fft.hpp"
#include "kernels/granule.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace overlap {
namespace {

constexpr double kMostPoints = 1 << 24;
/// Within it, rounding to f32 gives no infinity.
constexpr double kLargestFactor = std::numeric_limits<float>::max();
constexpr std::array<std::string_view, 2> kTypeNames = {"c2c", "r2c"};
constexpr std::array<std::string_view, 2> kDirectionNames = {"forward", "inverse"};

constexpr std::array<Parameter, 4> kParameters = {
    Parameter{"n",
              ParameterType::integer,
              {.i64 = 1024},
              1,
              kMostPoints,
              "points",
              "length of one transform; a job holds one or more",
              {}},
    Parameter{"type",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "c2c: complex to complex; r2c: real to the first n / 2 + 1 complex",
              kTypeNames},
    Parameter{"direction",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "sign of the exponent: forward minus, inverse plus (not divided by n)",
              kDirectionNames},
    Parameter{"scale",
              ParameterType::real,
              {.f64 = 1.0},
              -kLargestFactor,
              kLargestFactor,
              "",
              "factor on every result, such as 1 / n",
              {}}};

std::string granule_text(const FftParams& wanted) {
  return "transform of " + std::to_string(wanted.n) +
         (wanted.type == FftType::c2c ? " complex" : " real") + " f32 values";
}

bool has_small_factors(std::uint64_t n) noexcept {
  for (const std::uint64_t factor : {2U, 3U, 5U, 7U}) {
    while (n % factor == 0) {
      n /= factor;
    }
  }
  return n == 1;
}

}  // namespace

FftParams FftParams::from(ParameterView params) noexcept {
  return {static_cast<std::uint64_t>(params[0].i64), static_cast<FftType>(params[1].choice_index),
          params[2].choice_index == 1, static_cast<float>(params[3].f64)};
}

std::uint64_t FftParams::input_bytes() const noexcept {
  return n * sizeof(float) * (type == FftType::c2c ? 2 : 1);
}

std::uint64_t FftParams::output_bytes() const noexcept {
  return 2 * sizeof(float) * (type == FftType::c2c ? n : n / 2 + 1);
}

std::uint64_t fft_workspace_bytes(std::uint64_t n, std::uint64_t count) noexcept {
  constexpr std::uint64_t kAtLeast = 4096;
  const std::uint64_t copies = has_small_factors(n) ? 2 : 8;
  return kAtLeast + copies * 2 * sizeof(float) * n * count;
}

FftKernel::FftKernel()
    : host_(std::make_unique<HostFftCache>()), cuda_(std::make_unique<CufftPlans>()) {}
FftKernel::~FftKernel() = default;

std::string_view FftKernel::name() const noexcept { return "fft"; }

std::string_view FftKernel::summary() const noexcept {
  return "discrete Fourier transforms of n points";
}

std::span<const Parameter> FftKernel::parameters() const noexcept { return kParameters; }

std::uint64_t FftKernel::granule_bytes(ParameterView params) const noexcept {
  return FftParams::from(params).input_bytes();
}

PlanOrRefusal FftKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const FftParams wanted = FftParams::from(params);
  if (wanted.type == FftType::r2c && wanted.inverse) {
    return Refusal{
        "fft with type=r2c goes forward only; use direction=forward, or type=c2c for an inverse"};
  }
  const std::uint64_t transform_bytes = wanted.input_bytes();
  if (!fits_granule(input_bytes, transform_bytes)) {
    return refuse_misfit(name(), granule_text(wanted), input_bytes, transform_bytes);
  }
  const std::uint64_t count = input_bytes / transform_bytes;
  Plan plan;
  plan.max_output_bytes = count * wanted.output_bytes();
  plan.workspace_bytes = count == 0 ? 0 : fft_workspace_bytes(wanted.n, count);
  plan.paths = Path::copy | Path::gather;
  return plan;
}

std::optional<Refusal> FftKernel::prepare(ParameterView params, std::uint64_t input_bytes,
                                          bool on_gpu) const {
  const FftParams wanted = FftParams::from(params);
  const std::uint64_t count = input_bytes / wanted.input_bytes();
  if (on_gpu) {
    return count == 0 ? std::nullopt : cuda_->prepare(wanted);
  }
  try {
    (void)host_->get(wanted);
  } catch (const std::bad_alloc&) {
    return Refusal{"fft has no memory for the factors of n=" + std::to_string(wanted.n) +
                   "; use a smaller n"};
  }
  return std::nullopt;
}

bool FftKernel::has_host() const noexcept { return fft_has_host(); }

void FftKernel::run(const overlap_batch& batch) const {
  const FftParams wanted = FftParams::from({batch.params, batch.param_count});
  const std::shared_ptr<const HostFft> fft = host_->get(wanted);
  std::vector<Complex> scratch(fft->scratch_count());
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto count = static_cast<std::size_t>(item.input_bytes / wanted.input_bytes());
    const auto* in = static_cast<const float*>(item.input);
    auto* out = static_cast<float*>(item.output);
    for (std::size_t transform = 0; transform < count; ++transform) {
      fft->transform(in, out, scratch);
      const auto floats = static_cast<std::size_t>(wanted.output_bytes() / sizeof(float));
      if (wanted.scale != 1.0F) {
        std::for_each(out, out + floats, [&wanted](float& value) { value *= wanted.scale; });
      }
      in += wanted.input_bytes() / sizeof(float);
      out += floats;
    }
  }
}

bool FftKernel::has_cuda() const noexcept { return fft_built_with_cuda(); }

int FftKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return cuda_->launch(FftParams::from({batch.params, batch.param_count}), batch, stream);
}

}  // namespace overlap
