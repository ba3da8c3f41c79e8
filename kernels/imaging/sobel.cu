#include "kernels/cuda_launch.hpp"
#include "kernels/imaging/image_tile.cuh"
#include "kernels/imaging/ptx.cuh"
#include "kernels/imaging/sobel.hpp"

#include <cuda_fp16.h>

namespace overlap {
namespace {

constexpr std::uint32_t kHalo = 16;
constexpr std::uint32_t kPitch = kTileBytes + 2 * kHalo;
/// Four pixels across and so many rows down a thread.
constexpr std::uint32_t kThreadRows = kTileRows / (kBlockThreads / (kTileBytes / 4));

using Loader = TileLoader<kHalo, kPitch>;

// Two pixels at a time in half precision: a byte b with a zero byte above it is the half b / 2^24, a
// denormal, and sums and differences of those are exact up to 2047 / 2^24. More than 1020 never comes
// up, and nothing has to be converted.
constexpr float kUnit = 0x1p-24F;

[[nodiscard]] __device__ __half2 halves(std::uint32_t bits) {
  __half2 value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The lower two bytes of a word, or the upper two.
[[nodiscard]] __device__ __half2 low_pixels(std::uint32_t word) {
  return halves(__byte_perm(word, 0, 0x4140));
}
[[nodiscard]] __device__ __half2 high_pixels(std::uint32_t word) {
  return halves(__byte_perm(word, 0, 0x4342));
}

/// What four pixels of a row give to the rows above, here and below.
struct RowTerms {
  __half2 difference[2];  ///< right - left
  __half2 smooth[2];      ///< left + 2 middle + right
};

/// @param words the four pixels with the word before and the word after them
[[nodiscard]] __device__ RowTerms terms_of(const std::uint32_t* words) {
  const std::uint32_t middle = words[1];
  const std::uint32_t from_left = __funnelshift_l(words[0], middle, 8);
  const std::uint32_t from_right = __funnelshift_r(middle, words[2], 8);
  const __half2 two = __float2half2_rn(2.0F);
  // Pixels -1 and 0, 1 and 2, 3 and 4.
  const __half2 pairs[3] = {low_pixels(from_left), high_pixels(from_left), high_pixels(from_right)};
  const __half2 middles[2] = {low_pixels(middle), high_pixels(middle)};
  RowTerms terms;
#pragma unroll
  for (std::uint32_t pair = 0; pair < 2; ++pair) {
    terms.difference[pair] = __hsub2(pairs[pair + 1], pairs[pair]);
    terms.smooth[pair] = __hfma2(middles[pair], two, __hadd2(pairs[pair], pairs[pair + 1]));
  }
  return terms;
}

/// A result's integer in the lowest byte.
template <SobelOutput kOutput>
[[nodiscard]] __device__ std::uint32_t sobel_byte(float gx, float gy) {
  float value;
  if constexpr (kOutput == SobelOutput::magnitude) {
    // As a share of 255, which saturates at 1 for nothing. Off by less than 1/10000 all in all; the
    // root of an integer below 255^2 is five times as far from any half.
    const float share = __saturatef(quick_root(gx * gx + gy * gy) * (1.0F / (255.0F * kUnit)));
    value = share * 255.0F;
  } else {
    // Eighths and a sixteenth: never half-way, so that the rounding below takes halves up.
    const float g = kOutput == SobelOutput::x ? gx : gy;
    value = fminf(__fmaf_rn(g, 0.125F / kUnit, 128.0625F), 255.0F);
  }
  // Above 2^23 the ulp is 1, and the integer is the lowest bits.
  return __float_as_uint(value + 0x1p23F);
}

template <SobelOutput kOutput>
[[nodiscard]] __device__ std::uint32_t sobel_word(const RowTerms& above, const RowTerms& here,
                                                  const RowTerms& below) {
  const __half2 two = __float2half2_rn(2.0F);
  std::uint32_t results[4];
#pragma unroll
  for (std::uint32_t pair = 0; pair < 2; ++pair) {
    const __half2 gx = __hfma2(here.difference[pair], two,
                               __hadd2(above.difference[pair], below.difference[pair]));
    const __half2 gy = __hsub2(below.smooth[pair], above.smooth[pair]);
    results[2 * pair] = sobel_byte<kOutput>(__low2float(gx), __low2float(gy));
    results[2 * pair + 1] = sobel_byte<kOutput>(__high2float(gx), __high2float(gy));
  }
  return __byte_perm(__byte_perm(results[0], results[1], 0x0040),
                     __byte_perm(results[2], results[3], 0x0040), 0x5410);
}

/// Four pixels, as far as they lie in the frame.
__device__ void store_word(std::uint8_t* to, std::uint32_t word, std::uint32_t pixels_left,
                           bool aligned) {
  if (aligned && pixels_left >= 4) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
  } else {
    for (std::uint32_t pixel = 0; pixel < min(pixels_left, 4U); ++pixel) {
      to[pixel] = static_cast<std::uint8_t>(word >> (8 * pixel));
    }
  }
}

template <SobelOutput kOutput, class Items>
__global__ void __launch_bounds__(kBlockThreads, 6)
    sobel_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
                const __grid_constant__ ImageTiles tiles) {
  __shared__ __align__(16) std::uint8_t tile[(kTileRows + 2) * kPitch];
  const std::uint32_t across = threadIdx.x % (kTileBytes / 4) * 4;
  const std::uint32_t down = threadIdx.x / (kTileBytes / 4) * kThreadRows;
  const std::uint32_t width = tiles.shape.width;
  const bool aligned = width % 4 == 0;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = tiles.count(item.input_bytes);
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const ImageTile place = ImageTile::number(tiles, number);
      const std::uint32_t rows = min(kTileRows, tiles.shape.height - place.top);
      __syncthreads();  // the tile before this one has been read
      Loader{tile,
             static_cast<const std::uint8_t*>(item.input) + place.frame_offset,
             tiles,
             place.left,
             static_cast<std::int32_t>(place.top) - 1,
             rows + 2,
             1}
          .begin();
      Loader::await();
      __syncthreads();
      const std::uint32_t column = place.left + across;
      if (column < width && down < rows) {
        const std::uint8_t* from = tile + down * kPitch + kHalo - 4 + across;
        std::uint8_t* to = static_cast<std::uint8_t*>(item.output) + place.frame_offset +
                           std::uint64_t{place.top + down} * width + column;
        RowTerms above = terms_of(reinterpret_cast<const std::uint32_t*>(from));
        RowTerms here = terms_of(reinterpret_cast<const std::uint32_t*>(from + kPitch));
#pragma unroll 4
        for (std::uint32_t row = 0; row < kThreadRows; ++row) {
          if (down + row < rows) {
            const RowTerms below =
                terms_of(reinterpret_cast<const std::uint32_t*>(from + (row + 2) * kPitch));
            store_word(to, sobel_word<kOutput>(above, here, below), width - column, aligned);
            to += width;
            above = here;
            here = below;
          }
        }
      }
    }
  }
}

template <SobelOutput kOutput>
int launch_output(const overlap_batch& batch, OpaqueStream stream, const SobelParams& wanted) {
  const ImageTiles tiles = ImageTiles::of(wanted.shape, wanted.border);
  return launch_batch(batch, stream, dim3(kBlockThreads), tiles.count(batch.max_input_bytes), 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, sobel_tiles<kOutput, Items>, items,
                                                  batch.item_count, tiles);
                      });
}

}  // namespace

int launch_sobel(const overlap_batch& batch, OpaqueStream stream) {
  const SobelParams wanted = SobelParams::from({batch.params, batch.param_count});
  switch (wanted.output) {
    case SobelOutput::magnitude:
      return launch_output<SobelOutput::magnitude>(batch, stream, wanted);
    case SobelOutput::x:
      return launch_output<SobelOutput::x>(batch, stream, wanted);
    case SobelOutput::y:
      return launch_output<SobelOutput::y>(batch, stream, wanted);
  }
  return cudaErrorInvalidValue;
}

}  // namespace overlap
