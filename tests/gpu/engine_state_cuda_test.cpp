// Stateful pipelines, tables and sizes that are found out, on a GPU, against the reference.

#include "daemon/engine/engine.hpp"
#include "kernels/kernel_registry.hpp"
#include "kernels/pipeline.hpp"
#include "shared/monotonic_clock.hpp"
#include "tests/gpu/cuda_fixture.hpp"
#include "tests/gpu/pinned_producer.hpp"
#include "tests/gpu/working_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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

constexpr std::uint64_t kInputBytes = 4096;
constexpr std::uint32_t kSlotCount = 64;
constexpr std::uint64_t kTableOffsetBytes = 256;

struct Kept {
  const char* pipeline;
  /// Whether every job has the same size, as integration wants it.
  bool same_size;
  /// The stage that has a table, and its bytes; 0 for none.
  std::uint8_t table_stage = 0;
  std::uint64_t table_bytes = 0;

  friend std::ostream& operator<<(std::ostream& out, const Kept& kept) {
    return out << kept.pipeline;
  }
};

/// Small numbers: sums of them are exact in any order.
void fill_numbers(std::span<std::byte> bytes, std::mt19937& random) {
  for (std::size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    const auto number = static_cast<float>(random() % 64);
    std::memcpy(&bytes[at], &number, sizeof number);
  }
}

ChannelHarness::Shape shape_for(const Kept& kept) {
  ChannelHarness::Shape shape = {.slot_count = kSlotCount,
                                 .input_bytes = kInputBytes,
                                 .output_bytes = kInputBytes,
                                 .pin_chunk_bytes = 3 * 4096};
  if (kept.table_bytes != 0) {
    shape.table_bytes = 8192;
    shape.tables = {{kTableOffsetBytes, kept.table_bytes, 0, kept.table_stage, 0, 0}};
  }
  return shape;
}

/// A producer with its table written, and the reference that follows its jobs.
class Fed {
 public:
  Fed(Device& device, std::uint64_t id, const Kept& kept, const KernelRegistry& registry,
      std::mt19937& random)
      : kept_(kept),
        random_(random),
        producer_(device, id, kept.pipeline, shape_for(kept), registry) {
    if (kept.table_bytes != 0) {
      const auto place = producer_->view().tables().subspan(kTableOffsetBytes, kept.table_bytes);
      fill_numbers(place, random);
      tables_.push_back({kept.table_stage, {place.begin(), place.end()}});
    }
    reference_.emplace(producer_->pipeline(), tables_);
  }

  [[nodiscard]] std::unique_ptr<Channel> make_channel() { return producer_->make_channel(); }

  /// Every slot once.
  void submit_round() {
    expected_.clear();
    collected_ = 0;
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t slot = 0; slot < kSlotCount; ++slot) {
      sizes.push_back(kept_.same_size ? kInputBytes : 4 * (1 + random_() % (kInputBytes / 4)));
      const auto input = producer_->view().input(slot).first(sizes.back());
      fill_numbers(input, random_);
      expected_.push_back(reference_->run(input));
    }
    for (std::uint32_t slot = 0; slot < kSlotCount; ++slot) {
      producer_->submit(++job_count_, slot, sizes[slot]);
    }
  }

  /// @return whether all of a round's jobs have ended, as the reference says and in their order
  [[nodiscard]] bool collect_round() {
    for (const CompletionEntry& entry : producer_->collect()) {
      EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      EXPECT_EQ(entry.flags, 0U);
      const std::vector<std::byte>& expected = expected_[entry.slot];
      EXPECT_EQ(entry.output_bytes, expected.size()) << "slot " << entry.slot;
      EXPECT_TRUE(
          std::ranges::equal(producer_->view().output(entry.slot).first(expected.size()), expected))
          << "slot " << entry.slot;
      ++collected_;
    }
    return collected_ == kSlotCount;
  }

 private:
  Kept kept_;
  std::mt19937& random_;
  PinnedProducer producer_;
  std::vector<StageTable> tables_;
  std::optional<ReferenceRun> reference_;
  std::vector<std::vector<std::byte>> expected_;
  std::uint64_t job_count_ = 0;
  std::uint32_t collected_ = 0;
};

class EngineStateCuda : public CudaFixture, public ::testing::WithParamInterface<Kept> {
 protected:
  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
  RecordingListener listener_;
  std::mt19937 random_{5};
};

TEST_P(EngineStateCuda, GivesWhatTheReferenceGivesOverAllJobsInTheirOrder) {
  for (const std::uint32_t max_batch_jobs : {1U, 7U, 512U}) {
    for (const std::optional<Path> rule :
         {std::optional<Path>(), std::optional(Path::copy), std::optional(Path::gather)}) {
      for (const LaneKind lanes : {LaneKind::single, LaneKind::three}) {
        SCOPED_TRACE(::testing::Message()
                     << "path " << (rule ? static_cast<int>(*rule) : 0) << ", batches of "
                     << max_batch_jobs << ", lane kind " << static_cast<int>(lanes));
        std::vector<std::unique_ptr<Fed>> producers;
        EngineSettings settings;
        settings.lane_count = 4;
        settings.lane_kind = lanes;
        settings.path.only = rule;
        settings.max_batch_jobs = max_batch_jobs;
        for (std::uint64_t id = 1; id <= 2; ++id) {
          producers.push_back(std::make_unique<Fed>(device(), id, GetParam(), registry_, random_));
        }
        Engine sut(device(), settings, listener_);
        for (auto& producer : producers) {
          sut.add(producer->make_channel(), monotonic_now_ns());
        }
        for (int round = 0; round < 3; ++round) {
          for (auto& producer : producers) {
            producer->submit_round();
          }
          ASSERT_TRUE(WorkingEngine(sut, device(), listener_).until([&] {
            return std::ranges::all_of(
                producers, [](const auto& producer) { return producer->collect_round(); });
          }));
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
  EXPECT_TRUE(listener_.lost_codes.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Pipelines, EngineStateCuda,
    ::testing::Values(Kept{"fir:taps=5", false, 0, 20}, Kept{"fir:taps=300", false, 0, 1200},
                      Kept{"integrate:count=3", true}, Kept{"integrate:count=3|scale:a=2", true},
                      Kept{"scale:a=3|integrate:count=2|fir:taps=5", true, 2, 20},
                      Kept{"integrate:count=2|integrate:count=3|power_spectrum", true},
                      Kept{"lut:channels=1", false, 0, 256},
                      Kept{"copy|lut:channels=1|copy", false, 1, 256}));

}  // namespace
}  // namespace overlap::test
