#include "kernels/imaging/resize.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/host_dispatch.hpp"
#include "kernels/imaging/resize_position.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace overlap {
namespace {

constexpr std::array<Parameter, 5> kParameters = {
    side_parameter("width", 1920, "pixels of an input row"),
    side_parameter("height", 1080, "rows of an input frame"), channels_parameter(),
    side_parameter("out_width", 960, "pixels of an output row"),
    side_parameter("out_height", 540, "rows of an output frame")};

/// Bytes of an output row worked on at a time, so that all it needs fits the stack.
constexpr std::size_t kBlockBytes = 512;

/// An input row at the output's columns, in 1/2048.
using StretchedRow = std::array<std::uint32_t, kBlockBytes>;

struct BetweenRowsLoop {
  [[gnu::always_inline]] static inline void run(const std::uint32_t* __restrict upper,
                                                const std::uint32_t* __restrict lower,
                                                std::uint8_t* __restrict out, std::size_t count,
                                                std::uint32_t weight) {
    constexpr std::uint32_t kHalf = 1U << (2 * kResizeBits - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t sum = (kResizeOne - weight) * upper[i] + weight * lower[i] + kHalf;
      out[i] = static_cast<std::uint8_t>(sum >> (2 * kResizeBits));
    }
  }
};

/// One frame, a block of output columns after the other. The two stretched rows that the last output
/// row lay between are kept: enlarging, most output rows lie between the same two.
class FrameResize {
 public:
  explicit FrameResize(const ResizeParams& wanted) : wanted_(wanted) {}

  void run(const std::uint8_t* in, std::uint8_t* out) {
    const std::size_t row_bytes = wanted_.out.row_bytes();
    for (std::size_t left = 0; left < row_bytes; left += kBlockBytes) {
      count_ = std::min(kBlockBytes, row_bytes - left);
      find_columns(left);
      upper_is_ = lower_is_ = kNone;
      for (std::uint32_t y = 0; y < wanted_.out.height; ++y) {
        const ResizePosition at = resize_position(y, wanted_.in.height, wanted_.out.height);
        if (lower_is_ == at.first) {
          std::swap(upper_, lower_);
          std::swap(upper_is_, lower_is_);
        }
        stretch(in, at.first, *upper_, upper_is_);
        stretch(in, at.second, *lower_, lower_is_);
        run_widest<BetweenRowsLoop>(static_cast<const std::uint32_t*>(upper_->data()),
                                    static_cast<const std::uint32_t*>(lower_->data()),
                                    out + std::size_t{y} * row_bytes + left, count_, at.weight);
      }
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;

  void find_columns(std::size_t left) {
    const std::uint32_t channels = wanted_.in.channels;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto byte = static_cast<std::uint32_t>(left + i);
      const ResizePosition at =
          resize_position(byte / channels, wanted_.in.width, wanted_.out.width);
      first_[i] = at.first * channels + byte % channels;
      second_[i] = at.second * channels + byte % channels;
      weight_[i] = at.weight;
    }
  }

  void stretch(const std::uint8_t* in, std::uint32_t row, StretchedRow& stretched,
               std::uint32_t& row_is) const {
    if (row_is == row) {
      return;
    }
    row_is = row;
    const std::uint8_t* const samples = in + std::size_t{row} * wanted_.in.row_bytes();
    for (std::size_t i = 0; i < count_; ++i) {
      stretched[i] =
          (kResizeOne - weight_[i]) * samples[first_[i]] + weight_[i] * samples[second_[i]];
    }
  }

  const ResizeParams& wanted_;
  std::size_t count_ = 0;
  std::array<std::uint32_t, kBlockBytes> first_;
  std::array<std::uint32_t, kBlockBytes> second_;
  std::array<std::uint32_t, kBlockBytes> weight_;
  std::array<StretchedRow, 2> rows_;
  StretchedRow* upper_ = &rows_[0];
  StretchedRow* lower_ = &rows_[1];
  std::uint32_t upper_is_ = kNone;
  std::uint32_t lower_is_ = kNone;
};

}  // namespace

ResizeParams ResizeParams::from(ParameterView params) noexcept {
  const ImageShape in = image_shape(params);
  return {in,
          {static_cast<std::uint32_t>(params[3].i64), static_cast<std::uint32_t>(params[4].i64),
           in.channels}};
}

std::string_view ResizeKernel::name() const noexcept { return "resize"; }

std::string_view ResizeKernel::summary() const noexcept {
  return "images enlarged or reduced by bilinear interpolation";
}

std::span<const Parameter> ResizeKernel::parameters() const noexcept { return kParameters; }

std::uint64_t ResizeKernel::granule_bytes(ParameterView params) const noexcept {
  return image_shape(params).frame_bytes();
}

PlanOrRefusal ResizeKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const ResizeParams wanted = ResizeParams::from(params);
  if (auto refusal = refuse_broken_frames(name(), wanted.in, input_bytes)) {
    return *std::move(refusal);
  }
  const std::uint64_t frames = input_bytes / wanted.in.frame_bytes();
  Plan plan;
  if (__builtin_mul_overflow(frames, wanted.out.frame_bytes(), &plan.max_output_bytes)) {
    return Refusal{"resize makes " + std::to_string(frames) + " times one " +
                   frame_text(wanted.out) + " of " + std::to_string(input_bytes) +
                   " bytes, which is more than 64 bits hold; send fewer frames"};
  }
  plan.paths = Path::copy | Path::gather;
  return plan;
}

void ResizeKernel::run(const overlap_batch& batch) const {
  const ResizeParams wanted = ResizeParams::from({batch.params, batch.param_count});
  const std::uint64_t frame_bytes = wanted.in.frame_bytes();
  FrameResize resize(wanted);
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto* in = static_cast<const std::uint8_t*>(item.input);
    auto* out = static_cast<std::uint8_t*>(item.output);
    for (std::uint64_t left = item.input_bytes; left >= frame_bytes; left -= frame_bytes) {
      resize.run(in, out);
      in += frame_bytes;
      out += wanted.out.frame_bytes();
    }
  }
}

bool ResizeKernel::has_cuda() const noexcept { return built_with_cuda(); }

int ResizeKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_resize(batch, stream);
}

}  // namespace overlap
