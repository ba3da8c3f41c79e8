#include "kernels/cuda_launch.hpp"
#include "kernels/either_items.cuh"
#include "kernels/numeric/convert.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <limits>

namespace overlap {
namespace {

constexpr std::uint32_t kVectorsInFlight = 4;

template <class Integer>
constexpr int kLow = std::numeric_limits<Integer>::min();
template <class Integer>
constexpr int kHigh = std::numeric_limits<Integer>::max();

// The intrinsics round each step to nearest and are never fused, whatever the compiler's options.

/// An integer becomes the low bits of 2^52, which is faster than the conversion instruction.
__device__ double to_f64(std::uint8_t x) {
  return __dadd_rn(__hiloint2double(0x4330'0000, x), -0x1p52);
}
__device__ double to_f64(std::int32_t x) {
  constexpr double kBias = -(0x1p52 + 0x1p31);
  return __dadd_rn(__hiloint2double(0x4330'0000, x ^ kLow<int>), kBias);
}
__device__ double to_f64(std::int16_t x) { return to_f64(static_cast<std::int32_t>(x)); }
__device__ double to_f64(__half x) { return static_cast<double>(__half2float(x)); }
__device__ double to_f64(__nv_bfloat16 x) { return static_cast<double>(__bfloat162float(x)); }
__device__ double to_f64(float x) { return static_cast<double>(x); }
__device__ double to_f64(double x) { return x; }

template <class From, class To>
struct Conversion {
  double scale;
  double offset;

  __device__ To operator()(From x) const {
    const double y = __dadd_rn(__dmul_rn(to_f64(x), scale), offset);
    if constexpr (std::is_integral_v<To>) {
      // The instruction saturates to 32 bits, and has an integer of its own for NaN. Of an integer
      // and finite factors there is none.
      const int nearest = __double2int_rn(y);
      const int number = std::is_integral_v<From> || y == y ? nearest : 0;
      return static_cast<To>(number < kLow<To>    ? kLow<To>
                             : number > kHigh<To> ? kHigh<To>
                                                  : number);
    } else if constexpr (std::is_same_v<To, __half>) {
      return __double2half(y);
    } else if constexpr (std::is_same_v<To, __nv_bfloat16>) {
      return __double2bfloat16(y);
    } else if constexpr (std::is_same_v<To, float>) {
      return __double2float_rn(y);
    } else {
      return y;
    }
  }
};

template <std::size_t bytes>
struct Packed;
template <>
struct Packed<2> {
  using Type = unsigned short;
};
template <>
struct Packed<4> {
  using Type = unsigned int;
};
template <>
struct Packed<8> {
  using Type = uint2;
};
template <>
struct Packed<16> {
  using Type = uint4;
};

/// As many elements as the wider type has in 16 bytes.
template <class From, class To>
constexpr std::uint32_t kPerVector = 16 / std::max(sizeof(From), sizeof(To));

/// The wider side moves 16 bytes a thread and access, the other as many elements; both without gaps.
template <class From, class To>
__global__ void __launch_bounds__(kBlockThreads)
    convert_elements(const __grid_constant__ EitherItems items, std::uint32_t item_count,
                     const Conversion<From, To> conversion) {
  constexpr std::uint32_t kElements = kPerVector<From, To>;
  using In = typename Packed<kElements * sizeof(From)>::Type;
  using Out = typename Packed<kElements * sizeof(To)>::Type;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = item.input_bytes / sizeof(From);
    const std::uint64_t vectors = count / kElements;
    const auto* const input = static_cast<const In*>(item.input);
    auto* const output = static_cast<Out*>(item.output);
    for (std::uint64_t base = first; base < vectors; base += kVectorsInFlight * step) {
      In loaded[kVectorsInFlight];
#pragma unroll
      for (std::uint32_t load = 0; load < kVectorsInFlight; ++load) {
        if (base + load * step < vectors) {
          loaded[load] = __ldcs(input + base + load * step);
        }
      }
#pragma unroll
      for (std::uint32_t load = 0; load < kVectorsInFlight; ++load) {
        if (base + load * step < vectors) {
          From from[kElements];
          To to[kElements];
          memcpy(from, &loaded[load], sizeof from);
#pragma unroll
          for (std::uint32_t lane = 0; lane < kElements; ++lane) {
            to[lane] = conversion(from[lane]);
          }
          Out result;
          memcpy(&result, to, sizeof result);
          __stcs(output + base + load * step, result);
        }
      }
    }
    const std::uint64_t done = vectors * kElements;
    if (blockIdx.x == 0 && threadIdx.x < count - done) {
      const std::uint64_t at = done + threadIdx.x;
      static_cast<To*>(item.output)[at] = conversion(static_cast<const From*>(item.input)[at]);
    }
  }
}

template <class From, class To>
int launch_pair(const overlap_batch& batch, OpaqueStream stream, const ConvertParams& wanted) {
  const Conversion<From, To> conversion{wanted.scale, wanted.offset};
  return launch_batch(batch, stream, dim3(kBlockThreads),
                      batch.max_input_bytes / sizeof(From) / kPerVector<From, To>, kBlockThreads,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        return cudaLaunchKernelEx(&config, convert_elements<From, To>,
                                                  EitherItems(items), batch.item_count, conversion);
                      });
}

template <class From>
int launch_from(const overlap_batch& batch, OpaqueStream stream, const ConvertParams& wanted) {
  switch (wanted.to) {
    case ConvertType::u8:
      return launch_pair<From, std::uint8_t>(batch, stream, wanted);
    case ConvertType::i16:
      return launch_pair<From, std::int16_t>(batch, stream, wanted);
    case ConvertType::i32:
      return launch_pair<From, std::int32_t>(batch, stream, wanted);
    case ConvertType::f16:
      return launch_pair<From, __half>(batch, stream, wanted);
    case ConvertType::bf16:
      return launch_pair<From, __nv_bfloat16>(batch, stream, wanted);
    case ConvertType::f32:
      return launch_pair<From, float>(batch, stream, wanted);
    case ConvertType::f64:
      return launch_pair<From, double>(batch, stream, wanted);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

int launch_convert(const overlap_batch& batch, OpaqueStream stream) {
  const ConvertParams wanted = ConvertParams::from_values({batch.params, batch.param_count});
  switch (wanted.from) {
    case ConvertType::u8:
      return launch_from<std::uint8_t>(batch, stream, wanted);
    case ConvertType::i16:
      return launch_from<std::int16_t>(batch, stream, wanted);
    case ConvertType::i32:
      return launch_from<std::int32_t>(batch, stream, wanted);
    case ConvertType::f16:
      return launch_from<__half>(batch, stream, wanted);
    case ConvertType::bf16:
      return launch_from<__nv_bfloat16>(batch, stream, wanted);
    case ConvertType::f32:
      return launch_from<float>(batch, stream, wanted);
    case ConvertType::f64:
      return launch_from<double>(batch, stream, wanted);
  }
  return cudaErrorInvalidValue;
}

}  // namespace overlap
