// A PresenceBook as bytes: time and numbers, the ledger; series with users, and users; series with
// connections, and connections. The order of a user's connections follows from their keys.
#include <deque>
#include <span>
#include <vector>

#include <pleat/options.h>

#include "engine/base/check.h"
#include "engine/live/presence_book.h"
#include "engine/live/sequence_sort.h"
#include "engine/live/series_loader.h"

namespace pleat::inline v0_1 {
namespace {

template <class Fields, class Ledger>
void PresenceLedgerFields(Fields& fields, Ledger& l) {
  fields(l.events, l.joined, l.returned, l.connected, l.reconnected, l.refreshed, l.updated,
         l.unchanged, l.disconnected, l.left, l.unknown, l.superseded, l.late, l.future,
         l.over_limit, l.timed_out, l.went_away, l.left_away, l.opened, l.expired, l.users, l.away,
         l.connections, l.changes, l.causes);
}

}  // namespace

bool PresenceBook::BeginSave(FieldWriter& out, Copies& copies) {
  PLEAT_CHECK(ops_.stored());
  const uint64_t positions = last_position_ + 1;
  SaveHead(seen_, positions, out);
  out.PutNumber(generations_);
  PresenceLedgerFields(out, ledger_);
  const StoredKeys keys(seen_, positions);
  for (Level* level : {&users_, &connections_}) {
    out.PutNumber(level->series.size());
    out.PutNumber(level->members.size());
    level->BeginSave(keys, copies);
  }
  return true;
}

// Users name their series, and connections their users, by numbers that are known by then.
bool PresenceBook::SaveNext(FieldWriter& out) {
  if (users_.series.SaveNext(out) || users_.members.SaveNext(out, users_.series.numbers()) ||
      connections_.series.SaveNext(out) ||
      connections_.members.SaveNext(out, users_.members.numbers())) {
    return true;
  }
  EndSave();
  return false;
}

void PresenceBook::EndSave() noexcept {
  users_.EndSave();
  connections_.EndSave();
}

// --- Loaded

struct PresenceBook::Loader {
  const StoredKeys keys;
  SeriesLoader users;
  SeriesLoader connections;
  std::deque<uint32_t> all;     // users, in the order in which they were saved
  uint64_t awaited = 0;         // connections
  std::vector<uint32_t> homes;  // by the number of a series of users, that of its connections
};

void PresenceBook::Load(FieldReader& in, const Instant&) {
  uint64_t positions = 0;
  in.Expect(ops_.stored());
  LoadHead(in, seen_, positions);
  last_position_ = positions - 1;
  generations_ = in.Number();
  in.Expect(generations_ <= kGenerationsMax);
  PresenceLedgerFields(in, ledger_);
  const uint64_t series = in.Number();
  const uint64_t users = in.Number();
  const uint64_t homes = in.Number();
  const uint64_t connections = in.Number();
  Loader loader{.keys = StoredKeys(seen_, positions),
                .users = SeriesLoader(users_.series),
                .connections = SeriesLoader(connections_.series),
                .all = {},
                .homes = {}};
  LoadUsers(in, series, users, loader);
  LoadConnections(in, homes, connections, loader);
  LinkConnections(in, loader);
  if (!in.ok()) return;
  size_t away = 0;
  for (const uint32_t number : loader.users.numbers()) away += users_.series.at(number).retained;
  in.Expect(ledger_.users == users && ledger_.away == away && ledger_.connections == connections &&
            ledger_.Balances());
}

void PresenceBook::LoadUsers(FieldReader& in, uint64_t series, uint64_t users, Loader& loader) {
  for (; series > 0 && in.ok(); --series) {
    const uint32_t number = loader.users.LoadSeries(in, hash_key_, loader.keys);
    if (in.ok()) in.Expect(loader.users.IsOfLiveSet(number));
  }
  loader.users.BeginMembers(in, users);
  for (; users > 0 && in.ok(); --users) LoadUser(in, loader);
  loader.users.End(in, seen_);
}

void PresenceBook::LoadUser(FieldReader& in, Loader& loader) {
  const uint32_t series = loader.users.ReadSeries(in);
  if (!in.ok()) return;
  const uint32_t user = users_.members.Load(in, series, users_.series.at(series).hash, loader.keys);
  const uint64_t connections = in.Number();
  in.Expect(connections < kNone);
  if (!in.ok()) return;
  ChangingConnectionsOf(user) = sequences_.Await(static_cast<uint32_t>(connections), in);
  loader.awaited += connections;
  loader.all.push_back(user);
  in.Expect(!users_.members.at(user).has_extra);
  loader.users.Add(in, series, user);
}

void PresenceBook::LoadConnections(FieldReader& in, uint64_t series, uint64_t connections,
                                   Loader& loader) {
  if (!in.ok()) return;
  loader.homes.assign(users_.series.end(), kNone);
  for (; series > 0 && in.ok(); --series) LoadHome(in, loader);
  loader.connections.BeginMembers(in, connections);
  if (!in.Expect(loader.awaited == connections)) return;
  for (; connections > 0 && in.ok(); --connections) LoadConnection(in, loader);
  loader.connections.End(in, seen_);
}

// A series of connections, which has the name of one of users.
void PresenceBook::LoadHome(FieldReader& in, Loader& loader) {
  const uint32_t number = loader.connections.LoadSeries(in, hash_key_, loader.keys);
  if (!in.ok()) return;
  const Series& home = connections_.series.at(number);
  const uint32_t users = users_.series.Find(home.name, home.name.HashWith(hash_key_));
  if (!in.Expect(users != kNone)) return;
  in.Expect(loader.connections.IsOfLiveSet(number) && home.retained == 0 && home.since == 0);
  loader.homes[users] = number;
}

// A connection, as MemberTable::SaveNext() writes a member: of the user, and in the user's series.
void PresenceBook::LoadConnection(FieldReader& in, Loader& loader) {
  const uint64_t which = in.Number();
  if (!in.Expect(which < loader.all.size())) return;
  const uint32_t user = loader.all[static_cast<size_t>(which)];
  const uint32_t home = loader.homes[users_.members.at(user).series];
  const std::string_view id = in.Bytes();
  const SequenceKey key = loader.keys.Load(in);
  const uint8_t bits = in.Byte();
  const ConnectionPart part{.generation = in.Number(), .user = user, .place = kNone};
  in.Expect(id.size() <= kKeyBytesMax && bits == 0 && home != kNone);
  in.Expect(0 < part.generation && part.generation <= generations_);
  if (!in.ok()) return;
  const MemberRef ref(id, users_.members.HashOf(user), hash_key_);
  const auto is_of_user = [&](uint32_t number) { return PartOf(number).user == user; };
  if (!in.Expect(connections_.members.FindIf(ref, is_of_user) == kNone)) return;
  const uint32_t number = connections_.members.Add(ref, home, key.time, key.position, &part);
  loader.connections.Add(in, home, number);
  in.Expect(sequences_.Add(ChangingConnectionsOf(user), number));
}

// Whether a user has the stamp and the position of the latest of these connections, or is gone.
bool PresenceBook::IsAsItsLatest(uint32_t user, std::span<const uint32_t> connections) const {
  const Member& member = users_.members.at(user);
  if (connections.empty()) return GoneAt(member.stamp) <= seen_;
  const Member& latest = connections_.members.at(connections.back());
  return latest.stamp == member.stamp && latest.position == member.position;
}

// Puts the connections of each user in order.
void PresenceBook::LinkConnections(FieldReader& in, Loader& loader) {
  if (!in.ok()) return;
  SequenceSort sort;
  const auto connections_of = [&](size_t i) -> const Sequence& {
    return ConnectionsOf(loader.all[i]);
  };
  const auto order = [&](size_t i, std::span<uint32_t> own) {
    const uint32_t user = loader.all[i];
    return in.Expect(sequences_.Order(ChangingConnectionsOf(user), sort, own)) &&
           in.Expect(IsAsItsLatest(user, own));
  };
  std::vector<uint32_t> numbers;
  sequences_.Collect(loader.all.size(), connections_of, numbers, order);
}

void PresenceBook::SkipNumbers(uint64_t by, const Instant&) {
  changes_.SkipNumbers(by);
  generations_ += by;
}

}  // namespace pleat::inline v0_1
