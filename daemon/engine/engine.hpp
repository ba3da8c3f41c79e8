#pragma once

#include "daemon/engine/batch_copies.hpp"
#include "daemon/engine/channel.hpp"
#include "daemon/engine/engine_load.hpp"
#include "daemon/engine/fair_turns.hpp"
#include "daemon/engine/lane.hpp"
#include "daemon/engine/path_choice.hpp"
#include "daemon/engine/table_uploads.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
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
  /// How long a job may be held back so that others join its batch. 0: never while a lane is free.
  std::uint64_t max_batch_wait_ns = 0;
  PathSettings path = {};
  /// While several channels are served: how much device time may be issued beyond the oldest batch
  /// under way. Always: a batch that is expected to take as long takes no more jobs in.
  std::uint64_t max_ahead_ns = UINT64_MAX;
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
  /// Of a channel that came with tables: the daemon has copies of its own.
  virtual void on_tables_copied(ChannelId channel) = 0;
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
  /// Those of `batches` whose bytes kernels moved, in the slots or gathered.
  std::atomic<std::uint64_t> batches_mapped{0};
  std::atomic<std::uint64_t> batches_gathered{0};
  std::atomic<std::uint64_t> jobs_retried{0};
  std::atomic<std::uint64_t> producer_wakes{0};

  /// For the one writer: a plain add that other threads can read.
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t value) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

/// One device's data path: takes submissions, forms batches, issues them on lanes, publishes
/// completions. No thread, no clock, no lock of its own: `do_work` is the whole engine.
/// Restricted: one thread, but for `counters`.
/// @pre of the destructor: no work in flight (`has_work_in_flight`), as its device buffers go with it.
/// After a loss that is never known: the process is left instead.
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
  /// Whether a channel has submitted what there is no room for: only looking again shows when.
  [[nodiscard]] bool has_full_channels() const noexcept;
  [[nodiscard]] bool has_polled_channels() const noexcept { return !channels_.empty(); }

  /// Tells every polled producer that it must ring.
  /// @return false if there is something to take after all; nobody is told then
  [[nodiscard]] bool fall_asleep();
  void stay_awake();

  [[nodiscard]] bool has_work_in_flight() const noexcept {
    return batches_in_flight_ != 0 || !uploads_.empty();
  }
  /// Until when jobs are held back for others to join their batch, CLOCK_MONOTONIC; UINT64_MAX if
  /// none are.
  [[nodiscard]] std::uint64_t held_until_ns() const noexcept { return held_until_ns_; }
  /// Calls `visit(EventId)` with the event at the end of the oldest batch of every busy lane.
  template <class Visitor>
  void for_each_awaited_event(Visitor visit) const {
    if (!uploads_.empty()) {
      visit(uploads_.oldest_event());
    }
    // The most urgent first: a device may arm fewer than there are.
    for (const ChannelPriority priority : kPrioritiesByUrgency) {
      for (const Lane& lane : lane_groups_[static_cast<std::size_t>(priority)].lanes) {
        if (lane.in_flight_count() > 0) {
          visit(lane.oldest_event());
        }
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

  /// The lanes of one priority.
  struct LaneGroup {
    std::vector<Lane> lanes;
    std::uint32_t in_flight = 0;
    /// What all batches in flight are expected to take.
    std::uint64_t in_flight_ns = 0;

    [[nodiscard]] Lane* oldest_lane() noexcept;
    [[nodiscard]] Lane* free_lane() noexcept;
  };

  /// What is left to share out of a batch that has ended: what it was, by sizes, and whose.
  struct EndedCost {
    ServedPipeline* pipeline;
    std::uint64_t job_bytes;
    std::uint64_t input_bytes;
    std::uint64_t cost_ns;
    std::uint64_t issued_ns;
  };
  struct EndedShare {
    Channel* channel;
    std::uint64_t cost_ns;
  };

  [[nodiscard]] LaneGroup& group_of(ChannelPriority priority) noexcept {
    return lane_groups_[static_cast<std::size_t>(priority)];
  }
  [[nodiscard]] FairTurns& turns_of(const Channel& channel) noexcept {
    return turns_[static_cast<std::size_t>(channel.priority())];
  }
  /// @throws std::runtime_error if the device cannot give them
  void make_lanes(ChannelPriority priority);
  std::size_t take(std::uint64_t now_ns);
  std::size_t issue(std::uint64_t now_ns);
  /// Puts the next batch of a priority on one of its lanes.
  /// @return whether there was one that may go out now
  bool issue_next(ChannelPriority priority, std::uint64_t now_ns);
  [[nodiscard]] bool is_long_kernel(std::uint64_t cost_ns,
                                    std::uint64_t input_bytes) const noexcept;
  /// Whether as much is issued beyond the oldest batch as may be.
  [[nodiscard]] bool is_ahead(LaneGroup& group) const noexcept;
  [[nodiscard]] bool may_go(Channel& channel, const Job& job, bool is_ahead) const noexcept;
  [[nodiscard]] bool is_held_back(ChannelPriority priority, std::uint64_t now_ns);
  /// Gives a stateful pipeline the event that its batches wait for. @return false if there is none
  [[nodiscard]] bool has_order_event(ServedPipeline& pipeline);
  /// Fills `forming_` with the channel's next jobs and those of others that go with them.
  /// @param first_only leave the others out
  void fill(FairTurns& turns, Channel& first, const Lane& lane, bool first_only,
            std::uint64_t now_ns);
  void fill_from(Channel& channel, std::uint32_t max_jobs, std::uint64_t now_ns);
  /// Chooses the path of `forming_`, and puts its jobs in the order that suits it.
  void choose_way();
  /// How many more jobs of a size the batch, its bounds and the channel's credit have room for.
  [[nodiscard]] std::uint32_t jobs_that_fit(Channel& channel, std::uint64_t job_bytes,
                                            std::uint32_t cost_ns,
                                            std::uint32_t max_jobs) const noexcept;
  /// Whether the job needs a fresh state, and the batch has jobs of its channel already.
  [[nodiscard]] bool starts_within_batch(Channel& channel, const Job& job) const noexcept;
  [[nodiscard]] bool goes_with_batch(Channel& channel, const Job& job,
                                     std::uint32_t max_jobs) const noexcept;
  [[nodiscard]] bool job_may_be_mapped() const noexcept;
  std::size_t harvest(std::uint64_t now_ns);
  std::size_t harvest_uploads(std::uint64_t now_ns);
  std::size_t harvest_lane(LaneGroup& group, Lane& lane, std::uint64_t now_ns);
  void finish(const Lane::Ended& ended, std::uint64_t now_ns);
  void fail_stateful(const Batch& batch, int code, std::uint64_t now_ns);
  void retry_or_fail(const Lane::Ended& ended, std::uint64_t now_ns);
  void note_cost(const Batch& batch);
  /// Charges channels with what the batches that have ended took, instead of what was expected.
  void settle_costs(std::uint64_t now_ns);
  void publish();
  /// Lets go of the channels that have left, and reports the end of a drain.
  void sweep();
  void lose(int code);
  void publish_load(std::uint64_t now_ns, bool issued) noexcept;

  Device& device_;
  EngineSettings settings_;
  EngineListener& listener_;
  EngineLoad* load_;
  LaneSettings lane_settings_;
  std::uint32_t lane_count_;
  /// By priority; those but the normal one have lanes once a channel wants them.
  std::array<LaneGroup, kChannelPriorityCount> lane_groups_;
  std::shared_ptr<EventPool> events_;
  TableUploads uploads_;
  PipelineTable pipelines_;
  /// The polled ones, and the parked ones.
  std::vector<Member> channels_;
  std::vector<Member> parked_;
  /// By priority.
  std::array<FairTurns, kChannelPriorityCount> turns_;
  std::uint32_t batches_in_flight_ = 0;
  std::uint32_t long_kernels_in_flight_ = 0;
  std::uint32_t leaving_count_ = 0;
  /// When the device was last seen to end something.
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t held_until_ns_ = UINT64_MAX;
  std::uint64_t issue_count_ = 0;
  /// Of the harvest under way.
  std::vector<EndedCost> ended_costs_;
  std::vector<EndedShare> ended_shares_;
  bool isolated_in_flight_ = false;
  /// Of this priority is the job that is next, wants the device for itself and waits for it to be
  /// empty.
  std::optional<ChannelPriority> isolated_next_;
  bool draining_ = false;
  bool drained_reported_ = false;
  bool lost_ = false;
  Batch forming_;
  SortScratch sort_scratch_;
  std::vector<CopyRange> copies_scratch_;
  EngineCounters counters_;
};

}  // namespace overlap
