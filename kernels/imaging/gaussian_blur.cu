#include "kernels/imaging/gaussian_blur.hpp"

#include "kernels/cuda_launch.hpp"
#include "kernels/imaging/gaussian_blur_launch.hpp"
#include "kernels/imaging/image_tile.cuh"
#include "kernels/imaging/ptx.cuh"
#include "kernels/imaging/weight_bytes.cuh"

namespace overlap {
namespace {

// A blur is a product with a band of weights, and tensor cores multiply bytes: samples are bytes, a
// weight is two, and so is what lies between the ways across and down. Across, 16 columns of 8 rows
// at a time are made turned (columns by rows), which is just the form in which they go into the
// product down: nothing has to change lanes in between.

/// Most bytes at either side of a tile: 8 pixels of 4.
constexpr std::uint32_t kHalo = 32;
/// 28 words more than a multiple of 32: words of 8 rows x 4 columns lie in different banks.
constexpr std::uint32_t kPitch = 368;
constexpr std::uint32_t kStrip = 8;
constexpr std::uint32_t kLoadedRows = kTileRows + 2 * kFusedBlurRadius;
static_assert(kLoadedRows % kStrip == 0 && 2 * kFusedBlurRadius <= 2 * kStrip);
/// Rows of the result, 4 of which, two apart, lie in different banks.
constexpr std::uint32_t kResultPitch = kTileBytes + 16;
constexpr std::uint32_t kColumns = 16;
constexpr std::uint32_t kChunkBytes = 32;

using Loader = TileLoader<kHalo, kPitch>;

struct FusedBlur {
  ImageTiles tiles;
  std::uint32_t radius;
  std::uint16_t taps[kFusedBlurRadius + 1];

  /// Bytes from a pixel to the farthest one that it depends on.
  [[nodiscard]] __host__ __device__ std::uint32_t reach() const {
    return radius * tiles.shape.channels;
  }
  /// Where the window of a strip of columns begins, bytes before it: whole words.
  [[nodiscard]] __host__ __device__ std::uint32_t window_before() const {
    return (reach() + 3) / 4 * 4;
  }
};

/// Weights by distance, 0 beyond the radius: no lane has to ask how far that is.
struct DistanceWeights {
  static constexpr std::uint32_t kCount = 160;
  static constexpr std::int32_t kNone = kCount - 1;
  /// By bytes across, of which only every `channels`-th has a weight.
  std::uint16_t across[kCount];
  /// By rows down.
  std::uint16_t down[kCount];

  /// @pre every thread of the block calls it; a barrier follows
  __device__ void fill(const FusedBlur& blur) {
    const std::uint32_t distance = threadIdx.x;
    const std::uint32_t channels = blur.tiles.shape.channels;
    if (distance < kCount) {
      across[distance] = distance % channels == 0 && distance <= blur.reach()
                             ? blur.taps[distance / channels]
                             : std::uint16_t{0};
      down[distance] = distance <= blur.radius ? blur.taps[distance] : std::uint16_t{0};
    }
  }
};
// The last byte of a third chunk, seen from the first column of the lowest window.
static_assert(DistanceWeights::kCount > 3 * kChunkBytes + kHalo + kColumns);
static_assert(DistanceWeights::kCount <= kBlockThreads);

/// The weights as one lane of a product holds them: see `multiply_add_bytes`.
template <std::uint32_t kChunks>
struct LaneWeights {
  /// Output column by byte of the window.
  LeftWeights columns[kChunks];
  /// Row of the window by output row. Four bytes are two rows of a strip and two of the next one.
  WeightBytes first_strips;
  /// The third strip alone: its weights for the lower two bytes.
  WeightBytes third_strip;

  __device__ void find(const FusedBlur& blur, const DistanceWeights& by_distance) {
    const auto high = static_cast<std::int32_t>(threadIdx.x % 32 / 4);
    const auto low = static_cast<std::int32_t>(threadIdx.x % 4);
    const auto before = static_cast<std::int32_t>(blur.window_before());
    const auto radius = static_cast<std::int32_t>(blur.radius);
    const auto across = [&](std::int32_t distance) { return by_distance.across[abs(distance)]; };
    const auto down = [&](std::int32_t distance) { return by_distance.down[abs(distance)]; };
#pragma unroll
    for (std::int32_t chunk = 0; chunk < static_cast<std::int32_t>(kChunks); ++chunk) {
      columns[chunk] = left_weights(across, threadIdx.x % 32, chunk, before);
    }
    // Output row `high` of a strip is row `high + radius` of the window.
    const std::int32_t row = 2 * low - radius - high;
    first_strips = weight_bytes(down, {row, row + 1, row + 8, row + 9});
    third_strip =
        weight_bytes(down, {row + 16, row + 17, DistanceWeights::kNone, DistanceWeights::kNone});
  }
};

/// 16 columns by 8 rows, blurred across: a lane holds two rows of one column, and of that 8 further.
/// The lower bytes of the two rows, then the upper ones.
struct Strip {
  std::uint32_t near;
  std::uint32_t far;
};

/// @param window the lane's word of the window's first chunk
template <std::uint32_t kChunks>
[[nodiscard]] __device__ Strip blur_across(const std::uint8_t* window,
                                           const LaneWeights<kChunks>& weights) {
  std::uint32_t low[4] = {128, 128, 128, 128};
  std::uint32_t high[4] = {};
#pragma unroll
  for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    const auto* const words = reinterpret_cast<const std::uint32_t*>(window + kChunkBytes * chunk);
    const std::uint32_t first = words[0];
    const std::uint32_t second = words[4];
    multiply_add_bytes(low, weights.columns[chunk].low, first, second);
    multiply_add_bytes(high, weights.columns[chunk].high, first, second);
  }
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    low[i] += high[i] << 8U;
  }
  // In 1/65536, of which the 16 bits in the middle are the result in 1/256.
  return {__byte_perm(low[0], low[1], 0x6251), __byte_perm(low[2], low[3], 0x6251)};
}

/// Eight rows of the result from the three strips that they depend on: the lane's four sums, of which
/// the topmost byte is the result.
template <std::uint32_t kChunks>
__device__ void blur_down(const Strip& first, const Strip& second, const Strip& third,
                          const LaneWeights<kChunks>& weights, std::uint32_t (&sums)[4]) {
  const std::uint32_t low[4] = {__byte_perm(first.near, second.near, 0x5410),
                                __byte_perm(first.far, second.far, 0x5410), third.near, third.far};
  const std::uint32_t high[4] = {__byte_perm(first.near, second.near, 0x7632),
                                 __byte_perm(first.far, second.far, 0x7632), third.near, third.far};
  std::uint32_t middle[4] = {};
  std::uint32_t top[4] = {};
#pragma unroll
  for (std::uint32_t& sum : sums) {
    sum = 1U << 23U;
  }
  // The third strip's words hold both bytes: the weights choose between them.
  multiply_add_bytes(sums, low, weights.first_strips.low, weights.third_strip.low);
  multiply_add_bytes(middle, low, weights.first_strips.high, weights.third_strip.high);
  multiply_add_bytes(middle, high, weights.first_strips.low, weights.third_strip.low << 16U);
  multiply_add_bytes(top, high, weights.first_strips.high, weights.third_strip.high << 16U);
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    sums[i] += (middle[i] << 8U) + (top[i] << 16U);
  }
}

/// A warp's 16 columns of a tile, from top to bottom.
template <std::uint32_t kChunks>
__device__ void blur_columns(const std::uint8_t* window, std::uint8_t* result, std::uint32_t rows,
                             const LaneWeights<kChunks>& weights) {
  Strip first{};
  Strip second = blur_across(window, weights);
  Strip third = blur_across(window + kStrip * kPitch, weights);
  for (std::uint32_t row = 0; row < rows; row += kStrip) {
    first = second;
    second = third;
    third = blur_across(window + (row + 2 * kStrip) * kPitch, weights);
    std::uint32_t sums[4];
    blur_down(first, second, third, weights, sums);
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      result[(row + i % 2) * kResultPitch + i / 2 * 8] = static_cast<std::uint8_t>(sums[i] >> 24U);
    }
  }
}

/// Blocks that a multiprocessor is to have room for: what shared memory allows, unless the weights
/// take too many registers.
constexpr std::uint32_t resident_blocks(std::uint32_t chunks) {
  return chunks == 1 ? 4 : chunks == 2 ? 3 : 2;
}

template <std::uint32_t kChunks, class Items>
__global__ void __launch_bounds__(kBlockThreads, resident_blocks(kChunks))
    blur_tiles(const __grid_constant__ Items items, std::uint32_t item_count,
               const __grid_constant__ FusedBlur blur) {
  __shared__ __align__(16) std::uint8_t tile[kLoadedRows * kPitch];
  __shared__ __align__(16) std::uint8_t result[kTileRows * kResultPitch];
  __shared__ DistanceWeights by_distance;
  by_distance.fill(blur);
  __syncthreads();
  LaneWeights<kChunks> weights;
  weights.find(blur, by_distance);
  const std::uint32_t high = threadIdx.x % 32 / 4;
  const std::uint32_t low = threadIdx.x % 4;
  const std::uint8_t* const window = tile + high * kPitch + kHalo - blur.window_before() + 4 * low;
  std::uint8_t* const lane_result = result + 2 * low * kResultPitch + high;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = blur.tiles.count(item.input_bytes);
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const ImageTile place = ImageTile::number(blur.tiles, number);
      const std::uint32_t rows = min(kTileRows, blur.tiles.shape.height - place.top);
      const std::uint32_t bytes = min(kTileBytes, blur.tiles.shape.row_bytes() - place.left);
      // The tile before this one has been read: all of it came before the barrier behind it.
      Loader{tile,
             static_cast<const std::uint8_t*>(item.input) + place.frame_offset,
             blur.tiles,
             place.left,
             static_cast<std::int32_t>(place.top) - static_cast<std::int32_t>(blur.radius),
             rows + 2 * blur.radius,
             blur.reach()}
          .begin();
      Loader::await();
      __syncthreads();  // and the result before this one has been stored
      for (std::uint32_t column = threadIdx.x / 32 * kColumns; column < bytes;
           column += kTileWarps * kColumns) {
        blur_columns<kChunks>(window + column, lane_result + column, rows, weights);
      }
      __syncthreads();
      store_tile<kResultPitch>(result, static_cast<std::uint8_t*>(item.output) + place.frame_offset,
                               blur.tiles, place);
    }
  }
}

template <std::uint32_t kChunks>
int launch_fused(const overlap_batch& batch, OpaqueStream stream, const FusedBlur& blur) {
  return launch_batch(batch, stream, dim3(kBlockThreads), blur.tiles.count(batch.max_input_bytes),
                      1, [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, blur_tiles<kChunks, Items>, items,
                                                  batch.item_count, blur);
                      });
}

}  // namespace

int launch_gaussian_blur(const overlap_batch& batch, OpaqueStream stream) {
  const GaussianBlurParams wanted = GaussianBlurParams::from({batch.params, batch.param_count});
  if (wanted.weights.radius > kFusedBlurRadius) {
    return launch_wide_blur(batch, stream, wanted);
  }
  FusedBlur blur{ImageTiles::of(wanted.shape, wanted.border), wanted.weights.radius, {}};
  std::copy_n(wanted.weights.taps.begin(), wanted.weights.radius + 1, blur.taps);
  const std::uint32_t window_bytes = blur.window_before() + kColumns + blur.reach();
  if (window_bytes <= kChunkBytes) {
    return launch_fused<1>(batch, stream, blur);
  }
  return window_bytes <= 2 * kChunkBytes ? launch_fused<2>(batch, stream, blur)
                                         : launch_fused<3>(batch, stream, blur);
}

}  // namespace overlap
