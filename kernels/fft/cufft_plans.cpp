#include "kernels/fft/cufft_plans.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/fft/cufft_library.hpp"
#include "kernels/fft/fft_cuda.hpp"

#include <algorithm>
#include <bit>

namespace overlap {
namespace {

constexpr int kInvalidValue = 1;      // cudaErrorInvalidValue
constexpr int kMemoryAllocation = 2;  // cudaErrorMemoryAllocation

/// Beyond this much input in one execution, a launch more costs nothing that could be measured.
constexpr std::uint64_t kExecutedBytes = std::uint64_t{64} << 20;
/// Lengths and types whose plans are kept; more, and those unused for longest go.
constexpr std::size_t kKeptSets = 32;

/// cuFFT's results are no cudaError_t; none of them says that the GPU is lost, which the next call
/// to the runtime would tell.
int cuda_error_of(int cufft_result) {
  if (cufft_result == CufftLibrary::kSuccess) {
    return 0;
  }
  return cufft_result == CufftLibrary::kAllocFailed ? kMemoryAllocation : kInvalidValue;
}

/// The largest power of two of transforms that are executed at once: at least 2, so that a run of
/// real transforms of odd length is split at even places only, where cuFFT's alignment of 8 holds.
std::size_t largest_power(const FftParams& wanted, std::size_t powers) {
  const std::uint64_t fitting = std::max<std::uint64_t>(kExecutedBytes / wanted.input_bytes(), 2);
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(fitting)) - 1, powers - 1);
}

std::size_t power_for(std::uint64_t count, const FftParams& wanted, std::size_t powers) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(count)) - 1,
                               largest_power(wanted, powers));
}

/// Transforms of an item. Its size may be known on the GPU alone; what its output has room for is
/// then computed, which does no harm where the size turns out to be 0.
std::uint64_t transforms_of(const overlap_batch_item& item, const overlap_batch& batch,
                            const FftParams& wanted) {
  if ((batch.flags & OVERLAP_BATCH_SIZES_ON_DEVICE) == 0) {
    return item.input_bytes / wanted.input_bytes();
  }
  return std::min(batch.max_input_bytes / wanted.input_bytes(),
                  item.output_capacity_bytes / wanted.output_bytes());
}

}  // namespace

CufftPlans::~CufftPlans() {
  for (PlanSet& set : sets_) {
    destroy(set);
  }
}

void CufftPlans::destroy(PlanSet& set) const {
  for (std::optional<SizedPlan>& plan : set.plans) {
    if (plan) {
      (void)library_->destroy(plan->handle);
      plan.reset();
    }
  }
}

CufftPlans::PlanSet& CufftPlans::set_for(int device, const FftParams& wanted) {
  const auto found = std::ranges::find_if(sets_, [&](const PlanSet& set) {
    return set.device == device && set.n == wanted.n && set.type == wanted.type;
  });
  if (found != sets_.end()) {
    sets_.splice(sets_.begin(), sets_, found);
  } else {
    if (sets_.size() == kKeptSets) {
      destroy(sets_.back());
      sets_.pop_back();
    }
    sets_.push_front({device, wanted.n, wanted.type, {}});
  }
  return sets_.front();
}

int CufftPlans::make(const CufftLibrary& library, PlanSet& set, std::size_t power) {
  if (set.plans[power]) {
    return CufftLibrary::kSuccess;
  }
  SizedPlan plan;
  int result = library.create(&plan.handle);
  if (result != CufftLibrary::kSuccess) {
    return result;
  }
  result = library.set_auto_allocation(plan.handle, 0);
  if (result == CufftLibrary::kSuccess) {
    auto n = static_cast<long long>(set.n);
    // Without embeddings the transforms lie side by side, in the input and in the output.
    result =
        library.make_plan_many(plan.handle, 1, &n, nullptr, 1, 0, nullptr, 1, 0,
                               set.type == FftType::c2c ? CufftLibrary::kC2C : CufftLibrary::kR2C,
                               static_cast<long long>(std::uint64_t{1} << power), &plan.work_bytes);
  }
  if (result != CufftLibrary::kSuccess) {
    (void)library.destroy(plan.handle);
    return result;
  }
  set.plans[power] = plan;
  return result;
}

std::optional<Refusal> CufftPlans::prepare(const FftParams& wanted, std::uint64_t count) {
  std::string why;
  const CufftLibrary* const library = CufftLibrary::open(why);
  if (library == nullptr) {
    return Refusal{"fft needs cuFFT on the GPU, and it cannot be opened (" + why +
                   "); install libcufft, or run on the host"};
  }
  int device = 0;
  if (const int status = current_cuda_device(device); status != 0) {
    return Refusal{"fft cannot tell which GPU is the current one: CUDA error " +
                   std::to_string(status)};
  }
  const std::scoped_lock lock(mutex_);
  library_ = library;
  PlanSet& set = set_for(device, wanted);
  // A batch joins jobs, so that every power may be wanted, whatever one job holds.
  const std::size_t largest = largest_power(wanted, kPowers);
  for (std::size_t power = 0; power <= largest; ++power) {
    if (const int result = make(*library, set, power); result != CufftLibrary::kSuccess) {
      return Refusal{"cuFFT makes no plan for " + std::to_string(std::uint64_t{1} << power) +
                     " transforms of n=" + std::to_string(wanted.n) + ": result " +
                     std::to_string(result)};
    }
  }
  // Any job comes down to these two, also the smallest, whatever the largest one has.
  for (std::uint64_t together = 1; together <= std::min<std::uint64_t>(count, 2); ++together) {
    const std::uint64_t bound = fft_workspace_bytes(wanted.n, together);
    const std::size_t needed = set.plans[together - 1]->work_bytes;
    if (needed > bound) {
      return Refusal{"cuFFT wants " + std::to_string(needed) +
                     " bytes of workspace for n=" + std::to_string(wanted.n) + ", " +
                     std::to_string(together) + " at a time, and a job of as many has " +
                     std::to_string(bound) + "; use another n"};
    }
  }
  return std::nullopt;
}

int CufftPlans::execute(const CufftLibrary& library, PlanSet& set, const FftParams& wanted, Run run,
                        const overlap_batch& batch, void* stream) {
  while (run.count != 0) {
    std::size_t power = power_for(run.count, wanted, kPowers);
    int result = make(library, set, power);
    while (result == CufftLibrary::kSuccess && power != 0 &&
           set.plans[power]->work_bytes > batch.workspace_bytes) {
      result = make(library, set, --power);
    }
    if (result != CufftLibrary::kSuccess) {
      return cuda_error_of(result);
    }
    const SizedPlan& plan = *set.plans[power];
    if (plan.work_bytes > batch.workspace_bytes) {
      return kMemoryAllocation;
    }
    // cuFFT takes an input that is not const; of transforms out of place that do not end in real
    // values, it leaves the input as it is.
    auto* const input = const_cast<std::byte*>(run.input);
    result = library.set_stream(plan.handle, stream);
    if (result == CufftLibrary::kSuccess) {
      result = library.set_work_area(plan.handle, batch.workspace);
    }
    if (result == CufftLibrary::kSuccess) {
      result =
          wanted.type == FftType::c2c
              ? library.exec_c2c(plan.handle, input, run.output,
                                 wanted.inverse ? CufftLibrary::kInverse : CufftLibrary::kForward)
              : library.exec_r2c(plan.handle, input, run.output);
    }
    if (result != CufftLibrary::kSuccess) {
      return cuda_error_of(result);
    }
    const std::uint64_t done = std::uint64_t{1} << power;
    run.input += done * wanted.input_bytes();
    run.output += done * wanted.output_bytes();
    run.count -= done;
  }
  return 0;
}

int CufftPlans::launch(const FftParams& wanted, const overlap_batch& batch, void* stream) {
  if (batch.max_input_bytes == 0) {
    return 0;
  }
  std::string why;
  const CufftLibrary* const library = CufftLibrary::open(why);
  int device = 0;
  if (library == nullptr) {
    return kInvalidValue;  // `prepare` said why
  }
  if (const int status = current_cuda_device(device); status != 0) {
    return status;
  }
  std::uint32_t index = 0;
  while (index < batch.item_count) {
    const overlap_batch_item& first = item_at(batch, index);
    Run run{static_cast<const std::byte*>(first.input), static_cast<std::byte*>(first.output),
            transforms_of(first, batch, wanted)};
    for (++index; index < batch.item_count; ++index) {
      const overlap_batch_item& next = item_at(batch, index);
      if (next.input != run.input + run.count * wanted.input_bytes() ||
          next.output != run.output + run.count * wanted.output_bytes()) {
        break;
      }
      run.count += transforms_of(next, batch, wanted);
    }
    int status = 0;
    {
      const std::scoped_lock lock(mutex_);
      library_ = library;
      status = execute(*library, set_for(device, wanted), wanted, run, batch, stream);
    }
    if (status == 0 && wanted.scale != 1.0F) {
      status = scale_floats(run.output, run.count * wanted.output_bytes() / sizeof(float),
                            wanted.scale, stream);
    }
    if (status != 0) {
      return status;
    }
  }
  return 0;
}

}  // namespace overlap
