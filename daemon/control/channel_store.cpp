#include "daemon/control/channel_store.hpp"

#include "daemon/control/cgroup_memory.hpp"
#include "shared/byte_size.hpp"

#include <cstring>
#include <optional>

namespace overlap {
namespace {

/// Room for the daemon itself beside a channel: nobody should be the last straw.
constexpr std::uint64_t kReserveBytes = 8U << 20U;

void unpin_all(ChannelStore& store, Device& device, std::chrono::nanoseconds gap,
               const Pause& pause, std::string& failures) {
  while (!store.pinned.empty()) {
    const DeviceStatus status = device.unpin(store.pinned.back());
    store.pinned.pop_back();
    if (!status.ok()) {
      failures = "unpinning failed: " + device.describe(status.code);
    }
    if (!store.pinned.empty()) {
      pause(gap);
    }
  }
}

/// @return why not, or nothing
std::optional<std::string> pin_all(ChannelStore& store, Device& device,
                                   std::chrono::nanoseconds gap, const Pause& pause) {
  std::byte* base = store.mapping.bytes().data();
  bool first = true;
  for (const PinRange& range : pin_ranges(store.pinning)) {
    if (!first) {
      // A loop of calls would never let go of the driver's lock.
      pause(gap);
    }
    first = false;
    const DeviceStatus status = device.pin({base + range.offset_bytes, range.bytes});
    if (!status.ok()) {
      std::string ignored;
      unpin_all(store, device, gap, pause, ignored);
      return "pinning " + format_bytes(range.bytes) + " failed: " + device.describe(status.code);
    }
    store.pinned.push_back(base + range.offset_bytes);
  }
  return std::nullopt;
}

}  // namespace

std::variant<FileDescriptor, StoreRefusal> allocate_store(const ChannelGeometry& geometry) {
  // Before the allocation, which would be charged at once: behind it, it could only be mourned.
  const auto limit = read_cgroup_memory();
  if (limit && geometry.total_bytes + kReserveBytes > limit->available_bytes) {
    return StoreRefusal{false, "the channel needs " + format_bytes(geometry.total_bytes) +
                                   ", the daemon's memory limit leaves " +
                                   format_bytes(limit->available_bytes) +
                                   "; ask for less or raise MemoryMax"};
  }
  const auto left = read_machine_memory();
  if (left && geometry.total_bytes + kReserveBytes > *left) {
    return StoreRefusal{false, "the channel needs " + format_bytes(geometry.total_bytes) +
                                   ", the machine has " + format_bytes(*left) +
                                   " left; ask for less"};
  }
  try {
    return create_channel_memory(geometry.total_bytes);
  } catch (const ChannelMemoryError& error) {
    return StoreRefusal{false, std::string(error.what()) + "; ask for less"};
  }
}

std::variant<ChannelStore, StoreRefusal> prepare_store(FileDescriptor memory,
                                                       const ChannelGeometry& geometry,
                                                       std::uint64_t features, Device& device,
                                                       const StoreSettings& settings,
                                                       const Pause& pause, std::string& warning) {
  ChannelStore store;
  try {
    store.mapping = ChannelMapping(memory, geometry.total_bytes, InheritMapping::yes);
    seal_channel_memory(memory);
  } catch (const ChannelMemoryError& error) {
    return StoreRefusal{false, error.what()};
  }
  store.memory = std::move(memory);
  store.geometry = geometry;
  store.pinning = plan_pinning(geometry, settings.pin_chunk_bytes);
  // Touches every page, and takes back whatever the producer wrote there before the channel began.
  std::memset(store.mapping.bytes().data(), 0, store.mapping.bytes().size());
  if (const auto failure = pin_all(store, device, settings.pin_gap, pause)) {
    if (settings.require_pinned) {
      return StoreRefusal{true, *failure + "; ask for less memory"};
    }
    warning = *failure + "; going on with pageable memory";
  }
  write_channel(store.view(), features);
  return store;
}

std::string give_back(ChannelStore store, Device& device, std::chrono::nanoseconds gap,
                      const Pause& pause) {
  std::string failures;
  unpin_all(store, device, gap, pause, failures);
  return failures;
}

}  // namespace overlap
