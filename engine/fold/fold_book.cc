#include "engine/fold/fold_book.h"

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t RoundUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

// Where the state lies behind the 48 bytes of every group, or 80 with Extra, and how far groups lie apart: a group of
// up to 64 bytes fills exactly one cache line.
constexpr size_t StateOffset(const StateOps& ops, bool has_extra) {
  return RoundUp(has_extra ? 80 : 48, ops.align);
}
constexpr size_t StrideFor(const StateOps& ops, bool has_extra) {
  const size_t size = StateOffset(ops, has_extra) + ops.size;
  return size <= 64 ? 64 : RoundUp(size, std::max<size_t>(ops.align, 16));
}

// While it is open, a group takes a slot's reference (4 to 5 bytes) and a share of the index (9, between
// splits 7 to 15); while it waits to be popped, a place in the queue. The larger of the two is counted from
// the beginning, so that closing never takes a folder over its limit.
constexpr size_t kPlaceBytes = std::max<size_t>(14, sizeof(ReadyGroup));

bool NeedsExtra(const FolderOptions& options, const StateOps& ops) {
  return ops.marks != nullptr || options.quiet_floor > Duration{0} ||
         options.edge != Edge::kTrailing || options.partial_every != kForever ||
         options.late.on_late == OnLate::kCorrect;
}

bool NeedsMemory(const FolderOptions& options, const StateOps& ops) {
  return ops.has_ids || options.count_reopened || options.late.on_late == OnLate::kCorrect ||
         options.quiet_floor > Duration{0};
}

// The beginning of the last eighth of max_bytes is where groups are emitted early.
size_t FullFrom(const FolderOptions& options) {
  const bool emits = options.limits.on_limit == OnLimit::kEmitOldest;
  return emits ? options.limits.max_bytes - options.limits.max_bytes / 8 : options.limits.max_bytes;
}

// At an eighth of max_bytes no more is remembered of groups that are gone. One that is due adds to
// that when it is looked at, which must then not be put off. What is remembered for a group is
// little beside the group.
size_t RememberFrom(const FolderOptions& options, const StateOps& ops) {
  return NeedsMemory(options, ops) ? options.limits.max_bytes / 16 : SIZE_MAX;
}

// A group that is open can add two to the backlog: a partial, and itself.
size_t BacklogFrom(size_t max_backlog, size_t group_bytes) {
  return max_backlog > SIZE_MAX / group_bytes ? SIZE_MAX : max_backlog * group_bytes / 2;
}

}  // namespace

FoldBook::FoldBook(PagePool& pool, const FolderOptions& options, const StateOps& ops,
                   uint32_t partition, const HashKey& hash_key, Timeline& timeline,
                   const Listeners& listeners)
    : quiet_period_(std::min(options.quiet_period, kAllOfTime)),
      max_hold_(std::min(options.max_hold, kAllOfTime)),
      quiet_end_(After(kEndOfTime, quiet_period_)),
      hold_end_(After(kEndOfTime, max_hold_)),
      due_end_(std::min(quiet_end_, hold_end_)),
      max_events_low_(static_cast<uint32_t>(options.max_events)),
      has_extra_(NeedsExtra(options, ops)),
      is_particular_(has_extra_ || options.late.accept_limit != kForever ||
                     options.max_group_bytes != kNoByteCap || ops.condition != nullptr),
      two_lines_(StrideFor(ops, has_extra_) > 64),
      bytes_full_(FullFrom(options)),
      plain_below_(is_particular_              ? 0
                   : ops.heap_bytes == nullptr ? SIZE_MAX
                                               : bytes_full_),
      ops_(ops),
      state_offset_(StateOffset(ops, has_extra_)),
      index_(pool),
      slab_(pool, StrideFor(ops, has_extra_)),
      options_(options),
      partition_(partition),
      pool_(pool),
      hash_key_(hash_key),
      timeline_(timeline),
      group_bytes_(StrideFor(ops, has_extra_) + sizeof(Cold) + kPlaceBytes),
      backlog_from_(BacklogFrom(options.limits.max_backlog, group_bytes_)),
      catch_up_from_(std::min(backlog_from_, RememberFrom(options, ops))),
      keys_(pool),
      deadlines_(pool, std::min({options.quiet_period, options.max_hold, options.partial_every})),
      ready_(pool),
      memory_(NeedsMemory(options, ops) ? std::make_unique<Memory>(pool, options, hash_key)
                                        : nullptr),
      learner_(options.quiet_floor > Duration{0}
                   ? std::make_unique<QuietLearner>(options.quiet_floor, quiet_period_)
                   : nullptr),
      listeners_(listeners) {}

FoldBook::~FoldBook() {
  slab_.ForEach([this](uint32_t number) {
    if (slab_.cold(number).free()) return;
    ops_.destroy(ops_.context, state(number));
    keys_.Release(hot(number).key);
  });
}

void FoldBook::MeasureGaps(uint64_t exact, OpenPeak& peak) {
  gaps_ = std::make_unique<Gaps>(pool_, options_.measure.max_ghosts, exact, peak);
}

void FoldBook::AddTo(GapStats& stats) {
  gaps_->AddTo(stats);
  stats.events += ledger_.opened + ledger_.folded;
}

Deadlines::Answer FoldBook::Ask(uint32_t number) noexcept {
  Cold& cold = slab_.cold(number);
  if (!cold.free() && cold.ended == 0) {
    const Hot& group = hot(number);
    const EngineTime due = NextInstantOf(group);
    if (due <= seen_) {
      index_.Prefetch(group.hash);  // which it will soon leave
      if (gaps_ != nullptr) gaps_->Prefetch(group.hash);
    }
    return {.live = true, .due = due, .order = cold.position()};
  }
  cold.armed = 0;
  if (cold.free()) slab_.Free(number);
  return {.live = false, .due = {}, .order = 0};
}

// The key's group unless time has already closed it.
uint32_t FoldBook::FindOpen(std::string_view key, uint64_t hash, EngineTime now) const {
  const uint32_t number = Find(PackedKey(key), hash);
  if (number == KeyIndex::kNone || DueOf(hot(number)) <= now) return KeyIndex::kNone;
  return number;
}

// Find() out of line, for where it is rarely needed.
uint32_t FoldBook::FindSlowly(const PackedKey& key, uint64_t hash) const { return Find(key, hash); }

void FoldBook::NoteEarlier(uint32_t number, EngineTime at) {
  if (at >= FirstOf(number)) return;
  Cold& cold = slab_.cold(number);
  const Duration back = hot(number).opened - at;
  cold.back = back < Duration{kFar} ? static_cast<uint32_t>(back.count()) : kFar;
  if (cold.back == kFar) early_[number] = at;
}

EngineTime FoldBook::FirstOf(uint32_t number) const noexcept {
  const Cold& cold = slab_.cold(number);
  return cold.back == kFar ? early_.at(number) : hot(number).opened - Duration{cold.back};
}

void FoldBook::NoteCount(uint32_t number, EngineTime now, Position position) {
  if (hot(number).count == 0) ++wraps_[number];
  if (InfoOf(number).count != options_.max_events) return;
  CatchUp(now);
  CloseByEvent(number, Reason::kMaxEvents, now,
               OrderOf(NextPosition(position.Take()), Step::kBehindIt));
}

// An entry with the event in its state: a group, unless the caller makes something else of it.
uint32_t FoldBook::NewEntry(const FoldCall& call, uint64_t position) {
  const uint32_t number = slab_.Allocate();
  Hot& group = *::new (slab_.hot(number)) Hot{.hash = static_cast<uint32_t>(call.hash),
                                              .count = 1,
                                              .key = keys_.Keep(call.key),
                                              .last = call.at,
                                              .opened = call.at};
  slab_.cold(number) = Cold{};
  slab_.cold(number).set_position(position);
  bytes_ += group_bytes_ + KeyArena::BytesFor(group.key);
  ops_.open(ops_.context, state(number));
  ops_.fold(ops_.context, state(number), call.event);
  CountHeap(number, HeapBytesOf(number));  // what opening took included
  return number;
}

void FoldBook::OpenGroup(FoldCall& call, const EventMarks& marks) {
  if (options_.count_reopened) NoteReopened(call);
  const uint64_t position = PositionOf(call);
  const QuietLearner::Answer learned = AskLearnerToOpen(call, marks);
  const uint32_t number = NewEntry(call, position);
  Hot& group = hot(number);
  ++ledger_.opened;
  ++ledger_.open;
  if (gaps_ != nullptr) gaps_->NoteOpened(call.hash, call.edge, call.at);
  if (has_extra_) {
    ExtraOf(group) = Extra{.quiet_due = After(call.at, QuietPeriodOf(marks, learned.quiet)),
                           .next_partial = GridAfter(group, call.edge),
                           .corrects = kNothing,
                           .revision = 0,
                           .kind = Extra::Kind::kGroup,
                           .changed = true};
    ExtraOf(group).set_memo(learned.memo);
    if (options_.edge != Edge::kTrailing) HandOutLeading(number, call.now, position);
  }
  const EngineTime due = DueOf(group);
  std::optional<Reason> reason;
  if (options_.max_events == 1) reason = Reason::kMaxEvents;
  if (is_particular_) reason = ReasonBehind(number, marks.ends);
  if (!reason && due <= call.now) reason = ReasonByTime(group);
  if (reason) {
    NoteLeft(number);
    CloseByEvent(number, *reason, call.now, OrderOf(position, Step::kBehindIt));
  } else {
    index_.Insert(call.hash, number, [this](uint32_t n) { return HashOf(n); });
    slab_.cold(number).indexed = 1;
    slab_.cold(number).armed = 1;
    deadlines_.Arm(number, NextInstantOf(group), position);
  }
}

void FoldBook::Unindex(uint32_t number) {
  ++unindexed_;
  NoteLeft(number);
  index_.Erase(HashOf(number), number, [this](uint32_t n) { return HashOf(n); });
  slab_.cold(number).indexed = 0;
}

// The key's next event does not go to this group.
void FoldBook::NoteLeft(uint32_t number) {
  if (learner_ != nullptr) NotePause(number);
  if (gaps_ == nullptr) return;
  const Hot& group = hot(number);
  gaps_->NoteLeft(group.key.HashWith(hash_key_), group.last, seen_);
}

// Ends a group on behalf of the input that `order` tells of.
void FoldBook::CloseByEvent(uint32_t number, Reason reason, EngineTime now, uint64_t order) {
  Cold& cold = slab_.cold(number);
  if (cold.indexed != 0) Unindex(number);
  if (options_.count_reopened) NoteClosedEarly(number, reason);
  cold.ended = 1;
  const bool armed = cold.armed != 0;  // if not, the entry may be gone behind the next line
  PushInOrder(
      {.ripe = now, .order = order, .number = number, .by_event = true, .tag = TagOf(reason)});
  if (armed) deadlines_.NoteStale(Asker{*this});
}

// What an event has ended is ready at once if no older deadline waits, and else waits among them.
void FoldBook::PushInOrder(const Due& due) {
  if (deadlines_.NextDue() > due.ripe) {
    Push(due);
  } else {
    deadlines_.ArmEnded(due);
  }
}

void FoldBook::Push(const Due& due) {
  slab_.cold(due.number).ended = 1;
  if (!IsGroup(due.number)) return PushEmission(due);
  --ledger_.open;
  ++ledger_.closed;
  if (gaps_ != nullptr) gaps_->NoteClosed(hot(due.number).last - hot(due.number).opened);
  const bool silent = options_.edge == Edge::kLeading ||
                      (options_.edge == Edge::kBoth && InfoOf(due.number).count == 1);
  if (!silent) return PushEmission(due);
  ++ledger_.silent;
  DestroyState(due.number);
  FreeGroup(due.number);
}

void FoldBook::PushEmission(const Due& due) {
  const ReadyGroup ready{.ripe = due.ripe,
                         .order = due.order,
                         .generation = next_generation_++,
                         .number = due.number,
                         .by_event = due.by_event,
                         .reason = ReasonOf(due)};
  // At the end, as neither time nor positions go back in a book; but what one event emits early goes by its deadline.
  ready_.Insert(ready, [this](const ReadyGroup& mine, const ReadyGroup& other) {
    return Before(mine, *this, other);
  });
  ++ledger_.emissions[IndexOf(ReasonOf(due))];
  if (gaps_ != nullptr) gaps_->NoteEmission(InfoOf(due.number).count);
  if (TracksReady()) ready_bytes_ += BytesOf(due.number);
  if (has_extra_) {
    Extra& extra = this->extra(due.number);
    if (extra.kind == Extra::Kind::kGroup) ++extra.revision;
    if (extra.kind == Extra::Kind::kLeading || extra.kind == Extra::Kind::kPartial) {
      ++ledger_.partial;
    }
    if (extra.kind != Extra::Kind::kCorrection) NoteEmission(due.number, ready);
  }
  if (options_.limits.on_backlog == OnBacklog::kDropOldest &&
      backlog() > options_.limits.max_backlog) {
    DropOldest(ready);
  }
  if (!listeners_.empty()) TellListeners();
}

void FoldBook::DestroyState(uint32_t number) noexcept {
  UncountHeap(number);
  ops_.destroy(ops_.context, state(number));
}

bool FoldBook::CloseDue(EngineTime now, size_t& budget) {
  seen_ = std::max(seen_, now);
  return CloseGroups(now, budget) && (memory_ == nullptr || Forget(now, budget));
}

bool FoldBook::CloseGroups(EngineTime now, size_t& budget) {
  for (;;) {
    Due due;
    switch (deadlines_.Next(now, budget, Asker{*this}, due)) {
      case Deadlines::Found::kNothing: return true;
      case Deadlines::Found::kOutOfBudget: return false;
      case Deadlines::Found::kDue: break;
    }
    if (!due.by_event) {
      slab_.cold(due.number).armed = 0;
      if (due.ripe < DueOf(hot(due.number))) {
        PassPartial(due.number, due.ripe, now);
        continue;
      }
      due.tag = TagOf(ReasonByTime(due.number));
    }
    LeaveIndex(due.number, ReasonOf(due));
    Push(due);
  }
}

EngineTime FoldBook::NextDue() const noexcept {
  const EngineTime next = deadlines_.NextDue();
  return memory_ == nullptr ? next : std::min(next, memory_->forgets_all_at());
}

void FoldBook::LeaveIndex(uint32_t number, Reason reason) {
  if (slab_.cold(number).indexed == 0) return;
  Unindex(number);
  if (options_.count_reopened) NoteClosedEarly(number, reason);
}

bool FoldBook::Flush(std::string_view key, uint64_t hash, EngineTime now, uint64_t position) {
  // Others may come before this group, and fill the backlog, or what may be remembered.
  CatchUp(now);
  now = seen_ = std::max(now, seen_);
  const uint32_t number = FindOpen(key, hash, now);
  if (number == KeyIndex::kNone) return false;
  ++changes_;
  if (has_extra_) CutPartial(number, now);
  CloseByEvent(number, Reason::kFlush, now, OrderOf(NextPosition(position), Step::kBehindIt));
  return true;
}

bool FoldBook::Cancel(std::string_view key, uint64_t hash, EngineTime now) {
  // Others' partials may come before one of this group, and fill the backlog.
  if (has_extra_) CatchUp(now);
  now = seen_ = std::max(now, seen_);
  const uint32_t number = FindOpen(key, hash, now);
  if (number == KeyIndex::kNone) return false;
  ++changes_;
  if (has_extra_) CutPartial(number, now);
  Unindex(number);
  DestroyState(number);
  FreeGroup(number);
  --ledger_.open;
  ++ledger_.cancelled;
  if (gaps_ != nullptr) gaps_->NoteCancelled();
  deadlines_.NoteStale(Asker{*this});
  return true;
}

bool FoldBook::Peek(std::string_view key, uint64_t hash, EngineTime now,
                    AnyFolder::Look look) const {
  now = std::max(now, seen_);
  const uint32_t number = FindOpen(key, hash, now);
  if (number == KeyIndex::kNone) return false;
  look(InfoOf(number), state(number));
  return true;
}

void FoldBook::CloseAll(EngineTime now, uint64_t position) {
  now = std::max(now, seen_);
  position = NextPosition(position);
  size_t budget = std::numeric_limits<size_t>::max();
  CloseDue(now, budget);
  if (ledger_.open == 0 && !has_extra_) return;
  struct Open {
    EngineTime due;
    uint64_t position;
    uint32_t number;
  };
  std::vector<Open> open;
  open.reserve(ledger_.open);
  slab_.ForEach([&](uint32_t number) {
    const Cold& cold = slab_.cold(number);
    if (cold.free() || cold.ended != 0) return;
    open.push_back({DueOf(hot(number)), cold.position(), number});
  });
  std::sort(open.begin(), open.end(), [](const Open& a, const Open& b) {
    return a.due != b.due ? a.due < b.due : a.position < b.position;
  });
  for (const Open& each : open) {
    Cold& cold = slab_.cold(each.number);
    // An overtaken group ended by time already; only its turn had not come.
    const Reason reason = cold.indexed != 0 ? Reason::kEnd : ReasonByTime(each.number);
    if (cold.indexed != 0) NoteLeft(each.number);
    cold.indexed = 0;
    Push({.ripe = now,
          .order = OrderOf(position, Step::kBehindIt),
          .number = each.number,
          .by_event = true,
          .tag = TagOf(reason)});
  }
  ++changes_;
  ++unindexed_;
  index_.Clear();
  deadlines_.Clear();
  slab_.ForEach([this](uint32_t number) {
    Cold& cold = slab_.cold(number);
    if (cold.armed == 0) return;
    cold.armed = 0;
    if (cold.free()) slab_.Free(number);
  });
}

bool FoldBook::Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen,
                    AnyFolder::See see) const {
  now = std::max(now, seen_);
  return slab_.ForEachFrom(place, [&](uint32_t number) {
    const Cold& cold = slab_.cold(number);
    const Hot& group = hot(number);
    if (cold.free() || cold.indexed == 0 || DueOf(group) <= now) return true;
    if (seen == max) return false;
    ++seen;
    see(group.key.view(), InfoOf(number), state(number));
    return true;
  });
}

// Gives back everything but the state, which is gone already; the number only when nothing refers to
// it any more.
void FoldBook::FreeGroup(uint32_t number) noexcept {
  const PackedKey& key = hot(number).key;
  bytes_ -= group_bytes_ + KeyArena::BytesFor(key);
  keys_.Release(key);
  if (!wraps_.empty()) wraps_.erase(number);
  Cold& cold = slab_.cold(number);
  if (cold.back == kFar) early_.erase(number);
  cold.set_position(kFree);
  if (cold.armed == 0) slab_.Free(number);
}

GroupInfo FoldBook::InfoOf(uint32_t number) const noexcept {
  const Hot& group = hot(number);
  GroupInfo info;
  info.count = group.count;
  if (!wraps_.empty()) {
    const auto wraps = wraps_.find(number);
    if (wraps != wraps_.end()) info.count |= uint64_t{wraps->second} << 32;
  }
  info.first = FirstOf(number);
  info.last = group.last;
  return info;
}

size_t FoldBook::HeapBytesOf(uint32_t number) const noexcept {
  return ops_.heap_bytes == nullptr ? 0 : ops_.heap_bytes(ops_.context, state(number));
}

size_t FoldBook::UncountHeap(uint32_t number) noexcept {
  const size_t heap = HeapBytesOf(number);
#ifndef NDEBUG
  if (ops_.heap_bytes != nullptr && heap != heap_counted_.extract(number).mapped()) {
    Fail("HeapBytes() of a state has changed outside of its Fold()");
  }
#endif
  bytes_ -= heap;
  return heap;
}

Ledger FoldBook::ledger() const noexcept {
  Ledger ledger = ledger_;
  ledger.ready = ready_.size();
  if (leases_ != nullptr) {
    ledger.ready += leases_->waiting();
    ledger.unacked = leases_->unacked();
    ledger.dead = leases_->dead();
    ledger.deliveries = leases_->deliveries();
    ledger.nacked = leases_->nacked();
    ledger.ran_out = leases_->ran_out();
  }
  return ledger;
}

Sizes FoldBook::sizes() const noexcept {
  const Ledger now = ledger();
  return {.open_groups = now.open,
          .ready_emissions = now.ready,
          .unacked_emissions = now.unacked,
          .dead_letters = now.dead,
          .bytes = bytes_};
}

}  // namespace pleat::inline v0_1
