#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace overlap {

/// What a producer asks for. Every number is a stranger's claim until `plan_geometry` accepted it.
struct GeometryRequest {
  std::uint32_t slot_count = 0;
  /// Input area of one slot, bytes.
  std::uint64_t input_bytes = 0;
  /// Output area of one slot, bytes.
  std::uint64_t output_bytes = 0;
  /// Table region of the channel, bytes; 0 for none.
  std::uint64_t table_bytes = 0;
};

/// Bounds that a request is held against.
struct GeometryLimits {
  std::uint32_t max_slot_count = 0;
  /// Of the input and of the output area alike.
  std::uint64_t max_slot_bytes = 0;
  std::uint64_t max_table_bytes = 0;
  std::uint64_t max_channel_bytes = 0;
};

/// Where everything lies in a channel's memory. Offsets count from the start of the memory.
struct ChannelGeometry {
  std::uint32_t slot_count = 0;
  /// Entries in each ring: 2 × slots, rounded up to a power of two.
  std::uint32_t ring_capacity = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t input_stride_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t output_stride_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t submissions_offset_bytes = 0;
  std::uint64_t completions_offset_bytes = 0;
  std::uint64_t issued_offset_bytes = 0;
  std::uint64_t inputs_offset_bytes = 0;
  std::uint64_t outputs_offset_bytes = 0;
  std::uint64_t tables_offset_bytes = 0;
  /// A multiple of the page.
  std::uint64_t total_bytes = 0;

  /// @pre slot < slot_count
  [[nodiscard]] constexpr std::uint64_t input_offset_bytes(std::uint32_t slot) const noexcept {
    return inputs_offset_bytes + slot * input_stride_bytes;
  }
  /// @pre slot < slot_count
  [[nodiscard]] constexpr std::uint64_t output_offset_bytes(std::uint32_t slot) const noexcept {
    return outputs_offset_bytes + slot * output_stride_bytes;
  }

  friend bool operator==(const ChannelGeometry&, const ChannelGeometry&) = default;
};

/// Which field of a request is out of bounds, and the sentence for its author.
struct GeometryRefusal {
  std::string field;
  std::string text;
};

/// Distance between two slots' areas: a multiple of 4 KiB from 4 KiB up, of 256 bytes below.
/// @pre bytes <= 2^63
[[nodiscard]] std::uint64_t stride_for(std::uint64_t bytes) noexcept;

/// Lays a channel out, or says why it cannot be. Never overflows, whatever the numbers.
[[nodiscard]] std::variant<ChannelGeometry, GeometryRefusal> plan_geometry(
    const GeometryRequest& request, const GeometryLimits& limits);

}  // namespace overlap
