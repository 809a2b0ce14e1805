// What the notes of an event store say of the FILEs that were appended: how far each was taken, as
// RunNote::Input has it, in the block of the records that were taken of it.
//
// Each FILE has a number, from 0 on, and two notes. "pleat.file.N" is written with every few records,
// and so has no list of the ends of lines, which grows with the file. "pleat.lines.N" has that, and is
// written when it has grown. It may be ahead of the other after a kill: what is too much of it does not
// count.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <pleat/event_store.h>

#include "tools/pleat/run_note.h"

namespace pleat::cli {

class FileNotes {
 public:
  struct Text {
    std::string name;
    std::string value;

    StoreNote note() const { return {name, value}; }
  };

  // Reads what is there. Errors: kUnimplemented if a newer version has written it; kDataLoss.
  absl::Status Load(const StoreNotes& notes);

  std::vector<RunNote::Input>& inputs() { return inputs_; }

  // The notes of that input that are not in the store yet, in the order in which they go there. They
  // count as being there from now on.
  std::optional<Text> TakeLines(size_t input);
  std::optional<Text> TakePlace(size_t input);

  // Of the inputs from 0 on, so many have a note.
  size_t noted();

 private:
  struct Kept {
    std::string place;     // the value of the note
    size_t line_ends = 0;  // how many the other note has; SIZE_MAX: others than the input
  };

  Kept& KeptOf(size_t input);

  std::vector<RunNote::Input> inputs_;
  std::vector<Kept> kept_;
  size_t noted_ = 0;
};

}  // namespace pleat::cli
