#include "daemon/control/session_table.hpp"

#include "tests/unit/says.hpp"
#include "tests/unit/session_table_fixture.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using testing::eventually;
using testing::kSlots;
using testing::page_slots;
using testing::RawClient;
using testing::says;

using SessionCrowdTest = testing::SessionTableFixture;

TEST_F(SessionCrowdTest, RefusesRatherThanEndForWantOfDescriptors) {
  start();
  RawClient busy = attached();
  for (std::size_t left = 0; left <= 2; ++left) {
    RawClient sut = client();
    static_cast<void>(sut.ask_status());
    AttachReply reply{};
    {
      const testing::DescriptorLimit limit(left);
      sut.send_request(page_slots(kSlots));
      reply = sut.receive_reply();
    }
    EXPECT_EQ(reply.code, AttachCode::memory_refused) << left;
    EXPECT_TRUE(says(read_text(reply.text), {"Too many open files", ";"}));
  }
  EXPECT_TRUE(serves(busy));
  RawClient sut = attached();
  EXPECT_TRUE(serves(sut));
}

TEST_F(SessionCrowdTest, LeavesTheOthersAloneWhereItRefuses) {
  start(1, 10);
  RawClient neighbour = attached();
  neighbour.submit(1, 0);
  for (const auto& [geometry, pipeline, code] :
       {std::tuple(GeometryRequest{0, 1, 1, 0}, "copy", AttachCode::geometry_refused),
        std::tuple(GeometryRequest{UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, "copy",
                   AttachCode::geometry_refused),
        std::tuple(page_slots(1), "nonsense", AttachCode::pipeline_refused),
        std::tuple(page_slots(1), "scale:a=inf", AttachCode::pipeline_refused),
        std::tuple(page_slots(1), "copy", AttachCode::daemon_full)}) {
    RawClient sut = client();
    sut.send_request(geometry, pipeline);
    const AttachReply reply = sut.receive_reply();
    EXPECT_EQ(reply.code, code);
    EXPECT_FALSE(read_text(reply.text).empty());
    EXPECT_EQ(reply.max_slot_count, settings_.limits.geometry.max_slot_count);
    EXPECT_TRUE(sut.sees_the_end());
  }
  EXPECT_TRUE(neighbour.collect());
  EXPECT_TRUE(neighbour.output_is_copy(1, 0));
  EXPECT_TRUE(serves(neighbour, 2));
  EXPECT_EQ(daemon_->status().channel_count, 1U);
}

TEST_F(SessionCrowdTest, HoldsNothingMoreAfterTwoHundredRounds) {
  start();
  RawClient asking = client();
  attached().hang_up();
  ASSERT_TRUE(everything_is_given_back());
  const auto descriptors = [] { return testing::open_descriptor_count(); };
  std::size_t base_line = descriptors();
  // The status clients' own connections end a moment later.
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(asking.ask_status());
    const std::size_t now = descriptors();
    return std::exchange(base_line, now) == now;
  }));
  for (int round = 0; round < 200; ++round) {
    RawClient sut = attached();
    if (round % 10 == 0) {
      EXPECT_TRUE(serves(sut, static_cast<std::uint64_t>(round) + 1));
    }
  }
  EXPECT_TRUE(everything_is_given_back());
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(asking.ask_status());
    return descriptors() <= base_line;
  }));
}

TEST_F(SessionCrowdTest, ServesSixteenThatComeAtOnce) {
  constexpr std::size_t kProducers = 16;
  constexpr int kRounds = 4;
  start();
  std::barrier together(kProducers);
  std::vector<std::thread> producers;
  for (std::size_t i = 0; i < kProducers; ++i) {
    producers.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        RawClient sut = attached();
        for (std::uint64_t job = 0; job < 10; ++job) {
          EXPECT_TRUE(serves(sut, 1000 * i + job));
        }
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  EXPECT_TRUE(everything_is_given_back());
  EXPECT_EQ(daemon_->status().jobs_done, kProducers * kRounds * 10);
}

TEST_F(SessionCrowdTest, SurvivesManyThatComeAndGoAtAnyMoment) {
  constexpr std::size_t kProducers = 8;
  start(6, 64);
  RawClient neighbour = attached();
  std::vector<std::thread> producers;
  for (std::size_t i = 0; i < kProducers; ++i) {
    producers.emplace_back([&, i] {
      for (std::size_t round = 0; round < 40; ++round) {
        RawClient sut = client();
        const std::size_t last_step = (i + round) % 5;
        if (last_step == 0) {
          continue;
        }
        sut.send_request(page_slots(kSlots));
        if (last_step == 1 || sut.receive_reply().code != AttachCode::accepted) {
          continue;
        }
        if (last_step == 2) {
          continue;
        }
        sut.map();
        if (last_step == 3) {
          continue;
        }
        sut.await_ready();
        sut.submit(1, 0);
      }
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  EXPECT_TRUE(serves(neighbour));
  neighbour.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

}  // namespace
}  // namespace overlap
