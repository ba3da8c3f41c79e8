#include "daemon/control/channel_store.hpp"

#include "daemon/control/cgroup_memory.hpp"
#include "daemon/control/page_touch.hpp"
#include "shared/byte_size.hpp"
#include "shared/monotonic_clock.hpp"

#include <cstring>
#include <optional>
#include <span>
#include <system_error>

namespace overlap {
namespace {

/// Room for the daemon itself beside a channel: nobody should be the last straw.
constexpr std::uint64_t kReserveBytes = 8U << 20U;

void unpin_all(ChannelStore& store, Device& device, const std::function<void()>& before_each,
               std::string& failures) {
  while (!store.pinned.empty()) {
    before_each();
    const DeviceStatus status = device.unpin(store.pinned.back());
    store.pinned.pop_back();
    if (!status.ok()) {
      failures = "unpinning failed: " + device.describe(status.code);
    }
  }
}

/// Pins until it is done or not wanted any more.
/// @return why not, or nothing
std::optional<std::string> pin_all(ChannelStore& store, Device& device, const PrepareSteps& steps) {
  std::byte* base = store.mapping.bytes().data();
  std::uint64_t pinned_bytes = 0;
  for (const PinRange& range : pin_ranges(store.pinning)) {
    if (pinned_bytes != 0) {
      // A loop of calls would never let go of the driver's lock.
      steps.between_pins(pinned_bytes);
    }
    if (!steps.is_wanted()) {
      return std::nullopt;
    }
    const DeviceStatus status = device.pin({base + range.offset_bytes, range.bytes});
    if (!status.ok()) {
      std::string ignored;
      unpin_all(
          store, device, [&] { steps.between_pins(pinned_bytes); }, ignored);
      return "pinning " + format_bytes(range.bytes) + " failed: " + device.describe(status.code);
    }
    store.pinned.push_back(base + range.offset_bytes);
    pinned_bytes += range.bytes;
  }
  return std::nullopt;
}

}  // namespace

std::variant<FileDescriptor, StoreRefusal> allocate_store(const ChannelGeometry& geometry,
                                                          std::uint64_t kept_bytes) {
  const std::uint64_t needed_bytes = geometry.total_bytes + kept_bytes;
  // Before the allocation, which would be charged at once: behind it, it could only be mourned.
  const auto limit = read_cgroup_memory();
  if (limit && needed_bytes + kReserveBytes > limit->available_bytes) {
    return StoreRefusal{
        AttachCode::memory_refused,
        "the channel needs " + format_bytes(needed_bytes) + ", the daemon's memory limit leaves " +
            format_bytes(limit->available_bytes) + "; ask for less or raise MemoryMax"};
  }
  const auto left = read_machine_memory();
  if (left && needed_bytes + kReserveBytes > *left) {
    return StoreRefusal{AttachCode::memory_refused,
                        "the channel needs " + format_bytes(needed_bytes) + ", the machine has " +
                            format_bytes(*left) + " left; ask for less"};
  }
  try {
    return create_channel_memory(geometry.total_bytes);
  } catch (const ChannelMemoryError& error) {
    return StoreRefusal{AttachCode::memory_refused, std::string(error.what()) + "; ask for less"};
  }
}

std::variant<ChannelStore, StoreRefusal> prepare_store(FileDescriptor memory,
                                                       const ChannelGeometry& geometry,
                                                       std::uint64_t features, Device& device,
                                                       const StoreSettings& settings,
                                                       const PrepareSteps& steps,
                                                       PrepareTimes& times, std::string& warning) {
  ChannelStore store;
  store.geometry = geometry;
  if (!steps.is_wanted()) {
    store.memory = std::move(memory);
    return store;
  }
  const std::uint64_t started_ns = monotonic_now_ns();
  try {
    store.mapping = ChannelMapping(memory, geometry.total_bytes, InheritMapping::yes);
    seal_channel_memory(memory);
  } catch (const ChannelMemoryError& error) {
    return StoreRefusal{AttachCode::memory_refused, error.what()};
  }
  // The mapping holds the pages: a descriptor a channel less.
  memory.reset();
  const std::span<std::byte> bytes = store.mapping.bytes();
  if (const int error_number = touch_pages(bytes, steps.touch_threads, steps.is_wanted)) {
    return StoreRefusal{AttachCode::memory_refused,
                        "the channel's pages cannot be had (" +
                            std::generic_category().message(error_number) + "); ask for less"};
  }
  const std::uint64_t touched_ns = monotonic_now_ns();
  times.touch_ns = touched_ns - started_ns;
  store.pinning = plan_pinning(geometry, settings.pin_chunk_bytes);
  const auto failure = pin_all(store, device, steps);
  times.pin_ns = monotonic_now_ns() - touched_ns;
  if (failure) {
    if (settings.require_pinned) {
      return StoreRefusal{AttachCode::pinning_failed, *failure + "; ask for less memory"};
    }
    warning = *failure + "; going on with pageable memory";
  }
  if (!steps.is_wanted()) {
    return store;
  }
  // Takes back whatever the producer wrote there before the channel began.
  std::memset(bytes.data(), 0, geometry.inputs_offset_bytes);
  write_channel(store.view(), features);
  return store;
}

std::string give_back(ChannelStore store, Device& device,
                      const std::function<void()>& before_each) {
  std::string failures;
  unpin_all(store, device, before_each, failures);
  return failures;
}

}  // namespace overlap
