#pragma once

#include "kernels/fft/fft.hpp"

#include <array>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>

namespace overlap {

struct CufftLibrary;

/// Whether this build can launch transforms, given a cuFFT where it runs.
[[nodiscard]] bool fft_built_with_cuda() noexcept;

/// cuFFT's plans for 1, 2, 4, 8, ... transforms at a time, made once for each device, length and
/// type, so that any number of transforms is a few executions. Plans have no memory of their own:
/// they work in the batch's. Thread safety: any; streams share a plan under one lock. It covers
/// the calls that enqueue, and in `prepare` the making of plans: launches wait for that.
class CufftPlans {
 public:
  CufftPlans() = default;
  CufftPlans(const CufftPlans&) = delete;
  CufftPlans& operator=(const CufftPlans&) = delete;
  ~CufftPlans();

  /// Opens cuFFT and makes the plans for jobs of up to `count` transforms and for batches of them,
  /// on the current device. @return why it cannot be done
  [[nodiscard]] std::optional<Refusal> prepare(const FftParams& wanted, std::uint64_t count);

  /// Enqueues the batch. @return as `Kernel::launch`
  [[nodiscard]] int launch(const FftParams& wanted, const overlap_batch& batch, void* stream);

 private:
  /// Powers of two up to 2^(kPowers - 1) transforms at a time.
  static constexpr std::size_t kPowers = 24;

  struct SizedPlan {
    int handle = -1;
    std::size_t work_bytes = 0;
  };
  struct PlanSet {
    int device;
    std::uint64_t n;
    FftType type;
    std::array<std::optional<SizedPlan>, kPowers> plans;
  };
  /// Transforms side by side in memory.
  struct Run {
    const std::byte* input;
    std::byte* output;
    std::uint64_t count;
  };

  PlanSet& set_for(int device, const FftParams& wanted);
  /// @return cuFFT's result
  int make(const CufftLibrary& library, PlanSet& set, std::size_t power);
  int execute(const CufftLibrary& library, PlanSet& set, const FftParams& wanted, Run run,
              const overlap_batch& batch, void* stream);
  void destroy(PlanSet& set) const;

  std::mutex mutex_;
  const CufftLibrary* library_ = nullptr;
  std::list<PlanSet> sets_;  // the one used last is first
};

}  // namespace overlap
