#include "shared/channel_geometry.hpp"

#include "shared/byte_size.hpp"
#include "shared/channel_layout.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace overlap {
namespace {

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    return std::nullopt;
  }
  return result;
}

std::optional<std::uint64_t> sum(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    return std::nullopt;
  }
  return result;
}

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

GeometryRefusal refuse_size(const char* field, std::uint64_t asked, std::uint64_t limit) {
  return {field, std::string(field) + " is " + format_bytes(asked) + ", the limit is " +
                     format_bytes(limit) + "; ask for less or raise the daemon's limit"};
}

/// @pre every size is at most 2^62, so that rounding up cannot overflow
std::optional<ChannelGeometry> lay_out(const GeometryRequest& request) noexcept {
  ChannelGeometry g;
  g.slot_count = request.slot_count;
  g.ring_capacity = std::bit_ceil(2 * request.slot_count);
  g.input_bytes = request.input_bytes;
  g.output_bytes = request.output_bytes;
  g.table_bytes = request.table_bytes;
  g.input_stride_bytes = stride_for(request.input_bytes);
  g.output_stride_bytes = stride_for(request.output_bytes);

  g.submissions_offset_bytes = kSubmissionsOffsetBytes;
  g.completions_offset_bytes =
      g.submissions_offset_bytes + std::uint64_t{g.ring_capacity} * sizeof(SubmissionEntry);
  g.issued_offset_bytes = round_up(
      g.completions_offset_bytes + std::uint64_t{g.ring_capacity} * sizeof(CompletionEntry),
      kSeparationBytes);
  g.inputs_offset_bytes = round_up(g.issued_offset_bytes + g.slot_count, kPageBytes);

  const auto inputs = product(g.slot_count, g.input_stride_bytes);
  const auto outputs = product(g.slot_count, g.output_stride_bytes);
  if (!inputs || !outputs) {
    return std::nullopt;
  }
  const auto inputs_end = sum(g.inputs_offset_bytes, *inputs);
  if (!inputs_end || *inputs_end > (std::uint64_t{1} << 62U)) {
    return std::nullopt;
  }
  g.outputs_offset_bytes = round_up(*inputs_end, kPageBytes);
  const auto outputs_end = sum(g.outputs_offset_bytes, *outputs);
  if (!outputs_end || *outputs_end > (std::uint64_t{1} << 62U)) {
    return std::nullopt;
  }
  g.tables_offset_bytes = round_up(*outputs_end, kPageBytes);
  const auto end = sum(g.tables_offset_bytes, request.table_bytes);
  if (!end || *end > (std::uint64_t{1} << 62U)) {
    return std::nullopt;
  }
  g.total_bytes = round_up(*end, kPageBytes);
  return g;
}

}  // namespace

std::uint64_t stride_for(std::uint64_t bytes) noexcept {
  return round_up(bytes, bytes >= kPageBytes ? kPageBytes : kSmallStrideBytes);
}

std::variant<ChannelGeometry, GeometryRefusal> plan_geometry(const GeometryRequest& request,
                                                             const GeometryLimits& limits) {
  if (request.slot_count == 0) {
    return GeometryRefusal{"slots", "slots is 0; ask for at least one slot"};
  }
  if (request.slot_count > kMaxSlotCount || request.slot_count > limits.max_slot_count) {
    const std::uint32_t limit = std::min(kMaxSlotCount, limits.max_slot_count);
    return GeometryRefusal{"slots", "slots is " + std::to_string(request.slot_count) +
                                        ", the limit is " + std::to_string(limit) +
                                        "; ask for less or raise the daemon's limit"};
  }
  if (request.input_bytes == 0) {
    return GeometryRefusal{"input bytes",
                           "input bytes is 0; a slot needs an input area of at least one byte"};
  }
  if (request.output_bytes == 0) {
    return GeometryRefusal{"output bytes",
                           "output bytes is 0; a slot needs an output area of at least one byte"};
  }
  if (request.input_bytes > limits.max_slot_bytes) {
    return refuse_size("input bytes", request.input_bytes, limits.max_slot_bytes);
  }
  if (request.output_bytes > limits.max_slot_bytes) {
    return refuse_size("output bytes", request.output_bytes, limits.max_slot_bytes);
  }
  if (request.table_bytes > limits.max_table_bytes) {
    return refuse_size("table bytes", request.table_bytes, limits.max_table_bytes);
  }
  constexpr std::uint64_t kRoundable = std::uint64_t{1} << 62U;
  const bool roundable = request.input_bytes <= kRoundable && request.output_bytes <= kRoundable &&
                         request.table_bytes <= kRoundable;
  const auto geometry = roundable ? lay_out(request) : std::nullopt;
  if (!geometry) {
    return GeometryRefusal{
        "channel bytes", "channel bytes of " + std::to_string(request.slot_count) + " slots of " +
                             format_bytes(request.input_bytes) + " in and " +
                             format_bytes(request.output_bytes) + " out, and " +
                             format_bytes(request.table_bytes) + " of tables, exceed " +
                             format_bytes(kRoundable) + ", the limit of the offsets; ask for less"};
  }
  if (geometry->total_bytes > limits.max_channel_bytes) {
    return refuse_size("channel bytes", geometry->total_bytes, limits.max_channel_bytes);
  }
  return *geometry;
}

}  // namespace overlap
