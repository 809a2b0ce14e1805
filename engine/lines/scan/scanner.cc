#include "engine/lines/scan/scanner.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <pleat/json_lines.h>

#include "engine/base/check.h"
#include "engine/lines/scan/derived_values.h"
#include "engine/lines/scan/number.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {
namespace {

// Up to this many members, looking each new fingerprint up among the earlier ones is cheapest.
constexpr size_t kComparedMembers = NameTree::kPositionMax;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

const char* FindBackslash(const char* from, const char* end) noexcept {
  const void* const found = std::memchr(from, '\\', static_cast<size_t>(end - from));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// Whether a token in quotes is one string. The tokenizer guarantees this.
[[maybe_unused]] bool IsOneString(std::string_view token) noexcept {
  for (size_t i = 1; i + 1 < token.size(); ++i) {
    if (token[i] == '"' || static_cast<unsigned char>(token[i]) < ' ') return false;
    if (token[i] == '\\') ++i;
  }
  return true;
}

Value::Kind KindOfWord(std::string_view token) noexcept {
  if (token == "null") return Value::Kind::kNull;
  if (token == "true" || token == "false") return Value::Kind::kBool;
  return Value::Kind::kAbsent;
}

// A place is a word: where the text of the value begins in the line, its kind and what is known of it,
// and how long the text is. The end of a long text is looked for once more.
static_assert(kLineBytesMax <= size_t{1} << 20);
constexpr int kKindShift = 20;
constexpr int kPlainShift = 23;
constexpr int kShortIntegerShift = 24;
constexpr int kSizeShift = 25;
constexpr size_t kLongSize = 127;

const char* BehindString(const char* begin) noexcept {
  const char* at = begin + 1;
  while (*at != '"') at += *at == '\\' ? 2 : 1;
  return at + 1;
}

const char* BehindContainer(const char* begin) noexcept {
  int depth = 0;
  for (const char* at = begin;;) {
    if (*at == '"') {
      at = BehindString(at);
      continue;
    }
    depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    ++at;
    if (depth == 0) return at;
  }
}

// Of a value that was found to be one.
const char* BehindValue(const char* begin, Value::Kind kind) noexcept {
  if (kind == Value::Kind::kString) return BehindString(begin);
  if (kind >= Value::Kind::kArray) return BehindContainer(begin);
  const char* at = begin;
  while (*at > ' ' && *at != ',' && *at != '}' && *at != ']') ++at;
  return at;
}

}  // namespace

Scanner::Scanner(const PathTree& paths, std::unique_ptr<Tokenizer> tokenizer)
    : paths_(paths),
      known_(paths),
      tokenizer_(std::move(tokenizer)),
      values_(static_cast<size_t>(paths.slots())) {}

inline void Scanner::Prepare(std::string_view line, bool backslashes) {
  line_ = {.backslashes = backslashes};
  // Never longer than the line, so that names already written never move.
  if (line_.backslashes && unescaped_.size() < line.size()) unescaped_.resize(line.size());
  unescaped_used_ = 0;
  names_used_ = 0;
  known_.ForgetIfFull();
  for (Value& value : values_) value.kind = Value::Kind::kAbsent;
}

// From its first token up to last_.
inline std::string_view Scanner::Check(std::string_view line, Token first) {
  if (CharAt(first) != '{') {
    return line.starts_with(kByteOrderMark) ? invalid_line::kByteOrderMark
                                            : invalid_line::kNotObject;
  }
  if (CharAt(last_ - 1) != '}') return invalid_line::kNoEnd;
  const Token end = ScanObject(first + 1, NameTree::BeginningAt(PathTree::kRoot), 1);
  if (end == nullptr) return reason_;
  if (end != last_) return invalid_line::kTrailing;
  if (!line_.twice && !paths_.has_derived()) [[likely]]
    return {};
  if (line_.twice) {
    if (const std::string_view why = CheckTwice(); !why.empty()) return why;
  }
  DeriveValues(paths_, values_);
  return {};
}

// Names came twice where no path leads. That is a mistake if what they stand in is asked for.
std::string_view Scanner::CheckTwice() {
  for (const Name& name : twice_) {
    const char* const at = text_ + name.place;
    const bool inside = std::ranges::any_of(values_, [at](const Value& value) {
      return value.kind >= Value::Kind::kArray && at >= value.text.data() &&
             at < value.text.data() + value.text.size();
    });
    if (!inside && !paths_.asks_for_all()) continue;
    FailTwice(name.text());
    return reason_;
  }
  return {};
}

std::string_view Scanner::Scan(std::string_view line) {
  if (line.size() > kLineBytesMax) return invalid_line::kTooLong;
  if (line.starts_with(kByteOrderMark)) return invalid_line::kByteOrderMark;
  if (std::string_view wrong = tokenizer_->Index(line); !wrong.empty()) return wrong;
  const std::span<const uint32_t> tokens = tokenizer_->tokens();
  last_ = tokens.data() + tokens.size() - 1;
  text_ = line.data();
  Prepare(line, std::memchr(line.data(), '\\', line.size()) != nullptr);
  return Check(line, tokens.data());
}

bool Scanner::Index(std::string_view text) {
  if (!tokenizer_->Index(text).empty()) return false;
  const std::span<const uint32_t> tokens = tokenizer_->tokens();
  next_ = tokens.data();
  end_ = next_ + tokens.size() - 1;
  text_ = text.data();
  text_end_ = text.data() + text.size();
  next_backslash_ = FindBackslash(text.data(), text_end_);
  return true;
}

bool Scanner::ScanNext(std::string_view line, std::string_view& wrong) {
  const auto end = static_cast<uint32_t>(line.data() + line.size() - text_);
  const Token first = next_;
  if (*first >= end) return false;
  next_ = last_ = EndOfLine(first, end);
  tokens_a_line_ = static_cast<size_t>(last_ - first);
  if (line.size() > kLineBytesMax) {
    wrong = invalid_line::kTooLong;
  } else {
    Prepare(line, HasBackslash(line));
    wrong = Check(line, first);
  }
  return true;
}

void Scanner::WritePlaces(std::string_view line, uint32_t* places) const noexcept {
  for (const Value& value : values_) {
    const bool is_there = value.kind != Value::Kind::kAbsent;
    const auto begin = static_cast<uint32_t>(value.text.data() - line.data());
    const auto size = static_cast<uint32_t>(std::min(value.text.size(), kLongSize));
    const uint32_t place = begin | static_cast<uint32_t>(value.kind) << kKindShift |
                           static_cast<uint32_t>(value.plain) << kPlainShift |
                           static_cast<uint32_t>(value.short_integer) << kShortIntegerShift |
                           size << kSizeShift;
    *places++ = is_there ? place : 0;
  }
}

void Scanner::ScanPlaces(std::string_view line, std::span<const uint32_t> places) noexcept {
  PLEAT_DCHECK(places.size() == values_.size());
  line_ = {.odd_numbers = true};  // maybe
  for (size_t i = 0; i < places.size(); ++i) {
    const uint32_t place = places[i];
    Value& value = values_[i];
    value.kind = static_cast<Value::Kind>(place >> kKindShift & 7);
    if (value.kind == Value::Kind::kAbsent) continue;
    value.plain = (place >> kPlainShift & 1) != 0;
    value.short_integer = (place >> kShortIntegerShift & 1) != 0;
    const char* const begin = line.data() + (place & ((1U << kKindShift) - 1));
    const size_t size = place >> kSizeShift;
    const char* const end = size < kLongSize ? begin + size : BehindValue(begin, value.kind);
    value.text = {begin, static_cast<size_t>(end - begin)};
  }
}

// The first token at or behind `end`: about as far away as in the line before.
inline Scanner::Token Scanner::EndOfLine(Token first, uint32_t end) const noexcept {
  const auto left = static_cast<size_t>(end_ - first);
  Token token = first + std::min(tokens_a_line_, left);
  while (*token < end) ++token;  // stops at end_, which holds the size of the text
  while (token[-1] >= end) --token;
  return token;
}

inline bool Scanner::HasBackslash(std::string_view line) noexcept {
  if (next_backslash_ < line.data()) next_backslash_ = FindBackslash(line.data(), text_end_);
  return next_backslash_ < line.data() + line.size();
}

Scanner::Token Scanner::Fail(std::string_view reason) noexcept {
  reason_ = reason;
  return nullptr;
}

Scanner::Token Scanner::FailTwice(std::string_view name) {
  reason_text_ = "member " + invalid_line::Quoted(name);
  reason_text_ += invalid_line::kTwice;
  return Fail(reason_text_);
}

// Whether a name may come twice in an object. It is noted then.
bool Scanner::MayComeTwice(int node, const Name& name) {
  const bool asked = node != PathTree::kNone &&
                     paths_.Child(node, name.text(), name.fingerprint) != PathTree::kNone;
  if (asked) return FailTwice(name.text()) != nullptr;
  if (!line_.twice) twice_.clear();
  line_.twice = true;
  twice_.push_back(name);
  return true;
}

// The token with everything up to the next one, less the white space behind it.
inline std::string_view Scanner::TextOf(Token token) const noexcept {
  const char* const begin = text_ + token[0];
  const char* end = text_ + token[1];
  if (static_cast<unsigned char>(end[-1]) <= ' ') {
    while (IsJsonSpace(end[-1])) --end;  // stops at the token's first byte, which is no space
  }
  return {begin, static_cast<size_t>(end - begin)};
}

// Behind its '{'; `name` is the object's beginning, and then the name of each member.
Scanner::Token Scanner::ScanObject(Token token, NameTree::Id name, int depth) {
  if (CharAt(token) == '}') return token + 1;
  for (;; ++token) {
    const size_t size = token[1] - token[0] + 1;
    if (!known_.Follows(text_ + token[0], size, name)) {
      const NameTree::Id before = name;
      if (!NextName(token, name)) return nullptr;
      if (name == NameTree::kNone) return ScanNewNames(token, before, depth);
    }
    token = ScanValue(token + 2, name, depth);
    if (token == nullptr) return nullptr;
    if (CharAt(token) != ',') break;
  }
  return CharAt(token) == '}' ? token + 1 : Fail(invalid_line::kNoObjectEnd);
}

// Moves `name` on to the one at `token`, or to kNone if that cannot be remembered.
bool Scanner::NextName(Token token, NameTree::Id& name) {
  if (known_[name].position == kComparedMembers) {
    name = NameTree::kNone;
    return true;
  }
  if (CharAt(token) != '"') return Fail(invalid_line::kNoName) != nullptr;
  const std::string_view quoted = TextOf(token);
  NameTree::Id next = known_.Find(name, quoted);
  if (next == NameTree::kNone) {
    std::string_view text;
    const size_t unescaped_before = unescaped_used_;
    if (!ReadName(token, text)) return false;
    const uint32_t fingerprint = Fingerprint(text);
    // It is no part of the tree, where a name is another one than those before it.
    if (known_.HasBefore(name, text, fingerprint)) {
      unescaped_used_ = unescaped_before;
      name = NameTree::kNone;
      return true;
    }
    if (CharAt(token + 1) != ':') return Fail(invalid_line::kNoColon) != nullptr;
    next = known_.Add(name, quoted, text, fingerprint);
    // The tree has bytes of its own; a name that it did not take is read once more, into this room.
    unescaped_used_ = unescaped_before;
  } else if (CharAt(token + 1) != ':') {
    return Fail(invalid_line::kNoColon) != nullptr;
  }
  name = next;
  return true;
}

// The rest of an object, from a name that is not remembered; `last` is the one before it.
Scanner::Token Scanner::ScanNewNames(Token token, NameTree::Id last, int depth) {
  const int node = known_[last].object;
  OpenObject object{node, names_used_, known_[last].position, ~uint64_t{0}};
  AddNamesBefore(last);
  for (;; ++token) {
    if (CharAt(token) != '"') return Fail(invalid_line::kNoName);
    std::string_view text;
    if (!ReadName(token, text)) return nullptr;
    const Name name{text.data(), static_cast<uint32_t>(text.size()), Fingerprint(text), *token};
    if (!AddName(name, object)) return nullptr;
    if (CharAt(token + 1) != ':') return Fail(invalid_line::kNoColon);
    const int child = node == PathTree::kNone ? node : paths_.Child(node, text, name.fingerprint);
    token = ScanValue(token + 2, NameTree::BeginningAt(child), depth);
    if (token == nullptr) return nullptr;
    if (CharAt(token) != ',') break;
  }
  if (CharAt(token) != '}') return Fail(invalid_line::kNoObjectEnd);
  const size_t members = names_used_ - object.first_name;
  if (members > kComparedMembers && !CheckManyNames(object)) return nullptr;
  names_used_ = object.first_name;
  return token + 1;
}

// Behind its '['.
Scanner::Token Scanner::ScanArray(Token token, int depth) {
  if (CharAt(token) == ']') return token + 1;
  for (;; ++token) {
    token = ScanValue(token, NameTree::kNowhere, depth);
    if (token == nullptr) return nullptr;
    if (CharAt(token) != ',') break;
  }
  return CharAt(token) == ']' ? token + 1 : Fail(invalid_line::kNoArrayEnd);
}

// The same for an array at a node of the path tree with elements that some path may lead to.
Scanner::Token Scanner::ScanElements(Token token, int node, int depth) {
  if (CharAt(token) == ']') return token + 1;
  const uint32_t elements = paths_.Elements(node);
  for (uint32_t index = 0;; ++token, ++index) {
    const int child = index < elements ? paths_.Element(node, index) : PathTree::kNone;
    token = ScanValue(token, NameTree::BeginningAt(child), depth);
    if (token == nullptr) return nullptr;
    if (CharAt(token) != ',') break;
  }
  return CharAt(token) == ']' ? token + 1 : Fail(invalid_line::kNoArrayEnd);
}

// The value of the member `name`, or of an element. `depth` is that of the container around it. Inlined by force: a
// call for each value is a sixth of the time.
[[gnu::always_inline]] inline Scanner::Token Scanner::ScanValue(Token token, NameTree::Id name,
                                                                int depth) {
  // Apart, not in a Value: stored in parts and copied as a whole, it would stall.
  Value::Kind kind;
  bool plain = true;
  bool short_integer = false;
  std::string_view text = TextOf(token);
  Token end = token + 1;
  const char first = CharAt(token);
  if (first >= '0' && first <= '9') {
    kind = Value::Kind::kNumber;
    short_integer = plain = IsShortInteger(text);
    if (!short_integer) {
      if (!IsNumber(text)) return Fail(invalid_line::kNumber);
      line_.odd_numbers = true;
    }
  } else if (first == '"') {
    kind = Value::Kind::kString;
    if (!CheckString(text, plain)) return nullptr;
  } else if (first == '-') {
    kind = Value::Kind::kNumber;
    plain = false;
    line_.odd_numbers = true;
    if (!IsNumber(text)) {
      if (!ScanNotNumber(text)) return Fail(invalid_line::kNumber);
      kind = Value::Kind::kNull;
    }
  } else if (first == '{' || first == '[') {
    kind = first == '{' ? Value::Kind::kObject : Value::Kind::kArray;
    plain = false;
    end = ScanContainer(token, name, depth + 1);
    if (end == nullptr) return nullptr;
    text = {text.data(), static_cast<size_t>(text_ + end[-1] + 1 - text.data())};
  } else if (first >= 'a' && first <= 'z') {
    kind = KindOfWord(text);
    if (kind == Value::Kind::kAbsent) return Fail(invalid_line::kLiteral);
  } else {
    if (!ScanNotNumber(text)) return Fail(invalid_line::kNoValue);
    kind = Value::Kind::kNull;
    plain = false;
  }
  if (const int slot = known_[name].slot; slot != PathTree::kNone) {
    Value& value = values_[static_cast<size_t>(slot)];
    value.kind = kind;
    value.plain = plain;
    value.short_integer = short_integer;
    value.text = text;
  }
  return end;
}

Scanner::Token Scanner::ScanContainer(Token token, NameTree::Id name, int depth) {
  if (depth > kJsonDepthMax) return Fail(invalid_line::kDepth);
  Token end = nullptr;
  if (CharAt(token) == '{') {
    end = ScanObject(token + 1, known_.Inner(name), depth);
  } else if (const int node = known_[name].node; paths_.Elements(node) > 0) {
    end = ScanElements(token + 1, node, depth);
  } else {
    end = ScanArray(token + 1, depth);
  }
  if (end == last_) return Fail(invalid_line::kUnclosed);  // it took the outermost object's '}'
  return end;
}

// `plain` tells whether there is no backslash in it.
inline bool Scanner::CheckString(std::string_view token, bool& plain) {
  if (token.size() < 2 || token.back() != '"')
    return Fail(invalid_line::kUnclosedString) != nullptr;
  PLEAT_DCHECK(IsOneString(token));
  plain = !line_.backslashes || token.find('\\') == std::string_view::npos;
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

// `last` and all before it in its object, which are known to differ.
void Scanner::AddNamesBefore(NameTree::Id last) {
  ReserveNames(known_[last].position);
  for (; known_[last].position != 0; last = known_[last].before) {
    const std::string_view text = known_[last].text();
    names_[names_used_] = {text.data(), static_cast<uint32_t>(text.size()),
                           known_[last].fingerprint, 0};
    fingerprints_[names_used_++] = known_[last].fingerprint;
  }
}

void Scanner::ReserveNames(size_t more) {
  if (names_.size() - names_used_ >= more) return;
  names_.resize(std::max(2 * names_.size(), names_used_ + more));
  fingerprints_.resize(names_.size());
}

inline bool Scanner::AddName(const Name& name, OpenObject& object) {
  if (object.members++ == kObjectMembersMax) return Fail(invalid_line::kMembers) != nullptr;
  const size_t first = object.first_name;
  const size_t count = names_used_ - first;
  const uint64_t bit = uint64_t{1} << (name.fingerprint % 64);
  if ((object.seen & bit) != 0 && count < kComparedMembers) {
    for (size_t i = first; i < names_used_; ++i) {
      if (fingerprints_[i] != name.fingerprint || names_[i].text() != name.text()) continue;
      return MayComeTwice(object.node, name);
    }
  }
  object.seen |= bit;
  ReserveNames(1);
  names_[names_used_] = name;
  fingerprints_[names_used_] = name.fingerprint;
  ++names_used_;
  return true;
}

// For a large object, once it is complete: sorts its names, equal ones beside each other.
bool Scanner::CheckManyNames(const OpenObject& object) {
  const auto first = names_.begin() + static_cast<std::ptrdiff_t>(object.first_name);
  const auto last = names_.begin() + static_cast<std::ptrdiff_t>(names_used_);
  std::sort(first, last, [](const Name& a, const Name& b) {
    if (a.fingerprint != b.fingerprint) return a.fingerprint < b.fingerprint;
    if (const int order = a.text().compare(b.text()); order != 0) return order < 0;
    return a.place < b.place;
  });
  const auto are_equal = [](const Name& a, const Name& b) {
    return a.fingerprint == b.fingerprint && a.text() == b.text();
  };
  for (auto twice = std::adjacent_find(first, last, are_equal); twice != last;
       twice = std::adjacent_find(twice + 1, last, are_equal)) {
    if (!MayComeTwice(object.node, *(twice + 1))) return false;
  }
  return true;
}

// Whether `text` is NaN, Infinity or -Infinity, as Python and JavaScript write numbers that JSON does not
// have.
bool Scanner::ScanNotNumber(std::string_view text) {
  const bool is_one = text == "NaN" || text == "Infinity" || text == "-Infinity";
  line_.not_numbers += is_one ? 1 : 0;
  return is_one;
}

}  // namespace pleat::inline v0_1
