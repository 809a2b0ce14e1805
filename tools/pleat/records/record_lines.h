// The lines of JSON that records have become, until somebody takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/pleat/records/line_map.h"

namespace pleat::cli {

class RecordLines {
 public:
  // Notes in `map`, which must outlive it, from which line of the input each line came that is taken.
  explicit RecordLines(LineMap& map) : map_(map) {}

  // A record becomes an object: append its JSON to text(), and call End(). `input_line` is where the
  // record begins, `record` what came of it: the JSON may be longer than a line can be.
  std::string& text() { return text_; }
  void End(uint64_t input_line, std::string_view record);

  // Or write its JSON into Room(), which is for so many bytes, and call EndAt() with its end.
  char* Room(size_t bytes) {
    if (size_ - end_ < bytes) MakeRoom(bytes);
    return lines_.get() + end_;
  }
  void EndAt(const char* end, uint64_t input_line, std::string_view record);

  // Or it becomes an invalid line with this reason, which is plain text. What was appended or written is
  // dropped.
  void Refuse(uint64_t input_line, std::string_view reason, std::string_view record);

  // Whether there are so many that they should be taken before more are made.
  bool full() const { return end_ - given_ >= kBytesWanted; }
  std::string_view view() const { return {lines_.get() + given_, end_ - given_}; }
  void Take(size_t bytes);

 private:
  static constexpr size_t kBytesWanted = size_t{64} << 10;

  void MakeRoom(size_t bytes);
  void EndLine(uint64_t input_line);
  void NoteLines();

  LineMap& map_;
  std::string text_;               // of the record under way
  std::unique_ptr<char[]> lines_;  // and room behind them: not zeros, as that would cost a tenth
  size_t size_ = 0;
  size_t given_ = 0;
  size_t end_ = 0;
  // Lines that map_ does not know yet: each of them from the line of the input behind that of the one before.
  uint64_t first_ = 0;
  uint64_t count_ = 0;
};

inline constexpr std::string_view kRecordTooLong = "longer than 1 MiB";

}  // namespace pleat::cli
