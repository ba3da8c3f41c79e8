#pragma once

#include "daemon/device/device_memory.hpp"
#include "daemon/engine/event_pool.hpp"
#include "daemon/engine/pin_layout.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace overlap {

class Channel;

/// A channel's table as kernels read it: the daemon's own copy, on the device.
struct UploadedTable {
  DeviceMemory memory;
  std::uint64_t bytes = 0;
  /// Over once the copy is there; kernels before that wait for it on their stream.
  EventPool::Lease ready;
  /// The host has seen that it is over: nobody needs to wait any more.
  bool is_there = false;
};

/// The tables of a pipeline by stage; null for a stage without one. Never changed: an update makes a
/// new set, and jobs keep the one that they were taken with.
using TableSet = std::vector<std::shared_ptr<UploadedTable>>;

/// Brings tables from channels' memory to the device, on a stream of their own.
/// Restricted: the engine's thread.
class TableUploads {
 public:
  /// @pre device outlives it
  /// @throws std::runtime_error if the device gives no stream
  TableUploads(Device& device, std::shared_ptr<EventPool> events);

  /// What to read, and what for.
  struct Request {
    Channel* channel;
    /// Start of the channel's memory, and the table's place in it.
    std::byte* channel_base;
    std::uint64_t offset_bytes;
    std::uint64_t bytes;
    const ChunkedRegion* pinning;
    /// The update that is to be answered when the copy is there; 0 for none.
    std::uint64_t job_id;
  };

  /// Starts a copy. @return null if the device has no memory for it or takes no copy
  [[nodiscard]] std::shared_ptr<UploadedTable> start(const Request& request);

  /// Calls `over(channel, job_id, ok)` for each upload that has ended since. @return how many
  template <class Over>
  std::size_t harvest(Over over) {
    std::size_t count = 0;
    while (!uploads_.empty()) {
      const EventQuery query = device_.query(uploads_.front().table->ready.id());
      if (query.state == EventState::pending) {
        break;
      }
      // In the order of the stream.
      Upload upload = std::move(uploads_.front());
      uploads_.erase(uploads_.begin());
      upload.table->is_there = query.state == EventState::ready;
      over(*upload.channel, upload.job_id, query);
      ++count;
    }
    return count;
  }

  [[nodiscard]] bool empty() const noexcept { return uploads_.empty(); }
  /// @pre not empty
  [[nodiscard]] EventId oldest_event() const noexcept { return uploads_.front().table->ready.id(); }
  /// Whether a channel's memory is still being read.
  [[nodiscard]] bool reads(const Channel& channel) const noexcept;

 private:
  struct Upload {
    std::shared_ptr<UploadedTable> table;
    Channel* channel;
    std::uint64_t job_id;
  };

  Device& device_;
  std::shared_ptr<EventPool> events_;
  StreamId stream_;
  std::vector<Upload> uploads_;
  std::vector<CopyRange> ranges_;
};

}  // namespace overlap
