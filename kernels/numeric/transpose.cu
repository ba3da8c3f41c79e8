#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/numeric/transpose.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kTile = 32;
constexpr std::uint32_t kTileRowThreads = 8;

/// How elements of one width travel: those below 4 bytes as words of several.
template <class Element>
struct Layout {
  using Word =
      std::conditional_t<(sizeof(Element) < sizeof(std::uint32_t)), std::uint32_t, Element>;
  static constexpr std::uint32_t kInWord = sizeof(Word) / sizeof(Element);
  /// Elements on a side of a square tile: 32 words.
  static constexpr std::uint32_t kSide = kTile * kInWord;
  /// The shortest side of a frame for square tiles; words are turned in blocks, so half a tile pays.
  static constexpr std::uint32_t kShortest = kInWord == 1 ? kSide : kSide / 2;
  /// Elements in a tile of a narrow frame.
  static constexpr std::uint32_t kNarrow = sizeof(Element) < 4    ? 4096 / sizeof(Element)
                                           : sizeof(Element) < 16 ? 1024
                                                                  : 512;
};

/// How frames are cut into tiles.
struct Tiling {
  std::uint32_t rows;
  std::uint32_t cols;
  std::uint32_t tile_rows;
  std::uint32_t tile_cols;
  std::uint32_t frames_per_tile;
  std::uint32_t row_tiles;
  std::uint32_t col_tiles;
  bool square;

  [[nodiscard]] std::uint64_t tiles(std::uint64_t frames) const {
    return (frames + frames_per_tile - 1) / frames_per_tile * row_tiles * col_tiles;
  }
};

/// Square tiles where a frame has room for them; else tiles that are as wide as its short side, so
/// that they are one contiguous run on that side; several small frames share one.
template <class Element>
Tiling tiling_of(TransposeParams shape) {
  using Cells = Layout<Element>;
  Tiling tiling{shape.rows, shape.cols, Cells::kSide, Cells::kSide, 1, 0, 0, true};
  if (shape.cols < Cells::kShortest) {
    tiling.square = false;
    tiling.tile_cols = shape.cols;
    tiling.tile_rows = std::min(shape.rows, Cells::kNarrow / shape.cols);
  } else if (shape.rows < Cells::kShortest) {
    tiling.square = false;
    tiling.tile_rows = shape.rows;
    tiling.tile_cols = std::min(shape.cols, Cells::kNarrow / shape.rows);
  }
  if (!tiling.square && tiling.tile_rows == shape.rows && tiling.tile_cols == shape.cols) {
    tiling.frames_per_tile = std::max(1U, Cells::kNarrow / (shape.rows * shape.cols));
  }
  tiling.row_tiles = (shape.rows + tiling.tile_rows - 1) / tiling.tile_rows;
  tiling.col_tiles = (shape.cols + tiling.tile_cols - 1) / tiling.tile_cols;
  return tiling;
}

/// A square of elements, a word a row, is turned: words of a column each.
__device__ void turn(std::uint32_t (&words)[4]) {
  const std::uint32_t even_low = __byte_perm(words[0], words[1], 0x5140);
  const std::uint32_t even_high = __byte_perm(words[2], words[3], 0x5140);
  const std::uint32_t odd_low = __byte_perm(words[0], words[1], 0x7362);
  const std::uint32_t odd_high = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(even_low, even_high, 0x5410);
  words[1] = __byte_perm(even_low, even_high, 0x7632);
  words[2] = __byte_perm(odd_low, odd_high, 0x5410);
  words[3] = __byte_perm(odd_low, odd_high, 0x7632);
}

__device__ void turn(std::uint32_t (&words)[2]) {
  const std::uint32_t first = __byte_perm(words[0], words[1], 0x5410);
  words[1] = __byte_perm(words[0], words[1], 0x7632);
  words[0] = first;
}

template <class Word>
__device__ void turn(Word (&/*words*/)[1]) {}

/// A word of elements that lie next to each other. `kWhole`: rows begin at a word's border and hold
/// whole words; else an element at a time, those from `count` on left out.
template <bool kWhole, class Element>
__device__ typename Layout<Element>::Word load_word(const Element* from, std::uint32_t count) {
  using Word = typename Layout<Element>::Word;
  if constexpr (kWhole) {
    return __ldcs(reinterpret_cast<const Word*>(from));
  } else {
    Word word = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < Layout<Element>::kInWord; ++i) {
      if (i < count) {
        word |= static_cast<Word>(from[i]) << (i * 8 * sizeof(Element));
      }
    }
    return word;
  }
}

template <bool kWhole, class Element>
__device__ void store_word(Element* to, typename Layout<Element>::Word word, std::uint32_t count) {
  if constexpr (kWhole) {
    __stcs(reinterpret_cast<typename Layout<Element>::Word*>(to), word);
  } else {
#pragma unroll
    for (std::uint32_t i = 0; i < Layout<Element>::kInWord; ++i) {
      if (i < count) {
        to[i] = static_cast<Element>(word >> (i * 8 * sizeof(Element)));
      }
    }
  }
}

/// Tiles of 32 x 32 words a plane: whole 128-byte lines both ways, and the odd pitch keeps a
/// column's words in different banks. A plane holds every `kInWord`-th column.
template <class Element, bool kWhole, class Items>
__global__ void __launch_bounds__(kTile* kTileRowThreads)
    turn_square_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
                      const __grid_constant__ Tiling tiling) {
  using Word = typename Layout<Element>::Word;
  constexpr std::uint32_t kInWord = Layout<Element>::kInWord;
  constexpr std::uint32_t kRounds = kTile / kTileRowThreads;
  __shared__ Word tile[kInWord][kTile][kTile + 1];
  const std::uint64_t frame_elements = std::uint64_t{tiling.rows} * tiling.cols;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    // A frame's tiles are a quarter full at least, which is 1 KiB: 32 bits count those of 4 TiB.
    const auto per_frame = tiling.row_tiles * tiling.col_tiles;
    const auto tiles =
        static_cast<std::uint32_t>(item.input_bytes / sizeof(Element) / frame_elements * per_frame);
    for (std::uint32_t number = blockIdx.x; number < tiles; number += gridDim.x) {
      const std::uint32_t in_frame = number % per_frame;
      const std::uint64_t frame_offset = number / per_frame * frame_elements;
      const std::uint32_t top = in_frame / tiling.col_tiles * Layout<Element>::kSide;
      const std::uint32_t left = in_frame % tiling.col_tiles * Layout<Element>::kSide;
      const auto* const input = static_cast<const Element*>(item.input) + frame_offset;
      auto* const output = static_cast<Element*>(item.output) + frame_offset;
      Word loaded[kRounds][kInWord] = {};
#pragma unroll
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        const std::uint32_t row = top + (threadIdx.y + round * kTileRowThreads) * kInWord;
        const std::uint32_t col = left + threadIdx.x * kInWord;
#pragma unroll
        for (std::uint32_t i = 0; i < kInWord; ++i) {
          if (row + i < tiling.rows && col < tiling.cols) {
            loaded[round][i] = load_word<kWhole>(input + std::uint64_t{row + i} * tiling.cols + col,
                                                 tiling.cols - col);
          }
        }
      }
      __syncthreads();  // the tile before this one has been written out
#pragma unroll
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        turn(loaded[round]);
#pragma unroll
        for (std::uint32_t i = 0; i < kInWord; ++i) {
          tile[i][threadIdx.y + round * kTileRowThreads][threadIdx.x] = loaded[round][i];
        }
      }
      __syncthreads();
#pragma unroll
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        const std::uint32_t right = threadIdx.y + round * kTileRowThreads;
        const std::uint32_t row = top + threadIdx.x * kInWord;
        const std::uint32_t col = left + right * kInWord;
#pragma unroll
        for (std::uint32_t i = 0; i < kInWord; ++i) {
          if (row < tiling.rows && col + i < tiling.cols) {
            store_word<kWhole>(output + std::uint64_t{col + i} * tiling.rows + row,
                               tile[i][threadIdx.x][right], tiling.rows - row);
          }
        }
      }
    }
  }
}

/// Frames with a short side: a tile is read and written as runs along the long side.
template <class Element, class Items>
__global__ void __launch_bounds__(kBlockThreads)
    turn_narrow_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
                      const __grid_constant__ Tiling tiling) {
  constexpr std::uint32_t kNarrow = Layout<Element>::kNarrow;
  // An odd pitch costs an element a row at most: at worst half as much again, with rows of 2.
  __shared__ Element tile[kNarrow + kNarrow / 2];
  const std::uint32_t pitch = tiling.tile_cols | 1U;
  const std::uint64_t frame_elements = std::uint64_t{tiling.rows} * tiling.cols;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t frames = item.input_bytes / sizeof(Element) / frame_elements;
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
          static_cast<const Element*>(item.input) + first_frame * frame_elements;
      auto* const output = static_cast<Element*>(item.output) + first_frame * frame_elements;
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

template <class Element, bool kWhole>
int launch_square(const overlap_batch& batch, OpaqueStream stream, const Tiling& tiling,
                  std::uint64_t tiles) {
  return launch_batch(batch, stream, dim3(kTile, kTileRowThreads), tiles, 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config,
                                                  turn_square_tiles<Element, kWhole, Items>, items,
                                                  batch.item_count, tiling);
                      });
}

template <class Element>
int launch_elements(const overlap_batch& batch, OpaqueStream stream, TransposeParams shape) {
  constexpr std::uint32_t kInWord = Layout<Element>::kInWord;
  const Tiling tiling = tiling_of<Element>(shape);
  const std::uint64_t tiles = tiling.tiles(batch.max_input_bytes / shape.frame_bytes());
  if (!tiling.square) {
    return launch_batch(batch, stream, dim3(kBlockThreads), tiles, 1,
                        [&](const cudaLaunchConfig_t& config, const auto& items) {
                          using Items = std::decay_t<decltype(items)>;
                          return cudaLaunchKernelEx(&config, turn_narrow_tiles<Element, Items>,
                                                    items, batch.item_count, tiling);
                        });
  }
  if constexpr (kInWord != 1) {
    if (shape.rows % kInWord != 0 || shape.cols % kInWord != 0) {
      return launch_square<Element, false>(batch, stream, tiling, tiles);
    }
  }
  return launch_square<Element, true>(batch, stream, tiling, tiles);
}

}  // namespace

int launch_transpose(const overlap_batch& batch, OpaqueStream stream) {
  const TransposeParams shape = TransposeParams::from({batch.params, batch.param_count});
  switch (shape.element_bytes) {
    case 1:
      return launch_elements<std::uint8_t>(batch, stream, shape);
    case 2:
      return launch_elements<std::uint16_t>(batch, stream, shape);
    case 4:
      return launch_elements<std::uint32_t>(batch, stream, shape);
    case 8:
      return launch_elements<std::uint64_t>(batch, stream, shape);
    default:
      return launch_elements<uint4>(batch, stream, shape);
  }
}

}  // namespace overlap
