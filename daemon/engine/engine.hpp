#pragma once

#include "daemon/engine/channel.hpp"
#include "daemon/engine/engine_load.hpp"
#include "daemon/engine/lane.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace overlap {

struct EngineSettings {
  /// 0 leaves lanes and depth to the device.
  std::uint32_t lane_count = 0;
  std::uint32_t depth = 0;
  LaneKind lane_kind = LaneKind::single;
  std::uint32_t max_batch_jobs = 256;
  std::uint64_t max_batch_bytes = 4U << 20U;
};

/// What the engine tells the control thread. Called on the engine's thread; must not block.
class EngineListener {
 public:
  virtual ~EngineListener() = default;
  /// The producer broke the rules: its channel takes nothing any more and wants to be removed.
  virtual void on_violation(ChannelId channel, const std::string& why) = 0;
  /// The channel is no longer polled, or is again: its doorbell has to be watched, or not.
  virtual void on_parked(ChannelId channel, int doorbell) = 0;
  virtual void on_unparked(ChannelId channel, int doorbell) = 0;
  /// Nothing touches the channel's memory any more.
  virtual void on_removed(ChannelId channel) = 0;
  /// Every job that had been taken has ended, after `drain`.
  virtual void on_drained() = 0;
  /// The device will never run anything again.
  virtual void on_device_lost(int code) = 0;
};

/// What the engine counts; read from any thread.
struct EngineCounters {
  std::atomic<std::uint64_t> jobs_done{0};
  std::atomic<std::uint64_t> jobs_failed{0};
  std::atomic<std::uint64_t> input_bytes{0};
  std::atomic<std::uint64_t> output_bytes{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> jobs_retried{0};
  std::atomic<std::uint64_t> producer_wakes{0};
};

/// One device's data path: takes submissions, forms batches, issues them on lanes, publishes
/// completions. No thread, no clock, no lock of its own: `do_work` is the whole engine.
/// Restricted: one thread, but for `counters`.
class Engine {
 public:
  /// @param load where to say how busy the device is; may be null
  /// @pre device, listener and load outlive the engine
  /// @throws std::runtime_error if the device cannot give the lanes
  Engine(Device& device, const EngineSettings& settings, EngineListener& listener,
         EngineLoad* load = nullptr);

  /// Does what can be done now, without waiting: harvest, take, form, issue.
  /// @param now_ns CLOCK_MONOTONIC, or the time of a test
  /// @return how much was done; 0 means that calling again at once is of no use
  std::size_t do_work(std::uint64_t now_ns);

  /// The harvest alone: ends what is on the device, takes and issues nothing.
  void wind_down(std::uint64_t now_ns);

  void add(std::unique_ptr<Channel> channel, std::uint64_t now_ns);
  /// Takes nothing more from the channel; `on_removed` follows once its work on the device is over.
  /// An unknown channel is no error: it may have gone for another reason.
  void remove(ChannelId channel);
  /// Takes nothing more from anybody; `on_drained` follows.
  void drain();

  /// Stops polling the channels from which nothing came since `quiet_since_ns`; `on_parked` says
  /// which. Their doorbells are somebody else's to watch.
  void park(std::uint64_t quiet_since_ns);
  /// Polls a parked channel again if there is something to take.
  void unpark(ChannelId channel, std::uint64_t now_ns);
  [[nodiscard]] bool has_polled_channels() const noexcept { return !channels_.empty(); }

  /// Tells every polled producer that it must ring.
  /// @return false if there is something to take after all; nobody is told then
  [[nodiscard]] bool fall_asleep();
  void stay_awake();

  [[nodiscard]] bool has_work_in_flight() const noexcept { return batches_in_flight_ != 0; }
  /// Calls `visit(EventId)` with the event at the end of the oldest batch of every busy lane.
  template <class Visitor>
  void for_each_awaited_event(Visitor visit) const {
    for (const Lane& lane : lanes_) {
      if (lane.in_flight_count() > 0) {
        visit(lane.oldest_event());
      }
    }
  }

  [[nodiscard]] const EngineCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

 private:
  struct Member {
    std::unique_ptr<Channel> channel;
    std::uint64_t active_ns = 0;
    /// Takes no more; goes when its work on the device is over.
    bool leaving = false;
    /// Its violation was told.
    bool reported = false;

    [[nodiscard]] bool is_served() const noexcept { return !leaving && !reported; }
  };

  std::size_t take(std::uint64_t now_ns);
  std::size_t issue(std::uint64_t now_ns);
  std::size_t harvest(std::uint64_t now_ns);
  /// Fills `forming_` from the next channel that has something to run.
  [[nodiscard]] bool form(std::uint64_t now_ns);
  void fill_from(Channel& channel, const Job& first, std::uint64_t now_ns);
  [[nodiscard]] Lane* free_lane() noexcept;
  void finish(const Lane::Ended& ended, std::uint64_t now_ns);
  void retry_or_fail(const Lane::Ended& ended, std::uint64_t now_ns);
  void publish();
  /// Lets go of the channels that have left, and reports the end of a drain.
  void sweep();
  void lose(int code);
  void publish_load(std::uint64_t now_ns, bool issued) noexcept;

  EngineSettings settings_;
  EngineListener& listener_;
  EngineLoad* load_;
  std::vector<Lane> lanes_;
  /// The polled ones, and the parked ones.
  std::vector<Member> channels_;
  std::vector<Member> parked_;
  std::size_t next_channel_ = 0;
  std::size_t next_lane_ = 0;
  std::uint32_t batches_in_flight_ = 0;
  std::uint32_t leaving_count_ = 0;
  bool isolated_in_flight_ = false;
  bool draining_ = false;
  bool drained_reported_ = false;
  bool lost_ = false;
  Batch forming_;
  EngineCounters counters_;
};

}  // namespace overlap
