// What `pleat fold` was asked to do, from a spec document and from flags.
//
// Both go through SetFoldOption(), by the same names and with the same texts, so that a document can
// say all that flags can say and every mistake reads the same. What the engine understands lives in
// a FoldSpec; the rest, which is about files and the process, lives here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/json.h>
#include <pleat/time.h>

namespace pleat::cli {

struct FoldOptions {
  enum class AtEnd { kFlush, kDrop };
  enum class OnBad { kSkip, kFail };

  FoldSpec spec;
  bool max_memory_given = false;  // if not, half of what there is

  std::string late_file;  // these files: empty means none
  std::string bad_file;
  std::string open_file;
  std::string stats_file;  // "-" is stderr
  std::string output_file = "-";
  Duration idle = kForever;
  AtEnd at_end = AtEnd::kFlush;
  OnBad on_bad = OnBad::kSkip;
  bool strict = false;
  bool quiet_summary = false;
  int threads = 1;

  // These belong to one call and are no part of a document.
  std::vector<std::string> inputs;
  std::string spec_file;  // the document; empty: none
  bool print_spec = false;
};

// Sets the option `name` (without dashes) from its text; "key" and "merge" add to their lists.
// Errors: kNotFound if there is no such option; kInvalidArgument, with the option's name.
absl::Status SetFoldOption(FoldOptions& options, std::string_view name, std::string_view text);

// Sets the options of a document. `file` is for messages.
absl::Status ApplyDocument(std::string_view document, std::string_view file, FoldOptions& options);

// Fills in what depends on the machine and checks that everything fits together.
absl::Status Complete(FoldOptions& options);

// The document that amounts to the same options: what differs from the defaults, one member a line.
// Errors: kInvalidArgument if a text, such as a file name, is not valid UTF-8.
absl::StatusOr<std::string> PrintDocument(const FoldOptions& options);

}  // namespace pleat::cli
