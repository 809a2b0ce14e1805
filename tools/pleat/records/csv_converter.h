// Comma-separated values with a header, by RFC 4180; with tabs in place of commas, TSV.
//
// A field may be in quotes, in which two quotes are one and newlines belong to the field. A quote
// inside a field without quotes is a quote. White space belongs to fields. Lines end with \n or \r\n;
// empty ones are skipped, and so is a later record that repeats the header, however it is quoted, and a
// byte order mark before a record, as when files are joined. A record becomes an object whose members
// have the names of the header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/records/record_converter.h"

namespace pleat::cli {

class CsvConverter final : public RecordConverter {
 public:
  // `name`: the input's, for messages.
  CsvConverter(char separator, std::string name) : separator_(separator), name_(std::move(name)) {}

  // Errors: a header that cannot be used; the message says why.
  absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) override;
  bool Unfinished() const override;
  absl::Status End(RecordLines& lines) override;

 private:
  enum class State {
    kFieldBegin,
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

  size_t Step(std::string_view text);
  bool StepMark(char c);
  void BeginPlain();
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
  absl::Status HeaderError(std::string_view why) const;

  const char separator_;
  const std::string name_;

  // The record under way.
  State state_ = State::kFieldBegin;
  size_t mark_bytes_ = 0;  // of a byte order mark in front of it
  std::string record_;     // as it came, up to the limit of a line
  bool too_long_ = false;
  bool broken_ = false;  // text behind the end of quotes
  bool ended_ = false;
  Field field_;
  std::vector<Field> fields_;  // no more of them than an object may have members, and one
  size_t field_count_ = 0;
  uint64_t line_ = 1;      // where it begins
  uint64_t newlines_ = 0;  // in it

  std::vector<std::string> names_;       // the header's
  std::vector<std::string> beginnings_;  // {"first": and ,"second": and so on; empty: no header yet
  std::string unquoted_;
};

}  // namespace pleat::cli
