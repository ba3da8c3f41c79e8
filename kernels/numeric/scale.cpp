#include "kernels/numeric/scale.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/byte_lookup.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/parameter_text.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace overlap {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::array<std::string_view, 5> kTypeNames = {"u8", "i16", "i32", "f32", "f64"};
constexpr std::array<std::uint64_t, 5> kTypeBytes = {1, 2, 4, 4, 8};

constexpr std::array<Parameter, 3> kParameters = {
    Parameter{"a", ParameterType::real, {.f64 = 1.0}, -kLargest, kLargest, "", "factor", {}, true},
    Parameter{"b", ParameterType::real, {.f64 = 0.0}, -kLargest, kLargest, "", "offset", {}, true},
    Parameter{"type",
              ParameterType::choice,
              {.choice_index = static_cast<std::uint64_t>(ScaleType::f32)},
              0,
              0,
              "",
              "element type",
              kTypeNames}};

/// In f64: product, sum, limits, nearest integer. Adding and taking away 1.5 * 2^52 rounds to the
/// nearest integer, ties to even, for what fits 32 bits, and is plain arithmetic, so that the loops
/// become vector code on every machine. The limits are integers, so limiting first changes nothing.
template <class Integer>
[[gnu::always_inline]] inline Integer scaled(Integer x, double a, double b) {
  constexpr double kLow = std::numeric_limits<Integer>::min();
  constexpr double kHigh = std::numeric_limits<Integer>::max();
  constexpr double kRound = 0x1.8p52;
  const double product = a * static_cast<double>(x);
  double y = product + b;
  y = y < kLow ? kLow : y;
  y = y > kHigh ? kHigh : y;
  return static_cast<Integer>(static_cast<std::int32_t>((y + kRound) - kRound));
}

template <class Integer>
struct IntegerLoop {
  [[gnu::always_inline]] static inline void run(const Integer* __restrict in,
                                                Integer* __restrict out, std::size_t count,
                                                double a, double b) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = scaled(in[i], a, b);
    }
  }
};

/// Two roundings: the target is compiled with contraction off.
template <class Float>
struct FloatLoop {
  [[gnu::always_inline]] static inline void run(const Float* __restrict in, Float* __restrict out,
                                                std::size_t count, Float a, Float b) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = in[i] * a + b;
    }
  }
};

template <class Element, class Body>
void for_each_item(const overlap_batch& batch, const Body& body) {
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    body(static_cast<const Element*>(item.input), static_cast<Element*>(item.output),
         static_cast<std::size_t>(item.input_bytes / sizeof(Element)));
  }
}

template <class Integer>
void run_integers(const overlap_batch& batch, double a, double b) {
  for_each_item<Integer>(batch, [a, b](const Integer* in, Integer* out, std::size_t count) {
    run_widest<IntegerLoop<Integer>>(in, out, count, a, b);
  });
}

template <class Float>
void run_floats(const overlap_batch& batch, double a, double b) {
  const auto narrow_a = static_cast<Float>(a);
  const auto narrow_b = static_cast<Float>(b);
  for_each_item<Float>(batch, [=](const Float* in, Float* out, std::size_t count) {
    run_widest<FloatLoop<Float>>(in, out, count, narrow_a, narrow_b);
  });
}

/// A byte has 256 values: a table made once per batch beats arithmetic on every element.
void run_bytes(const overlap_batch& batch, double a, double b) {
  ByteTable table{};
  for (std::size_t x = 0; x < table.size(); ++x) {
    table[x] = scaled(static_cast<std::uint8_t>(x), a, b);
  }
  const ByteLookup way = fastest_byte_lookup();
  for_each_item<std::uint8_t>(
      batch, [&table, way](const std::uint8_t* in, std::uint8_t* out, std::size_t count) {
        look_up_bytes(way, table, in, out, count);
      });
}

bool fits_f32(double value) { return std::isfinite(static_cast<float>(value)); }

}  // namespace

ScaleParams ScaleParams::from(ParameterView params) noexcept {
  return {params[0].f64, params[1].f64, static_cast<ScaleType>(params[2].choice_index)};
}

std::string_view ScaleKernel::name() const noexcept { return "scale"; }

std::string_view ScaleKernel::summary() const noexcept {
  return "a * x + b for every element; integers round to nearest even and saturate";
}

std::span<const Parameter> ScaleKernel::parameters() const noexcept { return kParameters; }

std::uint64_t ScaleKernel::granule_bytes(ParameterView params) const noexcept {
  return kTypeBytes[static_cast<std::size_t>(ScaleParams::from(params).type)];
}

PlanOrRefusal ScaleKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const ScaleParams wanted = ScaleParams::from(params);
  const std::uint64_t element_bytes = granule_bytes(params);
  if (!fits_granule(input_bytes, element_bytes)) {
    const std::string_view type = kTypeNames[static_cast<std::size_t>(wanted.type)];
    return refuse_misfit(name(), std::string(type) + " element", input_bytes, element_bytes);
  }
  if (wanted.type == ScaleType::f32 && !(fits_f32(wanted.a) && fits_f32(wanted.b))) {
    return Refusal{"scale with type=f32 cannot use a=" + format_value(kParameters[0], params[0]) +
                   ",b=" + format_value(kParameters[1], params[1]) +
                   ": rounded to f32 that is infinite; use type=f64 or smaller values"};
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void ScaleKernel::run(const overlap_batch& batch) const {
  const ScaleParams wanted = ScaleParams::from({batch.params, batch.param_count});
  switch (wanted.type) {
    case ScaleType::u8:
      return run_bytes(batch, wanted.a, wanted.b);
    case ScaleType::i16:
      return run_integers<std::int16_t>(batch, wanted.a, wanted.b);
    case ScaleType::i32:
      return run_integers<std::int32_t>(batch, wanted.a, wanted.b);
    case ScaleType::f32:
      return run_floats<float>(batch, wanted.a, wanted.b);
    case ScaleType::f64:
      return run_floats<double>(batch, wanted.a, wanted.b);
  }
}

bool ScaleKernel::has_cuda() const noexcept { return built_with_cuda(); }

int ScaleKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_scale(batch, stream);
}

}  // namespace overlap
