#include "kernels/numeric/convert.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/numeric/half_floats.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace overlap {
namespace {

/// Values on their way from one type to the other: they stay in the first cache.
constexpr std::size_t kValues = 1024;
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::array<std::string_view, 7> kTypeNames = {"u8",   "i16", "i32", "f16",
                                                        "bf16", "f32", "f64"};

constexpr Parameter type_parameter(std::string_view name, ConvertType type, std::string_view help) {
  return Parameter{name,
                   ParameterType::choice,
                   {.choice_index = static_cast<std::uint64_t>(type)},
                   0,
                   0,
                   "",
                   help,
                   kTypeNames};
}

constexpr std::array<Parameter, 4> kParameters = {
    type_parameter("from", ConvertType::u8, "element type of the input"),
    type_parameter("to", ConvertType::f32, "element type of the output"),
    Parameter{
        "scale", ParameterType::real, {.f64 = 1.0}, -kLargest, kLargest, "", "factor", {}, true},
    Parameter{
        "offset", ParameterType::real, {.f64 = 0.0}, -kLargest, kLargest, "", "offset", {}, true}};

template <class Number>
[[gnu::always_inline]] inline double to_f64(Number number) noexcept {
  return static_cast<double>(number);
}

template <class From>
struct DecodeLoop {
  [[gnu::always_inline]] static inline void run(const From* __restrict in,
                                                double* __restrict values, std::size_t count,
                                                double scale, double offset) {
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = to_f64(in[i]) * scale + offset;
    }
  }
};

/// As `scale` does it: limits, then the nearest integer through 1.5 * 2^52.
template <class Integer>
[[gnu::always_inline]] inline Integer saturated(double y) {
  constexpr double kLow = std::numeric_limits<Integer>::min();
  constexpr double kHigh = std::numeric_limits<Integer>::max();
  constexpr double kRound = 0x1.8p52;
  y = y == y ? y : 0.0;  // NOLINT(misc-redundant-expression): not so for NaN
  y = y < kLow ? kLow : y;
  y = y > kHigh ? kHigh : y;
  return static_cast<Integer>(static_cast<std::int32_t>((y + kRound) - kRound));
}

template <class To>
struct EncodeLoop {
  [[gnu::always_inline]] static inline void run(const double* __restrict values, To* __restrict out,
                                                std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<To, Half>) {
        out[i] = to_half(values[i]);
      } else if constexpr (std::is_same_v<To, Bfloat>) {
        out[i] = to_bfloat(values[i]);
      } else if constexpr (std::is_integral_v<To>) {
        out[i] = saturated<To>(values[i]);
      } else {
        out[i] = static_cast<To>(values[i]);
      }
    }
  }
};

/// Calls `body` with an element of that type.
template <class Body>
void with_type(ConvertType type, const Body& body) {
  switch (type) {
    case ConvertType::u8:
      return body(std::uint8_t{});
    case ConvertType::i16:
      return body(std::int16_t{});
    case ConvertType::i32:
      return body(std::int32_t{});
    case ConvertType::f16:
      return body(Half{});
    case ConvertType::bf16:
      return body(Bfloat{});
    case ConvertType::f32:
      return body(float{});
    case ConvertType::f64:
      return body(double{});
  }
}

void convert_item(const ConvertParams& wanted, const overlap_batch_item& item) {
  std::array<double, kValues> values;
  const std::size_t count = item.input_bytes / element_bytes(wanted.from);
  for (std::size_t done = 0; done < count; done += kValues) {
    const std::size_t part = std::min(kValues, count - done);
    with_type(wanted.from, [&](auto element) {
      using From = decltype(element);
      run_widest<DecodeLoop<From>>(static_cast<const From*>(item.input) + done, values.data(), part,
                                   wanted.scale, wanted.offset);
    });
    with_type(wanted.to, [&](auto element) {
      using To = decltype(element);
      run_widest<EncodeLoop<To>>(static_cast<const double*>(values.data()),
                                 static_cast<To*>(item.output) + done, part);
    });
  }
}

}  // namespace

ConvertParams ConvertParams::from_values(ParameterView params) noexcept {
  return {static_cast<ConvertType>(params[0].choice_index),
          static_cast<ConvertType>(params[1].choice_index), params[2].f64,
          params[3].f64 == 0 ? -0.0 : params[3].f64};
}

std::string_view ConvertKernel::name() const noexcept { return "convert"; }

std::string_view ConvertKernel::summary() const noexcept {
  return "x * scale + offset in another type; integers round to nearest even and saturate";
}

std::span<const Parameter> ConvertKernel::parameters() const noexcept { return kParameters; }

std::uint64_t ConvertKernel::granule_bytes(ParameterView params) const noexcept {
  return element_bytes(ConvertParams::from_values(params).from);
}

PlanOrRefusal ConvertKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const ConvertParams wanted = ConvertParams::from_values(params);
  const std::uint64_t granule = granule_bytes(params);
  if (!fits_granule(input_bytes, granule)) {
    const std::string_view type = kTypeNames[static_cast<std::size_t>(wanted.from)];
    return refuse_misfit(name(), std::string(type) + " element", input_bytes, granule);
  }
  const std::uint64_t count = input_bytes / granule;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / element_bytes(wanted.to);
  if (count > most) {
    return Refusal{"the output of " + std::to_string(input_bytes) +
                   " bytes has no 64-bit size after convert; send at most " + std::to_string(most) +
                   " elements"};
  }
  Plan plan;
  plan.max_output_bytes = count * element_bytes(wanted.to);
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void ConvertKernel::run(const overlap_batch& batch) const {
  const ConvertParams wanted = ConvertParams::from_values({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    convert_item(wanted, item_at(batch, index));
  }
}

bool ConvertKernel::has_cuda() const noexcept { return built_with_cuda(); }

int ConvertKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_convert(batch, stream);
}

}  // namespace overlap
