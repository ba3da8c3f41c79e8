#include "kernels/signal/fir.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/signal/channel_chain.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace overlap {
namespace {

constexpr std::int64_t kMostTaps = 4096;
constexpr std::array<std::string_view, 2> kTypeNames = {"f32", "c32"};

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"taps",
              ParameterType::integer,
              {.i64 = 32},
              1,
              static_cast<double>(kMostTaps),
              "taps",
              "coefficients of the filter, which are the channel's table",
              {}},
    Parameter{"type",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "samples: f32 real, c32 complex (re, im as f32)",
              kTypeNames}};

/// 16 floats whatever the machine: the compiler makes one, two or four registers of it.
using Floats = float __attribute__((vector_size(64)));
constexpr std::size_t kVectorFloats = sizeof(Floats) / sizeof(float);
/// Enough independent sums to hide the latency of an addition.
constexpr std::size_t kVectors = 4;
constexpr std::size_t kBlockFloats = kVectors * kVectorFloats;

/// Outputs `count` blocks; `newest` is the input at the first output, and the history lies before.
struct FilterLoop {
  [[gnu::always_inline]] static inline void run(const float* newest, const float* taps,
                                                std::size_t tap_count, std::size_t lanes,
                                                float* out, std::size_t count) {
    for (std::size_t block = 0; block < count; ++block) {
      Floats sum0{};
      Floats sum1{};
      Floats sum2{};
      Floats sum3{};
      for (std::size_t first = 0; first < tap_count; first += kFirGroupTaps) {
        const std::size_t end = std::min<std::size_t>(first + kFirGroupTaps, tap_count);
        Floats group0{};
        Floats group1{};
        Floats group2{};
        Floats group3{};
        for (std::size_t k = first; k < end; ++k) {
          const float* const from = newest - k * lanes;
          const float h = taps[k];
          Floats x;
          __builtin_memcpy(&x, from, sizeof x);
          group0 += h * x;
          __builtin_memcpy(&x, from + kVectorFloats, sizeof x);
          group1 += h * x;
          __builtin_memcpy(&x, from + 2 * kVectorFloats, sizeof x);
          group2 += h * x;
          __builtin_memcpy(&x, from + 3 * kVectorFloats, sizeof x);
          group3 += h * x;
        }
        sum0 += group0;
        sum1 += group1;
        sum2 += group2;
        sum3 += group3;
      }
      const Floats sums[kVectors] = {sum0, sum1, sum2, sum3};
      __builtin_memcpy(out, sums, sizeof sums);
      newest += kBlockFloats;
      out += kBlockFloats;
    }
  }
};

/// Filters one job after another; holds what a block at either end of a job needs.
class HostFilter {
 public:
  explicit HostFilter(FirParams wanted)
      : wanted_(wanted),
        history_floats_(static_cast<std::size_t>(wanted.history_floats())),
        window_(history_floats_ + kBlockFloats) {}

  void run(const overlap_batch_item& item) {
    const auto count = static_cast<std::size_t>(item.input_bytes / sizeof(float));
    const auto* const in = static_cast<const float*>(item.input);
    auto* const out = static_cast<float*>(item.output);
    auto* const history = static_cast<float*>(item.state);
    const auto* const taps = static_cast<const float*>(item.table);
    std::size_t at = 0;
    while (at < count) {
      if (at >= history_floats_ && count - at >= kBlockFloats) {
        const std::size_t blocks = (count - at) / kBlockFloats;
        filter(in + at, taps, out + at, blocks);
        at += blocks * kBlockFloats;
      } else {
        const std::size_t floats = std::min(count - at, kBlockFloats);
        fill_window(in, history, at, floats);
        float block[kBlockFloats];
        filter(window_.data() + history_floats_, taps, block, 1);
        std::memcpy(out + at, block, floats * sizeof(float));
        at += floats;
      }
    }
    keep(in, count, history);
  }

 private:
  void filter(const float* newest, const float* taps, float* out, std::size_t blocks) const {
    run_widest<FilterLoop>(newest, taps, static_cast<std::size_t>(wanted_.taps),
                           static_cast<std::size_t>(wanted_.lanes), out, blocks);
  }

  /// History and input from `at - history_floats_` on, and nothing behind.
  void fill_window(const float* in, const float* history, std::size_t at, std::size_t floats) {
    const std::size_t old = history_floats_ - std::min(at, history_floats_);
    const std::size_t fresh = history_floats_ - old;
    if (old != 0) {
      std::memcpy(window_.data(), history + fresh, old * sizeof(float));
    }
    std::memcpy(window_.data() + old, in + at - fresh, (fresh + floats) * sizeof(float));
    std::fill(window_.begin() + static_cast<std::ptrdiff_t>(history_floats_ + floats),
              window_.end(), 0.0F);
  }

  void keep(const float* in, std::size_t count, float* history) const {
    const std::size_t fresh = std::min(count, history_floats_);
    if (fresh == 0) {
      return;
    }
    std::memmove(history, history + fresh, (history_floats_ - fresh) * sizeof(float));
    std::memcpy(history + history_floats_ - fresh, in + count - fresh, fresh * sizeof(float));
  }

  FirParams wanted_;
  std::size_t history_floats_;
  std::vector<float> window_;
};

}  // namespace

FirParams FirParams::from(ParameterView params) noexcept {
  return {static_cast<std::uint64_t>(params[0].i64), params[1].choice_index + 1};
}

std::string_view FirKernel::name() const noexcept { return "fir"; }

std::string_view FirKernel::summary() const noexcept {
  return "finite impulse response filter; the jobs of a channel are one signal";
}

std::span<const Parameter> FirKernel::parameters() const noexcept { return kParameters; }

std::string_view FirKernel::table_help() const noexcept {
  return "the taps as f32, h[0] first, which weighs the newest sample";
}

std::uint64_t FirKernel::table_bytes(ParameterView params) const noexcept {
  return FirParams::from(params).taps * sizeof(float);
}

std::uint64_t FirKernel::granule_bytes(ParameterView params) const noexcept {
  return FirParams::from(params).lanes * sizeof(float);
}

PlanOrRefusal FirKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const FirParams wanted = FirParams::from(params);
  const std::uint64_t sample_bytes = granule_bytes(params);
  if (!fits_granule(input_bytes, sample_bytes)) {
    return refuse_misfit(name(), wanted.lanes == 1 ? "f32 sample" : "complex f32 sample",
                         input_bytes, sample_bytes);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.workspace_bytes = kChainedItemBytes;
  plan.paths = Path::copy | Path::gather;
  plan.state_bytes = wanted.history_floats() * sizeof(float);
  return plan;
}

void FirKernel::run(const overlap_batch& batch) const {
  HostFilter filter(FirParams::from({batch.params, batch.param_count}));
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    filter.run(item_at(batch, index));
  }
}

bool FirKernel::has_cuda() const noexcept { return built_with_cuda(); }

int FirKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_fir(batch, stream);
}

}  // namespace overlap
