#include "tools/pleat/records/plain_row.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tools/pleat/records/field_value.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pleat::cli {
namespace {

constexpr size_t kBlock = 16;

// Of sixteen bytes a bit for each that ends a field; and for each that has to be escaped, or may be
// one of quotes.
struct Marks {
  uint32_t separators;
  uint32_t others;
};

Marks MarksOf(const char* block, char separator) noexcept {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
  const auto are = [bytes](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  const __m128i separators = are(separator);
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i others = _mm_or_si128(control, _mm_or_si128(are('"'), are('\\')));
  return {static_cast<uint32_t>(_mm_movemask_epi8(separators)),
          static_cast<uint32_t>(_mm_movemask_epi8(_mm_andnot_si128(separators, others)))};
#else
  Marks marks{};
  for (size_t i = 0; i < kBlock; ++i) {
    const char c = block[i];
    const bool is_other = static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    marks.separators |= uint32_t{c == separator} << i;
    marks.others |= uint32_t{is_other && c != separator} << i;
  }
  return marks;
#endif
}

uint32_t FirstBits(size_t count) noexcept { return (uint32_t{1} << count) - 1; }

// A bit for each of sixteen bytes that is a digit.
uint32_t DigitsOf(const char* block) noexcept {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
  const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
  const __m128i small = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
  return static_cast<uint32_t>(_mm_movemask_epi8(small));
#else
  uint32_t digits = 0;
  for (size_t i = 0; i < kBlock; ++i) digits |= uint32_t{block[i] >= '0' && block[i] <= '9'} << i;
  return digits;
#endif
}

// Copies by whole blocks where so many bytes may be read behind the text.
char* Copy(std::string_view text, size_t behind, char* to) noexcept {
  if (behind < kBlock) return std::copy_n(text.data(), text.size(), to);
  for (size_t at = 0; at < text.size(); at += kBlock) {
    std::memcpy(to + at, text.data() + at, kBlock);
  }
  return to + text.size();
}

// Whether a field is a number of up to sixteen digits with a point or none, as most numbers are. At least
// sixteen bytes can be read from its begin on.
bool IsShortNumber(std::string_view field) noexcept {
  if (field.size() > kBlock) return false;
  const uint32_t others = ~DigitsOf(field.data()) & FirstBits(field.size());
  const bool has_zero = field[0] == '0';
  if (others == 0) return !has_zero || field.size() == 1;
  const auto at = static_cast<size_t>(std::countr_zero(others));
  return (others & (others - 1)) == 0 && field[at] == '.' && at > 0 && at + 1 < field.size() &&
         (!has_zero || at == 1);
}

bool MayBeBare(char first) noexcept {
  return (first >= '0' && first <= '9') || first == '-' || first == 't' || first == 'f' ||
         first == 'n';
}

// The members of an object one after the other, in room that is enough for all.
struct Row {
  std::string_view record;
  std::string_view first_name;
  const char* beginnings;        // of all members
  std::span<const size_t> ends;  // in them, of the columns to come; the first is where one begins
  char* to;

  // False: there is no column left for it, or it is the name of the first one.
  bool Add(size_t begin, size_t end) {
    const std::string_view field(record.data() + begin, end - begin);
    const size_t behind = record.size() - end;
    if (ends.size() == 1 || (ends[0] == 0 && field == first_name)) return false;
    to = Copy({beginnings + ends[0], ends[1] - ends[0]}, Columns::kBytesBehind, to);
    ends = ends.subspan(1);
    if (field.empty()) {
      std::memcpy(to, "null", 4);
      to += 4;
    } else if (MayBeBare(field[0]) &&
               ((behind >= kBlock && IsShortNumber(field)) || IsBareField(field))) {
      to = Copy(field, behind, to);
    } else {
      *to++ = '"';
      to = Copy(field, behind, to);
      *to++ = '"';
    }
    return true;
  }
};

enum class Fit : uint8_t { kFits, kHasQuotes, kNeedsMore };

// A record in which no quote and no escape is.
Fit AddBareFields(char separator, Row& out) {
  // A copy stays in registers: what is written through a pointer to bytes might be a part of `out`.
  Row row = out;
  const std::string_view record = row.record;
  char last[kBlock];
  size_t begin = 0;
  for (size_t at = 0; at < record.size(); at += kBlock) {
    const char* block = record.data() + at;
    if (record.size() - at < kBlock) {
      std::memset(last, separator == 'x' ? 'y' : 'x', kBlock);  // marks nothing
      std::memcpy(last, block, record.size() - at);
      block = last;
    }
    Marks marks = MarksOf(block, separator);
    if (marks.others != 0) {
      return block[std::countr_zero(marks.others)] == '"' ? Fit::kHasQuotes : Fit::kNeedsMore;
    }
    for (; marks.separators != 0; marks.separators &= marks.separators - 1) {
      const size_t end = at + static_cast<size_t>(std::countr_zero(marks.separators));
      if (!row.Add(begin, end)) return Fit::kNeedsMore;
      begin = end + 1;
    }
  }
  const bool fits = row.Add(begin, record.size());
  out = row;
  return fits ? Fit::kFits : Fit::kNeedsMore;
}

// The first byte that ends a field, has to be escaped or is a quote, or the size.
size_t FirstMark(std::string_view text, char separator) noexcept {
  size_t at = 0;
  for (; text.size() - at >= kBlock; at += kBlock) {
    const Marks marks = MarksOf(text.data() + at, separator);
    const uint32_t any = marks.separators | marks.others;
    if (any != 0) return at + static_cast<size_t>(std::countr_zero(any));
  }
  const auto is_mark = [separator](char c) {
    return c == separator || static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
  };
  while (at < text.size() && !is_mark(text[at])) ++at;
  return at;
}

// A record with fields in quotes, in which no quotes are.
bool AddQuotedFields(char separator, Row& out) {
  Row row = out;
  const std::string_view record = row.record;
  for (size_t begin = 0; begin <= record.size();) {
    const bool quoted = begin < record.size() && record[begin] == '"';
    if (quoted) ++begin;
    const char end_mark = quoted ? '"' : separator;
    size_t end = begin + FirstMark(record.substr(begin), end_mark);
    if (end < record.size() ? record[end] != end_mark : quoted) return false;
    if (!row.Add(begin, end)) return false;
    if (quoted) ++end;
    if (end < record.size() && record[end] != separator) return false;
    begin = end + 1;
  }
  out = row;
  return true;
}

}  // namespace

bool AppendPlainRow(const Columns& columns, char separator, FieldQuotes quotes,
                    std::string_view record, std::string& out) {
  constexpr size_t kMoreForAValue = 4;  // quotes, or `null` for nothing
  const size_t before = out.size();
  out.resize(before + columns.beginnings().size() + record.size() +
             columns.names().size() * kMoreForAValue + kBlock);
  const Row empty{record, columns.names()[0], columns.beginnings().data(), columns.ends(),
                  out.data() + before};
  Row row = empty;
  Fit fit = AddBareFields(separator, row);
  if (fit == Fit::kHasQuotes && quotes == FieldQuotes::kTaken) {
    row = empty;
    fit = AddQuotedFields(separator, row) ? Fit::kFits : Fit::kNeedsMore;
  }
  const bool taken = fit == Fit::kFits && row.ends.size() == 1;
  if (taken) *row.to++ = '}';
  out.resize(taken ? static_cast<size_t>(row.to - out.data()) : before);
  return taken;
}

}  // namespace pleat::cli
