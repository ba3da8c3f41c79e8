#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace overlap::testing {
namespace {

/// Pipeline 1 keeps state, pipeline 0 does not.
constexpr std::uint32_t kSecondIsStateful = 0b10;

JobId submit_to(Producer& producer, std::uint8_t pipeline_index, std::uint64_t tag) {
  Slot slot = producer.acquire();
  fill(slot, tag);
  return producer.submit(std::move(slot), tag, {.pipeline_index = pipeline_index});
}

std::vector<Opcode> opcodes(const std::vector<SubmissionEntry>& entries) {
  std::vector<Opcode> list;
  for (const SubmissionEntry& entry : entries) {
    list.push_back(static_cast<Opcode>(entry.opcode));
  }
  return list;
}

struct ProducerStateTest : ::testing::Test {
  ProducerOptions options(StateLossAction on_state_loss = StateLossAction::end_jobs) const {
    ProducerOptions made = small_channel(socket);
    made.pipelines = {"copy", "copy"};
    made.on_state_loss = on_state_loss;
    return made;
  }
  static DaemonScript stateful(bool hold) {
    return {.hold = hold, .stateful_pipelines = kSecondIsStateful};
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_F(ProducerStateTest, AResetStandsWhereItWasCalledAndIsNotAnswered) {
  FakeDaemon daemon(socket, {stateful(false)});
  Producer sut(options());
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_to(sut, 1, 1))));
  sut.reset_state(1);
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_to(sut, 1, 2))));
  const auto taken = daemon.taken();
  EXPECT_EQ(opcodes(taken), (std::vector{Opcode::job, Opcode::reset_state, Opcode::job}));
  EXPECT_EQ(taken[1].pipeline_index, 1);
  EXPECT_EQ(taken[1].slot, kNoSlot);
  EXPECT_EQ(taken[1].job_id, 2U);
  EXPECT_EQ(sut.counters().results_collected, 2U);
}

TEST_F(ProducerStateTest, AResetOfAPipelineWithoutStateIsNothing) {
  FakeDaemon daemon(socket, {stateful(false)});
  Producer sut(options());
  sut.reset_state(0);
  EXPECT_THROW(sut.reset_state(2), InvalidSubmission);
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_to(sut, 0, 1))));
  EXPECT_EQ(daemon.taken().size(), 1U);
}

TEST_F(ProducerStateTest, NothingIsBelievedOfADaemonThatDoesNotKnowState) {
  FakeDaemon daemon(socket, {{.hold = true, .features = 0, .stateful_pipelines = UINT32_MAX}, {}});
  Producer sut(options());
  sut.reset_state(1);
  const JobId id = submit_to(sut, 1, 1);
  daemon.await_taken(1);
  daemon.hang_up(false);
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
  EXPECT_EQ(daemon.taken().size(), 2U);
}

TEST_F(ProducerStateTest, ManyResetsWaitForRoomInOrder) {
  FakeDaemon daemon(socket, {stateful(false)});
  Producer sut(options());
  constexpr std::uint64_t kRounds = 200;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    submit_to(sut, 1, round);
    sut.reset_state(1);
    EXPECT_EQ(sut.wait_next().tag(), round);
  }
  submit_to(sut, 1, 0);
  EXPECT_TRUE(answers_its_tag(sut.wait_next()));
  std::uint64_t last_id = 0;
  for (const SubmissionEntry& entry : daemon.taken()) {
    EXPECT_GT(entry.job_id, last_id);
    last_id = entry.job_id;
  }
  EXPECT_EQ(last_id, 2 * kRounds + 1);
}

TEST_F(ProducerStateTest, TheFirstAttachHasNoHistoryToLose) {
  FakeDaemon daemon(socket, {stateful(false)});
  Producer sut(options());
  EXPECT_EQ(daemon.requests().at(0).flags, 0U);
  EXPECT_FALSE(sut.wait(submit_to(sut, 1, 1)).discontinuity());
}

TEST_F(ProducerStateTest, JobsWithoutResultEndAsStateLostWhenTheDaemonGoes) {
  FakeDaemon daemon(socket, {stateful(true), stateful(false)});
  Producer sut(options());
  submit_to(sut, 1, 1);
  submit_to(sut, 1, 2);
  submit_to(sut, 0, 3);
  submit_to(sut, 1, 4);
  daemon.await_taken(4);
  daemon.answer_oldest(1);
  daemon.hang_up(false);
  const Result answered = sut.wait_next();
  EXPECT_TRUE(answers_its_tag(answered));
  const Result lost = sut.wait_next();
  EXPECT_EQ(lost.status(), JobStatus::state_lost);
  EXPECT_EQ(lost.tag(), 2U);
  EXPECT_EQ(lost.output_bytes(), 0U);
  EXPECT_TRUE(answers_its_tag(sut.wait_next())) << "a pipeline without state loses nothing";
  EXPECT_EQ(sut.wait_next().status(), JobStatus::state_lost);
  // And what comes after that begins anew, and says so.
  EXPECT_EQ(daemon.requests().at(1).flags, kAttachHistoryLost);
  const Result first = sut.wait(submit_to(sut, 1, 5));
  EXPECT_TRUE(answers_its_tag(first));
  EXPECT_TRUE(first.discontinuity());
  EXPECT_FALSE(sut.wait(submit_to(sut, 1, 6)).discontinuity());
  EXPECT_EQ(daemon.taken().size(), 4U + 3U);
}

TEST_F(ProducerStateTest, AnOrderlyStopLosesTheStateToo) {
  FakeDaemon daemon(socket, {stateful(true), stateful(false)});
  Producer sut(options());
  const JobId id = submit_to(sut, 1, 1);
  daemon.await_taken(1);
  daemon.close(CloseReason::drain, "");
  EXPECT_EQ(sut.wait(id).status(), JobStatus::state_lost);
}

TEST_F(ProducerStateTest, JobsThatTheDaemonMayNotHaveTakenEndAsStateLostToo) {
  FakeDaemon daemon(socket, {stateful(true), stateful(false)});
  Producer sut(options());
  const JobId first = submit_to(sut, 1, 1);
  const JobId second = submit_to(sut, 1, 2);
  daemon.hang_up(false);
  EXPECT_EQ(sut.wait(first).status(), JobStatus::state_lost);
  EXPECT_EQ(sut.wait(second).status(), JobStatus::state_lost);
}

TEST_F(ProducerStateTest, JobsAreSubmittedAgainInOrderWhenSoAsked) {
  FakeDaemon daemon(socket, {stateful(true), stateful(false)});
  Producer sut(options(StateLossAction::restart));
  submit_to(sut, 1, 1);
  sut.reset_state(1);
  submit_to(sut, 1, 2);
  daemon.await_taken(3);
  daemon.hang_up(false);
  const Result first = sut.wait_next();
  EXPECT_TRUE(answers_its_tag(first));
  EXPECT_TRUE(first.discontinuity());
  const Result second = sut.wait_next();
  EXPECT_TRUE(answers_its_tag(second));
  EXPECT_FALSE(second.discontinuity());
  const auto taken = daemon.taken();
  ASSERT_EQ(taken.size(), 6U);
  EXPECT_EQ(opcodes(taken), (std::vector{Opcode::job, Opcode::reset_state, Opcode::job, Opcode::job,
                                         Opcode::reset_state, Opcode::job}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(taken[i + 3].job_id, taken[i].job_id);
  }
  EXPECT_EQ(daemon.requests().at(1).flags, kAttachHistoryLost);
}

TEST_F(ProducerStateTest, AResetBeforeAllJobsThatAreLeftIsNotRepeated) {
  FakeDaemon daemon(socket, {stateful(true), stateful(false)});
  Producer sut(options(StateLossAction::restart));
  sut.reset_state(1);
  const JobId id = submit_to(sut, 1, 1);
  daemon.await_taken(2);
  daemon.hang_up(false);
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
  EXPECT_EQ(daemon.taken().size(), 3U);
}

TEST_F(ProducerStateTest, AResetWhileNobodyIsThereReachesTheNextDaemon) {
  auto daemon = std::make_unique<FakeDaemon>(socket, std::vector<DaemonScript>{stateful(true)});
  Producer sut(options(StateLossAction::restart));
  const JobId first = submit_to(sut, 1, 1);
  daemon->await_taken(1);
  daemon.reset();
  EXPECT_FALSE(sut.wait_for(first, std::chrono::milliseconds(5)));
  sut.reset_state(1);
  daemon = std::make_unique<FakeDaemon>(socket, std::vector<DaemonScript>{stateful(false)});
  EXPECT_TRUE(answers_its_tag(sut.wait(first)));
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_to(sut, 1, 2))));
  EXPECT_EQ(opcodes(daemon->taken()), (std::vector{Opcode::job, Opcode::reset_state, Opcode::job}));
}

TEST_F(ProducerStateTest, ACancelledJobIsNotLostWithTheState) {
  FakeDaemon daemon(socket, {stateful(true), stateful(false)});
  Producer sut(options());
  const JobId id = submit_to(sut, 1, 1);
  daemon.await_taken(1);
  EXPECT_TRUE(sut.cancel(id));
  daemon.await_taken(2);
  daemon.hang_up(false);
  EXPECT_EQ(sut.wait(id).status(), JobStatus::cancelled);
}

}  // namespace
}  // namespace overlap::testing
