//! kernel half_gain "gain * x, rounded to half precision on the way, of i16"
//! element half_gain i16 -> f32
//! param gain real 1 -16 16 - "factor"

#include <cuda_fp16.h>

__device__ float half_gain(short x, float gain) {
  return __half2float(__float2half_rn(gain * static_cast<float>(x)));
}
