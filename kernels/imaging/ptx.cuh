#pragma once

#include <cstdint>

namespace overlap {

// Single instructions of the machine that CUDA C++ has no word for.

/// A root that is off by one part in 2^23 at most.
[[nodiscard]] inline __device__ float quick_root(float x) {
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

/// sum += left * right over a warp: 16 x 32 bytes times 32 x 8 bytes, unsigned, as 16 x 8 integers.
/// With lane = 4 * high + low, a lane holds (register, then byte or column of it):
///   left[0..3]: row high, columns 4 low + byte; row high + 8, the same; row high, columns
///               16 + 4 low + byte; row high + 8, the same
///   right[0..1]: column high, rows 4 low + byte; 16 + 4 low + byte
///   sum[0..3]: row high, columns 2 low and 2 low + 1; row high + 8, the same
/// (PTX ISA, mma.m16n8k32.) @pre every lane of the warp calls it
inline __device__ void multiply_add_bytes(std::uint32_t (&sum)[4], const std::uint32_t (&left)[4],
                                          std::uint32_t right0, std::uint32_t right1) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
#else
  // The machines before had no such instruction: what the other lanes hold is fetched.
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t low = 0; low < 4; ++low) {
    const std::uint32_t row = lane / 4 * 4 + low;
    for (std::uint32_t column = 0; column < 2; ++column) {
      const std::uint32_t from = (lane % 4 * 2 + column) * 4 + low;
      const std::uint32_t near = __shfl_sync(0xffffffffU, right0, from);
      const std::uint32_t far = __shfl_sync(0xffffffffU, right1, from);
      for (std::uint32_t half = 0; half < 2; ++half) {
        std::uint32_t& total = sum[2 * half + column];
        total = __dp4a(__shfl_sync(0xffffffffU, left[half], row), near, total);
        total = __dp4a(__shfl_sync(0xffffffffU, left[half + 2], row), far, total);
      }
    }
  }
#endif
}

}  // namespace overlap
