// An ExpiringTable holds numbered entries that are found by a key and end at a deadline: a
// KeyIndex, a Slab and Deadlines, and the rules for when a number may be used again, written once.
// Groups, leases and remembered names are such entries.
//
// An entry's life, as its four bits tell it:
//
//   New() -> taken
//     Index() / Unindex()      indexed: Find() finds it
//     Arm()   / Disarm()       armed: Next() gives it out at its deadline, which disarms it
//   Free() -> no longer taken
//
// The bits are independent. Example: a group that its key's next event has overtaken is armed but
// not indexed; a group that waits to be popped is neither.
//
// The owner moves a deadline later by a plain write; the table is not told. To move a deadline
// earlier, the owner writes it and calls Arm() again.
//
// References. The deadlines keep numbers. They drop a number only when its instant comes or when a
// sweep meets it, so some numbers there are *stale*: they count no longer.
//   - Arm() of an entry without a reference makes a *direct* one: the entry's number. The number
//     stays out of use (`referred`) until that reference is dropped, even if the entry has been
//     freed.
//   - Arm() of an entry that is referred to already makes a *ticket*: the number of a place of its
//     own that names the entry. The entry knows its latest ticket. So an older ticket, and the
//     direct reference beside a ticket, are known to be stale wherever they are met.
//
// Example: a lease ends at 12:00, and is nacked with a delay until 11:10. The direct reference at
// 12:00 becomes stale, a ticket at 11:10 counts. At 11:10 the ticket is gone; if the record is lent
// again before 12:00 it gets another ticket, because the direct reference is still there.
//
// Calls. An indexed entry may also be *called* once at an instant before its deadline, and again
// when that has passed: Call() makes a reference of a second kind, the number with its highest bit.
// An entry that is not called has none: so an instant at which nothing would happen costs nothing.
//
// Invariants:
//   - A number has at most one direct reference and one call, a ticket exactly one reference.
//   - An armed entry has exactly one reference that counts: its ticket, or else the direct one.
//     That reference lies at or before the entry's deadline.
//   - A call counts while its entry is indexed.
//   - All other references are stale and counted. Making one stale pays for sweeping others, so
//     that stale references stay below a constant share of all.
//
// Only tables whose `Cold` has a member `reference` pay for tickets: 4 bytes an entry, and 8 for
// each deadline that moved earlier. Only those whose `Cold` has a member `called` have calls.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/deadlines.h"
#include "engine/table/key_index.h"
#include "engine/table/number_set.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

// The cold part of an entry without anything of the owner's. An owner with a cold part of its own
// gives it four members of these names.
struct TableBits {
  bool taken : 1 = false;     // an entry lives here
  bool indexed : 1 = false;   // Find() finds it
  bool armed : 1 = false;     // it has a deadline
  bool referred : 1 = false;  // the deadlines hold its number, which stays out of use
};

// The same for entries whose deadlines move earlier.
struct TicketBits : TableBits {
  uint32_t reference = KeyIndex::kNone;  // of an armed entry: the one that counts
};

// Where the bits lie. In an array of their own, so that folds do not read them; or, of a Cold with
// a member `kIsEntry`, which is the whole entry, there. Then its first 8 bytes are others than the
// bits: a slab links free places by these.
template <class Cold>
concept BitsInEntry = std::is_trivially_copyable_v<Cold> && requires { Cold::kIsEntry; };

// How a table asks its owner about an entry.
template <class Entries>
concept TableEntries = requires(const Entries& entries, uint32_t number) {
  { entries.HashOf(number) } -> std::same_as<uint32_t>;   // low half, of an indexed entry
  { entries.DueOf(number) } -> std::same_as<EngineTime>;  // of an armed entry
  { entries.OrderOf(number) } -> std::same_as<uint64_t>;  // decides between equal deadlines
  { entries.Prefetch(number) };  // brings what the three read towards the cache
  // (Of a table with calls also entries.CallOf(number): see Call().)
  // Another value whenever the owner may have moved a deadline later by a plain write. If not, an
  // entry may be given out at the deadline that it had before.
  { entries.Version() } -> std::same_as<uint64_t>;
};

template <TableEntries Entries, class Cold = TableBits, int kIndexBits = 10>
class ExpiringTable {
 public:
  using Found = Deadlines::Found;
  static constexpr uint32_t kNone = KeyIndex::kNone;
  static constexpr bool kMovesEarlier = requires(Cold cold) { cold.reference; };
  static constexpr bool kCalls = requires(Cold cold) { cold.called; };
  static_assert(!kMovesEarlier || !kCalls, "tickets and calls are told by the same bit");

  // Entries of `stride` bytes, a multiple of 8. `usual_life`: how far ahead deadlines usually lie.
  ExpiringTable(Pages& pool, size_t stride, Duration usual_life, const Entries& entries,
                size_t run_most = Deadlines::kRunMost)
      : index_(pool),
        slab_(pool, stride),
        entries_(entries),
        deadlines_(pool, usual_life, run_most),
        tickets_(pool, sizeof(Ticket)) {}

  // --- Entries

  // Makes room for so many entries at a time, indexed and armed, and `calls` of them called: until
  // there are more, they take nothing from the pool. Tickets are not among this.
  void Reserve(size_t entries, size_t calls = 0) {
    slab_.Reserve(entries);
    index_.Reserve(entries, HashesOf());
    deadlines_.Reserve(entries + calls);
  }

  // A number for an entry, whose bytes the caller fills. O(1). `bits`: the cold part, with what the
  // owner has in there, and no bit set. It is written once, because a word that is read right after
  // a part of it was written waits for that.
  uint32_t New(Cold bits = {}) {
    const uint32_t number = slab_.Allocate();
    bits.taken = 1;
    cold(number) = bits;
    return number;
  }

  // The same with a number that it had before a restart. REQUIRES: HasPlace(number), and numbers are
  // given in ascending order to a table that never had an entry.
  void NewAt(uint32_t number) {
    static_assert(!BitsInEntry<Cold>, "a free place has its bits");
    slab_.AllocateAt(number, [this](uint32_t skipped) { slab_.cold(skipped) = Cold{}; });
    cold(number) = Cold{};
    cold(number).taken = 1;
  }
  bool HasPlace(uint32_t number) const noexcept { return slab_.HasPlace(number); }

  // Gives an entry up, armed or not. Its bytes are void from now on. REQUIRES: it is not indexed.
  void Free(uint32_t number) {
    Disarm(number);
    Free(number, cold(number), hot(number));
  }
  // The same for an owner that knows where its parts lie. REQUIRES also: it is not armed.
  void Free(uint32_t number, Cold& bits, std::byte* hot) {
    PLEAT_DCHECK(bits.taken && !bits.indexed && !bits.armed);
    bits.taken = 0;
    if (!IsReferred(bits)) slab_.Free(number, hot);
  }

  // The parts of an entry: of a const table to read, else to change.
  const std::byte* hot(uint32_t number) const noexcept { return slab_.hot(number); }
  std::byte* hot(uint32_t number) noexcept { return slab_.hot(number); }
  const Cold& cold(uint32_t number) const noexcept {
    if constexpr (BitsInEntry<Cold>) {
      return *reinterpret_cast<const Cold*>(slab_.hot(number));
    } else {
      return slab_.cold(number);
    }
  }
  Cold& cold(uint32_t number) noexcept {
    return const_cast<Cold&>(std::as_const(*this).cold(number));
  }

  // Whether an entry lives at `number`, which may be any number at all.
  bool Holds(uint32_t number) const noexcept { return slab_.Knows(number) && cold(number).taken; }

  // All entries have lower numbers.
  uint32_t end() const noexcept { return slab_.end(); }
  // Calls `visit(number)` for every entry, in the order of the numbers.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    slab_.ForEach([&](uint32_t number) {
      if (cold(number).taken) visit(number);
    });
  }
  // The same from `place` on, while `visit(number)` returns true; `place` is then where it did not.
  // Returns whether the end was reached.
  template <class Visit>
  bool ForEachFrom(uint32_t& place, const Visit& visit) const {
    return slab_.ForEachFrom(place,
                             [&](uint32_t number) { return !cold(number).taken || visit(number); });
  }

  // --- The index

  // The indexed entry with this hash for which `matches(number)` holds, or kNone.
  template <class Matches>
  uint32_t Find(uint64_t hash, const Matches& matches) const {
    return index_.Find(hash, matches);
  }
  // The entry that Find() will most likely ask about first, or kNone.
  uint32_t Guess(uint64_t hash) const noexcept { return index_.Guess(hash); }
  void PrefetchIndex(uint64_t hash) const noexcept { index_.Prefetch(hash); }

  // REQUIRES: no other indexed entry has its key.
  void Index(uint64_t hash, uint32_t number) { Index(hash, number, cold(number)); }
  // The same, here and below, for an owner that knows where the bits lie.
  void Index(uint64_t hash, uint32_t number, Cold& bits) {
    PLEAT_DCHECK(bits.taken && !bits.indexed);
    PLEAT_DCHECK(entries_.HashOf(number) == static_cast<uint32_t>(hash));
    bits.indexed = 1;
    index_.Insert(hash, number, HashesOf());
  }
  // The same under a hash that may have been made up. Returns false, and has not indexed it, if it
  // was: see KeyIndex::TryInsert().
  bool TryIndex(uint64_t hash, uint32_t number) {
    PLEAT_DCHECK(cold(number).taken && !cold(number).indexed);
    return cold(number).indexed = index_.TryInsert(hash, number, HashesOf());
  }
  // REQUIRES: it is indexed. Whoever was called is not indexed again under this number.
  void Unindex(uint32_t number) {
    Cold& bits = cold(number);
    EraseFromIndex(number, bits, entries_.HashOf(number));
    if constexpr (kCalls) {
      if (bits.called) NoteStale();
    }
  }
  // REQUIRES also: it is not called.
  void Unindex(uint32_t number, Cold& bits, uint32_t hash) {
    if constexpr (kCalls) PLEAT_DCHECK(!bits.called);
    EraseFromIndex(number, bits, hash);
  }
  size_t indexed() const noexcept { return index_.size(); }

  // --- Deadlines

  // Gives an entry the deadline DueOf(number); again when that has moved earlier. O(1), and if it
  // had a deadline some references are swept. REQUIRES, of a table without tickets: no reference is
  // left.
  void Arm(uint32_t number) { Arm(number, entries_.DueOf(number), entries_.OrderOf(number)); }
  // The same for an owner that knows them. REQUIRES: they are DueOf(number) and OrderOf(number).
  void Arm(uint32_t number, EngineTime due, uint64_t order) {
    Arm(number, cold(number), due, order);
  }
  void Arm(uint32_t number, Cold& bits, EngineTime due, uint64_t order) {
    PLEAT_DCHECK(due == entries_.DueOf(number) && order == entries_.OrderOf(number));
    PLEAT_DCHECK(bits.taken && (kMovesEarlier || !bits.referred));
    if constexpr (kMovesEarlier) {
      if (bits.armed || bits.referred) return ArmAgain(number);
      bits.reference = number;
    }
    bits.armed = 1;
    bits.referred = 1;
    deadlines_.Arm(number, due, order);
  }

  // Takes the deadline away, if there is one. O(1), and some references are swept.
  void Disarm(uint32_t number) {
    Cold& bits = cold(number);
    if (!bits.armed) return;
    bits.armed = 0;
    if constexpr (kMovesEarlier) VoidTicketOf(number);
    NoteStale();
  }

  // Has Next() call the entry at CallOf(number), which moves later, like a deadline, by a plain
  // write. O(1). REQUIRES: it is indexed, and not called.
  void Call(uint32_t number)
    requires kCalls
  {
    Cold& bits = cold(number);
    PLEAT_DCHECK(bits.indexed && !bits.called);
    bits.called = 1;
    was_called_ = true;
    deadlines_.Arm(number | kMarkBit, entries_.CallOf(number), entries_.OrderOf(number));
  }

  // Files what has ended, or will at an instant that is final, under that instant and the order at
  // which Next() gives it out.
  // REQUIRES: it is not armed.
  void File(const Due& ended) {
    PLEAT_DCHECK(ended.is_filed() && !ended.is_call() && cold(ended.number).taken);
    PLEAT_DCHECK(!cold(ended.number).armed);
    deadlines_.ArmEnded(ended);
  }

  // Calls `visit(ended)` for what was filed and is not given out, in no order.
  template <class Visit>
  void ForEachFiled(const Visit& visit) const {
    deadlines_.ForEachEnded(visit);
  }

  // Nothing is due before this; kNever if nothing will be. O(1).
  EngineTime NextDue() const noexcept { return deadlines_.NextDue(); }

  // The next entry that is due by `now` or was filed, earliest first; it is no longer armed. Or one
  // that is called by then, which then is_call(). Lowers `budget` by the references looked at.
  Found Next(EngineTime now, Budget& budget, Due& due) {
    if constexpr (kCalls) {
      if (was_called_) [[unlikely]]
        return NextOrCall(now, budget, due);
    }
    const Found found = deadlines_.Next(now, budget, Asker<false>{*this}, due);
    if (found == Found::kDue && !due.is_filed()) NoteGivenOut(due);
    return found;
  }

  // Finds the same, and leaves it where it is.
  Found Peek(EngineTime now, Budget& budget, Due& due)
    requires kCalls
  {
    const Found found = deadlines_.Peek(now, budget, Asker<kCalls>{*this}, due);
    if (found != Found::kDue || due.is_filed() || !IsCall(due.number)) return found;
    due.number &= ~kMarkBit;
    due.tag = Due::kCall;
    return found;
  }

  // Several of them at once, if they are known: at most `max`, due by `now`, the first of them at the
  // back. Lowers `budget` likewise. The caller calls GiveOut()
  // for each, and then DropRun(). REQUIRES: no entry was ever called.
  std::span<const Due> Run(EngineTime now, size_t max, Budget& budget) {
    return deadlines_.Run(now, max, budget, Asker<false>{*this});
  }
  static void GiveOut(Cold& bits) noexcept
    requires(!kMovesEarlier)
  {
    PLEAT_DCHECK(bits.taken && bits.armed && bits.referred);
    bits.armed = 0;
    bits.referred = 0;
  }
  void DropRun(size_t count) { deadlines_.DropRun(count); }

  // Calls `apply(due)` for all of them. Returns whether that was all before `budget` ran out.
  template <class Apply>
  bool ApplyDue(EngineTime now, Budget& budget, const Apply& apply)
    requires(!kCalls)
  {
    for (Due due;;) {
      const Found found = Next(now, budget, due);
      if (found != Found::kDue) return found == Found::kNothing;
      apply(due);
    }
  }

  size_t stale() const noexcept { return deadlines_.stale(); }

  // Deadlines begin anew, after Next() has given out all of them, up to the end of time. Else each
  // later one would lie before what was given out.
  void BeginDeadlinesAnew() {
    PLEAT_CHECK(deadlines_.empty());
    deadlines_.Clear();
  }

  // Arms every armed entry anew, after their deadlines have moved earlier or lie another `usual_life`
  // ahead. What was filed stays. O(entries).
  void ArmAllAnew(Duration usual_life)
    requires(!kMovesEarlier)
  {
    std::vector<Due> filed;
    ForEachFiled([&](const Due& due) { filed.push_back(due); });
    deadlines_.Clear(usual_life);
    ++changes_;
    slab_.ForEach([this](uint32_t number) {
      Cold& bits = cold(number);
      const bool waited = !bits.taken && IsReferred(bits);
      bits.referred = bits.armed;
      if (bits.armed) deadlines_.Arm(number, entries_.DueOf(number), entries_.OrderOf(number));
      if constexpr (kCalls) {
        const bool calls = bits.called && bits.indexed;
        bits.called = 0;
        if (calls) Call(number);
      }
      if (waited) slab_.Free(number);
    });
    for (const Due& due : filed) deadlines_.ArmEnded(due);
  }
  // Whether the deadlines are made for this one.
  bool Suits(Duration usual_life) const noexcept { return deadlines_.Suits(usual_life); }

  // Ends the process unless all invariants hold. O(entries); for tests.
  void CheckWhole() const;

 private:
  // Names the entry that a reference is for. A stale ticket names kNone.
  struct Ticket {
    uint32_t number;
    uint32_t unused;
  };
  // Of a reference: to a ticket, or a call. No number of an entry or a ticket has it.
  static constexpr uint32_t kMarkBit = uint32_t{1} << 31;

  // Answers the deadlines. `kMayCall`: there may be calls among the references.
  template <bool kMayCall>
  struct Asker {
    ExpiringTable& table;
    bool Counts(uint32_t reference) const {
      if constexpr (kMayCall) {
        if (IsCall(reference)) return table.cold(reference & ~kMarkBit).indexed;
      }
      return table.Counts(reference);
    }
    void Drop(uint32_t reference) const {
      if constexpr (kMayCall) {
        if (IsCall(reference)) return table.DropCall(reference & ~kMarkBit);
      }
      table.Drop(reference);
    }
    Deadlines::Answer operator()(uint32_t reference) const {
      if constexpr (kMayCall) {
        const uint32_t called = reference & ~kMarkBit;
        if (called != reference)
          return {table.entries_.CallOf(called), table.entries_.OrderOf(called)};
      }
      const uint32_t number = table.NumberOf(reference);
      return {.due = table.entries_.DueOf(number), .order = table.entries_.OrderOf(number)};
    }
    void Prefetch(uint32_t reference) const noexcept {
      table.PrefetchFor(kMayCall ? reference & ~kMarkBit : reference);
    }
    uint64_t Version() const noexcept { return table.changes_ + table.entries_.Version(); }
  };

  auto HashesOf() const noexcept {
    return [this](uint32_t number) { return entries_.HashOf(number); };
  }
  static bool IsTicket(uint32_t reference) noexcept {
    return kMovesEarlier && (reference & kMarkBit) != 0;
  }
  static bool IsCall(uint32_t reference) noexcept { return kCalls && (reference & kMarkBit) != 0; }
  // Whether a number is out of use even if no entry lives there.
  static bool IsReferred(const Cold& bits) noexcept {
    if constexpr (kCalls) return bits.referred || bits.called;
    return bits.referred;
  }
  const Ticket& TicketAt(uint32_t reference) const noexcept {
    return *reinterpret_cast<const Ticket*>(tickets_.hot(reference & ~kMarkBit));
  }
  Ticket& TicketAt(uint32_t reference) noexcept {
    return const_cast<Ticket&>(std::as_const(*this).TicketAt(reference));
  }
  // The entry that a reference is for, or kNone.
  uint32_t NumberOf(uint32_t reference) const noexcept {
    return IsTicket(reference) ? TicketAt(reference).number : reference;
  }

  // Next() of a table with calls. Apart, so that a table without has nothing of it on its way.
  [[gnu::noinline]] Found NextOrCall(EngineTime now, Budget& budget, Due& due) {
    const Found found = deadlines_.Next(now, budget, Asker<kCalls>{*this}, due);
    if (found != Found::kDue || due.is_filed()) return found;
    if (IsCall(due.number)) {
      due.number &= ~kMarkBit;
      due.tag = Due::kCall;
      cold(due.number).called = 0;
    } else {
      NoteGivenOut(due);
    }
    return found;
  }

  void NoteStale() {
    ++changes_;
    deadlines_.NoteStale(Asker<kCalls>{*this});
  }

  bool Counts(uint32_t reference) const noexcept {
    if (IsTicket(reference)) return TicketAt(reference).number != kNone;
    if constexpr (kMovesEarlier) return cold(reference).reference == reference;
    return cold(reference).armed;
  }

  // A stale reference is gone.
  void Drop(uint32_t reference) {
    if (IsTicket(reference)) return tickets_.Free(reference & ~kMarkBit);
    Cold& bits = cold(reference);
    bits.referred = 0;
    if (!bits.taken && !IsReferred(bits)) slab_.Free(reference);
  }
  void DropCall(uint32_t number) {
    Cold& bits = cold(number);
    bits.called = 0;
    if (!bits.taken && !bits.referred) slab_.Free(number);
  }

  void EraseFromIndex(uint32_t number, Cold& bits, uint32_t hash) {
    PLEAT_DCHECK(bits.indexed && entries_.HashOf(number) == hash);
    bits.indexed = 0;
    index_.Erase(hash, number);
  }

  void PrefetchFor(uint32_t reference) const noexcept {
    if (IsTicket(reference)) return Prefetch(&TicketAt(reference));
    entries_.Prefetch(reference);
    if constexpr (!BitsInEntry<Cold>) Prefetch(&cold(reference));
  }

  void NoteGivenOut(Due& due) {
    const uint32_t reference = due.number;
    due.number = NumberOf(reference);
    // Else the deadline moved after it was read, and Entries::Version() stayed the same.
    PLEAT_DCHECK(due.ripe == entries_.DueOf(due.number));
    Cold& bits = cold(due.number);
    bits.armed = 0;
    if constexpr (kMovesEarlier) bits.reference = kNone;
    if (IsTicket(reference)) return tickets_.Free(reference & ~kMarkBit);
    bits.referred = 0;
  }

  // The next four are for tables with tickets.
  [[gnu::noinline]] void ArmAgain(uint32_t number) {
    Cold& bits = cold(number);
    const bool moves = bits.armed;
    VoidTicketOf(number);
    bits.reference = bits.referred ? NewTicketFor(number) : number;
    bits.armed = 1;
    bits.referred = 1;
    deadlines_.Arm(bits.reference, entries_.DueOf(number), entries_.OrderOf(number));
    if (moves) NoteStale();
  }
  uint32_t NewTicketFor(uint32_t number) {
    const uint32_t ticket = tickets_.Allocate();
    TicketAt(ticket) = {.number = number, .unused = 0};
    return ticket | kMarkBit;
  }
  void VoidTicketOf(uint32_t number) noexcept {
    uint32_t& reference = cold(number).reference;
    if (reference != kNone && IsTicket(reference)) TicketAt(reference).number = kNone;
    reference = kNone;
  }

  // What every lookup reads comes first.
  KeyIndex index_;
  Slab<std::conditional_t<BitsInEntry<Cold>, NoCold, Cold>, kIndexBits> slab_;
  const Entries entries_;
  bool was_called_ = false;  // an entry, at any time
  uint64_t changes_ = 0;     // counts what beside the owner's writes changes an answer
  Deadlines deadlines_;
  Slab<NoCold, 12> tickets_;
};

template <TableEntries Entries, class Cold, int kIndexBits>
void ExpiringTable<Entries, Cold, kIndexBits>::CheckWhole() const {
  index_.CheckWhole(HashesOf());
  deadlines_.CheckWhole();
  NumberSet direct;
  NumberSet calls;     // entries
  NumberSet counting;  // entries
  size_t tickets = 0;
  size_t stale = 0;
  deadlines_.ForEachReference([&](uint32_t reference, EngineTime from) {
    if constexpr (kCalls) {
      if (IsCall(reference)) {
        const uint32_t called = reference & ~kMarkBit;
        PLEAT_CHECK(slab_.Knows(called) && calls.Insert(called));
        if (!cold(called).indexed) return void(++stale);
        PLEAT_CHECK(from <= entries_.CallOf(called));
        return;
      }
    }
    if (IsTicket(reference)) {
      ++tickets;
    } else {
      PLEAT_CHECK(slab_.Knows(reference) && direct.Insert(reference));
    }
    if (!Counts(reference)) return void(++stale);
    const uint32_t number = NumberOf(reference);
    if constexpr (kMovesEarlier) PLEAT_CHECK(cold(number).reference == reference);
    PLEAT_CHECK(cold(number).armed && counting.Insert(number));
    PLEAT_CHECK(from <= entries_.DueOf(number));
  });
  PLEAT_CHECK(stale == deadlines_.stale());
  PLEAT_CHECK(tickets == tickets_.CheckWhole());
  size_t indexed = 0;
  size_t used = 0;  // numbers
  slab_.ForEach([&](uint32_t number) {
    const Cold& bits = cold(number);
    used += bits.taken || IsReferred(bits);
    if constexpr (kCalls) PLEAT_CHECK(bits.called == calls.Contains(number));
    PLEAT_CHECK(bits.taken || (!bits.indexed && !bits.armed));
    PLEAT_CHECK(bits.armed == counting.Contains(number));
    if constexpr (kMovesEarlier) PLEAT_CHECK(bits.armed == (bits.reference != kNone));
    PLEAT_CHECK(bits.referred == direct.Contains(number));
    PLEAT_CHECK(!bits.armed || NextDue() <= entries_.DueOf(number));
    if (!bits.indexed) return;
    ++indexed;
    PLEAT_CHECK(index_.Holds(entries_.HashOf(number), number));
  });
  PLEAT_CHECK(indexed == index_.size() && used == slab_.CheckWhole());
}

}  // namespace pleat::inline v0_1
