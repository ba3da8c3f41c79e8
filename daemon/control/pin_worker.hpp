#pragma once

#include "daemon/control/channel_store.hpp"
#include "daemon/engine/channel.hpp"
#include "daemon/engine/engine_load.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace overlap {

/// What the pin worker and the reclaimer have done.
struct StoreAllocated {
  ChannelId channel;
  std::variant<FileDescriptor, StoreRefusal> outcome;
  std::uint64_t took_ns = 0;
};
struct StoreProgress {
  ChannelId channel;
  std::uint64_t pinned_bytes;
};
struct StorePrepared {
  ChannelId channel;
  /// Of a channel that was cancelled: a store that was not finished.
  std::variant<ChannelStore, StoreRefusal> outcome;
  PrepareTimes times;
  std::string warning;
};
struct StoreGivenBack {
  ChannelId channel;
  std::string warning;
};
using PinReport = std::variant<StoreAllocated, StoreProgress, StorePrepared, StoreGivenBack>;

/// The thread that allocates, touches, seals and registers, one channel at a time: what takes long or
/// holds the driver's lock, but never waits for somebody's kernel.
class PinWorker {
 public:
  /// @param load the gaps between two pins are made only while it says that jobs run
  /// @param report called on the worker's thread; must not block
  /// @pre device and load outlive it
  PinWorker(Device& device, const StoreSettings& settings, const EngineLoad& load,
            std::function<void(PinReport)> report);
  /// Finishes what was asked for, without gaps.
  ~PinWorker();
  PinWorker(const PinWorker&) = delete;
  PinWorker& operator=(const PinWorker&) = delete;

  // Any thread.
  /// @param pipelines their kernels prepare themselves first: one that cannot run needs no memory
  /// @param kept_bytes what the daemon will take for the channel beside that, from the same memory
  void allocate(ChannelId channel, const ChannelGeometry& geometry,
                std::vector<Pipeline> pipelines = {}, std::uint64_t kept_bytes = 0);
  void prepare(ChannelId channel, FileDescriptor memory, const ChannelGeometry& geometry,
               std::uint64_t features);
  /// Nobody waits for this channel any more: its work ends at the next opportunity, with a report as
  /// ever. Without effect on what has been reported.
  void cancel(ChannelId channel);

 private:
  struct Allocate {
    ChannelGeometry geometry;
    std::vector<Pipeline> pipelines;
    std::uint64_t kept_bytes;
  };
  struct Prepare {
    FileDescriptor memory;
    ChannelGeometry geometry;
    std::uint64_t features;
  };
  struct Task {
    ChannelId channel;
    std::variant<Allocate, Prepare> work;
    bool wanted = true;
  };

  void post(Task task);
  void run();
  [[nodiscard]] PinReport perform(Task& task);
  [[nodiscard]] std::optional<StoreRefusal> prepare_kernels(const Allocate& work);
  [[nodiscard]] PinReport prepare(ChannelId channel, Prepare& work);
  [[nodiscard]] bool is_wanted();
  void pause();

  Device& device_;
  StoreSettings settings_;
  const EngineLoad& load_;
  std::function<void(PinReport)> report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  /// The channel that is being worked on, and whether somebody still waits for it.
  std::optional<ChannelId> current_;
  bool current_wanted_ = true;
  bool stopping_ = false;
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace overlap
