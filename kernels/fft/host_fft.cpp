#include "kernels/fft/host_fft.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <numbers>

#include <kiss_fft.h>

namespace overlap {
namespace {

constexpr std::size_t kLargestRadix = 64;
/// As far as the cache goes before it forgets; the transform used last stays whatever its size.
constexpr std::size_t kCachedBytes = std::size_t{512} << 20;

struct FreeConfig {
  void operator()(kiss_fft_cfg config) const { kiss_fft_free(config); }
};
using Config = std::unique_ptr<kiss_fft_state, FreeConfig>;

Config make_config(std::size_t n, bool inverse) {
  Config config(kiss_fft_alloc(static_cast<int>(n), inverse ? 1 : 0, nullptr, nullptr));
  if (config == nullptr) {
    throw std::bad_alloc();
  }
  return config;
}

/// kissfft does not write to a configuration, but takes it without `const`.
void transform_with(const Config& config, const Complex* in, Complex* out) {
  kiss_fft(config.get(), reinterpret_cast<const kiss_fft_cpx*>(in),
           reinterpret_cast<kiss_fft_cpx*>(out));
}

std::size_t largest_prime_factor(std::size_t n) {
  std::size_t largest = 1;
  for (std::size_t factor = 2; factor * factor <= n; ++factor) {
    while (n % factor == 0) {
      largest = factor;
      n /= factor;
    }
  }
  return std::max(largest, n);
}

/// exp(2 pi i turns), in f64 and rounded once.
Complex unit(double turns) {
  const double angle = 2 * std::numbers::pi * turns;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

/// Written out: the operator of std::complex looks for NaN in every product.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

struct ComplexFft::Parts {
  std::size_t n;
  /// Of the convolution; 0: there is none, and `forward` does all.
  std::size_t padded = 0;
  Config forward;
  Config backward;
  std::vector<Complex> chirp;
  std::vector<Complex> chirp_spectrum;
};

ComplexFft::ComplexFft(std::size_t n, bool inverse) {
  auto parts = std::make_unique<Parts>();
  parts->n = n;
  if (largest_prime_factor(n) <= kLargestRadix) {
    parts->forward = make_config(n, inverse);
    parts_ = std::move(parts);
    return;
  }
  const auto padded =
      static_cast<std::size_t>(kiss_fft_next_fast_size(static_cast<int>(2 * n - 1)));
  parts->padded = padded;
  parts->forward = make_config(padded, false);
  parts->backward = make_config(padded, true);
  parts->chirp.resize(n);
  std::vector<Complex> wrapped(padded);
  for (std::uint64_t k = 0; k < n; ++k) {
    // k * k / (2 n) turns, of which only the fraction counts: exact in integers.
    const double turns = static_cast<double>(k * k % (2 * n)) / static_cast<double>(2 * n);
    const Complex chirp = unit(inverse ? turns : -turns);
    const float divisor = static_cast<float>(padded);
    parts->chirp[k] = chirp;
    wrapped[k] = std::conj(chirp) / divisor;
    wrapped[(padded - k) % padded] = wrapped[k];
  }
  parts->chirp_spectrum.resize(padded);
  transform_with(parts->forward, wrapped.data(), parts->chirp_spectrum.data());
  parts_ = std::move(parts);
}

ComplexFft::~ComplexFft() = default;
ComplexFft::ComplexFft(ComplexFft&&) noexcept = default;

void ComplexFft::transform(const Complex* in, Complex* out, std::span<Complex> scratch) const {
  const Parts& parts = *parts_;
  if (parts.padded == 0) {
    transform_with(parts.forward, in, out);
    return;
  }
  const std::span<Complex> signal = scratch.first(parts.padded);
  const std::span<Complex> spectrum = scratch.subspan(parts.padded, parts.padded);
  for (std::size_t j = 0; j < parts.n; ++j) {
    signal[j] = product(in[j], parts.chirp[j]);
  }
  std::fill(signal.begin() + static_cast<std::ptrdiff_t>(parts.n), signal.end(), Complex{});
  transform_with(parts.forward, signal.data(), spectrum.data());
  for (std::size_t k = 0; k < parts.padded; ++k) {
    spectrum[k] = product(spectrum[k], parts.chirp_spectrum[k]);
  }
  transform_with(parts.backward, spectrum.data(), signal.data());
  for (std::size_t k = 0; k < parts.n; ++k) {
    out[k] = product(signal[k], parts.chirp[k]);
  }
}

std::size_t ComplexFft::scratch_count() const noexcept { return 2 * parts_->padded; }

std::size_t ComplexFft::held_bytes() const noexcept {
  // A configuration holds a factor for every point.
  return sizeof(Complex) * (parts_->padded == 0 ? parts_->n : 3 * parts_->padded + parts_->n);
}

HostFft::HostFft(std::size_t n, FftType type, bool inverse)
    : n_(n), type_(type), complex_(type == FftType::r2c && n % 2 == 0 ? n / 2 : n, inverse) {
  if (type == FftType::r2c && n % 2 == 0) {
    for (std::size_t k = 0; k <= n / 4; ++k) {
      twiddles_.push_back(unit(-static_cast<double>(k) / static_cast<double>(n)));
    }
  }
}

void HostFft::transform(const float* in, float* out, std::span<Complex> scratch) const {
  auto* const to = reinterpret_cast<Complex*>(out);
  if (type_ == FftType::c2c) {
    complex_.transform(reinterpret_cast<const Complex*>(in), to, scratch);
  } else if (n_ % 2 == 0) {
    complex_.transform(reinterpret_cast<const Complex*>(in), to, scratch);
    unfold(to);
  } else {
    const std::span<Complex> widened = scratch.first(n_);
    const std::span<Complex> whole = scratch.subspan(n_, n_);
    std::copy(in, in + n_, widened.begin());
    complex_.transform(widened.data(), whole.data(), scratch.subspan(2 * n_));
    std::copy_n(whole.begin(), n_ / 2 + 1, to);
  }
}

/// The transform of n / 2 pairs, taken as complex numbers, becomes that of the n real values: its
/// parts of even and odd symmetry belong to the values at even and at odd places.
void HostFft::unfold(Complex* out) const {
  const std::size_t half = n_ / 2;
  const Complex first = out[0];
  for (std::size_t k = 1; k <= half - k; ++k) {
    const Complex low = out[k];
    const Complex high = std::conj(out[half - k]);
    const Complex even = (low + high) * 0.5F;
    const Complex difference = (low - high) * 0.5F;
    const Complex odd = product({difference.imag(), -difference.real()}, twiddles_[k]);
    out[k] = even + odd;
    out[half - k] = std::conj(even - odd);
  }
  out[0] = first.real() + first.imag();
  out[half] = first.real() - first.imag();
}

std::size_t HostFft::scratch_count() const noexcept {
  const bool widens = type_ == FftType::r2c && n_ % 2 != 0;
  return complex_.scratch_count() + (widens ? 2 * n_ : 0);
}

std::size_t HostFft::held_bytes() const noexcept {
  return complex_.held_bytes() + sizeof(Complex) * twiddles_.size();
}

bool fft_has_host() noexcept { return true; }

std::shared_ptr<const HostFft> HostFftCache::get(const FftParams& wanted) {
  const auto is_wanted = [&wanted](const Entry& entry) {
    return entry.n == wanted.n && entry.type == wanted.type && entry.inverse == wanted.inverse;
  };
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = std::ranges::find_if(entries_, is_wanted); found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      return entries_.front().fft;
    }
  }
  // Made without the lock, as it takes long; two that make the same at once waste one.
  auto made = std::make_shared<const HostFft>(wanted.n, wanted.type, wanted.inverse);
  const std::scoped_lock lock(mutex_);
  entries_.push_front({static_cast<std::size_t>(wanted.n), wanted.type, wanted.inverse, made});
  std::size_t held = 0;
  auto entry = entries_.begin();
  while (entry != entries_.end()) {
    held += entry->fft->held_bytes();
    entry =
        held > kCachedBytes && entry != entries_.begin() ? entries_.erase(entry) : std::next(entry);
  }
  return made;
}

}  // namespace overlap
