// A command that runs an EngineJob: from the command line to the options, and from the options to
// the help, the spec document or the run. Each command says in one EngineCommand what is its own.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/console.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/spec_document.h"

namespace pleat::cli {

// What the help of each such command says of its input and of its exit codes.
inline constexpr std::string_view kInputNotes = R"(
Input: one JSON object a line, or what --input says. FILEs are read in the order
  given; - or none is standard input. gzip and zstd are recognised by their
  first bytes.
Paths: a.b nests, a.0 is an element, /a.b is a JSON Pointer. 'a?' is null where
  a is absent, 'a|b' the first that is there and not null, 'list[name=x].c' goes
  on from the first element whose name is x; in '"a?"' all marks are letters:
    --key 'id=after.id|before.id' --key 'params[key=session].value.int,user?'
Durations: numbers with us ms s m h d w, such as 250ms, 1.5h, 1h30m; also as
  pleat analyze prints them, '1 min 30 s', and as ISO 8601 does, PT5M; or inf.
)";
inline constexpr std::string_view kExitNotes =
    R"(Exit codes: 0 done, also with skipped invalid lines, and when the reader of the
  output has gone; 1 could not read or write, no usable line, events over a
  limit, most lines invalid, --strict, --on-invalid fail; 2 wrong usage; 130,
  143, 129 asked to end (SIGINT, SIGTERM, SIGHUP): finished and flushed, or kept
  with --state.
)";

// `Options` are EngineJobOptions; SpecOf() gives their spec for the library.
template <class Options>
struct EngineCommand {
  std::string_view name;
  std::string_view examples;  // the help: these, the flags, and the notes between those of all
  std::string_view notes;
  // The table of flags. They set `options`, which outlives them.
  std::vector<Flag> (*flags)(Options& options);
  // Refuses options whose spec is valid, and that contradict each other or would have no effect.
  absl::Status (*check)(const Options& options);
  // Returns the exit code.
  int (*run)(const Options& options);

  // Reads the command line, which begins with the command's name, and the spec document it names.
  // Errors: kInvalidArgument for a usage error; kUnavailable if the document cannot be read.
  absl::StatusOr<Options> Parse(int argc, const char* const* argv) const {
    Options options;
    const std::vector<Flag> table = flags(options);
    absl::StatusOr<GivenFlags> given = ParseFlags(table, argc, argv);
    if (!given.ok()) return given.status();
    options.help = given->IsOn("help");
    if (options.help) return options;

    if (given->Has("spec")) {
      const std::string& file = given->texts["spec"].back();
      if (absl::Status named = FindFlag(table, "spec")->value.set("spec", file); !named.ok()) {
        return named;
      }
      absl::Status read = ReadDocument(file, table);
      if (!read.ok()) return read;
    }
    if (absl::Status set = SetGiven(table, *given); !set.ok()) return set;
    if (absl::Status set = SetRange(options); !set.ok()) return set;
    if (absl::Status wrong = CheckTable(options); !wrong.ok()) return wrong;
    options.inputs = std::move(given->inputs);
    Complete(options);
    const auto spec = SpecOf(options);
    options.spec_texts = OptionsOf(spec);
    if (absl::Status valid = Validate(spec); !valid.ok()) return valid;
    if (absl::Status checked = check(options); !checked.ok()) return checked;
    return options;
  }

  std::vector<Flag> Flags() const { return FlagsToRead(flags); }

  std::string Help() const {
    return std::string(examples) + FlagsHelp(Flags()) + std::string(kInputNotes) +
           std::string(notes) + std::string(kExitNotes);
  }

  // Prints the help or the spec document, or runs the job. Returns the exit code.
  int Main(int argc, const char* const* argv) const {
    absl::StatusOr<Options> options = Parse(argc, argv);
    if (!options.ok()) return Complain(name, options.status());
    if (options->help) return Print(Help());
    if (!options->print_spec) return run(*options);
    // The options that differ from the defaults. A file name may be no valid UTF-8.
    Options defaults;
    Options again;
    absl::StatusOr<std::string> document =
        PrintDocument(options->spec_texts, flags(*options), flags(defaults), flags(again));
    return document.ok() ? Print(*document) : Complain(name, document.status());
  }
};

}  // namespace pleat::cli
