#include "tools/pleat/records/csv_converter.h"

#include <algorithm>
#include <map>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/records/field_value.h"

namespace pleat::cli {
namespace {

// Whether there is a \r that no newline follows.
bool HasReturnAlone(std::string_view text) {
  for (size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1)) {
    if (!text.substr(at + 1).starts_with('\n')) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<size_t> CsvConverter::Take(std::string_view text, RecordLines& lines) {
  size_t taken = 0;
  while (taken < text.size() && !lines.full()) {
    taken += Step(text.substr(taken));
    if (!ended_) continue;
    if (absl::Status emitted = Emit(lines); !emitted.ok()) return emitted;
  }
  return taken;
}

bool CsvConverter::Unfinished() const {
  return state_ != State::kFieldBegin || field_count_ > 0 ||
         mark_bytes_ % kByteOrderMark.size() != 0;
}

absl::Status CsvConverter::End(RecordLines& lines) {
  if (!Unfinished()) return absl::OkStatus();
  if (state_ == State::kFieldBegin && field_count_ == 0) BeginPlain();
  if (state_ != State::kQuoted) EndField();
  return Emit(lines);
}

// ---

// Takes a piece of the record under way, with the newline that ends it.
size_t CsvConverter::Step(std::string_view text) {
  switch (state_) {
    case State::kQuoted: return StepQuoted(text);
    case State::kQuote:
    case State::kQuoteReturn: return StepBehindQuote(text[0]);
    case State::kPlain: return StepPlain(text);
    case State::kFieldBegin: break;
  }
  if (field_count_ == 0 && StepMark(text[0])) return 1;
  if (text[0] != '"' || mark_bytes_ % kByteOrderMark.size() != 0) {
    BeginPlain();
    return StepPlain(text);
  }
  state_ = State::kQuoted;
  field_ = {.begin = record_.size(), .end = 0, .doubled = false};
  Keep(text.substr(0, 1));
  ++field_.begin;
  return 1;
}

// Whether a byte before the first field belongs to a byte order mark.
bool CsvConverter::StepMark(char c) {
  if (mark_bytes_ == kByteOrderMark.size() || c != kByteOrderMark[mark_bytes_]) return false;
  ++mark_bytes_;
  return true;
}

// Bytes that began like a byte order mark, and were not one, belong to the field.
void CsvConverter::BeginPlain() {
  state_ = State::kPlain;
  field_ = {.begin = record_.size(), .end = 0, .doubled = false};
  if (mark_bytes_ < kByteOrderMark.size())
    Keep(kByteOrderMark.substr(0, std::exchange(mark_bytes_, 0)));
}

size_t CsvConverter::StepPlain(std::string_view text) {
  const auto ends = [this](char c) { return c == separator_ || c == '\n'; };
  const auto size = static_cast<size_t>(std::ranges::find_if(text, ends) - text.begin());
  Keep(text.substr(0, size));
  if (size == text.size()) return size;
  EndField();
  text[size] == '\n' ? void(ended_ = true) : Keep(text.substr(size, 1));
  return size + 1;
}

size_t CsvConverter::StepQuoted(std::string_view text) {
  const std::string_view piece = text.substr(0, text.find('"'));
  newlines_ += static_cast<uint64_t>(std::ranges::count(piece, '\n'));
  Keep(piece);
  if (piece.size() == text.size()) return piece.size();
  field_.end = record_.size();
  Keep("\"");
  state_ = State::kQuote;
  return piece.size() + 1;
}

size_t CsvConverter::StepBehindQuote(char c) {
  if (c == '"' && state_ == State::kQuote) {
    field_.doubled = true;
    state_ = State::kQuoted;
  } else if (c == '\r' && state_ == State::kQuote) {
    state_ = State::kQuoteReturn;
  } else if (c == '\n' || (c == separator_ && state_ == State::kQuote)) {
    EndField();
    ended_ = c == '\n';
    if (ended_) return 1;
  } else {
    broken_ = true;
    state_ = State::kPlain;
    return 0;
  }
  Keep({&c, 1});
  return 1;
}

void CsvConverter::Keep(std::string_view piece) {
  const size_t room = kLineBytesMax - record_.size();
  too_long_ |= piece.size() > room;
  record_ += piece.substr(0, room);
}

void CsvConverter::EndField() {
  if (state_ == State::kPlain || state_ == State::kFieldBegin) field_.end = record_.size();
  if (state_ == State::kFieldBegin) field_.begin = record_.size();
  if (fields_.size() <= kObjectMembersMax) fields_.push_back(field_);
  ++field_count_;
  state_ = State::kFieldBegin;
}

// ---

// The record has ended. A \r before the newline belongs to neither field nor record.
absl::Status CsvConverter::Emit(RecordLines& lines) {
  if (record_.ends_with('\r') && state_ != State::kQuoted && !too_long_) {
    Field& last = fields_.back();
    record_.pop_back();
    last.end = std::min(last.end, record_.size());
  }
  const bool skipped = record_.empty() || RepeatsHeader();
  absl::Status status;
  if (!skipped && beginnings_.empty()) {
    status = TakeHeader();
  } else if (!skipped) {
    EmitRecord(lines);
  }
  Clear();
  return status;
}

void CsvConverter::EmitRecord(RecordLines& lines) {
  if (const std::string mistake = Mistake(); !mistake.empty()) {
    return lines.Refuse(line_, mistake, record_);
  }
  std::string& out = lines.text();
  for (size_t i = 0; i < fields_.size(); ++i) {
    out += beginnings_[i];
    AppendFieldValue(TextOf(fields_[i]), out);
  }
  out += '}';
  lines.End(line_, record_);
}

void CsvConverter::Clear() {
  line_ += newlines_ + 1;
  newlines_ = 0;
  state_ = State::kFieldBegin;
  mark_bytes_ = 0;
  record_.clear();
  fields_.clear();
  field_count_ = 0;
  too_long_ = broken_ = ended_ = false;
}

std::string_view CsvConverter::TextOf(const Field& field) {
  const std::string_view text =
      std::string_view(record_).substr(field.begin, field.end - field.begin);
  if (!field.doubled) return text;
  unquoted_.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    unquoted_ += text[i];
    if (text[i] == '"') ++i;
  }
  return unquoted_;
}

// Names differ from what is in their columns nearly always in the first one.
bool CsvConverter::RepeatsHeader() {
  if (names_.empty() || field_count_ != names_.size() || !Mistake().empty()) return false;
  return std::ranges::equal(fields_, names_, {},
                            [this](const Field& field) { return TextOf(field); });
}

// What is wrong with the record; empty if it is well formed.
std::string CsvConverter::Mistake() const {
  if (state_ == State::kQuoted) return "a quote that is not closed";
  if (too_long_) return std::string(kRecordTooLong);
  if (broken_) return "text behind the closing quote of a field";
  if (field_count_ == beginnings_.size() || beginnings_.empty()) return "";
  return std::to_string(field_count_) + (field_count_ == 1 ? " field" : " fields") +
         ", and the header has " + std::to_string(beginnings_.size());
}

// ---

absl::Status CsvConverter::HeaderError(std::string_view why) const {
  return absl::InvalidArgumentError(Printable(name_) + ":" + std::to_string(line_) + ": " +
                                    std::string(why));
}

// What is likely another format is named, since each of its lines would be invalid.
absl::Status CsvConverter::TakeHeader() {
  if (record_.starts_with("{\"")) return HeaderError("looks like lines of JSON, not like a header");
  if (const std::string mistake = Mistake(); !mistake.empty()) {
    return HeaderError("the header: " + mistake);
  }
  if (HasReturnAlone(record_)) {
    return HeaderError("lines that end with \\r alone: tr '\\r' '\\n' < FILE | pleat ...");
  }
  if (field_count_ > kObjectMembersMax) {
    return HeaderError("a header of more than 1,024 columns");
  }
  const bool in_quotes = fields_[0].begin > 0;
  if (field_count_ == 1 && !in_quotes) {
    constexpr std::pair<char, std::string_view> kOthers[] = {
        {'\t', "tabs in it: --input tsv"},
        {',', "commas in it: --input csv"},
        {';', "semicolons in it: mlr --icsv --ifs ';' --ojsonl cat FILE | pleat ..."}};
    for (const auto& [separator, what] : kOthers) {
      if (TextOf(fields_[0]).find(separator) == std::string_view::npos) continue;
      return HeaderError("the header is one column with " + std::string(what));
    }
  }
  std::map<std::string, size_t, std::less<>> columns;
  for (const Field& field : fields_) {
    const std::string name(TextOf(field));
    const auto [other, is_new] = columns.try_emplace(name, columns.size() + 1);
    std::string quoted;
    AppendJsonString(name, quoted);
    if (!is_new) {
      return HeaderError("columns " + std::to_string(other->second) + " and " +
                         std::to_string(columns.size() + 1) + " are both called " + quoted +
                         "; give each a name of its own");
    }
    beginnings_.push_back((beginnings_.empty() ? "{" : ",") + quoted + ":");
    names_.push_back(name);
  }
  return absl::OkStatus();
}

}  // namespace pleat::cli
