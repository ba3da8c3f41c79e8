#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

template <class Number>
Number parameter(const SubmissionEntry& entry, std::size_t index) {
  Number number{};
  std::memcpy(&number, entry.params + index * sizeof number, sizeof number);
  return number;
}

struct ProducerParametersTest : ::testing::Test {
  static DaemonScript gain_and_shift(bool hold = false) {
    return {.hold = hold, .job_parameters = {{"gain", false}, {"shift", true}}};
  }
  static JobId submit_with(Producer& producer, const JobParameters& params) {
    Slot slot = producer.acquire();
    fill(slot, 1);
    return producer.submit(std::move(slot), 1, {.params = params});
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_F(ProducerParametersTest, TravelWithTheirJobAlone) {
  FakeDaemon daemon(socket, {gain_and_shift()});
  Producer sut(small_channel(socket));
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_with(sut, {{"shift", -2}, {"gain", 0.5}}))));
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_with(sut, {}))));
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_with(sut, {{"shift", 3}}))));
  const auto taken = daemon.taken();
  EXPECT_EQ(taken.at(0).flags, submission_parameter_flag(0) | submission_parameter_flag(1));
  EXPECT_EQ(parameter<double>(taken[0], 0), 0.5);
  EXPECT_EQ(parameter<std::int64_t>(taken[0], 1), -2);
  EXPECT_EQ(taken.at(1).flags, 0U);
  EXPECT_EQ(parameter<std::uint64_t>(taken[1], 0), 0U) << "nothing is left of the job before";
  EXPECT_EQ(taken.at(2).flags, submission_parameter_flag(1));
  EXPECT_EQ(parameter<std::uint64_t>(taken[2], 0), 0U);
  EXPECT_EQ(parameter<std::int64_t>(taken[2], 1), 3);
}

TEST_F(ProducerParametersTest, ThatThePipelineDoesNotTakeAreRefusedAndTheSlotIsFree) {
  FakeDaemon daemon(socket, {gain_and_shift()});
  Producer sut(small_channel(socket, 1));
  for (const JobParameters& wrong :
       {JobParameters{{"offset", 1.0}}, JobParameters{{"gain", 1}}, JobParameters{{"shift", 1.0}},
        JobParameters{{"shift", 1}, {"shift", 1}}}) {
    try {
      submit_with(sut, wrong);
      FAIL() << "no such parameter";
    } catch (const InvalidSubmission& error) {
      EXPECT_TRUE(says(error.what(), {"gain (a real number)", "shift (an integer)"}));
    }
  }
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_with(sut, {{"gain", 1.0}}))));
  EXPECT_EQ(daemon.taken().size(), 1U);
}

TEST_F(ProducerParametersTest, OneWrongJobOfSeveralStopsThemAll) {
  FakeDaemon daemon(socket, {gain_and_shift()});
  Producer sut(small_channel(socket, 2));
  std::vector<Slot> slots(2);
  ASSERT_EQ(sut.try_acquire_many(slots), 2U);
  auto submissions = filled(slots, 1);
  submissions[0].options.params = {{"gain", 2.0}};
  submissions[1].options.params = {{"offset", 2.0}};
  EXPECT_THROW(static_cast<void>(sut.submit_many(submissions)), InvalidSubmission);
  EXPECT_EQ(sut.counters().jobs_submitted, 0U);
  submissions[1].options.params = {{"gain", 3.0}};
  EXPECT_EQ(sut.submit_many(submissions).size(), 2U);
  sut.flush();
  EXPECT_EQ(parameter<double>(daemon.taken().at(1), 0), 3.0);
}

TEST_F(ProducerParametersTest, AreRefusedWhereTheDaemonDoesNotKnowThem) {
  DaemonScript earlier = gain_and_shift();
  earlier.features = kFeatureTables;
  FakeDaemon daemon(socket, {earlier});
  Producer sut(small_channel(socket));
  try {
    submit_with(sut, {{"gain", 1.0}});
    FAIL() << "they mean nothing to it";
  } catch (const InvalidSubmission& error) {
    EXPECT_TRUE(says(error.what(), {"the daemon is older", "update overlapd"}));
  }
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_with(sut, {}))));
}

TEST_F(ProducerParametersTest, StayWithAJobThatRunsAgain) {
  FakeDaemon daemon(socket, {gain_and_shift(true), gain_and_shift()});
  Producer sut(small_channel(socket));
  const JobId id = submit_with(sut, {{"gain", 2.5}});
  daemon.await_taken(1);
  daemon.hang_up(false);
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
  EXPECT_EQ(daemon.taken().at(1).flags, daemon.taken().at(0).flags);
  EXPECT_EQ(parameter<double>(daemon.taken().at(1), 0), 2.5);
}

TEST_F(ProducerParametersTest, AreFoundByNameInTheNextDaemonsOrder) {
  const DaemonScript reordered{
      .job_parameters = {{"shift", true}, {"new", false}, {"gain", false}}};
  FakeDaemon daemon(socket, {gain_and_shift(true), reordered});
  Producer sut(small_channel(socket));
  const JobId id = submit_with(sut, {{"gain", 2.5}, {"shift", 7}});
  daemon.await_taken(1);
  daemon.hang_up(false);
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
  const SubmissionEntry again = daemon.taken().at(1);
  EXPECT_EQ(again.flags, submission_parameter_flag(0) | submission_parameter_flag(2));
  EXPECT_EQ(parameter<std::int64_t>(again, 0), 7);
  EXPECT_EQ(parameter<double>(again, 2), 2.5);
}

TEST_F(ProducerParametersTest, AJobWhoseParametersTheNextDaemonDoesNotTakeIsRefused) {
  FakeDaemon daemon(socket, {gain_and_shift(true), {}});
  Producer sut(small_channel(socket));
  const JobId refused = submit_with(sut, {{"gain", 2.5}});
  const JobId fine = submit_with(sut, {});
  daemon.await_taken(2);
  daemon.hang_up(false);
  EXPECT_EQ(sut.wait(refused).status(), JobStatus::request_refused);
  EXPECT_TRUE(answers_its_tag(sut.wait(fine)));
  EXPECT_EQ(daemon.taken().size(), 2U + 2U) << "the refusal is the daemon's";
}

TEST_F(ProducerParametersTest, ARefusedJobLeavesNoUnmarkedGapInAHistory) {
  DaemonScript first = gain_and_shift(true);
  first.stateful_pipelines = 1;
  FakeDaemon daemon(socket, {first, {.stateful_pipelines = 1}});
  ProducerOptions options = small_channel(socket);
  options.on_state_loss = StateLossAction::restart;
  Producer sut(options);
  submit_with(sut, {});
  submit_with(sut, {{"gain", 2.5}});
  submit_with(sut, {});
  submit_with(sut, {});
  daemon.await_taken(4);
  daemon.hang_up(false);
  EXPECT_TRUE(sut.wait_next().discontinuity()) << "it begins anew with the daemon";
  EXPECT_EQ(sut.wait_next().status(), JobStatus::request_refused);
  EXPECT_TRUE(sut.wait_next().discontinuity());
  EXPECT_FALSE(sut.wait_next().discontinuity());
}

}  // namespace
}  // namespace overlap::testing
