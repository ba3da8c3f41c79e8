#pragma once

#include "daemon/engine/channel.hpp"
#include "daemon/engine/engine.hpp"
#include "shared/completion_ring.hpp"
#include "shared/file_descriptor.hpp"
#include "shared/submission_ring.hpp"
#include "tests/unit/guarded_memory.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace overlap::testing {

/// A channel with a producer's hands on the other end, in memory between two inaccessible pages: the
/// engine cannot tell it from a real one, and a step over either end is a crash.
class ChannelHarness {
 public:
  struct Shape {
    std::uint32_t slot_count = 16;
    std::uint64_t input_bytes = 4096;
    std::uint64_t output_bytes = 4096;
    std::uint64_t pin_chunk_bytes = 16U << 20U;
    bool pinned = true;
    ChannelPriority priority = ChannelPriority::normal;
    std::uint32_t weight = kDefaultChannelWeight;
    std::uint64_t table_bytes = 0;
    std::vector<TableEntry> tables{};
    bool history_lost = false;
  };

  /// @param registry where the pipelines' kernels are found; null: `scripted_registry()`
  ChannelHarness(std::uint64_t id, const std::vector<std::string>& pipelines, const Shape& shape,
                 const KernelRegistry* registry = nullptr);

  /// The daemon's end; to be given to an engine once.
  [[nodiscard]] std::unique_ptr<Channel> make_channel();
  [[nodiscard]] ChannelId id() const noexcept { return id_; }
  [[nodiscard]] const ChannelView& view() const noexcept { return view_; }
  [[nodiscard]] const Pipeline& pipeline(std::uint8_t index = 0) const noexcept {
    return pipelines_[index];
  }
  [[nodiscard]] int doorbell() const noexcept { return doorbell_.get(); }
  [[nodiscard]] int wake() const noexcept { return wake_.get(); }

  /// Submits a job on a slot; fills nothing.
  void submit(std::uint64_t job_id, std::uint32_t slot, std::uint64_t input_bytes,
              std::uint16_t flags = 0);
  void submit(const SubmissionEntry& entry);
  void cancel(std::uint64_t job_id, std::uint32_t slot);
  /// Fills a slot's input with a pattern of its own and submits it.
  void submit_filled(std::uint64_t job_id, std::uint32_t slot, std::uint64_t input_bytes);
  /// Whether the slot's output is a copy of the pattern that `submit_filled` wrote.
  [[nodiscard]] bool output_is_copy(std::uint64_t job_id, std::uint32_t slot,
                                    std::uint64_t bytes) const;
  /// What was completed since the last call, collected.
  [[nodiscard]] std::vector<CompletionEntry> collect();
  /// Whether the slot is marked as being on the device.
  [[nodiscard]] bool is_marked_issued(std::uint32_t slot) const noexcept {
    return view_.issued(slot).load(std::memory_order_acquire) != 0;
  }

  SubmissionWriter& submissions() noexcept { return submissions_; }
  CompletionReader& completions() noexcept { return completions_; }

 private:
  ChannelId id_;
  std::vector<Pipeline> pipelines_;
  Shape shape_;
  ChannelGeometry geometry_;
  GuardedMemory memory_;
  ChannelView view_;
  FileDescriptor doorbell_;
  FileDescriptor wake_;
  SubmissionWriter submissions_;
  CompletionReader completions_;
};

/// The count of an eventfd, taken back to 0: whether it was rung.
[[nodiscard]] std::uint64_t take_rings(int eventfd) noexcept;

/// Notes what the engine reports.
class RecordingListener final : public EngineListener {
 public:
  void on_violation(ChannelId channel, const std::string& why) override {
    violations.emplace_back(channel, why);
  }
  void on_parked(ChannelId channel, int /*doorbell*/) override { parked.push_back(channel); }
  void on_unparked(ChannelId channel, int /*doorbell*/) override { unparked.push_back(channel); }
  void on_tables_copied(ChannelId channel) override { with_tables.push_back(channel); }
  void on_removed(ChannelId channel) override { removed.push_back(channel); }
  void on_drained() override { ++drained; }
  void on_device_lost(int code) override { lost_codes.push_back(code); }

  std::vector<std::pair<ChannelId, std::string>> violations;
  std::vector<ChannelId> parked;
  std::vector<ChannelId> unparked;
  std::vector<ChannelId> with_tables;
  std::vector<ChannelId> removed;
  int drained = 0;
  std::vector<int> lost_codes;
};

}  // namespace overlap::testing
