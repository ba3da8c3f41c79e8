// The daemon's own engine and lanes on a GPU.

#include "daemon/engine/engine.hpp"
#include "kernels/kernel_registry.hpp"
#include "tests/gpu/cuda_fixture.hpp"
#include "tests/gpu/pinned_producer.hpp"
#include "tests/gpu/working_engine.hpp"
#include "tests/unit/channel_harness.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace overlap::test {
namespace {

using overlap::testing::RecordingListener;

class EngineCuda : public CudaFixture {
 protected:
  EngineCuda() : registry_(KernelRegistry::with_builtin_kernels()) {}

  /// Works until `count` jobs of the producer have ended. @return none of them if they do not
  std::vector<CompletionEntry> run_until(Engine& engine, PinnedProducer& producer,
                                         std::size_t count) {
    std::vector<CompletionEntry> ended;
    const bool in_time = WorkingEngine(engine, device(), listener_).until([&] {
      for (const CompletionEntry& entry : producer->collect()) {
        ended.push_back(entry);
      }
      return ended.size() >= count;
    });
    return in_time ? ended : std::vector<CompletionEntry>{};
  }

  KernelRegistry registry_;
  RecordingListener listener_;
};

TEST_F(EngineCuda, EveryShapeOfLaneGivesEveryByteBack) {
  for (const LaneKind kind : {LaneKind::single, LaneKind::three}) {
    for (const std::uint64_t slot_bytes :
         {std::uint64_t{1}, std::uint64_t{257}, std::uint64_t{4096}, std::uint64_t{1000001}}) {
      EngineSettings settings;
      settings.lane_kind = kind;
      PinnedProducer producer(device(), 1, "copy",
                              {.slot_count = 16,
                               .input_bytes = slot_bytes,
                               .output_bytes = slot_bytes,
                               // A border in the middle of slots: copies have to be cut there.
                               .pin_chunk_bytes = 3 * 4096},
                              registry_);
      Engine sut(device(), settings, listener_);
      sut.add(producer->make_channel(), 0);
      for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::uint32_t slot = 0; slot < 16; ++slot) {
          producer->submit_filled(round * 16 + slot + 1, slot,
                                  slot_bytes - (slot % 2) * (slot_bytes / 3));
        }
        const std::vector<CompletionEntry> ended = run_until(sut, producer, 16);
        ASSERT_EQ(ended.size(), 16U) << "slot bytes " << slot_bytes << ", round " << round;
        for (const CompletionEntry& entry : ended) {
          ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
          ASSERT_TRUE(producer->output_is_copy(entry.job_id, entry.slot, entry.output_bytes))
              << "slot bytes " << slot_bytes << ", job " << entry.job_id;
        }
      }
    }
  }
  EXPECT_TRUE(listener_.lost_codes.empty());
}

TEST_F(EngineCuda, APipelineOfSeveralKernelsEqualsItsReference) {
  const std::string text = "scale:a=3,b=-1,type=i32|transpose:rows=37,cols=19|scale:a=0.5,type=i32";
  constexpr std::uint64_t kFrameBytes = 37 * 19 * 4;
  PinnedProducer producer(
      device(), 1, text,
      {.slot_count = 8, .input_bytes = 3 * kFrameBytes, .output_bytes = 3 * kFrameBytes},
      registry_);
  Engine sut(device(), {}, listener_);
  sut.add(producer->make_channel(), 0);
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    producer->submit_filled(slot + 1, slot, (slot % 3 + 1) * kFrameBytes);
  }
  for (const CompletionEntry& entry : run_until(sut, producer, 8)) {
    ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
    const std::vector<std::byte> expected = producer->pipeline().reference(
        producer->view().input(entry.slot).first((entry.slot % 3 + 1) * kFrameBytes));
    ASSERT_EQ(entry.output_bytes, expected.size());
    EXPECT_TRUE(
        std::ranges::equal(producer->view().output(entry.slot).first(expected.size()), expected))
        << "slot " << entry.slot;
  }
}

TEST_F(EngineCuda, JobsOfOneChannelFinishWhileAnothersKernelIsCertainlyRunning) {
  PinnedSpinWord word(device());
  registry_.add(std::make_unique<SpinKernel>(word.get()));
  PinnedProducer busy(device(), 1, "spin_until_released", {.slot_count = 2}, registry_);
  PinnedProducer other(device(), 2, "copy",
                       {.slot_count = 8, .input_bytes = 1U << 20U, .output_bytes = 1U << 20U},
                       registry_);
  Engine sut(device(), {}, listener_);
  sut.add(busy->make_channel(), 0);
  sut.add(other->make_channel(), 0);
  // Loads the kernel and makes the buffers grow while nothing spins.
  other->submit_filled(1, 0, 1U << 20U);
  ASSERT_EQ(run_until(sut, other, 1).size(), 1U);

  busy->submit_filled(1, 0, 4096);
  ASSERT_TRUE(
      WorkingEngine(sut, device(), listener_).until([&] { return busy->is_marked_issued(0); }));
  ASSERT_TRUE(word.is_spun_on());
  // One at a time, so that each finds a lane whose queue is empty.
  for (std::uint32_t job = 2; job < 10; ++job) {
    const std::uint32_t slot = job % 8;
    other->submit_filled(job, slot, 1U << 20U);
    const auto ended = run_until(sut, other, 1);
    ASSERT_EQ(ended.size(), 1U) << "job " << job;
    EXPECT_TRUE(other->output_is_copy(job, slot, 1U << 20U)) << "job " << job;
  }
  EXPECT_TRUE(busy->collect().empty());

  word.release();
  const auto ended = run_until(sut, busy, 1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(ended[0].status), JobStatus::ok);
  EXPECT_TRUE(busy->output_is_copy(1, 0, 4096));
}

TEST_F(EngineCuda, ALaunchThatFailsEndsItsOwnJobAlone) {
  PinnedSpinWord word(device());
  word.release();
  registry_.add(std::make_unique<SpinKernel>(word.get(), 2048));
  PinnedProducer wrong(device(), 1, "spin_until_released", {.slot_count = 2}, registry_);
  PinnedProducer right(device(), 2, "copy", {.slot_count = 2}, registry_);
  Engine sut(device(), {}, listener_);
  sut.add(wrong->make_channel(), 0);
  sut.add(right->make_channel(), 0);
  wrong->submit_filled(1, 0, 4096);
  right->submit_filled(1, 0, 4096);
  const auto failed = run_until(sut, wrong, 1);
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(failed[0].status), JobStatus::kernel_failed);
  EXPECT_NE(failed[0].detail_code, 0U);
  right->submit_filled(2, 1, 4096);
  for (const CompletionEntry& entry : run_until(sut, right, 1)) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
    EXPECT_TRUE(right->output_is_copy(entry.job_id, entry.slot, 4096));
  }
  EXPECT_TRUE(listener_.lost_codes.empty());
}

}  // namespace
}  // namespace overlap::test
