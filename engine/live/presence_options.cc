// A PresenceBook goes over to other options: users come back, become away or leave at one instant.
// Their changes come in an order that does not tell in which partition a series lies: first who comes
// back, by their stamps, then the others by the instants at which they would have gone.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "engine/base/check.h"
#include "engine/live/presence_book.h"

namespace pleat::inline v0_1 {

void PresenceBook::SetOptions(const PresenceOptions& options, const Instant& at) {
  const uint64_t position = Begin(at);
  const bool is_longer = options.ttl > options_.ttl;
  const bool same_times = options.ttl == options_.ttl && options.grace == options_.grace;
  options_ = options;
  if (same_times) return;
  kept_ = KeptFor(options);
  users_.series.SetTimes(options.ttl, kept_);
  connections_.series.SetTimes(kept_, Duration::zero());
  if (is_longer) BringBack(position);
  ++last_position_;  // behind them come those who end
  ArmAll(connections_.series);
  ArmAll(users_.series);
  Budget all;
  EndDue(connections_.series, all, [this](const SeriesTable::End& end) {
    Drop(end.member);
    ++ledger_.expired;
  });
  EndDue(users_.series, all,
         [&](const SeriesTable::End& end) { EndByOptions(end, last_position_); });
}

void PresenceBook::ArmAll(SeriesTable& table) {
  uint32_t place = 0;
  table.ForEachFrom(place, [&](uint32_t series) {
    table.Arm(series);
    return true;
  });
}

// Who was away and is here by the TTL of now.
void PresenceBook::BringBack(uint64_t position) {
  std::vector<uint32_t> all;
  std::unordered_map<uint32_t, size_t> waiting;  // by series
  uint32_t place = 0;
  users_.series.ForEachFrom(place, [&](uint32_t series) {
    const size_t before = all.size();
    users_.series.Restore(series, seen_, all);
    if (all.size() > before) waiting[series] = all.size() - before;
    return true;
  });
  const auto order = [&](uint32_t user) -> LogOrder {
    const Member& member = users_.members.at(user);
    return {seen_, /*by_event=*/true, position, member.stamp, member.position};
  };
  std::ranges::sort(all, {}, order);
  for (const uint32_t user : all) {
    const Member& member = users_.members.at(user);
    --ledger_.away;
    --ledger_.went_away;
    Announce(Cause::kRestored, user, OverdueAt(member.stamp), order(user),
             --waiting[member.series]);
  }
}

// Who would have left by now leaves without having become away before.
void PresenceBook::EndByOptions(const SeriesTable::End& end, uint64_t position) {
  const LogOrder order{seen_, /*by_event=*/true, position, end.due, end.position};
  const uint32_t user = end.member;
  const Member& member = users_.members.at(user);
  if (!end.forgets) {
    ++ledger_.went_away;
    ++ledger_.away;
    users_.series.Retain(member.series);
    if (GoneAt(member.stamp) > seen_) {
      return Announce(Cause::kAway, user, GoneAt(member.stamp), order);
    }
  }
  ++ledger_.timed_out;
  EndUser(user, /*away=*/true, order);
}

}  // namespace pleat::inline v0_1
