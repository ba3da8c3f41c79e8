// The daemon's own engine and lanes on a GPU.

#include "daemon/engine/engine.hpp"
#include "kernels/kernel_registry.hpp"
#include "shared/file_descriptor.hpp"
#include "tests/gpu/cuda_fixture.hpp"
#include "tests/gpu/pinned_producer.hpp"
#include "tests/gpu/working_engine.hpp"
#include "tests/unit/channel_harness.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
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

/// What a process of its own exits with once it has been through a test: nothing else does.
constexpr int kBeenThrough = 43;
constexpr const char* kExitVariable = "OVERLAP_TEST_EXITS_AFTER_EVERY_SHAPE";

TEST_F(EngineCuda, EveryShapeOfLaneGivesEveryByteBack) {
  struct Shape {
    std::uint64_t slot_bytes;
    std::uint64_t pin_chunk_bytes;
    std::optional<Path> path;
  };
  for (const LaneKind kind : {LaneKind::single, LaneKind::three}) {
    for (const Shape& shape : {
             // In the slots themselves.
             Shape{1, 3 * 4096, std::nullopt},
             Shape{257, 3 * 4096, std::nullopt},
             // Three slots to a pinned chunk: a copy ends there.
             Shape{4096, 3 * 4096, Path::copy},
             // Borders in the middle of slots: copies have to be cut there.
             Shape{1'000'001, 3 * 4096, Path::copy},
             // Slots that are not full, evenly apart: rows.
             Shape{100'001, 16U << 20U, Path::copy},
         }) {
      EngineSettings settings;
      settings.lane_kind = kind;
      settings.path.only = shape.path;
      PinnedProducer producer(device(), 1, "copy",
                              {.slot_count = 16,
                               .input_bytes = shape.slot_bytes,
                               .output_bytes = shape.slot_bytes,
                               .pin_chunk_bytes = shape.pin_chunk_bytes},
                              registry_);
      Engine sut(device(), settings, listener_);
      sut.add(producer->make_channel(), 0);
      for (std::uint32_t round = 0; round < 6; ++round) {
        SCOPED_TRACE(::testing::Message()
                     << "slot bytes " << shape.slot_bytes << ", round " << round);
        for (std::uint32_t slot = 0; slot < 16; ++slot) {
          // By turns of two sizes, of one, and of one in descending order.
          const std::uint32_t at = round % 3 == 2 ? 15 - slot : slot;
          const bool is_short = round % 3 == 0 && at % 2 == 1;
          producer->submit_filled(round * 16 + slot + 1, at,
                                  shape.slot_bytes - (is_short ? shape.slot_bytes / 3 : 0));
        }
        const std::vector<CompletionEntry> ended = run_until(sut, producer, 16);
        ASSERT_EQ(ended.size(), 16U);
        for (const CompletionEntry& entry : ended) {
          ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
          ASSERT_TRUE(producer->output_is_copy(entry.job_id, entry.slot, entry.output_bytes))
              << "job " << entry.job_id;
        }
      }
    }
  }
  EXPECT_TRUE(listener_.lost_codes.empty());
  if (std::getenv(kExitVariable) != nullptr && !HasFailure()) {
    ::_exit(kBeenThrough);
  }
}

/// This program again, for the test above alone. Spawned, as a process with a GPU and its threads is
/// not to be forked. @return 0 if it could not be started
pid_t another_process() {
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=EngineCuda.EveryShapeOfLaneGivesEveryByteBack";
  std::string brief = "--gtest_brief=1";
  std::string variable = std::string(kExitVariable) + "=1";
  std::array<char*, 4> arguments = {program.data(), filter.data(), brief.data(), nullptr};
  // Without what tells this process which part of the tests is its own.
  std::vector<char*> environment = {variable.data()};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("GTEST_")) {
      environment.push_back(*entry);
    }
  }
  environment.push_back(nullptr);
  pid_t process = 0;
  return ::posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments.data(),
                       environment.data()) == 0
             ? process
             : 0;
}

/// Waits for a process, and ends it if that takes too long. @return its status, as `waitpid` has it
int status_of(pid_t process, std::chrono::steady_clock::time_point give_up) {
  int status = 0;
  const FileDescriptor end(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd ended{end.get(), POLLIN, 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      give_up - std::chrono::steady_clock::now());
  if (::poll(&ended, 1, std::max(static_cast<int>(left.count()), 0)) != 1) {
    ::kill(process, SIGKILL);
  }
  return ::waitpid(process, &status, 0) == process ? status : -1;
}

TEST_F(EngineCuda, GivesEveryByteBackBesideOtherProcessesOnTheGpu) {
  // The GPU takes turns with its processes, in the middle of their copies.
  std::vector<pid_t> processes(10);
  std::ranges::generate(processes, another_process);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(4);
  for (const pid_t process : processes) {
    EXPECT_NE(process, 0);
    const int status = process == 0 ? 0 : status_of(process, give_up);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kBeenThrough) << "status " << status;
  }
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
