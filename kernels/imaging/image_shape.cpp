#include "kernels/imaging/image_shape.hpp"

#include "kernels/granule.hpp"

namespace overlap {

ImageShape image_shape(ParameterView params) noexcept {
  return {static_cast<std::uint32_t>(params[0].i64), static_cast<std::uint32_t>(params[1].i64),
          kChannelCounts[params[2].choice_index]};
}

std::string frame_text(const ImageShape& shape) {
  return "frame of " + std::to_string(shape.width) + " x " + std::to_string(shape.height) +
         " pixels of " + std::to_string(shape.channels) +
         (shape.channels == 1 ? " byte" : " bytes");
}

std::optional<Refusal> refuse_broken_frames(std::string_view kernel, const ImageShape& shape,
                                            std::uint64_t input_bytes) {
  if (fits_granule(input_bytes, shape.frame_bytes())) {
    return std::nullopt;
  }
  return refuse_misfit(kernel, frame_text(shape), input_bytes, shape.frame_bytes());
}

}  // namespace overlap
