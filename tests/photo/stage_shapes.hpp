#pragma once

#include "kernels/pipeline.hpp"
#include "tests/photo/picture.hpp"

#include <cstdint>
#include <string>

namespace overlap::photo {

/// `grayscale|gaussian_blur|sobel` for an RGB picture of that size.
[[nodiscard]] std::string edges_of_rgb(std::uint32_t width, std::uint32_t height);

/// The picture that a pipeline makes of an RGB one, its samples all 0.
/// @throws std::invalid_argument if it takes no such picture, or gives something that is none
[[nodiscard]] Picture picture_after(const Pipeline& pipeline, std::uint32_t width,
                                    std::uint32_t height);

}  // namespace overlap::photo
