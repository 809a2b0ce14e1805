#include "tools/pleat/advice.h"

#include <algorithm>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"
#include "tools/pleat/line_member.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/unit_advice.h"
#include "tools/pleat/unusable_input.h"

namespace pleat::cli {
namespace {

std::string QuotedPath(const std::string& path) {
  std::string out;
  AppendJsonString(path, out);
  return out;
}

// A condition in the place of a path, as in count(status>500): a reducer takes none, and finds none.
std::string AboutConditions(std::span<const OptionPath> absent) {
  for (const OptionPath& each : absent) {
    const size_t compares = each.path.find_first_of("<>");
    const bool has_both = compares > 0 && compares + 1 < each.path.size();
    if (each.option != "merge" || compares == std::string::npos || !has_both) continue;
    if (each.path[compares - 1] == '-') continue;  // an arrow
    return "; a reducer takes no condition: --where keeps the events for which one holds";
  }
  return {};
}

// Paths that are mistyped, mostly: which are meant, or else what the line has.
std::string AboutPaths(std::span<const OptionPath> absent, std::string_view line) {
  constexpr size_t kShown = 10;
  if (absent.empty()) return {};
  std::string out = "no line has ";
  for (size_t i = 0; i < std::min(absent.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + QuotedPath(absent[i].path) + " (--" + absent[i].option + ")";
  }
  if (absent.size() > kShown) out += ", and " + Grouped(absent.size() - kShown) + " more";
  std::string questions;
  std::string lists;
  std::string finding;
  for (const OptionPath& each : absent.first(std::min(absent.size(), kShown))) {
    const PathHint hint = HintFor(line, each.path);
    const std::string question = Question(hint);
    if (!question.empty()) questions += " " + question;
    if (hint.in_list) {
      const std::string list = "; " + Finding(hint, "");
      if (lists.find(list) == std::string::npos) lists += list;
    } else if (question.empty() && finding.empty()) {
      finding = Finding(hint, "the first line");
    }
  }
  const std::string conditions = AboutConditions(absent);
  out += conditions;
  if (!questions.empty()) out += ";" + questions;
  if (!questions.empty() || !lists.empty() || !conditions.empty()) return out + lists;
  return finding.empty() ? out : out + "; " + finding;
}

// At least `d`, in whole units of which there are ten or more, so that --reorder takes the text.
std::string RoundedUp(Duration d) {
  constexpr Duration kRoundUnits[] = {std::chrono::days(1), std::chrono::hours(1),
                                      std::chrono::minutes(1), std::chrono::seconds(1),
                                      std::chrono::milliseconds(1)};
  for (const Duration unit : kRoundUnits) {
    if (d >= 10 * unit) return FormatDuration((d + unit - Duration(1)) / unit * unit);
  }
  return FormatDuration(d);
}

std::string AboutOrder(const JobOptions& options, const StampCounts& stamps) {
  if (options.event.time.empty() || stamps.most_behind <= options.event.reorder) return {};
  const std::string behind = RoundedUp(stamps.most_behind);
  std::string out = Counted(stamps.out_of_order, "event") + " came up to " + behind +
                    " behind; --reorder " + behind + " takes them in the order of time";
  if (stamps.behind_input > 0) {
    out += " (" + Grouped(stamps.behind_input) +
           " behind an earlier file: files are read one after the other, not merged by time)";
  }
  return out;
}

std::string AboutWaiting(const LineCounts& lines) {
  if (lines.released_early == 0) return {};
  return Counted(lines.released_early, "line") + (lines.released_early == 1 ? " was" : " were") +
         " taken too early, as half of --max-memory was full of lines that waited: a smaller "
         "--reorder needs less, and more memory holds more";
}

std::string AboutZone(bool assumed_utc) {
  return assumed_utc ? std::string(kAssumedUtc) : std::string();
}

std::string AboutTime(const JobOptions& options) {
  if (!options.event.time.empty()) return {};
  const auto file = std::ranges::find_if(
      options.inputs, [](const std::string& path) { return InputSize(path) > 0; });
  if (file == options.inputs.end()) return {};
  return "events of " + Printable(InputName(*file)) +
         " were stamped as they were read; --time says where they state their time";
}

}  // namespace

std::string AboutExcluded(const JobOptions& options, std::string_view line,
                          const LineCounts& lines) {
  if (lines.events > 0 || lines.excluded == 0) return {};
  const std::string types = TypeHintFor(line, options.event.where);
  if (!types.empty()) return "no line was kept; in the first one " + types + " (--where)";
  std::vector<std::string_view> given;
  if (options.event.where.kind != Condition::Kind::kNone) given.push_back("--where");
  if (options.from) given.push_back("--from");
  if (options.to) given.push_back("--to");
  return "no line was kept: " + Counted(lines.excluded, "line") +
         (lines.excluded == 1 ? " was" : " were") + " excluded by " + Alternatives(given);
}

bool LeadsTo(std::string_view path, std::string_view name) {
  if (path.ends_with('?')) path.remove_suffix(1);
  const bool has_ways = !path.starts_with('/') && !path.starts_with('"');
  if (const size_t bar = has_ways ? path.find('|') : path.npos; bar != path.npos) {
    return LeadsTo(path.substr(0, bar), name) || LeadsTo(path.substr(bar + 1), name);
  }
  if (!path.starts_with('/')) return path == name;
  std::string pointer = "/";
  for (const char c : name) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return path == pointer;
}

std::string DoubledSentence(const std::string& input, const DoubledName& doubled,
                            const OptionPath& asked) {
  std::string text = Printable(input) + " has " + std::to_string(doubled.others.size() + 1) +
                     " columns named " + QuotedPath(doubled.name) + "; --" + asked.option +
                     " takes the first, and the others are";
  for (size_t i = 0; i < doubled.others.size(); ++i) {
    const bool last = i > 0 && i + 1 == doubled.others.size();
    text += (i == 0 ? " " : last ? " and " : ", ") + QuotedPath(doubled.others[i]);
  }
  if (doubled.others.size() == 1) text.replace(text.rfind("the others are"), 14, "the other is");
  return text;
}

std::string AboutDays(const JobOptions& options, std::string_view line) {
  // With a unit the texts are numbers; and a format would have to have the time of day as well.
  if (options.event.time_unit != TimeUnit::kNotStated || !options.event.time_format.empty())
    return {};
  return AdviceOnDays(line, options.event.time);
}

std::string AboutNotNumbers(const LineCounts& lines) {
  if (lines.not_numbers == 0) return {};
  return Counted(lines.not_numbers, "value") + (lines.not_numbers == 1 ? " was" : " were") +
         " NaN or Infinity, which JSON does not have: read as null";
}

std::vector<std::string> AdviceOn(const JobOptions& options, std::span<const OptionPath> absent,
                                  std::string_view line, const LineCounts& lines,
                                  const StampCounts& stamps) {
  std::vector<std::string> advice = {
      AboutPaths(absent, line),
      AboutExcluded(options, line, lines),
      AboutOrder(options, stamps),
      AboutWaiting(lines),
      AboutTime(options),
      AboutDays(options, line),
      AboutZone(stamps.assumed_utc),
      AboutNotNumbers(lines),
      AdviceOnUnit(options.event.time_unit, stamps.oldest, stamps.newest)};
  std::erase(advice, "");
  return advice;
}

}  // namespace pleat::cli
