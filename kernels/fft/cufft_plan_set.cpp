#include "kernels/fft/cufft_plan_set.hpp"

#include "kernels/fft/cufft_library.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace overlap {
namespace {

constexpr int kInvalidValue = 1;      // cudaErrorInvalidValue
constexpr int kMemoryAllocation = 2;  // cudaErrorMemoryAllocation

/// Beyond this much input in one execution, a launch more costs nothing that could be measured.
constexpr std::uint64_t kExecutedBytes = std::uint64_t{64} << 20;

/// cuFFT's results are no cudaError_t; none of them says that the GPU is lost, which the next call
/// to the runtime would tell.
int cuda_error_of(int cufft_result) {
  if (cufft_result == CufftLibrary::kSuccess) {
    return 0;
  }
  return cufft_result == CufftLibrary::kAllocFailed ? kMemoryAllocation : kInvalidValue;
}

}  // namespace

CufftPlanSet::CufftPlanSet(const CufftLibrary& library, int device, const FftParams& wanted)
    : library_(library),
      device_(device),
      n_(wanted.n),
      type_(wanted.type),
      input_bytes_(wanted.input_bytes()),
      output_bytes_(wanted.output_bytes()) {}

CufftPlanSet::~CufftPlanSet() {
  for (const std::optional<SizedPlan>& plan : plans_) {
    if (plan) {
      (void)library_.destroy(plan->handle);
    }
  }
}

bool CufftPlanSet::is_for(int device, const FftParams& wanted) const noexcept {
  return device_ == device && n_ == wanted.n && type_ == wanted.type;
}

/// At least 2 transforms at once, so that a run of real transforms of odd length is split at even
/// places only, where cuFFT's alignment of 8 holds.
std::size_t CufftPlanSet::largest_power() const noexcept {
  const std::uint64_t fitting = std::max<std::uint64_t>(kExecutedBytes / input_bytes_, 2);
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(fitting)) - 1, kPowers - 1);
}

std::size_t CufftPlanSet::power_for(std::uint64_t count) const noexcept {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(count)) - 1,
                               largest_power());
}

int CufftPlanSet::make(std::size_t power, SizedPlan& plan) const {
  int result = library_.create(&plan.handle);
  if (result != CufftLibrary::kSuccess) {
    return result;
  }
  result = library_.set_auto_allocation(plan.handle, 0);
  if (result == CufftLibrary::kSuccess) {
    auto n = static_cast<long long>(n_);
    // Without embeddings the transforms lie side by side, in the input and in the output.
    result = library_.make_plan_many(
        plan.handle, 1, &n, nullptr, 1, 0, nullptr, 1, 0,
        type_ == FftType::c2c ? CufftLibrary::kC2C : CufftLibrary::kR2C,
        static_cast<long long>(std::uint64_t{1} << power), &plan.work_bytes);
  }
  if (result != CufftLibrary::kSuccess) {
    (void)library_.destroy(plan.handle);
  }
  return result;
}

int CufftPlanSet::add(std::size_t power) {
  {
    const std::scoped_lock lock(mutex_);
    if (plans_[power]) {
      return CufftLibrary::kSuccess;
    }
  }
  SizedPlan plan;
  const int result = make(power, plan);
  if (result != CufftLibrary::kSuccess) {
    return result;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (!plans_[power]) {
      plans_[power] = plan;
      return result;
    }
  }
  (void)library_.destroy(plan.handle);  // another thread was faster; this one was never executed
  return result;
}

int CufftPlanSet::add_locked(std::size_t power) {
  if (plans_[power]) {
    return CufftLibrary::kSuccess;
  }
  SizedPlan plan;
  const int result = make(power, plan);
  if (result == CufftLibrary::kSuccess) {
    plans_[power] = plan;
  }
  return result;
}

std::optional<Refusal> CufftPlanSet::complete() {
  // A batch joins jobs, so that every power may be wanted, whatever one job holds.
  const std::size_t largest = largest_power();
  for (std::size_t power = 0; power <= largest; ++power) {
    if (const int result = add(power); result != CufftLibrary::kSuccess) {
      return Refusal{"cuFFT makes no plan for " + std::to_string(std::uint64_t{1} << power) +
                     " transforms of n=" + std::to_string(n_) + ": result " +
                     std::to_string(result)};
    }
  }
  // Every run comes down to these two, whatever the larger ones want.
  for (const std::uint64_t together : {1U, 2U}) {
    const std::uint64_t bound = fft_workspace_bytes(n_, together);
    const std::uint64_t needed = work_bytes(together).value_or(0);
    if (needed > bound) {
      return Refusal{"cuFFT wants " + std::to_string(needed) +
                     " bytes of workspace for n=" + std::to_string(n_) + ", " +
                     std::to_string(together) + " at a time, and a job of as many has " +
                     std::to_string(bound) + "; use another n"};
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> CufftPlanSet::work_bytes(std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  const std::size_t power = power_for(count);
  if (add_locked(power) != CufftLibrary::kSuccess) {
    return std::nullopt;
  }
  return plans_[power]->work_bytes;
}

int CufftPlanSet::execute_plan(const SizedPlan& plan, const TransformRun& run, bool inverse,
                               std::byte* workspace, void* stream) const {
  int result = library_.set_stream(plan.handle, stream);
  if (result == CufftLibrary::kSuccess) {
    result = library_.set_work_area(plan.handle, workspace);
  }
  if (result != CufftLibrary::kSuccess) {
    return result;
  }
  // cuFFT takes an input that is not const; of transforms out of place that do not end in real
  // values, it leaves the input as it is.
  auto* const input = const_cast<std::byte*>(run.input);
  return type_ == FftType::c2c
             ? library_.exec_c2c(plan.handle, input, run.output,
                                 inverse ? CufftLibrary::kInverse : CufftLibrary::kForward)
             : library_.exec_r2c(plan.handle, input, run.output);
}

int CufftPlanSet::execute(TransformRun run, bool inverse, const DeviceWorkspace& workspace,
                          void* stream) {
  const std::scoped_lock lock(mutex_);
  while (run.count != 0) {
    std::size_t power = power_for(run.count);
    int result = add_locked(power);
    while (result == CufftLibrary::kSuccess && power != 0 &&
           plans_[power]->work_bytes > workspace.bytes) {
      result = add_locked(--power);
    }
    if (result != CufftLibrary::kSuccess) {
      return cuda_error_of(result);
    }
    const SizedPlan& plan = *plans_[power];
    if (plan.work_bytes > workspace.bytes) {
      return kMemoryAllocation;
    }
    result = execute_plan(plan, run, inverse, workspace.memory, stream);
    if (result != CufftLibrary::kSuccess) {
      return cuda_error_of(result);
    }
    const std::uint64_t done = std::uint64_t{1} << power;
    run.input += done * input_bytes_;
    run.output += done * output_bytes_;
    run.count -= done;
  }
  return 0;
}

}  // namespace overlap
