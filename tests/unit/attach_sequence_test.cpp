#include "producer/attach_sequence.hpp"

#include "tests/unit/fake_daemon.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fstream>

namespace overlap::testing {
namespace {

struct AttachSequenceTest : ::testing::Test {
  AttachGoal plan() const {
    AttachGoal made;
    made.path = {socket, {"/nowhere/overlapd.sock", socket}};
    made.geometry = {4, 4096, 0, 0};
    made.pipelines = {"copy"};
    made.step_timeout = std::chrono::seconds(10);
    return made;
  }

  AttachProblem problem_of(const AttachGoal& plan) const {
    try {
      static_cast<void>(attach_channel(plan));
    } catch (const AttachError& error) {
      text = error.what();
      return error.problem();
    }
    ADD_FAILURE() << "it attached";
    return {};
  }

  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }

  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
  mutable std::string text;
};

TEST_F(AttachSequenceTest, EndsWithAPublishedChannel) {
  const FakeDaemon daemon(socket);
  const auto sut = attach_channel(plan());
  EXPECT_EQ(sut->geometry().slot_count, 4U);
  EXPECT_EQ(sut->geometry().output_bytes, 4096U);
  EXPECT_TRUE(is_published(sut->view()));
}

TEST_F(AttachSequenceTest, ListsEveryPathWhenThereIsNoSocket) {
  const AttachProblem sut = problem_of(plan());
  EXPECT_EQ(sut.failure, AttachFailure::no_socket);
  EXPECT_EQ(sut.error_number, ENOENT);
  ASSERT_EQ(sut.attempts.size(), 2U);
  EXPECT_EQ(sut.attempts[0].path, "/nowhere/overlapd.sock");
  EXPECT_EQ(sut.attempts[1].path, socket);
  EXPECT_TRUE(says("/nowhere/overlapd.sock") && says(socket) && says("start overlapd")) << text;
  EXPECT_TRUE(may_pass(sut));
}

TEST_F(AttachSequenceTest, TellsAStaleSocket) {
  listen_at(socket, SOCK_SEQPACKET).reset();
  EXPECT_EQ(problem_of(plan()).failure, AttachFailure::not_listening);
}

TEST_F(AttachSequenceTest, TellsAStreamSocket) {
  const FileDescriptor stranger = listen_at(socket, SOCK_STREAM);
  const AttachProblem sut = problem_of(plan());
  EXPECT_EQ(sut.failure, AttachFailure::not_overlapd);
  EXPECT_EQ(sut.error_number, EPROTOTYPE);
  EXPECT_TRUE(says("not an overlapd socket")) << text;
  EXPECT_FALSE(may_pass(sut));
}

TEST_F(AttachSequenceTest, TellsAFileThatIsNoSocket) {
  std::ofstream(socket) << "text";
  EXPECT_EQ(problem_of(plan()).failure, AttachFailure::not_overlapd);
}

TEST_F(AttachSequenceTest, TellsAStrangerThatAnswers) {
  const FakeDaemon stranger(socket, {{.attach = DaemonScript::Attach::answer_garbage}});
  EXPECT_EQ(problem_of(plan()).failure, AttachFailure::not_overlapd);
}

TEST_F(AttachSequenceTest, GivesUpOnADaemonThatDoesNotAnswer) {
  const FakeDaemon silent(socket, {{.attach = DaemonScript::Attach::stay_silent}});
  AttachGoal quick = plan();
  quick.step_timeout = std::chrono::milliseconds(20);
  EXPECT_EQ(problem_of(quick).failure, AttachFailure::timed_out);
  EXPECT_TRUE(says("20ms")) << text;
}

TEST_F(AttachSequenceTest, AsksForThePriorityAndTheWeightOfItsGoal) {
  const FakeDaemon daemon(socket);
  AttachGoal goal = plan();
  static_cast<void>(attach_channel(goal));
  goal.priority = ChannelPriority::low;
  goal.weight = 7;
  static_cast<void>(attach_channel(goal));
  const std::vector<AttachRequest> sut = daemon.requests();
  ASSERT_EQ(sut.size(), 2U);
  EXPECT_EQ(sut[0].priority, ChannelPriority::normal);
  EXPECT_EQ(sut[0].weight, 1U);
  EXPECT_EQ(sut[1].priority, ChannelPriority::low);
  EXPECT_EQ(sut[1].weight, 7U);
}

TEST_F(AttachSequenceTest, PassesARefusalOn) {
  const FakeDaemon daemon(socket, {{.attach = DaemonScript::Attach::refuse,
                                    .code = AttachCode::version_mismatch,
                                    .text = "the daemon speaks 2.0, the producer 1.0"}});
  const AttachProblem sut = problem_of(plan());
  EXPECT_EQ(sut.failure, AttachFailure::refused);
  EXPECT_EQ(sut.code, AttachCode::version_mismatch);
  EXPECT_TRUE(says("the daemon speaks 2.0")) << text;
  EXPECT_FALSE(may_pass(sut));
}

TEST_F(AttachSequenceTest, PassesARefusalAfterMappingOn) {
  const FakeDaemon daemon(socket, {{.attach = DaemonScript::Attach::refuse_mapped,
                                    .code = AttachCode::pinning_failed,
                                    .text = "cudaHostRegister failed"}});
  EXPECT_EQ(problem_of(plan()).code, AttachCode::pinning_failed);
  EXPECT_TRUE(says("cudaHostRegister failed")) << text;
}

TEST_F(AttachSequenceTest, RefusesPipelinesThatCannotBeSent) {
  const FakeDaemon daemon(socket);
  AttachGoal many = plan();
  many.pipelines.assign(1000, "copy");
  EXPECT_EQ(problem_of(many).failure, AttachFailure::bad_options);
}

TEST_F(AttachSequenceTest, IsAbandonedWhenAskedTo) {
  const FakeDaemon silent(socket, {{.attach = DaemonScript::Attach::stay_silent}});
  const FileDescriptor stop = make_eventfd();
  ring(stop.get());
  AttachGoal stopped = plan();
  stopped.stop_descriptor = stop.get();
  EXPECT_EQ(problem_of(stopped).failure, AttachFailure::abandoned);
}

TEST_F(AttachSequenceTest, TellsMissingPermission) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may connect to every socket";
  }
  const FileDescriptor listener = listen_at(socket, SOCK_SEQPACKET);
  ASSERT_EQ(::chmod(socket.c_str(), 0), 0);
  EXPECT_EQ(problem_of(plan()).failure, AttachFailure::no_permission);
}

}  // namespace
}  // namespace overlap::testing
