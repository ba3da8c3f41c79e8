#include "kernels/fft/fft.hpp"

#include <complex>
#include <cstring>
#include <numbers>
#include <vector>

namespace overlap {
namespace {

using Values = std::vector<std::complex<double>>;

/// exp(sign * 2 pi i * numerator / denominator)
std::complex<double> unit(double sign, std::uint64_t numerator, std::uint64_t denominator) {
  const double turns =
      static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  return std::polar(1.0, sign * 2 * std::numbers::pi * turns);
}

/// By the definition: every output from every input.
Values by_definition(const Values& x, double sign) {
  const std::size_t n = x.size();
  Values factors(n);
  for (std::size_t i = 0; i < n; ++i) {
    factors[i] = unit(sign, i, n);
  }
  Values result(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      result[k] += x[j] * factors[j * k % n];
    }
  }
  return result;
}

Values transformed(const Values& x, double sign);

/// Even and odd places apart (Cooley and Tukey, radix 2).
Values by_halves(const Values& x, double sign) {
  const std::size_t half = x.size() / 2;
  Values even(half);
  Values odd(half);
  for (std::size_t i = 0; i < half; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = transformed(even, sign);
  odd = transformed(odd, sign);
  Values result(x.size());
  for (std::size_t k = 0; k < half; ++k) {
    const std::complex<double> turned = odd[k] * unit(sign, k, x.size());
    result[k] = even[k] + turned;
    result[k + half] = even[k] - turned;
  }
  return result;
}

/// A long odd length as a convolution of a power of two (Bluestein).
Values by_chirp(const Values& x, double sign) {
  const std::uint64_t n = x.size();
  std::uint64_t padded = 1;
  while (padded < 2 * n - 1) {
    padded *= 2;
  }
  Values signal(padded);
  Values chirp(padded);
  for (std::uint64_t j = 0; j < n; ++j) {
    signal[j] = x[j] * unit(sign, j * j, 2 * n);
    chirp[j] = unit(-sign, j * j, 2 * n);
    chirp[(padded - j) % padded] = chirp[j];
  }
  signal = transformed(signal, -1);
  chirp = transformed(chirp, -1);
  for (std::uint64_t i = 0; i < padded; ++i) {
    signal[i] *= chirp[i] / static_cast<double>(padded);
  }
  signal = transformed(signal, 1);
  Values result(n);
  for (std::uint64_t k = 0; k < n; ++k) {
    result[k] = signal[k] * unit(sign, k * k, 2 * n);
  }
  return result;
}

Values transformed(const Values& x, double sign) {
  constexpr std::size_t kShort = 512;
  if (x.size() % 2 == 0 && x.size() > 2) {
    return by_halves(x, sign);
  }
  return x.size() <= kShort ? by_definition(x, sign) : by_chirp(x, sign);
}

}  // namespace

/// All of it in f64, rounded to f32 at the end.
std::uint64_t FftKernel::reference(const ReferenceJob& job) const {
  const auto n = static_cast<std::size_t>(job.params[0].i64);
  const bool is_real = job.params[1].choice_index == 1;
  const double sign = job.params[2].choice_index == 0 ? -1 : 1;
  const double scale = static_cast<float>(job.params[3].f64);
  const std::size_t value_floats = is_real ? 1 : 2;
  const std::size_t kept = is_real ? n / 2 + 1 : n;
  std::size_t written = 0;
  const std::size_t transform_bytes = n * value_floats * sizeof(float);
  for (std::size_t at = 0; at + transform_bytes <= job.input.size(); at += transform_bytes) {
    Values x(n);
    for (std::size_t j = 0; j < n; ++j) {
      float parts[2] = {0, 0};
      std::memcpy(parts, &job.input[at + j * value_floats * sizeof(float)],
                  value_floats * sizeof(float));
      x[j] = {parts[0], parts[1]};
    }
    const Values result = transformed(x, sign);
    for (std::size_t k = 0; k < kept; ++k) {
      const float parts[2] = {static_cast<float>(result[k].real() * scale),
                              static_cast<float>(result[k].imag() * scale)};
      std::memcpy(&job.output[written], parts, sizeof parts);
      written += sizeof parts;
    }
  }
  return written;
}

}  // namespace overlap
