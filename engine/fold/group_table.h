// A GroupTable keeps the groups of one book. It finds a group by its key, tells which group is due
// next, and counts the bytes that the groups take. When a group is due, its GroupClock says.
//
// An entry is one group, or a copy of a group that is handed out by itself (a *cut*); group_entry.h
// has its parts.
//
// An entry's life:
//
//   Add() --> Index() and Arm() --> indexed --+--> due, in Next() --------> closed --> Free()
//                                      |  |   +--> Unindex(): overtaken --> due ------^
//                                      |  +------> End(): ended before its deadline --^
//                                      +---------> End(), Free(): dropped
//
// An *overtaken* group has left the index, because a newer group of its key has begun; its deadline
// still stands, so that the group closes in deadline order.
//
// Invariants:
//   - A key has at most one indexed group, which is armed.
//   - A deadline moves later by a plain write. Where a closing time makes one earlier, the group moves
//     to an entry of another number: a number has one reference in the deadlines, which stays.
//   - A group or cut that has not ended is armed, at or before its deadline; one that has is not.
//   - An open group with a partial to be cut is called at that instant. A grid costs nothing else.
//   - bytes() is the sum of BytesOf() over all entries.
//
// The table below it, ExpiringTable, says when a number may be used again. ChangeByRule says how to
// change an entry; one without a deadline is in no image of this table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <unordered_map>

#include <absl/functional/function_ref.h>
#include <pleat/outcome.h>
#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/fold/group_clock.h"
#include "engine/fold/group_entry.h"
#include "engine/table/change_by_rule.h"
#include "engine/table/expiring_table.h"
#include "engine/table/key_arena.h"
#include "engine/table/packed_key.h"
#include "engine/table/place_images.h"

namespace pleat::inline v0_1 {

class GroupTable : GroupEntry, public ChangeByRule<GroupTable, GroupEntry::Group> {
 public:
  using GroupEntry::Entry;
  using GroupEntry::Extra;
  using GroupEntry::Group;
  using GroupEntry::Guess;
  using GroupEntry::Kind;
  using GroupEntry::kNone;
  using GroupEntry::kNothing;
  using GroupEntry::Parts;

  // `options` holds this partition's share of the limits. `pool` and `ops` outlive the table.
  GroupTable(Pages& pool, const FolderOptions& options, const StateOps& ops);
  ~GroupTable();
  GroupTable(const GroupTable&) = delete;
  GroupTable& operator=(const GroupTable&) = delete;

  // --- The parts of an entry. REQUIRES: the entry lives.

  const void* state(uint32_t number) const noexcept { return StateOf(at(number)); }
  const void* StateOf(const Group& group) const noexcept {
    return reinterpret_cast<const std::byte*>(&group) + state_offset_;
  }
  void* StateOf(Group& group) noexcept {
    return reinterpret_cast<std::byte*>(&group) + state_offset_;
  }
  bool has_extra() const noexcept { return clock_.has_extra(); }
  const Extra& extra(uint32_t number) const noexcept { return ExtraOf(at(number)); }
  using GroupEntry::ExtraOf;
  // The first Extra of a new entry. It has no closing time.
  void SetExtra(uint32_t number, const Extra& extra) noexcept;
  // Whether groups of the folder have closing times; and gives one to a group of such a folder.
  bool has_closing_time() const noexcept { return clock_.has_closing_time(); }
  void set_closing_time(uint32_t number, EngineTime at) { ClosingTimeOf(Change(number)) = at; }
  bool IsGroup(uint32_t number) const noexcept {
    return !has_extra() || extra(number).kind == Kind::kGroup;
  }
  bool indexed(uint32_t number) const noexcept { return table_.cold(number).indexed != 0; }
  // The position of the event that opened it.
  uint64_t position(uint32_t number) const noexcept { return table_.cold(number).position(); }
  // The number of events, and the stamps, as users see them.
  uint64_t CountOf(uint32_t number) const noexcept {
    const uint64_t low = at(number).count;
    return wraps_.empty() ? low : low | HighCountOf(number) << 32;
  }
  GroupInfo InfoOf(uint32_t number) const noexcept { return InfoOf(PartsOf(number)); }
  Parts PartsOf(uint32_t number) const noexcept {
    return {number, at(number), table_.cold(number)};
  }
  GroupInfo InfoOf(const Parts& parts) const noexcept {
    const bool far = parts.cold.back == kFar;
    return {.count = wraps_.empty() ? parts.group.count : CountOf(parts.number),
            .first = far ? early_.at(parts.number) : parts.group.opened - Duration{parts.cold.back},
            .last = parts.group.last};
  }

  // --- Finding a group by its key

  Entry Find(const PackedKey& key, uint64_t hash) const {
    const uint32_t number = table_.Guess(hash);
    if (number == kNone) return {};
    const Group& group = at(number);
    return group.key == key ? Entry{number, &group} : FindAmong(key, hash);
  }
  // The same out of line, for callers that rarely need it.
  Entry FindSlowly(const PackedKey& key, uint64_t hash) const;
  // Whether a look ahead has found a group, which is still in the index.
  bool Holds(const Guess& guess) const noexcept { return guess.unindexed == unindexed_; }
  // Find() after such a look ahead.
  Entry Find(const PackedKey& key, uint64_t hash, const Guess& guess) const {
    PLEAT_DCHECK(Holds(guess));
    if (guess.group->key == key) [[likely]]
      return {guess.number, guess.group};
    return FindSlowly(key, hash);
  }

  // A batch looks ahead in three steps, each of which fetches for the next one: the bucket of
  // the index, the group, and a long key.
  void PrefetchIndex(uint64_t hash) const noexcept { table_.PrefetchIndex(hash); }
  void PrefetchGroup(uint64_t hash, Guess& guess) const noexcept {
    const uint32_t number = table_.Guess(hash);
    guess.number = number;
    if (number == kNone) {
      guess.unindexed = unindexed_ - 1;  // holds at no time
      return;
    }
    guess.unindexed = unindexed_;
    guess.group = &at(number);
    Prefetch(guess.group);
    if (folds_touch_more_) PrefetchMore(number);
  }
  void PrefetchLongKey(const Guess& guess) const noexcept {
    if (!Holds(guess)) return;
    const PackedKey& key = guess.group->key;
    if (key.is_long()) Prefetch(key.view().data());
  }
  // All of an entry.
  void PrefetchEntry(uint32_t number) const noexcept {
    PrefetchHot(number);
    Prefetch(&table_.cold(number));
  }
  void PrefetchEntry(const Parts& parts) const noexcept {
    PrefetchHot(&parts.group);
    Prefetch(&parts.cold);
  }

  // --- When a group is due

  const GroupClock& clock() const noexcept { return clock_; }
  EngineTime DueOf(uint32_t number) const noexcept { return clock_.DueOf(at(number)); }
  // The same of any entry, also of one that has ended: see Decide().
  EngineTime DecidedDueOf(uint32_t number) const noexcept {
    const auto decided = decided_.empty() ? decided_.end() : decided_.find(number);
    return decided == decided_.end() ? DueOf(number) : decided->second;
  }
  // The reason that time closes the entry for, or cuts it.
  Reason ReasonByTime(uint32_t number) const noexcept {
    if (has_extra() && extra(number).kind == Kind::kPartial) return Reason::kPartial;
    return clock_.ReasonOf(at(number));
  }

  // --- The life of an entry

  // Adds an entry with one event in its state. It has no Extra yet, is not indexed and not armed.
  uint32_t Add(const PackedKey& key, uint64_t hash, EngineTime at, uint64_t position,
               const void* event);
  // The same inline, for the one caller that needs this millions of times a second.
  Parts AddInline(const PackedKey& key, uint64_t hash, EngineTime at, uint64_t position,
                  const void* event);
  // Adds a copy of a group. The copy has no Extra yet, is not indexed and not armed.
  uint32_t AddCopy(uint32_t number);

  // Folds an event that is not older than the one which opened the group. Inline: the hot path.
  void FoldInto(Group& group, uint32_t number, const void* event, EngineTime at) {
    if (at > group.last) group.last = at;
    ++group.count;
    CountHeap(number, static_cast<size_t>(ops_.fold(ops_.context, StateOf(group), event)));
  }
  // Before FoldInto() of an older event: keeps the group's smallest stamp.
  void NoteEarlier(uint32_t number, EngineTime at);
  // After FoldInto(), when the low half of the count came round to 0.
  void NoteWrap(uint32_t number) {
    KeepImage(number);
    ++wraps_[number];
    has_notes_ = true;
  }

  void Index(uint32_t number, uint64_t hash);
  // The key's next event will not go to this group. REQUIRES: the group is indexed; ChangeKept() is
  // possible, as it is for all that Next() has given out.
  void Unindex(uint32_t number);
  // Arms a new entry for its deadline.
  void Arm(uint32_t number);
  // Of a new group.
  void IndexAndArm(uint32_t number, uint64_t hash, EngineTime now) {
    Index(number, hash);
    Arm(number);
    if (has_extra()) CallForPartial(number, now);
  }
  // Of one without Extra, whose deadline is known.
  void IndexAndArm(const Parts& parts, uint64_t hash, EngineTime due, uint64_t position) {
    PLEAT_DCHECK(Find(parts.group.key, hash).number == kNone && IsKept(parts.number));
    Cold& cold = ColdOf(parts);
    table_.Index(hash, parts.number, cold);
    table_.Arm(parts.number, cold, due, position);
  }
  // The deadline of an indexed group has moved earlier. Moves the group to another entry, which is
  // indexed and armed. REQUIRES: states can be moved; `hash` is the key's.
  void ArmEarlier(uint32_t number, uint64_t hash, EngineTime now);
  // An indexed group or its instants have changed: Next() calls it at the next one before its
  // deadline. REQUIRES: it has Extra.
  void CallForPartial(uint32_t number, EngineTime now);
  // At a limit the next instant of each grid matters, also of groups that have not changed. From
  // now on all are called, for one period; none changes. O(1) within such a period, else O(entries).
  void CallAll(EngineTime now);
  // The entry has ended before its deadline: out of the index, and without a deadline.
  void End(uint32_t number);
  // Calls the state's destructor. REQUIRES: the entry has no deadline.
  void DestroyState(uint32_t number) noexcept;
  // Before the state leaves for good, be it moved or destroyed: uncounts the bytes that the state
  // owns, and returns them.
  size_t UncountHeap(uint32_t number) noexcept;
  // Gives back the entry. REQUIRES: its state is gone, and UncountHeap() was called.
  void Free(uint32_t number) noexcept { Free(PartsOf(number)); }
  void Free(const Parts& parts) noexcept {
    bytes_ -= entry_bytes_;
    FreePlace(parts);
  }
  [[gnu::always_inline]] void Free(std::span<const Parts> entries) noexcept {
    bytes_ -= entries.size() * entry_bytes_;
    for (const Parts& parts : entries) FreePlace(parts);
  }

  // --- Storing

  // Writes an entry with its state. REQUIRES: states can be stored.
  void SaveEntry(FieldWriter& out, uint32_t number) const;
  // Adds an entry as SaveEntry() wrote it, which is not indexed and not armed. The entry lives
  // even where `in` has failed, but means nothing then.
  uint32_t LoadEntry(FieldReader& in, const HashKey& hash_key);
  // How many groups have not left for the outbox; whether `holds(memo)` for the memo of all entries.
  // O(entries).
  size_t CountOpen() const;
  bool AllMemos(absl::FunctionRef<bool(QuietLearner::Memo)> holds) const;
  // Writes the entries that were filed.
  void SaveFiled(FieldWriter& out) const;
  void LoadFiled(FieldReader& in, const HashKey& hash_key);
  // Writes the entries that are armed now, a strip at a time, also if they change meanwhile: see
  // Book::BeginSave(). At the end of it, too, call EndSave().
  void BeginSave(Copies& copies) {
    images_ = std::make_unique<PlaceImages>(table_.end(), copies);
    folds_touch_more_ = true;
  }
  bool SaveNext(FieldWriter& out);
  void EndSave() noexcept {
    ChangeByRule::EndSave();
    folds_touch_more_ = two_lines_;
  }
  void LoadArmed(FieldReader& in, const HashKey& hash_key);

  // --- Deadlines

  // Finds the next entry due by `now`, earliest first; see ExpiringTable::Next(). While `version`
  // stays the same, no group has changed. An entry due by time is not armed any more.
  Deadlines::Found Next(EngineTime now, uint64_t version, Budget& budget, Due& due) {
    clock_.Look(now, version);
    const Deadlines::Found found = table_.Next(now, budget, due);
    if (found == Deadlines::Found::kDue && !due.is_filed() && !IsKept(due.number)) [[unlikely]]
      KeepArmed(due.number);  // as it was until now
    return found;
  }
  // Finds the same, and leaves it where it is.
  Deadlines::Found Peek(EngineTime now, uint64_t version, Budget& budget, Due& due);
  // At most `max` of them at once, for groups without Extra while no snapshot is being taken; see
  // ExpiringTable::Run(). Each has ended by time: EndByTime() takes it out of the index and says
  // why it ended. Behind them call DropRun().
  std::span<const Due> Run(EngineTime now, uint64_t version, size_t max, Budget& budget) {
    PLEAT_DCHECK(!has_extra() && images_ == nullptr);
    clock_.Look(now, version);
    const std::span<const Due> run = table_.Run(now, max, budget);
    for (const Due& due : run) table_.PrefetchIndex(at(due.number).hash);
    return run;
  }
  Reason EndByTime(uint32_t number) {
    const Group& group = at(number);
    Cold& cold = table_.cold(number);
    table_.GiveOut(cold);
    if (cold.indexed) {
      ++unindexed_;
      table_.Unindex(number, cold, group.hash);
    }
    return clock_.PlainReasonOf(group);
  }
  void DropRun(size_t count) { table_.DropRun(count); }
  // Nothing is due before this instant; kNever: nothing ever.
  EngineTime NextDue() const noexcept { return table_.NextDue(); }
  // Files an entry that has ended among the deadlines that are older and not applied yet.
  void File(const Due& due) { table_.File(due); }
  size_t stale_deadlines() const noexcept { return table_.stale(); }
  // After Next() has given out all groups, up to the end of time.
  void BeginDeadlinesAnew() { table_.BeginDeadlinesAnew(); }

  // --- Other periods

  // Before the periods change: keeps the deadline so far of an entry that has ended, for good.
  void Decide(uint32_t number) {
    decided_.try_emplace(number, DueOf(number));
    has_notes_ = true;
  }
  // The same for all that was filed, or left the index and waits for its instant. O(entries).
  void DecideOvertaken();
  // From now on DueOf() goes by these. REQUIRES: DecideOvertaken() came before. What is due by now
  // ends before Next(), and then ArmByPeriods() comes. O(1), or O(entries) with Extra.
  void SetPeriods(const GroupClock::Periods& periods);
  // Arms all groups anew. O(1) without partials, if no period became shorter, or twice as long.
  void ArmByPeriods(const GroupClock::Periods& before, EngineTime now);

  // --- All entries

  // Calls `visit(due)` for each entry that was filed. O(filed and waiting deadlines).
  template <class Visit>
  void ForEachFiled(const Visit& visit) const {
    table_.ForEachFiled(visit);
  }
  // Calls `visit(number)` for each group or cut that has not ended.
  template <class Visit>
  void ForEachArmed(const Visit& visit) const {
    table_.ForEach([&](uint32_t number) {
      if (table_.cold(number).armed) visit(number);
    });
  }
  // Calls `visit(number)` for the indexed groups from `place` on until it says false; see
  // ExpiringTable::ForEachFrom().
  template <class Visit>
  bool ForEachIndexedFrom(uint32_t& place, const Visit& visit) const {
    return table_.ForEachFrom(place,
                              [&](uint32_t number) { return !indexed(number) || visit(number); });
  }

  // --- Bytes

  size_t bytes() const noexcept { return bytes_ + heap_bytes_; }
  [[noreturn]] static void FailHeapBytes() noexcept;  // a state gave back more than it took
  size_t HeapBytesOf(uint32_t number) const noexcept {
    return ops_.heap_bytes == nullptr ? 0 : ops_.heap_bytes(ops_.context, state(number));
  }
  size_t BytesOf(uint32_t number) const noexcept {
    return BytesOfNew(at(number).key) + HeapBytesOf(number);
  }
  // The bytes of another entry of this key, without those that its state will own.
  size_t BytesOfNew(const PackedKey& key) const noexcept {
    return entry_bytes_ + KeyArena::BytesFor(key);
  }
  // The same for a key of this length, in a table made of these.
  static size_t BytesOfNew(const FolderOptions& options, const StateOps& ops,
                           size_t key_bytes) noexcept;

  // Until there are more groups, with longer keys, opening one takes nothing from the pool.
  void Reserve(size_t groups, size_t key_bytes) {
    table_.Reserve(groups, clock_.has_partials() ? groups : 0);
    keys_.Reserve(groups, key_bytes);
    reserved_bytes_ = std::max(reserved_bytes_, BytesOf(groups, key_bytes));
  }
  // How many bytes Reserve() takes from the pool for that, roughly.
  size_t BytesToReserve(size_t groups, size_t key_bytes) const noexcept {
    const size_t bytes = BytesOf(groups, key_bytes);
    return bytes - std::min(bytes, std::max(this->bytes(), reserved_bytes_));
  }

  // Stops the program if an invariant does not hold. O(entries).
  void CheckWhole() const;

 private:
  static constexpr uint32_t kFar = UINT32_MAX;
  // In place of the number of events: a deadline that was decided comes before it.
  static constexpr uint64_t kDecided = 0;

  // Answers the table below about an entry.
  struct Entries {
    const GroupTable& groups;

    uint32_t HashOf(uint32_t number) const noexcept { return groups.at(number).hash; }
    EngineTime DueOf(uint32_t number) const noexcept {
      const Group& group = groups.at(number);
      const EngineTime due = groups.clock_.DueOf(group);
      if (groups.has_extra() && due <= groups.clock_.now())
        groups.table_.PrefetchIndex(group.hash);  // which the group will soon leave
      return due;
    }
    EngineTime CallOf(uint32_t number) const noexcept {
      return groups.clock_.CallOf(groups.at(number));
    }
    uint64_t OrderOf(uint32_t number) const noexcept { return groups.position(number); }
    void Prefetch(uint32_t number) const noexcept { groups.PrefetchHot(number); }
    uint64_t Version() const noexcept { return groups.clock_.version(); }
  };
  using Table = ExpiringTable<Entries, Cold>;

  // For the rule. An entry without a deadline has no image; so that of an armed one is kept before
  // the entry is disarmed.
  friend class ChangeByRule<GroupTable, Group>;
  const Group& EntryAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Group*>(table_.hot(number));
  }
  void KeepImageNow(uint32_t number) {
    if (images_->Has(number)) return;
    table_.cold(number).armed ? KeepArmed(number) : images_->KeepNothing(number);
  }
  bool MayChange(uint32_t number) const noexcept {
    return IsKept(number) || !table_.cold(number).armed;
  }
  void SaveArmed(FieldWriter& out, uint32_t number) const;
  size_t BytesOf(size_t groups, size_t key_bytes) const noexcept {
    return groups * (entry_bytes_ + KeyArena::BytesForLength(key_bytes));
  }
  [[gnu::cold]] void KeepArmed(uint32_t number);
  uint32_t NewEntry(const Cold& cold);
  // Find() where several keys have the same tag.
  Entry FindAmong(const PackedKey& key, uint64_t hash) const;
  [[gnu::always_inline]] void FreePlace(const Parts& parts) noexcept {
    const bool rare = parts.group.key.is_long() || parts.cold.back == kFar || has_notes_;
    if (rare) [[unlikely]]
      FreeRare(parts.number);
    Group& group = ChangeKept(parts.number, parts.group);
    table_.Free(parts.number, ColdOf(parts), reinterpret_cast<std::byte*>(&group));
  }
  // What an entry has outside of the table.
  [[gnu::noinline]] void FreeRare(uint32_t number) noexcept;
  void LoadExtra(FieldReader& in, Group& group);
  // A larger state takes further lines; the processor follows by itself from the third on.
  void PrefetchHot(uint32_t number) const noexcept { PrefetchHot(&at(number)); }
  void PrefetchHot(const Group* group) const noexcept {
    Prefetch(group);
    if (two_lines_) Prefetch(reinterpret_cast<const std::byte*>(group) + 64);
  }
  // What a fold touches besides the first line.
  void PrefetchMore(uint32_t number) const noexcept {
    PrefetchHot(number);
    if (images_ == nullptr) return;
    Prefetch(&table_.cold(number));
    images_->Prefetch(number);
  }
  EngineTime FirstOf(uint32_t number) const noexcept {
    const uint32_t back = table_.cold(number).back;
    return back == kFar ? early_.at(number) : at(number).opened - Duration{back};
  }
  uint64_t HighCountOf(uint32_t number) const noexcept;
  // heap_bytes_ counts the bytes that each state owned after its last fold. A debug build also keeps
  // that number apart, and compares when the bytes are taken back.
  void CountHeap([[maybe_unused]] uint32_t number, size_t more) noexcept {
    heap_bytes_ += more;
#ifndef NDEBUG
    if (ops_.heap_bytes != nullptr) heap_counted_[number] += more;
#endif
  }

  // Members that every fold reads lie close together.
  const StateOps& ops_;
  const size_t state_offset_;
  size_t bytes_ = 0;  // without those that states own
  size_t heap_bytes_ = 0;
  uint32_t unindexed_ = 0;  // counts the groups that left the index
  const bool two_lines_;    // an entry is longer than a cache line
  bool folds_touch_more_;   // that, or a snapshot is being taken
  GroupClock clock_;
  Table table_;

  const size_t entry_bytes_;  // without a long key and the bytes that the state owns
  size_t reserved_bytes_ = 0;
  KeyArena keys_;
  std::map<uint32_t, uint32_t> wraps_;                // the high half of the counts that need one
  std::map<uint32_t, EngineTime> early_;              // the smallest stamps that lie kFar back
  std::unordered_map<uint32_t, EngineTime> decided_;  // deadlines by other periods
  bool has_notes_ = false;                            // wraps_ or decided_ has any
#ifndef NDEBUG
  std::unordered_map<uint32_t, size_t> heap_counted_;
#endif
};

inline uint32_t GroupTable::NewEntry(const Cold& cold) {
  const uint32_t number = table_.New(cold);
  KeepNothing(number);
  return number;
}

[[gnu::always_inline]] inline GroupTable::Parts GroupTable::AddInline(const PackedKey& key,
                                                                      uint64_t hash, EngineTime at,
                                                                      uint64_t position,
                                                                      const void* event) {
  Cold cold{};
  cold.set_position(position);
  const uint32_t number = NewEntry(cold);
  const Parts parts = PartsOf(number);
  Group& group =
      *::new (&ChangeKept(number, parts.group)) Group{.hash = static_cast<uint32_t>(hash),
                                                      .count = 1,
                                                      .key = keys_.Keep(key),
                                                      .last = at,
                                                      .opened = at};
  bytes_ += BytesOfNew(group.key);
  void* const state = StateOf(group);
  ops_.open(ops_.context, state);
  ops_.fold(ops_.context, state, event);
  if (ops_.heap_bytes != nullptr) CountHeap(number, HeapBytesOf(number));  // opening took some, too
  return parts;
}

}  // namespace pleat::inline v0_1
