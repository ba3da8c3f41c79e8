#pragma once

#include "kernels/kernel.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace overlap {

/// From where on the copy engines carry a batch. A kernel that reads the bus has the lower latency
/// and needs no call per job; the copy engines have the higher throughput.
struct PathSettings {
  /// The path of every batch that can take it; empty: by size.
  std::optional<Path> only;
  /// Jobs below go by kernels, however many there are: copied one by one, 64 KiB have a quarter of the
  /// link (H200), and less have less.
  std::uint64_t copy_from_job_bytes = 64U << 10U;
  /// Batches below do, however large their jobs are: few bytes are latency, not throughput.
  std::uint64_t copy_from_batch_bytes = 2U << 20U;
  /// Batches do whose slots lie so scattered that a copy would carry less on average: between two
  /// copies an engine rests for some microseconds, and kernels reading the bus are faster then. A
  /// batch that is one copy is never below.
  std::uint64_t copy_from_bytes_a_copy = 1U << 20U;
};

/// @param reaches_slots whether kernels can read and write pinned slots at all
/// @param may_map whether the pipeline reads each input byte once and writes each output byte once
/// @param average_job_bytes of the batch's inputs
/// @param bytes_a_copy called where it matters: what a copy of the batch's inputs carries on average
template <class BytesACopy>
[[nodiscard]] constexpr Path choose_path(const PathSettings& settings, bool reaches_slots,
                                         bool may_map, std::uint64_t average_job_bytes,
                                         std::uint64_t batch_bytes,
                                         const BytesACopy& bytes_a_copy) {
  if (!reaches_slots) {
    return Path::copy;
  }
  const Path by_kernel = may_map ? Path::mapped : Path::gather;
  if (settings.only) {
    return *settings.only == Path::mapped ? by_kernel : *settings.only;
  }
  const bool by_engine = average_job_bytes >= settings.copy_from_job_bytes &&
                         batch_bytes >= settings.copy_from_batch_bytes &&
                         bytes_a_copy() >= std::min(settings.copy_from_bytes_a_copy, batch_bytes);
  return by_engine ? Path::copy : by_kernel;
}

}  // namespace overlap
