#include "engine/fold/fold_book.h"

#include <algorithm>
#include <memory>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

bool IsPlain(const FolderOptions& options, const StateOps& ops, bool has_extra) {
  return !has_extra && options.late.allowed_lateness == kForever &&
         options.max_group_bytes == kNoByteCap && ops.condition == nullptr;
}

// Whether what opens a group is its first event, and not the memory, the observer, the trace or Extra.
bool OpensPlainly(const FolderOptions& options, const StateOps& ops) {
  return options.late.allowed_lateness == kForever && !ops.has_ids &&
         !GroupClock::NeedsExtra(options, ops) && !Memory::IsNeeded(options, ops) &&
         !FoldObserver::IsNeeded(options) && options.measure.max_trace == 0;
}

OutboxOptions OutboxOptionsOf(const FolderOptions& options) {
  return {.max_backlog = options.limits.max_backlog,
          .on_backlog = options.limits.on_backlog,
          .leases = options.leases,
          .max_trace = options.measure.max_trace};
}

size_t PlainBelow(const FolderOptions& options, const StateOps& ops, bool has_extra) {
  if (!IsPlain(options, ops, has_extra)) return 0;
  return ops.heap_bytes == nullptr ? SIZE_MAX : Room::FullFrom(options.limits);
}

}  // namespace

FoldBook::FoldBook(PagePool& pool, const FolderOptions& options, const Setting& setting,
                   uint32_t partition, const Outbox::Listeners& listeners)
    : OutboxBook(pool, OutboxOptionsOf(options), partition, listeners),
      plain_below_(PlainBelow(options, setting.ops, GroupClock::NeedsExtra(options, setting.ops))),
      max_events_low_(static_cast<uint32_t>(options.max_events)),
      on_arrival_(setting.on_arrival),
      opens_plainly_(OpensPlainly(options, setting.ops)),
      max_groups_(options.limits.max_groups),
      leading_events_(options.leading_events),
      memory_(Memory::IsNeeded(options, setting.ops)
                  ? std::make_unique<Memory>(pages_, options, setting.name_key)
                  : nullptr),
      observer_(FoldObserver::IsNeeded(options)
                    ? std::make_unique<FoldObserver>(pages_, options, setting.name_key,
                                                     setting.measure, memory_.get())
                    : nullptr),
      groups_(pages_, options, setting.ops),
      room_(options.limits, groups_, memory_.get()),
      usual_plain_below_(plain_below_),
      setting_(setting),
      hash_key_(setting.hash_key),
      ops_(setting.ops),
      end_rules_(options, setting.ops),
      emitter_(options, setting.ops, partition,
               {latest_, groups_, memory_.get(), observer_.get(), room_, outbox_, ledger_,
                trace_.get()}),
      admission_(options, setting.ops, on_arrival_,
                 {groups_, memory_.get(), room_, outbox_, emitter_, ledger_}) {}

void FoldBook::AddTo(GapStats& stats) {
  if (observer_ == nullptr) return;  // measuring has ended meanwhile
  observer_->AddTo(stats);
  stats.events += ledger_.opened + ledger_.folded;
}

// --- A group by its key

// The key's group unless time has already closed it.
uint32_t FoldBook::FindOpen(std::string_view key, uint64_t hash, EngineTime now) const {
  const uint32_t number = groups_.Find(PackedKey(key), hash).number;
  return number == kNone || groups_.DueOf(number) <= now ? kNone : number;
}

// The key's open group, which a call is about to end: the instants of its grid so far come first.
uint32_t FoldBook::FindToEnd(std::string_view key, uint64_t hash, const Instant& at) {
  const EngineTime now = latest_.Reach(at.now);
  emitter_.CloseBeforeMemoryFills(at);
  const uint32_t number = FindOpen(key, hash, now);
  if (number != kNone) emitter_.CutBefore(number, now);
  return number;
}

bool FoldBook::Flush(std::string_view key, uint64_t hash, const Instant& at) {
  const uint32_t number = FindToEnd(key, hash, at);
  if (number == kNone) return false;
  const uint64_t order = OrderOf(latest_.NextPosition(at.position), Step::kBehindIt);
  emitter_.End(number, Reason::kFlush, order, at);
  return true;
}

bool FoldBook::Cancel(std::string_view key, uint64_t hash, const Instant& at) {
  const uint32_t number = FindToEnd(key, hash, at);
  if (number == kNone) return false;
  emitter_.Cancel(number, at);
  return true;
}

bool FoldBook::SetDeadline(std::string_view key, uint64_t hash, EngineTime deadline,
                           const Instant& at) {
  const uint32_t number = FindToEnd(key, hash, at);
  if (number == kNone) return false;
  const EngineTime now = latest_.now();
  const EngineTime armed_by = groups_.DueOf(number);
  groups_.set_closing_time(number, ClosingTimeOf(groups_.at(number), deadline, now));
  if (groups_.DueOf(number) <= now) {
    const uint64_t order = OrderOf(latest_.NextPosition(at.position), Step::kBehindIt);
    emitter_.End(number, groups_.ReasonByTime(number), order, at);
  } else if (groups_.DueOf(number) < armed_by) {
    emitter_.ArmEarlier(number, hash);
  } else {
    groups_.CallForPartial(number, now);
    emitter_.NoteLater();
  }
  return true;
}

bool FoldBook::Peek(std::string_view key, uint64_t hash, EngineTime now,
                    AnyFolder::Look look) const {
  const uint32_t number = FindOpen(key, hash, latest_.TimeOf(now));
  if (number == kNone) return false;
  look(groups_.InfoOf(number), groups_.state(number));
  return true;
}

// --- All groups

bool FoldBook::Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen,
                    AnyFolder::See see) const {
  now = latest_.TimeOf(now);
  return groups_.ForEachIndexedFrom(place, [&](uint32_t number) {
    if (groups_.DueOf(number) <= now) return true;
    if (seen == max) return false;
    ++seen;
    ShowGroup(number, see);
    return true;
  });
}

void FoldBook::ListOpen(uint32_t partition, EngineTime now,
                        absl::FunctionRef<void(const OpenPlace&)> see) const {
  now = latest_.TimeOf(now);
  uint32_t place = 0;
  groups_.ForEachIndexedFrom(place, [&](uint32_t number) {
    const EngineTime due = groups_.DueOf(number);
    if (due > now) see({due, groups_.position(number), partition, number});
    return true;
  });
}

void FoldBook::BeginClosing(const Instant& at) {
  latest_.Reach(at.now);
  emitter_.BeginClosing(OrderOf(latest_.NextPosition(at.position), Step::kBehindIt), at);
}

void FoldBook::FinishClosing(const Instant& at) { emitter_.FinishClosing(at); }

bool FoldBook::CloseDue(const Instant& at, Budget& budget) {
  latest_.Reach(at.now);
  return emitter_.CloseAndForget(at.now, budget, at);
}

bool FoldBook::EmitDue(const Instant& at, size_t most) {
  latest_.Reach(at.now);
  return emitter_.CloseUpTo(most, at) && emitter_.CloseNext(most, at);
}

size_t FoldBook::PopDue(const Instant& at, size_t max, AnyCollection::Take take) {
  latest_.Reach(at.now);
  return emitter_.PopDue(at, max, take);
}

EngineTime FoldBook::NextDue() const noexcept {
  const EngineTime next = groups_.NextDue();
  return memory_ == nullptr ? next : std::min(next, memory_->forgets_all_at());
}

// --- Other options

void FoldBook::SetOptions(const FolderOptions& options, const Instant& at) {
  const EngineTime now = latest_.Reach(at.now);
  const uint64_t position = latest_.NextPosition(at.position);
  emitter_.CloseAllDue(at);
  Budget all;
  outbox_.ExpireLeases(at, all);
  SetMeasure(options, now);
  const GroupClock::Periods before = groups_.clock().periods();
  const bool other_periods = GroupClock::PeriodsOf(options) != before;
  if (other_periods) SetPeriods(options);
  const bool lower_caps = end_rules_.Lowers(options);
  end_rules_.SetCaps(options);
  max_events_low_ = static_cast<uint32_t>(options.max_events);
  SetLimits(options.limits);
  if (memory_ != nullptr) memory_->SetOptions(options);
  admission_.SetOptions(options);
  outbox_.SetOptions(OutboxOptionsOf(options), at);
  opens_plainly_ = OpensPlainly(options, ops_);
  usual_plain_below_ = PlainBelow(options, ops_, groups_.has_extra());
  plain_below_ = groups_.saving() ? 0 : usual_plain_below_;
  if (other_periods || lower_caps) {
    emitter_.EndSome([&](uint32_t number) { return ReasonByOptions(number, now); },
                     OrderOf(position, Step::kBeforeIt), at);
  }
  if (other_periods) groups_.ArmByPeriods(before, now);
}

void FoldBook::SetMeasure(const FolderOptions& options, EngineTime now) {
  if (!FoldObserver::IsNeeded(options)) {
    observer_.reset();
  } else if (observer_ == nullptr) {
    observer_ = std::make_unique<FoldObserver>(pages_, options, setting_.name_key, setting_.measure,
                                               memory_.get());
  } else {
    observer_->SetMeasure(options.measure, now);
  }
  emitter_.SetObserver(observer_.get());
}

// What has ended keeps the deadline that it had.
void FoldBook::SetPeriods(const FolderOptions& options) {
  outbox_.ForEachEmission([this](const Ready& ready) {
    if (ready.by_event) groups_.Decide(ready.entry);
  });
  groups_.DecideOvertaken();
  groups_.SetPeriods(GroupClock::PeriodsOf(options));
  if (observer_ != nullptr) observer_->SetQuietPeriod(groups_.clock().quiet_period());
}

void FoldBook::SetLimits(const LimitOptions& limits) {
  max_groups_ = limits.max_groups;
  const bool counts = Room::TracksReady(limits) && !room_.tracks_ready();
  room_.SetLimits(limits, counts ? CountReadyBytes() : room_.ready_bytes());
  emitter_.NoteLimits();
}

// Why an open group would have ended before, had these options always been those in use.
std::optional<Reason> FoldBook::ReasonByOptions(uint32_t number, EngineTime now) const {
  if (groups_.DueOf(number) <= now) return groups_.ReasonByTime(number);
  return end_rules_.ReasonByCaps(groups_, number);
}

size_t FoldBook::CountReadyBytes() const {
  size_t bytes = 0;
  outbox_.ForEachEmission([&](const Ready& ready) { bytes += groups_.BytesOf(ready.entry); });
  return bytes;
}

// --- Counts

Ledger FoldBook::ledger() const noexcept { return outbox_.AddedTo(ledger_); }

void FoldBook::CheckWhole() const {
  groups_.CheckWhole();
  outbox_.CheckWhole();
  PLEAT_CHECK(ledger().Balances());
  PLEAT_CHECK(!room_.tracks_ready() || room_.ready_bytes() == CountReadyBytes());
}

}  // namespace pleat::inline v0_1
