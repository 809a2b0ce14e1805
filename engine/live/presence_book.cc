#include "engine/live/presence_book.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include <pleat/options.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

const PayloadOps& MetadataOps(void* context) noexcept {
  return *static_cast<const PayloadOps*>(context);
}

}  // namespace

// A user begins as one without connections, with a copy of the metadata. `from` and `b` are
// metadata alone.
PayloadOps PresenceBook::OpsOfUsers(const PayloadOps& metadata) {
  constexpr size_t kPart = sizeof(UserPart);
  PayloadOps ops{.size = static_cast<uint32_t>(kPart + metadata.size), .align = 8};
  ops.context = const_cast<PayloadOps*>(&metadata);
  ops.copy = [](void* context, void* to, const void* from) {
    const PayloadOps& data = MetadataOps(context);
    auto* const part = ::new (to) UserPart();
    if (data.size > 0) data.copy(data.context, part + 1, from);
  };
  ops.destroy = [](void* context, void* user) {
    const PayloadOps& data = MetadataOps(context);
    if (data.size > 0) data.destroy(data.context, static_cast<UserPart*>(user) + 1);
  };
  ops.equal = [](void* context, const void* a, const void* b) {
    const PayloadOps& data = MetadataOps(context);
    return data.size == 0 || data.equal(data.context, static_cast<const UserPart*>(a) + 1, b);
  };
  if (metadata.heap_bytes != nullptr) {
    ops.heap_bytes = [](void* context, const void* user) {
      const PayloadOps& data = MetadataOps(context);
      return data.heap_bytes(data.context, static_cast<const UserPart*>(user) + 1);
    };
  }
  ops.save = [](void* context, const void* user, FieldWriter& out) {
    const PayloadOps& data = MetadataOps(context);
    const auto* const part = static_cast<const UserPart*>(user);
    if (data.size > 0) data.save(data.context, part + 1, out);
    // LoadUser() reads these.
    out.PutNumber(part->size());
    SequencePool<ByUser>::SaveForm(*part, out);
  };
  ops.load = [](void* context, void* user, FieldReader& in) {
    const PayloadOps& data = MetadataOps(context);
    auto* const part = ::new (user) UserPart();
    if (data.size > 0) data.load(data.context, part + 1, in);
  };
  return ops;
}

PayloadOps PresenceBook::OpsOfConnections() {
  PayloadOps ops{.size = sizeof(ConnectionPart), .align = alignof(ConnectionPart)};
  ops.copy = [](void*, void* to, const void* from) {
    ::new (to) ConnectionPart(*static_cast<const ConnectionPart*>(from));
  };
  ops.destroy = [](void*, void*) {};
  ops.equal = [](void*, const void*, const void*) { return false; };
  ops.save = [](void*, const void* connection, FieldWriter& out) {
    out.PutNumber(static_cast<const ConnectionPart*>(connection)->generation);
  };
  return ops;
}

PresenceBook::PresenceBook(PagePool& pool, const PresenceOptions& options, const PayloadOps& ops,
                           const HashKey& hash_key, uint32_t partition)
    : FeedBook(ops, partition, options.max_changes),
      options_(options),
      kept_(KeptFor(options)),
      ops_(ops),
      hash_key_(hash_key),
      user_ops_(OpsOfUsers(ops)),
      connection_ops_(OpsOfConnections()),
      pages_(pool),
      users_(
          pages_, user_ops_, hash_key,
          [this](uint32_t user) { return users_.series.HashFor(user); },
          /*owner=*/nullptr, options.ttl, kept_),
      connections_(
          pages_, connection_ops_, hash_key,
          [this](uint32_t number) { return users_.members.HashOf(PartOf(number).user); },
          [this](uint32_t number) { return PartOf(number).user; }, kept_, Duration::zero()),
      sequences_(pages_, by_user_) {}

// --- Finding

uint32_t PresenceBook::FindUser(const SeriesRef& series, std::string_view user) const {
  const uint32_t number = users_.series.Find(series.name, series.hash);
  if (number == kNone || user.size() > kKeyBytesMax) return kNone;
  return users_.members.Find(RefOfUser(series, user), number);
}

// One search: a connection leads to its user and series.
uint32_t PresenceBook::FindConnection(const Who& who) const {
  const MemberRef user = RefOfUser(who.series, who.user);
  return connections_.members.FindIf(RefOfConnection(user, who.connection), [&](uint32_t number) {
    const Member& owner = users_.members.at(PartOf(number).user);
    return owner.id.Equals(static_cast<uint8_t>(owner.tag), user.packed, user.tag) &&
           users_.series.at(owner.series).name == who.series.name;
  });
}

// --- A call

// What is due happens before. Returns the position of the call.
uint64_t PresenceBook::Begin(const Instant& at) {
  Budget budget;
  CloseDue(at, budget);
  return last_position_ = std::max(last_position_ + 1, at.position);
}

PresenceOutcome PresenceBook::Answer(Outcome outcome) noexcept {
  ++ledger_.events;
  switch (outcome) {
    case Outcome::kJoined: ++ledger_.joined; break;
    case Outcome::kReturned: ++ledger_.returned; break;
    case Outcome::kConnected: ++ledger_.connected; break;
    case Outcome::kReconnected: ++ledger_.reconnected; break;
    case Outcome::kRefreshed: ++ledger_.refreshed; break;
    case Outcome::kUpdated: ++ledger_.updated; break;
    case Outcome::kUnchanged: ++ledger_.unchanged; break;
    case Outcome::kDisconnected: ++ledger_.disconnected; break;
    case Outcome::kLeft: ++ledger_.left; break;
    case Outcome::kUnknown: ++ledger_.unknown; break;
    case Outcome::kSuperseded: ++ledger_.superseded; break;
    case Outcome::kLate: ++ledger_.late; break;
    case Outcome::kFuture: ++ledger_.future; break;
    default: ++ledger_.over_limit; break;
  }
  PLEAT_DCHECK(ledger_.Balances());
  return outcome;
}

Entered PresenceBook::Enter(const Who& who, const void* metadata, EngineTime stamp,
                            const Instant& at) {
  const uint64_t position = Begin(at);
  if (OverdueAt(stamp) <= seen_) return {Answer(Outcome::kLate)};
  const uint32_t known = FindConnection(who);
  if (known != kNone) {
    if (!HasRoomFor(GrowthBy(PartOf(known).user, metadata))) return {Answer(Outcome::kOverLimit)};
    const uint64_t generation = Renew(known);
    if (stamp > connections_.members.at(known).stamp) Restamp(known, stamp, position);
    const bool returned = Follow(PartOf(known).user, metadata, position).returned;
    return {Answer(returned ? Outcome::kReturned : Outcome::kReconnected), generation};
  }
  uint32_t user = FindUser(who.series, who.user);
  if (const auto why = RefuseNew(who, user, metadata)) return {Answer(*why)};
  if (user == kNone) {
    user = AddUser(who.series, who.user, metadata, stamp, position);
    AddConnection(who, user, stamp, position);
    Announce(Cause::kAdded, user, OverdueAt(stamp), {seen_, /*by_event=*/true, position});
    return {Answer(Outcome::kJoined), generations_};
  }
  AddConnection(who, user, stamp, position);
  const bool returned = Follow(user, metadata, position).returned;
  return {Answer(returned ? Outcome::kReturned : Outcome::kConnected), generations_};
}

PresenceOutcome PresenceBook::Beat(const Who& who, uint64_t generation, const void* metadata,
                                   EngineTime stamp, const Instant& at) {
  const uint64_t position = Begin(at);
  if (OverdueAt(stamp) <= seen_) return Answer(Outcome::kLate);
  const uint32_t number = FindConnection(who);
  if (number == kNone) return Answer(Outcome::kUnknown);
  if (PartOf(number).generation != generation) return Answer(Outcome::kSuperseded);
  if (!HasRoomFor(GrowthBy(PartOf(number).user, metadata))) return Answer(Outcome::kOverLimit);
  const bool newer = stamp > connections_.members.at(number).stamp;
  if (newer) Restamp(number, stamp, position);
  const Effect effect = Follow(PartOf(number).user, metadata, position);
  return Answer(effect.returned  ? Outcome::kReturned
                : effect.updated ? Outcome::kUpdated
                : newer          ? Outcome::kRefreshed
                                 : Outcome::kUnchanged);
}

PresenceOutcome PresenceBook::Leave(const Who& who, uint64_t generation, const Instant& at) {
  const uint64_t position = Begin(at);
  const uint32_t number = FindConnection(who);
  if (number == kNone) return Answer(Outcome::kUnknown);
  if (PartOf(number).generation != generation) return Answer(Outcome::kSuperseded);
  const uint32_t user = PartOf(number).user;
  const uint32_t series = connections_.members.at(number).series;
  Drop(number);
  if (!connections_.series.CloseIfEmpty(series)) connections_.series.Arm(series);
  if (!ConnectionsOf(user).empty()) {
    Follow(user, nullptr, position);
    return Answer(Outcome::kDisconnected);
  }
  const bool away = IsAway(user);
  const uint32_t home = users_.members.at(user).series;
  if (away) ++ledger_.left_away;
  EndUser(user, away, {seen_, /*by_event=*/true, position});
  if (!users_.series.CloseIfEmpty(home)) users_.series.Arm(home);
  return Answer(Outcome::kLeft);
}

// By how many bytes a user is larger with this metadata.
size_t PresenceBook::GrowthBy(uint32_t user, const void* metadata) const {
  if (metadata == nullptr || ops_.heap_bytes == nullptr) return 0;
  const size_t before = ops_.heap_bytes(ops_.context, MetadataOf(user));
  const size_t after = ops_.heap_bytes(ops_.context, metadata);
  return after > before ? after - before : 0;
}

// Why a connection may not come in, if so. `user`: or kNone.
std::optional<PresenceOutcome> PresenceBook::RefuseNew(const Who& who, uint32_t user,
                                                       const void* metadata) const {
  const PresenceLimits& limits = options_.limits;
  const uint32_t series = users_.series.Find(who.series.name, who.series.hash);
  const bool new_user = user == kNone;
  const bool new_series = series == kNone;
  if (!new_user && ConnectionsOf(user).size() >= limits.max_per_user) return Outcome::kFull;
  if (new_user && !new_series && users_.series.Held(series) >= limits.max_per_series) {
    return Outcome::kFull;
  }
  size_t more = connections_.members.BytesFor(who.connection, nullptr, /*has_extra=*/false);
  if (new_user) more += users_.members.BytesFor(who.user, nullptr, /*has_extra=*/false);
  if (new_user && ops_.heap_bytes != nullptr) more += ops_.heap_bytes(ops_.context, metadata);
  if (new_series) more += 2 * SeriesTable::BytesFor(who.series.name);
  if (new_user) more += users_.series.BytesToInsert(series, /*has_own_ttl=*/false);
  if (!new_user) more += sequences_.BytesToInsert(ConnectionsOf(user)) + GrowthBy(user, metadata);
  more += connections_.series.BytesToInsert(
      connections_.series.Find(who.series.name, who.series.hash), /*has_own_ttl=*/false);
  const bool fits = (!new_series || users_.series.size() < limits.max_series) &&
                    (!new_user || users_.members.size() < limits.max_users) &&
                    connections_.members.size() < limits.max_connections && HasRoomFor(more);
  return fits ? std::nullopt : std::optional(Outcome::kOverLimit);
}

// The user gets a connection next.
uint32_t PresenceBook::AddUser(const SeriesRef& name, std::string_view user, const void* metadata,
                               EngineTime stamp, uint64_t position) {
  uint32_t series = users_.series.Find(name.name, name.hash);
  if (series == kNone) {
    series = users_.series.Open(name.name, name.hash);
    users_.series.SetSince(series, position);
  }
  const uint32_t number =
      users_.members.Add(RefOfUser(name, user), series, stamp, position, metadata);
  users_.series.Insert(number);
  users_.series.Arm(series);
  ++ledger_.users;
  return number;
}

void PresenceBook::AddConnection(const Who& who, uint32_t user, EngineTime stamp,
                                 uint64_t position) {
  uint32_t series = connections_.series.Find(who.series.name, who.series.hash);
  if (series == kNone) series = connections_.series.Open(who.series.name, who.series.hash);
  const MemberRef ref = RefOfConnection(RefOfUser(who.series, who.user), who.connection);
  const ConnectionPart part{.generation = ++generations_, .user = user, .place = kNone};
  const uint32_t number = connections_.members.Add(ref, series, stamp, position, &part);
  connections_.series.Insert(number);
  connections_.series.Arm(series);
  sequences_.Insert(ChangingConnectionsOf(user), number);
  ++ledger_.opened;
  ++ledger_.connections;
}

// Gives a connection a new generation.
uint64_t PresenceBook::Renew(uint32_t number) {
  Member& connection = connections_.members.Change(number);
  auto* const part = static_cast<ConnectionPart*>(MemberTable::PayloadOf(connection));
  return part->generation = ++generations_;
}

// Gives a connection a later stamp.
void PresenceBook::Restamp(uint32_t number, EngineTime stamp, uint64_t position) {
  const uint32_t series = connections_.members.at(number).series;
  Sequence& others = ChangingConnectionsOf(PartOf(number).user);
  const bool latest_of_user = connections_.members.at(sequences_.Back(others)).stamp <= stamp;
  if (!latest_of_user) sequences_.Erase(others, number);
  if (connections_.series.IsLatest(series, stamp)) {
    connections_.series.MoveToBack(number, stamp, position);
  } else {
    connections_.series.Erase(number);
    connections_.members.SetStamp(number, stamp, position);
    connections_.series.Insert(number);
  }
  if (latest_of_user) {
    sequences_.MoveToBack(others, number);
  } else {
    sequences_.Insert(others, number);
  }
}

// Makes a user what the connections say, and announces what has become of that.
PresenceBook::Effect PresenceBook::Follow(uint32_t user, const void* metadata, uint64_t position) {
  const bool was_away = IsAway(user);
  MoveUser(user, was_away);
  const bool updated = metadata != nullptr && SetMetadata(user, metadata);
  const bool is_away = IsAway(user);
  const LogOrder order{seen_, /*by_event=*/true, position};
  const EngineTime stamp = users_.members.at(user).stamp;
  const bool returned = was_away && !is_away;
  if (returned) {
    --ledger_.away;
    Announce(Cause::kRestored, user, OverdueAt(stamp), order);
  } else if (is_away && !was_away) {
    ++ledger_.went_away;
    ++ledger_.away;
    Announce(Cause::kAway, user, GoneAt(stamp), order);
  } else if (updated) {
    Announce(Cause::kUpdated, user, OverdueAt(stamp), order);
  }
  return {.returned = returned, .updated = updated};
}

// Gives a user the stamp of the latest connection.
void PresenceBook::MoveUser(uint32_t user, bool was_away) {
  const Member& member = users_.members.at(user);
  const Member& latest = connections_.members.at(sequences_.Back(ConnectionsOf(user)));
  if (member.position == latest.position && member.stamp == latest.stamp) return;
  const bool later = latest.stamp > member.stamp;
  if (later && !was_away && users_.series.IsLatest(member.series, latest.stamp)) {
    return users_.series.MoveToBack(user, latest.stamp, latest.position);
  }
  if (was_away) {
    users_.series.EraseRetained(user);
  } else {
    users_.series.Erase(user);
  }
  users_.members.SetStamp(user, latest.stamp, latest.position);
  users_.series.Insert(user);
  if (IsAway(user)) users_.series.Retain(member.series);
  users_.series.Arm(member.series);
}

// Returns whether the metadata was another one.
bool PresenceBook::SetMetadata(uint32_t user, const void* metadata) {
  if (users_.members.PayloadIs(user, metadata)) return false;
  const UserPart connections = ConnectionsOf(user);
  users_.members.SetPayload(user, metadata);
  ChangingConnectionsOf(user) = connections;
  return true;
}

// --- Ends

// Connections first: a user goes when there are none left.
bool PresenceBook::CloseDue(const Instant& at, Budget& budget) {
  seen_ = std::max(seen_, at.now);
  return EndDue(connections_.series, budget,
                [this](const SeriesTable::End& end) {
                  Drop(end.member);
                  ++ledger_.expired;
                }) &&
         EndDue(users_.series, budget, [this](const SeriesTable::End& end) { EndUserByTime(end); });
}

// Takes a connection out. The series may be empty afterwards.
void PresenceBook::Drop(uint32_t number) {
  sequences_.Erase(ChangingConnectionsOf(PartOf(number).user), number);
  connections_.series.Erase(number);
  connections_.members.Remove(number);
  --ledger_.connections;
}

// A user becomes away, or leaves.
void PresenceBook::EndUserByTime(const SeriesTable::End& end) {
  const LogOrder order{end.due, /*by_event=*/false, end.position};
  const uint32_t user = end.member;
  if (!end.forgets) ++ledger_.went_away;
  if (!end.forgets && users_.series.Retains(user)) {
    ++ledger_.away;
    users_.series.Retain(users_.members.at(user).series);
    return Announce(Cause::kAway, user, GoneAt(users_.members.at(user).stamp), order);
  }
  ++ledger_.timed_out;
  EndUser(user, /*away=*/end.forgets, order);
}

// REQUIRES: the user has no connections. The series may be empty afterwards.
void PresenceBook::EndUser(uint32_t user, bool away, const LogOrder& order) {
  PLEAT_DCHECK(ConnectionsOf(user).empty());
  const EngineTime stamp = users_.members.at(user).stamp;
  --ledger_.users;
  if (away) {
    --ledger_.away;
    users_.series.EraseRetained(user);
  } else {
    users_.series.Erase(user);
  }
  Announce(Cause::kLeft, user, away ? GoneAt(stamp) : OverdueAt(stamp), order);
  users_.members.Remove(user);
}

// --- Changes

void PresenceBook::Announce(Cause cause, uint32_t user, EngineTime deadline, const LogOrder& order,
                            size_t waiting) {
  const Member& member = users_.members.at(user);
  ++ledger_.changes;
  ++ledger_.causes[IndexOf(cause)];
  if (!changes_.keeps()) return changes_.Skip();
  AnyChange change;
  change.cause = cause;
  change.at = order.at;
  change.count = users_.series.Held(member.series);
  change.away = users_.series.at(member.series).retained + waiting;
  change.stamp = member.stamp;
  change.deadline = deadline;
  change.series = users_.series.at(member.series).name.view();
  change.id = member.name();
  change.payload = MetadataOf(user);
  changes_.Note(change, order);
}

// --- Reads, which change nothing

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
  std::vector<uint32_t> users;
  const bool more = users_.series.ListPage(number, options, /*retained=*/true, now, cursor, users);
  for (const uint32_t user : users) Show(user, now, see);
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

bool PresenceBook::ForEachFrom(uint32_t& place, EngineTime now, Visit visit) const {
  return users_.series.ForEachFrom(place, [&](uint32_t number) {
    const size_t users = users_.series.HeldAt(number, TimeFor(now));
    const Series& series = users_.series.at(number);
    return users == 0 || visit(series.name.view(), users, series.since);
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
