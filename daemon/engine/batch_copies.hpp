#pragma once

#include "daemon/device/copy_range.hpp"
#include "daemon/engine/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overlap {

/// Makes one run of the jobs of a channel that are of one size, in the order of their slots, for copies
/// to be joined. Jobs of a stateful pipeline stay where they are.
/// @param work memory to work in
void sort_by_slot(Batch& batch, std::vector<Job*>& work);

/// Appends the copies of a batch's inputs into `area`, where each job has its `footprint`.
void append_input_copies(std::vector<CopyRange>& ranges, const Batch& batch, std::byte* area);

/// What one of these copies carries on average; at least 1.
/// @param work memory to work in
[[nodiscard]] std::uint64_t bytes_a_copy(const Batch& batch, std::vector<CopyRange>& work);

}  // namespace overlap
