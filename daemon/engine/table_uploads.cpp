#include "daemon/engine/table_uploads.hpp"

#include "daemon/engine/copy_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace overlap {
namespace {

/// Up to where as many tables of updates may lie on the device as there may be at all.
constexpr std::uint64_t kUpdatedTableBytes = 16U << 20U;

}  // namespace

std::uint64_t largest_table_memory(const std::vector<TableEntry>& tables) noexcept {
  std::uint64_t first_bytes = 0;
  for (const TableEntry& table : tables) {
    first_bytes += table.bytes;
  }
  return first_bytes +
         std::max(2 * first_bytes, std::min(kMaxUpdatedTables * first_bytes, kUpdatedTableBytes));
}

TableUploads::TableUploads(Device& device, std::shared_ptr<EventPool> events)
    : device_(device),
      events_(std::move(events)),
      stream_(device.create_stream(StreamPriority::normal)) {}

std::shared_ptr<UploadedTable> TableUploads::start(const Request& request) {
  auto table = std::make_shared<UploadedTable>();
  table->memory = DeviceMemory(device_, DeviceMemory::Kind::buffer, request.bytes);
  if (table->memory.data() == nullptr) {
    return nullptr;
  }
  table->bytes = request.bytes;
  try {
    table->ready = events_->lease();
  } catch (const std::runtime_error&) {
    return nullptr;
  }
  ranges_.clear();
  append_copy(ranges_, CopyDirection::in, *request.pinning,
              {request.channel_base, request.offset_bytes, table->memory.data(), request.bytes});
  const DeviceStatus copied = device_.copy_in(stream_, ranges_);
  // Also behind a failure: what was enqueued before it still writes to the memory.
  const DeviceStatus recorded = device_.record(table->ready.id(), stream_);
  if (copied.outcome == DeviceOutcome::lost) {
    lost_code_ = copied.code;
  } else if (!recorded.ok()) {
    // Without its event nobody can tell when the memory is free: as bad as a lost device.
    lost_code_ = recorded.code;
  }
  // Kept in any case: the copy may be under way.
  uploads_.push_back({table, request.channel, copied.ok() ? request.purpose : Purpose{}});
  return copied.ok() && recorded.ok() ? table : nullptr;
}

bool TableUploads::reads(const Channel& channel) const noexcept {
  return std::ranges::any_of(uploads_,
                             [&](const Upload& upload) { return upload.channel == &channel; });
}

}  // namespace overlap
