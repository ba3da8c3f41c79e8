#include "kernels/imaging/gaussian_blur_launch.hpp"
#include "kernels/imaging/image_tile.cuh"

namespace overlap {
namespace {

/// Bytes of a row that a block blurs across at a time: four a thread.
constexpr std::uint32_t kSegmentBytes = 4 * kBlockThreads;
constexpr std::uint32_t kMaxReach = kMaxBlurRadius * 4;
/// Rows that a thread blurs down at a time.
constexpr std::uint32_t kDownRows = 8;

struct WideBlur {
  ImageShape shape;
  ImageBorder border;
  GaussianWeights weights;
  /// 16 bits a sample, an item after the other.
  std::uint16_t* workspace;
  std::uint64_t item_samples;
};

/// Where byte `counted - reach` of a row comes from; -1 for a zero.
[[nodiscard]] __device__ std::int64_t source_byte(const WideBlur& blur, std::uint32_t counted) {
  const std::uint32_t channels = blur.shape.channels;
  const std::int64_t pixel = static_cast<std::int64_t>(counted / channels) -
                             static_cast<std::int64_t>(blur.weights.radius);
  const std::int64_t source = pixel_at_border(blur.border, pixel, blur.shape.width);
  return source < 0 ? -1 : source * channels + counted % channels;
}

template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    blur_rows(const __grid_constant__ Items items, std::uint32_t item_count,
              const __grid_constant__ WideBlur blur) {
  __shared__ std::uint8_t samples[kSegmentBytes + 2 * kMaxReach];
  const std::uint32_t row_bytes = blur.shape.row_bytes();
  const std::uint32_t channels = blur.shape.channels;
  const std::uint32_t reach = blur.weights.radius * channels;
  const std::uint32_t segments = (row_bytes + kSegmentBytes - 1) / kSegmentBytes;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = item.input_bytes / row_bytes * segments;
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const std::uint64_t row_offset = number / segments * row_bytes;
      const std::uint32_t left = static_cast<std::uint32_t>(number % segments) * kSegmentBytes;
      const std::uint32_t bytes = min(kSegmentBytes, row_bytes - left);
      const auto* const row = static_cast<const std::uint8_t*>(item.input) + row_offset;
      __syncthreads();  // the segment before this one has been read
      for (std::uint32_t at = threadIdx.x; at < bytes + 2 * reach; at += kBlockThreads) {
        const std::int64_t from = source_byte(blur, left + at);
        samples[at] = from < 0 ? std::uint8_t{0} : row[from];
      }
      __syncthreads();
      auto* const out = blur.workspace + index * blur.item_samples + row_offset + left;
#pragma unroll
      for (std::uint32_t part = 0; part < kSegmentBytes / kBlockThreads; ++part) {
        const std::uint32_t at = part * kBlockThreads + threadIdx.x;
        if (at < bytes) {
          const std::uint8_t* const middle = samples + reach + at;
          std::uint32_t sum = 128U + blur.weights.taps[0] * std::uint32_t{*middle};
          for (std::uint32_t k = 1; k <= blur.weights.radius; ++k) {
            const std::uint32_t distance = k * channels;
            sum += blur.weights.taps[k] * (std::uint32_t{*(middle - distance)} + middle[distance]);
          }
          out[at] = static_cast<std::uint16_t>(sum >> 8U);
        }
      }
    }
  }
}

/// A thread reads its column once for eight rows of the result.
template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    blur_columns(const __grid_constant__ Items items, std::uint32_t item_count,
                 const __grid_constant__ WideBlur blur) {
  const std::uint32_t row_bytes = blur.shape.row_bytes();
  const auto height = static_cast<std::int32_t>(blur.shape.height);
  const auto radius = static_cast<std::int32_t>(blur.weights.radius);
  const std::uint32_t segments = (row_bytes + kBlockThreads - 1) / kBlockThreads;
  const std::uint32_t groups = (blur.shape.height + kDownRows - 1) / kDownRows;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t per_frame = std::uint64_t{segments} * groups;
    const std::uint64_t count = item.input_bytes / blur.shape.frame_bytes() * per_frame;
    for (std::uint64_t number = blockIdx.x; number < count; number += gridDim.x) {
      const std::uint64_t frame_offset = number / per_frame * blur.shape.frame_bytes();
      const auto in_frame = static_cast<std::uint32_t>(number % per_frame);
      const std::uint32_t column = in_frame % segments * kBlockThreads + threadIdx.x;
      const auto top = static_cast<std::int32_t>(in_frame / segments * kDownRows);
      if (column >= row_bytes) {
        continue;
      }
      const std::uint16_t* const from =
          blur.workspace + index * blur.item_samples + frame_offset + column;
      std::uint32_t sums[kDownRows];
#pragma unroll
      for (std::uint32_t& sum : sums) {
        sum = 1U << 23U;
      }
      const std::int32_t bottom = min(top + static_cast<std::int32_t>(kDownRows), height);
      for (std::int32_t y = top - radius; y < bottom + radius; ++y) {
        const std::int64_t source = pixel_at_border(blur.border, y, height);
        if (source < 0) {
          continue;
        }
        const std::uint32_t sample = from[source * row_bytes];
#pragma unroll
        for (std::int32_t row = 0; row < static_cast<std::int32_t>(kDownRows); ++row) {
          const std::int32_t distance = abs(y - top - row);
          if (distance <= radius) {
            sums[row] += blur.weights.taps[distance] * sample;
          }
        }
      }
      auto* const out = static_cast<std::uint8_t*>(item.output) + frame_offset + column;
#pragma unroll
      for (std::int32_t row = 0; row < static_cast<std::int32_t>(kDownRows); ++row) {
        if (top + row < height) {
          out[std::uint64_t{row_bytes} * static_cast<std::uint32_t>(top + row)] =
              static_cast<std::uint8_t>(sums[row] >> 24U);
        }
      }
    }
  }
}

}  // namespace

int launch_wide_blur(const overlap_batch& batch, OpaqueStream stream,
                     const GaussianBlurParams& wanted) {
  if (batch.workspace_bytes / 2 / batch.item_count < batch.max_input_bytes) {
    return cudaErrorInvalidValue;
  }
  const WideBlur blur{wanted.shape, wanted.border, wanted.weights,
                      static_cast<std::uint16_t*>(batch.workspace), batch.max_input_bytes};
  const std::uint64_t rows = batch.max_input_bytes / wanted.shape.row_bytes();
  const std::uint64_t segments =
      (wanted.shape.row_bytes() + kSegmentBytes - 1) / std::uint64_t{kSegmentBytes};
  const int status = launch_batch(batch, stream, dim3(kBlockThreads), rows * segments, 1,
                                  [&](const cudaLaunchConfig_t& config, const auto& items) {
                                    using Items = std::decay_t<decltype(items)>;
                                    return cudaLaunchKernelEx(&config, blur_rows<Items>, items,
                                                              batch.item_count, blur);
                                  });
  if (status != cudaSuccess) {
    return status;
  }
  return launch_batch(batch, stream, dim3(kBlockThreads),
                      batch.max_input_bytes / (std::uint64_t{kBlockThreads} * kDownRows) + 1, 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, blur_columns<Items>, items,
                                                  batch.item_count, blur);
                      });
}

}  // namespace overlap
