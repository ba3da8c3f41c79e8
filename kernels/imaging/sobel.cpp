#include "kernels/imaging/sobel.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/host_dispatch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace overlap {
namespace {

constexpr std::array<std::string_view, 3> kOutputNames = {"magnitude", "x", "y"};

constexpr std::array<Parameter, 5> kParameters = {
    side_parameter("width", 1920, "pixels of a row"),
    side_parameter("height", 1080, "rows of a frame"), channels_parameter(),
    Parameter{"output",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "length of the gradient, or one of its parts around 128",
              kOutputNames},
    border_parameter()};

/// Columns worked on at a time, small enough for the stack.
constexpr std::size_t kBlockColumns = 512;

/// Three rows of a block with a column more at either side.
using SampleRow = std::array<std::uint8_t, kBlockColumns + 2>;

template <SobelOutput kOutput>
[[gnu::always_inline]] inline std::uint8_t sobel_byte(std::int32_t gx, std::int32_t gy) {
  if constexpr (kOutput == SobelOutput::magnitude) {
    // From 255^2 on all is 255. The root of a smaller integer is at least 1/1022 away from any half,
    // a thousand times what f32 gets wrong.
    constexpr std::int32_t kSaturated = 255 * 255;
    const std::int32_t square = std::min(gx * gx + gy * gy, kSaturated);
    return static_cast<std::uint8_t>(
        static_cast<std::int32_t>(std::sqrt(static_cast<float>(square)) + 0.5F));
  } else {
    const std::int32_t g = kOutput == SobelOutput::x ? gx : gy;
    return static_cast<std::uint8_t>(std::min((g + 8 * 128 + 4) >> 3, 255));
  }
}

template <SobelOutput kOutput>
struct RowLoop {
  [[gnu::always_inline]] static inline void run(const std::uint8_t* __restrict above,
                                                const std::uint8_t* __restrict here,
                                                const std::uint8_t* __restrict below,
                                                std::uint8_t* __restrict out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t gx =
          (above[i + 2] + 2 * here[i + 2] + below[i + 2]) - (above[i] + 2 * here[i] + below[i]);
      const std::int32_t gy = (below[i] + 2 * below[i + 1] + below[i + 2]) -
                              (above[i] + 2 * above[i + 1] + above[i + 2]);
      out[i] = sobel_byte<kOutput>(gx, gy);
    }
  }
};

/// Columns `left - 1` to `left + count` of row `y`, either of which may lie beyond the frame.
void fill_row(SampleRow& row, const std::uint8_t* frame, const SobelParams& wanted, std::int64_t y,
              std::size_t left, std::size_t count) {
  const std::int64_t width = wanted.shape.width;
  const std::int64_t source = pixel_at_border(wanted.border, y, wanted.shape.height);
  if (source < 0) {
    std::fill_n(row.begin(), count + 2, std::uint8_t{0});
    return;
  }
  const std::uint8_t* const samples = frame + source * width;
  std::copy_n(samples + left, count, row.begin() + 1);
  const auto sample_at = [&](std::int64_t x) {
    const std::int64_t from = pixel_at_border(wanted.border, x, width);
    return from < 0 ? std::uint8_t{0} : samples[from];
  };
  row[0] = sample_at(static_cast<std::int64_t>(left) - 1);
  row[count + 1] = sample_at(static_cast<std::int64_t>(left + count));
}

template <SobelOutput kOutput>
void run_frame(const std::uint8_t* in, std::uint8_t* out, const SobelParams& wanted) {
  const std::size_t width = wanted.shape.width;
  std::array<SampleRow, 3> rows;
  for (std::size_t left = 0; left < width; left += kBlockColumns) {
    const std::size_t count = std::min(kBlockColumns, width - left);
    fill_row(rows[0], in, wanted, -1, left, count);
    fill_row(rows[1], in, wanted, 0, left, count);
    for (std::size_t y = 0; y < wanted.shape.height; ++y) {
      fill_row(rows[(y + 2) % 3], in, wanted, static_cast<std::int64_t>(y) + 1, left, count);
      run_widest<RowLoop<kOutput>>(rows[y % 3].data(), rows[(y + 1) % 3].data(),
                                   rows[(y + 2) % 3].data(), out + y * width + left, count);
    }
  }
}

}  // namespace

SobelParams SobelParams::from(ParameterView params) noexcept {
  return {image_shape(params), static_cast<SobelOutput>(params[3].choice_index),
          static_cast<ImageBorder>(params[4].choice_index)};
}

std::string_view SobelKernel::name() const noexcept { return "sobel"; }

std::string_view SobelKernel::summary() const noexcept {
  return "edges of one-channel images: the 3 x 3 Sobel gradient";
}

std::span<const Parameter> SobelKernel::parameters() const noexcept { return kParameters; }

std::uint64_t SobelKernel::granule_bytes(ParameterView params) const noexcept {
  return SobelParams::from(params).shape.frame_bytes();
}

PlanOrRefusal SobelKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const ImageShape shape = SobelParams::from(params).shape;
  if (shape.channels != 1) {
    return Refusal{
        "sobel takes images of 1 channel, not channels=" + std::to_string(shape.channels) +
        "; put grayscale before it: grayscale:channels=" + std::to_string(shape.channels) +
        "|sobel:channels=1"};
  }
  if (auto refusal = refuse_broken_frames(name(), shape, input_bytes)) {
    return *std::move(refusal);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = Path::copy | Path::gather;
  return plan;
}

void SobelKernel::run(const overlap_batch& batch) const {
  const SobelParams wanted = SobelParams::from({batch.params, batch.param_count});
  const std::uint64_t frame_bytes = wanted.shape.frame_bytes();
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto* in = static_cast<const std::uint8_t*>(item.input);
    auto* out = static_cast<std::uint8_t*>(item.output);
    for (std::uint64_t left = item.input_bytes; left >= frame_bytes; left -= frame_bytes) {
      switch (wanted.output) {
        case SobelOutput::magnitude:
          run_frame<SobelOutput::magnitude>(in, out, wanted);
          break;
        case SobelOutput::x:
          run_frame<SobelOutput::x>(in, out, wanted);
          break;
        case SobelOutput::y:
          run_frame<SobelOutput::y>(in, out, wanted);
          break;
      }
      in += frame_bytes;
      out += frame_bytes;
    }
  }
}

bool SobelKernel::has_cuda() const noexcept { return built_with_cuda(); }

int SobelKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_sobel(batch, stream);
}

}  // namespace overlap
