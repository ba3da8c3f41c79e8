#pragma once

#include "daemon/device/device.hpp"
#include "daemon/engine/pin_layout.hpp"
#include "shared/channel_memory.hpp"
#include "shared/channel_view.hpp"
#include "shared/file_descriptor.hpp"
#include "shared/job_status.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace overlap {

/// A channel's memory on the daemon's side: the memfd until it is mapped, the mapping (which needs
/// no descriptor to live on) and what of it is pinned.
///
/// Order of going: device idle on it → unpin → unmap. Whoever lets the last mapping or descriptor go
/// frees the pages, which takes a while: 0.3 s a GiB.
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
  /// Pause between two calls that hold the driver's lock, while somebody's jobs run.
  std::chrono::nanoseconds pin_gap{1'000'000};
  /// How long memory that nobody uses may wait for a moment without long batches to be unpinned.
  std::chrono::nanoseconds reclaim_after{10'000'000'000};
  /// Refuse rather than go on with memory that cannot be pinned.
  bool require_pinned = false;
};

/// Why a store could not be made, for the producer to read.
struct StoreRefusal {
  AttachCode code = AttachCode::memory_refused;
  std::string text;
};

/// What the preparing of a store asks and tells on its way.
struct PrepareSteps {
  /// Whether somebody still waits for the store; asked between two pieces of work, by any thread.
  std::function<bool()> is_wanted;
  /// Called between two calls that hold the driver's lock, to let others to it.
  std::function<void(std::uint64_t pinned_bytes)> between_pins;
  /// Threads that touch the pages.
  unsigned touch_threads = 1;
};

/// Where the time of a preparing went.
struct PrepareTimes {
  std::uint64_t touch_ns = 0;
  std::uint64_t pin_ns = 0;
};

/// The memfd of a channel, every page allocated: refused if the cgroup's limit would be passed or if
/// the machine has not that much left.
/// @param kept_bytes what will be taken for the channel beside it, from the same memory
[[nodiscard]] std::variant<FileDescriptor, StoreRefusal> allocate_store(
    const ChannelGeometry& geometry, std::uint64_t kept_bytes = 0);

/// Maps, seals, touches, pins and writes a store that the producer has mapped. The control region is
/// cleared first. Inputs, outputs and tables are left as the producer may have written them by now:
/// the memory was never anybody else's, and nothing there means anything before its first job.
/// A failure leaves nothing pinned.
/// @param warning set to a sentence if the memory could not be pinned and need not be
/// @return a store without a channel, perhaps pinned in part, if it is not wanted any more
[[nodiscard]] std::variant<ChannelStore, StoreRefusal> prepare_store(
    FileDescriptor memory, const ChannelGeometry& geometry, std::uint64_t features, Device& device,
    const StoreSettings& settings, const PrepareSteps& steps, PrepareTimes& times,
    std::string& warning);

/// Unpins, unmaps and closes.
/// @param before_each called before every call that waits for the device
/// @pre nothing on the device uses the memory
/// @return a sentence for the log if an unpinning failed
[[nodiscard]] std::string give_back(ChannelStore store, Device& device,
                                    const std::function<void()>& before_each);

}  // namespace overlap
