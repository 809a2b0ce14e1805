#include "tools/pleat/flags.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace pleat::cli {
namespace {

constexpr std::string_view kDashes = "--";

absl::Status UnknownOption(std::span<const Flag> flags, std::string_view dashed) {
  const size_t letters = std::min(dashed.find_first_not_of('-'), dashed.size());
  std::vector<std::string_view> known;
  for (const Flag& flag : flags) {
    if (!flag.name.empty()) known.push_back(flag.name);
  }
  std::string message = "unknown option " + std::string(dashed);
  const std::string nearest = NearestName(dashed.substr(letters), known);
  if (!nearest.empty()) message += "; did you mean --" + nearest + "?";
  return absl::InvalidArgumentError(message);
}

bool LooksLikeAFlag(std::string_view text) { return text.starts_with(kDashes); }

// The text for `flag`, which argv[i] names: behind its `=`, or the next argument, to which `i`
// then moves on. None if it was forgotten: a text that looks like a flag is none, though
// `--output=--odd` says that it is meant. The text of `--output=` was forgotten too, as by a
// script whose variable is empty: to take the next argument, such as an input, could make the run
// overwrite it.
std::optional<std::string_view> TextFor(const Flag& flag, int argc, const char* const* argv,
                                        int& i) {
  const bool is_switch = flag.value.kind == FlagKind::kSwitch;
  const std::string_view argument = argv[i];
  if (const size_t equals = argument.find('='); equals != argument.npos) {
    const std::string_view text = argument.substr(equals + 1);
    return text.empty() && !is_switch ? std::nullopt : std::optional(text);
  }
  if (is_switch) return "true";
  if (i + 1 == argc || LooksLikeAFlag(argv[i + 1])) return std::nullopt;
  return argv[++i];
}

// A condition given twice looks as if both would count. The message shows how to write both.
absl::Status GivenTwice(std::string_view name, const std::vector<std::string>& texts) {
  Condition any{.kind = Condition::Kind::kAny};
  for (const std::string& text : texts) {
    absl::StatusOr<Condition> condition = ParseCondition(text);
    if (!condition.ok()) return WrongFlag(name, std::string(condition.status().message()));
    any.parts.push_back(*std::move(condition));
  }
  return WrongFlag(name, "takes one condition; any of several is '" + FormatCondition(any) + "'");
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

absl::StatusOr<GivenFlags> ParseFlags(std::span<const Flag> flags, int argc,
                                      const char* const* argv) {
  GivenFlags given;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kDashes) {
      given.inputs.insert(given.inputs.end(), argv + i + 1, argv + argc);
      break;
    }
    if (argument.size() < 2 || argument.front() != '-') {
      given.inputs.emplace_back(argument);
      continue;
    }
    const std::string_view dashed =
        argument == "-h" ? "--help" : argument.substr(0, argument.find('='));
    const Flag* const flag =
        LooksLikeAFlag(dashed) ? FindFlag(flags, dashed.substr(kDashes.size())) : nullptr;
    if (flag == nullptr) return UnknownOption(flags, dashed);
    const std::optional<std::string_view> text = TextFor(*flag, argc, argv, i);
    if (!text) return WrongFlag(flag->name, "needs a value");
    given.texts[flag->name].emplace_back(*text);
  }
  return given;
}

absl::Status SetGiven(std::span<const Flag> flags, const GivenFlags& given) {
  for (const Flag& flag : flags) {
    const auto found = given.texts.find(flag.name);
    if (found == given.texts.end()) continue;
    if (flag.value.kind == FlagKind::kCondition && found->second.size() > 1) {
      return GivenTwice(flag.name, found->second);
    }
    if (flag.value.clear) flag.value.clear();
    for (const std::string& text : found->second) {
      if (absl::Status set = flag.value.set(flag.name, text); !set.ok()) return set;
    }
  }
  return absl::OkStatus();
}

const Flag* FindFlag(std::span<const Flag> flags, std::string_view name) {
  const auto found = std::ranges::find(flags, name, &Flag::name);
  return name.empty() || found == flags.end() ? nullptr : &*found;
}

std::string FlagsHelp(std::span<const Flag> flags) {
  constexpr size_t kHelpColumn = 6;
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.name.empty()) {
      out += "\n" + std::string(flag.help) + ":\n";
      continue;
    }
    out += "  --" + std::string(flag.name);
    if (!flag.placeholder.empty()) out += " " + std::string(flag.placeholder);
    out += '\n';
    for (size_t at = 0; at < flag.help.size();) {
      const size_t end = std::min(flag.help.find('\n', at), flag.help.size());
      out += std::string(kHelpColumn, ' ') + std::string(flag.help.substr(at, end - at)) + "\n";
      at = end + 1;
    }
  }
  return out;
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
