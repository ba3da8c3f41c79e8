#include "kernels/imaging/lut.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/byte_lookup.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/imaging/image_shape.hpp"

#include <array>
#include <cstring>
#include <string>

namespace overlap {
namespace {

constexpr std::array<std::string_view, 2> kPerChannelNames = {"no", "yes"};

constexpr std::array<Parameter, 2> kParameters = {
    channels_parameter(), Parameter{"per_channel",
                                    ParameterType::choice,
                                    {.choice_index = 0},
                                    0,
                                    0,
                                    "",
                                    "one table for all channels, or one for each",
                                    kPerChannelNames}};

/// Byte `i` of a pixel goes through table `i`.
template <std::size_t kTables>
void look_up_pixels(const std::uint8_t* tables, const std::uint8_t* in, std::uint8_t* out,
                    std::size_t count) {
  std::array<ByteTable, kTables> own;
  std::memcpy(own.data(), tables, sizeof own);
  for (std::size_t pixel = 0; pixel + kTables <= count; pixel += kTables) {
    for (std::size_t channel = 0; channel < kTables; ++channel) {
      out[pixel + channel] = own[channel][in[pixel + channel]];
    }
  }
}

}  // namespace

LutParams LutParams::from(ParameterView params) noexcept {
  const std::uint32_t channels = kChannelCounts[params[0].choice_index];
  return {channels, params[1].choice_index == 0 ? 1 : channels};
}

std::string_view LutKernel::name() const noexcept { return "lut"; }

std::string_view LutKernel::summary() const noexcept {
  return "every byte is replaced by its entry in a table of 256";
}

std::span<const Parameter> LutKernel::parameters() const noexcept { return kParameters; }

std::string_view LutKernel::table_help() const noexcept {
  return "256 bytes, entry i for the byte i; with per_channel=yes one such table after the other "
         "for each channel of a pixel";
}

std::uint64_t LutKernel::table_bytes(ParameterView params) const noexcept {
  return sizeof(ByteTable) * LutParams::from(params).tables;
}

std::uint64_t LutKernel::granule_bytes(ParameterView params) const noexcept {
  return LutParams::from(params).channels;
}

PlanOrRefusal LutKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const std::uint64_t pixel_bytes = granule_bytes(params);
  if (!fits_granule(input_bytes, pixel_bytes)) {
    return refuse_misfit(name(), "pixel of " + std::to_string(pixel_bytes) + " channels",
                         input_bytes, pixel_bytes);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void LutKernel::run(const overlap_batch& batch) const {
  const LutParams wanted = LutParams::from({batch.params, batch.param_count});
  const ByteLookup way = fastest_byte_lookup();
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto* const in = static_cast<const std::uint8_t*>(item.input);
    const auto* const tables = static_cast<const std::uint8_t*>(item.table);
    auto* const out = static_cast<std::uint8_t*>(item.output);
    const auto count = static_cast<std::size_t>(item.input_bytes);
    if (wanted.tables == 3) {
      look_up_pixels<3>(tables, in, out, count);
    } else if (wanted.tables == 4) {
      look_up_pixels<4>(tables, in, out, count);
    } else {
      ByteTable own;
      std::memcpy(own.data(), tables, sizeof own);
      look_up_bytes(way, own, in, out, count);
    }
  }
}

bool LutKernel::has_cuda() const noexcept { return built_with_cuda(); }

int LutKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_lut(batch, stream);
}

}  // namespace overlap
