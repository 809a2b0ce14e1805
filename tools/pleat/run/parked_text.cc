#include "tools/pleat/run/parked_text.h"

#include <algorithm>
#include <utility>

#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/live/live_set_command.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/rollup/rollup_command.h"

namespace pleat::cli {
namespace {

// What a snapshot calls an option, as the option is given; empty: it is none.
std::string OptionNamed(std::string_view name) {
  if (name.starts_with("late.")) name.remove_prefix(5);
  std::string flag(name == "quiet_period" ? "quiet" : name == "windows" ? "window" : name);
  std::ranges::replace(flag, '_', '-');
  const auto is_known = [&flag](const auto& command) {
    return FindFlag(command.Flags(), flag) != nullptr;
  };
  return is_known(kFoldCommand) || is_known(kRollupCommand) || is_known(kLiveSetCommand)
             ? flag
             : std::string();
}

// "fold": quiet_period is 600s, and 300s in the snapshot
std::string OtherOption(std::string_view why) {
  constexpr std::string_view kInSnapshot = " in the snapshot";
  constexpr std::string_view kIs = " is ";
  constexpr std::string_view kAnd = ", and ";
  if (!why.starts_with('"') || !why.ends_with(kInSnapshot)) return {};
  const size_t colon = why.find("\": ");
  const size_t is = why.find(kIs, colon);
  const size_t was = why.rfind(kAnd);
  if (colon == why.npos || is == why.npos || was == why.npos || was < is) return {};
  const std::string flag = OptionNamed(why.substr(colon + 3, is - colon - 3));
  if (flag.empty()) return {};
  const std::string_view now_it_is = why.substr(is + kIs.size(), was - is - kIs.size());
  const std::string_view before =
      why.substr(was + kAnd.size(), why.size() - was - kAnd.size() - kInSnapshot.size());
  return std::string(why.substr(1, colon - 1)) + ": --" + flag + " is " + std::string(now_it_is) +
         ", and was " + std::string(before) +
         " when the run before ended: give that, or another --consumer, which begins anew";
}

// 0, 1, 2 and 5 as "partitions 0 to 2, 5".
std::string PartitionsText(const std::vector<int>& partitions) {
  std::string text = partitions.size() == 1 ? "partition " : "partitions ";
  for (size_t i = 0; i < partitions.size();) {
    size_t last = i;
    while (last + 1 < partitions.size() && partitions[last + 1] == partitions[last] + 1) ++last;
    if (i > 0) text += ", ";
    text += std::to_string(partitions[i]);
    if (last > i) text += (last == i + 1 ? ", " : " to ") + std::to_string(partitions[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string WhyParked(const LaneStatus& lane) {
  std::string_view why(lane.why.message().data(), lane.why.message().size());
  const std::string partition = "partition " + std::to_string(lane.partition);
  if (why.starts_with(partition)) {
    why.remove_prefix(partition.size());
    if (why.starts_with(": ")) why.remove_prefix(2);
    if (why.starts_with(' ')) why.remove_prefix(1);  // "partition 3 has diverged"
  }
  if (why.starts_with("the last owner had version ")) {
    return "the run before had other options, and was killed: start it once more with its options, "
           "and end it by a signal, or by --at-end keep. Options that groups depend on stay as "
           "they "
           "were even then; another --consumer begins anew with these";
  }
  std::string other = OtherOption(why);
  return other.empty() ? std::string(why) : other;
}

std::vector<std::string> ParkedTexts(const std::map<int, std::string>& why_by_partition,
                                     int partitions, bool goes_on) {
  std::vector<std::pair<std::string, std::vector<int>>> reasons;  // in the order of partitions
  for (const auto& [partition, why] : why_by_partition) {
    auto found = std::ranges::find(reasons, why, [](const auto& each) { return each.first; });
    if (found == reasons.end()) found = reasons.insert(found, {why, {}});
    found->second.push_back(partition);
  }
  std::vector<std::string> lines;
  for (const auto& [why, of] : reasons) {
    const bool is_all = partitions > 1 && of.size() == static_cast<size_t>(partitions);
    std::string line = "parked: ";
    line += is_all ? "all " + Counted(of.size(), "partition") : PartitionsText(of);
    line += ": " + why;
    line += goes_on ? "; the other partitions go on" : "; nothing is done, and nothing is lost";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace pleat::cli
