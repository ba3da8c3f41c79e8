#pragma once

#include "daemon/device/device.hpp"
#include "daemon/engine/pin_layout.hpp"
#include "shared/channel_memory.hpp"
#include "shared/channel_view.hpp"
#include "shared/file_descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace overlap {

/// A channel's memory on the daemon's side: the memfd, the mapping and what of it is pinned.
///
/// Order of going: device idle on it → unpin → unmap → close. Members are declared so that
/// destruction unmaps before it closes; `give_back` unpins before.
struct ChannelStore {
  FileDescriptor memory;
  ChannelMapping mapping;
  ChannelGeometry geometry;
  PinLayout pinning;
  /// Starts of the ranges that are pinned, in the order of pinning.
  std::vector<std::byte*> pinned;

  [[nodiscard]] ChannelView view() const noexcept { return {mapping.bytes(), geometry}; }
};

struct StoreSettings {
  std::uint64_t pin_chunk_bytes = 16U << 20U;
  /// Pause between two calls that hold the driver's lock.
  std::chrono::nanoseconds pin_gap{1'000'000};
  /// Refuse rather than go on with memory that cannot be pinned.
  bool require_pinned = false;
};

/// Why a store could not be made, for the producer to read.
struct StoreRefusal {
  bool pinning;
  std::string text;
};

/// A pause, so that tests need none.
using Pause = std::function<void(std::chrono::nanoseconds)>;

/// The memfd of a channel, every page allocated: refused if the cgroup's limit would be passed or if
/// the machine has not that much left.
[[nodiscard]] std::variant<FileDescriptor, StoreRefusal> allocate_store(
    const ChannelGeometry& geometry);

/// Seals, maps, touches, writes and pins a store that the producer has mapped. A failure leaves
/// nothing pinned.
/// @param warning set to a sentence if the memory could not be pinned and need not be
[[nodiscard]] std::variant<ChannelStore, StoreRefusal> prepare_store(
    FileDescriptor memory, const ChannelGeometry& geometry, std::uint64_t features, Device& device,
    const StoreSettings& settings, const Pause& pause, std::string& warning);

/// Unpins, unmaps and closes.
/// @pre nothing on the device uses the memory
/// @return a sentence for the log if an unpinning failed
std::string give_back(ChannelStore store, Device& device, std::chrono::nanoseconds gap,
                      const Pause& pause);

}  // namespace overlap
