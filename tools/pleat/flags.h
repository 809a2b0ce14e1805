// The flags of a command: one table that the parser, the help text, the spec document and the
// suggestions for mistyped names all read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "tools/pleat/flag_value.h"

namespace pleat::cli {

struct Flag {
  std::string_view name;         // without dashes; empty: a heading, whose text is `help`
  std::string_view placeholder;  // for its value, in the help; empty for a switch
  std::string_view help;         // filled to 80 columns
  FlagValue value = {};          // without one, an option of the spec: see InSpec()
  char letter = 0;               // its short form, such as k for -k
  std::string_view also = {};    // another name for the same

  // The placeholder says what kind of value it is.
  bool is_switch() const { return placeholder.empty(); }
  bool is_number() const { return placeholder == "N" || placeholder == "BYTES"; }
  bool is_condition() const { return placeholder == "COND"; }
  bool is_list() const { return value.clear != nullptr; }
};

// The table, in which each flag without a value is the option of `spec` that has its name.
template <class Spec>
std::vector<Flag> InSpec(Spec& spec, std::vector<Flag> flags) {
  for (Flag& flag : flags) {
    if (!flag.name.empty() && !flag.value.set) flag.value = OptionOf(spec);
  }
  return flags;
}

inline Flag Heading(std::string_view text) { return {"", "", text, {}}; }

// The texts on a command line.
struct GivenFlags {
  std::map<std::string_view, std::vector<std::string>> texts;  // by flag, in the order given
  std::vector<std::string> inputs;                             // all arguments that are no flags

  bool Has(std::string_view name) const { return texts.contains(name); }
  bool IsOn(std::string_view name) const { return Has(name) && texts.at(name).back() == "true"; }
};

// Cuts a command line into texts: `--name VALUE`, `--name=VALUE`, `--switch`, `--switch=false`; by
// its letter `-k VALUE`, `-k=VALUE`, and of values that begin with a digit `-j4`. (`-key` is more
// likely meant as `--key` than as the value "ey".) Behind `--` everything is an input. `argv` begins
// with the command's name.
// Errors: kInvalidArgument, for people: an unknown flag, a value forgotten.
absl::StatusOr<GivenFlags> ParseFlags(std::span<const Flag> flags, int argc,
                                      const char* const* argv);

// Sets the values of the flags that were given, in the order of the table. The last of several
// texts counts, but a list takes them all, in place of the document's, and a condition given twice
// is an error.
absl::Status SetGiven(std::span<const Flag> flags, const GivenFlags& given);

// The flag of that name, which may be its other one, or null.
const Flag* FindFlag(std::span<const Flag> flags, std::string_view name);

// A table to be read only: the options that its flags would set are gone.
template <class Options>
std::vector<Flag> FlagsToRead(std::vector<Flag> (*table)(Options& options)) {
  Options options;
  std::vector<Flag> flags = table(options);
  for (Flag& flag : flags) flag.value = {};
  return flags;
}

// The part of a help text that lists them.
std::string FlagsHelp(std::span<const Flag> flags);

// The known name nearest to a mistyped one, or an empty string if none is near.
std::string NearestName(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace pleat::cli
