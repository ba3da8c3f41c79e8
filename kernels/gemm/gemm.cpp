#include "kernels/gemm/gemm.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/gemm/cublas_handles.hpp"
#include "kernels/gemm/host_gemm.hpp"
#include "kernels/granule.hpp"

#include <algorithm>
#include <array>

namespace overlap {
namespace {

constexpr double kMostSide = 65'536;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"k",
              ParameterType::integer,
              {.i64 = 256},
              1,
              kMostSide,
              "elements",
              "columns of A (the job, row-major f32) and rows of B (the channel's table)",
              {}},
    Parameter{"n",
              ParameterType::integer,
              {.i64 = 256},
              1,
              kMostSide,
              "elements",
              "columns of B and of the output C = A * B",
              {}}};

/// Where the inner dimension is cut for more parallelism, cuBLAS keeps parts of C in the workspace;
/// with less than 16 KiB it may refuse, above 4 MiB a job there is no gain worth its memory.
constexpr std::uint64_t kLeastWorkspaceBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{4} << 20;

}  // namespace

GemmParams GemmParams::from(ParameterView params) noexcept {
  return {static_cast<std::uint64_t>(params[0].i64), static_cast<std::uint64_t>(params[1].i64)};
}

GemmKernel::GemmKernel() : cuda_(std::make_unique<CublasHandles>()) { host_gemm_start(); }
GemmKernel::~GemmKernel() = default;

std::string_view GemmKernel::name() const noexcept { return "gemm"; }

std::string_view GemmKernel::summary() const noexcept {
  return "matrix product C = A * B in f32; A is the job, B the channel's table";
}

std::span<const Parameter> GemmKernel::parameters() const noexcept { return kParameters; }

std::string_view GemmKernel::table_help() const noexcept {
  return "B as f32, row-major: k rows of n elements";
}

std::uint64_t GemmKernel::table_bytes(ParameterView params) const noexcept {
  const GemmParams wanted = GemmParams::from(params);
  return wanted.k * wanted.output_row_bytes();
}

std::uint64_t GemmKernel::granule_bytes(ParameterView params) const noexcept {
  return GemmParams::from(params).input_row_bytes();
}

PlanOrRefusal GemmKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const GemmParams wanted = GemmParams::from(params);
  const std::uint64_t row_bytes = wanted.input_row_bytes();
  if (!fits_granule(input_bytes, row_bytes)) {
    return refuse_misfit(name(), "row of " + std::to_string(wanted.k) + " f32 elements",
                         input_bytes, row_bytes);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes / row_bytes * wanted.output_row_bytes();
  plan.workspace_bytes =
      std::clamp(plan.max_output_bytes, kLeastWorkspaceBytes, kMostWorkspaceBytes);
  plan.paths = Path::copy | Path::gather;
  return plan;
}

std::optional<Refusal> GemmKernel::prepare(ParameterView /*params*/, std::uint64_t /*input_bytes*/,
                                           bool on_gpu) const {
  return on_gpu ? cuda_->prepare() : std::nullopt;
}

bool GemmKernel::has_host() const noexcept { return gemm_has_host(); }

void GemmKernel::run(const overlap_batch& batch) const {
  const GemmParams wanted = GemmParams::from({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const std::uint64_t rows = item.input_bytes / wanted.input_row_bytes();
    if (rows != 0) {
      host_gemm(wanted, rows, static_cast<const float*>(item.input),
                static_cast<const float*>(item.table), static_cast<float*>(item.output));
    }
  }
}

bool GemmKernel::has_cuda() const noexcept { return gemm_built_with_cuda(); }

int GemmKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return cuda_->launch(GemmParams::from({batch.params, batch.param_count}), batch, stream);
}

}  // namespace overlap
