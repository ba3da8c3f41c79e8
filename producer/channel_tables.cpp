#include "producer/channel_tables.hpp"

#include "producer/producer_error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace overlap {
namespace {

std::uint64_t place_bytes(std::uint64_t bytes) noexcept {
  return (bytes + kSmallStrideBytes - 1) / kSmallStrideBytes * kSmallStrideBytes;
}

}  // namespace

ChannelTables::ChannelTables(std::vector<TableContent> tables, std::size_t pipeline_count) {
  if (tables.size() > kMaxTables) {
    throw InvalidSubmission("a channel takes at most " + std::to_string(kMaxTables) +
                            " tables, these are " + std::to_string(tables.size()));
  }
  for (TableContent& table : tables) {
    const std::string name = "the table of pipeline " + std::to_string(table.pipeline_index) +
                             ", stage " + std::to_string(table.stage_index);
    if (table.pipeline_index >= pipeline_count) {
      throw InvalidSubmission(name + ": the channel has " + std::to_string(pipeline_count) +
                              " pipelines, counted from 0; name one of them");
    }
    if (table.bytes.empty()) {
      throw InvalidSubmission(name + " has no bytes; give its content, or leave it out");
    }
    if (find(table.pipeline_index, table.stage_index)) {
      throw InvalidSubmission(name + " is given twice; keep one of them");
    }
    const std::uint64_t stride_bytes = place_bytes(table.bytes.size());
    tables_.push_back({std::move(table), region_bytes_, stride_bytes, {}});
    region_bytes_ += kPlaces * stride_bytes;
  }
}

std::optional<std::uint8_t> ChannelTables::find(std::uint8_t pipeline_index,
                                                std::uint8_t stage_index) const noexcept {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (tables_[i].content.pipeline_index == pipeline_index &&
        tables_[i].content.stage_index == stage_index) {
      return static_cast<std::uint8_t>(i);
    }
  }
  return std::nullopt;
}

std::uint64_t ChannelTables::offset_bytes(std::uint8_t table, std::uint8_t place) const noexcept {
  return tables_[table].offset_bytes + place * tables_[table].stride_bytes;
}

void ChannelTables::name_tables(AttachRequest& request) const noexcept {
  request.table_count = static_cast<std::uint32_t>(tables_.size());
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const TableContent& content = tables_[i].content;
    TableEntry& entry = request.tables[i];
    entry.offset_bytes = tables_[i].offset_bytes;
    entry.bytes = content.bytes.size();
    entry.pipeline_index = content.pipeline_index;
    entry.stage_index = content.stage_index;
  }
}

void ChannelTables::write_contents(std::span<std::byte> region) const noexcept {
  for (const Table& table : tables_) {
    std::ranges::copy(table.content.bytes,
                      region.begin() + static_cast<std::ptrdiff_t>(table.offset_bytes));
  }
}

void ChannelTables::set_content(std::uint8_t table, std::vector<std::byte> bytes) noexcept {
  tables_[table].content.bytes = std::move(bytes);
}

std::optional<std::uint8_t> ChannelTables::take_place(std::uint8_t table) noexcept {
  auto& taken = tables_[table].taken;
  const auto free = std::ranges::find(taken, false);
  if (free == taken.end()) {
    return std::nullopt;
  }
  *free = true;
  return static_cast<std::uint8_t>(free - taken.begin());
}

void ChannelTables::free_place(std::uint8_t table, std::uint8_t place) noexcept {
  tables_[table].taken[place] = false;
}

void ChannelTables::free_all_places() noexcept {
  for (Table& table : tables_) {
    table.taken = {};
  }
}

}  // namespace overlap
