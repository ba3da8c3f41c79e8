#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/numeric/transpose.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kTile = 32;
constexpr std::uint32_t kTileRowThreads = 8;
constexpr std::uint32_t kNarrowElements = 1024;
/// An odd pitch costs a narrow tile of 1024 elements a word a row at most: 512 rows of 2 at worst.
constexpr std::uint32_t kNarrowWords = kNarrowElements + kNarrowElements / 2;

/// How frames are cut into tiles.
struct Tiling {
  std::uint32_t rows;
  std::uint32_t cols;
  std::uint32_t tile_rows;
  std::uint32_t tile_cols;
  std::uint32_t frames_per_tile;
  std::uint32_t row_tiles;
  std::uint32_t col_tiles;

  [[nodiscard]] std::uint64_t tiles(std::uint64_t input_bytes) const {
    const std::uint64_t frames = input_bytes / (std::uint64_t{rows} * cols * 4);
    return (frames + frames_per_tile - 1) / frames_per_tile * row_tiles * col_tiles;
  }
};

/// Square tiles where a frame has room for them; else tiles that are as wide as its short side, so
/// that they are one contiguous run on that side; several small frames share one.
Tiling tiling_of(TransposeParams shape) {
  Tiling tiling{shape.rows, shape.cols, kTile, kTile, 1, 0, 0};
  if (shape.cols < kTile) {
    tiling.tile_cols = shape.cols;
    tiling.tile_rows = std::min(shape.rows, kNarrowElements / shape.cols);
  } else if (shape.rows < kTile) {
    tiling.tile_rows = shape.rows;
    tiling.tile_cols = std::min(shape.cols, kNarrowElements / shape.rows);
  }
  if (tiling.tile_rows == shape.rows && tiling.tile_cols == shape.cols) {
    tiling.frames_per_tile = std::max(1U, kNarrowElements / (shape.rows * shape.cols));
  }
  tiling.row_tiles = (shape.rows + tiling.tile_rows - 1) / tiling.tile_rows;
  tiling.col_tiles = (shape.cols + tiling.tile_cols - 1) / tiling.tile_cols;
  return tiling;
}

/// 32 x 32 tiles: whole 128-byte lines both ways, and the odd pitch keeps a column's elements in 32
/// different banks.
template <class Items>
__global__ void __launch_bounds__(kTile* kTileRowThreads)
    turn_square_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
                      const __grid_constant__ Tiling tiling) {
  __shared__ std::uint32_t tile[kTile][kTile + 1];
  const std::uint64_t frame_elements = std::uint64_t{tiling.rows} * tiling.cols;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    // A square tile holds at least a quarter of 4 KiB: 32 bits count the tiles of 4 TiB.
    const auto per_frame = tiling.row_tiles * tiling.col_tiles;
    const auto tiles =
        static_cast<std::uint32_t>(item.input_bytes / 4 / frame_elements * per_frame);
    for (std::uint32_t number = blockIdx.x; number < tiles; number += gridDim.x) {
      const std::uint32_t in_frame = number % per_frame;
      const std::uint64_t frame_offset = number / per_frame * frame_elements;
      const std::uint32_t top = in_frame / tiling.col_tiles * kTile;
      const std::uint32_t left = in_frame % tiling.col_tiles * kTile;
      const auto* const input = static_cast<const std::uint32_t*>(item.input) + frame_offset;
      auto* const output = static_cast<std::uint32_t*>(item.output) + frame_offset;
      std::uint32_t loaded[kTile / kTileRowThreads] = {};
#pragma unroll
      for (std::uint32_t down = 0; down < kTile; down += kTileRowThreads) {
        const std::uint32_t row = top + threadIdx.y + down;
        const std::uint32_t col = left + threadIdx.x;
        if (row < tiling.rows && col < tiling.cols) {
          loaded[down / kTileRowThreads] = __ldcs(input + std::uint64_t{row} * tiling.cols + col);
        }
      }
      __syncthreads();  // the tile before this one has been written out
#pragma unroll
      for (std::uint32_t down = 0; down < kTile; down += kTileRowThreads) {
        tile[threadIdx.y + down][threadIdx.x] = loaded[down / kTileRowThreads];
      }
      __syncthreads();
#pragma unroll
      for (std::uint32_t right = 0; right < kTile; right += kTileRowThreads) {
        const std::uint32_t row = top + threadIdx.x;
        const std::uint32_t col = left + threadIdx.y + right;
        if (row < tiling.rows && col < tiling.cols) {
          __stcs(output + std::uint64_t{col} * tiling.rows + row,
                 tile[threadIdx.x][threadIdx.y + right]);
        }
      }
    }
  }
}

/// Frames with a side below 32: a tile is read and written as runs along the long side.
template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    turn_narrow_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
                      const __grid_constant__ Tiling tiling) {
  __shared__ std::uint32_t tile[kNarrowWords];
  const std::uint32_t pitch = tiling.tile_cols | 1U;
  const std::uint64_t frame_elements = std::uint64_t{tiling.rows} * tiling.cols;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t frames = item.input_bytes / 4 / frame_elements;
    const std::uint64_t groups = (frames + tiling.frames_per_tile - 1) / tiling.frames_per_tile;
    const std::uint32_t per_group = tiling.row_tiles * tiling.col_tiles;
    for (std::uint64_t number = blockIdx.x; number < groups * per_group; number += gridDim.x) {
      const std::uint64_t first_frame = number / per_group * tiling.frames_per_tile;
      const auto in_group = static_cast<std::uint32_t>(number % per_group);
      const std::uint32_t top = in_group / tiling.col_tiles * tiling.tile_rows;
      const std::uint32_t left = in_group % tiling.col_tiles * tiling.tile_cols;
      const std::uint32_t rows = min(tiling.tile_rows, tiling.rows - top);
      const std::uint32_t cols = min(tiling.tile_cols, tiling.cols - left);
      const auto frames_here = static_cast<std::uint32_t>(
          min(std::uint64_t{tiling.frames_per_tile}, frames - first_frame));
      const std::uint32_t elements = frames_here * rows * cols;
      const auto* const input =
          static_cast<const std::uint32_t*>(item.input) + first_frame * frame_elements;
      auto* const output = static_cast<std::uint32_t*>(item.output) + first_frame * frame_elements;
      __syncthreads();  // the tile before this one has been written out
#pragma unroll 4
      for (std::uint32_t i = threadIdx.x; i < elements; i += kBlockThreads) {
        // Frames that share a tile are whole, so their rows follow each other without a gap.
        const std::uint32_t row = i / cols;
        const std::uint32_t col = i % cols;
        tile[row * pitch + col] =
            __ldcs(input + std::uint64_t{top + row} * tiling.cols + left + col);
      }
      __syncthreads();
#pragma unroll 4
      for (std::uint32_t i = threadIdx.x; i < elements; i += kBlockThreads) {
        const std::uint32_t frame = i / (rows * cols);
        const std::uint32_t col = i % (rows * cols) / rows;
        const std::uint32_t row = i % rows;
        __stcs(
            output + frame * frame_elements + std::uint64_t{left + col} * tiling.rows + top + row,
            tile[(frame * rows + row) * pitch + col]);
      }
    }
  }
}

}  // namespace

int launch_transpose(const overlap_batch& batch, OpaqueStream stream) {
  const Tiling tiling = tiling_of(TransposeParams::from({batch.params, batch.param_count}));
  const bool square = tiling.tile_rows == kTile && tiling.tile_cols == kTile;
  const dim3 block = square ? dim3(kTile, kTileRowThreads) : dim3(kBlockThreads);
  return launch_batch(batch, stream, block, tiling.tiles(batch.max_input_bytes), 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return square ? cudaLaunchKernelEx(&config, turn_square_tiles<Items>, items,
                                                           batch.item_count, tiling)
                                      : cudaLaunchKernelEx(&config, turn_narrow_tiles<Items>, items,
                                                           batch.item_count, tiling);
                      });
}

}  // namespace overlap
