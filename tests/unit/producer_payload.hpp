#pragma once

#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"

#include <cstdint>
#include <string>

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
