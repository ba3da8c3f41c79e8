#include "daemon/engine/channel.hpp"

#include "tests/unit/channel_harness.hpp"

#include <gtest/gtest.h>

#include <semaphore.h>
#include <cstring>
#include <functional>

namespace overlap {
namespace {

using testing::ChannelHarness;

constexpr std::uint32_t kSlots = 16;
constexpr std::uint32_t kCapacity = 32;
constexpr std::uint64_t kInputBytes = 4096;

/// A producer with 16 slots of 4 KiB each way, and the object under test.
class ChannelTest : public ::testing::Test {
 protected:
  /// Takes, starts and finishes whatever there is, at one moment.
  void serve(std::uint64_t now_ns = 0) {
    sut->take(kCapacity, now_ns);
    while (sut->next(now_ns) != nullptr) {
      Job& job = sut->start(now_ns);
      sut->finish(job, {.output_bytes = job.input_bytes}, now_ns);
    }
    sut->publish();
  }

  /// Submits one entry and says how it ended.
  JobStatus status_of(const SubmissionEntry& entry, std::uint64_t now_ns = 0) {
    producer.submit(entry);
    serve(now_ns);
    EXPECT_FALSE(sut->violation()) << *sut->violation();
    const auto completed = producer.collect();
    EXPECT_EQ(completed.size(), 1U);
    last = completed.empty() ? CompletionEntry{} : completed[0];
    EXPECT_EQ(last.job_id, entry.job_id);
    EXPECT_EQ(last.slot, entry.slot);
    return static_cast<JobStatus>(last.status);
  }

  void expect_violation(const std::string& words) {
    ASSERT_TRUE(sut->violation().has_value());
    EXPECT_NE(sut->violation()->find(words), std::string::npos) << *sut->violation();
  }

  ChannelHarness producer{7, {"copy", "scale:type=f32", "twice"}, {.slot_count = kSlots}};
  std::unique_ptr<Channel> sut = producer.make_channel();
  CompletionEntry last{};
};

SubmissionEntry job_on(std::uint32_t slot, std::uint64_t input_bytes = 64) {
  SubmissionEntry entry{};
  entry.job_id = 1000 + slot;
  entry.slot = slot;
  entry.input_bytes = input_bytes;
  return entry;
}

TEST_F(ChannelTest, StartsWithNothingToDo) {
  EXPECT_EQ(sut->id(), ChannelId{7});
  EXPECT_EQ(sut->take(kCapacity, 0), 0U);
  EXPECT_EQ(sut->next(0), nullptr);
  EXPECT_FALSE(sut->publish());
  EXPECT_FALSE(sut->has_submissions());
  EXPECT_FALSE(sut->violation());
  EXPECT_EQ(sut->queued_count() + sut->issued_count() + sut->uncollected_count(), 0U);
}

TEST_F(ChannelTest, AJobGoesItsWayAndEveryStepHasItsTime) {
  SubmissionEntry entry = job_on(3, 100);
  entry.ready_ns = 5;
  producer.submit(entry);
  EXPECT_TRUE(sut->has_submissions());
  EXPECT_EQ(sut->take(kCapacity, 10), 1U);
  EXPECT_EQ(sut->queued_count(), 1U);
  const Job* const next = sut->next(20);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->plan->plan.max_output_bytes, 100U);
  Job& job = sut->start(20);
  EXPECT_EQ(sut->queued_count(), 0U);
  EXPECT_EQ(sut->issued_count(), 1U);
  sut->finish(job, {.output_bytes = 100}, 30);
  EXPECT_EQ(sut->issued_count(), 0U);
  EXPECT_EQ(sut->uncollected_count(), 1U);
  EXPECT_TRUE(producer.collect().empty()) << "shown before it was published";
  EXPECT_TRUE(sut->publish());
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(completed[0].job_id, 1003U);
  EXPECT_EQ(completed[0].slot, 3U);
  EXPECT_EQ(completed[0].status, 0U);
  EXPECT_EQ(completed[0].flags, 0U);
  EXPECT_EQ(completed[0].output_bytes, 100U);
  EXPECT_EQ(completed[0].ready_ns, 5U);
  EXPECT_EQ(completed[0].taken_ns, 10U);
  EXPECT_EQ(completed[0].issued_ns, 20U);
  EXPECT_EQ(completed[0].done_ns, 30U);
  EXPECT_FALSE(sut->publish());
}

TEST_F(ChannelTest, AReadyTimeInTheFutureIsClamped) {
  SubmissionEntry entry = job_on(0);
  entry.ready_ns = UINT64_MAX;
  EXPECT_EQ(status_of(entry, 50), JobStatus::ok);
  EXPECT_EQ(last.ready_ns, 50U);
}

TEST_F(ChannelTest, TakesNoMoreThanItIsToldAndInOrder) {
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    producer.submit(job_on(slot));
  }
  EXPECT_EQ(sut->take(0, 0), 0U);
  EXPECT_EQ(sut->take(2, 0), 2U);
  EXPECT_EQ(sut->queued_count(), 2U);
  EXPECT_EQ(sut->take(kCapacity, 0), 3U);
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    ASSERT_NE(sut->next(0), nullptr);
    EXPECT_EQ(sut->start(0).slot, slot);
  }
}

TEST_F(ChannelTest, AnEmptyJobEndsAtOnceWithNothing) {
  EXPECT_EQ(status_of(job_on(0, 0)), JobStatus::ok);
  EXPECT_EQ(last.output_bytes, 0U);
  EXPECT_EQ(last.issued_ns, 0U);
  SubmissionEntry scaled = job_on(0, 0);
  scaled.pipeline_index = 1;
  EXPECT_EQ(status_of(scaled), JobStatus::ok);
}

// --- refused jobs: the producer's own affair, the channel goes on

TEST_F(ChannelTest, RefusesAnOpcodeThatItDoesNotKnow) {
  for (const int opcode : {1, 2, 4, 255}) {
    SubmissionEntry entry = job_on(0);
    entry.opcode = static_cast<std::uint8_t>(opcode);
    EXPECT_EQ(status_of(entry), JobStatus::request_refused) << opcode;
  }
}

TEST_F(ChannelTest, RefusesAFlagThatItDoesNotKnow) {
  for (const std::uint16_t flags : {std::uint16_t{2}, std::uint16_t{3}, std::uint16_t{0x8000}}) {
    SubmissionEntry entry = job_on(0);
    entry.flags = flags;
    EXPECT_EQ(status_of(entry), JobStatus::request_refused) << flags;
  }
  SubmissionEntry isolated = job_on(0);
  isolated.flags = kSubmissionIsolate;
  EXPECT_EQ(status_of(isolated), JobStatus::ok);
}

TEST_F(ChannelTest, RefusesAPipelineThatTheChannelDoesNotHave) {
  for (const int index : {3, 255}) {
    SubmissionEntry entry = job_on(0, 0);
    entry.pipeline_index = static_cast<std::uint8_t>(index);
    EXPECT_EQ(status_of(entry), JobStatus::request_refused) << index;
  }
}

TEST_F(ChannelTest, RefusesAnInputThatDoesNotFitThePipeline) {
  SubmissionEntry entry = job_on(0, 63);
  entry.pipeline_index = 1;
  EXPECT_EQ(status_of(entry), JobStatus::input_size_refused);
  EXPECT_EQ(last.detail_value, 1U);
  entry.input_bytes = 64;
  EXPECT_EQ(status_of(entry), JobStatus::ok);
}

TEST_F(ChannelTest, RefusesAnOutputBeyondTheSlotAndSaysHowMuchItNeeds) {
  SubmissionEntry entry = job_on(0, 2049);
  entry.pipeline_index = 2;
  EXPECT_EQ(status_of(entry), JobStatus::output_too_small);
  EXPECT_EQ(last.detail_value, 5U) << "KiB of 4098 bytes";
  entry.input_bytes = 2048;
  EXPECT_EQ(status_of(entry), JobStatus::ok);
}

TEST_F(ChannelTest, RefusesAJobWhoseDeadlineHasPassedWhenItIsTaken) {
  SubmissionEntry entry = job_on(0);
  entry.deadline_ns = 100;
  EXPECT_EQ(status_of(entry, 100), JobStatus::deadline_passed);
  EXPECT_EQ(last.taken_ns, 100U);
  EXPECT_EQ(last.issued_ns, 0U);
  entry.deadline_ns = 101;
  EXPECT_EQ(status_of(entry, 100), JobStatus::ok);
}

TEST_F(ChannelTest, ADeadlineThatPassesInTheQueueEndsTheJob) {
  SubmissionEntry entry = job_on(0);
  entry.deadline_ns = 100;
  producer.submit(entry);
  producer.submit(job_on(1));
  sut->take(kCapacity, 50);
  ASSERT_NE(sut->next(99), nullptr);
  EXPECT_EQ(sut->next(99)->slot, 0U);
  ASSERT_NE(sut->next(100), nullptr);
  EXPECT_EQ(sut->next(100)->slot, 1U);
  sut->publish();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::deadline_passed);
}

TEST_F(ChannelTest, AnIssuedJobFinishesAndIsMarkedLate) {
  for (const std::uint64_t done_ns : {99U, 100U, 101U}) {
    SubmissionEntry entry = job_on(0);
    entry.deadline_ns = 100;
    producer.submit(entry);
    sut->take(kCapacity, 50);
    ASSERT_NE(sut->next(50), nullptr);
    sut->finish(sut->start(50), {.output_bytes = 64}, done_ns);
    sut->publish();
    const auto completed = producer.collect();
    ASSERT_EQ(completed.size(), 1U);
    EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::ok);
    EXPECT_EQ(completed[0].flags, done_ns < 100 ? 0U : kCompletionLate);
  }
}

TEST_F(ChannelTest, AcceptsExactlyTheSizesThatFitTheArea) {
  constexpr std::uint64_t kOne = 1;
  const std::vector<std::uint64_t> sizes = {0,
                                            1,
                                            kPageBytes - 1,
                                            kPageBytes,
                                            kPageBytes + 1,
                                            (kOne << 31U) - 1,
                                            kOne << 31U,
                                            (kOne << 32U) - 1,
                                            kOne << 32U,
                                            (kOne << 63U) - 1,
                                            kOne << 63U,
                                            UINT64_MAX - 31,
                                            UINT64_MAX};
  const std::vector<std::uint32_t> slots = {0,          1,         kSlots - 1, kSlots,
                                            kSlots + 1, kCapacity, 1U << 31U,  UINT32_MAX};
  for (const std::uint32_t slot : slots) {
    for (const std::uint64_t bytes : sizes) {
      SCOPED_TRACE(::testing::Message() << "slot " << slot << ", " << bytes << " bytes");
      if (slot >= kSlots) {
        ChannelHarness stranger(1, {"copy"}, {.slot_count = kSlots});
        const auto channel = stranger.make_channel();
        stranger.submit(job_on(slot, bytes));
        channel->take(kCapacity, 0);
        ASSERT_TRUE(channel->violation().has_value());
        ASSERT_EQ(channel->queued_count(), 0U);
        continue;
      }
      const bool fits = bytes <= kInputBytes;
      ASSERT_EQ(status_of(job_on(slot, bytes)),
                fits ? JobStatus::ok : JobStatus::input_size_refused);
      if (!fits) {
        const std::uint64_t kib = bytes / 1024 + (bytes % 1024 != 0 ? 1 : 0);
        ASSERT_EQ(last.detail_value, std::min<std::uint64_t>(kib, UINT32_MAX));
      }
    }
  }
}

// --- violations: the channel is closed with a reason

TEST_F(ChannelTest, AFullRingIsNoViolationAndOneMoreIs) {
  for (std::uint32_t i = 0; i < kCapacity; ++i) {
    producer.cancel(i, 0);
  }
  EXPECT_EQ(sut->take(1, 0), 1U);
  EXPECT_FALSE(sut->violation());
  // 31 are left; 33 are claimed.
  producer.view().producer_words().submission_tail = kCapacity + 2;
  EXPECT_EQ(sut->take(kCapacity, 0), 0U);
  expect_violation("the submission ring's tail is 33 entries ahead of a ring of 32");
}

TEST_F(ChannelTest, ATailThatMovesBackIsAViolation) {
  producer.submit(job_on(0));
  serve();
  producer.view().producer_words().submission_tail = 0;
  EXPECT_EQ(sut->take(kCapacity, 0), 0U);
  expect_violation("4294967295 entries ahead");
}

TEST_F(ChannelTest, ASlotThatIsNotThereIsAViolationForACancelToo) {
  producer.cancel(1, kSlots);
  EXPECT_EQ(sut->take(kCapacity, 0), 1U);
  expect_violation("a submission names slot 16 of 16");
}

TEST_F(ChannelTest, ASlotThatIsUnderWayIsAViolation) {
  // However far it got: queued, issued, or completed and not collected.
  for (int steps = 0; steps < 4; ++steps) {
    ChannelHarness offender(1, {"copy"}, {.slot_count = kSlots});
    const auto channel = offender.make_channel();
    offender.submit(job_on(5));
    channel->take(kCapacity, 0);
    if (steps >= 1) {
      ASSERT_NE(channel->next(0), nullptr);
      Job& job = channel->start(0);
      if (steps >= 2) {
        channel->finish(job, {}, 0);
      }
      if (steps >= 3) {
        channel->publish();
      }
    }
    offender.submit(job_on(5));
    channel->take(kCapacity, 0);
    ASSERT_TRUE(channel->violation().has_value()) << steps;
    EXPECT_EQ(*channel->violation(),
              "a submission names slot 5, which is in flight or has a completion that was not "
              "collected");
  }
}

TEST_F(ChannelTest, ARefusedJobsCompletionHasToBeCollectedToo) {
  producer.submit(job_on(5, UINT64_MAX));
  producer.submit(job_on(5));
  sut->take(kCapacity, 0);
  expect_violation("slot 5");
}

TEST_F(ChannelTest, ACollectedCompletionFreesTheSlot) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(status_of(job_on(5)), JobStatus::ok);
  }
}

TEST_F(ChannelTest, ACompletionHeadThatMovesBackIsAViolation) {
  EXPECT_EQ(status_of(job_on(0)), JobStatus::ok);
  EXPECT_EQ(status_of(job_on(1)), JobStatus::ok);
  producer.submit(job_on(2));
  sut->take(kCapacity, 0);
  ASSERT_FALSE(sut->violation());
  producer.view().producer_words().completion_head = 1;
  producer.submit(job_on(3));
  sut->take(kCapacity, 0);
  expect_violation("the completion ring's head");
}

TEST_F(ChannelTest, ACompletionHeadBeyondTheTailIsAViolation) {
  for (const std::uint32_t beyond : {1U, kCapacity, 1U << 31U, UINT32_MAX}) {
    ChannelHarness offender(1, {"copy"}, {.slot_count = kSlots});
    const auto channel = offender.make_channel();
    offender.view().producer_words().completion_head = beyond;
    offender.submit(job_on(0));
    EXPECT_EQ(channel->take(kCapacity, 0), 0U);
    ASSERT_TRUE(channel->violation().has_value()) << beyond;
    EXPECT_NE(channel->violation()->find("the completion ring's head"), std::string::npos);
  }
}

TEST_F(ChannelTest, AHeadWithinTheTailButAheadOfTheLastOneIsFine) {
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    producer.submit(job_on(slot));
  }
  serve();
  producer.view().producer_words().completion_head = 3;
  producer.submit(job_on(4));
  sut->take(kCapacity, 0);
  EXPECT_FALSE(sut->violation());
  EXPECT_EQ(sut->uncollected_count(), 1U);
  // The first three slots are free, the fourth is not.
  producer.submit(job_on(2));
  sut->take(kCapacity, 0);
  EXPECT_FALSE(sut->violation());
  producer.submit(job_on(3));
  sut->take(kCapacity, 0);
  EXPECT_TRUE(sut->violation());
}

TEST_F(ChannelTest, NothingIsReadAfterAViolationAndWhatWasTakenGoesOn) {
  producer.submit(job_on(0));
  producer.submit(job_on(kSlots));
  producer.submit(job_on(1));
  EXPECT_EQ(sut->take(kCapacity, 0), 2U);
  ASSERT_TRUE(sut->violation());
  EXPECT_EQ(sut->take(kCapacity, 0), 0U);
  EXPECT_EQ(sut->queued_count(), 1U);
  ASSERT_NE(sut->next(0), nullptr);
  sut->finish(sut->start(0), {}, 0);
  EXPECT_TRUE(sut->publish());
  EXPECT_EQ(producer.collect().size(), 1U);
}

TEST_F(ChannelTest, BelievesNothingThatLiesInTheMemory) {
  // Every word of the control region in turn, after the attach: the private copies count.
  const std::uint64_t end = kSubmissionsOffsetBytes;
  for (std::uint64_t offset = 0; offset < end; offset += 4) {
    const std::uint64_t semaphore = kSemaphoreOffsetBytes;
    if (offset >= semaphore && offset < semaphore + sizeof(SemaphoreStorage)) {
      continue;
    }
    ChannelHarness liar(1, {"copy"}, {.slot_count = 4});
    const auto channel = liar.make_channel();
    liar.submit(job_on(3));
    std::memset(reinterpret_cast<std::byte*>(&liar.view().header()) + offset, 0xff, 4);
    channel->take(kCapacity, 0);
    const bool words_of_rings =
        offset == kProducerWordsOffsetBytes + offsetof(ProducerWords, submission_tail) ||
        offset == kProducerWordsOffsetBytes + offsetof(ProducerWords, completion_head);
    ASSERT_EQ(channel->violation().has_value(), words_of_rings) << offset;
    if (!words_of_rings) {
      ASSERT_NE(channel->next(0), nullptr);
      channel->finish(channel->start(0), {.output_bytes = 64}, 0);
      ASSERT_TRUE(channel->publish());
      ASSERT_EQ(liar.view().completions()[0].job_id, 1003U) << offset;
    }
  }
}

// --- cancel

TEST_F(ChannelTest, ACancelEndsAJobThatIsStillQueued) {
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    producer.submit(job_on(slot));
  }
  producer.cancel(1001, 1);
  sut->take(kCapacity, 0);
  std::vector<std::uint32_t> issued;
  while (sut->next(0) != nullptr) {
    Job& job = sut->start(0);
    issued.push_back(job.slot);
    sut->finish(job, {}, 0);
  }
  sut->publish();
  EXPECT_EQ(issued, (std::vector<std::uint32_t>{0, 2}));
  for (const CompletionEntry& entry : producer.collect()) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status),
              entry.slot == 1 ? JobStatus::cancelled : JobStatus::ok);
  }
}

TEST_F(ChannelTest, ACancelledJobIsAnsweredOnceHoweverOftenItIsCancelled) {
  producer.submit(job_on(0));
  producer.cancel(1000, 0);
  producer.cancel(1000, 0);
  serve();
  producer.cancel(1000, 0);
  serve();
  EXPECT_EQ(producer.collect().size(), 1U);
  // And the slot's next job is not cancelled by what was meant for the last one.
  EXPECT_EQ(status_of(job_on(0)), JobStatus::ok);
}

TEST_F(ChannelTest, ACancelOfAnotherJobIsIgnored) {
  producer.submit(job_on(0));
  producer.cancel(999, 0);
  producer.cancel(1000, 1);
  serve();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::ok);
  EXPECT_FALSE(sut->violation());
}

TEST_F(ChannelTest, ACancelOfAnIssuedJobComesTooLate) {
  producer.submit(job_on(0));
  sut->take(kCapacity, 0);
  ASSERT_NE(sut->next(0), nullptr);
  Job& job = sut->start(0);
  producer.cancel(1000, 0);
  sut->take(kCapacity, 0);
  sut->finish(job, {.output_bytes = 64}, 0);
  sut->publish();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::ok);
}

TEST_F(ChannelTest, AJobThatCameBackCanBeCancelled) {
  producer.submit(job_on(0));
  sut->take(kCapacity, 0);
  ASSERT_NE(sut->next(0), nullptr);
  sut->requeue(sut->start(0));
  producer.cancel(1000, 0);
  serve();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::cancelled);
}

// --- on a lane and back

TEST_F(ChannelTest, ASlotIsMarkedExactlyWhileItsJobIsIssued) {
  producer.submit(job_on(2));
  sut->take(kCapacity, 0);
  ASSERT_NE(sut->next(0), nullptr);
  EXPECT_FALSE(producer.is_marked_issued(2));
  Job& job = sut->start(0);
  EXPECT_TRUE(producer.is_marked_issued(2));
  EXPECT_FALSE(producer.is_marked_issued(1));
  sut->requeue(job);
  EXPECT_FALSE(producer.is_marked_issued(2));
  ASSERT_NE(sut->next(0), nullptr);
  EXPECT_EQ(&sut->start(0), &job);
  EXPECT_TRUE(producer.is_marked_issued(2));
  sut->finish(job, {}, 0);
  EXPECT_FALSE(producer.is_marked_issued(2));
}

TEST_F(ChannelTest, AJobThatComesBackIsTheNextOne) {
  producer.submit(job_on(0));
  producer.submit(job_on(1));
  sut->take(kCapacity, 0);
  ASSERT_NE(sut->next(0), nullptr);
  Job& first = sut->start(0);
  first.retried = true;
  sut->requeue(first);
  ASSERT_NE(sut->next(0), nullptr);
  EXPECT_EQ(sut->next(0)->slot, 0U);
  EXPECT_TRUE(sut->next(0)->retried);
  EXPECT_EQ(sut->queued_count(), 2U);
  EXPECT_EQ(sut->issued_count(), 0U);
}

TEST_F(ChannelTest, CountsJobsAndBytesOnce) {
  producer.submit(job_on(0, 100));
  producer.submit(job_on(1, 28));
  producer.submit(job_on(2, UINT64_MAX));
  serve();
  const ChannelCounters counted = sut->drain_counters();
  EXPECT_EQ(counted.jobs_done, 2U);
  EXPECT_EQ(counted.jobs_failed, 1U);
  EXPECT_EQ(counted.input_bytes, 128U);
  EXPECT_EQ(counted.output_bytes, 128U);
  EXPECT_EQ(sut->drain_counters().jobs_done, 0U);
}

TEST_F(ChannelTest, AFailedJobCarriesTheDevicesNumber) {
  producer.submit(job_on(0));
  sut->take(kCapacity, 0);
  ASSERT_NE(sut->next(0), nullptr);
  sut->finish(sut->start(0), {.status = JobStatus::kernel_failed, .detail_code = 719}, 0);
  sut->publish();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::kernel_failed);
  EXPECT_EQ(completed[0].detail_code, 719U);
  EXPECT_EQ(completed[0].output_bytes, 0U);
  EXPECT_EQ(sut->drain_counters().jobs_failed, 1U);
}

TEST_F(ChannelTest, RunsManyTimesAroundBothRings) {
  std::uint64_t answered = 0;
  for (std::uint64_t round = 0; round < 50; ++round) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      SubmissionEntry entry = job_on(slot);
      entry.job_id = round * kSlots + slot;
      producer.submit(entry);
    }
    serve();
    ASSERT_FALSE(sut->violation()) << *sut->violation();
    for (const CompletionEntry& entry : producer.collect()) {
      ASSERT_EQ(entry.job_id, answered);
      ++answered;
    }
  }
  EXPECT_EQ(answered, 50U * kSlots);
}

TEST_F(ChannelTest, AClosedChannelDropsWhatWaitsAndLetsNothingComeBack) {
  producer.submit(job_on(0));
  producer.submit(job_on(1));
  sut->take(kCapacity, 0);
  ASSERT_NE(sut->next(0), nullptr);
  Job& issued = sut->start(0);
  sut->close();
  EXPECT_EQ(sut->queued_count(), 0U);
  EXPECT_EQ(sut->next(0), nullptr);
  producer.submit(job_on(2));
  EXPECT_EQ(sut->take(kCapacity, 0), 0U);
  EXPECT_EQ(sut->issued_count(), 1U);
  sut->requeue(issued);
  EXPECT_EQ(sut->issued_count(), 0U);
  EXPECT_EQ(sut->next(0), nullptr);
  EXPECT_FALSE(sut->publish());
}

// --- waking

TEST_F(ChannelTest, WakesTheProducerOnlyWhereItWaits) {
  struct Case {
    std::uint32_t waiting;
    bool semaphore;
    bool eventfd;
  };
  for (const Case wanted : {Case{0, false, false}, Case{1, true, false}, Case{2, false, true},
                            Case{3, false, false}, Case{UINT32_MAX, false, false}}) {
    SCOPED_TRACE(wanted.waiting);
    producer.view().producer_words().waiting = wanted.waiting;
    EXPECT_EQ(status_of(job_on(0)), JobStatus::ok);
    EXPECT_EQ(producer.view().semaphore().try_wait(), wanted.semaphore);
    EXPECT_EQ(testing::take_rings(producer.wake()), wanted.eventfd ? 1U : 0U);
    EXPECT_EQ(sut->drain_counters().wakes, wanted.semaphore || wanted.eventfd ? 1U : 0U);
  }
}

TEST_F(ChannelTest, ManyCompletionsAreOneWake) {
  EXPECT_FALSE(producer.completions().start_waiting(WaitKind::semaphore));
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    producer.submit(job_on(slot));
  }
  serve();
  EXPECT_TRUE(producer.view().semaphore().try_wait());
  EXPECT_FALSE(producer.view().semaphore().try_wait());
  EXPECT_EQ(sut->drain_counters().wakes, 1U);
}

TEST_F(ChannelTest, ASemaphoreAtItsLimitIsNoError) {
  auto* const semaphore = reinterpret_cast<sem_t*>(&producer.view().semaphore());
  ASSERT_EQ(sem_init(semaphore, 1, SEM_VALUE_MAX), 0);
  EXPECT_THROW(producer.view().semaphore().post(), boost::interprocess::interprocess_exception);
  EXPECT_FALSE(producer.completions().start_waiting(WaitKind::semaphore));
  producer.submit(job_on(0));
  EXPECT_NO_THROW(serve());
  EXPECT_EQ(producer.collect().size(), 1U);
  EXPECT_EQ(sut->drain_counters().wakes, 1U);
}

TEST_F(ChannelTest, AsleepItWantsToBeRung) {
  sut->stay_awake();
  producer.submit(job_on(0));
  serve();
  EXPECT_EQ(producer.view().daemon_words().asleep.load(), 0U);
  EXPECT_FALSE(sut->fall_asleep());
  EXPECT_TRUE(producer.submissions().publish()) << "the doorbell has to be rung";
  sut->stay_awake();
  EXPECT_FALSE(producer.submissions().publish());
  producer.submit(job_on(1));
  EXPECT_TRUE(sut->fall_asleep()) << "there is something to take after all";
}

}  // namespace
}  // namespace overlap
