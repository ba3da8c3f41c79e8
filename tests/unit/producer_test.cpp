#include "producer/producer.hpp"

#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

struct ProducerTest : ::testing::Test {
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_F(ProducerTest, GivesBackTheAnswerToEveryByteOfOneJob) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  const JobId id = submit_filled(sut, 7);
  const Result result = sut.wait(id);
  EXPECT_EQ(result.job_id(), id);
  EXPECT_EQ(result.tag(), 7U);
  EXPECT_EQ(result.status_text(), "done");
  EXPECT_TRUE(answers_its_tag(result));
  EXPECT_LE(result.ready_ns(), result.taken_ns());
  EXPECT_LE(result.done_ns(), result.collected_ns());
}

TEST_F(ProducerTest, KnowsItsChannel) {
  FakeDaemon daemon(socket, {{.output_bytes = 128}});
  const Producer sut(small_channel(socket, 3));
  EXPECT_EQ(sut.backend(), "fake");
  EXPECT_EQ(sut.slot_count(), 3U);
  EXPECT_EQ(sut.input_bytes(), kPayloadBytes);
  EXPECT_EQ(sut.output_bytes(), 128U);
  EXPECT_EQ(sut.limits().max_slot_count, 1024U);
}

TEST_F(ProducerTest, SubmitsWhatTheCallerSaid) {
  FakeDaemon daemon(socket);
  ProducerOptions options = small_channel(socket);
  options.pipelines = {"copy", "scale"};
  Producer sut(options);
  Slot slot = sut.acquire();
  const std::uint32_t index = slot.index();
  const JobId id = sut.submit(std::move(slot), 1,
                              {.input_bytes = 100, .pipeline_index = 1, .deadline_ns = 12345});
  const Result result = sut.wait(id);
  const SubmissionEntry entry = daemon.taken().at(0);
  EXPECT_EQ(entry.job_id, job_number(id));
  EXPECT_EQ(entry.slot, index);
  EXPECT_EQ(entry.input_bytes, 100U);
  EXPECT_EQ(entry.pipeline_index, 1U);
  EXPECT_EQ(entry.deadline_ns, 12345U);
  EXPECT_EQ(entry.flags, 0U);
  EXPECT_NE(entry.ready_ns, 0U);
  EXPECT_EQ(result.output_bytes(), 100U);
  EXPECT_EQ(result.input().size(), 100U);
}

TEST_F(ProducerTest, TakesAnEmptyJob) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  const JobId id = sut.submit(sut.acquire(), 0, {.input_bytes = 0});
  const Result result = sut.wait(id);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output_bytes(), 0U);
}

TEST_F(ProducerTest, RunsManyMoreJobsThanSlotsAndRingEntries) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket, 3));
  for (std::uint64_t tag = 0; tag < 200; ++tag) {
    const Result result = sut.wait(submit_filled(sut, tag));
    ASSERT_TRUE(answers_its_tag(result)) << tag;
    ASSERT_EQ(job_number(result.job_id()), tag + 1);
  }
}

TEST_F(ProducerTest, GivesResultsInTheOrderOfCompletion) {
  FakeDaemon daemon(socket, {{.reversed_group = 3}});
  Producer sut(small_channel(socket));
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    submit_filled(sut, tag);
  }
  EXPECT_EQ(sut.wait_any().tag(), 3U);
  EXPECT_EQ(sut.wait_any().tag(), 2U);
  EXPECT_EQ(sut.wait_any().tag(), 1U);
}

TEST_F(ProducerTest, GivesResultsInTheOrderOfSubmission) {
  FakeDaemon daemon(socket, {{.reversed_group = 3}});
  Producer sut(small_channel(socket));
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    submit_filled(sut, tag);
  }
  for (std::uint64_t tag = 1; tag <= 3; ++tag) {
    const Result result = sut.wait_next();
    EXPECT_EQ(result.tag(), tag);
    EXPECT_TRUE(answers_its_tag(result));
  }
}

TEST_F(ProducerTest, WaitsForOneJobOutOfOrder) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  const JobId first = submit_filled(sut, 1);
  const JobId second = submit_filled(sut, 2);
  EXPECT_EQ(sut.wait(second).tag(), 2U);
  EXPECT_EQ(sut.wait(first).tag(), 1U);
}

TEST_F(ProducerTest, RefusesToWaitForAJobThatIsNotThere) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  const JobId id = submit_filled(sut, 1);
  sut.wait(id).release();
  EXPECT_THROW(static_cast<void>(sut.wait(id)), UnknownJob);
  EXPECT_THROW(static_cast<void>(sut.wait_for(JobId{99}, 1s)), UnknownJob);
}

TEST_F(ProducerTest, PublishesManySubmissionsAtOnce) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  std::vector<Submission> submissions(4);
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    submissions[tag] = {sut.acquire(), tag, {}};
    fill(submissions[tag].slot, tag);
  }
  const std::vector<JobId> ids = sut.submit_many(submissions);
  ASSERT_EQ(ids.size(), 4U);
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    EXPECT_FALSE(submissions[tag].slot);
    const Result result = sut.wait(ids[tag]);
    EXPECT_EQ(result.tag(), tag);
    EXPECT_TRUE(answers_its_tag(result));
  }
}

TEST_F(ProducerTest, FlushLeavesEveryResultToBePickedUp) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  sut.flush();
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    submit_filled(sut, tag);
  }
  sut.flush();
  std::vector<Result> results;
  while (auto result = sut.try_any()) {
    results.push_back(std::move(*result));
  }
  EXPECT_EQ(results.size(), 4U);
}

TEST_F(ProducerTest, HasNoSlotWhileHandlesHoldThemAll) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket, 2));
  Slot first = sut.acquire();
  const Slot second = sut.acquire();
  EXPECT_FALSE(sut.try_acquire());
  EXPECT_FALSE(sut.acquire_for(1ms));
  first.release();
  EXPECT_TRUE(sut.try_acquire());
}

TEST_F(ProducerTest, FreesASlotOnlyWhenItsResultIsReleased) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket, 1));
  Result result = sut.wait(submit_filled(sut, 1));
  EXPECT_FALSE(sut.try_acquire());
  EXPECT_TRUE(answers_its_tag(result));
  result.release();
  EXPECT_TRUE(sut.acquire_for(1s));
}

TEST_F(ProducerTest, RefusesASubmissionThatCannotBeSent) {
  FakeDaemon daemon(socket);
  FakeDaemon other_daemon(folder.path("other.sock"));
  Producer sut(small_channel(socket, 2));
  Producer other(small_channel(folder.path("other.sock")));
  EXPECT_THROW(sut.submit(Slot()), InvalidSubmission);
  EXPECT_THROW(sut.submit(other.acquire()), InvalidSubmission);
  EXPECT_THROW(sut.submit(sut.acquire(), 0, {.input_bytes = kPayloadBytes + 1}), InvalidSubmission);
  EXPECT_THROW(sut.submit(sut.acquire(), 0, {.pipeline_index = 1}), InvalidSubmission);
  // None of them cost a slot.
  const auto first = sut.try_acquire();
  const auto second = sut.try_acquire();
  EXPECT_TRUE(first && second);
}

TEST_F(ProducerTest, CancelsAJobThatIsNotIssued) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(small_channel(socket));
  const JobId id = submit_filled(sut, 1);
  EXPECT_TRUE(sut.cancel(id));
  const Result result = sut.wait(id);
  EXPECT_EQ(result.status(), JobStatus::cancelled);
  EXPECT_EQ(result.output_bytes(), 0U);
  EXPECT_FALSE(sut.cancel(id));
}

TEST_F(ProducerTest, SendsAtMostOneCancelForAJob) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(small_channel(socket));
  const JobId first = submit_filled(sut, 1);
  daemon.await_taken(1);
  sut.cancel(first);
  sut.cancel(first);
  EXPECT_EQ(sut.wait(first).status(), JobStatus::cancelled);
  EXPECT_FALSE(sut.cancel(first));
  submit_filled(sut, 2);
  daemon.await_taken(3);
  const auto taken = daemon.taken();
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[1].opcode, static_cast<std::uint8_t>(Opcode::cancel));
  EXPECT_EQ(taken[1].job_id, job_number(first));
  EXPECT_EQ(taken[1].slot, taken[0].slot);
}

TEST_F(ProducerTest, CancelsEveryJobOfASmallRingOverAndOver) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(small_channel(socket, 1));
  for (std::uint64_t tag = 0; tag < 50; ++tag) {
    const JobId id = submit_filled(sut, tag);
    sut.cancel(id);
    ASSERT_EQ(sut.wait(id).status(), JobStatus::cancelled) << tag;
  }
}

TEST_F(ProducerTest, TellsHowAJobFailed) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(small_channel(socket));
  const JobId id = submit_filled(sut, 1);
  daemon.await_taken(1);
  daemon.end_oldest(JobStatus::input_size_refused);
  const Result result = sut.wait(id);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status_text(), status_text(JobStatus::input_size_refused));
}

TEST_F(ProducerTest, EndsWithAReasonWhenTheDaemonGivesOne) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(small_channel(socket));
  const JobId answered = submit_filled(sut, 1);
  const JobId open = submit_filled(sut, 2);
  daemon.await_taken(2);
  daemon.answer_oldest(1);
  daemon.close(CloseReason::limit, "too many pinned bytes");
  try {
    static_cast<void>(sut.wait(open));
    FAIL() << "the channel was closed";
  } catch (const ChannelClosed& error) {
    EXPECT_EQ(error.reason(), CloseReason::limit);
    EXPECT_NE(std::string(error.what()).find("too many pinned bytes"), std::string::npos);
  }
  EXPECT_TRUE(answers_its_tag(sut.wait(answered)));
  EXPECT_THROW(static_cast<void>(sut.acquire()), ChannelClosed);
  EXPECT_THROW(static_cast<void>(sut.try_any()), ChannelClosed);
  EXPECT_THROW(sut.flush(), ChannelClosed);
}

TEST_F(ProducerTest, EndsTheChannelOnAnAnswerToNothing) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(small_channel(socket));
  const JobId id = submit_filled(sut, 1);
  daemon.await_taken(1);
  daemon.answer_nonsense();
  EXPECT_THROW(static_cast<void>(sut.wait(id)), ChannelClosed);
  daemon.await_ended(1);
}

TEST_F(ProducerTest, HandlesOutliveTheirProducer) {
  FakeDaemon daemon(socket);
  Slot slot;
  Result result;
  {
    Producer sut(small_channel(socket));
    slot = sut.acquire();
    result = sut.wait(submit_filled(sut, 5));
  }
  daemon.await_ended(1);
  EXPECT_TRUE(answers_its_tag(result));
  fill(slot, 1);
  result.release();
  slot.release();
}

TEST_F(ProducerTest, AMovedFromProducerSaysSo) {
  FakeDaemon daemon(socket);
  Producer first(small_channel(socket));
  Producer sut(std::move(first));
  EXPECT_THROW(static_cast<void>(first.acquire()), ProducerError);
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 1))));
}

TEST_F(ProducerTest, NeedsAPipeline) {
  EXPECT_THROW(Producer(ProducerOptions{.socket_path = socket}), InvalidSubmission);
}

}  // namespace
}  // namespace overlap::testing
