#pragma once

#include "producer/producer.hpp"
#include "tests/bench/latency_record.hpp"
#include "tests/bench/role_options.hpp"

#include <cstdint>
#include <vector>

namespace overlap::bench {

/// Every call of the producer library that a throughput measurement makes, in one place: hands free
/// slots over and takes results back, as many at a time as there are. Restricted: one thread.
class BenchProducer {
 public:
  /// Attaches, and writes every slot once.
  explicit BenchProducer(const RoleOptions& options);

  /// Writes every slot anew, so that old results would be wrong ones.
  /// @pre no job is under way
  void fill_all(std::uint32_t seed);

  /// Submits every free slot.
  /// @param fill write every byte of the input first
  void submit_free(bool fill);
  /// Submits at most so many free slots, as they are.
  /// @return how many
  std::uint64_t submit_some(std::uint64_t at_most);

  /// Waits for a result and takes every one that is there.
  /// @param latency from submission to collection, of some of them
  /// @param stride one in so many is recorded
  /// @return how many
  /// @throws std::runtime_error if a job failed
  std::uint64_t collect_some(LatencyRecord& latency, std::uint64_t stride);

  /// Waits for all that is under way. The results stay to be checked.
  void wait_for_all() { producer_.flush(); }
  /// Waits for all that is under way and checks every element.
  /// @return how many
  /// @throws std::runtime_error if a result is wrong
  std::uint64_t finish_and_check();

 private:
  std::uint64_t submit(std::uint64_t at_most, bool fill);
  void check(const Result& result) const;

  Work work_;
  Producer producer_;
  // As long as there are slots, and kept, so that a round allocates nothing.
  std::vector<Slot> slots_;
  std::vector<Submission> submissions_;
  std::vector<JobId> ids_;
  std::vector<Result> results_;
  std::uint64_t seen_ = 0;
  std::uint32_t seed_ = 0;
};

/// The options of the library that go with a role's.
[[nodiscard]] ProducerOptions producer_options(const RoleOptions& options);

}  // namespace overlap::bench
