#pragma once

#include "shared/control_protocol.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace overlap {

/// A table that a kernel of a pipeline reads: taps, weights, look-up values.
struct TableContent {
  std::uint8_t pipeline_index = 0;
  /// Which kernel of the pipeline, from 0.
  std::uint8_t stage_index = 0;
  std::vector<std::byte> bytes{};
};

/// The tables of one `Producer`: where they lie in a channel's table region, what they hold, and
/// which of their places the daemon may still be reading.
///
/// Each has two places of the same size, one behind the other, so that an update can be written while
/// the daemon reads the one before. A daemon has its own copies once it said 'ready': both places are
/// free then. Restricted: one thread at a time; the layout never changes and can be read by any.
class ChannelTables {
 public:
  static constexpr std::size_t kPlaces = 2;

  ChannelTables() = default;
  /// @throws InvalidSubmission for a table of no bytes, of no pipeline, given twice, or too many
  ChannelTables(std::vector<TableContent> tables, std::size_t pipeline_count);

  [[nodiscard]] std::size_t count() const noexcept { return tables_.size(); }
  /// Of the table region.
  [[nodiscard]] std::uint64_t region_bytes() const noexcept { return region_bytes_; }
  /// @return empty if that stage has no table
  [[nodiscard]] std::optional<std::uint8_t> find(std::uint8_t pipeline_index,
                                                 std::uint8_t stage_index) const noexcept;
  [[nodiscard]] std::uint64_t bytes(std::uint8_t table) const noexcept {
    return tables_[table].content.bytes.size();
  }
  [[nodiscard]] std::uint8_t stage_index(std::uint8_t table) const noexcept {
    return tables_[table].content.stage_index;
  }
  [[nodiscard]] std::uint64_t offset_bytes(std::uint8_t table, std::uint8_t place) const noexcept;

  /// For `AttachRequest::tables`: every table at its first place.
  void name_tables(AttachRequest& request) const noexcept;
  /// Writes the contents that a channel begins with to their first places.
  /// @pre the region has `region_bytes()`
  void write_contents(std::span<std::byte> region) const noexcept;
  /// What the next channel begins with.
  /// @pre as many bytes as before
  void set_content(std::uint8_t table, std::vector<std::byte> bytes) noexcept;

  /// Takes a place that the daemon does not read.
  /// @return empty if it may still be reading both
  [[nodiscard]] std::optional<std::uint8_t> take_place(std::uint8_t table) noexcept;
  void free_place(std::uint8_t table, std::uint8_t place) noexcept;
  /// The channel went.
  void free_all_places() noexcept;

 private:
  struct Table {
    TableContent content;
    std::uint64_t offset_bytes = 0;
    std::uint64_t stride_bytes = 0;
    std::array<bool, kPlaces> taken{};
  };

  std::vector<Table> tables_;
  std::uint64_t region_bytes_ = 0;
};

}  // namespace overlap
