#include "engine/json/scanner.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <pleat/json.h>

#include "engine/json/number.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"

namespace pleat::inline v0 {
namespace {

// Up to this many members, looking each new fingerprint up among the earlier ones is cheapest.
constexpr size_t kComparedMembers = 32;

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
  const std::span<const uint32_t> tokens = tokenizer_.tokens();
  const Token first = tokens.data();
  last_ = first + tokens.size() - 1;
  text_ = line.data();
  if (CharAt(first) != '{') return bad_line::kNotObject;
  if (CharAt(last_ - 1) != '}') return bad_line::kNoEnd;

  Prepare(line);
  const Token end = ScanObject(first + 1, PathTree::kRoot, 1);
  if (end == nullptr) return reason_;
  return end == last_ ? std::string_view() : bad_line::kTrailing;
}

void Scanner::Prepare(std::string_view line) {
  backslashes_ = std::memchr(line.data(), '\\', line.size()) != nullptr;
  // Never longer than the line, so that names already written never move.
  if (backslashes_ && unescaped_.size() < line.size()) unescaped_.resize(line.size());
  unescaped_used_ = 0;
  // Each name takes a token, and so do its colon and its value.
  const size_t names_max = tokenizer_.tokens().size() / 3 + 1;
  if (names_.size() < names_max) {
    names_.resize(names_max * 2);
    fingerprints_.resize(names_max * 2);
  }
  names_used_ = 0;
  std::fill(values_.begin(), values_.end(), Value{});
}

Scanner::Token Scanner::Fail(std::string_view reason) noexcept {
  reason_ = reason;
  return nullptr;
}

Scanner::Token Scanner::FailTwice(std::string_view name) {
  reason_text_ = "member " + bad_line::Quoted(name);
  reason_text_ += bad_line::kTwice;
  return Fail(reason_text_);
}

// The token with everything up to the next one, less the white space behind it.
inline std::string_view Scanner::TextOf(Token token) const noexcept {
  const char* const begin = text_ + token[0];
  const char* end = text_ + token[1];
  while (IsJsonSpace(end[-1])) --end;  // stops at the token's first byte, which is none
  return {begin, static_cast<size_t>(end - begin)};
}

// Behind its '{'.
Scanner::Token Scanner::ScanObject(Token token, int node, int depth) {
  if (CharAt(token) == '}') return token + 1;
  OpenObject object{names_used_, 0};
  for (;; ++token) {
    token = ScanMember(token, node, depth, object);
    if (token == nullptr) return nullptr;
    if (CharAt(token) != ',') break;
  }
  if (CharAt(token) != '}') return Fail(bad_line::kNoObjectEnd);
  const size_t members = names_used_ - object.first_name;
  if (members > kComparedMembers && !NoNameTwice(object.first_name)) return nullptr;
  names_used_ = object.first_name;
  return token + 1;
}

inline Scanner::Token Scanner::ScanMember(Token token, int node, int depth, OpenObject& object) {
  if (CharAt(token) != '"') return Fail(bad_line::kNoName);
  std::string_view text;
  if (!ReadName(token, text)) return nullptr;
  const Name name{text.data(), static_cast<uint32_t>(text.size()), Fingerprint(text)};
  if (!AddName(name, object)) return nullptr;
  if (CharAt(token + 1) != ':') return Fail(bad_line::kNoColon);
  if (node != PathTree::kNone) node = paths_.Child(node, text, name.fingerprint);
  return ScanValue(token + 2, node, depth);
}

// Behind its '['.
Scanner::Token Scanner::ScanArray(Token token, int depth) {
  if (CharAt(token) == ']') return token + 1;
  for (;; ++token) {
    token = ScanValue(token, PathTree::kNone, depth);
    if (token == nullptr) return nullptr;
    if (CharAt(token) != ',') break;
  }
  return CharAt(token) == ']' ? token + 1 : Fail(bad_line::kNoArrayEnd);
}

// `depth` is that of the container around the value.
inline Scanner::Token Scanner::ScanValue(Token token, int node, int depth) {
  Value value;
  Token end = token + 1;
  const char first = CharAt(token);
  if (first == '"') {
    value = {Value::Kind::kString, false, TextOf(token)};
    if (!CheckString(value.text, value.plain)) return nullptr;
  } else if (first == '-' || (first >= '0' && first <= '9')) {
    value = {Value::Kind::kNumber, true, TextOf(token)};
    if (!IsNumber(value.text)) return Fail(bad_line::kNumber);
  } else if (first == '{' || first == '[') {
    end = ScanContainer(token, node, depth + 1, value);
    if (end == nullptr) return nullptr;
  } else if (first >= 'a' && first <= 'z') {
    value = {KindOfWord(TextOf(token)), true, TextOf(token)};
    if (value.kind == Value::Kind::kAbsent) return Fail(bad_line::kLiteral);
  } else {
    return Fail(bad_line::kNoValue);
  }
  if (node != PathTree::kNone && paths_.Slot(node) != PathTree::kNone) {
    values_[static_cast<size_t>(paths_.Slot(node))] = value;
  }
  return end;
}

Scanner::Token Scanner::ScanContainer(Token token, int node, int depth, Value& value) {
  if (depth > kJsonDepthMax) return Fail(bad_line::kDepth);
  const bool object = CharAt(token) == '{';
  const Token end = object ? ScanObject(token + 1, node, depth) : ScanArray(token + 1, depth);
  if (end == nullptr) return nullptr;
  if (end == last_) return Fail(bad_line::kUnclosed);  // it took the outermost object's '}'
  const char* const begin = text_ + *token;
  value = {object ? Value::Kind::kObject : Value::Kind::kArray,
           false,
           {begin, static_cast<size_t>(text_ + end[-1] + 1 - begin)}};
  return end;
}

// `plain` tells whether there is no backslash in it.
inline bool Scanner::CheckString(std::string_view token, bool& plain) {
  if (token.size() < 2 || token.back() != '"') return Fail(bad_line::kUnclosedString) != nullptr;
  plain = !backslashes_ || token.find('\\') == std::string_view::npos;
  if (plain) return true;
  const std::string_view wrong = CheckEscapes(token.substr(1, token.size() - 2));
  return wrong.empty() || Fail(wrong) != nullptr;
}

inline bool Scanner::ReadName(Token token, std::string_view& name) {
  const std::string_view quoted = TextOf(token);
  bool plain = false;
  if (!CheckString(quoted, plain)) return false;
  name = quoted.substr(1, quoted.size() - 2);
  if (plain) return true;
  char* const begin = unescaped_.data() + unescaped_used_;
  const auto size = static_cast<size_t>(WriteUnescaped(name, begin) - begin);
  unescaped_used_ += size;
  name = {begin, size};
  return true;
}

inline bool Scanner::AddName(const Name& name, OpenObject& object) {
  const size_t first = object.first_name;
  const size_t count = names_used_ - first;
  const uint64_t bit = uint64_t{1} << (name.fingerprint % 64);
  if ((object.seen & bit) != 0 && count < kComparedMembers) {
    for (size_t i = first; i < names_used_; ++i) {
      if (fingerprints_[i] != name.fingerprint || names_[i].text() != name.text()) continue;
      return FailTwice(name.text()) != nullptr;
    }
  }
  if (count == kObjectMembersMax) return Fail(bad_line::kMembers) != nullptr;
  object.seen |= bit;
  names_[names_used_] = name;
  fingerprints_[names_used_] = name.fingerprint;
  ++names_used_;
  return true;
}

// For a large object, once it is complete: sorts its names, equal ones beside each other.
bool Scanner::NoNameTwice(size_t first_name) {
  const auto first = names_.begin() + static_cast<std::ptrdiff_t>(first_name);
  const auto last = names_.begin() + static_cast<std::ptrdiff_t>(names_used_);
  std::sort(first, last, [](const Name& a, const Name& b) {
    if (a.fingerprint != b.fingerprint) return a.fingerprint < b.fingerprint;
    return a.text() < b.text();
  });
  const auto twice = std::adjacent_find(first, last, [](const Name& a, const Name& b) {
    return a.fingerprint == b.fingerprint && a.text() == b.text();
  });
  return twice == last || FailTwice(twice->text()) != nullptr;
}

}  // namespace pleat::inline v0
