#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

struct ProducerResumeTest : ::testing::Test {
  ProducerOptions options(std::uint32_t slot_count = 4) const {
    return small_channel(socket, slot_count);
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_F(ProducerResumeTest, EveryJobIsAnsweredOnceWhenDaemonsDieUnderLoad) {
  // Each connection answers a few jobs and then dies with others in hand, but never twice with the
  // same job on the device alone.
  FakeDaemon daemon(socket, {{.die_after = 5},
                             {.die_after = 11},
                             {.die_after = 0},
                             {.die_after = 17},
                             {.die_after = 9},
                             {}});
  Producer sut(options());
  constexpr std::uint64_t kJobs = 120;
  std::thread feeder([&] {
    for (std::uint64_t tag = 0; tag < kJobs; ++tag) {
      submit_filled(sut, tag);
    }
  });
  std::set<std::uint64_t> tags;
  while (tags.size() < kJobs) {
    const Result result = sut.wait_any();
    EXPECT_TRUE(answers_its_tag(result)) << result.tag() << ": " << result.status_text();
    EXPECT_EQ(job_number(result.job_id()), result.tag() + 1);
    ASSERT_TRUE(tags.insert(result.tag()).second) << "answered twice: " << result.tag();
  }
  feeder.join();
  EXPECT_EQ(sut.resume_count(), 5U);
}

TEST_F(ProducerResumeTest, ManyThreadsKeepTheirOrderAcrossADeath) {
  FakeDaemon daemon(socket, {{.die_after = 40}, {.die_after = 40}, {}});
  Producer sut(options());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 60; ++i) {
        const std::uint64_t tag = thread * 1000 + i;
        const Result result = sut.wait(submit_filled(sut, tag));
        right += result.tag() == tag && answers_its_tag(result) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 180);
  EXPECT_EQ(sut.resume_count(), 2U);
}

TEST_F(ProducerResumeTest, SubmitsWhatIsLeftInOrderUnderTheSameIds) {
  FakeDaemon daemon(socket, {{.hold = true}, {}});
  Producer sut(options());
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    submit_filled(sut, tag);
  }
  daemon.await_taken(4);
  daemon.answer_oldest(1);
  daemon.hang_up(false);
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    const Result result = sut.wait_next();
    EXPECT_EQ(result.tag(), tag);
    EXPECT_TRUE(answers_its_tag(result));
  }
  const auto taken = daemon.taken();
  ASSERT_EQ(taken.size(), 7U);
  EXPECT_EQ(taken[4].job_id, 2U);
  EXPECT_EQ(taken[5].job_id, 3U);
  EXPECT_EQ(taken[6].job_id, 4U);
  EXPECT_EQ(taken[4].ready_ns, taken[1].ready_ns);
}

TEST_F(ProducerResumeTest, CollectsWhatTheDeadDaemonHadAnswered) {
  FakeDaemon daemon(socket, {{.die_after = 2}, {.hold = true}});
  Producer sut(options());
  submit_filled(sut, 1);
  submit_filled(sut, 2);
  submit_filled(sut, 3);
  daemon.await_ended(1);
  EXPECT_TRUE(answers_its_tag(sut.wait_next()));
  EXPECT_TRUE(answers_its_tag(sut.wait_next()));
  daemon.await_taken(4);
  EXPECT_EQ(daemon.taken().at(3).job_id, 3U);
}

TEST_F(ProducerResumeTest, AHeldResultStaysWhereItIs) {
  FakeDaemon daemon(socket, {{.die_after = 1}, {}});
  Producer sut(options(2));
  const Result before = sut.wait(submit_filled(sut, 1));
  const auto* const where = before.output().data();
  const Result after = sut.wait(submit_filled(sut, 2));
  EXPECT_EQ(sut.resume_count(), 1U);
  EXPECT_EQ(before.output().data(), where);
  EXPECT_TRUE(answers_its_tag(before));
  EXPECT_TRUE(answers_its_tag(after));
  // The old result takes no slot of the new channel.
  const auto slot = sut.try_acquire();
  EXPECT_TRUE(slot);
}

TEST_F(ProducerResumeTest, AnAcquiredSlotIsSubmittedToTheNextDaemon) {
  FakeDaemon daemon(socket, {{.die_after = 0}, {.die_after = 0}, {}});
  Producer sut(options(2));
  Slot kept = sut.acquire();
  fill(kept, 1);
  const auto* const where = kept.input().data();
  const JobId other = submit_filled(sut, 2);
  EXPECT_TRUE(answers_its_tag(sut.wait(other)));
  EXPECT_EQ(sut.resume_count(), 2U);
  EXPECT_EQ(kept.input().data(), where);
  EXPECT_TRUE(answers_its_tag(sut.wait(sut.submit(std::move(kept), 1))));
  const auto first = sut.try_acquire();
  const auto second = sut.try_acquire();
  EXPECT_TRUE(first && second);
}

TEST_F(ProducerResumeTest, AReleasedSlotOfADeadDaemonIsFreeInTheNext) {
  FakeDaemon daemon(socket, {{.die_after = 0}, {}});
  Producer sut(options(2));
  Slot kept = sut.acquire();
  sut.wait(submit_filled(sut, 2)).release();
  const auto other = sut.try_acquire();
  ASSERT_TRUE(other);
  EXPECT_FALSE(sut.try_acquire());
  kept.release();
  EXPECT_TRUE(sut.try_acquire());
}

TEST_F(ProducerResumeTest, AsksTheNextDaemonForTheSameGeometry) {
  FakeDaemon daemon(socket, {{.output_bytes = 8192, .die_after = 0}, {.output_bytes = 64}});
  Producer sut(options());
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 1))));
  EXPECT_EQ(sut.output_bytes(), 8192U);
  const auto requests = daemon.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].output_bytes, 0U);
  EXPECT_EQ(requests[1].output_bytes, 8192U);
}

TEST_F(ProducerResumeTest, IsolatesAJobAfterTwoDeathsAndGivesItUpAfterTwoAlone) {
  FakeDaemon daemon(socket,
                    {{.die_after = 0}, {.die_after = 0}, {.die_after = 0}, {.die_after = 0}, {}});
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  const Result result = sut.wait(id);
  EXPECT_EQ(result.status(), JobStatus::device_lost);
  EXPECT_EQ(result.output_bytes(), 0U);
  const auto taken = daemon.taken();
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(taken[0].flags, 0U);
  EXPECT_EQ(taken[1].flags, 0U);
  EXPECT_EQ(taken[2].flags, kSubmissionIsolate);
  EXPECT_EQ(taken[3].flags, kSubmissionIsolate);
  // The channel goes on without it.
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 2))));
}

TEST_F(ProducerResumeTest, DoesNotBlameAJobThatWasNotOnTheDevice) {
  std::vector<DaemonScript> scripts(6, DaemonScript{.hold = true});
  scripts.push_back({});
  FakeDaemon daemon(socket, scripts);
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  for (std::size_t death = 1; death <= 6; ++death) {
    daemon.await_taken(death);
    daemon.hang_up(false);
  }
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
  EXPECT_EQ(daemon.taken().back().flags, 0U);
}

TEST_F(ProducerResumeTest, DoesNotCountAnOrderlyStop) {
  std::vector<DaemonScript> scripts(6, DaemonScript{.hold = true});
  scripts.push_back({});
  FakeDaemon daemon(socket, scripts);
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  for (std::size_t stop = 1; stop <= 6; ++stop) {
    daemon.await_taken(stop);
    daemon.close(CloseReason::drain, "");
  }
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
  EXPECT_EQ(sut.resume_count(), 6U);
  EXPECT_EQ(daemon.taken().back().flags, 0U);
}

TEST_F(ProducerResumeTest, EndsTheJobsWithTheRefusalOfTheNextDaemon) {
  FakeDaemon daemon(socket, {{.die_after = 1},
                             {.attach = DaemonScript::Attach::refuse,
                              .code = AttachCode::pipeline_refused,
                              .text = "there is no kernel 'copy'"}});
  Producer sut(options());
  submit_filled(sut, 1);
  const JobId lost = submit_filled(sut, 2);
  try {
    static_cast<void>(sut.wait(lost));
    FAIL() << "the next daemon refused";
  } catch (const AttachError& error) {
    EXPECT_EQ(error.code(), AttachCode::pipeline_refused);
    EXPECT_NE(std::string(error.what()).find("there is no kernel 'copy'"), std::string::npos);
  }
  EXPECT_TRUE(answers_its_tag(sut.wait_any()));
  EXPECT_THROW(static_cast<void>(sut.acquire()), AttachError);
}

TEST_F(ProducerResumeTest, TriesAgainWhileTheDaemonIsStopping) {
  FakeDaemon daemon(
      socket,
      {{.die_after = 0},
       {.attach = DaemonScript::Attach::refuse, .code = AttachCode::stopping, .text = "stopping"},
       {}});
  Producer sut(options());
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 1))));
}

TEST_F(ProducerResumeTest, SaysThatNobodyCameBack) {
  auto daemon = std::make_unique<FakeDaemon>(socket, std::vector<DaemonScript>{{.hold = true}});
  ProducerOptions quick = options();
  quick.resume_timeout = 50ms;
  Producer sut(quick);
  const JobId id = submit_filled(sut, 1);
  daemon.reset();
  try {
    static_cast<void>(sut.wait(id));
    FAIL() << "nobody came back";
  } catch (const DaemonGone& error) {
    EXPECT_NE(std::string(error.what()).find("1 jobs have no result"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(socket), std::string::npos);
  }
}

TEST_F(ProducerResumeTest, SaysSoAtOnceWhenResumingIsSwitchedOff) {
  FakeDaemon daemon(socket, {{.die_after = 0}, {}});
  ProducerOptions once = options();
  once.resume = false;
  Producer sut(once);
  const JobId id = submit_filled(sut, 1);
  EXPECT_THROW(static_cast<void>(sut.wait(id)), DaemonGone);
  EXPECT_EQ(daemon.requests().size(), 1U);
}

TEST_F(ProducerResumeTest, ATimeOutEndsAWaitWhileNobodyIsThere) {
  auto daemon = std::make_unique<FakeDaemon>(socket, std::vector<DaemonScript>{{.hold = true}});
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  daemon->await_taken(1);
  daemon.reset();
  EXPECT_FALSE(sut.wait_for(id, 5ms));
  daemon = std::make_unique<FakeDaemon>(socket);
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
}

TEST_F(ProducerResumeTest, ACancelIsRepeatedToTheNextDaemon) {
  FakeDaemon daemon(socket, {{.hold = true}, {.hold = true}});
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  daemon.await_taken(1);
  daemon.hang_up(false);
  EXPECT_TRUE(sut.cancel(id));
  EXPECT_EQ(sut.wait(id).status(), JobStatus::cancelled);
}

TEST_F(ProducerResumeTest, CanBeDestroyedWhileNobodyIsThere) {
  auto daemon = std::make_unique<FakeDaemon>(socket);
  auto sut = std::make_unique<Producer>(options());
  Slot slot = sut->acquire();
  daemon.reset();
  sut.reset();
  fill(slot, 1);
}

TEST_F(ProducerResumeTest, TheDescriptorOfAPollLoopStaysTheSame) {
  FakeDaemon daemon(socket, {{.die_after = 3}, {.die_after = 3}, {}});
  Producer sut(options());
  const int fd = sut.completion_fd();
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    submit_filled(sut, tag);
  }
  std::set<std::uint64_t> tags;
  while (tags.size() < 4) {
    while (const auto result = sut.try_any()) {
      EXPECT_TRUE(answers_its_tag(*result));
      tags.insert(result->tag());
    }
    pollfd watched{fd, POLLIN, 0};
    if (tags.size() < 4) {
      ASSERT_EQ(::poll(&watched, 1, 10'000), 1);
    }
  }
  EXPECT_EQ(sut.completion_fd(), fd);
}

}  // namespace
}  // namespace overlap::testing
