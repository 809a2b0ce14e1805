// Which line of the input each line of JSON came from, so that messages name the former; and which names
// of its header stand for several columns.
//
// The converter notes the lines as it writes them, and is ahead of the job, which asks for them.
// Neighbours that have the same distance from their lines are one entry, and what will not be asked
// for any more is forgotten, so that the map holds a few blocks at most.
//
// Thread safety: any thread may call any method at any time.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "tools/pleat/records/table_options.h"

namespace pleat::cli {

class LineMap {
 public:
  // The next line of JSON comes from the record that begins in this line of the input; and those behind it,
  // `lines` in all, each from the next one.
  void Add(uint64_t input_line, uint64_t lines = 1);

  // Where line `json_line` of the JSON came from; both count from 1.
  // REQUIRES: it was added, and not forgotten.
  uint64_t InputLineOf(uint64_t json_line);

  // The names that the header of the input has more than once.
  void NoteDoubled(std::span<const DoubledName> names);
  std::vector<DoubledName> doubled();

  // Nothing before `json_line` will be asked for, also of lines that are yet to be added.
  void ForgetBefore(uint64_t json_line);

 private:
  // The lines of JSON from `json_line` on come from those from `input_line` on, one from each.
  struct Run {
    uint64_t json_line;
    uint64_t input_line;
  };

  void Forget();

  std::mutex mutex_;
  std::deque<Run> runs_;
  uint64_t added_ = 0;
  uint64_t needed_from_ = 1;
  std::vector<DoubledName> doubled_;
};

}  // namespace pleat::cli
