#pragma once

#include "kernels/fft/cufft_plan_set.hpp"
#include "kernels/fft/fft.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

namespace overlap {

/// Whether this build can launch transforms, given a cuFFT where it runs.
[[nodiscard]] bool fft_built_with_cuda() noexcept;

/// Transforms of batches by cuFFT. Its plans are made beforehand for each device, length and type, and
/// work in the batch's workspace. Thread safety: any; launches go on while `prepare` makes plans.
class CufftPlans {
 public:
  /// Opens cuFFT and makes the plans, on the current device. With many lengths in use, those unused
  /// for longest go, once their device has done all that was enqueued.
  /// @return why it cannot be done
  [[nodiscard]] std::optional<Refusal> prepare(const FftParams& wanted);

  /// Enqueues the batch. Jobs that lie side by side are one run of transforms; small ones that do
  /// not are made so in the workspace. @return as `Kernel::launch`
  [[nodiscard]] int launch(const FftParams& wanted, const overlap_batch& batch, void* stream);

 private:
  /// Null if there is none.
  [[nodiscard]] std::shared_ptr<CufftPlanSet> find(int device, const FftParams& wanted);
  /// @pre locked
  [[nodiscard]] std::shared_ptr<CufftPlanSet> find_locked(int device, const FftParams& wanted);
  /// Keeps the set, unless another thread brought one meanwhile. @return the one that is kept
  std::shared_ptr<CufftPlanSet> keep(std::shared_ptr<CufftPlanSet> set, int device,
                                     const FftParams& wanted);
  /// Destroys the sets beyond those that are kept.
  void drop_oldest();

  std::mutex mutex_;
  std::list<std::shared_ptr<CufftPlanSet>> sets_;  // the one used last is first
};

}  // namespace overlap
