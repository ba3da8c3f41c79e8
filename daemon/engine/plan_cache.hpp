#pragma once

#include "kernels/pipeline.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>

namespace overlap {

/// The plans of one pipeline by input size, so that planning costs nothing on a steady stream.
///
/// A plan stays where it is while jobs use it; beyond a small number, or twice as many as are in use,
/// plans that nobody uses are dropped, so a producer with ever new sizes can neither make it grow nor
/// make it slow. Restricted: one thread.
class PlanCache {
 public:
  /// A plan in use, or a refusal.
  struct Entry {
    std::uint64_t input_bytes = 0;
    PipelinePlan plan;
    /// Not empty: the pipeline refuses this size.
    std::string refusal;
    std::uint32_t users = 0;
    /// What the pipeline's cost model said when it had this version; 0 before it was first asked.
    std::uint32_t cost_ns = 0;
    std::uint64_t cost_version = 0;
    /// What the job counts against a batch's bytes: its input, and more where what is made of it on
    /// the way takes more than `kMaxGrowth` times as much.
    std::uint64_t batch_bytes = 0;
  };

  /// Finds or makes the plan and counts a user.
  /// @pre pipeline is always the same one
  [[nodiscard]] Entry& acquire(const Pipeline& pipeline, std::uint64_t input_bytes);
  static void release(Entry& entry, std::uint32_t users = 1) noexcept { entry.users -= users; }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// How many times a batch's bytes its lane's buffers may take without fewer jobs being in it.
  static constexpr std::uint64_t kMaxGrowth = 8;
  /// Plans that are kept although nobody uses them.
  static constexpr std::size_t kKeptPlans = 64;

 private:
  [[nodiscard]] Entry& find_or_plan(const Pipeline& pipeline, std::uint64_t input_bytes);
  void drop_unused();

  // By input size. Growing leaves the entries where they are.
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::size_t limit_ = kKeptPlans;
  Entry* last_ = nullptr;
};

}  // namespace overlap
