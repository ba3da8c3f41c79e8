#pragma once

#include "kernels/imaging/gaussian_blur.hpp"

namespace overlap {

/// The launch for radii beyond `kFusedBlurRadius`: across into the workspace, then down from there.
/// @return as `launch_gaussian_blur`
[[nodiscard]] int launch_wide_blur(const overlap_batch& batch, OpaqueStream stream,
                                   const GaussianBlurParams& wanted);

}  // namespace overlap
