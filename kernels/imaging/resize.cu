#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/imaging/resize.hpp"
#include "kernels/imaging/resize_position.hpp"

namespace overlap {
namespace {

/// A thread makes four bytes of so many rows: the four keep their columns, and of two rows that lie
/// between the same input rows the second loads nothing.
constexpr std::uint32_t kThreadBytes = 4;
constexpr std::uint32_t kThreadRows = 16;
/// 32 threads across and 8 down.
constexpr std::uint32_t kAcross = 32 * kThreadBytes;
constexpr std::uint32_t kDown = kBlockThreads / 32 * kThreadRows;

struct ResizeTiles {
  ImageShape in;
  ImageShape out;
  std::uint32_t columns;
  std::uint32_t rows;
};

/// Four input columns, and an input row at these: in 1/2048.
struct Columns {
  std::uint32_t first[kThreadBytes];
  std::uint32_t second[kThreadBytes];
  std::uint32_t weight[kThreadBytes];

  __device__ void find(const ResizeTiles& tiles, std::uint32_t left) {
    const std::uint32_t channels = tiles.in.channels;
#pragma unroll
    for (std::uint32_t i = 0; i < kThreadBytes; ++i) {
      // A byte beyond the row's end is computed like its last one and not stored.
      const std::uint32_t byte = min(left + i, tiles.out.row_bytes() - 1);
      const ResizePosition at = resize_position(byte / channels, tiles.in.width, tiles.out.width);
      first[i] = at.first * channels + byte % channels;
      second[i] = at.second * channels + byte % channels;
      weight[i] = at.weight;
    }
  }

  __device__ void stretch(const std::uint8_t* row, std::uint32_t (&stretched)[kThreadBytes]) const {
#pragma unroll
    for (std::uint32_t i = 0; i < kThreadBytes; ++i) {
      stretched[i] =
          (kResizeOne - weight[i]) * __ldg(row + first[i]) + weight[i] * __ldg(row + second[i]);
    }
  }
};

/// The bytes between two rows, as a word.
[[nodiscard]] __device__ std::uint32_t between(const std::uint32_t (&upper)[kThreadBytes],
                                               const std::uint32_t (&lower)[kThreadBytes],
                                               std::uint32_t weight) {
  std::uint32_t word = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kThreadBytes; ++i) {
    const std::uint32_t sum =
        (kResizeOne - weight) * upper[i] + weight * lower[i] + (1U << (2 * kResizeBits - 1));
    word |= (sum >> (2 * kResizeBits)) << (8 * i);
  }
  return word;
}

__device__ void store_word(std::uint8_t* to, std::uint32_t word, std::uint32_t bytes_left,
                           bool aligned) {
  if (aligned && bytes_left >= kThreadBytes) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
  } else {
    for (std::uint32_t byte = 0; byte < min(bytes_left, kThreadBytes); ++byte) {
      to[byte] = static_cast<std::uint8_t>(word >> (8 * byte));
    }
  }
}

template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    resize_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
                 const __grid_constant__ ResizeTiles tiles) {
  __shared__ ResizePosition positions[kDown];
  const std::uint32_t in_row_bytes = tiles.in.row_bytes();
  const std::uint32_t row_bytes = tiles.out.row_bytes();
  const bool aligned = row_bytes % kThreadBytes == 0;
  const std::uint32_t per_frame = tiles.columns * tiles.rows;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = item.input_bytes / tiles.in.frame_bytes() * per_frame;
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const std::uint64_t frame = number / per_frame;
      const auto in_frame = static_cast<std::uint32_t>(number % per_frame);
      const std::uint32_t top = in_frame / tiles.columns * kDown;
      const std::uint32_t left =
          in_frame % tiles.columns * kAcross + threadIdx.x % 32 * kThreadBytes;
      const std::uint32_t rows = min(kDown, tiles.out.height - top);
      __syncthreads();  // the positions of the tile before this one are no longer needed
      if (threadIdx.x < rows) {
        positions[threadIdx.x] =
            resize_position(top + threadIdx.x, tiles.in.height, tiles.out.height);
      }
      __syncthreads();
      if (left >= row_bytes) {
        continue;
      }
      Columns columns;
      columns.find(tiles, left);
      const auto* const in =
          static_cast<const std::uint8_t*>(item.input) + frame * tiles.in.frame_bytes();
      auto* const out = static_cast<std::uint8_t*>(item.output) + frame * tiles.out.frame_bytes() +
                        std::uint64_t{top} * row_bytes + left;
      std::uint32_t upper[kThreadBytes];
      std::uint32_t lower[kThreadBytes];
      constexpr std::uint32_t kNone = ~0U;
      std::uint32_t upper_is = kNone;
      std::uint32_t lower_is = kNone;
      const std::uint32_t begin = threadIdx.x / 32 * kThreadRows;
#pragma unroll 4
      for (std::uint32_t row = begin; row < min(begin + kThreadRows, rows); ++row) {
        // The same for the whole warp, so that nobody waits for a branch.
        const ResizePosition at = positions[row];
        if (at.first != upper_is) {
          if (at.first == lower_is) {
#pragma unroll
            for (std::uint32_t i = 0; i < kThreadBytes; ++i) {
              upper[i] = lower[i];
            }
          } else {
            columns.stretch(in + std::uint64_t{at.first} * in_row_bytes, upper);
          }
          upper_is = at.first;
        }
        if (at.second != lower_is) {
          columns.stretch(in + std::uint64_t{at.second} * in_row_bytes, lower);
          lower_is = at.second;
        }
        store_word(out + std::uint64_t{row} * row_bytes, between(upper, lower, at.weight),
                   row_bytes - left, aligned);
      }
    }
  }
}

}  // namespace

int launch_resize(const overlap_batch& batch, OpaqueStream stream) {
  const ResizeParams wanted = ResizeParams::from({batch.params, batch.param_count});
  const ResizeTiles tiles{wanted.in, wanted.out, (wanted.out.row_bytes() + kAcross - 1) / kAcross,
                          (wanted.out.height + kDown - 1) / kDown};
  const std::uint64_t frames = batch.max_input_bytes / wanted.in.frame_bytes();
  return launch_batch(batch, stream, dim3(kBlockThreads), frames * tiles.columns * tiles.rows, 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, resize_tiles<Items>, items,
                                                  batch.item_count, tiles);
                      });
}

}  // namespace overlap
