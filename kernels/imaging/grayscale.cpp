#include "kernels/imaging/grayscale.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/host_dispatch.hpp"

#include <array>

namespace overlap {
namespace {

constexpr std::array<std::string_view, 2> kColourNames = {"3", "4"};
constexpr std::array<std::string_view, 2> kWeightNames = {"bt601", "bt709"};
/// Rounded to 1/65536; both happen to add up.
constexpr std::array<GrayWeights, 2> kWeights = {GrayWeights{19'595, 38'470, 7'471},
                                                 GrayWeights{13'933, 46'871, 4'732}};
static_assert(kWeights[0].red + kWeights[0].green + kWeights[0].blue == 65'536);
static_assert(kWeights[1].red + kWeights[1].green + kWeights[1].blue == 65'536);

constexpr std::array<Parameter, 4> kParameters = {
    side_parameter("width", 1920, "pixels of a row"),
    side_parameter("height", 1080, "rows of a frame"),
    Parameter{"channels",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "bytes of an input pixel: RGB or RGBA",
              kColourNames},
    Parameter{"weights",
              ParameterType::choice,
              {.choice_index = 0},
              0,
              0,
              "",
              "shares of red, green and blue: ITU-R BT.601 or BT.709",
              kWeightNames}};

template <std::size_t kChannels>
struct GrayLoop {
  [[gnu::always_inline]] static inline void run(const std::uint8_t* __restrict in,
                                                std::uint8_t* __restrict out, std::size_t pixels,
                                                GrayWeights weights) {
    for (std::size_t i = 0; i < pixels; ++i) {
      const std::uint32_t sum = weights.red * in[kChannels * i] +
                                weights.green * in[kChannels * i + 1] +
                                weights.blue * in[kChannels * i + 2] + 32'768U;
      out[i] = static_cast<std::uint8_t>(sum >> 16U);
    }
  }
};

}  // namespace

GrayscaleParams GrayscaleParams::from(ParameterView params) noexcept {
  const std::uint32_t channels = params[2].choice_index == 0 ? 3 : 4;
  return {{static_cast<std::uint32_t>(params[0].i64), static_cast<std::uint32_t>(params[1].i64),
           channels},
          kWeights[params[3].choice_index]};
}

std::string_view GrayscaleKernel::name() const noexcept { return "grayscale"; }

std::string_view GrayscaleKernel::summary() const noexcept {
  return "RGB or RGBA images become one byte of luma a pixel";
}

std::span<const Parameter> GrayscaleKernel::parameters() const noexcept { return kParameters; }

std::uint64_t GrayscaleKernel::granule_bytes(ParameterView params) const noexcept {
  return GrayscaleParams::from(params).shape.frame_bytes();
}

PlanOrRefusal GrayscaleKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const ImageShape shape = GrayscaleParams::from(params).shape;
  if (auto refusal = refuse_broken_frames(name(), shape, input_bytes)) {
    return *std::move(refusal);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes / shape.channels;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void GrayscaleKernel::run(const overlap_batch& batch) const {
  const GrayscaleParams wanted = GrayscaleParams::from({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto* const in = static_cast<const std::uint8_t*>(item.input);
    auto* const out = static_cast<std::uint8_t*>(item.output);
    const auto pixels = static_cast<std::size_t>(item.input_bytes / wanted.shape.channels);
    if (wanted.shape.channels == 3) {
      run_widest<GrayLoop<3>>(in, out, pixels, wanted.weights);
    } else {
      run_widest<GrayLoop<4>>(in, out, pixels, wanted.weights);
    }
  }
}

bool GrayscaleKernel::has_cuda() const noexcept { return built_with_cuda(); }

int GrayscaleKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_grayscale(batch, stream);
}

}  // namespace overlap
