#include "kernels/numeric/reduce.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/numeric/reduce_folds.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace overlap {
namespace {

constexpr std::uint64_t kMostElements = 1ULL << 32U;
constexpr std::array<std::string_view, 5> kOpNames = {"sum", "min", "max", "mean", "variance"};
constexpr std::array<std::string_view, 5> kTypeNames = {"u8", "i16", "i32", "f32", "f64"};
constexpr std::array<std::uint64_t, 5> kTypeBytes = {1, 2, 4, 4, 8};

constexpr std::array<Parameter, 3> kParameters = {
    Parameter{"op",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "what becomes of a segment",
              kOpNames},
    Parameter{"type",
              ParameterType::choice,
              {.choice_index = static_cast<std::uint64_t>(ReduceType::f32)},
              0,
              0,
              "",
              "element type",
              kTypeNames},
    Parameter{"length",
              ParameterType::integer,
              {.i64 = 0},
              0,
              static_cast<double>(kMostElements),
              "elements",
              "elements of a segment; 0: all of the job",
              {}}};

/// `count` elements of a run, as the threads of a warp would share them.
template <class Fold>
struct RunLoop {
  using Element = typename Fold::Element;

  [[gnu::always_inline]] static inline void run(const Element* in, std::uint32_t count, ReduceOp op,
                                                typename Fold::Part* part) {
    constexpr std::uint32_t kLanes = kThreadLanes<Element>;
    constexpr std::uint32_t kRow = kRunThreads * kLanes;
    const Element first = in[0];
    auto threads = make_threads(op, first, std::make_index_sequence<kRunThreads>{});
    const std::uint32_t whole = count - count % kRow;
    for (std::uint32_t row = 0; row < whole; row += kRow) {
      for (std::uint32_t i = 0; i < kRow; ++i) {
        threads[i / kLanes].add(in[row + i], i % kLanes);
      }
    }
    for (std::uint32_t i = 0; i < count - whole; ++i) {
      threads[i / kLanes].add(in[whole + i], i % kLanes);
    }
    std::array<typename Fold::Run, kRunThreads> runs;
    for (std::uint32_t thread = 0; thread < kRunThreads; ++thread) {
      runs[thread] = threads[thread].run();
    }
    for (std::uint32_t apart = 1; apart < kRunThreads; apart *= 2) {
      for (std::uint32_t thread = 0; thread < kRunThreads; thread += 2 * apart) {
        runs[thread] = combined(runs[thread], runs[thread + apart]);
      }
    }
    *part = Fold::part(runs[0], first, count);
  }

 private:
  template <std::size_t... Index>
  [[gnu::always_inline]] static inline std::array<Fold, kRunThreads> make_threads(
      ReduceOp op, Element first, std::index_sequence<Index...> /*threads*/) {
    return {((void)Index, Fold(op, first))...};
  }
};

template <class Fold>
double reduce_segment(const typename Fold::Element* in, std::uint64_t count, ReduceOp op) {
  constexpr std::uint32_t kElements = kRunElements<typename Fold::Element>;
  std::array<typename Fold::Part, kRunLanes> lanes{};
  std::uint32_t lane = 0;
  for (std::uint64_t done = 0; done < count; done += kElements) {
    typename Fold::Part part{};
    const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(kElements, count - done));
    run_widest<RunLoop<Fold>>(in + done, here, op, &part);
    lanes[lane] = combined(lanes[lane], part);
    lane = (lane + 1) % kRunLanes;
  }
  for (std::uint32_t apart = 1; apart < kRunLanes; apart *= 2) {
    for (std::uint32_t at = 0; at < kRunLanes; at += 2 * apart) {
      lanes[at] = combined(lanes[at], lanes[at + apart]);
    }
  }
  return Fold::result(lanes[0], count, op);
}

}  // namespace

ReduceParams ReduceParams::from(ParameterView params) noexcept {
  return {static_cast<ReduceOp>(params[0].choice_index),
          static_cast<ReduceType>(params[1].choice_index),
          static_cast<std::uint64_t>(params[2].i64)};
}

std::uint64_t ReduceParams::element_bytes() const noexcept {
  return kTypeBytes[static_cast<std::size_t>(type)];
}

std::string_view ReduceKernel::name() const noexcept { return "reduce"; }

std::string_view ReduceKernel::summary() const noexcept {
  return "sum, minimum, maximum, mean or variance of each segment, as f64";
}

std::span<const Parameter> ReduceKernel::parameters() const noexcept { return kParameters; }

std::uint64_t ReduceKernel::granule_bytes(ParameterView params) const noexcept {
  const ReduceParams wanted = ReduceParams::from(params);
  return std::max<std::uint64_t>(wanted.length, 1) * wanted.element_bytes();
}

PlanOrRefusal ReduceKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const ReduceParams wanted = ReduceParams::from(params);
  const std::uint64_t granule = granule_bytes(params);
  const std::string type(kTypeNames[static_cast<std::size_t>(wanted.type)]);
  if (!fits_granule(input_bytes, granule)) {
    return refuse_misfit(name(),
                         wanted.length == 0 ? type + " element"
                                            : "segment of " + std::to_string(wanted.length) + " " +
                                                  type + " elements",
                         input_bytes, granule);
  }
  const std::uint64_t count = input_bytes / wanted.element_bytes();
  const std::uint64_t length = wanted.length == 0 ? count : wanted.length;
  if (length > kMostElements) {
    return Refusal{"reduce takes segments of up to " + std::to_string(kMostElements) +
                   " elements, and with length=0 the job is one of " + std::to_string(length) +
                   "; give a length, or send less"};
  }
  Plan plan;
  plan.paths = Path::copy | Path::gather;
  // Else segments begin within the words that threads load. It does not count how many this job has:
  // one plan's paths are taken for a whole batch, whose jobs have other sizes.
  if (wanted.length == 0 || granule % 16 == 0) {
    plan.paths = static_cast<std::uint8_t>(plan.paths | static_cast<std::uint8_t>(Path::mapped));
  }
  if (count == 0) {
    return plan;
  }
  const std::uint64_t segment_bytes = length * wanted.element_bytes();
  const std::uint64_t segments = count / length;
  plan.max_output_bytes = segments * sizeof(double);
  if (segment_bytes > kRunBytes) {
    const std::uint64_t runs = (segment_bytes + kRunBytes - 1) / kRunBytes;
    plan.workspace_bytes = segments * runs * kPartBytes;
  }
  return plan;
}

void ReduceKernel::run(const overlap_batch& batch) const {
  const ReduceParams wanted = ReduceParams::from({batch.params, batch.param_count});
  with_fold(wanted, [&](auto* type) {
    using Fold = std::remove_pointer_t<decltype(type)>;
    for (std::uint32_t index = 0; index < batch.item_count; ++index) {
      const overlap_batch_item& item = item_at(batch, index);
      const std::uint64_t count = item.input_bytes / wanted.element_bytes();
      const std::uint64_t length = wanted.length == 0 ? count : wanted.length;
      const auto* const in = static_cast<const typename Fold::Element*>(item.input);
      auto* const out = static_cast<double*>(item.output);
      for (std::uint64_t done = 0; done < count; done += length) {
        out[done / length] = reduce_segment<Fold>(in + done, length, wanted.op);
      }
    }
  });
}

bool ReduceKernel::has_cuda() const noexcept { return built_with_cuda(); }

int ReduceKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_reduce(batch, stream);
}

}  // namespace overlap
