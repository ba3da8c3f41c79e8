#pragma once

#include "kernels/kernel.hpp"

#include <memory>

namespace overlap {

class CufftPlans;
class HostFftCache;

/// What is transformed into what.
enum class FftType : std::uint8_t { c2c, r2c };

/// How `fft` was asked to run.
struct FftParams {
  /// Points of one transform.
  std::uint64_t n;
  FftType type;
  bool inverse;
  /// Factor on every result.
  float scale;

  [[nodiscard]] static FftParams from(ParameterView params) noexcept;
  /// Bytes of one transform's input and output.
  [[nodiscard]] std::uint64_t input_bytes() const noexcept;
  [[nodiscard]] std::uint64_t output_bytes() const noexcept;

  friend bool operator==(const FftParams&, const FftParams&) = default;
};

/// Scratch memory for `count` transforms by cuFFT, bytes: an upper bound made without asking cuFFT.
///
/// Where n has no prime factor above 7, cuFFT works in place but for one or two passes through a
/// copy: twice the data as complex numbers. For other n the documented worst case (cuFFT API
/// reference, "Fourier transform setup"): eight times the points. `prepare` checks it against what
/// cuFFT says; a launch that has less runs fewer transforms at a time.
[[nodiscard]] std::uint64_t fft_workspace_bytes(std::uint64_t n, std::uint64_t count) noexcept;

/// `fft`: discrete Fourier transforms of any length n from 1 to 2^24, a job being one or more of
/// them, one after the other: X[k] = scale * sum of x[j] * exp(-+2 pi i j k / n), minus forward and
/// plus inverse, not divided by n. f32 in and out. `c2c` gives n complex values for n; `r2c` takes
/// real values, goes forward only, and gives the first n / 2 + 1.
///
/// Host (kissfft), CUDA (cuFFT) and reference (f64) round at different places. The relative RMS
/// error of a transform is of the order eps * log2(n) at most, with eps = 2^-24 (Gentleman and
/// Sande 1966; Schatzman, SIAM J. Sci. Comput. 17, 1996). Tests allow eps * (log2(n) + 2), and four
/// times that where n has a prime factor above 64, which takes three transforms of more than 2 n
/// points; the host stays below 0.4 and 0.1 of them. A NaN or an infinity spoils its whole
/// transform, and no other.
class FftKernel final : public Kernel {
 public:
  FftKernel();
  ~FftKernel() override;
  FftKernel(const FftKernel&) = delete;
  FftKernel& operator=(const FftKernel&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  /// On a GPU: opens cuFFT and makes its plans for the current device.
  [[nodiscard]] std::optional<Refusal> prepare(ParameterView params, std::uint64_t input_bytes,
                                               bool on_gpu) const override;
  [[nodiscard]] bool has_host() const noexcept override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  /// Several launches: transforms that lie side by side, or were moved so, are done together, in
  /// powers of two.
  /// Where sizes are known on the GPU alone, an item is taken to be as long as its output has room.
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;

 private:
  std::unique_ptr<HostFftCache> host_;
  std::unique_ptr<CufftPlans> cuda_;
};

}  // namespace overlap
