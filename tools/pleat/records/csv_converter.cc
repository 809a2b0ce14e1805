#include "tools/pleat/records/csv_converter.h"

#include <algorithm>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/records/field_value.h"
#include "tools/pleat/records/plain_row.h"

namespace pleat::cli {
namespace {

// A quote that is not closed within so many lines is a mistake.
constexpr uint64_t kQuotedNewlinesMax = 1'000;

}  // namespace

CsvConverter::CsvConverter(const TableOptions& table, std::string name)
    : separator_(table.separator), comment_(table.comment), name_(std::move(name)) {
  if (!table.header.empty()) columns_.Name(table.header);
}

absl::StatusOr<size_t> CsvConverter::Take(std::string_view text, RecordLines& lines) {
  while (!again_.empty() && !lines.full()) {
    const std::string anew = std::exchange(again_, {});
    const absl::StatusOr<size_t> taken = TakeFrom(anew, lines);
    if (!taken.ok()) return taken.status();
    again_ += std::string_view(anew).substr(*taken);
  }
  return TakeFrom(text, lines);
}

// Takes nothing behind a quote that was given up, as what is to be read anew comes first.
absl::StatusOr<size_t> CsvConverter::TakeFrom(std::string_view text, RecordLines& lines) {
  size_t taken = 0;
  while (taken < text.size() && again_.empty() && !lines.full()) {
    const std::string_view rest = text.substr(taken);
    if (const size_t line = TakePlainRow(rest, lines); line > 0) {
      taken += line;
      continue;
    }
    taken += Step(rest);
    absl::Status status;
    if (unclosed_) status = GiveUpQuote(lines);
    if (ended_) status = Emit(lines);
    if (!status.ok()) return status;
  }
  return taken;
}

// Takes a record that is read by the shortest way. Returns how many bytes that were; 0: it is none.
size_t CsvConverter::TakePlainRow(std::string_view text, RecordLines& lines) {
  if (state_ != State::kFieldBegin || field_count_ > 0 || mark_bytes_ > 0) return 0;
  const char first = columns_.names().empty() ? '\n' : text[0];
  if (first == '\n' || first == '\r' || first == kByteOrderMark[0]) return 0;
  if (comment_ != 0 && first == comment_) return 0;
  char* const room = lines.Room(RoomForRow(columns_, text));
  const PlainRow row = WritePlainRow(columns_, separator_, FieldQuotes::kTaken, text, room);
  if (row.taken == 0 || row.record >= kLineBytesMax) return 0;
  lines.EndAt(room + row.written, line_++, text.substr(0, row.record));
  return row.taken;
}

// The line in which the quote begins is no record, and what follows is read anew.
absl::Status CsvConverter::GiveUpQuote(RecordLines& lines) {
  if (columns_.names().empty()) {
    state_ = State::kQuoted;
    return TakeHeader();
  }
  const size_t end = record_.find('\n', field_.begin);
  // A line follows that has no room.
  const uint64_t more = quoted_newlines_ - (record_.ends_with('\n') && !too_long_ ? 1 : 0);
  std::string reason = "a quote that is not closed";
  if (more > 0) {
    reason += "; it would have taken " + std::to_string(more) +
              (more == 1 ? " line more" : " lines more");
  }
  again_ = record_.substr(end + 1);
  record_.resize(end);
  if (record_.ends_with('\r')) record_.pop_back();
  lines.Refuse(line_, reason, record_);
  newlines_ -= quoted_newlines_;
  Clear();
  return absl::OkStatus();
}

bool CsvConverter::Unfinished() const {
  return state_ != State::kFieldBegin || field_count_ > 0 ||
         mark_bytes_ % kByteOrderMark.size() != 0;
}

absl::Status CsvConverter::End(RecordLines& lines) {
  if (state_ == State::kQuoted && quoted_newlines_ > 0) return GiveUpQuote(lines);
  if (!Unfinished() || state_ == State::kComment) return absl::OkStatus();
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
    case State::kComment: return StepComment(text);
    case State::kFieldBegin: break;
  }
  if (field_count_ == 0 && StepMark(text[0])) return 1;
  if (field_count_ == 0 && comment_ != 0 && text[0] == comment_ &&
      mark_bytes_ % kByteOrderMark.size() == 0) {
    state_ = State::kComment;
    return 1;
  }
  if (text[0] != '"' || mark_bytes_ % kByteOrderMark.size() != 0) {
    BeginPlain();
    return StepPlain(text);
  }
  state_ = State::kQuoted;
  quoted_newlines_ = 0;
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

size_t CsvConverter::StepComment(std::string_view text) {
  const size_t size = text.find('\n');
  if (size == text.npos) return text.size();
  Clear();
  return size + 1;
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

// At most to the end of a line. A first line that is too long ends there, like any other.
size_t CsvConverter::StepQuoted(std::string_view text) {
  const auto ends = [](char c) { return c == '"' || c == '\n'; };
  const auto size = static_cast<size_t>(std::ranges::find_if(text, ends) - text.begin());
  const bool fits = size < kLineBytesMax - record_.size();
  if (!fits && quoted_newlines_ > 0) {
    unclosed_ = too_long_ = true;
    return 0;
  }
  Keep(text.substr(0, size));
  if (size == text.size()) return size;
  if (text[size] == '"') {
    field_.end = record_.size();
    Keep("\"");
    state_ = State::kQuote;
    return size + 1;
  }
  if (!fits) {
    too_long_ = true;
    state_ = State::kPlain;
    return size;
  }
  Keep("\n");
  ++newlines_;
  unclosed_ = ++quoted_newlines_ == kQuotedNewlinesMax;
  return size + 1;
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
    // A quote that ends on another line, and not in front of a separator, was none that begins a field.
    unclosed_ = quoted_newlines_ > 0;
    broken_ = !unclosed_;
    if (broken_) state_ = State::kPlain;
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
  if (!skipped && columns_.names().empty()) {
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
  columns_.AppendObject(out, [&](size_t i) { AppendFieldValue(TextOf(fields_[i]), out); });
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
  quoted_newlines_ = 0;
  too_long_ = broken_ = ended_ = unclosed_ = false;
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
  const std::vector<std::string>& names = columns_.names();
  if (names.empty() || field_count_ != names.size() || !Mistake().empty()) return false;
  return std::ranges::equal(fields_, names, {},
                            [this](const Field& field) { return TextOf(field); });
}

// What is wrong with the record; empty if it is well formed.
std::string CsvConverter::Mistake() const {
  if (state_ == State::kQuoted) return "a quote that is not closed";
  if (too_long_) return std::string(kRecordTooLong);
  if (broken_) return "text behind the closing quote of a field";
  return columns_.names().empty() ? "" : columns_.Mistake(field_count_);
}

// ---

absl::Status CsvConverter::TakeHeader() {
  const bool in_quotes = !fields_.empty() && fields_[0].begin > 0;
  const bool is_broken = !Mistake().empty() && !record_.starts_with("{\"");
  const std::string mistake =
      is_broken ? "the header: " + Mistake() : HeaderMistake(record_, field_count_, in_quotes);
  if (!mistake.empty()) return HeaderError(name_, line_, mistake);
  std::vector<std::string> names;
  names.reserve(fields_.size());
  for (const Field& field : fields_) names.emplace_back(TextOf(field));
  columns_.Name(std::move(names));
  return absl::OkStatus();
}

}  // namespace pleat::cli
