// One function per rule of the grammar. Each takes what it recognises off the front of `rest_` and
// answers whether it could; the first "no" is the end of the whole parse.
#include "tests/support/plain_json.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace pleat::inline v0_1 {
namespace {

constexpr int kLevelsMax = 64;
constexpr size_t kMembersMax = 1024;

bool IsDigit(char c) { return '0' <= c && c <= '9'; }

void AppendUtf8(uint32_t code, std::string& out) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool AnyTwice(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

class Parser {
 public:
  explicit Parser(std::string_view text, bool loose = false) : rest_(text), loose_(loose) {}

  bool Document(PlainJson& out) {
    SkipSpace();
    if (!Value(out, 0)) return false;
    SkipSpace();
    return rest_.empty();
  }

 private:
  using Kind = PlainJson::Kind;

  bool Next(char c) const { return !rest_.empty() && rest_.front() == c; }

  bool Take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  void SkipSpace() {
    while (Next(' ') || Next('\t') || Next('\n') || Next('\r')) rest_.remove_prefix(1);
  }

  // `level` is the number of arrays and objects around this value.
  bool Value(PlainJson& out, int level) {
    if (Next('{') || Next('[')) {
      if (level == kLevelsMax) return false;
      return Next('{') ? Object(out, level + 1) : Array(out, level + 1);
    }
    if (Next('"')) {
      out.kind = Kind::kString;
      return String(out.text);
    }
    if (Take("null")) return true;
    if (loose_ && (Take("NaN") || Take("Infinity") || Take("-Infinity"))) return true;
    for (const char* word : {"true", "false"}) {
      if (!Take(word)) continue;
      out.kind = Kind::kBool;
      out.text = word;
      return true;
    }
    out.kind = Kind::kNumber;
    return Number(out.text);
  }

  bool Object(PlainJson& out, int level) {
    out.kind = Kind::kObject;
    rest_.remove_prefix(1);
    SkipSpace();
    if (Take("}")) return true;
    for (;;) {
      std::string name;
      SkipSpace();
      if (!Next('"') || !String(name)) return false;
      SkipSpace();
      if (!Take(":")) return false;
      SkipSpace();
      PlainJson value;
      if (!Value(value, level)) return false;
      out.names.push_back(std::move(name));
      out.elements.push_back(std::move(value));
      SkipSpace();
      if (Take("}")) break;
      if (!Take(",")) return false;
    }
    if (out.names.size() > kMembersMax) return false;
    return loose_ || !AnyTwice(out.names);
  }

  bool Array(PlainJson& out, int level) {
    out.kind = Kind::kArray;
    rest_.remove_prefix(1);
    SkipSpace();
    if (Take("]")) return true;
    for (;;) {
      SkipSpace();
      PlainJson value;
      if (!Value(value, level)) return false;
      out.elements.push_back(std::move(value));
      SkipSpace();
      if (Take("]")) return true;
      if (!Take(",")) return false;
    }
  }

  bool Digits(std::string& out) {
    if (rest_.empty() || !IsDigit(rest_.front())) return false;
    while (!rest_.empty() && IsDigit(rest_.front())) Move(out);
    return true;
  }

  bool Number(std::string& out) {
    if (Next('-')) Move(out);
    if (Next('0')) {
      Move(out);
    } else if (!Digits(out)) {
      return false;
    }
    if (Next('.')) {
      Move(out);
      if (!Digits(out)) return false;
    }
    if (Next('e') || Next('E')) {
      Move(out);
      if (Next('+') || Next('-')) Move(out);
      if (!Digits(out)) return false;
    }
    return true;
  }

  bool String(std::string& out) {
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      if (Take("\"")) return true;
      if (byte < 0x20) return false;
      if (byte == '\\') {
        rest_.remove_prefix(1);
        if (!Escape(out)) return false;
      } else if (byte < 0x80) {
        Move(out);
      } else if (!Multibyte(byte, out)) {
        return false;
      }
    }
    return false;
  }

  bool Escape(std::string& out) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == 'u') return UnicodeEscape(out);
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const size_t at = kLetters.find(c);
    if (at == std::string_view::npos) return false;
    out.push_back(kMeanings[at]);
    return true;
  }

  bool UnicodeEscape(std::string& out) {
    uint32_t code = 0;
    if (!FourHex(code)) return false;
    if (0xDC00 <= code && code <= 0xDFFF) return false;
    if (0xD800 <= code && code <= 0xDBFF) {
      uint32_t low = 0;
      if (!Take("\\u") || !FourHex(low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(code, out);
    return true;
  }

  bool FourHex(uint32_t& code) {
    constexpr std::string_view kHex = "0123456789abcdef";
    if (rest_.size() < 4) return false;
    code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = rest_.front();
      const size_t digit = kHex.find('A' <= c && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (digit == std::string_view::npos) return false;
      code = code * 16 + static_cast<uint32_t>(digit);
      rest_.remove_prefix(1);
    }
    return true;
  }

  // Decodes one character and compares it with its own encoding: whatever is overlong or out of
  // range does not come out as it went in.
  bool Multibyte(unsigned char lead, std::string& out) {
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
    if (length == 0 || rest_.size() < length) return false;
    uint32_t code = lead & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
      code = (code << 6) | (static_cast<unsigned char>(rest_[i]) & 0x3FU);
    }
    if (code > 0x10FFFF || (0xD800 <= code && code <= 0xDFFF)) return false;
    std::string encoded;
    AppendUtf8(code, encoded);
    out += encoded;
    return Take(encoded);
  }

  void Move(std::string& out) {
    out.push_back(rest_.front());
    rest_.remove_prefix(1);
  }

  std::string_view rest_;
  const bool loose_;
};

}  // namespace

const PlainJson* PlainJson::Member(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &elements[static_cast<size_t>(found - names.begin())];
}

std::optional<PlainJson> ParsePlainJson(std::string_view text) {
  PlainJson out;
  if (!Parser(text).Document(out)) return std::nullopt;
  return out;
}

std::optional<PlainJson> ParseLoosePlainJson(std::string_view text) {
  PlainJson out;
  if (!Parser(text, /*loose=*/true).Document(out)) return std::nullopt;
  return out;
}

bool HasNameTwice(const PlainJson& value) {
  return AnyTwice(value.names) || std::ranges::any_of(value.elements, HasNameTwice);
}

std::string QuotePlainJson(std::string_view text) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string out = "\"";
  for (const char c : text) {
    if (const size_t at = kSpecial.find(c); at != std::string_view::npos) {
      out += {'\\', kLetters[at]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string WritePlainJson(const PlainJson& value) {
  switch (value.kind) {
    case PlainJson::Kind::kNull: return "null";
    case PlainJson::Kind::kBool:
    case PlainJson::Kind::kNumber: return value.text;
    case PlainJson::Kind::kString: return QuotePlainJson(value.text);
    case PlainJson::Kind::kArray:
    case PlainJson::Kind::kObject: break;
  }
  const bool object = value.kind == PlainJson::Kind::kObject;
  std::string out(1, object ? '{' : '[');
  for (size_t i = 0; i < value.elements.size(); ++i) {
    if (i > 0) out += ',';
    if (object) out += QuotePlainJson(value.names[i]) + ':';
    out += WritePlainJson(value.elements[i]);
  }
  return out + (object ? '}' : ']');
}

}  // namespace pleat::inline v0_1
