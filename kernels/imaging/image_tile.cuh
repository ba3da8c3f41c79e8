#pragma once

#include "kernels/batch_launch.cuh"
#include "kernels/imaging/image_border.hpp"
#include "kernels/imaging/image_shape.hpp"

#include <cuda_pipeline_primitives.h>

namespace overlap {

/// Bytes across and rows down of what a block makes at a time.
inline constexpr std::uint32_t kTileBytes = 256;
inline constexpr std::uint32_t kTileRows = 64;
inline constexpr std::uint32_t kTileVectorBytes = sizeof(uint4);
inline constexpr std::uint32_t kTileWarps = kBlockThreads / 32;

/// How frames are cut into tiles.
struct ImageTiles {
  ImageShape shape;
  ImageBorder border;
  std::uint32_t columns;
  std::uint32_t rows;

  [[nodiscard]] static ImageTiles of(const ImageShape& shape, ImageBorder border) {
    return {shape, border, (shape.row_bytes() + kTileBytes - 1) / kTileBytes,
            (shape.height + kTileRows - 1) / kTileRows};
  }
  /// Tiles of so many whole frames.
  [[nodiscard]] __host__ __device__ std::uint64_t count(std::uint64_t input_bytes) const {
    return input_bytes / shape.frame_bytes() * columns * rows;
  }
};

/// One tile: its frame and where that begins, and its first byte and row there.
struct ImageTile {
  std::uint64_t frame;
  std::uint64_t frame_offset;
  std::uint32_t left;
  std::uint32_t top;

  [[nodiscard]] static __device__ ImageTile number(const ImageTiles& tiles, std::uint64_t number) {
    const std::uint32_t per_frame = tiles.columns * tiles.rows;
    const std::uint64_t frame = number / per_frame;
    const auto in_frame = static_cast<std::uint32_t>(number % per_frame);
    return {frame, frame * tiles.shape.frame_bytes(), in_frame % tiles.columns * kTileBytes,
            in_frame / tiles.columns * kTileRows};
  }
};

/// The four bytes at any address, of two aligned words. A word that holds one byte of the input lies
/// within the input's 256-byte granule, so it may be read whole.
[[nodiscard]] inline __device__ std::uint32_t load_word(const std::uint8_t* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  const auto shift = static_cast<std::uint32_t>(address & 3U);
  const std::uint32_t low = __ldg(words);
  return shift == 0 ? low : __funnelshift_r(low, __ldg(words + 1), 8 * shift);
}

/// Rows of a frame with the pixels around them, in shared memory: byte `kHalo` of a row is the tile's
/// first.
template <std::uint32_t kHalo, std::uint32_t kPitch>
struct TileLoader {
  static_assert(kHalo % kTileVectorBytes == 0 && kPitch % kTileVectorBytes == 0);
  static_assert(kPitch >= kTileBytes + 2 * kHalo);

  std::uint8_t* tile;
  const std::uint8_t* frame;
  const ImageTiles& tiles;
  std::uint32_t left;
  std::int32_t first_row;  ///< of the frame, for row 0; may be negative
  std::uint32_t rows;
  std::uint32_t reach;  ///< bytes needed at either side, at most kHalo

  /// Returns before all has arrived: `await` and a barrier are to follow.
  /// @pre every thread of a block of kBlockThreads calls it; `tile` is free
  __device__ void begin() const {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t row_bytes = tiles.shape.row_bytes();
    const std::uint32_t first = left - min(left, (reach + 15) / 16 * 16);
    const std::uint32_t last = min(left + kTileBytes + reach, row_bytes);
    const bool whole_vectors = row_bytes % kTileVectorBytes == 0;
    for (std::uint32_t row = threadIdx.x / 32; row < rows; row += kTileWarps) {
      // How a byte of the frame's row is found in the tile.
      std::uint8_t* const to = tile + row * kPitch + kHalo;
      const std::int64_t from = source_row(row);
      if (from < 0) {
        for (std::uint32_t at = lane * 4; at < kPitch; at += 128) {
          *reinterpret_cast<std::uint32_t*>(tile + row * kPitch + at) = 0;
        }
      } else if (whole_vectors) {
        // Mostly one round: a loop of unknown length costs a tenth of all.
        constexpr std::uint32_t kRoundBytes = 32 * kTileVectorBytes;
#pragma unroll
        for (std::uint32_t round = 0; round < (kPitch + kRoundBytes - 1) / kRoundBytes; ++round) {
          const std::uint32_t at = first + round * kRoundBytes + lane * kTileVectorBytes;
          if (at < last) {
            __pipeline_memcpy_async(to + at - left, frame + from * row_bytes + at,
                                    kTileVectorBytes);
          }
        }
      } else {
        const std::uint8_t* const bytes = frame + from * row_bytes;
        for (std::uint32_t at = first + lane * 4; at < last; at += 128) {
          if (at + 4 <= row_bytes) {
            *reinterpret_cast<std::uint32_t*>(to + at - left) = load_word(bytes + at);
          } else {
            for (std::uint32_t byte = at; byte < row_bytes; ++byte) {
              to[byte - left] = bytes[byte];
            }
          }
        }
      }
    }
    load_beyond_sides(lane, row_bytes);
    __pipeline_commit();
  }

  static __device__ void await() { __pipeline_wait_prior(0); }

 private:
  [[nodiscard]] __device__ std::int64_t source_row(std::uint32_t row) const {
    return pixel_at_border(tiles.border, first_row + static_cast<std::int32_t>(row),
                           tiles.shape.height);
  }

  /// What lies beyond the frame's sides. A lane stays with its byte of a row, so that it finds out
  /// only once where that comes from.
  __device__ void load_beyond_sides(std::uint32_t lane, std::uint32_t row_bytes) const {
    const std::uint32_t before = reach - min(left, reach);
    const std::uint32_t end = min(left + kTileBytes, row_bytes) + reach;
    const std::uint32_t after = end > row_bytes ? end - row_bytes : 0;
    const std::uint32_t channels = tiles.shape.channels;
    for (std::uint32_t number = lane; number < before + after; number += 32) {
      // Counted from `reach` bytes, which are whole pixels, before the row, so as not to be negative.
      const std::uint32_t counted =
          number < before ? reach - before + number : reach + row_bytes + (number - before);
      const std::int64_t pixel = static_cast<std::int64_t>(counted / channels) - reach / channels;
      const std::int64_t source = pixel_at_border(tiles.border, pixel, tiles.shape.width);
      const std::uint32_t offset = kHalo + counted - reach - left;
      for (std::uint32_t row = threadIdx.x / 32; row < rows; row += kTileWarps) {
        const std::int64_t from = source_row(row);
        if (from >= 0) {  // else the row is zero already
          tile[row * kPitch + offset] =
              source < 0 ? std::uint8_t{0}
                         : frame[from * row_bytes + source * channels + counted % channels];
        }
      }
    }
  }
};

/// Rows of a tile from shared memory to a frame, in units of `Unit`.
/// @pre `bytes` and the frame's rows are whole units
template <class Unit, std::uint32_t kPitch>
__device__ void store_tile_as(const std::uint8_t* tile, std::uint8_t* to, std::uint32_t row_bytes,
                              std::uint32_t bytes, std::uint32_t rows) {
  constexpr std::uint32_t kUnits = kTileBytes / sizeof(Unit);
  for (std::uint32_t at = threadIdx.x; at < rows * kUnits; at += kBlockThreads) {
    const std::uint32_t row = at / kUnits;
    const std::uint32_t byte = at % kUnits * sizeof(Unit);
    if (byte < bytes) {
      *reinterpret_cast<Unit*>(to + std::uint64_t{row} * row_bytes + byte) =
          *reinterpret_cast<const Unit*>(tile + row * kPitch + byte);
    }
  }
}

/// What a block made of a tile, as far as it lies in the frame.
template <std::uint32_t kPitch>
__device__ void store_tile(const std::uint8_t* tile, std::uint8_t* frame, const ImageTiles& tiles,
                           const ImageTile& place) {
  static_assert(kPitch % kTileVectorBytes == 0);
  const std::uint32_t row_bytes = tiles.shape.row_bytes();
  const std::uint32_t bytes = min(kTileBytes, row_bytes - place.left);
  const std::uint32_t rows = min(kTileRows, tiles.shape.height - place.top);
  std::uint8_t* const to = frame + std::uint64_t{place.top} * row_bytes + place.left;
  if (row_bytes % sizeof(uint4) == 0) {
    store_tile_as<uint4, kPitch>(tile, to, row_bytes, bytes, rows);
  } else if (row_bytes % sizeof(std::uint32_t) == 0) {
    store_tile_as<std::uint32_t, kPitch>(tile, to, row_bytes, bytes, rows);
  } else {
    store_tile_as<std::uint8_t, kPitch>(tile, to, row_bytes, bytes, rows);
  }
}

}  // namespace overlap
