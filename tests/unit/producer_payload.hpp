#pragma once

#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace overlap::testing {

inline constexpr std::uint64_t kPayloadBytes = 4096;

/// Options for a channel of small slots to a fake daemon.
[[nodiscard]] inline ProducerOptions small_channel(const std::string& socket_path,
                                                   std::uint32_t slot_count = 4) {
  ProducerOptions options;
  options.socket_path = socket_path;
  options.pipelines = {"copy"};
  options.slot_count = slot_count;
  options.input_bytes = kPayloadBytes;
  return options;
}

/// A word of the payload that belongs to a tag: every payload says whose it is.
[[nodiscard]] constexpr std::uint64_t payload_word(std::uint64_t tag, std::uint64_t i) noexcept {
  std::uint64_t x = tag * 0x9e3779b97f4a7c15ULL + i;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 27U);
}

inline void fill(const Slot& slot, std::uint64_t tag) {
  const auto words = slot.input<std::uint64_t>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = payload_word(tag, i);
  }
}

inline JobId submit_filled(Producer& producer, std::uint64_t tag) {
  Slot slot = producer.acquire();
  fill(slot, tag);
  return producer.submit(std::move(slot), tag);
}

/// Fills what slots there are with the payloads of the tags from `first_tag` on.
[[nodiscard]] inline std::vector<Submission> filled(std::span<Slot> slots,
                                                    std::uint64_t first_tag) {
  std::vector<Submission> submissions;
  for (Slot& slot : slots) {
    const std::uint64_t tag = first_tag + submissions.size();
    fill(slot, tag);
    submissions.push_back({std::move(slot), tag, {}});
  }
  return submissions;
}

/// Submits as many jobs as there are free slots, at most `most`.
inline std::size_t submit_some(Producer& producer, std::size_t most, std::uint64_t first_tag) {
  std::vector<Slot> slots(most);
  const std::size_t count = producer.try_acquire_many(slots);
  std::vector<Submission> submissions = filled(std::span(slots).first(count), first_tag);
  std::vector<JobId> ids(count);
  producer.submit_many(submissions, ids);
  return count;
}

/// Whether the result is the fake daemon's answer to its tag's payload.
[[nodiscard]] inline bool answers_its_tag(const Result& result) {
  constexpr std::uint64_t kMaskWord = 0x5a5a5a5a5a5a5a5aULL;
  const auto words = result.output<std::uint64_t>();
  if (!result.ok() || words.size() != kPayloadBytes / sizeof(std::uint64_t)) {
    return false;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != (payload_word(result.tag(), i) ^ kMaskWord)) {
      return false;
    }
  }
  return true;
}

}  // namespace overlap::testing
