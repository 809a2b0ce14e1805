#include "engine/fold/fold_book.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

bool IsPlain(const FolderOptions& options, const StateOps& ops, bool has_extra) {
  return !has_extra && options.late.accept_limit == kForever &&
         options.max_group_bytes == kNoByteCap && ops.condition == nullptr;
}

size_t PlainBelow(const FolderOptions& options, const StateOps& ops, bool has_extra) {
  if (!IsPlain(options, ops, has_extra)) return 0;
  return ops.heap_bytes == nullptr ? SIZE_MAX : Room::FullFrom(options.limits);
}

}  // namespace

FoldBook::FoldBook(PagePool& pool, const FolderOptions& options, const Setting& setting,
                   uint32_t partition, const Outbox::Listeners& listeners)
    : OutboxBook(pool,
                 {.max_backlog = options.limits.max_backlog,
                  .on_backlog = options.limits.on_backlog,
                  .leases = options.leases},
                 partition, listeners),
      plain_below_(PlainBelow(options, setting.ops, GroupTable::NeedsExtra(options, setting.ops))),
      max_events_low_(static_cast<uint32_t>(options.max_events)),
      on_arrival_(setting.on_arrival),
      ops_(setting.ops),
      groups_(pool, options, setting.ops),
      options_(options),
      partition_(partition),
      memory_(Memory::IsNeeded(options, setting.ops)
                  ? std::make_unique<Memory>(pool, options, setting.hash_key)
                  : nullptr),
      room_(options.limits, groups_, memory_.get()),
      cuts_(groups_, room_, outbox_),
      end_rules_(options, setting.ops) {
  if (FoldObserver::IsNeeded(options)) {
    observer_ = std::make_unique<FoldObserver>(pool, options, setting.hash_key, setting.measure,
                                               memory_.get());
  }
}

void FoldBook::AddTo(GapStats& stats) {
  PLEAT_DCHECK(observer_ != nullptr);
  observer_->AddTo(stats);
  stats.events += ledger_.opened + ledger_.folded;
}

// --- A group by its key

// The key's group unless time has already closed it.
uint32_t FoldBook::FindOpen(std::string_view key, uint64_t hash, EngineTime now) const {
  const uint32_t number = groups_.Find(PackedKey(key), hash);
  return number == kNone || groups_.DueOf(number) <= now ? kNone : number;
}

// The key's open group, which a call is about to end: the instants of its grid so far come first.
uint32_t FoldBook::FindToEnd(std::string_view key, uint64_t hash, const Instant& at) {
  seen_ = std::max(at.now, seen_);
  CloseBeforeMemoryFills(seen_, at);
  const uint32_t number = FindOpen(key, hash, seen_);
  if (number == kNone) return kNone;
  ++changes_;
  if (groups_.has_extra()) cuts_.CutBefore(number, seen_);
  return number;
}

bool FoldBook::Flush(std::string_view key, uint64_t hash, const Instant& at) {
  const uint32_t number = FindToEnd(key, hash, at);
  if (number == kNone) return false;
  const uint64_t order = OrderOf(NextPosition(at.position), Step::kBehindIt);
  CloseByEvent(number, Reason::kFlush, seen_, order, at);
  return true;
}

bool FoldBook::Cancel(std::string_view key, uint64_t hash, const Instant& at) {
  const uint32_t number = FindToEnd(key, hash, at);
  if (number == kNone) return false;
  NoteLeft(number);
  groups_.End(number);
  groups_.DestroyState(number);
  groups_.Free(number);
  --ledger_.open;
  ++ledger_.cancelled;
  if (observer_ != nullptr) observer_->NoteCancelled();
  return true;
}

bool FoldBook::Peek(std::string_view key, uint64_t hash, EngineTime now,
                    AnyFolder::Look look) const {
  const uint32_t number = FindOpen(key, hash, std::max(now, seen_));
  if (number == kNone) return false;
  look(groups_.InfoOf(number), groups_.state(number));
  return true;
}

// --- All groups

bool FoldBook::Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen,
                    AnyFolder::See see) const {
  now = std::max(now, seen_);
  return groups_.ForEachIndexedFrom(place, [&](uint32_t number) {
    if (groups_.DueOf(number) <= now) return true;
    if (seen == max) return false;
    ++seen;
    see(groups_.at(number).key.view(), groups_.InfoOf(number), groups_.state(number));
    return true;
  });
}

void FoldBook::CloseAll(const Instant& at) {
  const EngineTime now = seen_ = std::max(at.now, seen_);
  const uint64_t order = OrderOf(NextPosition(at.position), Step::kBehindIt);
  size_t budget = SIZE_MAX;
  CloseGroups(now, budget, at);
  struct Open {
    Rank rank;
    uint32_t number;
    bool indexed;
  };
  std::vector<Open> open;
  open.reserve(ledger_.open);
  groups_.ForEachArmed(
      [&](uint32_t number) { open.push_back({RankOf(number), number, groups_.indexed(number)}); });
  std::sort(open.begin(), open.end(), [](const Open& a, const Open& b) { return a.rank < b.rank; });
  groups_.UnindexAndDisarmAll();
  ++changes_;
  for (const Open& each : open) {
    // An overtaken group ended by time already; only its turn had not come.
    const Reason reason = each.indexed ? Reason::kEnd : groups_.ReasonByTime(each.number);
    if (each.indexed) NoteLeft(each.number);
    Push({.ripe = now,
          .order = order,
          .number = each.number,
          .by_event = true,
          .tag = static_cast<uint8_t>(reason)},
         at);
  }
}

// --- Closing

bool FoldBook::CloseDue(const Instant& at, size_t& budget) {
  seen_ = std::max(seen_, at.now);
  return CloseAndForget(at.now, budget, at);
}

bool FoldBook::CloseAndForget(EngineTime now, size_t& budget, const Instant& at) {
  return CloseGroups(now, budget, at) && (memory_ == nullptr || memory_->Forget(now, budget));
}

bool FoldBook::EmitDue(const Instant& at, size_t& budget) {
  seen_ = std::max(seen_, at.now);
  return CloseGroups(at.now, budget, at);
}

EngineTime FoldBook::NextDue() const noexcept {
  const EngineTime next = groups_.NextDue();
  return memory_ == nullptr ? next : std::min(next, memory_->forgets_all_at());
}

bool FoldBook::CloseGroups(EngineTime now, size_t& budget, const Instant& at) {
  for (;;) {
    Due due;
    switch (groups_.Next(now, version(), budget, due)) {
      case Deadlines::Found::kNothing: return true;
      case Deadlines::Found::kOutOfBudget: return false;
      case Deadlines::Found::kDue: break;
    }
    if (!due.by_event) {
      if (due.ripe < groups_.DueOf(due.number)) {
        PassPartial(due.number, due.ripe, now, at);
        continue;
      }
      due.tag = static_cast<uint8_t>(groups_.ReasonByTime(due.number));
    }
    LeaveIndex(due.number);
    Push(due, at);
  }
}

void FoldBook::LeaveIndex(uint32_t number) {
  if (!groups_.indexed(number)) return;
  NoteLeft(number);
  groups_.Unindex(number);
}

void FoldBook::NoteLeft(uint32_t number) {
  if (observer_ != nullptr) observer_->NoteLeft(groups_, number, seen_, groups_.bytes());
}

// Ends a group on behalf of the input that `order` tells of.
void FoldBook::CloseByEvent(uint32_t number, Reason reason, EngineTime now, uint64_t order,
                            const Instant& at) {
  if (groups_.indexed(number)) NoteLeft(number);
  groups_.End(number);
  PushInOrder({.ripe = now,
               .order = order,
               .number = number,
               .by_event = true,
               .tag = static_cast<uint8_t>(reason)},
              at);
}

// An entry that an event has ended goes out at once if no older deadline waits, and else waits
// among them.
void FoldBook::PushInOrder(const Due& due, const Instant& at) {
  if (groups_.NextDue() > due.ripe) {
    Push(due, at);
  } else {
    groups_.File(due);
  }
}

void FoldBook::Push(const Due& due, const Instant& at) {
  PLEAT_DCHECK(!groups_.indexed(due.number));
  if (!groups_.IsGroup(due.number)) return PushEmission(due, at);
  --ledger_.open;
  ++ledger_.closed;
  if (observer_ != nullptr) observer_->NoteClosed(groups_.at(due.number));
  const bool silent = options_.edge == Edge::kLeading ||
                      (options_.edge == Edge::kBoth && groups_.CountOf(due.number) == 1);
  if (!silent) return PushEmission(due, at);
  ++ledger_.silent;
  groups_.DestroyState(due.number);
  groups_.Free(due.number);
}

void FoldBook::PushEmission(const Due& due, const Instant& at) {
  const uint32_t number = due.number;
  PLEAT_DCHECK(due.ripe <= seen_ && due.tag != 0);
  ++ledger_.emissions[IndexOf(static_cast<Reason>(due.tag))];
  if (observer_ != nullptr) observer_->NoteEmission(groups_.CountOf(number));
  if (room_.tracks_ready()) room_.NoteReady(groups_.BytesOf(number));
  if (groups_.has_extra()) {
    Extra& extra = groups_.extra(number);
    if (extra.kind == Kind::kGroup) ++extra.revision;
    if (extra.kind == Kind::kLeading || extra.kind == Kind::kPartial) ++ledger_.partial;
    if (extra.kind != Kind::kCorrection && options_.late.on_late == OnLate::kCorrect) {
      memory_->RememberEmission(groups_.at(number).key, outbox_.next_generation(), due.ripe, seen_,
                                groups_.bytes());
    }
  }
  outbox_.Push({.ripe = due.ripe,
                .order = due.order,
                .generation = 0,
                .entry = number,
                .by_event = due.by_event,
                .tag = due.tag},
               at);
}

// --- The entries, for the outbox

ClosedGroup FoldBook::Show(const Ready& ready) const noexcept {
  const uint32_t number = ready.entry;
  const Group& group = groups_.at(number);
  const auto reason = static_cast<Reason>(ready.tag);
  // An event that was too old for the group has closed the group before its time.
  const bool too_old = ready.by_event && StepOf(ready.order) == Step::kBeforeIt;
  const bool by_time = !too_old && (reason == Reason::kQuiet || reason == Reason::kMaxHold ||
                                    reason == Reason::kPartial);
  ClosedGroup shown;
  static_cast<GroupInfo&>(shown) = groups_.InfoOf(number);
  shown.key = group.key.view();
  shown.state = groups_.state(number);
  shown.closed = by_time ? groups_.DueOf(group) : ready.ripe;
  shown.reason = reason;
  shown.id = {.partition = partition_, .generation = ready.generation};
  if (groups_.has_extra()) {
    const Extra& extra = groups_.extra(number);
    shown.revision = extra.revision;
    shown.partial = extra.kind == Kind::kLeading || extra.kind == Kind::kPartial;
    if (extra.corrects != GroupTable::kNothing) {
      shown.corrects = EmissionId{partition_, extra.corrects};
    }
  }
  return shown;
}

// An emission leaves for good; its state is still there.
void FoldBook::NoteGone(uint32_t number) noexcept {
  const size_t heap = groups_.UncountHeap(number);
  if (room_.tracks_ready()) room_.NoteGone(groups_.BytesOfNew(groups_.at(number).key) + heap);
}

ClosedGroup FoldBook::GiveAway(const Ready& ready) noexcept {
  NoteGone(ready.entry);
  return Show(ready);
}

void FoldBook::Discard(const Ready& ready) noexcept {
  NoteGone(ready.entry);
  ops_.destroy(ops_.context, groups_.state(ready.entry));
  groups_.Free(ready.entry);
}

// --- Counts

Ledger FoldBook::ledger() const noexcept {
  Ledger ledger = ledger_;
  outbox_.AddTo(ledger);
  return ledger;
}

Sizes FoldBook::sizes() const noexcept {
  const Ledger now = ledger();
  return {.open_groups = now.open,
          .ready_emissions = now.ready,
          .unacked_emissions = now.unacked,
          .dead_letters = now.dead,
          .bytes = room_.bytes()};
}

void FoldBook::CheckWhole() const {
  groups_.CheckWhole();
  outbox_.CheckWhole();
  PLEAT_CHECK(ledger().Balances());
}

}  // namespace pleat::inline v0_1
