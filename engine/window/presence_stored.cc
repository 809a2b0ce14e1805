// A PresenceBook as bytes: time and numbers, the ledger, and each series with its users; behind each
// user the connections. The order of all connections of a series follows from their keys.
#include <vector>

#include <pleat/options.h>

#include "engine/base/check.h"
#include "engine/window/presence_book.h"

namespace pleat::inline v0_1 {
namespace {

template <class Fields, class Ledger>
void PresenceLedgerFields(Fields& fields, Ledger& l) {
  fields(l.events, l.joined, l.returned, l.connected, l.reconnected, l.refreshed, l.updated,
         l.unchanged, l.disconnected, l.left, l.unknown, l.superseded, l.late, l.future, l.refused,
         l.timed_out, l.went_away, l.left_away, l.opened, l.expired, l.users, l.away, l.connections,
         l.changes, l.causes);
}

}  // namespace

bool PresenceBook::BeginSave(FieldWriter& out) {
  PLEAT_CHECK(ops_.stored());
  const uint64_t positions = last_position_ + 1;
  SaveHead(seen_, positions, out);
  out.PutNumber(generations_);
  PresenceLedgerFields(out, ledger_);
  StoredKeys keys({seen_, positions}, positions);
  out.PutNumber(users_.series.size());
  uint32_t place = 0;
  users_.series.ForEachFrom(place, [&](uint32_t users) {
    users_.series.Save(users, keys, out, [&](uint32_t user) { SaveConnections(user, out); });
    const PackedKey& name = users_.series.at(users).name;
    const uint32_t connections = connections_.series.Find(name, name.HashWith(hash_key_));
    out(connections != kNone);
    if (connections != kNone) connections_.series.SaveOrder(connections, out);
    return true;
  });
  return false;
}

void PresenceBook::SaveConnections(uint32_t user, FieldWriter& out) const {
  const Sequence& own = ConnectionsOf(user);
  out.PutNumber(own.size());
  if (own.empty()) return;
  const Member& member = users_.members.at(user);
  StoredKeys keys({member.stamp, member.position}, last_position_ + 1);
  sequences_.ForEachFrom(own, 0, [&](uint32_t number) {
    const Member& connection = connections_.members.at(number);
    out.PutBytes(connection.name());
    keys.Save({connection.stamp, connection.position}, out);
    out.PutNumber(PartOf(number).generation);
    return true;
  });
  sequences_.SaveForm(own, out);
}

void PresenceBook::Load(FieldReader& in, const Instant&) {
  uint64_t positions = 0;
  in.Expect(ops_.stored());
  LoadHead(in, seen_, positions);
  last_position_ = positions - 1;
  generations_ = in.Number();
  in.Expect(generations_ <= kGenerationsMax);
  PresenceLedgerFields(in, ledger_);
  StoredKeys keys({seen_, positions}, positions);
  size_t away = 0;
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    away += LoadSeries(in, keys);
  }
  in.Expect(ledger_.users == users_.members.size() && ledger_.away == away &&
            ledger_.connections == connections_.members.size() && ledger_.Balances());
}

// Returns how many users are away.
size_t PresenceBook::LoadSeries(FieldReader& in, StoredKeys& keys) {
  std::vector<uint32_t> all;
  const auto load_connections = [&](uint32_t user) { LoadConnections(in, user, all); };
  const uint32_t users = users_.series.Load(in, hash_key_, seen_, keys, load_connections);
  bool has_connections = false;
  in(has_connections);
  in.Expect(has_connections == !all.empty());
  // Also where the reading failed: who has a place in no series is nobody's to destroy.
  if (!all.empty()) {
    connections_.series.LoadOrder(in, connections_.members.at(all.front()).series, all);
  }
  if (users == kNone) return 0;
  in.Expect(users_.series.at(users).ttl == Duration::zero());
  return users_.series.at(users).retained;
}

// Appends the user's connections to `all`.
void PresenceBook::LoadConnections(FieldReader& in, uint32_t user, std::vector<uint32_t>& all) {
  const Member& member = users_.members.at(user);
  const SequenceKey latest{member.stamp, member.position};
  const PackedKey& name = users_.series.at(member.series).name;
  StoredKeys keys(latest, last_position_ + 1);
  SequenceKey last{};
  std::vector<uint32_t> own;
  in.Expect(!member.has_extra);
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const std::string_view id = in.Bytes();
    const SequenceKey key = keys.Load(in);
    const ConnectionPart part{.generation = in.Number(), .user = user, .place = kNone};
    in.Expect(id.size() <= kKeyBytesMax && 0 < part.generation && part.generation <= generations_);
    if (!in.Expect(own.empty() || last < key)) break;
    last = key;
    const MemberRef ref(id, users_.members.HashOf(user), hash_key_);
    const auto is_of_user = [&](uint32_t number) { return PartOf(number).user == user; };
    if (!in.Expect(connections_.members.FindIf(ref, is_of_user) == kNone)) break;
    const uint64_t hash = name.HashWith(hash_key_);
    uint32_t series = connections_.series.Find(name, hash);
    if (series == kNone) series = connections_.series.Open(name, hash);
    own.push_back(connections_.members.Add(ref, series, key.time, key.position, &part));
  }
  all.insert(all.end(), own.begin(), own.end());
  const bool larger = sequences_.LoadForm(own.size(), in);
  ConnectionsOf(user) = sequences_.Make(own, larger);
  in.Expect(own.empty() ? GoneAt(member.stamp) <= seen_ : last == latest);
}

void PresenceBook::SkipNumbers(uint64_t by, const Instant&) {
  changes_.SkipNumbers(by);
  generations_ += by;
}

}  // namespace pleat::inline v0_1
