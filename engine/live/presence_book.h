// A PresenceBook is one presence inside one partition: a pure state machine, as a LiveSetBook, made
// of the same parts twice.
//
//   users        members of their series; the metadata is the payload, and the stamp the latest of
//                their connections. Who is overdue is retained, which is what being away means
//   connections  members of a series of the same name, for TTL + grace. They know their user, and
//                each user has the sequence of their connections
//
// So time needs two timers for each series: for the user who is away or leaves next, and for the
// connection that is gone next. A heartbeat moves a connection and its user to the back of their
// sequences, and touches no timer. Connections go without a change; a user goes at the same instant
// as the latest connection, by the same stamp.
//
// Invariants, beside those of the parts:
//   - Whoever has a connection is a user, and the stamp and position of a user are those of the
//     latest connection. Only while time is at work has a user none.
//   - Between calls whatever is due by the time that the book was told of has happened: so a user
//     is retained if and only if the deadline of the user's stamp has passed.
//   - The ledger balances after every call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/presence_options.h>
#include <pleat/untyped/any_presence.h>

#include "engine/base/instant.h"
#include "engine/base/page_pool.h"
#include "engine/live/feed_book.h"
#include "engine/live/member_table.h"
#include "engine/live/sequence.h"
#include "engine/live/series_table.h"
#include "engine/live/stored_keys.h"

namespace pleat::inline v0_1 {

struct Statistic;

class PresenceBook final : public FeedBook {
 public:
  using Outcome = PresenceOutcome;

  // `options` holds this partition's share of the limits. `pool`, `ops` and `hash_key` outlive the
  // book.
  PresenceBook(PagePool& pool, const PresenceOptions& options, const PayloadOps& ops,
               const HashKey& hash_key, uint32_t partition);

  // Whom a call is about.
  struct Who {
    SeriesRef series;
    std::string_view user;
    std::string_view connection;
  };

  // --- The calls, stamped `stamp`. `metadata` is a payload, or null for none.

  Entered Enter(const Who& who, const void* metadata, EngineTime stamp, const Instant& at);
  // With metadata an Update(), without a Beat().
  Outcome Beat(const Who& who, uint64_t generation, const void* metadata, EngineTime stamp,
               const Instant& at);
  Outcome Leave(const Who& who, uint64_t generation, const Instant& at);
  // `options` holds this partition's share of the limits; max_changes stays as it is. Who is away or
  // gone by these options, or here again, is so at once. O(series and changes).
  void SetOptions(const PresenceOptions& options, const Instant& at);
  // Counts a call that goes no further: kFuture or kOverLimit, which are returned.
  Outcome Refuse(Outcome why, const Instant&) noexcept { return Answer(why); }

  // --- Reading, as of `now` or the latest time that the book was told of

  PresenceCounts Count(const SeriesRef& series, EngineTime now) const;
  bool List(const SeriesRef& series, const ListOptions& options, EngineTime now, ListCursor& cursor,
            AnyPresence::See see) const;
  bool Find(const SeriesRef& series, std::string_view user, EngineTime now,
            AnyPresence::See see) const;
  bool ForEachFrom(uint32_t& place, EngineTime now, Visit visit) const override;

  // --- Time

  bool CloseDue(const Instant& at, Budget& budget) override;
  EngineTime NextDue() const noexcept override {
    return std::min(users_.series.NextDue(), connections_.series.NextDue());
  }

  const PresenceLedger& ledger() const noexcept { return ledger_; }
  PresenceSizes sizes() const noexcept;
  size_t held_bytes() const noexcept override { return sizeof(*this) + pages_.bytes(); }
  bool BeginSave(FieldWriter& out, Copies& copies) override;
  bool SaveNext(FieldWriter& out) override;
  void EndSave() noexcept override;
  void Load(FieldReader& in, const Instant& at) override;
  void SkipNumbers(uint64_t by, const Instant& at) override;
  void CheckWhole() const override;

 private:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  using LogOrder = ChangeLog::Order;

  // The payload of a connection.
  struct ConnectionPart {
    uint64_t generation;
    uint32_t user;
    mutable uint32_t place;  // in the order of its user; the sequence's own, in no image
  };
  // The payload of a user begins with this, and goes on with the metadata.
  using UserPart = Sequence;

  // Members and their order.
  struct Level {
    Level(Pages& pool, const PayloadOps& ops, const HashKey& hash_key,
          MemberTable::SeriesHash series_hash, MemberTable::Owner owner, Duration ttl,
          Duration retention)
        : members(pool, ops, hash_key, std::move(series_hash), std::move(owner)),
          series(pool, members, ttl, retention) {}
    void BeginSave(const StoredKeys& keys, Copies& copies) {
      series.BeginSave(keys, copies);
      members.BeginSave(keys, copies);
    }
    void EndSave() noexcept {
      members.EndSave();
      series.EndSave();
    }
    size_t bytes() const noexcept { return members.bytes() + series.bytes(); }

    MemberTable members;
    SeriesTable series;
  };

  // How the sequences of users ask about connections.
  struct ByUser {
    MemberTable& members;
    SequenceKey KeyOf(uint32_t n) const noexcept {
      return {members.at(n).stamp, members.at(n).position};
    }
    uint32_t& PlaceOf(uint32_t n) noexcept {
      return static_cast<const ConnectionPart*>(members.payload(n))->place;
    }
    void Prefetch(uint32_t n) const noexcept { members.Prefetch(n); }
  };

  // How long connections are kept: TTL and grace.
  static Duration KeptFor(const PresenceOptions& options) noexcept {
    const Duration ttl = options.ttl;
    return ttl > kForever - options.grace ? kForever : ttl + options.grace;
  }
  static PayloadOps OpsOfUsers(const PayloadOps& metadata);
  static PayloadOps OpsOfConnections();

  const ConnectionPart& PartOf(uint32_t connection) const noexcept {
    return *static_cast<const ConnectionPart*>(connections_.members.payload(connection));
  }
  const UserPart& ConnectionsOf(uint32_t user) const noexcept {
    return *static_cast<const UserPart*>(users_.members.payload(user));
  }
  // The same to be changed.
  UserPart& ChangingConnectionsOf(uint32_t user) {
    return *static_cast<UserPart*>(MemberTable::PayloadOf(users_.members.Change(user)));
  }
  const void* MetadataOf(uint32_t user) const noexcept {
    return ops_.size == 0 ? nullptr : &ConnectionsOf(user) + 1;
  }

  // --- Finding
  MemberRef RefOfUser(const SeriesRef& series, std::string_view user) const noexcept {
    return MemberRef(user, series.hash, hash_key_);
  }
  MemberRef RefOfConnection(const MemberRef& user, std::string_view connection) const noexcept {
    return MemberRef(connection, user.hash, hash_key_);
  }
  uint32_t FindUser(const SeriesRef& series, std::string_view user) const;
  uint32_t FindConnection(const Who& who) const;
  EngineTime TimeFor(EngineTime now) const noexcept { return now < seen_ ? seen_ : now; }
  EngineTime OverdueAt(EngineTime stamp) const noexcept {
    return SeriesTable::After(stamp, options_.ttl);
  }
  EngineTime GoneAt(EngineTime stamp) const noexcept { return SeriesTable::After(stamp, kept_); }
  bool IsAway(uint32_t user) const noexcept {
    return OverdueAt(users_.members.at(user).stamp) <= seen_;
  }

  // --- A call
  uint64_t Begin(const Instant& at);
  Outcome Answer(Outcome outcome) noexcept;
  size_t GrowthBy(uint32_t user, const void* metadata) const;
  bool HasRoomFor(size_t more) const noexcept {
    return more == 0 || bytes() + more <= options_.limits.max_bytes;
  }
  std::optional<Outcome> RefuseNew(const Who& who, uint32_t user, const void* metadata) const;
  uint32_t AddUser(const SeriesRef& series, std::string_view user, const void* metadata,
                   EngineTime stamp, uint64_t position);
  void AddConnection(const Who& who, uint32_t user, EngineTime stamp, uint64_t position);
  uint64_t Renew(uint32_t connection);
  void Restamp(uint32_t connection, EngineTime stamp, uint64_t position);
  // What a call has made of a user.
  struct Effect {
    bool returned;
    bool updated;
  };
  Effect Follow(uint32_t user, const void* metadata, uint64_t position);
  void MoveUser(uint32_t user, bool was_away);
  bool SetMetadata(uint32_t user, const void* metadata);

  // --- Ends
  template <class End>
  bool EndDue(SeriesTable& table, Budget& budget, const End& end);
  template <class End>
  void EndMoreOf(SeriesTable& table, uint32_t series, Budget& budget, const End& end);
  void Drop(uint32_t connection);
  void EndUserByTime(const SeriesTable::End& end);
  void EndUser(uint32_t user, bool away, const LogOrder& order);
  // `waiting`: users of the series that are here again, and not announced yet.
  void Announce(Cause cause, uint32_t user, EngineTime deadline, const LogOrder& order,
                size_t waiting = 0);

  // --- Other options
  static void ArmAll(SeriesTable& table);
  void BringBack(uint64_t position);
  void EndByOptions(const SeriesTable::End& end, uint64_t position);

  // --- Saved
  static constexpr uint64_t kGenerationsMax = uint64_t{1} << 62;
  struct Loader;
  void LoadUsers(FieldReader& in, uint64_t series, uint64_t users, Loader& loader);
  void LoadUser(FieldReader& in, Loader& loader);
  void LoadConnections(FieldReader& in, uint64_t series, uint64_t connections, Loader& loader);
  void LoadHome(FieldReader& in, Loader& loader);
  void LoadConnection(FieldReader& in, Loader& loader);
  bool IsAsItsLatest(uint32_t user, std::span<const uint32_t> connections) const;
  void LinkConnections(FieldReader& in, Loader& loader);

  void Show(uint32_t user, EngineTime now, AnyPresence::See see) const;
  size_t bytes() const noexcept {
    return users_.bytes() + connections_.bytes() + sequences_.bytes();
  }

  PresenceOptions options_;
  Duration kept_;  // TTL + grace
  const PayloadOps& ops_;
  const HashKey& hash_key_;
  const PayloadOps user_ops_;
  const PayloadOps connection_ops_;
  EngineTime seen_ = kBeginningOfTime;   // the latest time that this book was told of
  uint64_t last_position_ = UINT64_MAX;  // before the first
  uint64_t generations_ = 0;             // given so far
  PresenceLedger ledger_;
  PageAccount pages_;
  Level users_;
  Level connections_;
  ByUser by_user_{connections_.members};
  SequencePool<ByUser> sequences_;
};

// Calls `end(what)` for all that ends by the time that the book was told of, in order.
template <class End>
bool PresenceBook::EndDue(SeriesTable& table, Budget& budget, const End& end) {
  for (;;) {
    uint32_t series;
    SeriesTable::End next;
    const Deadlines::Found found = table.Next(seen_, budget, series, next);
    if (found != Deadlines::Found::kDue) return found == Deadlines::Found::kNothing;
    end(next);
    EndMoreOf(table, series, budget, end);
  }
}

// The same for the rest of a series, as long as no other series comes first.
template <class End>
void PresenceBook::EndMoreOf(SeriesTable& table, uint32_t series, Budget& budget, const End& end) {
  while (!table.CloseIfEmpty(series)) {
    const SeriesTable::End next = table.NextEnd(series);
    if (next.due > seen_ || next.due >= table.NextDue() || budget.spent()) return table.Arm(series);
    budget.Take();
    end(next);
  }
}

// What a collection with these counts tells.
std::vector<Statistic> StatisticsOf(const PresenceLedger& ledger, const PresenceSizes& sizes);

}  // namespace pleat::inline v0_1
