// Sixteen bytes at a time: nearly every name and number of a log is no longer.
//
// Each function reads sixteen bytes from its pointer on, even if the text is shorter. So many bytes
// can be read behind a line (kLinePaddingBytes).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pleat::inline v0_1 {

// A bit for each of sixteen bytes; whether the first `count` are set, count <= 16.
inline bool AllSet(uint32_t bits, size_t count) noexcept {
  return (bits | ~uint32_t{0} << count) == ~uint32_t{0};
}

// Whether the first `count` bytes are the same, count <= 16.
inline bool SameBytes(const char* a, const char* b, size_t count) noexcept {
#if defined(__SSE2__)
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  return AllSet(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, y))), count);
#else
  return std::memcmp(a, b, count) == 0;
#endif
}

// Whether the first `count` bytes are digits, count <= 16.
inline bool AreDigits(const char* p, size_t count) noexcept {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
  const __m128i small = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
  return AllSet(static_cast<uint32_t>(_mm_movemask_epi8(small)), count);
#else
  return std::all_of(p, p + count, [](char c) { return c >= '0' && c <= '9'; });
#endif
}

// The values of the first `count` of eight digits, 1 <= count <= 8, as one number.
inline uint64_t NumberOfEight(const char* p, size_t count) noexcept {
  uint64_t digits;
  std::memcpy(&digits, p, sizeof(digits));
  if constexpr (std::endian::native == std::endian::big) digits = __builtin_bswap64(digits);
  // The first digit is the lowest byte. The shift puts zeros before the first digit and drops the
  // bytes behind the last one; then neighbours are joined to numbers of two, four, eight digits.
  digits = (digits & 0x0f0f0f0f0f0f0f0f) << (8 * (8 - count));
  digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
  digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
  return (digits * 10'000 + (digits >> 32)) & 0xffffffff;
}

}  // namespace pleat::inline v0_1
