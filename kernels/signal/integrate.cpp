#include "kernels/signal/integrate.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/signal/channel_chain.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace overlap {
namespace {

constexpr std::array<std::string_view, 2> kOperationNames = {"sum", "mean"};

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{
        "count", ParameterType::integer, {.i64 = 16}, 1, 1'000'000, "jobs", "jobs in one sum", {}},
    Parameter{"op",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "what is emitted: the sum, or the sum divided by count",
              kOperationNames}};

struct BeginLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict in, double* __restrict sums,
                                                std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] = static_cast<double>(in[i]);
    }
  }
};

struct AddLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict in, double* __restrict sums,
                                                std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += static_cast<double>(in[i]);
    }
  }
};

struct EmitLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict in,
                                                const double* __restrict sums,
                                                float* __restrict out, std::size_t count,
                                                double divisor) {
    if (divisor == 1.0) {
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>(sums[i] + static_cast<double>(in[i]));
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>((sums[i] + static_cast<double>(in[i])) / divisor);
      }
    }
  }
};

void integrate_job(const overlap_batch_item& item, const IntegrateParams& wanted) {
  *item.output_bytes = 0;
  const auto count = static_cast<std::size_t>(item.input_bytes / sizeof(float));
  if (count == 0) {
    return;
  }
  auto* const header = static_cast<IntegrationHeader*>(item.state);
  auto* const sums =
      reinterpret_cast<double*>(static_cast<std::byte*>(item.state) + kSumsOffsetBytes);
  if (header->job_count != 0 && header->element_count != count) {
    std::memset(sums, 0, header->used_count * sizeof(double));
    *header = {};
    *item.status = OVERLAP_ITEM_FAILED;
    return;
  }
  const auto* const in = static_cast<const float*>(item.input);
  const bool begins = header->job_count == 0;
  if (header->job_count + 1 == wanted.count) {
    auto* const out = static_cast<float*>(item.output);
    if (begins) {  // a sum of one job is that job
      std::memcpy(out, in, count * sizeof(float));
    } else {
      const double divisor = wanted.mean ? static_cast<double>(wanted.count) : 1.0;
      run_widest<EmitLoop>(in, static_cast<const double*>(sums), out, count, divisor);
    }
    header->job_count = 0;
    header->element_count = 0;
    *item.output_bytes = count * sizeof(float);
    return;
  }
  if (begins) {
    run_widest<BeginLoop>(in, sums, count);
  } else {
    run_widest<AddLoop>(in, sums, count);
  }
  *header = {header->job_count + 1, count, std::max<std::uint64_t>(header->used_count, count)};
}

}  // namespace

IntegrateParams IntegrateParams::from(ParameterView params) noexcept {
  return {static_cast<std::uint64_t>(params[0].i64), params[1].choice_index == 1};
}

std::string_view IntegrateKernel::name() const noexcept { return "integrate"; }

std::string_view IntegrateKernel::summary() const noexcept {
  return "sum or mean of count consecutive jobs, element by element; emitted with the last of them";
}

std::span<const Parameter> IntegrateKernel::parameters() const noexcept { return kParameters; }

std::uint64_t IntegrateKernel::granule_bytes(ParameterView /*params*/) const noexcept {
  return sizeof(float);
}

PlanOrRefusal IntegrateKernel::plan(ParameterView /*params*/, std::uint64_t input_bytes) const {
  if (!fits_granule(input_bytes, sizeof(float))) {
    return refuse_misfit(name(), "f32 element", input_bytes, sizeof(float));
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.output_size = OutputSize::all_or_nothing;
  plan.workspace_bytes = kChainedItemBytes;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  plan.state_bytes = kSumsOffsetBytes + input_bytes / sizeof(float) * sizeof(double);
  return plan;
}

void IntegrateKernel::run(const overlap_batch& batch) const {
  const IntegrateParams wanted = IntegrateParams::from({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    integrate_job(item_at(batch, index), wanted);
  }
}

bool IntegrateKernel::has_cuda() const noexcept { return built_with_cuda(); }

int IntegrateKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_integrate(batch, stream);
}

}  // namespace overlap
