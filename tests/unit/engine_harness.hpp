#pragma once

#include "daemon/device/virtual_time_device.hpp"
#include "daemon/engine/engine.hpp"
#include "tests/unit/channel_harness.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace overlap::testing {

/// An engine on a device whose time is a number, and the producers that feed it.
class EngineHarness {
 private:
  // First: the engine's channels lie in their memory.
  std::vector<std::unique_ptr<ChannelHarness>> producers_;

 public:
  explicit EngineHarness(const EngineSettings& settings = {}, const VirtualCosts& costs = {},
                         const VirtualResources& resources = {})
      : device(costs, resources), engine(device, settings, listener) {}

  /// A producer with a channel of its own; ids count from 1.
  ChannelHarness& attach(const std::vector<std::string>& pipelines,
                         const ChannelHarness::Shape& shape = {},
                         const KernelRegistry* registry = nullptr) {
    producers_.push_back(
        std::make_unique<ChannelHarness>(producers_.size() + 1, pipelines, shape, registry));
    engine.add(producers_.back()->make_channel(), device.now_ns());
    return *producers_.back();
  }

  std::size_t step() { return engine.do_work(device.now_ns()); }

  /// Works until the engine has nothing to do and the device nothing going on.
  void run() {
    while (step() != 0 || device.advance_to_next()) {
    }
  }

  /// Works until no copy and no kernel will end any more, or virtual time has come.
  void run_until(std::uint64_t time_ns) {
    while (device.now_ns() < time_ns && (step() != 0 || device.advance_to_next())) {
    }
  }

  VirtualTimeDevice device;
  RecordingListener listener;
  Engine engine;
};

}  // namespace overlap::testing
