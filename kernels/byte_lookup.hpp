#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace overlap {

using ByteTable = std::array<std::uint8_t, 256>;

/// How a machine can look bytes up.
enum class ByteLookup : std::uint8_t {
  plain,  ///< one load per byte
  avx2,   ///< 32 bytes at a time, the table in 16 registers of 16 entries
  vbmi    ///< 64 bytes at a time, the table in four registers
};

/// The fastest way on this machine.
[[nodiscard]] ByteLookup fastest_byte_lookup() noexcept;

/// `out[i] = table[in[i]]`, reading each input byte once. Thread safety: any.
/// @pre this machine can do `way`; the arrays do not overlap
void look_up_bytes(ByteLookup way, const ByteTable& table, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t count) noexcept;

}  // namespace overlap
