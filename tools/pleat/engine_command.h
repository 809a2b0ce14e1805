// A command that runs an EngineJob: from the command line to the options, and from the options to
// the help, the spec document or the run. Each command says in one EngineCommand what is its own.
#pragma once

#include <algorithm>
#include <iterator>
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

// `Options` are EngineJobOptions; `Job` is the EngineJob that runs with them.
template <class Options, class Job>
struct EngineCommand {
  std::string_view name;
  std::string (*help)();
  std::vector<Flag> (*flags)(Options& options);
  // Refuses options that are incomplete, contradict each other, or would have no effect.
  absl::Status (*check)(const Options& options);
  // The texts of the options that belong to a spec beside the FoldSpec of the JobOptions.
  std::vector<OptionText> (*own_texts)(const Options& options) = nullptr;

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
    options.inputs = std::move(given->inputs);
    Complete(options);
    options.spec_texts = SpecTexts(options);
    if (absl::Status checked = check(options); !checked.ok()) return checked;
    return options;
  }

  // Prints the help or the spec document, or runs the job. Returns the exit code.
  int Main(int argc, const char* const* argv) const {
    absl::StatusOr<Options> options = Parse(argc, argv);
    if (!options.ok()) return Complain(name, options.status());
    if (options->help) return Print(help());
    if (!options->print_spec) return Job(*options).Run();
    absl::StatusOr<std::string> document = Document(*options);
    return document.ok() ? Print(*document) : Complain(name, document.status());
  }

 private:
  // The options that differ from the defaults, as a spec document.
  // Errors: kInvalidArgument if a text, such as a file name, is not valid UTF-8.
  absl::StatusOr<std::string> Document(Options& options) const {
    Options defaults;
    Options again;
    return PrintDocument(options.spec_texts, flags(options), flags(defaults), flags(again));
  }

  std::vector<OptionText> SpecTexts(const Options& options) const {
    std::vector<OptionText> texts = OptionsOf(options.spec);
    if (own_texts != nullptr) std::ranges::move(own_texts(options), std::back_inserter(texts));
    return texts;
  }
};

}  // namespace pleat::cli
