#include "tools/pleat/flags.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <CLI/CLI.hpp>

namespace pleat::cli {
namespace {

std::string Dashed(std::string_view name) { return "--" + std::string(name); }

absl::Status UnknownOption(std::span<const Flag> flags, std::string_view argument) {
  const std::string_view dashed = argument.substr(0, argument.find('='));
  const std::string_view name =
      dashed.substr(std::min(dashed.find_first_not_of('-'), dashed.size()));
  std::vector<std::string_view> known;
  for (const Flag& flag : flags) {
    if (!flag.name.empty()) known.push_back(flag.name);
  }
  std::string message = "unknown option " + std::string(dashed);
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) message += "; did you mean --" + nearest + "?";
  return absl::InvalidArgumentError(message);
}

// A value that looks like a flag is a value forgotten. `--output=--odd` still says that it is meant.
// So is the value of `--output=`, as a script writes with an empty variable: to CLI11 the next
// argument would be the value, such as an input, which the run would then overwrite.
absl::Status CheckValuesGiven(std::span<const Flag> flags, const char* const* first,
                              const char* const* last) {
  for (const char* const* it = first; it != last; ++it) {
    std::string_view name(*it);
    const bool ends_empty = name.ends_with('=');
    if (ends_empty) name.remove_suffix(1);
    const std::string_view next = it + 1 != last ? it[1] : "";
    const bool followed_by_flag = next.starts_with("--") && next.size() > 2;
    const auto takes_value = [&](const Flag& flag) {
      return flag.kind != FlagKind::kSwitch && !flag.name.empty() && name == Dashed(flag.name);
    };
    if ((ends_empty || followed_by_flag) && std::ranges::any_of(flags, takes_value)) {
      return absl::InvalidArgumentError(std::string(name) + ": needs a value");
    }
  }
  return absl::OkStatus();
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

// All flags are lists of strings to CLI11.
absl::StatusOr<GivenFlags> ParseFlags(std::span<const Flag> flags, int argc,
                                      const char* const* argv) {
  GivenFlags given;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<std::string_view, std::vector<std::string>> texts;
  std::map<std::string_view, CLI::Option*> switches;
  for (const Flag& flag : flags) {
    if (flag.name.empty()) continue;
    if (flag.kind == FlagKind::kSwitch) {
      const std::string names = (flag.name == "help" ? "-h," : "") + Dashed(flag.name);
      switches[flag.name] = app.add_flag(names);
    } else {
      // Otherwise the first one would swallow the files that follow it.
      app.add_option(Dashed(flag.name), texts[flag.name])->allow_extra_args(false);
    }
  }
  // What is left over is files and unknown options. (CLI11 would take a file called "[a,b]" for a
  // list, so it is not told that there are files.)
  const char* const* const files =
      std::find_if(argv, argv + argc, [](std::string_view text) { return text == "--"; });
  if (absl::Status given_all = CheckValuesGiven(flags, argv, files); !given_all.ok())
    return given_all;
  try {
    app.parse(static_cast<int>(files - argv), argv);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();  // "--quiet: 1 required TEXT missing"
    return absl::InvalidArgumentError(what.substr(0, what.find(':')) + ": needs a value");
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  for (std::string& rest : app.remaining()) {
    if (rest.size() > 1 && rest.front() == '-') return UnknownOption(flags, rest);
    given.inputs.push_back(std::move(rest));
  }
  if (files != argv + argc) {
    given.inputs.insert(given.inputs.end(), files + 1, argv + argc);
  }
  for (auto& [name, values] : texts) {
    if (!values.empty()) given.texts[name] = std::move(values);
  }
  for (const auto& [name, option] : switches) {
    if (option->count() > 0) given.texts[name] = option->results();  // "true", or what `=` gave
  }
  return given;
}

std::string FlagsHelp(std::span<const Flag> flags) {
  constexpr size_t kHelpColumn = 6;
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.name.empty()) {
      out += "\n" + std::string(flag.help) + ":\n";
      continue;
    }
    out += "  " + Dashed(flag.name);
    if (!flag.value.empty()) out += " " + std::string(flag.value);
    out += '\n';
    for (size_t at = 0; at < flag.help.size();) {
      const size_t end = std::min(flag.help.find('\n', at), flag.help.size());
      out += std::string(kHelpColumn, ' ') + std::string(flag.help.substr(at, end - at)) + "\n";
      at = end + 1;
    }
  }
  return out;
}

absl::Status WrongFlag(std::string_view name, std::string_view why) {
  return absl::InvalidArgumentError("--" + std::string(name) + ": " + std::string(why));
}

std::string NearestName(std::string_view name, const std::vector<std::string_view>& known) {
  std::string_view best;
  // Two letters may be wrong, as when two are swapped, and in a long name a third of them.
  size_t best_distance = name.size() < 4 ? 2 : std::max<size_t>(2, name.size() / 3) + 1;
  for (std::string_view candidate : known) {
    size_t distance = EditDistance(name, candidate);
    const bool begins = name.size() >= 3 && candidate.substr(0, name.size()) == name;
    if (begins) distance = std::min<size_t>(distance, 1);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

}  // namespace pleat::cli
