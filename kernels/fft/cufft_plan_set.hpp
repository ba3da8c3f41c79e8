#pragma once

#include "kernels/fft/fft.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace overlap {

struct CufftLibrary;

/// Transforms side by side in device memory.
struct TransformRun {
  const std::byte* input;
  std::byte* output;
  std::uint64_t count;
};

/// Device memory to work in, aligned to 256 bytes.
struct DeviceWorkspace {
  std::byte* memory;
  std::uint64_t bytes;
};

/// cuFFT's plans for 1, 2, 4, 8, ... transforms of one length and type at a time on one device, so
/// that any number of transforms is a few executions. Plans have no memory of their own.
///
/// Thread safety: any; streams share a plan under one lock, which covers the calls that enqueue. Plans
/// are made outside of it, unless `execute` finds one missing.
class CufftPlanSet {
 public:
  /// @param library stays open
  CufftPlanSet(const CufftLibrary& library, int device, const FftParams& wanted);
  CufftPlanSet(const CufftPlanSet&) = delete;
  CufftPlanSet& operator=(const CufftPlanSet&) = delete;
  ~CufftPlanSet();

  [[nodiscard]] bool is_for(int device, const FftParams& wanted) const noexcept;
  [[nodiscard]] int device() const noexcept { return device_; }

  /// Makes every plan that is missing, on the current device, which is the set's. May take long.
  /// @return why jobs would not run, if so
  [[nodiscard]] std::optional<Refusal> complete();

  /// What `execute` would like to have for so many transforms, bytes; it makes do with less.
  /// @return empty if cuFFT makes no such plan
  [[nodiscard]] std::optional<std::uint64_t> work_bytes(std::uint64_t count);

  /// Enqueues the transforms, in place if input and output are the same.
  /// @return a `cudaError_t` value: `cudaErrorMemoryAllocation` if the workspace is too small for one
  [[nodiscard]] int execute(TransformRun run, bool inverse, const DeviceWorkspace& workspace,
                            void* stream);

 private:
  /// Powers of two up to 2^(kPowers - 1) transforms at a time.
  static constexpr std::size_t kPowers = 24;

  struct SizedPlan {
    int handle = -1;
    std::size_t work_bytes = 0;
  };

  [[nodiscard]] std::size_t largest_power() const noexcept;
  [[nodiscard]] std::size_t power_for(std::uint64_t count) const noexcept;
  /// Makes a plan that belongs to the caller. @return cuFFT's result
  [[nodiscard]] int make(std::size_t power, SizedPlan& plan) const;
  /// Makes the plan if it is missing, outside of the lock. @return cuFFT's result
  [[nodiscard]] int add(std::size_t power);
  /// Makes the plan if it is missing. @return cuFFT's result @pre locked
  [[nodiscard]] int add_locked(std::size_t power);
  [[nodiscard]] int execute_plan(const SizedPlan& plan, const TransformRun& run, bool inverse,
                                 std::byte* workspace, void* stream) const;

  const CufftLibrary& library_;
  const int device_;
  const std::uint64_t n_;
  const FftType type_;
  /// Of one transform.
  const std::uint64_t input_bytes_;
  const std::uint64_t output_bytes_;

  std::mutex mutex_;
  std::array<std::optional<SizedPlan>, kPowers> plans_;
};

}  // namespace overlap
