#pragma once

#include "tests/unit/channel_harness.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace overlap::testing {

/// Fills and submits so many slots from `first_slot` on; a job's id is one more than its slot.
inline void submit_many(ChannelHarness& producer, std::uint32_t count, std::uint64_t bytes = 256,
                        std::uint32_t first_slot = 0) {
  for (std::uint32_t i = 0; i < count; ++i) {
    producer.submit_filled(first_slot + i + 1, first_slot + i, bytes);
  }
}

/// Collects and expects so many answers, each ok and a copy of its input.
inline void expect_copies(ChannelHarness& producer, std::size_t count) {
  const auto completed = producer.collect();
  EXPECT_EQ(completed.size(), count);
  for (const CompletionEntry& entry : completed) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok) << "job " << entry.job_id;
    EXPECT_TRUE(producer.output_is_copy(entry.job_id, entry.slot, entry.output_bytes));
  }
}

/// Slots that are marked as being on the device.
[[nodiscard]] inline std::uint32_t marked_count(const ChannelHarness& producer) {
  std::uint32_t count = 0;
  for (std::uint32_t slot = 0; slot < producer.view().geometry().slot_count; ++slot) {
    count += producer.is_marked_issued(slot) ? 1U : 0U;
  }
  return count;
}

}  // namespace overlap::testing
