// Every way in which bytes reach the kernels, against each other and against the reference.

#include "daemon/engine/engine.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::expect_copies;
using testing::submit_many;

constexpr VirtualCosts kSlow = {.copy_in = 1ms, .copy_out = 1ms, .kernel = 3ms};
constexpr VirtualResources kReaching = {.kernels_reach_pinned = true};
constexpr std::array<std::optional<Path>, 4> kRules = {std::nullopt, Path::copy, Path::mapped,
                                                       Path::gather};

std::string name_of(std::optional<Path> rule) {
  return !rule                   ? "auto"
         : *rule == Path::copy   ? "copy"
         : *rule == Path::mapped ? "mapped"
                                 : "gather";
}

EngineSettings on_path(std::optional<Path> rule) {
  EngineSettings settings;
  settings.lane_count = 2;
  settings.depth = 2;
  settings.path.only = rule;
  return settings;
}

/// Fills with small numbers: any kernel can compute with them and no two slots are alike.
void fill_numbers(std::span<std::byte> input, std::mt19937& random) {
  for (std::size_t at = 0; at < input.size(); at += sizeof(float)) {
    const float number = static_cast<float>(random() % 100'000) / 8;
    std::memcpy(input.data() + at, &number, std::min(sizeof number, input.size() - at));
  }
}

/// Three producers, each slot with another size, over and over: every answer is the reference's, and
/// not a byte behind it was written.
/// @param granule what the sizes are multiples of
void expect_reference(const EngineSettings& settings, const std::string& pipeline,
                      std::uint64_t granule, std::uint64_t& batches_by_kernels) {
  constexpr ChannelHarness::Shape kShape = {
      .slot_count = 9, .input_bytes = 4500, .output_bytes = 9100, .pin_chunk_bytes = 3 * 4096};
  EngineHarness sut(settings, kSlow, kReaching);
  std::vector<ChannelHarness*> producers;
  for (int i = 0; i < 3; ++i) {
    producers.push_back(&sut.attach({pipeline}, kShape));
  }
  std::mt19937 random(7);
  const std::uint64_t granules = kShape.input_bytes / granule;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<std::uint64_t>> sizes(3);
    for (std::size_t i = 0; i < producers.size(); ++i) {
      for (std::uint32_t slot = 0; slot < kShape.slot_count; ++slot) {
        // The smallest, the largest, and anything between.
        const std::uint64_t count = slot == 0 ? 1 : slot == 1 ? granules : 1 + random() % granules;
        sizes[i].push_back(count * granule);
        fill_numbers(producers[i]->view().input(slot).first(sizes[i][slot]), random);
        std::ranges::fill(producers[i]->view().output(slot), std::byte{0xc5});
        producers[i]->submit(slot, slot, sizes[i][slot]);
      }
    }
    sut.run();
    for (std::size_t i = 0; i < producers.size(); ++i) {
      const auto completed = producers[i]->collect();
      ASSERT_EQ(completed.size(), kShape.slot_count);
      for (const CompletionEntry& entry : completed) {
        ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
        const auto expected = producers[i]->pipeline().reference(
            producers[i]->view().input(entry.slot).first(sizes[i][entry.slot]));
        const auto output = producers[i]->view().output(entry.slot);
        ASSERT_EQ(entry.output_bytes, expected.size());
        ASSERT_TRUE(std::ranges::equal(output.first(expected.size()), expected))
            << sizes[i][entry.slot] << " bytes";
        const auto behind = output.subspan(expected.size());
        ASSERT_EQ(std::ranges::count(behind, std::byte{0xc5}),
                  static_cast<std::ptrdiff_t>(behind.size()));
      }
    }
  }
  const EngineCounters& counted = sut.engine.counters();
  batches_by_kernels = counted.batches_mapped + counted.batches_gathered;
}

struct Tried {
  std::string pipeline;
  std::uint64_t granule;
};

TEST(EnginePaths, AllGiveWhatTheReferenceGives) {
  for (const Tried& tried :
       {Tried{"copy", 1}, Tried{"scale:a=3,b=1,type=u8", 1}, Tried{"scale:a=-0.5,b=2", 4},
        Tried{"transpose:rows=7,cols=5", 140}, Tried{"vector_add", 8},
        Tried{"vector_add:repeat=2", 8}, Tried{"twice", 1}}) {
    for (const std::optional<Path> rule : kRules) {
      for (const LaneKind kind : {LaneKind::single, LaneKind::three}) {
        SCOPED_TRACE(tried.pipeline + " by " + name_of(rule));
        EngineSettings settings = on_path(rule);
        settings.lane_kind = kind;
        settings.max_batch_jobs = 7;
        std::uint64_t by_kernels = 0;
        ASSERT_NO_FATAL_FAILURE(
            expect_reference(settings, tried.pipeline, tried.granule, by_kernels));
        EXPECT_EQ(by_kernels == 0, rule == Path::copy);
      }
    }
  }
}

TEST(EnginePaths, AllGiveWhatTheReferenceGivesOverSeveralStages) {
  for (const Tried& tried :
       {Tried{"scale:a=3,b=1,type=u8|copy", 1}, Tried{"copy|vector_add:repeat=2|copy", 8},
        Tried{"twice|vector_add", 4}, Tried{"vector_add:repeat=3|scale:a=2", 8},
        Tried{"scale:a=2|transpose:rows=5,cols=3|scale:a=0.5|copy", 60},
        Tried{"copy|copy|copy|copy|copy|copy|copy|copy", 1}}) {
    for (const std::optional<Path> rule : kRules) {
      for (const std::uint32_t max_batch_jobs : {1U, 5U, 256U}) {
        SCOPED_TRACE(tried.pipeline + " by " + name_of(rule));
        EngineSettings settings = on_path(rule);
        settings.max_batch_jobs = max_batch_jobs;
        std::uint64_t by_kernels = 0;
        ASSERT_NO_FATAL_FAILURE(
            expect_reference(settings, tried.pipeline, tried.granule, by_kernels));
        EXPECT_EQ(by_kernels == 0, rule == Path::copy);
      }
    }
  }
}

struct Counted {
  std::uint64_t copied;
  std::uint64_t mapped;
  std::uint64_t gathered;
  std::uint64_t launches;
  std::uint64_t copy_calls;

  bool operator==(const Counted&) const = default;
};

/// What one batch of four jobs does.
Counted count_one_batch(const EngineSettings& settings, const VirtualResources& resources,
                        const std::string& pipeline, const ChannelHarness::Shape& shape = {}) {
  EngineHarness sut(settings, {}, resources);
  ChannelHarness& producer = sut.attach({pipeline}, shape);
  submit_many(producer, 4);
  sut.run();
  EXPECT_EQ(producer.collect().size(), 4U);
  const EngineCounters& counted = sut.engine.counters();
  const std::uint64_t by_kernels = counted.batches_mapped + counted.batches_gathered;
  return {counted.batches - by_kernels, counted.batches_mapped, counted.batches_gathered,
          sut.device.calls(Call::launch),
          sut.device.calls(Call::copy_in) + sut.device.calls(Call::copy_out)};
}

TEST(EnginePaths, AreCountedAndLaunchNoMoreThanTheyNeed) {
  EXPECT_EQ(count_one_batch(on_path(Path::copy), kReaching, "copy|copy"),
            (Counted{.copied = 1, .mapped = 0, .gathered = 0, .launches = 2, .copy_calls = 2}));
  EXPECT_EQ(count_one_batch(on_path(Path::mapped), kReaching, "copy|copy"),
            (Counted{.copied = 0, .mapped = 1, .gathered = 0, .launches = 2, .copy_calls = 0}));
  EXPECT_EQ(count_one_batch(on_path(Path::gather), kReaching, "copy|copy"),
            (Counted{.copied = 0, .mapped = 0, .gathered = 1, .launches = 4, .copy_calls = 0}));
}

TEST(EnginePaths, AKernelThatReadsItsInputTwiceIsGathered) {
  constexpr Counted kGathered = {
      .copied = 0, .mapped = 0, .gathered = 1, .launches = 3, .copy_calls = 0};
  EXPECT_EQ(count_one_batch(on_path(Path::mapped), kReaching, "vector_add:repeat=2"), kGathered);
  EXPECT_EQ(count_one_batch(on_path(std::nullopt), kReaching, "vector_add:repeat=2"), kGathered);
  EXPECT_EQ(count_one_batch(on_path(std::nullopt), kReaching, "vector_add").mapped, 1U);
}

TEST(EnginePaths, OnlyTheEndsOfAPipelineHaveToBeFitForTheSlots) {
  const auto counted = [](const std::string& pipeline) {
    return count_one_batch(on_path(std::nullopt), kReaching, pipeline);
  };
  EXPECT_EQ(counted("copy|vector_add:repeat=2|copy").mapped, 1U);
  EXPECT_EQ(counted("vector_add:repeat=2|copy").gathered, 1U);
  EXPECT_EQ(counted("copy|vector_add:repeat=2").gathered, 1U);
}

TEST(EnginePaths, GoBySizeWhereNoneIsNamed) {
  EngineSettings settings = on_path(std::nullopt);
  settings.path.copy_from_job_bytes = 1000;
  settings.path.copy_from_batch_bytes = 2000;
  EngineHarness sut(settings, {}, kReaching);
  ChannelHarness& producer = sut.attach({"copy"});
  const EngineCounters& counted = sut.engine.counters();
  submit_many(producer, 1, 1000);
  sut.run();
  EXPECT_EQ(counted.batches_mapped, 1U) << "too few bytes together";
  expect_copies(producer, 1);
  submit_many(producer, 4, 999);
  sut.run();
  EXPECT_EQ(counted.batches_mapped, 2U) << "too few bytes each";
  expect_copies(producer, 4);
  submit_many(producer, 2, 1000);
  sut.run();
  EXPECT_EQ(counted.batches_mapped, 2U);
  EXPECT_EQ(counted.batches, 3U);
  EXPECT_EQ(sut.device.calls(Call::copy_in), 1U);
  expect_copies(producer, 2);
}

TEST(EnginePaths, AreCopiesWhereKernelsDoNotReachTheSlots) {
  for (const std::optional<Path> rule : kRules) {
    SCOPED_TRACE(name_of(rule));
    EXPECT_EQ(count_one_batch(on_path(rule), {}, "copy"),
              (Counted{.copied = 1, .mapped = 0, .gathered = 0, .launches = 1, .copy_calls = 2}));
    EXPECT_EQ(count_one_batch(on_path(rule), kReaching, "copy", {.pinned = false}),
              (Counted{.copied = 1, .mapped = 0, .gathered = 0, .launches = 1, .copy_calls = 2}));
  }
}

TEST(EnginePaths, DoNotMatterWhereKernelsWorkInTheSlotsAnyway) {
  for (const std::optional<Path> rule : kRules) {
    SCOPED_TRACE(name_of(rule));
    EXPECT_EQ(count_one_batch(on_path(rule), {.works_in_place = true}, "copy|copy"),
              (Counted{.copied = 1, .mapped = 0, .gathered = 0, .launches = 2, .copy_calls = 0}));
  }
}

TEST(EnginePaths, AnUnpinnedChannelSharesNoBatchWithPinnedOnes) {
  for (const std::optional<Path> rule : kRules) {
    SCOPED_TRACE(name_of(rule));
    EngineHarness sut(on_path(rule), {}, kReaching);
    ChannelHarness& unpinned = sut.attach({"copy"}, {.pinned = false});
    ChannelHarness& pinned = sut.attach({"copy"});
    ChannelHarness& another = sut.attach({"copy"}, {.pinned = false});
    for (ChannelHarness* producer : {&unpinned, &pinned, &another}) {
      submit_many(*producer, 4);
    }
    sut.run();
    for (ChannelHarness* producer : {&unpinned, &pinned, &another}) {
      expect_copies(*producer, 4);
    }
    const EngineCounters& counted = sut.engine.counters();
    EXPECT_EQ(counted.batches, 2U) << "the unpinned ones together";
    EXPECT_EQ(counted.batches_mapped + counted.batches_gathered, rule == Path::copy ? 0U : 1U);
  }
}

TEST(EnginePaths, AFaultOnAnyPathIsRetriedJobByJob) {
  for (const std::optional<Path> rule : kRules) {
    for (std::uint64_t nth = 1; nth <= 3; ++nth) {
      SCOPED_TRACE(name_of(rule) + ", launch " + std::to_string(nth));
      EngineHarness sut(on_path(rule), kSlow, kReaching);
      ChannelHarness& producer = sut.attach({"copy"});
      sut.device.fail(Call::launch, nth, {DeviceOutcome::failed, 719});
      submit_many(producer, 5);
      sut.run();
      expect_copies(producer, 5);
      EXPECT_EQ(sut.engine.counters().jobs_failed, 0U);
    }
  }
}

}  // namespace
}  // namespace overlap
