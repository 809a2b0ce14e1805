// The flags of a command: one table that the parser, the help text and the suggestions for mistyped
// names all read. CLI11 cuts the command line up; what the texts mean is the command's business.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace pleat::cli {

enum class FlagKind { kText, kNumber, kSwitch, kList, kCondition };

struct Flag {
  std::string_view name;   // empty: a heading
  std::string_view value;  // how its value is called in the help; empty for a switch
  FlagKind kind;
  std::string_view help;  // one line per '\n'
};

// What stood on a command line.
struct GivenFlags {
  std::map<std::string_view, std::vector<std::string>> texts;  // of each flag, in the order given
  std::vector<std::string> inputs;                             // all that is no flag

  bool Has(std::string_view name) const { return texts.contains(name); }
  bool IsOn(std::string_view name) const {
    const auto found = texts.find(name);
    return found != texts.end() && found->second.back() == "true";
  }
};

// `argv` begins with the command's name. Errors: kInvalidArgument, for people.
absl::StatusOr<GivenFlags> ParseFlags(std::span<const Flag> flags, int argc,
                                      const char* const* argv);

// The part of a help text that lists them.
std::string FlagsHelp(std::span<const Flag> flags);

// "--name: why".
absl::Status WrongFlag(std::string_view name, std::string_view why);

// The known name nearest to a mistyped one, or an empty string if none is near.
std::string NearestName(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace pleat::cli
