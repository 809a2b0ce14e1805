// Deadlines finds the entries that are due, exactly and in order. A deadline that moves later costs
// nothing at all.
//
// Deadlines orders slots of time, not entries (TimeSlots). A slot covers 1/4096 of an entry's usual
// life and holds the numbers of the entries armed in it, unsorted (ReferenceLists). Such a number is
// a *reference*. An entry keeps its own deadline; whoever moves the deadline later writes it there
// and nowhere else. When a slot's time comes, each of its entries is asked for its deadline. Entries
// due later move to their new slot; the others are sorted into a *run*, which gives the exact order
// by (due, order). An entry armed in a slot whose time has come already goes to a small heap beside
// the run.
//
// A run is short, however many entries are due within one slot, because an entry takes 24 bytes
// there, and 4 as a reference. Of a slot with very many only the earliest make the run. The others
// stay references, in *parts*: unsorted lists, one later than the other. When the run is at its end,
// the next part is loaded as a slot is whose time has come.
//
// So arming is a push, moving a deadline later is a plain write, and `now` may lie anywhere inside
// a slot. Example: with a quiet period of 5 minutes a slot is 65 ms wide. A key folds a thousand
// times a second for an hour; each fold writes the group's line, and about every 5 minutes the
// group moves to another slot.
//
// Invariants:
//   - A reference lies at or before its entry's deadline, never after it.
//   - Everything in the slots is due after everything that Next() has given out, and after the run
//     and the parts. Nothing in a part comes before the run, or before an earlier part.
//   - While there are parts, there is a run, or one of them is being loaded.
//   - A number has at most one reference here. The reference of an entry that ended before its
//     deadline is *stale*. A stale reference is dropped when its slot's time comes or when a sweep
//     meets it. Sweeps look at a few references for each one that becomes stale, so that stale
//     references stay below a constant share of all. A number must not be used again before its
//     reference is dropped; its owner is told. (ExpiringTable does that, and moves deadlines
//     earlier as well.)
//
// (After the timing wheels of Varghese and Lauck, 1987, with a tree of slots in place of the
// wheel.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pleat/time.h>

#include "engine/base/budget.h"
#include "engine/base/check.h"
#include "engine/base/prefetch.h"
#include "engine/table/reference_lists.h"
#include "engine/table/time_slots.h"

namespace pleat::inline v0_1 {

// Something that ends at `ripe`. Entries that time ends come before those that an event ended at
// the same instant; then `order` decides; then what was filed comes first, in the order of tags.
struct Due {
  EngineTime ripe;
  uint64_t order;
  uint32_t number;
  bool by_event;
  uint8_t tag;  // the owner's, of an entry that was filed; 0 of one that was armed

  // Whether the instant is final: the entry's own deadline does not matter any more.
  bool is_filed() const noexcept { return tag != 0; }
  // Whether it is no end, but a call of an ExpiringTable.
  static constexpr uint8_t kCall = UINT8_MAX;
  bool is_call() const noexcept { return tag == kCall; }
};

class Deadlines {
 public:
  // The deadline of an entry, and its place among equal deadlines.
  struct Answer {
    EngineTime due;
    uint64_t order;
  };
  enum class Found : uint8_t { kDue, kNothing, kOutOfBudget };

  static constexpr size_t kRunMost = 32 * 1024;  // 768 KiB

  // `usual_life`: how far ahead deadlines usually lie when they are armed. `run_most`: how long a run
  // may become, at least 28; for tests.
  Deadlines(Pages& pool, Duration usual_life, size_t run_most = kRunMost);
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // Makes room for so many references at a time, in as many slots as a usual life has.
  void Reserve(size_t references);

  // Notes that the entry is due at `due`. O(1), but O(log slots) for the first one of a slot.
  void Arm(uint32_t number, EngineTime due, uint64_t order) {
    PLEAT_DCHECK(due >= kBeginningOfTime);
    const uint64_t index = slots_.IndexOf(due);
    Slot* const slot = slots_.Guess(index);
    const bool fits = slot != nullptr && slot->index == index && slot->head_size < Chunk::kRefs;
    if (!fits || index < surfaced_) [[unlikely]]
      return ArmSlowly(number, due, order);
    slot->min_due = std::min(slot->min_due, due);
    slot->head->refs[slot->head_size++] = number;
  }

  // Files an entry whose end is decided, under the instant and the order at which it is given out.
  void ArmEnded(const Due& due) {
    PLEAT_DCHECK(due.is_filed());
    PushHeap(due);
  }

  // Nothing is due before this; kNever if nothing is armed. O(1).
  EngineTime NextDue() const noexcept;

  bool empty() const noexcept {
    return run_.empty() && heap_.empty() && slots_.empty() && loading_.empty();
  }

  // Finds the next entry due by `now`, earliest first. Each reference looked at takes one from
  // `budget`; of a part, where all are looked at again, one of each chunk does. So an entry takes little
  // more than two, however many are due within one slot. The owner answers through `ask`:
  //   ask.Counts(number)    whether the reference counts; if not, it is stale and
  //   ask.Drop(number)      tells that it is gone
  //   ask(number)           an Answer, of a reference that counts
  //   ask.Prefetch(number)  comes a little earlier
  //   ask.Version()         while it stays the same, so do all answers
  template <class Ask>
  Found Next(EngineTime now, Budget& budget, const Ask& ask, Due& found) {
    // Most come from a run that is right as it is: all slots begin behind it.
    if (!run_.empty() && heap_.empty() && loading_.empty() && run_version_ == ask.Version()) {
      if (run_.back().ripe > now) return Found::kNothing;
      if (budget.spent()) return Found::kOutOfBudget;
      budget.Take();
      found = PopRun();
      return Found::kDue;
    }
    const Found settled = Settle(now, budget, ask);
    if (settled != Found::kDue) return settled;
    budget.Take();
    found = PopFirst();
    return Found::kDue;
  }
  // The same, and what is found stays here. NextDue() may be earlier, by a reference whose entry is
  // due later by now, or has ended.
  template <class Ask>
  Found Peek(EngineTime now, Budget& budget, const Ask& ask, Due& found) {
    const Found settled = Settle(now, budget, ask);
    if (settled == Found::kDue) found = *First();
    return settled;
  }

  // What Next() would give out next, if all that comes from a run that is right as it is: at most
  // `max` entries due by `now`, the first of them at the back. Each takes one from `budget`. Before
  // anything else, call DropRun() with how many there were.
  template <class Ask>
  std::span<const Due> Run(EngineTime now, size_t max, Budget& budget, const Ask& ask) {
    while (run_.empty() && heap_.empty()) {
      if (loading_.empty() && !SurfaceSlot(now)) return {};
      if (!Load(budget, ask)) return {};
    }
    if (!heap_.empty() || !loading_.empty() || run_version_ != ask.Version()) return {};
    if (budget.spent()) return {};
    const size_t end = run_.size();
    const size_t most = std::min({max, budget.left(), end});
    size_t begin = end;
    while (end - begin < most && run_[begin - 1].ripe <= now) --begin;
    budget.Take(end - begin);
    return {run_.data() + begin, end - begin};
  }
  void DropRun(size_t count) {
    run_.erase(run_.end() - static_cast<std::ptrdiff_t>(count), run_.end());
    if (run_.empty()) EndRun();
  }

  // Tells that a reference is stale from now on. Where one in seven may be, sweeps a few, so that
  // they do not pile up however often this happens.
  template <class Ask>
  void NoteStale(const Ask& ask) {
    ++stale_;
    if (stale_ >= kSweepFrom && stale_ >= full_chunks() * kStalePerChunk) Sweep(ask);
    if (heap_.size() >= heap_sweep_at_) SweepHeap(ask);
  }

  void Clear() noexcept;
  // The same, and from now on deadlines lie another `usual_life` ahead, or before what was given out.
  void Clear(Duration usual_life) noexcept;
  // Whether the slots are as wide as they would be for this one.
  bool Suits(Duration usual_life) const noexcept;

  size_t stale() const noexcept { return stale_; }

  // Calls `visit(number, from)` for every reference; its entry is asked at `from` or later.
  // O(references).
  template <class Visit>
  void ForEachReference(const Visit& visit) const {
    const auto visit_list = [&](const ReferenceLists::List& list, EngineTime from) {
      references_.ForEach(list, [&](uint32_t number) { visit(number, from); });
    };
    for (const Slot& slot : slots_) visit_list(slot, slot.min_due);
    for (const Part& part : parts_) visit_list(part, part.after.ripe);
    visit_list(loading_, loading_from_);
    for (const Due& due : run_) visit(due.number, due.ripe);
    for (const Due& due : heap_) {
      if (!due.is_filed()) visit(due.number, due.ripe);
    }
  }

  // Calls `visit(due)` for what ArmEnded() has filed. O(heap).
  template <class Visit>
  void ForEachEnded(const Visit& visit) const {
    for (const Due& due : heap_) {
      if (due.is_filed()) visit(due);
    }
  }

  // Ends the process unless the invariants of slots, run, parts and heap hold. O(references); for
  // tests.
  void CheckWhole() const;

 private:
  using Chunk = ReferenceLists::Chunk;
  using Slot = TimeSlots::Slot;
  struct Part : ReferenceLists::List {
    Due after{};  // nothing in the part comes before this
  };

  static constexpr size_t kSweepFrom = 64;
  static constexpr size_t kStalePerChunk = Chunk::kRefs / 7;
  static constexpr size_t kSweepChunks = 2;
  static constexpr size_t kHeapSweepFrom = 1024;
  static constexpr uint64_t kMixed = UINT64_MAX;
  static constexpr size_t kKept = 4096;  // of room in the run and the heap

  // Nearly; only the head of a slot or a part may be partly filled.
  size_t full_chunks() const noexcept { return references_.chunks() - slots_.size(); }
  void ArmSlowly(uint32_t number, EngineTime due, uint64_t order);
  void PushHeap(const Due& due);
  const Due* First() const noexcept;
  Due PopFirst() { return FirstIsInRun() ? PopRun() : PopHeap(); }
  bool FirstIsInRun() const noexcept { return !run_.empty() && First() == &run_.back(); }
  Due PopHeap();
  Due PopRun() {
    const Due due = run_.back();
    run_.pop_back();
    if (run_.empty()) EndRun();
    return due;
  }
  // A burst that was due within one slot leaves no room behind.
  static void GiveBack(std::vector<Due>& empty) {
    if (empty.capacity() > kKept) std::vector<Due>().swap(empty);
  }
  void SortRun();
  void TendParts();
  void CutRun();
  void MoveToParts();
  void EndRun();
  void RebuildHeap();
  bool SurfaceSlot(EngineTime limit);
  void SurfacePart();

  template <class Ask>
  void DropStale(uint32_t number, const Ask& ask) {
    PLEAT_DCHECK(stale_ > 0);
    --stale_;
    ask.Drop(number);
  }

  // Moves references on until First() is what comes next, if that is due by `now`.
  template <class Ask>
  Found Settle(EngineTime now, Budget& budget, const Ask& ask) {
    for (;;) {
      if (!loading_.empty() && !Load(budget, ask)) return Found::kOutOfBudget;
      const Due* const first = First();
      if (SurfaceSlot(first == nullptr ? now : std::min(now, first->ripe))) continue;
      if (first == nullptr || first->ripe > now) return Found::kNothing;
      if (budget.spent()) return Found::kOutOfBudget;
      PLEAT_DCHECK(slots_.empty() || slots_.StartOf(*slots_.begin()) > first->ripe);
      const bool in_run = !run_.empty() && first == &run_.back();
      if (first->is_filed() || (in_run && run_version_ == ask.Version())) return Found::kDue;
      const bool counts = ask.Counts(first->number);
      const Answer answer = counts ? ask(first->number) : Answer{};
      PLEAT_DCHECK(!counts || answer.due >= first->ripe);
      if (counts && answer.due == first->ripe) return Found::kDue;
      budget.Take();
      const uint32_t number = (in_run ? PopRun() : PopHeap()).number;
      counts ? Arm(number, answer.due, answer.order) : DropStale(number, ask);
    }
  }

  // Moves on the entries of the slot or the part that surfaced. Returns false when the budget ran out
  // first.
  template <class Ask>
  bool Load(Budget& budget, const Ask& ask) {
    if (run_.empty()) run_version_ = ask.Version();
    if (run_version_ != ask.Version()) run_version_ = kMixed;
    Budget of_parts;
    while (!loading_.empty()) {
      if (budget.spent()) return false;
      Budget& looks = loads_part_ ? of_parts : budget;
      Chunk& chunk = *loading_.head;
      if (prefetched_ == nullptr) PrefetchEntries(&chunk, loading_.head_size, ask);
      if (prefetched_ == &chunk) PrefetchEntries(references_.After(chunk), Chunk::kRefs, ask);
      while (loading_.head_size > 0) {
        if (looks.left() == 0) return false;
        looks.Take();
        const uint32_t number = chunk.refs[--loading_.head_size];
        if (!ask.Counts(number)) {
          DropStale(number, ask);
          continue;
        }
        const Answer answer = ask(number);
        if (slots_.IndexOf(answer.due) >= surfaced_) {
          Arm(number, answer.due, answer.order);
        } else {
          PLEAT_DCHECK(answer.due >= loading_from_);
          run_.push_back({.ripe = answer.due,
                          .order = answer.order,
                          .number = number,
                          .by_event = false,
                          .tag = 0});
        }
      }
      if (loads_part_) budget.Take();
      references_.DropHead(loading_);
      if (loading_.empty() || run_.size() > run_full_) TendParts();
    }
    prefetched_ = nullptr;
    SortRun();
    return true;
  }

  template <class Ask>
  void PrefetchEntries(Chunk* chunk, size_t refs, const Ask& ask) {
    prefetched_ = chunk;
    if (chunk == nullptr) return;
    for (size_t i = refs; i-- > 0;) ask.Prefetch(chunk->refs[i]);
    if (const Chunk* const after = references_.After(*chunk)) Prefetch(after);
  }

  // Looks at the next chunks after the sweep's place, around all slots, and drops what is stale.
  template <class Ask>
  void Sweep(const Ask& ask) {
    if (slots_.empty()) return;
    Slot& slot = slots_.FirstFrom(sweep_index_);
    if (slot.index != sweep_index_ || sweep_chunk_ == nullptr) sweep_chunk_ = slot.head;
    sweep_index_ = slot.index;
    for (size_t n = 0; n < kSweepChunks && sweep_chunk_ != nullptr; ++n) {
      Chunk* chunk = sweep_chunk_;
      sweep_chunk_ = references_.After(*chunk);
      SweepChunk(slot, *chunk, ask);
    }
    if (sweep_chunk_ == nullptr) ++sweep_index_;
    if (slot.empty()) slots_.Free(slot);
  }

  // The heap is small as a rule. Where it is not, because everything is due within one slot, its
  // stale ones are dropped each time it has doubled.
  template <class Ask>
  void SweepHeap(const Ask& ask) {
    std::erase_if(heap_, [&](const Due& due) {
      const bool stale = !due.is_filed() && !ask.Counts(due.number);
      if (stale) DropStale(due.number, ask);
      return stale;
    });
    RebuildHeap();
    heap_sweep_at_ = std::max(kHeapSweepFrom, 2 * heap_.size());
  }

  template <class Ask>
  void SweepChunk(Slot& slot, Chunk& chunk, const Ask& ask) {
    for (size_t i = 0; i < (&chunk == slot.head ? slot.head_size : Chunk::kRefs);) {
      if (ask.Counts(chunk.refs[i])) {
        ++i;
        continue;
      }
      DropStale(chunk.refs[i], ask);
      // The last reference of the head chunk fills the gap.
      Chunk* head = slot.head;
      chunk.refs[i] = head->refs[--slot.head_size];
      if (slot.head_size > 0) continue;
      const bool was_this = head == &chunk;
      references_.DropHead(slot);
      if (was_this) return;
    }
  }

  TimeSlots slots_;
  uint64_t surfaced_ = 0;    // slots below this index were surfaced; arms there go to the heap
  std::vector<Due> run_;     // of the slot surfaced last; sorted, earliest at the back
  std::vector<Part> parts_;  // what comes behind that in this slot; earliest at the back
  const size_t run_full_;    // a longer run has no room for a chunk
  uint64_t run_version_ = kMixed;  // of all the answers that made the run
  std::vector<Due> heap_;          // earliest at the front
  size_t heap_sweep_at_ = kHeapSweepFrom;
  ReferenceLists::List loading_;  // what is left of the slot, or the part, being surfaced
  bool loads_part_ = false;       // it is a part
  EngineTime loading_from_{};     // where that begins
  Chunk* prefetched_ = nullptr;   // the last chunk whose entries were; null: none yet
  size_t stale_ = 0;
  uint64_t sweep_index_ = 0;
  Chunk* sweep_chunk_ = nullptr;  // of the slot sweep_index_; null: start over
  ReferenceLists references_;
};

}  // namespace pleat::inline v0_1
