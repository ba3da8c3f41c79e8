#include "tests/photo/stage_shapes.hpp"

#include <optional>
#include <stdexcept>
#include <string_view>
#include <variant>

namespace overlap::photo {
namespace {

std::optional<std::uint32_t> whole_parameter(const Stage& stage, std::string_view name) {
  const auto declared = stage.kernel->parameters();
  for (std::size_t index = 0; index < declared.size(); ++index) {
    if (declared[index].name == name) {
      return static_cast<std::uint32_t>(stage.params[index].i64);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string edges_of_rgb(std::uint32_t width, std::uint32_t height) {
  const std::string size = "width=" + std::to_string(width) + ",height=" + std::to_string(height);
  return "grayscale:" + size + ",channels=3|gaussian_blur:" + size +
         ",channels=1,sigma=1.5|sobel:" + size + ",channels=1";
}

Picture picture_after(const Pipeline& pipeline, std::uint32_t width, std::uint32_t height) {
  Picture picture{width, height, 3, {}};
  const PipelinePlanOrRefusal plan = pipeline.plan(std::uint64_t{width} * height * 3);
  if (const auto* const refusal = std::get_if<Refusal>(&plan)) {
    throw std::invalid_argument(refusal->text);
  }
  for (const Stage& stage : pipeline.stages()) {
    picture.width = whole_parameter(stage, "out_width").value_or(picture.width);
    picture.height = whole_parameter(stage, "out_height").value_or(picture.height);
    if (stage.kernel->name() == "grayscale") {
      picture.channels = 1;
    }
  }
  const std::uint64_t bytes = std::uint64_t{picture.width} * picture.height * picture.channels;
  const std::uint64_t made = std::get<PipelinePlan>(plan).max_output_bytes;
  if (bytes != made) {
    throw std::invalid_argument(pipeline.text() + " gives " + std::to_string(made) +
                                " bytes, which is no picture of " + std::to_string(picture.width) +
                                " x " + std::to_string(picture.height) + " pixels of " +
                                std::to_string(picture.channels) + " bytes");
  }
  picture.samples.resize(bytes);
  return picture;
}

}  // namespace overlap::photo
