#include "daemon/source/cache_entry.hpp"

#include <array>
#include <cstring>

namespace overlap {
namespace {

constexpr std::string_view kMark = "overlapd kernel 1\n";

/// Sizes of the four parts, then the hash.
using Numbers = std::array<std::uint64_t, 5>;

}  // namespace

std::uint64_t hash_of(std::string_view bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  return hash;
}

std::string write_entry(std::string_view key, const CompiledSource& compiled) {
  std::string parts(key);
  parts += compiled.entry;
  parts += compiled.log;
  parts += compiled.image;
  const Numbers numbers = {key.size(), compiled.entry.size(), compiled.log.size(),
                           compiled.image.size(), hash_of(parts)};
  std::string bytes(kMark);
  bytes.append(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  return bytes + parts;
}

std::optional<CacheEntry> read_entry(std::string_view bytes) {
  Numbers numbers{};
  if (!bytes.starts_with(kMark) || bytes.size() < kMark.size() + sizeof numbers) {
    return std::nullopt;
  }
  bytes.remove_prefix(kMark.size());
  std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
  bytes.remove_prefix(sizeof numbers);
  const std::string_view parts = bytes;
  std::array<std::string, 4> texts;
  for (std::size_t part = 0; part < texts.size(); ++part) {
    if (numbers[part] > bytes.size()) {
      return std::nullopt;
    }
    texts[part] = bytes.substr(0, numbers[part]);
    bytes.remove_prefix(numbers[part]);
  }
  if (!bytes.empty() || hash_of(parts) != numbers[4]) {
    return std::nullopt;
  }
  return CacheEntry{std::move(texts[0]),
                    {std::move(texts[3]), std::move(texts[1]), std::move(texts[2])}};
}

}  // namespace overlap
