#pragma once

#include "daemon/device/copy_range.hpp"
#include "daemon/engine/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overlap {

/// What `sort_by_slot` works in, so that a batch allocates nothing.
struct SortScratch {
  std::vector<Job*> jobs;
  std::vector<BatchRun> runs;
};

/// Puts a batch in the order of channels, sizes and slots, for copies to be joined. Jobs of a stateful
/// pipeline stay where they are.
void sort_by_slot(Batch& batch, SortScratch& scratch);

/// Appends the copies of a batch's inputs into `area`, where each job has its `footprint`.
void append_input_copies(std::vector<CopyRange>& ranges, const Batch& batch, std::byte* area);

/// What one of these copies carries on average. @pre the batch has jobs, and they have bytes
/// @param scratch memory to work in
[[nodiscard]] std::uint64_t bytes_a_copy(const Batch& batch, std::vector<CopyRange>& scratch);

}  // namespace overlap
