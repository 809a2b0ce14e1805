#include "engine/lines/scan/text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include <pleat/json_lines.h>

#include "engine/lines/scan/reasons.h"

namespace pleat::inline v0_1 {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// The value of a hexadecimal digit, or a negative number.
int HexValue(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The UTF-16 unit of the four digits at `p`, or a negative number.
int ReadUnit(const char* p) noexcept {
  int unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = HexValue(p[i]);
    if (digit < 0) return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

bool IsHighSurrogate(int unit) noexcept { return unit >= 0xd800 && unit < 0xdc00; }
bool IsLowSurrogate(int unit) noexcept { return unit >= 0xdc00 && unit < 0xe000; }

// The character that `\c` stands for, or NUL if it is none of the eight.
char ShortEscape(char c) noexcept {
  switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
  }
}

// Reads the checked escape at `p`, which is its backslash, and moves `p` behind it.
uint32_t ReadEscape(const char*& p) noexcept {
  if (p[1] != 'u') {
    const char c = ShortEscape(p[1]);
    p += 2;
    return static_cast<unsigned char>(c);
  }
  const int unit = ReadUnit(p + 2);
  p += 6;
  if (!IsHighSurrogate(unit)) return static_cast<uint32_t>(unit);
  const int low = ReadUnit(p + 2);
  p += 6;
  return static_cast<uint32_t>(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

char* WriteUtf8(uint32_t c, char* to) noexcept {
  auto put = [&](uint32_t byte) { *to++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
  return to;
}

constexpr bool NeedsEscape(uint32_t c) noexcept { return c < 0x20 || c == '"' || c == '\\'; }

// The canonical escape of a character that needs one.
char* WriteEscape(uint32_t c, char* to) noexcept {
  *to++ = '\\';
  switch (c) {
    case '"':
    case '\\': *to++ = static_cast<char>(c); return to;
    case '\b': *to++ = 'b'; return to;
    case '\f': *to++ = 'f'; return to;
    case '\n': *to++ = 'n'; return to;
    case '\r': *to++ = 'r'; return to;
    case '\t': *to++ = 't'; return to;
    default: break;
  }
  std::memcpy(to, "u00", 3);
  to[3] = kHexDigits[c >> 4];
  to[4] = kHexDigits[c & 0xf];
  return to + 5;
}

char* Copy(const char* from, const char* end, char* to) noexcept {
  const auto size = static_cast<size_t>(end - from);
  std::memcpy(to, from, size);
  return to + size;
}

const char* NextBackslash(const char* p, const char* end) noexcept {
  const void* found = std::memchr(p, '\\', static_cast<size_t>(end - p));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// Copies `inside`, handing every escaped character to `write(c, to)`, which returns the new end.
template <class Write>
char* Rewrite(std::string_view inside, char* to, Write write) noexcept {
  const char* p = inside.data();
  const char* const end = p + inside.size();
  for (;;) {
    const char* const backslash = NextBackslash(p, end);
    to = Copy(p, backslash, to);
    if (backslash == end) return to;
    p = backslash;
    const uint32_t c = ReadEscape(p);
    to = write(c, to);
  }
}

// The closing quote of the string that starts at `open`.
const char* ClosingQuote(const char* open) noexcept {
  const char* p = open + 1;
  for (; *p != '"'; ++p) {
    if (*p == '\\') ++p;
  }
  return p;
}

const char* SkipSpace(const char* p) noexcept {
  while (IsJsonSpace(*p)) ++p;
  return p;
}

const char* SkipContainer(const char* p) noexcept {
  int depth = 0;
  for (;; ++p) {
    if (*p == '"') {
      p = ClosingQuote(p);
    } else if (*p == '{' || *p == '[') {
      ++depth;
    } else if ((*p == '}' || *p == ']') && --depth == 0) {
      return p + 1;
    }
  }
}

// Of capital letters, only those of NaN and Infinity stand outside strings, and the E of an exponent.
bool BeginsNoNumber(char c) noexcept { return c >= 'I' && c <= 'N'; }
bool IsLetter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string_view Between(const char* begin, const char* end) noexcept {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

std::string_view CheckEscapes(std::string_view inside) noexcept {
  const char* p = inside.data();
  const char* const end = p + inside.size();
  while ((p = NextBackslash(p, end)) != end) {
    if (end - p < 2) return invalid_line::kEscape;
    if (p[1] != 'u') {
      if (ShortEscape(p[1]) == '\0') return invalid_line::kEscape;
      p += 2;
      continue;
    }
    const int unit = end - p < 6 ? -1 : ReadUnit(p + 2);
    if (unit < 0) return invalid_line::kEscape;
    if (IsLowSurrogate(unit)) return invalid_line::kSurrogate;
    p += 6;
    if (!IsHighSurrogate(unit)) continue;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !IsLowSurrogate(ReadUnit(p + 2))) {
      return invalid_line::kSurrogate;
    }
    p += 6;
  }
  return {};
}

bool HasOneByteEscapes(std::string_view inside) noexcept {
  const char* p = inside.data();
  const char* const end = p + inside.size();
  while ((p = NextBackslash(p, end)) != end) {
    const std::ptrdiff_t size = end - p < 2 || p[1] != 'u' ? 2 : 6;
    if (end - p < size) return false;
    const int c = size == 6 ? ReadUnit(p + 2) : ShortEscape(p[1]) - 1;
    if (c < 0 || c >= 0x80) return false;
    p += size;
  }
  return true;
}

char* WriteUnescaped(std::string_view inside, char* to) noexcept {
  return Rewrite(inside, to, WriteUtf8);
}

char* WriteCanonical(std::string_view text, char* to) noexcept {
  const char* const begin = to;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    if (*p == '"') {
      const char* const close = ClosingQuote(p);
      *to++ = '"';
      to = Rewrite(Between(p + 1, close), to, [](uint32_t c, char* at) noexcept {
        return NeedsEscape(c) ? WriteEscape(c, at) : WriteUtf8(c, at);
      });
      *to++ = '"';
      p = close + 1;
    } else if (IsJsonSpace(*p)) {
      ++p;
    } else if (BeginsNoNumber(*p)) {
      p = std::find_if_not(p, end, IsLetter);
      if (to != begin && to[-1] == '-') --to;
      to = std::copy_n("null", 4, to);
    } else {
      *to++ = *p++;
    }
  }
  return to;
}

const char* SkipValue(const char* value) noexcept {
  if (*value == '"') return ClosingQuote(value) + 1;
  if (*value == '{' || *value == '[') return SkipContainer(value);
  const char* p = value;
  while (*p != ',' && *p != ']' && *p != '}' && !IsJsonSpace(*p)) ++p;
  return p;
}

void ForEachElement(std::string_view text, absl::FunctionRef<void(std::string_view)> visit) {
  const char* p = SkipSpace(text.data() + 1);
  while (*p != ']') {
    const char* const end = SkipValue(p);
    visit(Between(p, end));
    p = SkipSpace(end);
    if (*p == ',') p = SkipSpace(p + 1);
  }
}

void ForEachMember(std::string_view text,
                   absl::FunctionRef<void(std::string_view, std::string_view)> visit) {
  const char* p = SkipSpace(text.data() + 1);
  while (*p != '}') {
    const char* const name_end = ClosingQuote(p) + 1;
    const char* const value = SkipSpace(SkipSpace(name_end) + 1);
    const char* const end = SkipValue(value);
    visit(Between(p, name_end), Between(value, end));
    p = SkipSpace(end);
    if (*p == ',') p = SkipSpace(p + 1);
  }
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (!NeedsEscape(c)) continue;
    out += text.substr(copied, i - copied);
    char escape[6];
    out.append(escape, WriteEscape(c, escape));
    copied = i + 1;
  }
  out += text.substr(copied);
  out += '"';
}

}  // namespace pleat::inline v0_1
