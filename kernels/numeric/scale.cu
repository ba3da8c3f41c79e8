#include "kernels/cuda_launch.hpp"
#include "kernels/map_elements.cuh"
#include "kernels/numeric/scale.hpp"

#include <limits>

namespace overlap {
namespace {

// The intrinsics round each step to nearest and are never fused, whatever the compiler's options.

struct ScaleF32 {
  float a;
  float b;
  __device__ float operator()(float x) const { return __fadd_rn(__fmul_rn(a, x), b); }
};

struct ScaleF64 {
  double a;
  double b;
  __device__ double operator()(double x) const { return __dadd_rn(__dmul_rn(a, x), b); }
};

/// The conversion rounds ties to even and saturates to 32 bits; narrower types saturate after it.
template <class Integer>
struct ScaleInteger {
  static constexpr int kLow = std::numeric_limits<Integer>::min();
  static constexpr int kHigh = std::numeric_limits<Integer>::max();
  double a;
  double b;
  __device__ Integer operator()(Integer x) const {
    const int low = kLow;
    const int high = kHigh;
    const int nearest = __double2int_rn(__dadd_rn(__dmul_rn(a, __int2double_rn(x)), b));
    return static_cast<Integer>(min(max(nearest, low), high));
  }
};

template <class Integer>
int launch_integers(const overlap_batch& batch, OpaqueStream stream, const ScaleParams& wanted) {
  return launch_map<Integer>(batch, stream, ScaleInteger<Integer>{wanted.a, wanted.b});
}

}  // namespace

int launch_scale(const overlap_batch& batch, OpaqueStream stream) {
  const ScaleParams wanted = ScaleParams::from({batch.params, batch.param_count});
  switch (wanted.type) {
    case ScaleType::u8:
      return launch_integers<std::uint8_t>(batch, stream, wanted);
    case ScaleType::i16:
      return launch_integers<std::int16_t>(batch, stream, wanted);
    case ScaleType::i32:
      return launch_integers<std::int32_t>(batch, stream, wanted);
    case ScaleType::f32:
      return launch_map<float>(
          batch, stream, ScaleF32{static_cast<float>(wanted.a), static_cast<float>(wanted.b)});
    case ScaleType::f64:
      return launch_map<double>(batch, stream, ScaleF64{wanted.a, wanted.b});
  }
  return cudaErrorInvalidValue;
}

}  // namespace overlap
