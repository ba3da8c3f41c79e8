#include "kernels/numeric/histogram.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/parameter_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace overlap {
namespace {

constexpr std::uint32_t kByteValues = 256;
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::array<std::string_view, 2> kTypeNames = {"u8", "f32"};

constexpr std::array<Parameter, 4> kParameters = {
    Parameter{
        "type", ParameterType::choice, {.choice_index = 0}, 0, 0, "", "element type", kTypeNames},
    Parameter{"bins",
              ParameterType::integer,
              {.i64 = 256},
              1,
              65'536,
              "bins",
              "intervals of equal width; of u8 at most 256",
              {}},
    Parameter{"lower",
              ParameterType::real,
              {.f64 = 0.0},
              -kLargest,
              kLargest,
              "",
              "start of the first interval, f32 only",
              {}},
    Parameter{"upper",
              ParameterType::real,
              {.f64 = 1.0},
              -kLargest,
              kLargest,
              "",
              "end of the last interval, included, f32 only",
              {}}};

/// Counts bytes by value. Neighbours that are equal would wait for each other's sum: four copies.
void count_bytes(const std::uint8_t* in, std::size_t count, std::uint32_t bins,
                 std::uint32_t* out) {
  std::array<std::array<std::uint32_t, kByteValues>, 4> copies{};
  std::size_t i = 0;
  for (; i + copies.size() <= count; i += copies.size()) {
    for (std::size_t copy = 0; copy < copies.size(); ++copy) {
      ++copies[copy][in[i + copy]];
    }
  }
  for (; i < count; ++i) {
    ++copies[0][in[i]];
  }
  for (std::uint32_t value = 0; value < kByteValues; ++value) {
    for (const auto& copy : copies) {
      out[value * bins / kByteValues] += copy[value];
    }
  }
}

/// The bin of every element, or `bins` for one that is not counted.
struct BinLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict in,
                                                std::uint32_t* __restrict bin_of, std::size_t count,
                                                double lower, double upper, double bins_per_unit,
                                                std::int32_t bins) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(in[i]);
      const bool counts = x >= lower && x <= upper;
      const double at = counts ? (x - lower) * bins_per_unit : 0.0;
      const auto bin = static_cast<std::int32_t>(at);
      const std::int32_t within = bin < bins - 1 ? bin : bins - 1;
      bin_of[i] = static_cast<std::uint32_t>(counts ? within : bins);
    }
  }
};

void count_floats(const float* in, std::size_t count, const HistogramParams& wanted,
                  std::uint32_t* out) {
  constexpr std::size_t kPart = 1024;
  std::array<float, kPart> values;
  std::array<std::uint32_t, kPart> bin_of;
  for (std::size_t done = 0; done < count; done += kPart) {
    const std::size_t part = std::min(kPart, count - done);
    std::memcpy(values.data(), in + done, part * sizeof(float));
    // The input may change; from here on nothing but the copy is looked at, as to the compiler it may
    // have changed too.
    asm volatile("" : : "r"(values.data()) : "memory");
    run_widest<BinLoop>(static_cast<const float*>(values.data()), bin_of.data(), part, wanted.lower,
                        wanted.upper, wanted.bins_per_unit(),
                        static_cast<std::int32_t>(wanted.bins));
    for (std::size_t i = 0; i < part; ++i) {
      if (bin_of[i] < wanted.bins) {
        ++out[bin_of[i]];
      }
    }
  }
}

}  // namespace

HistogramParams HistogramParams::from(ParameterView params) noexcept {
  return {static_cast<HistogramType>(params[0].choice_index),
          static_cast<std::uint32_t>(params[1].i64), params[2].f64, params[3].f64};
}

double HistogramParams::bins_per_unit() const noexcept { return bins / (upper - lower); }

std::string_view HistogramKernel::name() const noexcept { return "histogram"; }

std::string_view HistogramKernel::summary() const noexcept {
  return "how many elements fall into each of some equal intervals, as u32";
}

std::span<const Parameter> HistogramKernel::parameters() const noexcept { return kParameters; }

std::uint64_t HistogramKernel::granule_bytes(ParameterView params) const noexcept {
  return HistogramParams::from(params).type == HistogramType::u8 ? 1 : sizeof(float);
}

PlanOrRefusal HistogramKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const HistogramParams wanted = HistogramParams::from(params);
  const std::uint64_t granule = granule_bytes(params);
  if (!fits_granule(input_bytes, granule)) {
    return refuse_misfit(name(), "f32 element", input_bytes, granule);
  }
  if (wanted.type == HistogramType::u8 && wanted.bins > kByteValues) {
    return Refusal{"histogram with type=u8 cannot use bins=" + std::to_string(wanted.bins) +
                   ": a byte has 256 values; use at most bins=256"};
  }
  const double width = wanted.upper - wanted.lower;
  if (wanted.type == HistogramType::f32 &&
      !(width > 0 && std::isfinite(width) && std::isfinite(wanted.bins_per_unit()))) {
    return Refusal{"histogram cannot divide lower=" + format_value(kParameters[2], params[2]) +
                   ",upper=" + format_value(kParameters[3], params[3]) +
                   " into bins=" + std::to_string(wanted.bins) +
                   ": upper has to be above lower, and both their "
                   "difference and bins per unit finite; move lower or upper"};
  }
  if (input_bytes / granule > std::numeric_limits<std::uint32_t>::max()) {
    return Refusal{std::to_string(input_bytes / granule) +
                   " elements could exceed a count of 32 bits; send histogram at most 4294967295"};
  }
  Plan plan;
  plan.max_output_bytes = input_bytes == 0 ? 0 : wanted.bins * sizeof(std::uint32_t);
  plan.paths = Path::copy | Path::gather;
  return plan;
}

void HistogramKernel::run(const overlap_batch& batch) const {
  const HistogramParams wanted = HistogramParams::from({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    if (item.input_bytes == 0) {
      continue;
    }
    auto* const out = static_cast<std::uint32_t*>(item.output);
    std::fill_n(out, wanted.bins, 0U);
    if (wanted.type == HistogramType::u8) {
      count_bytes(static_cast<const std::uint8_t*>(item.input), item.input_bytes, wanted.bins, out);
    } else {
      count_floats(static_cast<const float*>(item.input), item.input_bytes / sizeof(float), wanted,
                   out);
    }
  }
}

bool HistogramKernel::has_cuda() const noexcept { return built_with_cuda(); }

int HistogramKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_histogram(batch, stream);
}

}  // namespace overlap
