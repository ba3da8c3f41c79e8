#include "kernels/byte_lookup.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace overlap {
namespace {

void look_up_plain(const ByteTable& table, const std::uint8_t* in, std::uint8_t* out,
                   std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = table[in[i]];
  }
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] void look_up_avx2(const ByteTable& table, const std::uint8_t* in,
                                          std::uint8_t* out, std::size_t count) noexcept {
  constexpr std::size_t kBytes = sizeof(__m256i);
  constexpr char kSelectRow = 0x70;
  __m256i rows[16];
  for (std::size_t row = 0; row < 16; ++row) {
    rows[row] = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(table.data() + 16 * row)));
  }
  std::size_t done = 0;
  for (; done + kBytes <= count; done += kBytes) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + done));
    __m256i result = _mm256_setzero_si256();
    for (int row = 0; row < 16; ++row) {
      // In this row the high nibble becomes 0; in any other the saturating sum sets the top bit,
      // and the shuffle then gives 0.
      const __m256i nibble = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(row << 4)));
      const __m256i index = _mm256_adds_epu8(nibble, _mm256_set1_epi8(kSelectRow));
      result = _mm256_or_si256(result, _mm256_shuffle_epi8(rows[row], index));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + done), result);
  }
  look_up_plain(table, in + done, out + done, count - done);
}

[[gnu::target("avx512f,avx512bw,avx512vbmi")]] void look_up_vbmi(const ByteTable& table,
                                                                 const std::uint8_t* in,
                                                                 std::uint8_t* out,
                                                                 std::size_t count) noexcept {
  constexpr std::size_t kBytes = sizeof(__m512i);
  const __m512i quarter0 = _mm512_loadu_si512(table.data());
  const __m512i quarter1 = _mm512_loadu_si512(table.data() + kBytes);
  const __m512i quarter2 = _mm512_loadu_si512(table.data() + 2 * kBytes);
  const __m512i quarter3 = _mm512_loadu_si512(table.data() + 3 * kBytes);
  std::size_t done = 0;
  for (; done + kBytes <= count; done += kBytes) {
    const __m512i bytes = _mm512_loadu_si512(in + done);
    // The permutation looks at seven bits; the top one chooses the half.
    const __m512i low = _mm512_permutex2var_epi8(quarter0, bytes, quarter1);
    const __m512i high = _mm512_permutex2var_epi8(quarter2, bytes, quarter3);
    _mm512_storeu_si512(out + done, _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high));
  }
  look_up_plain(table, in + done, out + done, count - done);
}

#endif

}  // namespace

ByteLookup fastest_byte_lookup() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vbmi")) {
    return ByteLookup::vbmi;
  }
  if (__builtin_cpu_supports("avx2")) {
    return ByteLookup::avx2;
  }
#endif
  return ByteLookup::plain;
}

void look_up_bytes(ByteLookup way, const ByteTable& table, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t count) noexcept {
#if defined(__x86_64__)
  if (way == ByteLookup::vbmi) {
    return look_up_vbmi(table, in, out, count);
  }
  if (way == ByteLookup::avx2) {
    return look_up_avx2(table, in, out, count);
  }
#endif
  (void)way;
  look_up_plain(table, in, out, count);
}

}  // namespace overlap
