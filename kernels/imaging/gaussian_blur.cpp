#include "kernels/imaging/gaussian_blur.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/host_dispatch.hpp"

#include <algorithm>
#include <array>

namespace overlap {
namespace {

constexpr std::array<Parameter, 5> kParameters = {
    side_parameter("width", 1920, "pixels of a row"),
    side_parameter("height", 1080, "rows of a frame"), channels_parameter(),
    Parameter{"sigma",
              ParameterType::real,
              {.f64 = 1.5},
              kMinSigma,
              kMaxSigma,
              "pixels",
              "standard deviation; the radius is three times that",
              {}},
    border_parameter()};

/// Bytes of a row worked on at a time, so that all it needs fits the stack and the first caches.
constexpr std::size_t kBlockBytes = 256;
constexpr std::size_t kMaxTaps = 2 * kMaxBlurRadius + 1;
/// A block with the most that lies at either side of it.
constexpr std::size_t kMaxSourceBytes = kBlockBytes + std::size_t{2} * kMaxBlurRadius * 4;

using BlurredRow = std::array<std::uint16_t, kBlockBytes>;

struct AcrossLoop {
  /// @param in `radius` pixels before the block
  [[gnu::always_inline]] static inline void run(const std::uint8_t* __restrict in,
                                                std::uint16_t* __restrict out,
                                                const GaussianWeights* __restrict weights,
                                                std::size_t channels) {
    constexpr std::uint32_t kHalf = 1U << 7U;
    std::array<std::uint32_t, kBlockBytes> sums;
    const std::size_t radius = weights->radius;
    for (std::size_t i = 0; i < kBlockBytes; ++i) {
      sums[i] = kHalf + std::uint32_t{weights->taps[0]} * in[i + radius * channels];
    }
    for (std::size_t k = 1; k <= radius; ++k) {
      const std::uint32_t weight = weights->taps[k];
      const std::uint8_t* const left = in + (radius - k) * channels;
      const std::uint8_t* const right = in + (radius + k) * channels;
      for (std::size_t i = 0; i < kBlockBytes; ++i) {
        sums[i] += weight * (std::uint32_t{left[i]} + right[i]);
      }
    }
    for (std::size_t i = 0; i < kBlockBytes; ++i) {
      out[i] = static_cast<std::uint16_t>(sums[i] >> 8U);
    }
  }
};

struct DownLoop {
  /// @param rows of the window, the uppermost first
  [[gnu::always_inline]] static inline void run(const BlurredRow* const* __restrict rows,
                                                std::uint8_t* __restrict out, std::size_t count,
                                                const GaussianWeights* __restrict weights) {
    constexpr std::uint32_t kHalf = 1U << 23U;
    std::array<std::uint32_t, kBlockBytes> sums;
    const std::size_t radius = weights->radius;
    const std::uint16_t* const middle = rows[radius]->data();
    for (std::size_t i = 0; i < kBlockBytes; ++i) {
      sums[i] = kHalf + std::uint32_t{weights->taps[0]} * middle[i];
    }
    for (std::size_t k = 1; k <= radius; ++k) {
      const std::uint32_t weight = weights->taps[k];
      const std::uint16_t* const above = rows[radius - k]->data();
      const std::uint16_t* const below = rows[radius + k]->data();
      for (std::size_t i = 0; i < kBlockBytes; ++i) {
        sums[i] += weight * (std::uint32_t{above[i]} + below[i]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<std::uint8_t>(sums[i] >> 24U);
    }
  }
};

/// One frame, a block of columns after the other. A block's rows are blurred across once each and
/// kept while they are within the window.
class FrameBlur {
 public:
  explicit FrameBlur(const GaussianBlurParams& wanted) : wanted_(wanted) {}

  void run(const std::uint8_t* in, std::uint8_t* out) {
    const std::int64_t height = wanted_.shape.height;
    const auto radius = static_cast<std::int64_t>(wanted_.weights.radius);
    const std::size_t row_bytes = wanted_.shape.row_bytes();
    for (left_ = 0; left_ < row_bytes; left_ += kBlockBytes) {
      count_ = std::min(kBlockBytes, row_bytes - left_);
      find_sources();
      for (std::int64_t y = -radius; y < radius; ++y) {
        blur_across(in, y);
      }
      for (std::int64_t y = 0; y < height; ++y) {
        blur_across(in, y + radius);
        for (std::int64_t k = -radius; k <= radius; ++k) {
          window_[static_cast<std::size_t>(k + radius)] = &kept_row(y + k);
        }
        run_widest<DownLoop>(static_cast<const BlurredRow* const*>(window_.data()),
                             out + static_cast<std::size_t>(y) * row_bytes + left_, count_,
                             &wanted_.weights);
      }
    }
  }

 private:
  /// Where in its row each byte of the block and its sides comes from.
  void find_sources() {
    const std::int64_t channels = wanted_.shape.channels;
    const std::int64_t before = wanted_.weights.radius * channels;
    source_count_ = count_ + 2 * static_cast<std::size_t>(before);
    for (std::size_t i = 0; i < source_count_; ++i) {
      // Shifted by whole pixels, so that the division rounds down.
      const std::int64_t at = static_cast<std::int64_t>(left_ + i) - before;
      const std::int64_t pixel = (at + before) / channels - wanted_.weights.radius;
      const std::int64_t source = pixel_at_border(wanted_.border, pixel, wanted_.shape.width);
      sources_[i] = source < 0 ? -1 : source * channels + (at + before) % channels;
    }
  }

  void blur_across(const std::uint8_t* in, std::int64_t y) {
    BlurredRow& row = kept_row(y);
    const std::int64_t source = pixel_at_border(wanted_.border, y, wanted_.shape.height);
    if (source < 0) {
      row.fill(0);
      return;
    }
    const std::uint8_t* const samples =
        in + static_cast<std::size_t>(source) * wanted_.shape.row_bytes();
    const std::size_t before = std::size_t{wanted_.weights.radius} * wanted_.shape.channels;
    if (left_ >= before && left_ + count_ + before <= wanted_.shape.row_bytes()) {
      std::copy_n(samples + left_ - before, source_count_, padded_.begin());
    } else {
      for (std::size_t i = 0; i < source_count_; ++i) {
        padded_[i] = sources_[i] < 0 ? std::uint8_t{0} : samples[sources_[i]];
      }
    }
    run_widest<AcrossLoop>(static_cast<const std::uint8_t*>(padded_.data()), row.data(),
                           &wanted_.weights, std::size_t{wanted_.shape.channels});
  }

  BlurredRow& kept_row(std::int64_t y) {
    const std::int64_t taps = 2 * std::int64_t{wanted_.weights.radius} + 1;
    return kept_[static_cast<std::size_t>((y + wanted_.weights.radius) % taps)];
  }

  const GaussianBlurParams& wanted_;
  std::size_t left_ = 0;
  std::size_t count_ = 0;
  std::size_t source_count_ = 0;
  std::array<std::int64_t, kMaxSourceBytes> sources_;
  std::array<std::uint8_t, kMaxSourceBytes> padded_{};
  std::array<BlurredRow, kMaxTaps> kept_;
  std::array<const BlurredRow*, kMaxTaps> window_;
};

}  // namespace

GaussianBlurParams GaussianBlurParams::from(ParameterView params) noexcept {
  return {image_shape(params), gaussian_weights(params[3].f64),
          static_cast<ImageBorder>(params[4].choice_index)};
}

std::string_view GaussianBlurKernel::name() const noexcept { return "gaussian_blur"; }

std::string_view GaussianBlurKernel::summary() const noexcept {
  return "images blurred by a Gaussian of sigma pixels";
}

std::span<const Parameter> GaussianBlurKernel::parameters() const noexcept { return kParameters; }

std::uint64_t GaussianBlurKernel::granule_bytes(ParameterView params) const noexcept {
  return image_shape(params).frame_bytes();
}

PlanOrRefusal GaussianBlurKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  if (auto refusal = refuse_broken_frames(name(), image_shape(params), input_bytes)) {
    return *std::move(refusal);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  if (gaussian_radius(params[3].f64) > kFusedBlurRadius) {
    // What was blurred across, 16 bits a sample, rows filled up to whole fours.
    const std::uint64_t height = image_shape(params).height;
    const std::uint64_t row_fours = input_bytes / height * ((height + 3) / 4);
    if (__builtin_mul_overflow(row_fours, std::uint64_t{8}, &plan.workspace_bytes)) {
      return Refusal{
          "gaussian_blur needs twice the input as workspace, rows in whole fours, and for " +
          std::to_string(input_bytes) + " bytes that is more than 64 bits; send less"};
    }
  }
  plan.paths = Path::copy | Path::gather;
  return plan;
}

void GaussianBlurKernel::run(const overlap_batch& batch) const {
  const GaussianBlurParams wanted = GaussianBlurParams::from({batch.params, batch.param_count});
  const std::uint64_t frame_bytes = wanted.shape.frame_bytes();
  FrameBlur blur(wanted);
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto* in = static_cast<const std::uint8_t*>(item.input);
    auto* out = static_cast<std::uint8_t*>(item.output);
    for (std::uint64_t left = item.input_bytes; left >= frame_bytes; left -= frame_bytes) {
      blur.run(in, out);
      in += frame_bytes;
      out += frame_bytes;
    }
  }
}

bool GaussianBlurKernel::has_cuda() const noexcept { return built_with_cuda(); }

int GaussianBlurKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_gaussian_blur(batch, stream);
}

}  // namespace overlap
