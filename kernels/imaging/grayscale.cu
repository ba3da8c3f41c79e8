#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/imaging/grayscale.hpp"

namespace overlap {
namespace {

/// Vectors of 16 bytes that a thread loads at a time: a whole number of pixels for either width.
constexpr std::uint32_t kRgbVectors = 3;
constexpr std::uint32_t kRgbaVectors = kLoadsInFlight;

[[nodiscard]] __device__ std::uint32_t luma(std::uint32_t red, std::uint32_t green,
                                            std::uint32_t blue, GrayWeights weights) {
  return (weights.red * red + weights.green * green + weights.blue * blue + 32'768U) >> 16U;
}

[[nodiscard]] __device__ std::uint32_t byte_of(std::uint32_t word, std::uint32_t index) {
  return (word >> (8 * index)) & 0xffU;
}

/// What is too short for a vector, pixel by pixel.
__device__ void gray_tail(const ItemView& item, std::uint32_t channels, std::uint64_t done_pixels,
                          GrayWeights weights) {
  const std::uint64_t pixel = done_pixels + threadIdx.x;
  if (blockIdx.x == 0 && pixel < item.input_bytes / channels) {
    const auto* const in = static_cast<const std::uint8_t*>(item.input) + pixel * channels;
    static_cast<std::uint8_t*>(item.output)[pixel] =
        static_cast<std::uint8_t>(luma(in[0], in[1], in[2], weights));
  }
}

/// 16 pixels a thread. A block loads whole lines and hands them round in shared memory: every byte
/// crosses the bus once, and 48 bytes apart the threads of a quarter warp meet different banks.
template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    gray_from_rgb(const __grid_constant__ Items items, std::uint32_t item_count,
                  const __grid_constant__ GrayWeights weights) {
  constexpr std::uint32_t kTileVectors = kBlockThreads * kRgbVectors;
  __shared__ uint4 tile[kTileVectors];
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const auto* const input = static_cast<const uint4*>(item.input);
    auto* const output = static_cast<uint4*>(item.output);
    const std::uint64_t groups = item.input_bytes / (kRgbVectors * sizeof(uint4));
    const std::uint64_t vectors = groups * kRgbVectors;
    for (std::uint64_t first = std::uint64_t{blockIdx.x} * kTileVectors; first < vectors;
         first += std::uint64_t{gridDim.x} * kTileVectors) {
      uint4 loaded[kRgbVectors];
#pragma unroll
      for (std::uint32_t load = 0; load < kRgbVectors; ++load) {
        const std::uint64_t at = first + load * kBlockThreads + threadIdx.x;
        if (at < vectors) {
          loaded[load] = __ldcs(input + at);
        }
      }
      __syncthreads();  // the tile before this one has been read
#pragma unroll
      for (std::uint32_t load = 0; load < kRgbVectors; ++load) {
        tile[load * kBlockThreads + threadIdx.x] = loaded[load];
      }
      __syncthreads();
      const std::uint64_t group = first / kRgbVectors + threadIdx.x;
      if (group < groups) {
        std::uint32_t words[12];
        memcpy(words, &tile[threadIdx.x * kRgbVectors], sizeof words);
        std::uint32_t grays[4] = {};
#pragma unroll
        for (std::uint32_t pixel = 0; pixel < 16; ++pixel) {
          const std::uint32_t at = 3 * pixel;
          grays[pixel / 4] |=
              luma(byte_of(words[at / 4], at % 4), byte_of(words[(at + 1) / 4], (at + 1) % 4),
                   byte_of(words[(at + 2) / 4], (at + 2) % 4), weights)
              << (8 * (pixel % 4));
        }
        __stcs(output + group, make_uint4(grays[0], grays[1], grays[2], grays[3]));
      }
    }
    gray_tail(item, 3, groups * 16, weights);
  }
}

/// 4 pixels a vector in, a word out.
template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    gray_from_rgba(const __grid_constant__ Items items, std::uint32_t item_count,
                   const __grid_constant__ GrayWeights weights) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const auto* const input = static_cast<const uint4*>(item.input);
    auto* const output = static_cast<std::uint32_t*>(item.output);
    const std::uint64_t vectors = item.input_bytes / sizeof(uint4);
    for (std::uint64_t base = first; base < vectors; base += kRgbaVectors * step) {
      uint4 loaded[kRgbaVectors];
#pragma unroll
      for (std::uint32_t load = 0; load < kRgbaVectors; ++load) {
        if (base + load * step < vectors) {
          loaded[load] = __ldcs(input + base + load * step);
        }
      }
#pragma unroll
      for (std::uint32_t load = 0; load < kRgbaVectors; ++load) {
        if (base + load * step < vectors) {
          const std::uint32_t pixels[4] = {loaded[load].x, loaded[load].y, loaded[load].z,
                                           loaded[load].w};
          std::uint32_t grays = 0;
#pragma unroll
          for (std::uint32_t pixel = 0; pixel < 4; ++pixel) {
            grays |= luma(byte_of(pixels[pixel], 0), byte_of(pixels[pixel], 1),
                          byte_of(pixels[pixel], 2), weights)
                     << (8 * pixel);
          }
          __stcs(output + base + load * step, grays);
        }
      }
    }
    gray_tail(item, 4, vectors * 4, weights);
  }
}

}  // namespace

int launch_grayscale(const overlap_batch& batch, OpaqueStream stream) {
  const GrayscaleParams wanted = GrayscaleParams::from({batch.params, batch.param_count});
  const std::uint64_t vectors = batch.max_input_bytes / sizeof(uint4);
  if (wanted.shape.channels == 3) {
    return launch_batch(batch, stream, dim3(kBlockThreads), vectors, kBlockThreads * kRgbVectors,
                        [&](const cudaLaunchConfig_t& config, const auto& items) {
                          using Items = std::decay_t<decltype(items)>;
                          return cudaLaunchKernelEx(&config, gray_from_rgb<Items>, items,
                                                    batch.item_count, wanted.weights);
                        });
  }
  return launch_batch(batch, stream, dim3(kBlockThreads), vectors, kBlockThreads,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, gray_from_rgba<Items>, items,
                                                  batch.item_count, wanted.weights);
                      });
}

}  // namespace overlap
