#pragma once

#include "kernels/pipeline.hpp"

#include <cstdint>
#include <deque>
#include <string>

namespace overlap {

/// The plans of one pipeline by input size, so that planning costs nothing on a steady stream.
///
/// A plan stays where it is while jobs use it; plans that nobody uses are dropped beyond a small
/// number, so a producer with ever new sizes cannot make it grow. Restricted: one thread.
class PlanCache {
 public:
  /// A plan in use, or a refusal.
  struct Entry {
    std::uint64_t input_bytes = 0;
    PipelinePlan plan;
    /// Not empty: the pipeline refuses this size.
    std::string refusal;
    std::uint32_t users = 0;
  };

  /// Finds or makes the plan and counts a user.
  /// @pre pipeline is always the same one
  [[nodiscard]] Entry& acquire(const Pipeline& pipeline, std::uint64_t input_bytes);
  static void release(Entry& entry) noexcept { --entry.users; }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  // A deque: growing leaves the other entries where they are.
  std::deque<Entry> entries_;
  Entry* last_ = nullptr;
};

}  // namespace overlap
