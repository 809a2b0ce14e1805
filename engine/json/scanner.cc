#include "engine/json/scanner.h"

#include <algorithm>
#include <cstring>

#include <pleat/json.h>

#include "engine/json/number.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"

namespace pleat::inline v0 {
namespace {

// Up to this many members, comparing each new fingerprint with all earlier ones is cheapest.
constexpr size_t kComparedMembers = 32;

template <class Word>
uint64_t Load(const char* p) noexcept {
  Word word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// A digest of the name's size, first and last bytes; its value depends on the machine's byte order
// and is never kept. Names chosen to share one cost no more than any others in the sort.
uint32_t Fingerprint(std::string_view name) noexcept {
  const char* const p = name.data();
  const size_t size = name.size();
  uint64_t word = 0;
  if (size >= 8) {
    word = Load<uint64_t>(p) + 0x9e3779b97f4a7c15 * Load<uint64_t>(p + size - 8);
  } else if (size >= 4) {
    word = Load<uint32_t>(p) | Load<uint32_t>(p + size - 4) << 32;
  } else if (size > 0) {
    word = Load<uint8_t>(p) | Load<uint8_t>(p + size / 2) << 8 | Load<uint8_t>(p + size - 1) << 16;
  }
  word = (word ^ size) * 0xd6e8feb86659fd93;
  return static_cast<uint32_t>(word >> 32);
}

Value::Kind KindOfWord(std::string_view token) noexcept {
  if (token == "null") return Value::Kind::kNull;
  if (token == "true" || token == "false") return Value::Kind::kBool;
  return Value::Kind::kAbsent;
}

}  // namespace

Scanner::Scanner(const PathTree& paths)
    : paths_(paths), values_(static_cast<size_t>(paths.slots())) {}

std::string_view Scanner::Scan(std::string_view line) {
  if (line.size() > kLineBytesMax) return bad_line::kTooLong;
  if (line.substr(0, 3) == "\xef\xbb\xbf") return bad_line::kByteOrderMark;
  if (std::string_view wrong = tokenizer_.Index(line); !wrong.empty()) return wrong;

  text_ = line.data();
  token_ = tokenizer_.tokens().data();
  last_ = token_ + tokenizer_.tokens().size() - 1;
  backslashes_ = std::memchr(line.data(), '\\', line.size()) != nullptr;
  // Never longer than the line, so that names already written never move.
  if (backslashes_ && unescaped_.size() < line.size()) unescaped_.resize(line.size());
  unescaped_used_ = 0;
  names_.clear();
  fingerprints_.clear();
  std::fill(values_.begin(), values_.end(), Value{});

  if (!Take('{')) return bad_line::kNotObject;
  if (!ScanObject(PathTree::kRoot, 1)) return reason_;
  if (more()) return bad_line::kTrailing;
  return {};
}

bool Scanner::Fail(std::string_view reason) noexcept {
  reason_ = more() ? reason : bad_line::kUnclosed;
  return false;
}

bool Scanner::FailTwice(std::string_view name) {
  reason_text_ = "member " + bad_line::Quoted(name);
  reason_text_ += bad_line::kTwice;
  reason_ = reason_text_;
  return false;
}

bool Scanner::Take(char c) noexcept {
  if (!At(c)) return false;
  ++token_;
  return true;
}

// The current token with everything up to the next one, less the white space behind it.
std::string_view Scanner::TakeToken() noexcept {
  const char* const begin = here();
  const char* end = text_ + *++token_;
  while (IsJsonSpace(end[-1])) --end;  // stops at the token's first byte, which is none
  return {begin, static_cast<size_t>(end - begin)};
}

// Behind its '{'.
bool Scanner::ScanObject(int node, int depth) {
  if (Take('}')) return true;
  const size_t first_name = names_.size();
  do {
    if (!ScanMember(node, depth, first_name)) return false;
  } while (Take(','));
  if (!Take('}')) return Fail(bad_line::kNoObjectEnd);
  if (names_.size() - first_name > kComparedMembers && !NoNameTwice(first_name)) return false;
  names_.resize(first_name);
  fingerprints_.resize(first_name);
  return true;
}

bool Scanner::ScanMember(int node, int depth, size_t first_name) {
  if (names_.size() - first_name == kObjectMembersMax) return Fail(bad_line::kMembers);
  std::string_view name;
  if (!ScanName(name) || !AddName(name, first_name)) return false;
  if (!Take(':')) return Fail(bad_line::kNoColon);
  return ScanValue(node == PathTree::kNone ? node : paths_.Child(node, name), depth);
}

// Behind its '['.
bool Scanner::ScanArray(int depth) {
  if (Take(']')) return true;
  do {
    if (!ScanValue(PathTree::kNone, depth)) return false;
  } while (Take(','));
  return Take(']') || Fail(bad_line::kNoArrayEnd);
}

// `depth` is that of the container around the value.
bool Scanner::ScanValue(int node, int depth) {
  if (!more()) return Fail(bad_line::kNoValue);
  Value value;
  const char first = *here();
  if (first == '"') {
    std::string_view inside;
    if (!ScanString(inside, value.plain)) return false;
    value.kind = Value::Kind::kString;
    value.text = {inside.data() - 1, inside.size() + 2};
  } else if (first == '{' || first == '[') {
    if (!ScanContainer(node, depth + 1, value)) return false;
  } else if (first == '-' || (first >= '0' && first <= '9')) {
    value = {Value::Kind::kNumber, true, TakeToken()};
    if (!IsNumber(value.text)) return reason_ = bad_line::kNumber, false;
  } else if (first >= 'a' && first <= 'z') {
    value.text = TakeToken();
    value.plain = true;
    value.kind = KindOfWord(value.text);
    if (value.kind == Value::Kind::kAbsent) return reason_ = bad_line::kLiteral, false;
  } else {
    return Fail(bad_line::kNoValue);
  }
  if (node != PathTree::kNone && paths_.Slot(node) != PathTree::kNone) {
    values_[static_cast<size_t>(paths_.Slot(node))] = value;
  }
  return true;
}

bool Scanner::ScanContainer(int node, int depth, Value& value) {
  if (depth > kJsonDepthMax) return Fail(bad_line::kDepth);
  const char* const begin = here();
  const bool object = *begin == '{';
  ++token_;
  if (object ? !ScanObject(node, depth) : !ScanArray(depth)) return false;
  value.kind = object ? Value::Kind::kObject : Value::Kind::kArray;
  value.text = {begin, static_cast<size_t>(text_ + token_[-1] + 1 - begin)};
  return true;
}

// `plain` tells whether there is no backslash in it.
bool Scanner::ScanString(std::string_view& inside, bool& plain) {
  const std::string_view token = TakeToken();
  if (token.size() < 2 || token.back() != '"') return reason_ = bad_line::kUnclosedString, false;
  inside = token.substr(1, token.size() - 2);
  plain = !backslashes_ || inside.find('\\') == std::string_view::npos;
  if (plain) return true;
  const std::string_view wrong = CheckEscapes(inside);
  if (wrong.empty()) return true;
  reason_ = wrong;
  return false;
}

bool Scanner::ScanName(std::string_view& name) {
  if (!At('"')) return Fail(bad_line::kNoName);
  bool plain = false;
  if (!ScanString(name, plain)) return false;
  if (plain) return true;
  char* const begin = unescaped_.data() + unescaped_used_;
  const auto size = static_cast<size_t>(WriteUnescaped(name, begin) - begin);
  unescaped_used_ += size;
  name = {begin, size};
  return true;
}

bool Scanner::AddName(std::string_view name, size_t first_name) {
  const uint32_t fingerprint = Fingerprint(name);
  const size_t count = names_.size() - first_name;
  if (count < kComparedMembers) {
    const uint32_t* const earlier = fingerprints_.data() + first_name;
    bool met = false;
    for (size_t i = 0; i < count; ++i) met |= earlier[i] == fingerprint;
    for (size_t i = 0; met && i < count; ++i) {
      if (names_[first_name + i].text() == name) return FailTwice(name);
    }
  }
  names_.push_back({name.data(), static_cast<uint32_t>(name.size()), fingerprint});
  fingerprints_.push_back(fingerprint);
  return true;
}

// For a large object, once it is complete: sorts its names, equal ones beside each other.
bool Scanner::NoNameTwice(size_t first_name) {
  const auto first = names_.begin() + static_cast<std::ptrdiff_t>(first_name);
  std::sort(first, names_.end(), [](const Name& a, const Name& b) {
    if (a.fingerprint != b.fingerprint) return a.fingerprint < b.fingerprint;
    return a.text() < b.text();
  });
  const auto twice = std::adjacent_find(first, names_.end(), [](const Name& a, const Name& b) {
    return a.fingerprint == b.fingerprint && a.text() == b.text();
  });
  return twice == names_.end() || FailTwice(twice->text());
}

}  // namespace pleat::inline v0
