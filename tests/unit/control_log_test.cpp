#include "producer/control_log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace overlap {
namespace {

constexpr std::size_t kTableBytes = 8;

std::vector<std::byte> content(unsigned char value) {
  return std::vector<std::byte>(kTableBytes, std::byte{value});
}

/// Jobs, updates and resets of one Producer, in the order in which the test names them.
struct ControlLogTest : ::testing::Test {
  JobRecord& job(std::uint8_t pipeline_index = 0) {
    JobRecord& made = jobs.add();
    made.pipeline_index = pipeline_index;
    jobs.mark_submitted(made);
    return made;
  }
  void finish(JobRecord& made) { jobs.finish(made, {}, 1); }

  JobId reset(std::uint8_t pipeline_index = 0) {
    ControlRecord record;
    record.pipeline_index = pipeline_index;
    return add(std::move(record));
  }
  JobId update(unsigned char value, std::uint8_t table = 0) {
    ControlRecord record;
    record.opcode = Opcode::table_update;
    record.pipeline_index = table;
    record.table = table;
    record.content = content(value);
    return add(std::move(record));
  }
  JobId add(ControlRecord record) {
    const JobId id = jobs.take_id();
    record.id = id;
    sut.add(std::move(record));
    return id;
  }

  void write_all() {
    while (ControlRecord* const record = sut.first_queued()) {
      sut.mark_written(*record);
    }
  }
  void answer(JobId id) { sut.find(id)->phase = ControlPhase::answered; }
  JobId answered(JobId id) {
    write_all();
    answer(id);
    return id;
  }

  /// The ids that are left.
  std::vector<JobId> compacted() {
    sut.compact(jobs, tables);
    sut.queue_all();
    std::vector<JobId> left;
    while (ControlRecord* const record = sut.first_queued()) {
      left.push_back(record->id);
      sut.mark_written(*record);
    }
    return left;
  }
  /// What the next channel would begin with.
  unsigned char first_content(std::uint8_t table = 0) const {
    std::vector<std::byte> region(tables.region_bytes());
    tables.write_contents(region);
    return static_cast<unsigned char>(region[tables.offset_bytes(table, 0)]);
  }

  JobTable jobs;
  ChannelTables tables{{{0, 0, content(1)}, {1, 0, content(101)}}, 2};
  ControlLog sut;
};

TEST_F(ControlLogTest, HasNothingAtFirst) {
  EXPECT_EQ(sut.size(), 0U);
  EXPECT_EQ(sut.first_queued(), nullptr);
  EXPECT_EQ(sut.find(JobId{1}), nullptr);
  EXPECT_FALSE(sut.has_unanswered(sut.last_id()));
  EXPECT_FALSE(sut.waits_for_place(0));
  EXPECT_EQ(compacted(), std::vector<JobId>{});
  EXPECT_EQ(first_content(), 1);
}

TEST_F(ControlLogTest, GivesWhatIsQueuedInOrder) {
  const JobId first = reset();
  const JobId second = update(2);
  ASSERT_NE(sut.first_queued(), nullptr);
  EXPECT_EQ(sut.first_queued()->id, first);
  EXPECT_TRUE(sut.waits_for_place(0));
  EXPECT_FALSE(sut.waits_for_place(1));
  sut.mark_written(*sut.first_queued());
  EXPECT_EQ(sut.first_queued()->id, second);
  sut.first_queued()->place = 1;
  EXPECT_FALSE(sut.waits_for_place(0));
  sut.mark_written(*sut.first_queued());
  EXPECT_EQ(sut.first_queued(), nullptr);
  EXPECT_TRUE(sut.has_unanswered(sut.last_id()));
  EXPECT_FALSE(sut.has_unanswered(first)) << "a reset is never answered";
  answer(second);
  EXPECT_FALSE(sut.has_unanswered(sut.last_id()));
}

TEST_F(ControlLogTest, KnowsWhatIsUnansweredUpToAnUpdate) {
  const JobId first = update(2);
  const JobId second = update(3);
  write_all();
  EXPECT_EQ(sut.last_id(), second);
  answer(first);
  EXPECT_FALSE(sut.has_unanswered(first));
  EXPECT_TRUE(sut.has_unanswered(second));
}

TEST_F(ControlLogTest, ForgetsARefusedUpdate) {
  const JobId first = update(2);
  const JobId second = update(3);
  write_all();
  sut.remove(*sut.find(first));
  EXPECT_EQ(sut.find(first), nullptr);
  answer(second);
  EXPECT_EQ(compacted(), std::vector<JobId>{});
  EXPECT_EQ(first_content(), 3);
}

TEST_F(ControlLogTest, AnAnsweredUpdateWithoutJobsBeforeItIsWhatTheNextChannelBeginsWith) {
  answered(update(2));
  answered(update(3));
  job();
  EXPECT_EQ(compacted(), std::vector<JobId>{});
  EXPECT_EQ(first_content(0), 3);
  EXPECT_EQ(first_content(1), 101);
}

TEST_F(ControlLogTest, AnUpdateBehindAJobWithoutResultIsKeptEvenWhenItIsAnswered) {
  JobRecord& before = job();
  const JobId id = answered(update(2));
  job();
  EXPECT_EQ(compacted(), std::vector<JobId>{id});
  EXPECT_EQ(first_content(), 1);
  answer(id);
  finish(before);
  EXPECT_EQ(compacted(), std::vector<JobId>{});
  EXPECT_EQ(first_content(), 2);
}

TEST_F(ControlLogTest, AJobOfAnotherPipelineKeepsNothing) {
  job(1);
  answered(update(2, 0));
  reset(0);
  write_all();
  EXPECT_EQ(compacted(), std::vector<JobId>{});
  EXPECT_EQ(first_content(0), 2);
}

TEST_F(ControlLogTest, KeepsOneAnsweredUpdateBetweenTwoJobs) {
  job();
  answered(update(2));
  answered(update(3));
  const JobId needed = answered(update(4));
  job();
  const JobId last = answered(update(5));
  EXPECT_EQ(compacted(), (std::vector<JobId>{needed, last}));
}

TEST_F(ControlLogTest, KeepsWhatAnUpdateThatMayBeRefusedWouldReplace) {
  job();
  const JobId taken = answered(update(2));
  const JobId pending = update(3);
  write_all();
  EXPECT_EQ(compacted(), (std::vector<JobId>{taken, pending}));
}

TEST_F(ControlLogTest, AnUpdateNeverOvertakesAnOlderOneThatIsPending) {
  const JobId pending = update(2);
  write_all();
  const JobId later = answered(update(3));
  EXPECT_EQ(compacted(), (std::vector<JobId>{pending, later}));
  EXPECT_EQ(first_content(), 1);
}

TEST_F(ControlLogTest, KeepsOneResetBetweenTwoJobs) {
  const JobId nothing_before = reset();
  write_all();
  job();
  reset();
  const JobId between = reset();
  job();
  const JobId queued = reset();
  EXPECT_EQ(compacted(), (std::vector<JobId>{between, queued}));
  EXPECT_EQ(sut.find(nothing_before), nullptr);
}

TEST_F(ControlLogTest, AResetThatIsNotWrittenYetIsKeptWithoutJobsToo) {
  const JobId queued = reset();
  sut.compact(jobs, tables);
  ASSERT_NE(sut.first_queued(), nullptr);
  EXPECT_EQ(sut.first_queued()->id, queued);
  write_all();
  sut.compact(jobs, tables);
  EXPECT_EQ(sut.size(), 0U);
}

TEST_F(ControlLogTest, StaysSmallBehindAJobThatNeverEnds) {
  job();
  for (int round = 0; round < 100; ++round) {
    JobRecord& passing = job();
    answered(update(static_cast<unsigned char>(round)));
    reset();
    write_all();
    finish(passing);
    sut.compact(jobs, tables);
  }
  EXPECT_EQ(sut.size(), 2U);
}

}  // namespace
}  // namespace overlap
