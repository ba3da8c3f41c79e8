#pragma once

#include "daemon/control/channel_store.hpp"
#include "daemon/engine/channel.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <variant>

namespace overlap {

/// What the pin worker has done.
struct StoreAllocated {
  ChannelId channel;
  std::variant<FileDescriptor, StoreRefusal> outcome;
};
struct StorePrepared {
  ChannelId channel;
  std::variant<ChannelStore, StoreRefusal> outcome;
  std::string warning;
};
struct StoreGivenBack {
  ChannelId channel;
  std::string warning;
};
using PinReport = std::variant<StoreAllocated, StorePrepared, StoreGivenBack>;

/// The thread that allocates, touches, seals, registers and unregisters: everything that can take
/// long or holds the driver's lock, one channel at a time.
class PinWorker {
 public:
  /// @param report called on the worker's thread; must not block
  PinWorker(Device& device, const StoreSettings& settings, std::function<void(PinReport)> report);
  /// Finishes what was asked for, without gaps.
  ~PinWorker();
  PinWorker(const PinWorker&) = delete;
  PinWorker& operator=(const PinWorker&) = delete;

  // Any thread.
  void allocate(ChannelId channel, const ChannelGeometry& geometry);
  void prepare(ChannelId channel, FileDescriptor memory, const ChannelGeometry& geometry,
               std::uint64_t features);
  void give_back(ChannelId channel, ChannelStore store);

 private:
  struct Allocate {
    ChannelId channel;
    ChannelGeometry geometry;
  };
  struct Prepare {
    ChannelId channel;
    FileDescriptor memory;
    ChannelGeometry geometry;
    std::uint64_t features;
  };
  struct GiveBack {
    ChannelId channel;
    ChannelStore store;
  };
  using Task = std::variant<Allocate, Prepare, GiveBack>;

  void post(Task task);
  void run();
  void perform(Task& task);
  void pause(std::chrono::nanoseconds gap);

  Device& device_;
  StoreSettings settings_;
  std::function<void(PinReport)> report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace overlap
