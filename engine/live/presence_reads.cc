// The reads of a PresenceBook, which change nothing, and its sizes and invariants.
#include <algorithm>
#include <vector>

#include "engine/base/check.h"
#include "engine/live/presence_book.h"

namespace pleat::inline v0_1 {

PresenceCounts PresenceBook::Count(const SeriesRef& series, EngineTime now) const {
  const uint32_t users = users_.series.Find(series.name, series.hash);
  if (users == kNone) return {};
  now = TimeFor(now);
  const size_t here = users_.series.LiveAt(users, now);
  const uint32_t connections = connections_.series.Find(series.name, series.hash);
  const EngineTime live_from = SeriesTable::FirstLiveStamp(options_.ttl, now);
  return {.here = here,
          .away = users_.series.HeldAt(users, now) - here,
          .connections = connections == kNone ? 0
                                              : connections_.series.LiveBetween(
                                                    connections, live_from, kNever, now)};
}

void PresenceBook::Show(uint32_t number, EngineTime now, AnyPresence::See see) const {
  const Member& user = users_.members.at(number);
  std::vector<AnyConnection> shown;
  if (!ConnectionsOf(number).empty()) {
    sequences_.ForEachFrom(ConnectionsOf(number), 0, [&](uint32_t c) {
      const Member& connection = connections_.members.at(c);
      if (GoneAt(connection.stamp) <= now) return true;
      shown.push_back({.id = connection.name(),
                       .generation = PartOf(c).generation,
                       .stamp = connection.stamp,
                       .deadline = OverdueAt(connection.stamp)});
      return true;
    });
  }
  const bool away = OverdueAt(user.stamp) <= now;
  see({.id = user.name(),
       .stamp = user.stamp,
       .deadline = away ? GoneAt(user.stamp) : OverdueAt(user.stamp),
       .away = away,
       .connections = shown,
       .metadata = MetadataOf(number)});
}

bool PresenceBook::List(const SeriesRef& series, const ListOptions& options, EngineTime now,
                        ListCursor& cursor, AnyPresence::See see) const {
  const uint32_t number = users_.series.Find(series.name, series.hash);
  if (number == kNone) return false;
  now = TimeFor(now);
  const SequenceKey behind{cursor.stamp, cursor.position};
  std::vector<uint32_t> users;
  const size_t limit = std::max<size_t>(options.limit, 1);
  users_.series.List(number,
                     {.newest_first = options.newest_first,
                      .retained = true,
                      .from = options.since ? *options.since + Duration{1} : kBeginningOfTime,
                      .behind = cursor.begun ? &behind : nullptr,
                      .max = limit == SIZE_MAX ? limit : limit + 1},
                     now, users);
  const bool more = users.size() > limit;
  if (more) users.resize(limit);
  for (const uint32_t user : users) Show(user, now, see);
  if (!users.empty()) {
    const Member& last = users_.members.at(users.back());
    cursor = {.begun = true, .stamp = last.stamp, .position = last.position};
  }
  return more;
}

bool PresenceBook::Find(const SeriesRef& series, std::string_view user, EngineTime now,
                        AnyPresence::See see) const {
  const uint32_t number = FindUser(series, user);
  now = TimeFor(now);
  if (number == kNone || GoneAt(users_.members.at(number).stamp) <= now) return false;
  Show(number, now, see);
  return true;
}

bool PresenceBook::Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen,
                        AnyFeed::SeeSeries see) const {
  return users_.series.ForEachFrom(place, [&](uint32_t number) {
    const size_t users = users_.series.HeldAt(number, TimeFor(now));
    if (users == 0) return true;
    if (seen == max) return false;
    ++seen;
    see(users_.series.at(number).name.view(), users);
    return true;
  });
}

void PresenceBook::ForEachSeries(EngineTime now, SeeTop see) const {
  uint32_t place = 0;
  users_.series.ForEachFrom(place, [&](uint32_t number) {
    const size_t users = users_.series.HeldAt(number, TimeFor(now));
    if (users > 0) {
      see(users_.series.at(number).name.view(), users, users_.series.at(number).since);
    }
    return true;
  });
}

PresenceSizes PresenceBook::sizes() const noexcept {
  return {.series = users_.series.size(),
          .users = users_.members.size(),
          .connections = connections_.members.size(),
          .bytes = bytes()};
}

void PresenceBook::CheckWhole() const {
  users_.members.CheckWhole();
  connections_.members.CheckWhole();
  PLEAT_CHECK(users_.series.CheckWhole() == ledger_.users - ledger_.away);
  PLEAT_CHECK(connections_.series.CheckWhole() == ledger_.connections);
  PLEAT_CHECK(users_.members.size() == ledger_.users);
  PLEAT_CHECK(ledger_.Balances());
  size_t connections = 0;
  users_.series.ForEachMember([&](uint32_t number) {
    const Member& user = users_.members.at(number);
    const Sequence& own = ConnectionsOf(number);
    sequences_.CheckWhole(own);
    connections += own.size();
    if (own.empty()) return PLEAT_CHECK(GoneAt(user.stamp) <= seen_);
    const Member& latest = connections_.members.at(sequences_.Back(own));
    PLEAT_CHECK(latest.stamp == user.stamp && latest.position == user.position);
    sequences_.ForEachFrom(own, 0, [&](uint32_t c) {
      PLEAT_CHECK(PartOf(c).user == number);
      PLEAT_CHECK(connections_.series.at(connections_.members.at(c).series).name ==
                  users_.series.at(user.series).name);
      return true;
    });
  });
  PLEAT_CHECK(connections == ledger_.connections);
}

}  // namespace pleat::inline v0_1
