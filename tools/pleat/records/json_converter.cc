#include "tools/pleat/records/json_converter.h"

#include <algorithm>
#include <array>
#include <utility>

#include <pleat/json_lines.h>

namespace pleat::cli {
namespace {

// As lines of JSON that have the same mistakes.
constexpr std::string_view kNotObject = "not a JSON object";
constexpr std::string_view kControl = "not valid JSON: control character in a string";
constexpr std::string_view kUnclosedString = "not valid JSON: unclosed string";
constexpr std::string_view kUnclosed = "not valid JSON: unclosed object or array";
constexpr std::string_view kNoMatch = "not valid JSON: brackets that do not match";

// Before each value of a JSON text sequence (RFC 7464), as `journalctl -o json-seq` prints one.
constexpr char kRecordSeparator = '\x1e';

enum class Class : uint8_t { kOther, kSpace, kPunctuation, kQuote };

constexpr std::array<Class, 256> kClasses = [] {
  std::array<Class, 256> classes{};
  for (const unsigned char c : {' ', '\t', '\r', '\n'}) classes[c] = Class::kSpace;
  for (const unsigned char c : {'{', '}', '[', ']', ',', ':'}) classes[c] = Class::kPunctuation;
  classes['"'] = Class::kQuote;
  return classes;
}();

Class ClassOf(char c) { return kClasses[static_cast<unsigned char>(c)]; }

// The front of `text` that is of no class of its own.
std::string_view WordOf(std::string_view text) {
  const auto ends = [](char c) { return ClassOf(c) != Class::kOther || c == kRecordSeparator; };
  return {text.begin(), std::ranges::find_if(text, ends)};
}

}  // namespace

absl::StatusOr<size_t> JsonConverter::Take(std::string_view text, RecordLines& lines) {
  size_t taken = 0;
  while (taken < text.size() && !lines.full()) taken += Step(text.substr(taken), lines);
  return taken;
}

bool JsonConverter::Unfinished() const {
  return arrays_ > 0 || (state_ != State::kBetween && state_ != State::kLost);
}

absl::Status JsonConverter::End(RecordLines& lines) {
  switch (state_) {
    case State::kBetween:
    case State::kLost: break;
    case State::kScalar: EndScalar(lines); break;
    case State::kString: lines.Refuse(record_line_, kUnclosedString, record_); break;
    case State::kObject:
      lines.Refuse(record_line_, too_long_ ? kRecordTooLong : kUnclosed, record_);
      break;
    case State::kObjectString:
      lines.Refuse(record_line_, too_long_ ? kRecordTooLong : kUnclosedString, record_);
      break;
  }
  if (arrays_ > 0) lines.Refuse(arrays_line_, "an array that does not end", "");
  return absl::OkStatus();
}

// ---

size_t JsonConverter::Step(std::string_view text, RecordLines& lines) {
  if (state_ == State::kString || state_ == State::kObjectString) return StepString(text, lines);
  const char c = text[0];
  if (c == kRecordSeparator) {
    if (state_ == State::kScalar) EndScalar(lines);
    if (state_ == State::kObject) Lose(kUnclosed, lines);
    state_ = State::kBetween;
    return 1;
  }
  const Class its_class = ClassOf(c);
  if (its_class != Class::kOther && state_ == State::kScalar) EndScalar(lines);
  if (its_class == Class::kSpace) {
    StepSpace(c);
    return 1;
  }
  const bool first = std::exchange(line_blank_, false);
  const bool found = first && indent_ <= record_indent_ && (c == '{' || c == '[' || c == ']');
  if (state_ == State::kLost && found) state_ = State::kBetween;
  if (its_class == Class::kOther) {
    const std::string_view word = WordOf(text);
    StepWord(word);
    return word.size();
  }
  if (state_ == State::kObject) {
    StepObject(c, first, lines);
  } else if (state_ == State::kBetween) {
    StepBetween(c, lines);
  }
  return 1;
}

void JsonConverter::StepSpace(char c) {
  spaced_ = true;
  if (c == '\n') {
    ++line_;
    indent_ = 0;
    line_blank_ = true;
  } else if (line_blank_) {
    ++indent_;
  }
}

void JsonConverter::StepWord(std::string_view word) {
  if (state_ == State::kObject) {
    KeepToken(word);
  } else if (state_ == State::kScalar) {
    Keep(word);
  } else if (state_ == State::kBetween) {
    BeginRecord(State::kScalar, word);
  }
}

// In a string, up to something that means more than itself.
size_t JsonConverter::StepString(std::string_view text, RecordLines& lines) {
  if (escaped_ && text[0] != '\n' && text[0] != kRecordSeparator) {
    escaped_ = false;
    Keep(text.substr(0, 1));
    return 1;
  }
  const size_t plain = std::min(text.find_first_of("\"\\\n\x1e"), text.size());
  Keep(text.substr(0, plain));
  if (plain == text.size()) return plain;
  const char c = text[plain];
  if (c == '\n' || c == kRecordSeparator) {
    Lose(kControl, lines);
    return plain;  // and Step() takes it
  }
  Keep(text.substr(plain, 1));
  escaped_ = c == '\\';
  if (c != '"') return plain + 1;
  if (state_ == State::kObjectString) {
    state_ = State::kObject;
  } else {
    EndScalar(lines);
  }
  return plain + 1;
}

void JsonConverter::StepBetween(char c, RecordLines& lines) {
  switch (c) {
    case ',': break;
    case '[':
      if (arrays_++ == 0) arrays_line_ = line_;
      break;
    case ']':
      if (arrays_ == 0) return lines.Refuse(line_, kNoMatch, "]");
      --arrays_;
      break;
    case '{': BeginRecord(State::kObject, "{"); break;
    case '"': BeginRecord(State::kString, "\""); break;
    default: lines.Refuse(line_, kNoMatch, {&c, 1}); break;  // a } or a :
  }
}

// A value that begins where none can is the next record's: this one was cut off.
void JsonConverter::StepObject(char c, bool first, RecordLines& lines) {
  const bool opens = c == '{' || c == '[';
  const char before = record_.back();
  const bool cut_off = opens && before != '[' && before != ':' && before != ',';
  if (cut_off && !too_long_) {
    Lose(kUnclosed, lines);
    if (c == '{' && first && indent_ <= record_indent_) StepBetween(c, lines);
    return;
  }
  KeepToken({&c, 1});
  if (c == '"') {
    state_ = State::kObjectString;
  } else if (opens) {
    too_deep_ |= ++depth_ > kJsonDepthMax;
    brackets_ = brackets_ << 1 | (c == '[' ? 1 : 0);
  } else if (c == '}' || c == ']') {
    const bool matches = (brackets_ & 1) == (c == ']' ? 1 : 0);
    if (!matches && !too_deep_) return Lose(kNoMatch, lines);
    brackets_ >>= 1;
    if (--depth_ == 0) EndObject(lines);
  }
}

void JsonConverter::BeginRecord(State state, std::string_view token) {
  state_ = state;
  record_.clear();
  too_long_ = too_deep_ = escaped_ = spaced_ = false;
  record_line_ = line_;
  record_indent_ = indent_;
  depth_ = 1;
  brackets_ = 0;
  Keep(token);
}

void JsonConverter::Keep(std::string_view piece) {
  const size_t room = kLineBytesMax - record_.size();
  too_long_ |= piece.size() > room;
  record_ += piece.substr(0, room);
}

// A token, or a piece of one. White space before it is kept if it parts two tokens that would be one
// without it.
void JsonConverter::KeepToken(std::string_view token) {
  const bool parts = std::exchange(spaced_, false) && ClassOf(token[0]) != Class::kPunctuation &&
                     ClassOf(record_.back()) != Class::kPunctuation;
  if (parts) Keep(" ");
  Keep(token);
}

void JsonConverter::EndObject(RecordLines& lines) {
  state_ = State::kBetween;
  if (too_long_) return lines.Refuse(record_line_, kRecordTooLong, record_);
  lines.text() += record_;
  lines.End(record_line_, record_);
}

void JsonConverter::EndScalar(RecordLines& lines) {
  state_ = State::kBetween;
  lines.Refuse(record_line_, kNotObject, record_);
}

void JsonConverter::Lose(std::string_view reason, RecordLines& lines) {
  state_ = State::kLost;
  lines.Refuse(record_line_, too_long_ ? kRecordTooLong : reason, record_);
}

}  // namespace pleat::cli
