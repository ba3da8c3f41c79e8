#pragma once

#include "kernels/kernel_registry.hpp"
#include "kernels/pipeline.hpp"
#include "producer/send/send_options.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace overlap {

/// The most that is read where only the daemon knows how long a table has to be.
inline constexpr std::uint64_t kMostTableBytes = std::uint64_t{1} << 30U;

/// Reads the file of every table, no further than shows that it is too long, and sees that the
/// pipeline's stages want just these, as far as this program knows its kernels.
/// @param most_bytes of a table that is the daemon's to judge
/// @throws UsageError for an empty file, one that is too long, a stage that is given twice
/// @throws PipelineError as `check_tables`
/// @throws InputError
[[nodiscard]] std::vector<StageTable> read_tables(std::span<const TableFile> files,
                                                  const Pipeline& pipeline,
                                                  const KernelRegistry& kernels,
                                                  std::uint64_t most_bytes = kMostTableBytes);

}  // namespace overlap
