#include "tools/pleat/run_note.h"

#include <pleat/stored.h>

namespace pleat::cli {
namespace {

constexpr uint32_t kNoteFormat = 4;

}  // namespace

std::string RunNote::Text() const {
  FieldWriter out;
  out(kNoteFormat, *this);
  return std::string(out.bytes());
}

absl::StatusOr<RunNote> RunNote::Parse(std::string_view text) {
  FieldReader in(text);
  uint32_t format = 0;
  in(format);
  if (in.ok() && format > kNoteFormat) {
    return absl::UnimplementedError("was written by a newer version of pleat");
  }
  if (in.ok() && format < kNoteFormat) {
    return absl::UnimplementedError(
        "was written by an older version of pleat: end that run with that version and --at-end "
        "flush, "
        "and go on in another directory");
  }
  RunNote note;
  in(note);
  if (!in.done()) return absl::DataLossError("was not written by pleat fold, live or rollup");
  return note;
}

}  // namespace pleat::cli
