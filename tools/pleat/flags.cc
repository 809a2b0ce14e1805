#include "tools/pleat/flags.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tools/pleat/old_names.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kDashes = "--";

const Flag* FindLetter(std::span<const Flag> flags, char letter) {
  const auto found = std::ranges::find(flags, letter, &Flag::letter);
  return letter == 0 || found == flags.end() ? nullptr : &*found;
}

absl::Status UnknownOption(std::span<const Flag> flags, std::string_view argument) {
  const std::string_view dashed = argument.substr(0, argument.find('='));
  const size_t letters = std::min(dashed.find_first_not_of('-'), dashed.size());
  std::vector<std::string_view> known;
  for (const Flag& flag : flags) {
    if (!flag.name.empty()) known.push_back(flag.name);
    if (!flag.also.empty()) known.push_back(flag.also);
  }
  std::string message = "unknown option " + std::string(dashed);
  const std::string_view name = dashed.substr(letters);
  if (const std::string now = NewNameOf(name, known, kDashes, ""); !now.empty()) {
    return absl::InvalidArgumentError(message + now);
  }
  if (const std::string instead = InsteadOf(name, known); !instead.empty()) {
    return absl::InvalidArgumentError(message + instead);
  }
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) {
    message += "; did you mean --" + nearest + "?";
  } else if (letters == 1 && FindLetter(flags, dashed[1]) != nullptr) {
    message += "; did you mean " + std::string(dashed.substr(0, 2)) + " " +
               std::string(argument.substr(2)) + "?";
  }
  return absl::InvalidArgumentError(message);
}

bool LooksLikeAFlag(std::string_view text) { return text.starts_with(kDashes); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A flag on a command line.
struct NamedFlag {
  const Flag* flag = nullptr;            // null: there is none of that name
  std::optional<std::string_view> text;  // that stands in the same argument
};

// REQUIRES: a dash and something behind it.
NamedFlag FlagOf(std::span<const Flag> flags, std::string_view argument) {
  const size_t equals = argument.find('=');
  const std::string_view dashed = argument.substr(0, equals);
  std::optional<std::string_view> text;
  if (equals != argument.npos) text = argument.substr(equals + 1);
  if (LooksLikeAFlag(argument)) return {FindFlag(flags, dashed.substr(kDashes.size())), text};
  const Flag* const flag = FindLetter(flags, argument[1]);
  if (dashed.size() == 2) return {flag, text};
  return IsDigit(argument[2]) ? NamedFlag{flag, argument.substr(2)} : NamedFlag{};
}

// Whether the user forgot the text of a flag, so that `next` is already another flag. A text that
// looks like a flag is taken for one; `--output=--odd` gives such a text all the same. After a flag of
// one letter, `-` and a known letter look like a flag as well.
bool ForgottenBefore(std::string_view next, bool by_letter, std::span<const Flag> flags) {
  if (LooksLikeAFlag(next)) return true;
  return by_letter && next.size() == 2 && next[0] == '-' && FindLetter(flags, next[1]) != nullptr;
}

// The text for the flag that argv[i] names: in the same argument, or the next one, to which `i` then
// moves on. None if it was forgotten, also by `--output=`, as by a script whose variable is empty: to
// take the next argument, such as an input, could make the run overwrite it.
std::optional<std::string_view> TextFor(const NamedFlag& named, std::span<const Flag> flags,
                                        int argc, const char* const* argv, int& i) {
  const bool is_switch = named.flag->is_switch();
  if (named.text) return named.text->empty() && !is_switch ? std::nullopt : named.text;
  if (is_switch) return "true";
  const bool by_letter = !LooksLikeAFlag(argv[i]);
  if (i + 1 == argc || ForgottenBefore(argv[i + 1], by_letter, flags)) return std::nullopt;
  return argv[++i];
}

// A condition given twice looks as if both would count. The message shows how to write both.
absl::Status GivenTwice(std::string_view name, const std::vector<std::string>& texts) {
  Condition all{.kind = Condition::Kind::kAll};
  for (const std::string& text : texts) {
    absl::StatusOr<Condition> condition = ParseCondition(text);
    if (!condition.ok()) return WrongFlag(name, std::string(condition.status().message()));
    all.parts.push_back(*std::move(condition));
  }
  Condition any = all;
  any.kind = Condition::Kind::kAny;
  return WrongFlag(name, "takes one condition; several are '" + FormatCondition(all) + "' or '" +
                             FormatCondition(any) + "'");
}

// The words of `text`, as many on a line as 80 columns hold.
void AppendFilled(std::string_view text, std::string& out) {
  constexpr size_t kFirstColumn = 6;
  constexpr size_t kColumns = 80;
  size_t column = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const bool fits = column > 0 && column + 1 + word.size() <= kColumns;
    if (!fits && column > 0) out += '\n';
    out += fits ? std::string(" ") : std::string(kFirstColumn, ' ');
    out += word;
    column = (fits ? column + 1 : kFirstColumn) + word.size();
    begin = end + 1;
  }
  out += '\n';
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
    const NamedFlag named = FlagOf(flags, argument);
    if (named.flag == nullptr) return UnknownOption(flags, argument);
    const std::optional<std::string_view> text = TextFor(named, flags, argc, argv, i);
    if (!text) return WrongFlag(named.flag->name, "needs a value");
    given.texts[named.flag->name].emplace_back(*text);
  }
  return given;
}

absl::Status SetGiven(std::span<const Flag> flags, const GivenFlags& given) {
  for (const Flag& flag : flags) {
    const auto found = given.texts.find(flag.name);
    if (found == given.texts.end()) continue;
    if (flag.is_condition() && found->second.size() > 1) {
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
  const auto found = std::ranges::find_if(
      flags, [name](const Flag& flag) { return flag.name == name || flag.also == name; });
  return name.empty() || found == flags.end() ? nullptr : &*found;
}

std::string FlagsHelp(std::span<const Flag> flags) {
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.name.empty()) {
      out += "\n" + std::string(flag.help) + ":\n";
      continue;
    }
    out += "  ";
    if (flag.letter != 0) out += std::string("-") + flag.letter + ", ";
    out += "--" + std::string(flag.name);
    if (!flag.also.empty()) out += ", --" + std::string(flag.also);
    if (!flag.placeholder.empty()) out += " " + std::string(flag.placeholder);
    out += '\n';
    AppendFilled(flag.help, out);
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
