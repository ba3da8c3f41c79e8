#pragma once

#include "daemon/device/device_memory.hpp"
#include "daemon/engine/event_pool.hpp"
#include "daemon/engine/pin_layout.hpp"
#include "shared/control_protocol.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
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

/// Tables of updates that a channel may have on the device at once, besides the ones it came with:
/// every job under way keeps those that it was taken with.
inline constexpr std::size_t kMaxUpdatedTables = 64;

/// The most device memory that the tables of a channel take, with those of updates, bytes: enough for
/// a quick succession of small ones, and for one that is replaced while jobs use it, of any size.
/// @param tables what the channel came with
[[nodiscard]] std::uint64_t largest_table_memory(const std::vector<TableEntry>& tables) noexcept;

/// Brings tables from channels' memory to the device, on a stream of their own.
/// Restricted: the engine's thread.
class TableUploads {
 public:
  /// @pre device outlives it
  /// @throws std::runtime_error if the device gives no stream
  TableUploads(Device& device, std::shared_ptr<EventPool> events);

  /// Who waits for a copy.
  struct Purpose {
    enum class Kind : std::uint8_t { nobody, attach, update } kind = Kind::nobody;
    /// Of an update: the id that its answer names.
    std::uint64_t update_id = 0;
  };

  /// What to read, and what for.
  struct Request {
    Channel* channel;
    /// Start of the channel's memory, and the table's place in it.
    std::byte* channel_base;
    std::uint64_t offset_bytes;
    std::uint64_t bytes;
    const ChunkedRegion* pinning;
    Purpose purpose;
  };

  /// Starts a copy. @return null if the device has no memory for it or takes no copy
  [[nodiscard]] std::shared_ptr<UploadedTable> start(const Request& request);

  /// Calls `over(channel, purpose)` for each copy that has come to its end since. @return how many
  template <class Over>
  std::size_t harvest(Over over) {
    std::size_t count = 0;
    while (!uploads_.empty() && !lost_code_) {
      const EventQuery query = device_.query(uploads_.front().table->ready.id());
      if (query.state == EventState::pending) {
        break;
      }
      if (query.state != EventState::ready) {
        // Kernels that were issued since read what nobody knows: as bad as a lost device.
        lost_code_ = query.code;
        break;
      }
      // In the order of the stream.
      const Upload upload = std::move(uploads_.front());
      uploads_.pop_front();
      upload.table->is_there = true;
      over(*upload.channel, upload.purpose);
      ++count;
    }
    return count;
  }

  /// The device's error, once it took no copy for being lost, or a copy failed under way.
  [[nodiscard]] const std::optional<int>& lost_code() const noexcept { return lost_code_; }
  [[nodiscard]] bool empty() const noexcept { return uploads_.empty(); }
  /// @pre not empty
  [[nodiscard]] EventId oldest_event() const noexcept { return uploads_.front().table->ready.id(); }
  /// Whether a channel's memory is still being read.
  [[nodiscard]] bool reads(const Channel& channel) const noexcept;

 private:
  struct Upload {
    std::shared_ptr<UploadedTable> table;
    Channel* channel;
    Purpose purpose;
  };

  Device& device_;
  std::shared_ptr<EventPool> events_;
  StreamId stream_;
  std::deque<Upload> uploads_;
  std::optional<int> lost_code_;
  std::vector<CopyRange> ranges_;
};

}  // namespace overlap
