#pragma once

#include "kernels/kernel.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace overlap {

/// Frames of interleaved 8-bit samples: rows from top to bottom without a gap, pixels from left to
/// right, the channels of a pixel side by side.
struct ImageShape {
  /// Pixels, 1 to 65535.
  std::uint32_t width;
  std::uint32_t height;
  /// Bytes of a pixel: 1, 3 or 4.
  std::uint32_t channels;

  [[nodiscard]] constexpr std::uint32_t row_bytes() const noexcept { return width * channels; }
  [[nodiscard]] constexpr std::uint64_t frame_bytes() const noexcept {
    return std::uint64_t{row_bytes()} * height;
  }
};

/// The largest side of an image, pixels.
inline constexpr std::uint32_t kMaxImageSide = 65'535;

/// What `channels` may be, in the order of the choice.
inline constexpr std::string_view kChannelNames[] = {"1", "3", "4"};
inline constexpr std::uint32_t kChannelCounts[] = {1, 3, 4};

/// The parameters `width` and `height`, and the like: a side in pixels.
[[nodiscard]] constexpr Parameter side_parameter(std::string_view name, std::int64_t pixels,
                                                 std::string_view help) {
  return {name, ParameterType::integer, {.i64 = pixels}, 1, kMaxImageSide, "pixels", help, {}};
}

/// The parameter `channels`, 1 unless said otherwise.
[[nodiscard]] constexpr Parameter channels_parameter() {
  return {"channels", ParameterType::choice, {.choice_index = 0}, 0, 0,
          "",         "bytes of a pixel",    kChannelNames};
}

/// A shape whose `width`, `height` and `channels` are the first three parameters.
/// @pre they are declared as above
[[nodiscard]] ImageShape image_shape(ParameterView params) noexcept;

/// `frame of 640 x 480 pixels of 3 bytes`.
[[nodiscard]] std::string frame_text(const ImageShape& shape);

/// The refusal of an input that is no whole number of frames; empty if it is one.
[[nodiscard]] std::optional<Refusal> refuse_broken_frames(std::string_view kernel,
                                                          const ImageShape& shape,
                                                          std::uint64_t input_bytes);

}  // namespace overlap
