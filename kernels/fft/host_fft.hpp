#pragma once

#include "kernels/fft/fft.hpp"

#include <complex>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace overlap {

/// Whether this build has kissfft.
[[nodiscard]] bool fft_has_host() noexcept;

using Complex = std::complex<float>;

/// One transform of complex numbers of a fixed length.
///
/// Lengths with a prime factor above 64 are done as a convolution with a chirp, by three transforms
/// of a length that has small factors (Bluestein 1970): kissfft alone would need as many operations
/// as that factor, a point.
class ComplexFft {
 public:
  /// @throws std::bad_alloc
  ComplexFft(std::size_t n, bool inverse);
  ~ComplexFft();
  ComplexFft(ComplexFft&&) noexcept;

  /// Thread safety: any. @pre `in`, `out` and `scratch` do not overlap
  void transform(const Complex* in, Complex* out, std::span<Complex> scratch) const;

  /// What `transform` needs at least, elements.
  [[nodiscard]] std::size_t scratch_count() const noexcept;
  /// Memory that it holds, about.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

/// One transform as `fft` is asked for it, without the factor.
class HostFft {
 public:
  /// @throws std::bad_alloc
  HostFft(std::size_t n, FftType type, bool inverse);

  /// Thread safety: any.
  void transform(const float* in, float* out, std::span<Complex> scratch) const;

  [[nodiscard]] std::size_t scratch_count() const noexcept;
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  void unfold(Complex* out) const;

  std::size_t n_;
  FftType type_;
  ComplexFft complex_;
  /// Of an even number of real values: exp(-2 pi i k / n) for k up to n / 4.
  std::vector<Complex> twiddles_;
};

/// The transforms that were used last, up to a bound of memory. Thread safety: any.
class HostFftCache {
 public:
  [[nodiscard]] std::shared_ptr<const HostFft> get(const FftParams& wanted);

 private:
  struct Entry {
    std::size_t n;
    FftType type;
    bool inverse;
    std::shared_ptr<const HostFft> fft;
  };

  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last is first
};

}  // namespace overlap
