// The SeriesTable holds the series of a book: their names, the order of their members, and the one
// deadline that each of them has, that of its next member to end.
//
// Members with the TTL of their series end in the order of their stamps. So one sequence by stamp
// says which is next, and a refresh moves a member to its back without a word to any timer. Members
// with a TTL of their own lie in two sequences beside: by stamp and by deadline.
//
//   plain   [ retained ... | live ........................ ]   by stamp
//   own                      [ live ...................... ]   by stamp, and again by deadline
//
// Invariants:
//   - A member lies in `plain`, or, with a TTL of its own, in both sequences of `own`.
//   - The first `retained` members of `plain` have ended; they wait for a longer TTL.
//   - A series is armed if and only if NextEnd() finds a member: at that end, or at an earlier
//     instant. There the series is looked at and armed again, so that a refresh is never told.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <pleat/live_set_options.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/live/member_table.h"
#include "engine/live/sequence.h"
#include "engine/live/stored_keys.h"
#include "engine/live/table_saving.h"
#include "engine/table/change_by_rule.h"
#include "engine/table/expiring_table.h"
#include "engine/table/key_arena.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

// What a refresh reads, and behind it what time asks about. It begins as it is before its first
// member.
struct Series {
  PackedKey name = {};
  Sequence plain = {};
  Duration ttl{0};                       // zero: that of the live set
  EngineTime latest = kBeginningOfTime;  // no member of `plain` has a later stamp
  uint32_t retained = 0;                 // of `plain`, at its front
  uint32_t own = KeyIndex::kNone;        // an OwnOrder, or kNone
  uint64_t since = 0;                    // the position at which it last became non-empty
  // The end that the deadlines know, which is no later than the real one.
  EngineTime armed_due = kNever;
  uint64_t armed_position : 56 = 0;
  bool taken : 1 = false;  // this and the next three: see TableBits
  bool indexed : 1 = false;
  bool armed : 1 = false;
  bool referred : 1 = false;
  uint32_t reference = KeyIndex::kNone;  // see TicketBits
  uint32_t hash = 0;                     // low half

  static constexpr bool kIsEntry = true;  // of an ExpiringTable, with the bits inside
};
static_assert(sizeof(Series) == 96);

struct OwnOrder {
  Sequence by_stamp;
  Sequence by_deadline;
};

class SeriesTable : public ChangeByRule<SeriesTable, Series, TableSaving> {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  // `ttl`, `retention`: those of the live set.
  SeriesTable(Pages& pool, MemberTable& members, Duration ttl, Duration retention);
  ~SeriesTable();
  SeriesTable(const SeriesTable&) = delete;
  SeriesTable& operator=(const SeriesTable&) = delete;

  // --- Series

  size_t size() const noexcept { return table_.indexed(); }
  uint32_t Find(const PackedKey& name, uint64_t hash) const {
    return table_.Find(hash, [&](uint32_t number) { return at(number).name == name; });
  }
  // The hash of a member's series; see MemberTable.
  uint32_t HashFor(uint32_t member) const noexcept { return at(members_.at(member).series).hash; }
  // How many series were ever closed: as long as that stays the same, series stay where they are.
  uint32_t closed() const noexcept { return closed_; }
  uint32_t Open(const PackedKey& name, uint64_t hash);
  // All series have lower numbers.
  uint32_t end() const noexcept { return table_.end(); }
  // Frees the series if nothing is left of it. Returns whether it has.
  bool CloseIfEmpty(uint32_t number);

  // Zero: that of the live set.
  void SetTtl(uint32_t number, Duration ttl) { Change(number).ttl = ttl; }
  // Frees a series without members that was kept for the sake of its TTL, if it is still there.
  void ForgetTtl(uint32_t number) {
    if (!table_.Holds(number) || !at(number).indexed) return;
    SetTtl(number, Duration::zero());
    CloseIfEmpty(number);
  }
  // From now on those of the live set. What ends next may be earlier: Arm() every series, after
  // Restore().
  void SetTimes(Duration ttl, Duration retention) noexcept {
    ttl_ = ttl;
    retention_ = retention;
  }
  // The series became non-empty at this position.
  void SetSince(uint32_t number, uint64_t position) { Change(number).since = position; }

  // Looks ahead, in two steps. The next event is often of the same series as the last one.
  void PrefetchIndex(uint64_t hash) const noexcept {
    if (hash != last_hash_) table_.PrefetchIndex(hash);
  }
  // Brings the series that Find() will ask about first closer; its number, or kNone.
  uint32_t PrefetchSeries(uint64_t hash) const noexcept {
    return hash == last_hash_ ? last_ : PrefetchOther(hash);
  }
  void Remember(uint64_t hash, uint32_t series) noexcept {
    last_hash_ = hash;
    last_ = series;
  }

  // Calls `visit(number)` for the series from `place` on, while it returns true; see ExpiringTable.
  template <class Visit>
  bool ForEachFrom(uint32_t& place, const Visit& visit) const {
    return table_.ForEachFrom(
        place, [&](uint32_t number) { return !at(number).indexed || visit(number); });
  }

  // The TTL of the series, and the deadline that a stamp gives: kNever if none.
  Duration TtlOf(uint32_t series) const noexcept {
    const Duration own = at(series).ttl;
    return own == Duration::zero() ? ttl_ : own;
  }
  static EngineTime After(EngineTime stamp, Duration ttl) noexcept {
    return ttl > kEndOfTime - stamp ? kNever : SaturatingAdd(stamp, ttl);
  }
  // The first stamp that is live at `now`.
  static EngineTime FirstLiveStamp(Duration ttl, EngineTime now) noexcept {
    return ttl > kEndOfTime - kBeginningOfTime ? kBeginningOfTime : now - ttl + Duration{1};
  }
  EngineTime DeadlineOf(uint32_t member) const noexcept {
    const Member& m = members_.at(member);
    const Duration own = members_.ttl(member);
    return After(m.stamp, own == Duration::zero() ? TtlOf(m.series) : own);
  }

  // --- The order of members

  // Puts a live member into its series.
  void Insert(uint32_t member);
  // Takes it out. `SetStamp` and the like come between Erase() and Insert().
  void Erase(uint32_t member);
  // Gives a live member a new stamp, and moves it to the back of its series.
  // REQUIRES: it has no extra; IsLatest(its series, stamp).
  void MoveToBack(uint32_t number, EngineTime stamp, uint64_t position) {
    members_.SetStamp(number, stamp, position);
    Member& member = members_.ChangeKept(number);
    MoveToBackUnsettled(Change(member.series), number, member);
    Settle();
  }
  // True if no member of the series has a later stamp. May be false in that case, too.
  bool IsLatest(uint32_t series, EngineTime stamp) const noexcept {
    return at(series).latest <= stamp;
  }
  // After a live member without an extra was given a stamp. Nothing else is asked of any series, but
  // this of more members, until Settle().
  // REQUIRES: no other member of the series has a later stamp. `series` is the member's.
  [[gnu::noinline]] void MoveToBackUnsettled(Series& series, uint32_t number, Member& member) {
    PLEAT_DCHECK(series.latest <= member.stamp && !member.has_extra);
    series.latest = member.stamp;
    stamps_.MoveToBackUnsettled(series.plain, number, member.place);
  }
  void Settle() { stamps_.Settle(); }
  uint32_t OldestLive(uint32_t series) const noexcept;
  // Brings closer what MoveToBackUnsettled() will need of a series that is close itself.
  void PrefetchOrder(uint32_t series) const noexcept {
    if (series != last_) stamps_.Prefetch(at(series).plain);
  }
  // Calls `visit` with every member, retained ones included. For tests.
  template <class Visit>
  void ForEachMember(const Visit& visit) const;

  // --- Retained members

  // Whether the member is kept when it ends by time.
  bool Retains(uint32_t member) const noexcept {
    return members_.ttl(member) == Duration::zero() &&
           retention_ > TtlOf(members_.at(member).series);
  }
  // The first live member of `plain` becomes a retained one.
  void Retain(uint32_t series) { ++Change(series).retained; }
  bool IsRetained(uint32_t member) const noexcept {
    const Series& series = at(members_.at(member).series);
    return series.retained > 0 && members_.ttl(member) == Duration::zero() &&
           stamps_.RankOf(series.plain, member) < series.retained;
  }
  // REQUIRES: there is one.
  uint32_t FirstRetained(uint32_t series) const { return stamps_.Front(at(series).plain); }
  void EraseRetained(uint32_t member) {
    --Change(members_.at(member).series).retained;
    Erase(member);
  }
  // Calls `forget` with the retained members whose stamps are in [from, to).
  template <class Forget>
  void ForgetRetained(uint32_t series, EngineTime from, EngineTime to, const Forget& forget);
  // The retained members whose deadline is after `now` become live again; appends them to `out`.
  void Restore(uint32_t series, EngineTime now, std::vector<uint32_t>& out);

  // --- Saved: without the members, which know their series

  // Writes the series that there are now, a strip at a time, also if they change meanwhile; as
  // MemberTable::BeginSave(). A SeriesLoader reads them.
  void BeginSave(const StoredKeys& keys, Copies& copies);
  bool SaveNext(FieldWriter& out);
  void EndSave() noexcept;
  // REQUIRES: all were written, and EndSave() was not called.
  const PlaceNumbers& numbers() const noexcept { return images_->numbers(); }

  // --- Deadlines

  // What time ends next in a series.
  struct End {
    EngineTime due = kNever;
    uint64_t position = 0;
    uint32_t member = kNone;
    bool forgets = false;  // a retained member; otherwise a live one, which expires
  };
  End NextEnd(uint32_t series) const;

  // To be called after NextEnd() may have become earlier, or gone. O(1) if it has not.
  void Arm(uint32_t series);
  // The next end by `now` of all series, in order (due, position). The series is not armed any
  // more. Lowers `budget` by the series looked at.
  Deadlines::Found Next(EngineTime now, Budget& budget, uint32_t& series, End& end);
  EngineTime NextDue() const noexcept { return table_.NextDue(); }
  // Whether anything may be due by `now`.
  bool MayBeDue(EngineTime now) noexcept;
  // Whether certainly nothing is due by `now`; false while the series are saved.
  bool AllIsPlain(EngineTime now) const noexcept { return now < plain_before_; }

  // --- Counting live members, at `now` or as they are

  size_t Live(uint32_t series) const noexcept {
    const Series& s = at(series);
    return s.plain.size() - s.retained + (s.own == kNone ? 0 : OwnOf(s).by_stamp.size());
  }
  size_t LiveAt(uint32_t series, EngineTime now) const;
  // The same with those that are retained.
  size_t Held(uint32_t series) const noexcept { return Live(series) + at(series).retained; }
  size_t HeldAt(uint32_t series, EngineTime now) const;
  // Those with stamps in [from, to).
  size_t LiveBetween(uint32_t series, EngineTime from, EngineTime to, EngineTime now) const;
  // Those before this member.
  size_t RankOf(uint32_t member, EngineTime now) const;
  // Appends up to `max` live members to `out`, in order or newest first: those behind `behind`, if
  // that is given, with stamps not before `from`; with `retained` also those that are retained.
  struct Part {
    bool newest_first = false;
    bool retained = false;
    EngineTime from = kBeginningOfTime;
    const SequenceKey* behind = nullptr;
    size_t max = SIZE_MAX;
  };
  void List(uint32_t series, const Part& part, EngineTime now, std::vector<uint32_t>& out) const;
  // The same as a page of what `options` asks for, behind the cursor, which then stands behind the
  // page. Returns whether there is more.
  bool ListPage(uint32_t series, const ListOptions& options, bool retained, EngineTime now,
                ListCursor& cursor, std::vector<uint32_t>& out) const;

  // What series cost, the order of their members included.
  size_t bytes() const noexcept {
    return table_.indexed() * kSeriesBytes + name_bytes_ + own_orders_ * sizeof(OwnOrder) +
           stamps_.bytes() + (deadlines_ == nullptr ? 0 : deadlines_->bytes());
  }
  // What one more member adds to the order. `series` may be kNone.
  size_t BytesToInsert(uint32_t series, bool has_own_ttl) const noexcept;
  static size_t BytesFor(const PackedKey& name) noexcept {
    return kSeriesBytes + KeyArena::BytesFor(name);
  }
  // Ends the process unless all invariants hold. Returns how many members are live. For tests.
  size_t CheckWhole() const;

 private:
  static constexpr size_t kSeriesBytes = sizeof(Series) + 20;  // index, deadline

  // How the sequences ask about members.
  struct ByStamp {
    MemberTable& members;
    SequenceKey KeyOf(uint32_t n) const noexcept {
      return {members.at(n).stamp, members.at(n).position};
    }
    uint32_t& PlaceOf(uint32_t n) noexcept { return members.place(n); }
    void Prefetch(uint32_t n) const noexcept { members.Prefetch(n); }
  };
  struct ByDeadline {
    MemberTable& members;
    SequenceKey KeyOf(uint32_t n) const noexcept {
      return {After(members.at(n).stamp, members.ttl(n)), members.at(n).position};
    }
    uint32_t& PlaceOf(uint32_t n) noexcept { return members.place_by_deadline(n); }
    void Prefetch(uint32_t n) const noexcept { members.Prefetch(n); }
  };
  struct Entries {
    const SeriesTable& series;
    uint32_t HashOf(uint32_t number) const noexcept { return series.at(number).hash; }
    EngineTime DueOf(uint32_t number) const noexcept { return series.at(number).armed_due; }
    uint64_t OrderOf(uint32_t number) const noexcept { return series.at(number).armed_position; }
    void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(&series.at(number).armed_due); }
    uint64_t Version() const noexcept { return 0; }  // what is armed is fixed
  };

  // For the rule. Deadlines, and places in sequences, are in no image.
  friend class ChangeByRule<SeriesTable, Series, TableSaving>;
  const Series& EntryAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Series*>(table_.hot(number));
  }
  [[gnu::cold]] void KeepImageNow(uint32_t number);
  void Save(uint32_t number, const StoredKeys& keys, FieldWriter& out) const;

  uint32_t PrefetchOther(uint64_t hash) const noexcept;
  const OwnOrder& OwnOf(const Series& series) const noexcept {
    return *reinterpret_cast<const OwnOrder*>(own_.hot(series.own));
  }
  OwnOrder& OwnOf(Series& series) noexcept {
    return *reinterpret_cast<OwnOrder*>(own_.hot(series.own));
  }
  // Whether nothing of the series has ended by `now`, without a look at its members.
  static bool NothingEnds(const Series& series, EngineTime now) noexcept {
    return series.armed && now < series.armed_due;
  }
  // How many members of `plain` have ended by `now`; and of how many the retention has, too.
  size_t EndedPlain(uint32_t series, EngineTime now) const;
  size_t GonePlain(uint32_t series, EngineTime now) const;
  // How many members of a sequence come before a key.
  uint32_t RankBefore(const Sequence& sequence, const SequenceKey& key) const;
  uint32_t EndedOwn(const OwnOrder& own, EngineTime now) const;
  void ListSequence(const Sequence& sequence, uint32_t begin, const Part& part, EngineTime now,
                    std::vector<uint32_t>& out) const;

  friend class SeriesLoader;

  using Deadlined = SequencePool<ByDeadline>;

  Pages& pool_;
  MemberTable& members_;
  ByStamp by_stamp_{members_};
  ByDeadline by_deadline_{members_};
  Duration ttl_;
  Duration retention_;
  uint64_t last_hash_ = 0;  // of the series that had an event last
  uint32_t last_ = kNone;
  uint32_t closed_ = 0;
  EngineTime nothing_before_ = kNever;  // no series is armed for an earlier instant
  EngineTime plain_before_ = kNever;    // the same; while the series are saved kBeginningOfTime
  size_t name_bytes_ = 0;
  size_t own_orders_ = 0;
  KeyArena names_;
  Slab<NoCold, 11> own_;
  SequencePool<ByStamp> stamps_;
  std::unique_ptr<Deadlined> deadlines_;  // null as long as no member had a TTL of its own
  ExpiringTable<Entries, Series> table_;
};

template <class Visit>
void SeriesTable::ForEachMember(const Visit& visit) const {
  const auto each = [&](uint32_t member) {
    visit(member);
    return true;
  };
  table_.ForEach([&](uint32_t number) {
    const Series& series = at(number);
    if (!series.plain.empty()) stamps_.ForEachFrom(series.plain, 0, each);
    if (series.own != kNone) stamps_.ForEachFrom(OwnOf(series).by_stamp, 0, each);
  });
}

template <class Forget>
void SeriesTable::ForgetRetained(uint32_t number, EngineTime from, EngineTime to,
                                 const Forget& forget) {
  const Series& series = at(number);
  const uint32_t begin = std::min(series.retained, stamps_.Rank(series.plain, from));
  const uint32_t end = std::min(series.retained, stamps_.Rank(series.plain, to));
  for (uint32_t i = begin; i < end; ++i) forget(stamps_.At(series.plain, begin));
}

}  // namespace pleat::inline v0_1
