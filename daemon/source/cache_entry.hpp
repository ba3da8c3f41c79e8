#pragma once

#include "daemon/device/source_toolchain.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace overlap {

/// FNV-1a of 64 bits: tells damage and names files, no more.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes) noexcept;

/// An entry of the cache, as the bytes of its file:
///
///     overlapd kernel 1\n
///     u64 bytes of the key, u64 of the name, u64 of the log, u64 of the code, u64 hash of all that follows
///     key, name, log, code
///
/// Numbers as the machine has them: a cache is not carried elsewhere.
[[nodiscard]] std::string write_entry(std::string_view key, const CompiledSource& compiled);

struct CacheEntry {
  std::string key;
  CompiledSource compiled;
};

/// @return nothing if the bytes are no whole entry
[[nodiscard]] std::optional<CacheEntry> read_entry(std::string_view bytes);

}  // namespace overlap
