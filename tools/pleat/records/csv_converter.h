// Comma-separated values with a header, by RFC 4180, or with another separator.
//
// A field may be in quotes, in which two quotes are one and newlines belong to the field. A quote
// inside a field without quotes is a quote. White space belongs to fields. Lines end with \n or \r\n;
// empty ones are skipped, and so is a later record that repeats the header, however it is quoted, and a
// byte order mark before a record, as when files are joined.
//
// A quote that is not closed within 1 MiB or 1,000 lines, by the end, or closed on another line with text
// behind it, is taken for a mistake: its line is an invalid record, and reading goes on behind that line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/records/columns.h"
#include "tools/pleat/records/record_converter.h"
#include "tools/pleat/records/table_options.h"

namespace pleat::cli {

class CsvConverter final : public RecordConverter {
 public:
  // `name`: the input's, for messages.
  CsvConverter(const TableOptions& table, std::string name);

  // Errors: a header that cannot be used; the message says why.
  absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) override;
  bool HasMore() const override { return !again_.empty(); }
  bool Unfinished() const override;
  absl::Status End(RecordLines& lines) override;
  std::span<const DoubledName> doubled() const override { return columns_.doubled(); }

 private:
  enum class State {
    kFieldBegin,
    kComment,      // in a line that is skipped
    kPlain,        // in a field without quotes, or behind what cannot be a field
    kQuoted,       // in quotes
    kQuote,        // behind a quote in quotes: their end, or the first of two
    kQuoteReturn,  // behind that and a \r
  };

  // In record_. Of a field in quotes, what is between them.
  struct Field {
    size_t begin = 0;
    size_t end = 0;
    bool doubled = false;  // has quotes that are written as two
  };

  absl::StatusOr<size_t> TakeFrom(std::string_view text, RecordLines& lines);
  size_t TakePlainRow(std::string_view text, RecordLines& lines);
  absl::Status GiveUpQuote(RecordLines& lines);
  size_t Step(std::string_view text);
  bool StepMark(char c);
  void BeginPlain();
  size_t StepComment(std::string_view text);
  size_t StepPlain(std::string_view text);
  size_t StepQuoted(std::string_view text);
  size_t StepBehindQuote(char c);
  void Keep(std::string_view piece);
  void EndField();
  absl::Status Emit(RecordLines& lines);
  void EmitRecord(RecordLines& lines);
  void Clear();
  std::string_view TextOf(const Field& field);
  bool RepeatsHeader();
  std::string Mistake() const;
  absl::Status TakeHeader();

  const char separator_;
  const char comment_;
  const std::string name_;

  // The record under way.
  State state_ = State::kFieldBegin;
  size_t mark_bytes_ = 0;  // of a byte order mark in front of it
  std::string record_;     // as it came, up to the limit of a line
  bool too_long_ = false;
  bool broken_ = false;  // text behind the end of quotes
  bool ended_ = false;
  bool unclosed_ = false;  // a quote, for so long that it is a mistake
  Field field_;
  std::vector<Field> fields_;  // no more of them than an object may have members, and one
  size_t field_count_ = 0;
  uint64_t line_ = 1;             // where it begins
  uint64_t newlines_ = 0;         // in it
  uint64_t quoted_newlines_ = 0;  // of them, in the last field in quotes

  std::string again_;  // read before, and to be read anew
  Columns columns_;
  std::string unquoted_;
};

}  // namespace pleat::cli
