#pragma once

#include "kernels/kernel.hpp"

#include <cstdint>
#include <string_view>

namespace overlap {

/// What lies beyond an image's edge, in the order of the parameter's choices. Named as OpenCV names
/// them.
enum class ImageBorder : std::uint8_t {
  reflect101,  ///< gfedcb|abcdefgh|gfedcba: mirrored at the edge's pixel
  reflect,     ///< fedcba|abcdefgh|hgfedcb: mirrored at the edge
  replicate,   ///< aaaaaa|abcdefgh|hhhhhhh
  zero         ///< 000000|abcdefgh|0000000
};

inline constexpr std::string_view kBorderNames[] = {"reflect101", "reflect", "replicate", "zero"};

/// The parameter `border`, `reflect101` unless said otherwise.
[[nodiscard]] constexpr Parameter border_parameter() {
  return {"border",
          ParameterType::choice,
          {.choice_index = static_cast<std::uint64_t>(ImageBorder::reflect101)},
          0,
          0,
          "",
          "what lies beyond the image's edge",
          kBorderNames};
}

/// Which of `size` pixels stands for number `at`, however far outside; -1 for a zero.
/// @pre `size` is at least 1
[[nodiscard]] constexpr std::int64_t pixel_at_border(ImageBorder border, std::int64_t at,
                                                     std::int64_t size) noexcept {
  if (at >= 0 && at < size) {
    return at;
  }
  if (border == ImageBorder::zero) {
    return -1;
  }
  if (border == ImageBorder::replicate) {
    return at < 0 ? 0 : size - 1;
  }
  // A mirror at each end makes the row periodic.
  const std::int64_t twice = border == ImageBorder::reflect101 ? 1 : 0;
  const std::int64_t period = 2 * (size - twice);
  if (period == 0) {
    return 0;
  }
  const std::int64_t phase = (at % period + period) % period;
  return phase < size ? phase : period - phase - 1 + twice;
}

}  // namespace overlap
