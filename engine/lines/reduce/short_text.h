// Short pieces of text, copied and compared without a call: nearly every key, label and value of a
// log has at most 32 bytes, and a line of output has twenty of them.
//
// Each size takes two moves that may overlap, so that not a byte beyond the text is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pleat::inline v0_1 {

template <class Word>
Word WordAt(const char* p) noexcept {
  Word word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

struct SixteenBytes {
  uint64_t low;
  uint64_t high;

  friend bool operator==(const SixteenBytes&, const SixteenBytes&) = default;
};

// The first and the last bytes of `from`, as many as a Word has. REQUIRES: `size` is between one
// Word and two.
template <class Word>
void CopyEnds(char* to, const char* from, size_t size) noexcept {
  const auto first = WordAt<Word>(from);
  const auto last = WordAt<Word>(from + size - sizeof(Word));
  std::memcpy(to, &first, sizeof(Word));
  std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
}
template <class Word>
bool SameEnds(const char* a, const char* b, size_t size) noexcept {
  const size_t last = size - sizeof(Word);
  return WordAt<Word>(a) == WordAt<Word>(b) && WordAt<Word>(a + last) == WordAt<Word>(b + last);
}

// As memcpy(3).
inline void CopyText(char* to, const char* from, size_t size) noexcept {
  if (size > 32) {
    std::memcpy(to, from, size);
  } else if (size >= 16) {
    CopyEnds<SixteenBytes>(to, from, size);
  } else if (size >= 8) {
    CopyEnds<uint64_t>(to, from, size);
  } else if (size >= 4) {
    CopyEnds<uint32_t>(to, from, size);
  } else if (size >= 2) {
    CopyEnds<uint16_t>(to, from, size);
  } else if (size == 1) {
    *to = *from;
  }
}

// Whether `size` bytes are the same.
inline bool SameText(const char* a, const char* b, size_t size) noexcept {
  if (size > 32) return std::memcmp(a, b, size) == 0;
  if (size >= 16) return SameEnds<SixteenBytes>(a, b, size);
  if (size >= 8) return SameEnds<uint64_t>(a, b, size);
  if (size >= 4) return SameEnds<uint32_t>(a, b, size);
  if (size >= 2) return SameEnds<uint16_t>(a, b, size);
  return size == 0 || *a == *b;
}

}  // namespace pleat::inline v0_1
