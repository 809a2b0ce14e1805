// A LiveSetBook is one live set inside one partition: the book takes events of members into series,
// ends members when their time comes, and logs every change. It is a pure state machine, as a
// FoldBook: time, position and budget come in as arguments; every method runs under the partition's
// lock, and every change comes through Partition::Do().
//
// The parts, each of which knows nothing of the book:
//
//   MemberTable   the members, found by series and id
//   SeriesTable   the series, the order of their members, and what ends next
//   ExpiringMap   the tombstones
//   ChangeLog     the changes, for watchers
//
// Unlike a FoldBook, which closes groups lazily, this one ends all members that are due before it
// takes an event: a change says how many members are left, and changes have one order.
//
// Invariants, beside those of the parts:
//   - Time never goes back here, and positions only grow.
//   - The ledger balances after every call.
//   - Nothing here depends on the hash, except the speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/live_set_options.h>
#include <pleat/options.h>
#include <pleat/untyped/any_live_set.h>

#include "engine/base/instant.h"
#include "engine/base/page_pool.h"
#include "engine/live/feed_book.h"
#include "engine/live/member_table.h"
#include "engine/live/series_table.h"
#include "engine/table/expiring_map.h"
#include "engine/table/keyed_book.h"

namespace pleat::inline v0_1 {

struct Statistic;

class LiveSetBook final : public FeedBook,
                          public KeyedBookDefaults<LiveSetCounts, LiveSetOutcome::kRefreshed> {
 public:
  static constexpr bool kPlainTakesPosition = true;
  static constexpr bool kPrefetchesRest = true;
  static constexpr bool kKeysRepeat = true;

  // `options` holds this partition's share of the limits. `pool`, `ops` and the keys outlive the book.
  // `name_key`: of the names of tombstones.
  LiveSetBook(PagePool& pool, const LiveSetOptions& options, const PayloadOps& ops,
              const HashKey& hash_key, const HashKey& name_key, uint32_t partition);

  // --- An event; a batch looks ahead with the Prefetch functions. EventRef::event is an AnyMember
  // with its payload.

  struct Entry {
    uint64_t hash;    // of the member
    uint32_t series;  // or kNone
    uint32_t member;  // or kNone
  };
  struct Guess {
    uint64_t hash;  // of the member
    PackedId id;
    uint8_t tag;
    uint32_t series;  // or kNone
    uint32_t member;  // or kNone
    uint32_t losses;  // both are where they were as long as losses() says this
  };
  // Whether an event goes no further, as one whose key is too long.
  static bool IsTooLong(const void* event) noexcept {
    return static_cast<const AnyMember*>(event)->id.size() > kKeyBytesMax;
  }
  void PrefetchDirectory(const EventRef& event, Guess& guess) const noexcept;
  void PrefetchIndex(const EventRef&, Guess& guess) const noexcept {
    members_.PrefetchIndex(guess.hash);
  }
  void PrefetchEntry(const EventRef& event, Guess& guess) const noexcept;
  void PrefetchRest(const Guess& guess) const noexcept {
    if (guess.series != kNone && guess.losses == losses()) series_.PrefetchOrder(guess.series);
  }
  Entry Find(const EventRef& event) const;
  Entry Find(const EventRef& event, const Guess& guess, const Newcomers&) const;

  // Refreshes a member if a newer stamp is all that the event brings. If not, returns false and has
  // changed nothing.
  bool FoldPlainly(const EventRef& event, const Entry& entry, const Instant& at);
  // Does what FoldPlainly() has left, before anything else is asked of the book.
  void Settle(const Instant&) { series_.Settle(); }
  // Takes any event, step by step as docs/semantics-live-sets.md counts them.
  Outcome FoldSlowly(const EventRef& event, const Entry& entry, const Instant& at);
  // Counts an event that goes no further: kFuture or kOverLimit, which are returned.
  Outcome Refuse(Outcome why, const Instant& at) noexcept;

  // --- Other changes

  Outcome Touch(const SeriesRef& series, std::string_view id, EngineTime stamp, const Instant& at);
  // `is_future(stamp)`: whether a stamp lies beyond the future limit. REQUIRES: a position was taken
  // for each row.
  using IsFuture = absl::FunctionRef<bool(EngineTime stamp)>;
  LiveSetCounts Import(const SeriesRef& series, const AnyBatch& rows, IsFuture is_future,
                       const Instant& at);
  // `options.at` is a stamp, if it is given.
  LiveSetControl Remove(const SeriesRef& series, std::string_view id, const RemoveOptions& options,
                        const Instant& at);
  size_t RemoveBetween(const SeriesRef& series, EngineTime from, EngineTime to, const Instant& at);
  LiveSetControl SetTtl(const SeriesRef& series, Duration ttl, const Instant& at);
  size_t Clear(const SeriesRef& series, const Instant& at);
  // `options` holds this partition's share of the limits; max_changes stays as it is. A TTL is
  // changed as by SetTtl(), for all series without one of their own. O(series and changes).
  void SetOptions(const LiveSetOptions& options, const Instant& at);

  // --- Reading, as of `now` or the latest time that the book was told of

  size_t Count(const SeriesRef& series, EngineTime now) const;
  size_t CountBetween(const SeriesRef& series, EngineTime from, EngineTime to,
                      EngineTime now) const;
  bool List(const SeriesRef& series, const ListOptions& options, EngineTime now, ListCursor& cursor,
            AnyLiveSet::See see) const;
  bool Find(const SeriesRef& series, std::string_view id, EngineTime now,
            AnyLiveSet::See see) const;
  std::optional<size_t> Rank(const SeriesRef& series, std::string_view id, EngineTime now) const;
  bool ForEachFrom(uint32_t& place, EngineTime now, Visit visit) const override;

  // --- Time

  bool CloseDue(const Instant& at, Budget& budget) override;
  EngineTime NextDue() const noexcept override;

  const LiveSetLedger& ledger() const noexcept { return ledger_; }
  LiveSetSizes sizes() const noexcept;
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

  // One event in the slow path.
  struct Turn {
    SeriesRef name;
    uint32_t series;  // or kNone
    const MemberRef& member;
    const AnyMember& event;
    const void* payload;  // null: the live member's, and there is no other (Touch)
    EngineTime stamp;
    uint64_t position;
    Refresh refresh;
    bool announces;
    EngineTime deadline = kNever;
    Duration own_ttl{0};  // of a member that the event replaces
    bool replaces = false;
    uint32_t retained = KeyIndex::kNone;  // the member of its id that makes way
    bool has_dropped = false;             // a live member has ended to make room
  };

  // How often a series or a member has gone.
  uint32_t losses() const noexcept { return members_.removed() + series_.closed(); }
  uint64_t Begin(const Instant& at);
  const void* PayloadIn(const void* event) const noexcept {
    return static_cast<const std::byte*>(event) + ops_.offset;
  }
  // `kWithCare`: asks whether anything is due, and keeps images for a snapshot.
  template <bool kWithCare>
  [[gnu::always_inline]] bool TakeRefresh(const EventRef& event, const Entry& entry,
                                          const Instant& at);
  Outcome Take(Turn& turn);
  Outcome Judge(Turn& turn);
  Outcome JudgeLive(Turn& turn, uint32_t member);
  void Renew(const Turn& turn, uint32_t member, std::optional<uint64_t> version);
  Outcome AddMember(Turn& turn);
  void NoteOutcome(Outcome outcome) noexcept;

  // --- Limits
  size_t MemberBytesFor(const Turn& turn) const;
  size_t KeptBytes(uint32_t series) const;
  bool FitsAlone(const Turn& turn) const;
  bool Fits(const Turn& turn) const;
  std::optional<Outcome> MakeRoom(Turn& turn);
  size_t GrowthOf(const Turn& turn, uint32_t number) const;
  std::optional<Outcome> MakeRoomToGrow(Turn& turn, uint32_t& number);
  bool DropNext(Turn& turn, bool whole_series);

  // --- Ending members
  void EndDueOf(uint32_t series, SeriesTable::End end, EngineTime now, Budget& budget);
  void EndByTime(uint32_t member, Cause cause, const LogOrder& order);
  void End(uint32_t member, Cause cause, const LogOrder& order);
  size_t EndAll(uint32_t series, Cause cause, const LogOrder& order);
  void Forget(uint32_t retained);
  void ForgetInOpenSeries(uint32_t retained);
  void RestoreMembers(uint32_t series, const LogOrder& order);
  void EndByTtl(uint32_t series, const LogOrder& order);
  LogOrder OrderOf(uint32_t member, uint64_t position) const noexcept;
  void RestoreAll(uint64_t position);
  void EndAllByTtl(uint64_t position);

  // --- Tombstones. Their words are stamps.
  static EngineTime StampIn(uint64_t word) noexcept {
    return EngineTime{Duration{static_cast<int64_t>(word)}};
  }
  ExpiringMap::Name TombstoneOf(const SeriesRef& series, std::string_view id) const noexcept;
  void LeaveTombstone(const SeriesRef& series, std::string_view id, EngineTime stamp,
                      Duration own_ttl);

  // --- Changes. `fewer`: live members that this change does not see yet.
  void CountChange(Cause cause) noexcept {
    ++ledger_.changes;
    ++ledger_.causes[IndexOf(cause)];
  }
  void Announce(Cause cause, uint32_t member, const LogOrder& order, size_t fewer = 0);
  void AnnounceSeries(Cause cause, uint32_t series, const LogOrder& order);

  AnyLive Show(uint32_t member) const noexcept;
  EngineTime TimeFor(EngineTime now) const noexcept { return now < seen_ ? seen_ : now; }
  uint32_t FindMember(const SeriesRef& series, std::string_view id) const;
  uint32_t FindLive(const SeriesRef& series, std::string_view id, EngineTime now) const;
  size_t bytes() const noexcept { return members_.bytes() + series_.bytes() + tombstones_.bytes(); }

  // Members that every refresh reads lie close together.
  LiveSetOptions options_;
  const PayloadOps& ops_;
  const HashKey& hash_key_;
  const HashKey& name_key_;
  const HashKey other_name_key_;
  EngineTime seen_ = kBeginningOfTime;   // the latest time that this book was told of
  uint64_t last_position_ = UINT64_MAX;  // before the first
  LiveSetLedger ledger_;
  PageAccount pages_;
  MemberTable members_;
  SeriesTable series_;
  ExpiringMap tombstones_;
  size_t kept_bytes_ = 0;  // the KeptBytes() of all series
};

// --- What a batch calls millions of times a second

[[gnu::always_inline]] inline void LiveSetBook::PrefetchDirectory(const EventRef& event,
                                                                  Guess& guess) const noexcept {
  const KeyView id = static_cast<const AnyMember*>(event.event)->id;
  const PackedKey packed(id);
  guess.hash = MemberRef::HashOf(packed, event.hash, hash_key_);
  guess.id = PackedId(id, packed);
  guess.tag = PackedId::TagOf(id);
  members_.PrefetchDirectory(guess.hash);
  series_.PrefetchIndex(event.hash);
}

[[gnu::always_inline]] inline void LiveSetBook::PrefetchEntry(const EventRef& event,
                                                              Guess& guess) const noexcept {
  guess.series = series_.PrefetchSeries(event.hash);
  guess.member = members_.PrefetchMember(guess.hash);
  guess.losses = losses();
}

[[gnu::always_inline]] inline LiveSetBook::Entry LiveSetBook::Find(const EventRef& event,
                                                                   const Guess& guess,
                                                                   const Newcomers&) const {
  const uint32_t series = guess.series;
  const uint32_t member = guess.member;
  const bool right = guess.losses == losses() && series != kNone && member != kNone &&
                     series_.at(series).name == event.key &&
                     members_.Is(member, series, guess.id, guess.tag);
  if (!right) [[unlikely]]
    return Find(event);
  return {.hash = guess.hash, .series = series, .member = member};
}

[[gnu::always_inline]] inline bool LiveSetBook::FoldPlainly(const EventRef& event,
                                                            const Entry& entry, const Instant& at) {
  return TakeRefresh</*kWithCare=*/false>(event, entry, at);
}

// A live member's stamp is later than any tombstone of its id, and the event's is later still.
template <bool kWithCare>
inline bool LiveSetBook::TakeRefresh(const EventRef& event, const Entry& entry, const Instant& at) {
  if (entry.member == kNone) return false;
  const EngineTime now = TimeFor(at.now);
  const auto& added = *static_cast<const AnyMember*>(event.event);
  const Member& found = members_.at(entry.member);
  const Series& order = series_.at(entry.series);
  if ((kWithCare ? series_.MayBeDue(now) : !series_.AllIsPlain(now)) ||
      options_.refresh != Refresh::kLatest || changes_.keeps() || added.ttl != Duration::zero() ||
      added.version || found.has_extra || event.at <= found.stamp || event.at < order.latest ||
      order.retained > 0 || !members_.PayloadIs(entry.member, PayloadIn(event.event))) {
    return false;
  }
  if constexpr (kWithCare) {
    members_.Change(entry.member);
    series_.Change(entry.series);
  }
  Member& member = members_.ChangeKept(entry.member, found);
  Series& series = series_.ChangeKept(entry.series, order);
  seen_ = now;
  last_position_ = std::max(last_position_ + 1, at.position);
  member.stamp = event.at;
  member.SetPosition(last_position_);
  series_.MoveToBackUnsettled(series, entry.member, member);
  series_.Remember(event.hash, entry.series);
  ++ledger_.events;
  ++ledger_.refreshed;
  CountChange(Cause::kRefreshed);
  changes_.Skip();
  return true;
}

// What a collection with these counts tells.
std::vector<Statistic> StatisticsOf(const LiveSetLedger& ledger, const LiveSetSizes& sizes);

}  // namespace pleat::inline v0_1
