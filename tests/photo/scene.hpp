#pragma once

#include "tests/photo/picture.hpp"

#include <cstdint>

namespace overlap::photo {

/// A picture that looks like a photograph and belongs to nobody else: a sky with clouds and a sun,
/// hills in haze, paved ground, a lit sphere with its shadow, and a camera's noise. RGB.
///
/// The same bytes for the same size on every machine: nothing but integers, and sums, products,
/// quotients and roots of f64, which IEEE 754 rounds one way.
/// @param width, height pixels, at least 1
[[nodiscard]] Picture paint_scene(std::uint32_t width, std::uint32_t height);

}  // namespace overlap::photo
