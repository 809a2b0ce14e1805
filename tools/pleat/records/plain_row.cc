// A record is read 64 bytes at a time: a bit for each byte tells where fields end, and which bytes are in
// quotes, as simdjson finds strings (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
#include "tools/pleat/records/plain_row.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tools/pleat/records/field_value.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pleat::cli {
namespace {

constexpr size_t kBlock = 64;
constexpr size_t kPiece = 16;  // of a copy
static_assert(kBytesBehindRow >= kBlock + kPiece && Columns::kBytesBehind >= kPiece);

uint64_t FirstBits(size_t count) noexcept { return (uint64_t{1} << count) - 1; }

// A bit for each byte of a block.
struct Marks {
  uint64_t separators = 0;
  uint64_t quotes = 0;
  uint64_t escapes = 0;  // bytes that have to be escaped, and backslashes
};

Marks MarksOf(const char* block, char separator) noexcept {
  Marks marks;
#if defined(__SSE2__)
  for (size_t i = 0; i < kBlock; i += kPiece) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
    const auto are = [bytes](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    const auto bits = [i](__m128i marked) {
      return uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(marked))} << i;
    };
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    marks.separators |= bits(are(separator));
    marks.quotes |= bits(are('"'));
    marks.escapes |= bits(_mm_or_si128(control, are('\\')));
  }
#else
  for (size_t i = 0; i < kBlock; ++i) {
    const char c = block[i];
    marks.separators |= uint64_t{c == separator} << i;
    marks.quotes |= uint64_t{c == '"'} << i;
    marks.escapes |= uint64_t{static_cast<unsigned char>(c) < 0x20 || c == '\\'} << i;
  }
#endif
  return marks;
}

// A bit for each of sixteen bytes that is a digit.
uint32_t DigitsOf(const char* piece) noexcept {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(piece));
  const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
  const __m128i small = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
  return static_cast<uint32_t>(_mm_movemask_epi8(small));
#else
  uint32_t digits = 0;
  for (size_t i = 0; i < kPiece; ++i) digits |= uint32_t{piece[i] >= '0' && piece[i] <= '9'} << i;
  return digits;
#endif
}

// Follows the quotes of a record from block to block.
class QuotedParts {
 public:
  // Takes the separators in quotes out of `marks`. False: a quote that neither begins nor ends a field.
  bool Take(Marks& marks) noexcept {
    if ((marks.quotes | inside_ | behind_quote_) != 0 && !TakeQuotes(marks)) return false;
    behind_separator_ = marks.separators >> (kBlock - 1);
    return true;
  }

 private:
  bool TakeQuotes(Marks& marks) noexcept {
    // From the quote that opens up to the one that closes, without it.
    uint64_t inside = marks.quotes;
    for (size_t shift = 1; shift < kBlock; shift *= 2) inside ^= inside << shift;
    inside ^= inside_;
    marks.separators &= ~inside;
    const uint64_t opening = marks.quotes & inside;
    const uint64_t closing = marks.quotes & ~inside;
    const uint64_t begins = marks.separators << 1 | behind_separator_;
    const uint64_t ends = closing << 1 | behind_quote_;
    inside_ = uint64_t{0} - (inside >> (kBlock - 1));
    behind_quote_ = closing >> (kBlock - 1);
    return (opening & ~begins) == 0 && (ends & ~marks.separators) == 0;
  }

  // Of the first byte to come.
  uint64_t inside_ = 0;  // or all bits
  uint64_t behind_quote_ = 0;
  uint64_t behind_separator_ = 1;
};

// By whole pieces, one at least.
inline char* Copy(const char* from, size_t size, char* to) noexcept {
  char* const end = to + size;
  do {
    std::memcpy(to, from, kPiece);
    to += kPiece;
    from += kPiece;
  } while (to < end);
  return end;
}

// As IsFieldNumber(). Most are no longer than a piece, and begin with a digit.
inline bool IsNumber(const char* field, size_t size) noexcept {
  const char first = *field;
  if (first < '0' || first > '9') {
    return first == '-' && IsFieldNumber({field, size}, Exponents::kRefused);
  }
  const uint64_t others = ~uint64_t{DigitsOf(field)} & FirstBits(std::min(size, kPiece));
  if ((others & (others - 1)) != 0) return false;  // a point is one
  if (size > kPiece) return IsFieldNumber({field, size}, Exponents::kRefused);
  const bool has_zero = first == '0';
  if (others == 0) return !has_zero || size == 1;
  const auto at = static_cast<size_t>(std::countr_zero(others));
  return field[at] == '.' && at + 1 < size && (!has_zero || at == 1);
}

inline char* CopyValue(const char* field, size_t size, char* to) noexcept {
  if (size == 0) {
    std::memcpy(to, "null", 4);
    return to + 4;
  }
  if (IsNumber(field, size)) return Copy(field, size, to);
  *to++ = '"';
  to = Copy(field, size, to);
  *to++ = '"';
  return to;
}

// How long the end of a line is that `text` begins with; 0: it is none.
size_t LineEndAt(std::string_view text) {
  return text.starts_with('\n') ? 1 : text.starts_with("\r\n") ? 2 : 0;
}

// A record that repeats the header does so.
bool BeginsWith(std::string_view text, std::string_view name, char separator) {
  if (text.starts_with('"')) text.remove_prefix(1);
  const bool differs = !name.empty() && !text.starts_with(name[0]);  // mostly by its first byte
  if (differs || !text.starts_with(name)) return false;
  text.remove_prefix(name.size());
  constexpr std::string_view kEnds = "\"\r\n";
  return text.empty() || text[0] == separator || kEnds.find(text[0]) != kEnds.npos;
}

}  // namespace

size_t RoomForRow(const Columns& columns, std::string_view text) {
  constexpr size_t kMoreForAValue = 4;  // quotes, or `null` for nothing
  return columns.beginnings().size() + text.size() + columns.names().size() * kMoreForAValue +
         kPiece;
}

PlainRow WritePlainRow(const Columns& columns, char separator, FieldQuotes quotes,
                       std::string_view text, char* to) {
  if (BeginsWith(text, columns.names()[0], separator)) return {};
  const char* const names = columns.beginnings().data();
  const size_t* name_end = columns.ends().data();
  const size_t* const last = name_end + columns.names().size();
  char* out = to;
  QuotedParts quoted;
  size_t begin = 0;
  for (size_t at = 0; text.size() - at >= kBytesBehindRow; at += kBlock) {
    Marks marks = MarksOf(text.data() + at, separator);
    // The first other byte that would have to be escaped ends the record, and so its last field.
    const uint64_t stops = marks.escapes & ~marks.separators;
    const size_t stop = stops == 0 ? kBlock : static_cast<size_t>(std::countr_zero(stops));
    if (stops != 0) {
      const uint64_t before = FirstBits(stop);
      marks = {(marks.separators & before) | (before + 1), marks.quotes & before,
               marks.escapes & before};
    }
    if (quotes == FieldQuotes::kNone ? marks.quotes != 0 : !quoted.Take(marks)) return {};
    if ((marks.escapes & ~marks.separators) != 0) return {};  // one in quotes
    for (; marks.separators != 0; marks.separators &= marks.separators - 1) {
      if (name_end == last) return {};
      const size_t end = at + static_cast<size_t>(std::countr_zero(marks.separators));
      out = Copy(names + name_end[0], name_end[1] - name_end[0], out);
      ++name_end;
      const char* field = text.data() + begin;
      size_t size = end - begin;
      if (size > 0 && *field == '"') {
        ++field;
        size -= 2;
      }
      out = CopyValue(field, size, out);
      begin = end + 1;
    }
    if (stops == 0) continue;
    const size_t size = at + stop;
    const bool whole = begin > size && name_end == last;  // no quote is open
    const size_t behind = LineEndAt(text.substr(size));
    if (!whole || behind == 0) return {};
    *out++ = '}';
    return {.record = size, .taken = size + behind, .written = static_cast<size_t>(out - to)};
  }
  return {};
}

}  // namespace pleat::cli
