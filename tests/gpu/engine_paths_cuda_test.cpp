// Every way in which bytes reach the kernels, on a GPU, against the reference.

#include "daemon/engine/engine.hpp"
#include "kernels/kernel_registry.hpp"
#include "shared/monotonic_clock.hpp"
#include "tests/gpu/cuda_fixture.hpp"
#include "tests/gpu/pinned_producer.hpp"
#include "tests/gpu/working_engine.hpp"
#include "tests/unit/channel_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace overlap::test {
namespace {

using overlap::testing::ChannelHarness;
using overlap::testing::RecordingListener;

constexpr std::byte kUntouched{0xc5};
constexpr std::array<std::optional<Path>, 4> kRules = {std::nullopt, Path::copy, Path::mapped,
                                                       Path::gather};

struct Tried {
  const char* pipeline;
  /// What the sizes are multiples of.
  std::uint64_t granule;

  friend std::ostream& operator<<(std::ostream& out, const Tried& tried) {
    return out << tried.pipeline;
  }
};

/// Fills with small numbers: any kernel can compute with them and no two slots are alike.
void fill_numbers(std::span<std::byte> input, std::mt19937& random) {
  for (std::size_t at = 0; at < input.size(); at += sizeof(float)) {
    const float number = static_cast<float>(random() % 100'000) / 8;
    std::memcpy(input.data() + at, &number, std::min(sizeof number, input.size() - at));
  }
}

class EnginePathsCuda : public CudaFixture {
 protected:
  EnginePathsCuda() : registry_(KernelRegistry::with_builtin_kernels()) {}

  using Producers = std::vector<std::unique_ptr<PinnedProducer>>;

  Producers producers(std::size_t count, const std::string& pipeline,
                      const ChannelHarness::Shape& shape) {
    Producers made;
    for (std::uint64_t id = 1; id <= count; ++id) {
      made.push_back(std::make_unique<PinnedProducer>(device(), id, pipeline, shape, registry_));
    }
    return made;
  }

  /// One round: every slot of every producer with a size of its own, then every byte of the answers.
  void expect_reference(Engine& sut, Producers& producers, std::uint64_t granule) {
    const ChannelGeometry& geometry = (*producers[0])->view().geometry();
    const std::uint64_t granules = geometry.input_bytes / granule;
    std::vector<std::vector<std::uint64_t>> sizes;
    for (auto& producer : producers) {
      std::vector<std::uint64_t>& own = sizes.emplace_back();
      for (std::uint32_t slot = 0; slot < geometry.slot_count; ++slot) {
        own.push_back(granule * (slot == 0 ? 1 : slot == 1 ? granules : 1 + random_() % granules));
        fill_numbers((*producer)->view().input(slot).first(own.back()), random_);
        std::ranges::fill((*producer)->view().output(slot), kUntouched);
      }
    }
    // All at once, so that batches are as large as they can be.
    for (std::size_t i = 0; i < producers.size(); ++i) {
      for (std::uint32_t slot = 0; slot < geometry.slot_count; ++slot) {
        (*producers[i])->submit(slot, slot, sizes[i][slot]);
      }
    }
    std::vector<std::vector<CompletionEntry>> ended(producers.size());
    ASSERT_TRUE(WorkingEngine(sut, device(), listener_).until([&] {
      bool all = true;
      for (std::size_t i = 0; i < producers.size(); ++i) {
        for (const CompletionEntry& entry : (*producers[i])->collect()) {
          ended[i].push_back(entry);
        }
        all = all && ended[i].size() == geometry.slot_count;
      }
      return all;
    }));
    for (std::size_t i = 0; i < producers.size(); ++i) {
      for (const CompletionEntry& entry : ended[i]) {
        ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok)
            << device().describe(static_cast<int>(entry.detail_code));
        const std::uint64_t bytes = sizes[i][entry.slot];
        const ChannelView& view = (*producers[i])->view();
        const auto expected =
            (*producers[i])->pipeline().reference(view.input(entry.slot).first(bytes));
        ASSERT_EQ(entry.output_bytes, expected.size());
        const auto output = view.output(entry.slot);
        ASSERT_TRUE(std::ranges::equal(output.first(expected.size()), expected))
            << "producer " << i << ", slot " << entry.slot << ", " << bytes << " bytes";
        const auto behind = output.subspan(expected.size());
        ASSERT_EQ(std::ranges::count(behind, kUntouched),
                  static_cast<std::ptrdiff_t>(behind.size()))
            << "bytes behind the result were written";
      }
    }
  }

  KernelRegistry registry_;
  RecordingListener listener_;
  std::mt19937 random_{11};
};

class EnginePathsCudaWith : public EnginePathsCuda, public ::testing::WithParamInterface<Tried> {};

TEST_P(EnginePathsCudaWith, AllGiveWhatTheReferenceGives) {
  // Jobs of a batch: one, a few, hundreds.
  for (const std::uint32_t max_batch_jobs : {1U, 7U, 512U}) {
    for (std::size_t producer_count = 1; producer_count <= 3; ++producer_count) {
      for (const std::optional<Path> rule : kRules) {
        SCOPED_TRACE(::testing::Message()
                     << producer_count << " producers, path "
                     << (rule ? static_cast<int>(*rule) : 0) << ", batches of " << max_batch_jobs);
        Producers made = producers(producer_count, GetParam().pipeline,
                                   {.slot_count = max_batch_jobs == 1 ? 16U : 200U,
                                    .input_bytes = 8500,
                                    .output_bytes = 8500,
                                    // A border in the middle of slots.
                                    .pin_chunk_bytes = 3 * 4096});
        EngineSettings settings;
        settings.lane_count = 2;
        settings.path.only = rule;
        settings.max_batch_jobs = max_batch_jobs;
        Engine sut(device(), settings, listener_);
        for (auto& producer : made) {
          sut.add((*producer)->make_channel(), monotonic_now_ns());
        }
        ASSERT_NO_FATAL_FAILURE(expect_reference(sut, made, GetParam().granule));
        const EngineCounters& counted = sut.counters();
        EXPECT_EQ(counted.batches_mapped + counted.batches_gathered == 0, rule == Path::copy);
        EXPECT_EQ(counted.jobs_retried, 0U);
        if (max_batch_jobs == 512) {
          EXPECT_LE(counted.batches, (200 * producer_count + 511) / 512 + 1)
              << "batches span producers";
        }
      }
    }
  }
  EXPECT_TRUE(listener_.lost_codes.empty());
}

INSTANTIATE_TEST_SUITE_P(Pipelines, EnginePathsCudaWith,
                         ::testing::Values(Tried{"copy", 1}, Tried{"scale:a=3,b=1,type=u8", 1},
                                           Tried{"scale:a=-0.5,b=2", 4},
                                           Tried{"scale:a=2,b=7,type=f64", 8},
                                           Tried{"transpose:rows=37,cols=19", 37 * 19 * 4},
                                           Tried{"vector_add", 8}, Tried{"vector_add:repeat=2", 8},
                                           Tried{"scale:a=3,b=-1|transpose:rows=5,cols=3", 60},
                                           Tried{"copy|vector_add:repeat=2|copy", 8},
                                           Tried{"vector_add:repeat=3|scale:a=2", 8}));

TEST_F(EnginePathsCuda, CopyEnginesCarryLargeJobsAndKernelsSmallOnes) {
  constexpr std::uint64_t kLarge = 1'000'001;
  Producers made = producers(2, "scale:a=3,b=1,type=u8",
                             {.slot_count = 8, .input_bytes = kLarge, .output_bytes = kLarge});
  Engine sut(device(), {}, listener_);
  for (auto& producer : made) {
    sut.add((*producer)->make_channel(), monotonic_now_ns());
  }
  const auto one_round = [&](std::uint64_t bytes) {
    for (auto& producer : made) {
      for (std::uint32_t slot = 0; slot < 8; ++slot) {
        fill_numbers((*producer)->view().input(slot).first(bytes), random_);
        (*producer)->submit(slot, slot, bytes);
      }
    }
    for (auto& producer : made) {
      std::vector<CompletionEntry> ended;
      ASSERT_TRUE(WorkingEngine(sut, device(), listener_).until([&] {
        for (const CompletionEntry& entry : (*producer)->collect()) {
          ended.push_back(entry);
        }
        return ended.size() == 8;
      }));
      for (const CompletionEntry& entry : ended) {
        const ChannelView& view = (*producer)->view();
        const auto expected =
            (*producer)->pipeline().reference(view.input(entry.slot).first(bytes));
        ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
        ASSERT_TRUE(std::ranges::equal(view.output(entry.slot).first(bytes), expected));
      }
    }
  };
  ASSERT_NO_FATAL_FAILURE(one_round(kLarge));
  EXPECT_GE(sut.counters().batches, 1U);
  EXPECT_EQ(sut.counters().batches_mapped, 0U);
  ASSERT_NO_FATAL_FAILURE(one_round(4099));
  EXPECT_GE(sut.counters().batches_mapped, 1U);
  EXPECT_EQ(sut.counters().batches_gathered, 0U);
}

TEST_F(EnginePathsCuda, EvenlySpacedSlotsOfAnUnpinnedChannelComeBackRight) {
  ChannelHarness unpinned(9, {"copy"}, {.slot_count = 8, .pinned = false}, &registry_);
  Engine sut(device(), {}, listener_);
  sut.add(unpinned.make_channel(), monotonic_now_ns());
  for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1001}, std::uint64_t{1}}) {
    SCOPED_TRACE(bytes);
    for (const std::uint32_t slot : {7U, 5U, 3U, 1U}) {
      unpinned.submit_filled(slot + 1, slot, bytes);
    }
    std::vector<CompletionEntry> ended;
    ASSERT_TRUE(WorkingEngine(sut, device(), listener_).until([&] {
      for (const CompletionEntry& entry : unpinned.collect()) {
        ended.push_back(entry);
      }
      return ended.size() == 4;
    }));
    for (const CompletionEntry& entry : ended) {
      EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      EXPECT_TRUE(unpinned.output_is_copy(entry.job_id, entry.slot, entry.output_bytes));
    }
  }
}

TEST_F(EnginePathsCuda, AnUnpinnedChannelIsCopiedBesideAMappedOne) {
  ChannelHarness unpinned(9, {"copy"}, {.slot_count = 8, .pinned = false}, &registry_);
  Producers made = producers(1, "copy", {.slot_count = 8});
  Engine sut(device(), {}, listener_);
  sut.add(unpinned.make_channel(), monotonic_now_ns());
  sut.add((*made[0])->make_channel(), monotonic_now_ns());
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    unpinned.submit_filled(slot + 1, slot, 4000 - slot);
    (*made[0])->submit_filled(slot + 1, slot, 4000 - slot);
  }
  for (ChannelHarness* producer : {&unpinned, &**made[0]}) {
    std::vector<CompletionEntry> ended;
    ASSERT_TRUE(WorkingEngine(sut, device(), listener_).until([&] {
      for (const CompletionEntry& entry : producer->collect()) {
        ended.push_back(entry);
      }
      return ended.size() == 8;
    }));
    for (const CompletionEntry& entry : ended) {
      EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      EXPECT_TRUE(producer->output_is_copy(entry.job_id, entry.slot, entry.output_bytes));
    }
  }
  EXPECT_EQ(sut.counters().batches_mapped, 1U);
  EXPECT_EQ(sut.counters().batches, 2U);
}

}  // namespace
}  // namespace overlap::test
