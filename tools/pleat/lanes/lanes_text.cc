#include "tools/pleat/lanes/lanes_text.h"

#include <algorithm>
#include <string_view>

#include <pleat/json_lines.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

bool CannotGoOn(const LaneStatus& lane) { return lane.phase == LanePhase::kParked; }

// By the last run; the next one may go on.
bool WasParked(const LaneStatus& lane) {
  return CannotGoOn(lane) && absl::IsFailedPrecondition(lane.why);
}

std::string_view StateOf(const LaneStatus& lane) {
  if (WasParked(lane)) return "parked";
  if (CannotGoOn(lane)) return "cannot go on";
  return UnreadBy(lane) > 0 ? "behind" : "up to date";
}

std::string WhyOf(const LaneStatus& lane) {
  return std::string(lane.why.message().data(), lane.why.message().size());
}

// By how much log time the lane is behind the newest record.
std::optional<Duration> BehindOf(const LaneStatus& lane) {
  if (!lane.newest || UnreadBy(lane) == 0) return std::nullopt;
  if (lane.now <= kBeginningOfTime) return std::nullopt;  // no lane has committed
  return std::max(*lane.newest - lane.now, Duration{0});
}

// Rows of cells as wide as their widest. The last one is to the left and the others, which are numbers,
// to the right; but the first one may be a name.
class Table {
 public:
  Table(bool begins_with_names, std::vector<std::string> heads)
      : begins_with_names_(begins_with_names), rows_{std::move(heads)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string Text() const {
    std::vector<size_t> widths(rows_.front().size());
    for (const std::vector<std::string>& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const std::vector<std::string>& row : rows_) {
      for (size_t i = 0; i + 1 < row.size(); ++i) {
        const std::string gap(widths[i] - row[i].size(), ' ');
        out += (i == 0 && begins_with_names_ ? row[i] + gap : gap + row[i]) + "  ";
      }
      out += row.back() + "\n";
    }
    return out;
  }

 private:
  const bool begins_with_names_;
  std::vector<std::vector<std::string>> rows_;
};

struct Totals {
  uint64_t unread = 0;
  uint64_t waiting = 0;
  uint64_t parked = 0;  // lanes
  uint64_t stuck = 0;   // lanes that cannot go on, and are not parked
  uint64_t takeovers = 0;
  std::optional<EngineTime> taken_over;
};

Totals TotalsOf(const ConsumerLanes& consumer) {
  Totals totals;
  for (const LaneStatus& each : consumer.all.lanes) {
    totals.unread += UnreadBy(each);
    totals.waiting += each.waiting;
    totals.parked += WasParked(each) ? 1 : 0;
    totals.stuck += CannotGoOn(each) && !WasParked(each) ? 1 : 0;
    totals.takeovers = std::max(totals.takeovers, each.takeovers);
    if (each.taken_over)
      totals.taken_over = std::max(totals.taken_over.value_or(*each.taken_over), *each.taken_over);
  }
  return totals;
}

std::string StateOf(const ConsumerLanes& consumer, const Totals& totals) {
  std::string state = totals.unread > 0 ? "behind" : "up to date";
  if (totals.parked > 0) state = Counted(totals.parked, "lane") + " parked";
  if (totals.stuck > 0) state = Counted(totals.stuck, "lane") + " cannot go on";
  return state +
         (consumer.process ? ", process " + std::to_string(*consumer.process) : ", no process");
}

std::string HeldText(const HeldKey& held) {
  return "partition " + std::to_string(held.partition) + ": key " + JsonText(held.key) + " is " +
         (held.is_parked ? "parked" : "retried") + ", " + Counted(held.records, "record") +
         " from offset " + std::to_string(held.offset) + " on, refused about " +
         Counted(held.attempts, "time") +
         (held.reason.empty() ? "" : ": " + Printable(held.reason)) + "\n";
}

std::string BuriedText(const ConsumerLanes& consumer, const BuriedMessage& buried) {
  return Printable(IdOf(consumer, buried)) + ": key " + JsonText(buried.message.key) +
         (buried.is_revived ? ", revived" : "") +
         (buried.reason.empty() ? "" : ": " + Printable(buried.reason)) + "\n";
}

std::string TimeJson(const std::optional<EngineTime>& time) {
  return time ? "\"" + FormatTimestamp(*time) + "\"" : "null";
}

template <class List, class Write>
std::string ArrayText(const List& list, const Write& write) {
  std::string out = "[";
  for (const auto& each : list) {
    if (out.size() > 1) out += ',';
    out += write(each);
  }
  return out + "]";
}

std::string LaneJson(const LaneStatus& lane) {
  const std::optional<Duration> behind = BehindOf(lane);
  std::string out =
      "{" +
      MembersText({{"partition", static_cast<uint64_t>(lane.partition)},
                   {"next", lane.next},
                   {"end", lane.end ? std::to_string(*lane.end) : std::string("null")},
                   {"unread", UnreadBy(lane)},
                   {"behind_s", behind ? ShortestText(static_cast<double>(behind->count()) / 1e6)
                                       : std::string("null")},
                   {"waiting", lane.waiting},
                   {"held_keys", lane.held_keys},
                   {"buried", lane.buried},
                   {"takeovers", lane.takeovers}});
  out += ",\"taken_over\":" + TimeJson(lane.taken_over) + ",\"state\":\"" +
         std::string(StateOf(lane)) + "\"";
  if (!lane.why.ok()) out += ",\"why\":" + JsonText(WhyOf(lane));
  return out + "}";
}

std::string HeldJson(const HeldKey& held) {
  return "{\"partition\":" + std::to_string(held.partition) + ",\"key\":" + JsonText(held.key) +
         ",\"parked\":" + (held.is_parked ? "true" : "false") +
         ",\"reason\":" + JsonText(held.reason) + "," +
         MembersText(
             {{"offset", held.offset}, {"records", held.records}, {"attempts", held.attempts}}) +
         "}";
}

std::string BuriedJson(const ConsumerLanes& consumer, const BuriedMessage& buried) {
  return "{\"id\":" + JsonText(IdOf(consumer, buried)) +
         ",\"partition\":" + std::to_string(buried.message.id.partition) +
         ",\"key\":" + JsonText(buried.message.key) +
         ",\"revived\":" + (buried.is_revived ? "true" : "false") +
         ",\"reason\":" + JsonText(buried.reason) +
         ",\"payload\":" + JsonText(buried.message.payload) + "}";
}

}  // namespace

uint64_t UnreadBy(const LaneStatus& lane) {
  return lane.end ? std::max(*lane.end, lane.next) - lane.next : 0;
}

std::string IdOf(const ConsumerLanes& consumer, const BuriedMessage& buried) {
  return FormatMessageId(consumer.name, buried.message.id, buried.message.stream);
}

std::string OverviewText(const std::vector<ConsumerLanes>& consumers) {
  if (consumers.empty()) return "no consumers\n";
  Table table(/*begins_with_names=*/true,
              {"consumer", "unread", "waiting", "held", "buried", "state"});
  for (const ConsumerLanes& each : consumers) {
    const Totals totals = TotalsOf(each);
    table.Add({each.name, Grouped(totals.unread), Grouped(totals.waiting),
               Grouped(each.all.held_keys.size()), Grouped(each.all.buried.size()),
               StateOf(each, totals)});
  }
  return table.Text();
}

std::string ConsumerText(const ConsumerLanes& consumer) {
  const Totals totals = TotalsOf(consumer);
  std::string out = "consumer     " + consumer.name + ": " + StateOf(consumer, totals) + "\n";
  out += "last commit  " +
         (consumer.committed ? FormatTimestamp(*consumer.committed) : std::string("none")) + "\n";
  out += "takeovers    " + Grouped(totals.takeovers) +
         (totals.taken_over ? ", the last one " + FormatTimestamp(*totals.taken_over) : "") + "\n";
  Table table(/*begins_with_names=*/false, {"partition", "next", "end", "unread", "behind",
                                            "waiting", "held", "buried", "state"});
  uint64_t empty = 0;
  for (const LaneStatus& each : consumer.all.lanes) {
    if (each.end.value_or(1) == 0 && !CannotGoOn(each)) {
      ++empty;
      continue;
    }
    const std::optional<Duration> behind = BehindOf(each);
    table.Add({std::to_string(each.partition), Grouped(each.next),
               each.end ? Grouped(*each.end) : "?", Grouped(UnreadBy(each)),
               behind ? RoundedDuration(*behind) : "-", Grouped(each.waiting),
               Grouped(each.held_keys), Grouped(each.buried), std::string(StateOf(each))});
  }
  if (empty < consumer.all.lanes.size()) out += "\n" + table.Text();
  if (empty > 0) out += "\n" + Counted(empty, "partition") + " without a record\n";
  std::string parked;
  std::string stuck;
  for (const LaneStatus& each : consumer.all.lanes) {
    if (!each.why.ok()) (WasParked(each) ? parked : stuck) += Printable(WhyOf(each)) + "\n";
  }
  if (!parked.empty()) out += "\nParked by the last run:\n" + parked;
  if (!stuck.empty()) out += "\nCannot go on:\n" + stuck;
  if (!consumer.all.held_keys.empty()) out += "\nHeld keys:\n";
  for (const HeldKey& each : consumer.all.held_keys) out += HeldText(each);
  if (!consumer.all.buried.empty()) out += "\nBuried messages:\n";
  for (const BuriedMessage& each : consumer.all.buried) out += BuriedText(consumer, each);
  return out;
}

std::string ConsumerJson(const ConsumerLanes& consumer) {
  std::string out = "{\"consumer\":" + JsonText(consumer.name);
  if (consumer.process) out += ",\"process\":" + std::to_string(*consumer.process);
  out += ",\"last_commit\":" + TimeJson(consumer.committed) + "," +
         MembersText({{"unread", TotalsOf(consumer).unread}});
  out += ",\"lanes\":" + ArrayText(consumer.all.lanes, LaneJson);
  out += ",\"held_keys\":" + ArrayText(consumer.all.held_keys, HeldJson);
  out += ",\"buried\":" + ArrayText(consumer.all.buried, [&](const BuriedMessage& each) {
           return BuriedJson(consumer, each);
         });
  return out + "}\n";
}

}  // namespace pleat::cli
