#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace overlap::bench {

/// What the jobs of a measurement do, and how their results are checked.
enum class Work : std::uint8_t {
  /// `scale:a=2,b=1`: exact on the small integers that `fill_payload` writes.
  scale,
  /// `vector_add:repeat=N`, the first half of the input plus the second.
  vector_add,
};

/// The text of the daemon's pipeline.
[[nodiscard]] std::string pipeline_text(Work work, std::uint32_t repeat = 1);

/// Output bytes of a job.
[[nodiscard]] std::uint64_t output_bytes_of(Work work, std::uint64_t input_bytes) noexcept;

/// Writes every element, each round's and each slot's seed something else: small integers.
void fill_payload(std::span<float> values, std::uint32_t seed) noexcept;

/// Whether every element of the output is what the work makes of the input.
[[nodiscard]] bool is_right(Work work, std::span<const float> input,
                            std::span<const float> output) noexcept;

}  // namespace overlap::bench
