#include "kernels/imaging/gaussian_blur_launch.hpp"
#include "kernels/imaging/image_tile.cuh"
#include "kernels/imaging/ptx.cuh"
#include "kernels/imaging/weight_bytes.cuh"

#include <type_traits>

namespace overlap {
namespace {

// Either way is a product of a band of weights, 16 results by a window of positions, with samples,
// positions by 8, on tensor cores. Both take the weights from shared memory in the same form.
//
// What lies between is kept as quads: of four rows that stand below each other, the lower bytes and
// the upper bytes of one column. That is how the product down takes its samples.

struct Quad {
  std::uint32_t low;
  std::uint32_t high;
};
static_assert(sizeof(Quad) == 8);
constexpr std::uint32_t kQuadRows = 4;

/// Results of a product, and positions of a window in one of its parts.
constexpr std::uint32_t kResults = 16;
constexpr std::uint32_t kChunk = 32;

/// What a block has of a tile while it blurs across: as many rows at a time as fit beside the bytes
/// on either side of it.
template <std::uint32_t kHaloBytes, std::uint32_t kRowsAtOnce>
struct AcrossTile {
  static constexpr std::uint32_t kHalo = kHaloBytes;
  static constexpr std::uint32_t kRows = kRowsAtOnce;
  /// The last window may reach beyond what has a weight. An odd number of times 4 words: those of
  /// 8 rows x 4 columns lie in different banks.
  static constexpr std::uint32_t kPitch = (kTileBytes + 2 * kHalo + kChunk) / 32 * 32 + 16;
  static_assert(kPitch / 16 % 2 == 1 && kTileRows % kRows == 0 && kRows % 8 == 0);
  using Rows = std::uint8_t[kRows * kPitch];
  using Loader = TileLoader<kHalo, kPitch>;
};
using NearTile = AcrossTile<64, kTileRows>;
using FarTile = AcrossTile<(kMaxBlurRadius * 4 + 15) / 16 * 16, 16>;

/// A warp blurs so many rows of so many columns across at a time.
constexpr std::uint32_t kAcrossRows = 16;
constexpr std::uint32_t kAcrossColumns = kTileBytes / kTileWarps;
static_assert(kAcrossColumns % kResults == 0);

/// A block blurs so many rows of so many columns down, and each of its warps 16 rows.
constexpr std::uint32_t kDownColumns = 32;
constexpr std::uint32_t kDownRows = kTileWarps * kResults;
/// Of a row of quads. 16 bytes more than a multiple of 128: see `column_of`.
constexpr std::uint32_t kQuadPitch = kDownColumns * sizeof(Quad) + 16;

/// A band of weights, of which result 0 lies `before` positions behind the beginning of its window.
struct Band {
  /// From one sample that counts to the next.
  std::uint32_t step;
  std::uint32_t before;
  std::uint32_t chunks;

  [[nodiscard]] static constexpr Band of(std::uint32_t radius, std::uint32_t step) {
    const std::uint32_t reach = radius * step;
    const std::uint32_t before = (reach + 3) / 4 * 4;
    return {step, before, (before + kResults + reach + kChunk - 1) / kChunk};
  }
  /// Two vectors for each lane and chunk.
  [[nodiscard]] __host__ __device__ constexpr std::uint32_t vectors() const {
    return chunks * 2 * 32;
  }

  /// @pre every thread of the block calls it; a barrier follows
  __device__ void fill(uint4* vectors, const GaussianWeights& weights) const {
    const auto weight_of = [&](std::int32_t signed_distance) -> std::uint32_t {
      const auto distance = static_cast<std::uint32_t>(abs(signed_distance));
      return distance % step == 0 && distance / step <= weights.radius
                 ? weights.taps[distance / step]
                 : 0U;
    };
    for (std::uint32_t at = threadIdx.x; at < chunks * 32; at += kBlockThreads) {
      const std::uint32_t lane = at % 32;
      const LeftWeights left = left_weights(weight_of, lane, static_cast<std::int32_t>(at / 32),
                                            static_cast<std::int32_t>(before));
      uint4* const to = vectors + at / 32 * 64 + lane;
      to[0] = make_uint4(left.low[0], left.low[1], left.low[2], left.low[3]);
      to[32] = make_uint4(left.high[0], left.high[1], left.high[2], left.high[3]);
    }
  }
};

/// @param vectors as `Band::fill` left them, of this lane
[[nodiscard]] __device__ LeftWeights weights_at(const uint4* vectors, std::uint32_t chunk) {
  const uint4 low = vectors[chunk * 64];
  const uint4 high = vectors[chunk * 64 + 32];
  return {{low.x, low.y, low.z, low.w}, {high.x, high.y, high.z, high.w}};
}

struct WideBlur {
  ImageTiles tiles;
  GaussianWeights weights;
  Band across;
  Band down;
  /// An item after the other, frames of whole quads.
  Quad* workspace;
  std::uint64_t item_quads;

  [[nodiscard]] __host__ __device__ std::uint32_t quad_rows() const {
    return (tiles.shape.height + kQuadRows - 1) / kQuadRows;
  }
  [[nodiscard]] __host__ __device__ std::uint64_t frame_quads() const {
    return std::uint64_t{quad_rows()} * tiles.shape.row_bytes();
  }
  [[nodiscard]] __device__ Quad* frame(std::uint32_t item, std::uint64_t number) const {
    return workspace + item * item_quads + number * frame_quads();
  }
  [[nodiscard]] __host__ __device__ std::uint32_t down_columns() const {
    return (tiles.shape.row_bytes() + kDownColumns - 1) / kDownColumns;
  }
  [[nodiscard]] __host__ __device__ std::uint32_t down_rows() const {
    return (tiles.shape.height + kDownRows - 1) / kDownRows;
  }
  [[nodiscard]] __host__ __device__ std::uint64_t down_tiles(std::uint64_t input_bytes) const {
    return input_bytes / tiles.shape.frame_bytes() * down_columns() * down_rows();
  }
};

/// Sums of a product across: 16 columns by 8 rows. A lane holds rows 2 low and 2 low + 1 of column
/// high, and of the one 8 further.
struct AcrossSums {
  std::uint32_t low[4];
  std::uint32_t high[4];

  /// A pair of lanes has four rows of two columns: the first makes the quad of column high, the
  /// other that of the one 8 further. @pre every lane of the warp calls it
  [[nodiscard]] __device__ Quad quad() {
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      low[i] += high[i] << 8U;
    }
    // In 1/65536, of which the 16 bits in the middle are the result in 1/256.
    const std::uint32_t near = __byte_perm(low[0], low[1], 0x6251);
    const std::uint32_t far = __byte_perm(low[2], low[3], 0x6251);
    const bool first = threadIdx.x % 2 == 0;
    const std::uint32_t other = __shfl_xor_sync(0xffffffffU, first ? far : near, 1);
    const std::uint32_t upper = first ? near : other;
    const std::uint32_t lower = first ? other : far;
    return {__byte_perm(upper, lower, 0x5410), __byte_perm(upper, lower, 0x7632)};
  }
};

/// A warp's columns of 16 rows.
/// @param window the lane's word of the first window
/// @param vectors the lane's weights
template <std::uint32_t kPitch>
struct AcrossProduct {
  static constexpr std::uint32_t kStrips = kAcrossRows / 8;
  static constexpr std::uint32_t kGroups = kAcrossColumns / kResults;

  AcrossSums sums[kStrips][kGroups];

  __device__ void compute(const std::uint8_t* window, const uint4* vectors, std::uint32_t chunks) {
#pragma unroll
    for (AcrossSums(&strip)[kGroups] : sums) {
#pragma unroll
      for (AcrossSums& sum : strip) {
        sum = {{128, 128, 128, 128}, {0, 0, 0, 0}};
      }
    }
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      const LeftWeights weights = weights_at(vectors, chunk);
#pragma unroll
      for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
        const auto* const words =
            reinterpret_cast<const std::uint32_t*>(window + strip * 8 * kPitch + kChunk * chunk);
#pragma unroll
        for (std::uint32_t group = 0; group < kGroups; ++group) {
          const std::uint32_t first = words[4 * group];
          const std::uint32_t second = words[4 * group + 4];
          multiply_add_bytes(sums[strip][group].low, weights.low, first, second);
          multiply_add_bytes(sums[strip][group].high, weights.high, first, second);
        }
      }
    }
  }

  /// @param to the quad of the warp's first row and column
  /// @param rows, columns that are within the frame
  __device__ void store(Quad* to, std::uint32_t row_quads, std::uint32_t rows,
                        std::uint32_t columns) {
    const std::uint32_t high = threadIdx.x % 32 / 4;
    const std::uint32_t low = threadIdx.x % 4;
#pragma unroll
    for (std::uint32_t strip = 0; strip < kStrips; ++strip) {
      const std::uint32_t row = strip * 8 + low / 2 * kQuadRows;
#pragma unroll
      for (std::uint32_t group = 0; group < kGroups; ++group) {
        const std::uint32_t column = group * kResults + high + low % 2 * 8;
        const Quad quad = sums[strip][group].quad();
        if (row < rows && column < columns) {
          to[std::uint64_t{row / kQuadRows} * row_quads + column] = quad;
        }
      }
    }
  }
};

template <class Tile, class Items>
__global__ void __launch_bounds__(kBlockThreads, 3)
    blur_rows(const __grid_constant__ Items items, std::uint32_t item_count,
              const __grid_constant__ WideBlur blur) {
  __shared__ __align__(16) typename Tile::Rows tile;
  extern __shared__ uint4 vectors[];
  blur.across.fill(vectors, blur.weights);
  const ImageShape& shape = blur.tiles.shape;
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t left = threadIdx.x / 32 * kAcrossColumns;
  const std::uint8_t* const window =
      tile + lane / 4 * Tile::kPitch + Tile::kHalo - blur.across.before + left + lane % 4 * 4;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = blur.tiles.count(item.input_bytes);
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const ImageTile place = ImageTile::number(blur.tiles, number);
      const std::uint32_t bytes = min(kTileBytes, shape.row_bytes() - place.left);
      const std::uint32_t bottom = min(place.top + kTileRows, shape.height);
      Quad* const column = blur.frame(index, place.frame) + place.left + left;
      for (std::uint32_t top = place.top; top < bottom; top += Tile::kRows) {
        const std::uint32_t rows = min(Tile::kRows, bottom - top);
        __syncthreads();  // the rows before these have been read
        typename Tile::Loader{tile,
                              static_cast<const std::uint8_t*>(item.input) + place.frame_offset,
                              blur.tiles,
                              place.left,
                              static_cast<std::int32_t>(top),
                              rows,
                              blur.weights.radius * shape.channels}
            .begin();
        Tile::Loader::await();
        __syncthreads();
        if (left >= bytes) {
          continue;
        }
        for (std::uint32_t row = 0; row < rows; row += kAcrossRows) {
          AcrossProduct<Tile::kPitch> product;
          product.compute(window + row * Tile::kPitch, vectors + lane, blur.across.chunks);
          product.store(column + std::uint64_t{(top + row) / kQuadRows} * shape.row_bytes(),
                        shape.row_bytes(), rows - row, bytes - left);
        }
      }
    }
  }
}

/// Four rows of a column that do not stand together, as some of them lie beyond the frame's edges.
[[nodiscard]] __device__ Quad quad_at_edge(const Quad* column, const WideBlur& blur,
                                           std::int32_t first_row) {
  Quad quad{0, 0};
#pragma unroll
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(kQuadRows); ++row) {
    const std::int64_t source =
        pixel_at_border(blur.tiles.border, first_row + row, blur.tiles.shape.height);
    if (source >= 0) {
      const auto from = static_cast<std::uint32_t>(source);
      const Quad other = column[std::uint64_t{from / kQuadRows} * blur.tiles.shape.row_bytes()];
      const std::uint32_t shift = from % kQuadRows * 8;
      quad.low |= (other.low >> shift & 0xffU) << (8 * row);
      quad.high |= (other.high >> shift & 0xffU) << (8 * row);
    }
  }
  return quad;
}

/// A column's rows from `first_row` on, which may be negative: every kTileWarps-th quad of them.
/// Returns before all have arrived: a wait and a barrier are to follow.
__device__ void load_quads(std::uint8_t* to, const Quad* column, const WideBlur& blur,
                           std::int32_t first_row, std::uint32_t quad_rows) {
  const auto height = static_cast<std::int32_t>(blur.tiles.shape.height);
  for (std::uint32_t number = threadIdx.x / 32; number < quad_rows; number += kTileWarps) {
    auto* const quad = reinterpret_cast<Quad*>(to + number * kQuadPitch);
    const std::int32_t row = first_row + static_cast<std::int32_t>(number * kQuadRows);
    if (row >= 0 && row + static_cast<std::int32_t>(kQuadRows) <= height) {
      __pipeline_memcpy_async(quad,
                              column + std::uint64_t{static_cast<std::uint32_t>(row) / kQuadRows} *
                                           blur.tiles.shape.row_bytes(),
                              sizeof(Quad));
    } else {
      *quad = quad_at_edge(column, blur, row);
    }
  }
}

/// Which of 32 columns is number `of_group`, below 8, of a product: so that the results of a lane,
/// two of each of four products, stand side by side. Quads of four such columns and four rows lie in
/// different banks.
[[nodiscard]] __device__ std::uint32_t column_of(std::uint32_t group, std::uint32_t of_group) {
  return of_group / 2 * 8 + group * 2 + of_group % 2;
}

/// Eight bytes of a row, as far as they lie in it.
__device__ void store_bytes(std::uint8_t* to, uint2 words, std::uint32_t bytes_left,
                            std::uint32_t row_bytes) {
  if (row_bytes % 8 == 0) {
    *reinterpret_cast<uint2*>(to) = words;
    return;
  }
#pragma unroll
  for (std::uint32_t byte = 0; byte < 8; ++byte) {
    if (byte < bytes_left) {
      to[byte] = static_cast<std::uint8_t>((byte < 4 ? words.x : words.y) >> (byte % 4 * 8));
    }
  }
}

template <class Items>
__global__ void __launch_bounds__(kBlockThreads, 3)
    blur_columns(const __grid_constant__ Items items, std::uint32_t item_count,
                 const __grid_constant__ WideBlur blur) {
  constexpr std::uint32_t kGroups = kDownColumns / 8;
  extern __shared__ uint4 vectors[];
  auto* const quads = reinterpret_cast<std::uint8_t*>(vectors + blur.down.vectors());
  blur.down.fill(vectors, blur.weights);
  const ImageShape& shape = blur.tiles.shape;
  const std::uint32_t row_bytes = shape.row_bytes();
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  const std::uint32_t high = lane / 4;
  const std::uint32_t low = lane % 4;
  const std::uint32_t per_frame = blur.down_columns() * blur.down_rows();
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = blur.down_tiles(item.input_bytes);
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const std::uint64_t frame = number / per_frame;
      const auto in_frame = static_cast<std::uint32_t>(number % per_frame);
      const std::uint32_t left = in_frame % blur.down_columns() * kDownColumns;
      const std::uint32_t top = in_frame / blur.down_columns() * kDownRows;
      const std::uint32_t rows = min(kDownRows, shape.height - top);
      const std::uint32_t quad_rows =
          (blur.down.before + rows + blur.weights.radius + kQuadRows - 1) / kQuadRows;
      __syncthreads();  // the quads before these have been read
      if (left + lane < row_bytes) {
        load_quads(quads + lane * sizeof(Quad), blur.frame(index, frame) + left + lane, blur,
                   static_cast<std::int32_t>(top) - static_cast<std::int32_t>(blur.down.before),
                   quad_rows);
      }
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __syncthreads();
      if (warp * kResults >= rows) {
        continue;
      }
      std::uint32_t sums[kGroups][4];
      std::uint32_t middle[kGroups][4] = {};
      std::uint32_t upper[kGroups][4] = {};
#pragma unroll
      for (std::uint32_t(&group)[4] : sums) {
#pragma unroll
        for (std::uint32_t& sum : group) {
          sum = 1U << 23U;
        }
      }
      const std::uint8_t* window = quads + (warp * kResults / kQuadRows + low) * kQuadPitch;
      for (std::uint32_t chunk = 0; chunk < blur.down.chunks; ++chunk) {
        const LeftWeights weights = weights_at(vectors + lane, chunk);
#pragma unroll
        for (std::uint32_t group = 0; group < kGroups; ++group) {
          const auto* const at = reinterpret_cast<const Quad*>(window) + column_of(group, high);
          const auto* const further =
              reinterpret_cast<const Quad*>(window + 4 * kQuadPitch) + column_of(group, high);
          const Quad first = *at;
          const Quad second = *further;
          multiply_add_bytes(sums[group], weights.low, first.low, second.low);
          multiply_add_bytes(middle[group], weights.high, first.low, second.low);
          multiply_add_bytes(middle[group], weights.low, first.high, second.high);
          multiply_add_bytes(upper[group], weights.high, first.high, second.high);
        }
        window += kChunk / kQuadRows * kQuadPitch;
      }
      auto* const out =
          static_cast<std::uint8_t*>(item.output) + frame * shape.frame_bytes() + left + low * 8;
#pragma unroll
      for (std::uint32_t half = 0; half < 2; ++half) {
        const std::uint32_t row = warp * kResults + half * 8 + high;
        std::uint32_t pairs[kGroups];
#pragma unroll
        for (std::uint32_t group = 0; group < kGroups; ++group) {
          std::uint32_t totals[2];
#pragma unroll
          for (std::uint32_t i = 0; i < 2; ++i) {
            const std::uint32_t at = 2 * half + i;
            totals[i] = sums[group][at] + (middle[group][at] << 8U) + (upper[group][at] << 16U);
          }
          pairs[group] = __byte_perm(totals[0], totals[1], 0x0073);  // the topmost bytes
        }
        if (row < rows && left + low * 8 < row_bytes) {
          store_bytes(out + std::uint64_t{top + row} * row_bytes,
                      make_uint2(__byte_perm(pairs[0], pairs[1], 0x5410),
                                 __byte_perm(pairs[2], pairs[3], 0x5410)),
                      row_bytes - left - low * 8, row_bytes);
        }
      }
    }
  }
}

/// Dynamic shared memory, bytes: the weights, and down also as many rows of quads as the last warp's
/// window goes down to.
[[nodiscard]] constexpr std::size_t across_bytes(const Band& band) {
  return band.vectors() * sizeof(uint4);
}
[[nodiscard]] constexpr std::size_t down_bytes(const Band& band) {
  const std::uint32_t quad_rows = (kDownRows - kResults + band.chunks * kChunk) / kQuadRows;
  return band.vectors() * sizeof(uint4) + quad_rows * kQuadPitch;
}
constexpr std::size_t kMostAcrossBytes = across_bytes(Band::of(kMaxBlurRadius, 4));
constexpr std::size_t kMostDownBytes = down_bytes(Band::of(kMaxBlurRadius, 1));

/// What any kernel may have beside its static shared memory.
constexpr std::size_t kAllowedAnyway = std::size_t{16} << 10;
static_assert(sizeof(NearTile::Rows) + kAllowedAnyway + sizeof(ItemView) <= std::size_t{48} << 10);
static_assert(sizeof(FarTile::Rows) + kAllowedAnyway + sizeof(ItemView) <= std::size_t{48} << 10);

/// Launches with so much dynamic shared memory. A kernel has to be allowed more than 48 KiB
/// altogether; it is always allowed the most that it may ever need, as launches of other threads
/// count on what they asked for.
/// @tparam kMostBytes of any launch of the kernel
template <std::size_t kMostBytes, class Kernel, class... Arguments>
cudaError_t launch_with_shared(const cudaLaunchConfig_t& config, std::size_t bytes, Kernel* kernel,
                               const Arguments&... arguments) {
  if (bytes > kAllowedAnyway) {
    const cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kMostBytes));
    if (status != cudaSuccess) {
      return status;
    }
  }
  cudaLaunchConfig_t with_shared = config;
  with_shared.dynamicSmemBytes = bytes;
  return cudaLaunchKernelEx(&with_shared, kernel, arguments...);
}

}  // namespace

int launch_wide_blur(const overlap_batch& batch, OpaqueStream stream,
                     const GaussianBlurParams& wanted) {
  WideBlur blur{ImageTiles::of(wanted.shape, wanted.border),
                wanted.weights,
                Band::of(wanted.weights.radius, wanted.shape.channels),
                Band::of(wanted.weights.radius, 1),
                static_cast<Quad*>(batch.workspace),
                0};
  const std::uint64_t frames = batch.max_input_bytes / wanted.shape.frame_bytes();
  blur.item_quads = frames * blur.frame_quads();
  if (batch.workspace_bytes / sizeof(Quad) / batch.item_count < blur.item_quads) {
    return cudaErrorInvalidValue;
  }
  const bool near = wanted.weights.radius * wanted.shape.channels <= NearTile::kHalo;
  const int status = launch_batch(
      batch, stream, dim3(kBlockThreads), blur.tiles.count(batch.max_input_bytes), 1,
      [&](const cudaLaunchConfig_t& config, const auto& items) {
        using Items = std::decay_t<decltype(items)>;
        const auto kernel = near ? blur_rows<NearTile, Items> : blur_rows<FarTile, Items>;
        return launch_with_shared<kMostAcrossBytes>(config, across_bytes(blur.across), kernel,
                                                    items, batch.item_count, blur);
      });
  if (status != cudaSuccess) {
    return status;
  }
  return launch_batch(batch, stream, dim3(kBlockThreads), blur.down_tiles(batch.max_input_bytes), 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return launch_with_shared<kMostDownBytes>(config, down_bytes(blur.down),
                                                                  blur_columns<Items>, items,
                                                                  batch.item_count, blur);
                      });
}

}  // namespace overlap
