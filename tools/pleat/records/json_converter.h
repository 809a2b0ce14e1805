// A stream of JSON values, on as many lines as they like: objects one after the other, or in arrays.
//
// Arrays around objects are opened, however deep they are nested, and commas between values are
// skipped. An object is found by its brackets and strings alone; whoever reads its line sees whether
// it is valid. White space between its tokens is left out, newlines with it.
//
// If brackets cannot be matched, the object is an invalid record up to there, and the next one is looked for
// where a line begins with a bracket and is not further indented than the line of that object was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/pleat/records/record_converter.h"

namespace pleat::cli {

class JsonConverter final : public RecordConverter {
 public:
  absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) override;
  bool Unfinished() const override;
  absl::Status End(RecordLines& lines) override;

 private:
  enum class State {
    kBetween,  // values
    kScalar,   // in a value that is no object: a word, a number
    kString,   // or a string
    kObject,
    kObjectString,
    kLost,
  };

  size_t Step(std::string_view text, RecordLines& lines);
  size_t StepString(std::string_view text, RecordLines& lines);
  void StepSpace(char c);
  void StepWord(std::string_view word);
  void StepBetween(char c, RecordLines& lines);
  void StepObject(char c, bool first, RecordLines& lines);
  void BeginRecord(State state, std::string_view token);
  void Keep(std::string_view piece);
  void KeepToken(std::string_view token);
  void EndObject(RecordLines& lines);
  void EndScalar(RecordLines& lines);
  void Lose(std::string_view reason, RecordLines& lines);

  State state_ = State::kBetween;
  uint64_t arrays_ = 0;  // that are open around values
  uint64_t arrays_line_ = 0;

  // Where we are.
  uint64_t line_ = 1;
  uint64_t indent_ = 0;     // of the line
  bool line_blank_ = true;  // so far

  // The record under way.
  std::string record_;  // up to the limit of a line
  bool too_long_ = false;
  uint64_t record_line_ = 0;
  uint64_t record_indent_ = 0;
  uint64_t depth_ = 0;     // of brackets
  uint64_t brackets_ = 0;  // a bit for each, the innermost lowest: whether it is a [
  bool too_deep_ = false;  // for that
  bool escaped_ = false;   // a backslash came before
  bool spaced_ = false;    // white space came before
};

}  // namespace pleat::cli
