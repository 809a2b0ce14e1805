// The options that all commands have which read lines of events, and the flags that set them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/json_lines.h>

#include "tools/pleat/flags.h"
#include "tools/pleat/records/input_format.h"

namespace pleat::cli {

struct JobOptions {
  enum class OnInvalid : uint8_t { kSkip, kMost, kFail };

  EventSpec event;

  // Whether lines may be excluded, so that the statistics count them.
  bool selects() const;

  // The part of max_memory that the collection has. With a bound of disorder the lines that wait have the
  // other half for themselves, so that disorder has no part in what is over the limit.
  size_t collection_memory() const {
    return event.reorder > Duration{0} ? max_memory - max_memory / 2 : max_memory;
  }

  // --from and --to, if they were given. The zone and the form in which they are read may be given
  // behind them, so that SetRange() reads them at the end.
  std::optional<std::string> from;
  std::optional<std::string> to;

  // For all that the collection keeps, and the lines that wait for their turn.
  size_t max_memory = 0;
  bool max_memory_given = false;  // if not, Complete() chooses half of the memory there is
  int threads = 1;
  InputFormat input = InputFormat::kNdjson;
  TableOptions table;
  bool threads_given = false;  // if not, Complete() chooses their number
  OnInvalid on_invalid = OnInvalid::kMost;
  std::string invalid_file;  // empty: none
  bool strict = false;
  std::string output_file = "-";
  bool quiet_summary = false;

  // These belong to one call and are no part of a document.
  std::vector<std::string> inputs;
  bool no_file_given = false;  // so that they are standard input
  std::string spec_file;       // the document that was read; empty: none
  bool help = false;
};

// The flag with this help, or with its own if that is empty. REQUIRES: there is one.
Flag WithHelp(Flag flag, std::string_view help);

// The flag `name` of those that commands share: key, input, separator, tsv-escapes, comment, header, time, time-unit, time-zone,
// time-format, time-year, reorder, future-limit, where, from, to, max-memory, on-invalid, invalid, strict,
// output, quiet-summary, threads, spec, help. A command lists those that it has, where its help
// wants them, and gives `help` if the flag means something of its own there. REQUIRES: `options`
// outlives the flag.
Flag CommonFlag(JobOptions& options, std::string_view name, std::string_view help = {});

// How many threads pay for these inputs on `processors` of them: one, unless a file is large.
int ThreadsFor(const std::vector<std::string>& inputs, unsigned processors);

// Sets the event's range of time to what was given. Errors: kInvalidArgument.
absl::Status SetRange(JobOptions& options);

// Whether the options of tables are those of the input. Errors: kInvalidArgument.
absl::Status CheckTable(const JobOptions& options);
// Those that are not as they are by default, as texts.
std::vector<std::pair<std::string, std::string>> TableTexts(const JobOptions& options);

// Whether the year is stated if there is a FILE whose times say none. Errors: kInvalidArgument.
absl::Status CheckYearIsStated(const JobOptions& options);

// Fills in the inputs, the memory and the threads if they were not given.
void Complete(JobOptions& options);

}  // namespace pleat::cli
