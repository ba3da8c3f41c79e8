#include "daemon/engine/table_uploads.hpp"

#include "daemon/engine/copy_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace overlap {

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
  if (recorded.ok()) {
    uploads_.push_back({table, request.channel, copied.ok() ? request.job_id : 0});
  }
  return copied.ok() && recorded.ok() ? table : nullptr;
}

bool TableUploads::reads(const Channel& channel) const noexcept {
  return std::ranges::any_of(uploads_,
                             [&](const Upload& upload) { return upload.channel == &channel; });
}

}  // namespace overlap
