#include "tools/pleat/records/logfmt_converter.h"

#include <algorithm>
#include <charconv>

#include <pleat/json_lines.h>

#include "tools/pleat/records/field_value.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kNoName = "expected a name before \"=\"";
constexpr std::string_view kQuoteInName = "a quote outside of a value";
constexpr std::string_view kUnclosedQuote = "a quote that is not closed";
constexpr std::string_view kBehindQuote = "text behind the closing quote of a value";
constexpr std::string_view kEscape = "unknown escape in quotes";
constexpr std::string_view kNoPair = "no name=value";

// Half of a pair becomes bytes that are not UTF-8, for which the line is invalid, as any bytes can.
void AppendUtf8(uint32_t c, std::string& out) {
  const auto rest = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xc0 | c >> 6), rest(0)};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xe0 | c >> 12), rest(6), rest(0)};
  } else {
    out += {static_cast<char>(0xf0 | c >> 18), rest(12), rest(6), rest(0)};
  }
}

// Takes `count` hexadecimal digits off the front. False if they are not there.
bool TakeHex(std::string_view& text, size_t count, uint32_t& value) {
  if (text.size() < count) return false;
  const char* const end = text.data() + count;
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) return false;
  text.remove_prefix(count);
  return true;
}

// \uHHHH, whose `\u` was taken; two of them for a character past the first 65,536.
bool TakeUnicode(std::string_view& text, std::string& out) {
  uint32_t c = 0;
  if (!TakeHex(text, 4, c)) return false;
  if (c >= 0xd800 && c < 0xdc00 && text.starts_with("\\u")) {
    std::string_view behind = text.substr(2);
    uint32_t low = 0;
    if (TakeHex(behind, 4, low) && low >= 0xdc00 && low < 0xe000) {
      text = behind;
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  AppendUtf8(c, out);
  return true;
}

// An escape whose backslash was taken. `\xHH` is a byte, which Go writes where bytes are not UTF-8.
bool TakeEscape(std::string_view& text, std::string& out) {
  if (text.empty()) return false;
  const char c = text[0];
  text.remove_prefix(1);
  uint32_t value = 0;
  if (c == 'u') return TakeUnicode(text, out);
  if (c == 'x' || c == 'U') {
    if (!TakeHex(text, c == 'x' ? 2 : 8, value) || value > 0x10ffff) return false;
    c == 'x' ? void(out += static_cast<char>(value)) : AppendUtf8(value, out);
    return true;
  }
  constexpr std::string_view kNames = "\"\\/'abfnrtv";
  constexpr std::string_view kMeanings = "\"\\/'\a\b\f\n\r\t\v";
  const size_t known = kNames.find(c);
  if (known == std::string_view::npos) return false;
  out += kMeanings[known];
  return true;
}

// The value in quotes at the front of `rest`. Returns what is wrong with it.
std::string_view TakeQuoted(std::string_view& rest, std::string& value) {
  for (rest.remove_prefix(1); !rest.empty();) {
    const size_t plain = std::min(rest.find_first_of("\"\\"), rest.size());
    value += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    const char c = rest[0];
    rest.remove_prefix(1);
    if (c == '"') {
      const bool ends = rest.empty() || kWhiteSpace.find(rest[0]) != std::string_view::npos;
      return ends ? std::string_view() : kBehindQuote;
    }
    if (!TakeEscape(rest, value)) return rest.empty() ? kUnclosedQuote : kEscape;
  }
  return kUnclosedQuote;
}

// A value in single quotes, in which nothing is escaped. False, and nothing is taken, if none closes in
// front of white space or the end: then it is a value that begins with a quote, such as '90s.
bool AppendSingleQuoted(std::string_view& rest, std::string& out) {
  for (size_t end = rest.find('\'', 1); end != rest.npos; end = rest.find('\'', end + 1)) {
    if (end + 1 < rest.size() && kWhiteSpace.find(rest[end + 1]) == std::string_view::npos)
      continue;
    AppendFieldValue(rest.substr(1, end - 1), out);
    rest.remove_prefix(end + 1);
    return true;
  }
  return false;
}

}  // namespace

std::string_view LogfmtConverter::AppendObject(std::string_view record, std::string& out) {
  has_equals_ = false;
  char before = '{';
  for (std::string_view rest = record;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kWhiteSpace), rest.size()));
    if (rest.empty()) break;
    out += std::exchange(before, ',');
    if (const std::string_view mistake = AppendPair(rest, out); !mistake.empty()) return mistake;
  }
  out += '}';
  return has_equals_ ? std::string_view() : kNoPair;
}

std::string_view LogfmtConverter::AppendPair(std::string_view& rest, std::string& out) {
  const size_t size = std::min(rest.find_first_of("= \t\r"), rest.size());
  const std::string_view name = rest.substr(0, size);
  if (name.empty()) return kNoName;
  if (name.find('"') != std::string_view::npos) return kQuoteInName;
  AppendJsonString(name, out);
  out += ':';
  rest.remove_prefix(size);
  if (!rest.starts_with('=')) {
    out += "true";
    return {};
  }
  has_equals_ = true;
  rest.remove_prefix(1);
  if (rest.starts_with('\'') && AppendSingleQuoted(rest, out)) return {};
  if (!rest.starts_with('"')) {
    const std::string_view value = rest.substr(0, rest.find_first_of(kWhiteSpace));
    AppendFieldValue(value, out);
    rest.remove_prefix(value.size());
    return {};
  }
  value_.clear();
  const std::string_view mistake = TakeQuoted(rest, value_);
  AppendFieldValue(value_, out);
  return mistake;
}

}  // namespace pleat::cli
