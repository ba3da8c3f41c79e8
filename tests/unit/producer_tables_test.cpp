#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/patience.hpp"
#include "tests/unit/producer_payload.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

using Tables = std::vector<std::vector<std::byte>>;

constexpr std::size_t kTableBytes = 300;

std::vector<std::byte> table(unsigned char value) {
  return std::vector<std::byte>(kTableBytes, std::byte{value});
}

/// With which first byte of a table a fake daemon that masks with it answered; 0 if the result is
/// wrong otherwise.
unsigned char table_of(const Result& result) {
  const auto output = result.output();
  const auto input = result.input();
  if (!result.ok() || output.empty()) {
    return 0;
  }
  const std::byte mask = output[0] ^ input[0];
  const bool same = std::ranges::equal(
      output, input, [&](std::byte made, std::byte given) { return made == (given ^ mask); });
  return same ? static_cast<unsigned char>(mask) : 0;
}

TableUpdate update_of(const SubmissionEntry& entry) {
  TableUpdate update{};
  std::memcpy(&update, entry.params, sizeof update);
  return update;
}

std::vector<Opcode> opcodes(const std::vector<SubmissionEntry>& entries) {
  std::vector<Opcode> list;
  for (const SubmissionEntry& entry : entries) {
    list.push_back(static_cast<Opcode>(entry.opcode));
  }
  return list;
}

std::string refusal_of(const ProducerOptions& options) {
  try {
    const Producer sut(options);
  } catch (const InvalidSubmission& error) {
    return error.what();
  }
  return "";
}

struct ProducerTablesTest : ::testing::Test {
  /// One pipeline, whose second stage has a table of ones.
  ProducerOptions options(std::uint32_t slot_count = 4) const {
    ProducerOptions made = small_channel(socket, slot_count);
    made.tables = {{0, 1, table(1)}};
    made.spin = 0ns;
    return made;
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_F(ProducerTablesTest, AreWrittenBeforeTheDaemonIsToldThatTheMemoryIsMapped) {
  FakeDaemon daemon(socket, {{.mask_from_table = true}});
  ProducerOptions two = options();
  two.pipelines = {"copy", "copy"};
  two.tables.push_back({1, 0, std::vector<std::byte>(8, std::byte{7})});
  Producer sut(two);
  EXPECT_EQ(daemon.first_tables(), (Tables{table(1), std::vector<std::byte>(8, std::byte{7})}));
  const AttachRequest request = daemon.requests().at(0);
  EXPECT_EQ(request.features_required, kFeatureTables);
  ASSERT_EQ(request.table_count, 2U);
  EXPECT_EQ(request.tables[0].pipeline_index, 0);
  EXPECT_EQ(request.tables[0].stage_index, 1);
  EXPECT_EQ(request.tables[0].bytes, kTableBytes);
  EXPECT_EQ(request.tables[1].pipeline_index, 1);
  EXPECT_EQ(request.tables[1].stage_index, 0);
  EXPECT_EQ(table_of(sut.wait(submit_filled(sut, 1))), 1);
}

TEST_F(ProducerTablesTest, AreNotAskedForWhenThereAreNone) {
  FakeDaemon daemon(socket);
  Producer sut(small_channel(socket));
  EXPECT_EQ(daemon.requests().at(0).features_required, 0U);
  EXPECT_EQ(daemon.requests().at(0).table_count, 0U);
  EXPECT_EQ(daemon.requests().at(0).table_bytes, 0U);
  EXPECT_THROW(sut.update_table(0, 0, table(1)), InvalidSubmission);
  sut.settle_tables();
}

TEST_F(ProducerTablesTest, ThatMakeNoSenseAreRefusedBeforeTheAttach) {
  ProducerOptions wrong = options();
  wrong.tables = {{1, 0, table(1)}};
  EXPECT_TRUE(says(refusal_of(wrong), {"pipeline 1, stage 0", "1 pipelines"}));
  wrong.tables = {{0, 0, {}}};
  EXPECT_TRUE(says(refusal_of(wrong), {"has no bytes"}));
}

TEST_F(ProducerTablesTest, AnUpdateStandsWhereItWasCalled) {
  FakeDaemon daemon(socket, {{.hold = true, .mask_from_table = true}});
  Producer sut(options());
  submit_filled(sut, 1);
  sut.update_table(0, 1, table(2));
  submit_filled(sut, 2);
  submit_filled(sut, 3);
  sut.update_table(0, 1, table(3));
  submit_filled(sut, 4);
  daemon.await_taken(6);
  daemon.answer_held();
  EXPECT_EQ(table_of(sut.wait_next()), 1);
  EXPECT_EQ(table_of(sut.wait_next()), 2);
  EXPECT_EQ(table_of(sut.wait_next()), 2);
  EXPECT_EQ(table_of(sut.wait_next()), 3);
  const SubmissionEntry update = daemon.taken().at(1);
  EXPECT_EQ(update.opcode, static_cast<std::uint8_t>(Opcode::table_update));
  EXPECT_EQ(update.job_id, 2U) << "ids are counted along";
  EXPECT_EQ(update.slot, kNoSlot);
  EXPECT_EQ(update.pipeline_index, 0);
  EXPECT_EQ(update.flags, 0);
  EXPECT_EQ(update.input_bytes, kTableBytes);
  EXPECT_EQ(update_of(update).stage_index, 1U);
  EXPECT_EQ(update_of(update).offset_bytes % kSmallStrideBytes, 0U);
  EXPECT_EQ(sut.counters().table_updates, 2U);
  EXPECT_EQ(sut.counters().results_collected, 4U);
}

TEST_F(ProducerTablesTest, AnUpdateOfAnotherSizeOrOfNoTableIsRefused) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  const auto bytes = table(2);
  for (const std::size_t size : {std::size_t{0}, kTableBytes - 1}) {
    EXPECT_THROW(sut.update_table(0, 1, std::span(bytes).first(size)), InvalidSubmission) << size;
  }
  EXPECT_THROW(sut.update_table(0, 1, std::vector<std::byte>(kTableBytes + 1)), InvalidSubmission);
  EXPECT_THROW(sut.update_table(0, 0, bytes), InvalidSubmission);
  EXPECT_THROW(sut.update_table(1, 1, bytes), InvalidSubmission);
  EXPECT_EQ(sut.counters().table_updates, 0U);
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 1))));
}

TEST_F(ProducerTablesTest, TwoUpdatesWaitForNothingAndTheThirdForThePlaceOfTheFirst) {
  FakeDaemon daemon(socket, {{.hold_updates = true}});
  Producer sut(options());
  sut.update_table(0, 1, table(2));
  sut.update_table(0, 1, table(3));
  daemon.await_taken(2);
  std::atomic<bool> submitted{false};
  std::thread third([&] {
    sut.update_table(0, 1, table(4));
    submitted = true;
  });
  // Something that another thread collects meanwhile does not free a place.
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 1))));
  EXPECT_FALSE(submitted);
  daemon.answer_updates(1);
  third.join();
  daemon.await_taken(4);
  const auto taken = daemon.taken();
  EXPECT_NE(update_of(taken[0]).offset_bytes, update_of(taken[1]).offset_bytes);
  EXPECT_EQ(update_of(taken[3]).offset_bytes, update_of(taken[0]).offset_bytes);
  daemon.answer_updates(2);
  sut.settle_tables();
}

TEST_F(ProducerTablesTest, APlaceIsNotWrittenWhileTheDaemonMayReadIt) {
  FakeDaemon daemon(socket, {{.mask_from_table = true, .hold_updates = true}});
  Producer sut(options());
  for (unsigned char value = 2; value < 12; ++value) {
    sut.update_table(0, 1, table(value));
    if (value > 2) {
      // The fake daemon reads the content when it answers, while the next one lies beside it.
      daemon.await_taken(2 * static_cast<std::size_t>(value) - 4);
      daemon.answer_updates(1);
    } else {
      continue;
    }
    EXPECT_EQ(table_of(sut.wait(submit_filled(sut, value))), value - 1);
  }
}

TEST_F(ProducerTablesTest, WhoeverSettlesDoesNotWaitForUpdatesThatComeLater) {
  FakeDaemon daemon(socket, {{.hold_updates = true}});
  Producer sut(options());
  sut.update_table(0, 1, table(2));
  daemon.await_taken(1);
  std::thread settling([&] { sut.settle_tables(); });
  ASSERT_TRUE(eventually([&] { return sut.counters().semaphore_waits > 0; }));
  sut.update_table(0, 1, table(3));
  daemon.await_taken(2);
  daemon.answer_updates(1);
  settling.join();
  daemon.answer_updates(1);
  sut.settle_tables();
}

TEST_F(ProducerTablesTest, ARefusedUpdateIsToldOnceAndTheOldTableStays) {
  FakeDaemon daemon(socket,
                    {{.mask_from_table = true, .update_status = JobStatus::request_refused}});
  Producer sut(options());
  sut.update_table(0, 1, table(2));
  EXPECT_EQ(table_of(sut.wait(submit_filled(sut, 1))), 1);
  EXPECT_EQ(sut.counters().table_updates_refused, 1U);
  try {
    sut.update_table(0, 1, table(3));
    FAIL() << "the daemon refused the one before";
  } catch (const TableRefused& error) {
    EXPECT_EQ(error.pipeline_index(), 0);
    EXPECT_EQ(error.stage_index(), 1);
    EXPECT_TRUE(says(error.what(), {"pipeline 0, stage 1", "the table before"}));
  }
  EXPECT_EQ(sut.counters().table_updates, 1U) << "nothing of that call was done";
  sut.settle_tables();
  sut.update_table(0, 1, table(4));
  EXPECT_THROW(sut.settle_tables(), TableRefused);
  sut.settle_tables();
}

TEST_F(ProducerTablesTest, AnAnswerToAnUpdateThatIsNotUnderWayEndsTheChannel) {
  FakeDaemon daemon(socket, {{.update_status = JobStatus::cancelled}});
  Producer sut(options());
  sut.update_table(0, 1, table(2));
  EXPECT_THROW(sut.settle_tables(), ChannelClosed);
}

TEST_F(ProducerTablesTest, ADaemonWithoutTablesIsOfAnotherVersion) {
  FakeDaemon daemon(socket, {{.features = 0}});
  try {
    const Producer sut(options());
    FAIL() << "it does not know tables";
  } catch (const AttachError& error) {
    EXPECT_EQ(error.failure(), AttachFailure::not_overlapd);
    EXPECT_TRUE(says(error.what(), {"does not know tables"}));
  }
}

TEST_F(ProducerTablesTest, UpdatesCancelsAndJobsShareARingOfTheSmallestSize) {
  // One slot: a ring of two, of which one is for what is no job.
  FakeDaemon daemon(socket, {{.mask_from_table = true}});
  Producer sut(options(1));
  for (unsigned char value = 2; value < 60; ++value) {
    sut.update_table(0, 1, table(value));
    const JobId id = submit_filled(sut, value);
    const bool cancelled = value % 3 == 0 && sut.cancel(id);
    sut.reset_state(0);
    const Result result = sut.wait(id);
    if (!cancelled || result.ok()) {
      EXPECT_EQ(table_of(result), value);
    } else {
      EXPECT_EQ(result.status(), JobStatus::cancelled);
    }
  }
  sut.settle_tables();
}

TEST_F(ProducerTablesTest, AnswersThatNobodyCollectsKeepNoJobFromTheDaemon) {
  // One slot: two places for answers, of which one is the job's.
  FakeDaemon daemon(socket, {{.mask_from_table = true, .hold_updates = true}});
  Producer sut(options(1));
  Slot slot = sut.acquire();
  fill(slot, 1);
  sut.update_table(0, 1, table(2));
  daemon.await_taken(1);
  sut.update_table(0, 1, table(3));
  daemon.answer_updates(1);
  const JobId id = sut.submit(std::move(slot), 1);
  daemon.await_taken(3);
  daemon.answer_updates(1);
  EXPECT_EQ(table_of(sut.wait(id)), 2);
}

TEST_F(ProducerTablesTest, ManyThreadsUpdateTheSameTable) {
  FakeDaemon daemon(socket, {{.mask_from_table = true}});
  Producer sut(options());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        sut.update_table(0, 1, table(static_cast<unsigned char>(10 + thread)));
        const Result result = sut.wait(submit_filled(sut, 1));
        const unsigned char seen = table_of(result);
        right += seen == 10 || seen == 11 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 200);
  sut.settle_tables();
  EXPECT_EQ(sut.counters().table_updates, 200U);
}

// ------------------------------------------------------------------- when the daemon goes

TEST_F(ProducerTablesTest, TheNextDaemonBeginsWithTheLatestTable) {
  FakeDaemon daemon(socket, {{.mask_from_table = true}, {.mask_from_table = true}});
  Producer sut(options());
  sut.update_table(0, 1, table(2));
  sut.settle_tables();
  daemon.hang_up(false);
  EXPECT_EQ(table_of(sut.wait(submit_filled(sut, 1))), 2);
  EXPECT_EQ(sut.resume_count(), 1U);
  EXPECT_EQ(daemon.first_tables(), Tables{table(2)});
  EXPECT_EQ(daemon.requests().at(1).features_required, kFeatureTables);
}

TEST_F(ProducerTablesTest, APendingUpdateIsRepeatedAtItsPlace) {
  FakeDaemon daemon(socket, {{.hold = true, .hold_updates = true}, {.mask_from_table = true}});
  Producer sut(options());
  submit_filled(sut, 1);
  sut.update_table(0, 1, table(2));
  submit_filled(sut, 2);
  daemon.await_taken(3);
  daemon.hang_up(false);
  EXPECT_EQ(table_of(sut.wait_next()), 1);
  EXPECT_EQ(table_of(sut.wait_next()), 2);
  EXPECT_EQ(daemon.first_tables(), Tables{table(1)});
  const auto taken = daemon.taken();
  ASSERT_EQ(taken.size(), 6U);
  EXPECT_EQ(opcodes(taken), (std::vector{Opcode::job, Opcode::table_update, Opcode::job,
                                         Opcode::job, Opcode::table_update, Opcode::job}));
  EXPECT_EQ(taken[4].job_id, taken[1].job_id);
  sut.settle_tables();
  EXPECT_EQ(sut.counters().table_updates, 1U);
}

TEST_F(ProducerTablesTest, AnAnsweredUpdateIsRepeatedForAJobBeforeItThatHasNoResult) {
  FakeDaemon daemon(socket, {{.hold = true}, {.mask_from_table = true}});
  Producer sut(options());
  submit_filled(sut, 1);
  sut.update_table(0, 1, table(2));
  sut.settle_tables();
  submit_filled(sut, 2);
  daemon.await_taken(3);
  daemon.hang_up(false);
  EXPECT_EQ(table_of(sut.wait_next()), 1);
  EXPECT_EQ(table_of(sut.wait_next()), 2);
}

TEST_F(ProducerTablesTest, ARefusedUpdateIsNotRepeated) {
  FakeDaemon daemon(socket, {{.hold = true, .update_status = JobStatus::request_refused},
                             {.mask_from_table = true}});
  Producer sut(options());
  submit_filled(sut, 1);
  sut.update_table(0, 1, table(2));
  EXPECT_THROW(sut.settle_tables(), TableRefused);
  submit_filled(sut, 2);
  daemon.await_taken(3);
  daemon.hang_up(false);
  EXPECT_EQ(table_of(sut.wait_next()), 1);
  EXPECT_EQ(table_of(sut.wait_next()), 1);
}

TEST_F(ProducerTablesTest, MoreUpdatesThanPlacesAreRepeatedOneAfterTheOther) {
  FakeDaemon daemon(socket, {{.hold = true}, {.mask_from_table = true}});
  Producer sut(options(8));
  for (unsigned char value = 1; value <= 8; ++value) {
    if (value > 1) {
      sut.update_table(0, 1, table(value));
      sut.settle_tables();
    }
    submit_filled(sut, value);
  }
  daemon.await_taken(15);
  daemon.hang_up(false);
  for (unsigned char value = 1; value <= 8; ++value) {
    EXPECT_EQ(table_of(sut.wait_next()), value);
  }
  sut.update_table(0, 1, table(9));
  EXPECT_EQ(table_of(sut.wait(submit_filled(sut, 9))), 9);
}

TEST_F(ProducerTablesTest, AnUpdateThatWaitsForAPlaceGoesOnWithTheNextDaemon) {
  FakeDaemon daemon(socket, {{.hold_updates = true}, {.mask_from_table = true}});
  Producer sut(options());
  sut.update_table(0, 1, table(2));
  sut.update_table(0, 1, table(3));
  daemon.await_taken(2);
  std::thread third([&] { sut.update_table(0, 1, table(4)); });
  daemon.hang_up(false);
  third.join();
  EXPECT_EQ(table_of(sut.wait(submit_filled(sut, 1))), 4);
}

TEST_F(ProducerTablesTest, MoreRepeatedUpdatesThanPlacesHoldUpNoJobWhileTheProgramDoesNotCall) {
  FakeDaemon daemon(socket, {{.hold = true}, {.mask_from_table = true}});
  Producer sut(options());
  submit_filled(sut, 1);
  for (unsigned char value = 2; value < 5; ++value) {
    sut.update_table(0, 1, table(value));
    submit_filled(sut, value);
  }
  sut.settle_tables();
  daemon.await_taken(7);
  daemon.hang_up(false);
  daemon.await_taken(2 * 7);
  for (unsigned char value = 1; value < 5; ++value) {
    EXPECT_EQ(table_of(sut.wait_next()), value);
  }
}

TEST_F(ProducerTablesTest, AnUpdateThatWaitsForAPlaceEndsWithTheChannel) {
  FakeDaemon daemon(socket, {{.hold_updates = true}});
  ProducerOptions once = options();
  once.resume = false;
  Producer sut(once);
  sut.update_table(0, 1, table(2));
  sut.update_table(0, 1, table(3));
  daemon.await_taken(2);
  std::thread third([&] { EXPECT_THROW(sut.update_table(0, 1, table(4)), DaemonGone); });
  daemon.hang_up(false);
  third.join();
  EXPECT_THROW(sut.settle_tables(), DaemonGone);
}

TEST_F(ProducerTablesTest, EveryJobFindsItsTableWhileDaemonsDieUnderLoad) {
  std::vector<DaemonScript> scripts;
  for (const std::uint32_t jobs : {3U, 11U, 0U, 7U}) {
    scripts.push_back({.die_after = jobs, .mask_from_table = true});
  }
  scripts.push_back({.mask_from_table = true});
  FakeDaemon daemon(socket, scripts);
  Producer sut(options());
  constexpr std::uint64_t kJobs = 60;
  std::thread feeder([&] {
    for (std::uint64_t tag = 1; tag <= kJobs; ++tag) {
      sut.update_table(0, 1, table(static_cast<unsigned char>(tag)));
      submit_filled(sut, tag);
    }
  });
  for (std::uint64_t tag = 1; tag <= kJobs; ++tag) {
    const Result result = sut.wait_next();
    EXPECT_EQ(result.tag(), tag);
    EXPECT_EQ(table_of(result), tag) << result.status_text();
  }
  feeder.join();
  EXPECT_EQ(sut.resume_count(), 4U);
}

}  // namespace
}  // namespace overlap::testing
