// Events of a rollup counter: judged, and added to their windows.
#include "engine/rollup/rollup_book.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

Duration HorizonOf(const RollupOptions& options) noexcept {
  if (options.answer_horizon > Duration{0}) return options.answer_horizon;
  return options.accept_limit > kForever / 10 ? kForever : 10 * options.accept_limit;
}

// Corrections name the emission of a window that is kept.
Duration RetentionOf(const RollupOptions& options) noexcept {
  return options.on_late == OnLateAdd::kCorrect ? std::max(options.retention, HorizonOf(options))
                                                : options.retention;
}

}  // namespace

RollupBook::RollupBook(PagePool& pool, const RollupOptions& options, const HashKey& hash_key,
                       const HashKey& name_key, uint32_t partition,
                       const Outbox::Listeners& listeners)
    : OutboxBook(pool,
                 {.max_backlog = options.limits.max_backlog,
                  .on_backlog = OnBacklog::kRefuse,
                  .leases = options.leases},
                 partition, listeners),
      first_length_(options.windows.front()),
      plain_(!options.clears),
      windowing_(options),
      counters_(pool),
      lists_(pool),
      partition_(partition),
      hash_key_(hash_key),
      name_key_(name_key),
      pool_(pool),
      limits_(options.limits),
      on_late_(options.on_late),
      clears_(options.clears),
      horizon_(HorizonOf(options)),
      retention_(RetentionOf(options)),
      inside_bytes_(retention_ > Duration{0} || options.store != nullptr
                        ? CounterTable::kAccountBytes + CounterTable::kWindowBytes
                        : 0),
      forget_after_(std::max(options.forget_after, retention_)),
      frozen_time_(std::make_shared<FrozenTime>()),
      store_(options.store == nullptr ? nullptr : std::make_unique<Publications>()) {}

uint32_t RollupBook::CounterOf(const EventRef& event) const {
  return counters_.Find(event.key, event.hash);
}

void RollupBook::PrefetchRest(const Guess& guess) const noexcept {
  if (guess.counter == kNone || guess.removals != counters_.removals()) return;
  const PackedKey& key = counters_.at(guess.counter).key;
  if (key.is_long()) pleat::Prefetch(key.view().data());
}

// --- An event

AddOutcome RollupBook::FoldSlowly(const EventRef& event, const Entry& entry, const Instant& at) {
  if (counters_.saving()) [[unlikely]]
    return FoldWhileSaving(event, entry, at);
  return TakeEvent(event, entry, at);
}

// The counter is first kept as it was.
AddOutcome RollupBook::FoldWhileSaving(const EventRef& event, const Entry& entry,
                                       const Instant& at) {
  if (entry.counter != kNone) {
    counters_.Change(entry.counter);
    if (!clears_ && AddPlainly(event, entry.counter, at)) return AddOutcome::kAdded;
  }
  return TakeEvent(event, entry, at);
}

// Inline, because an event that opens a window pays for it.
[[gnu::always_inline]] inline AddOutcome RollupBook::TakeEvent(const EventRef& event,
                                                               const Entry& entry,
                                                               const Instant& at) {
  const CounterEvent& added = *static_cast<const CounterEvent*>(event.event);
  Turn turn{.event = event,
            .at = at,
            .delta = added.delta,
            .id = added.id,
            .name = {},
            .clears = false,
            .now = latest_.Reach(at.now),
            .position = latest_.NextPosition(at.position),
            .number = entry.counter,
            .stamp = event.at};
  NameEvent(turn, entry.guess);
  return Take(turn);
}

AddOutcome RollupBook::Clear(const EventRef& event, std::string_view id, const Instant& at) {
  Turn turn{.event = event,
            .at = at,
            .delta = 0,
            .id = id,
            .name = {},
            .clears = true,
            .now = latest_.Reach(at.now),
            .position = latest_.NextPosition(at.position),
            .number = CounterOf(event),
            .stamp = event.at};
  NameEvent(turn, nullptr);
  return Take(turn);
}

AddOutcome RollupBook::Refuse(AddOutcome why, const Instant&) noexcept {
  ++ledger_.events;
  return Count(why);
}

AddOutcome RollupBook::Take(Turn& turn) {
  ++ledger_.events;
  if (turn.number != kNone && forgets() && IsOver(turn.number)) {
    VisitAll(turn.at);
    turn.number = CounterOf(turn.event);
    if (turn.number != kNone && IsOver(turn.number)) {
      ForgetUnlessHeld(turn.number);
      turn.number = CounterOf(turn.event);
    }
  }
  if (const auto known = JudgeId(turn)) return Count(*known);
  if (const auto late = JudgeLate(turn)) return Count(*late);
  if (!MakeRoom(turn, Opens(turn))) return Count(AddOutcome::kOverLimit);
  Add(turn);
  Remember(turn, turn.stamp);
  return Count(turn.stamp == turn.event.at ? AddOutcome::kAdded : AddOutcome::kClamped);
}

AddOutcome RollupBook::Count(AddOutcome outcome) noexcept {
  switch (outcome) {
    case AddOutcome::kAdded: ++ledger_.added; break;
    case AddOutcome::kDuplicate: ++ledger_.duplicate; break;
    case AddOutcome::kConflict: ++ledger_.conflict; break;
    case AddOutcome::kLateUnknown: ++ledger_.late_unknown; [[fallthrough]];
    case AddOutcome::kLate: ++ledger_.late; break;
    case AddOutcome::kClamped: ++ledger_.clamped; break;
    case AddOutcome::kCorrected: ++ledger_.corrected; break;
    case AddOutcome::kFuture: ++ledger_.future; break;
    case AddOutcome::kOverLimit: ++ledger_.refused; break;
    default: break;  // not counted
  }
  return outcome;
}

// --- Ids

// What stands for the content of an event. A number is told from another kind of number by bits
// that no two kinds share by intent; that they do by chance takes one number in 2^64.
uint64_t RollupBook::WordOf(const Turn& turn) noexcept {
  constexpr uint64_t kClear = 0x9ae16a3b2f90404f;
  constexpr uint64_t kReal = 0xc2b2ae3d27d4eb4f;
  constexpr uint64_t kAbove = 0x9e3779b185ebca87;
  if (turn.clears) return kClear;
  switch (turn.delta.kind()) {
    case Delta::Kind::kInteger: return static_cast<uint64_t>(turn.delta.whole());
    // -0.0 + 0.0 is 0.0: one number is one content.
    case Delta::Kind::kReal: return std::bit_cast<uint64_t>(turn.delta.real() + 0.0) ^ kReal;
    case Delta::Kind::kAbove: return kAbove;
    case Delta::Kind::kBelow: return ~kAbove;
  }
  return 0;
}

// Gives the event its name among ids, if it has an id.
void RollupBook::NameEvent(Turn& turn, const Guess* guess) {
  if (turn.id.empty()) return;
  if (ids_ == nullptr) ids_ = std::make_unique<EventIds>(pool_, name_key_, horizon_);
  const bool named = guess != nullptr && guess->named;
  turn.name = named ? guess->name : ids_->NameOf(turn.event.key, turn.id);
}

// Before anybody asks whether the event is late: a retry of what was counted is a duplicate, however
// late it is by now.
std::optional<AddOutcome> RollupBook::JudgeId(const Turn& turn) const {
  if (turn.id.empty()) return std::nullopt;
  const std::optional<uint64_t> known = ids_->Find(turn.name, turn.now);
  if (!known) return std::nullopt;
  return *known == WordOf(turn) ? AddOutcome::kDuplicate : AddOutcome::kConflict;
}

// Only an event that was counted is remembered, in the same step.
void RollupBook::Remember(const Turn& turn, EngineTime stamp) {
  if (!turn.id.empty()) ids_->Remember(turn.name, WordOf(turn), stamp, turn.now);
}

// --- Late events

// The outcome, or nothing if the event goes on, by now perhaps with another stamp.
std::optional<AddOutcome> RollupBook::JudgeLate(Turn& turn) {
  const EngineTime earliest = EarliestAt(turn.now);
  if (turn.event.at >= earliest) return std::nullopt;
  const bool unknown = turn.event.at < SaturatingSub(turn.now, horizon_);
  const AddOutcome rejected = unknown ? AddOutcome::kLateUnknown : AddOutcome::kLate;
  // An event beyond the horizon may have counted before, under its id.
  if (turn.clears || on_late_ == OnLateAdd::kReject || (unknown && !turn.id.empty())) {
    return rejected;
  }
  if (on_late_ == OnLateAdd::kClamp) {
    if (earliest > kEndOfTime) return rejected;  // the last window there is has ended
    turn.stamp = earliest;
    return std::nullopt;
  }
  // What is due goes out first: the emission to be corrected may be among it.
  VisitAll(turn.at);
  turn.number = CounterOf(turn.event);
  const Lack lack = WhatLacks(turn, /*opens=*/true);
  ledger_.refused_for_bytes += lack == Lack::kBytes;
  if (lack != Lack::kNothing) return AddOutcome::kOverLimit;
  Correct(turn);
  Remember(turn, turn.event.at);
  return AddOutcome::kCorrected;
}

// Into an emission by itself.
void RollupBook::Correct(const Turn& turn) {
  const bool is_new = turn.number == kNone;
  const uint32_t number = is_new ? counters_.New(turn.event.key, turn.event.hash) : turn.number;
  const EngineTime start = windowing_.StartOf(turn.event.at);
  const uint32_t corrected = counters_.FindWindow(counters_.at(number), 0, start);
  const uint32_t correction = counters_.NewWindow(number, 0, start);
  Window& window = counters_.ChangeKeptWindow(correction);
  window.correction = 1;
  window.total.Add(turn.delta);
  if (corrected != kNone && counters_.window(corrected).closed) {
    corrects_[correction] = counters_.window(corrected).generation;
  }
  HandOut(correction, Reason::kCorrection, turn.now, turn.position, /*by_event=*/true, turn.at);
  if (is_new) counters_.Remove(number);
}

// --- Limits

// Whether the event opens a window.
bool RollupBook::Opens(const Turn& turn) const {
  if (turn.number == kNone) return true;
  const Counter& counter = counters_.at(turn.number);
  const EngineTime start = windowing_.StartOf(turn.stamp);
  return !CounterTable::IsInside(counter, start) &&
         counters_.FindWindow(counter, 0, start) == kNone;
}

RollupBook::Lack RollupBook::WhatLacks(const Turn& turn, bool opens) const {
  size_t need = turn.id.empty() ? 0 : EventIds::kIdBytes;
  if (clears_) need += kStampedBytes;
  if (turn.number == kNone) need += CounterTable::BytesOfNew(turn.event.key);
  if (opens) {
    // At most: some of this may be there.
    constexpr size_t kEach =
        CounterTable::kWindowBytes + WindowLists::kEntryBytes + WindowLists::kListBytes;
    need += CounterTable::kAccountBytes + windowing_.resolutions() * kEach;
  }
  if (turn.number == kNone && counters_.size() >= limits_.max_keys) return Lack::kKeys;
  if (need > 0 && bytes() + need > limits_.max_bytes) return Lack::kBytes;
  return opens && outbox_.is_full() ? Lack::kBacklog : Lack::kNothing;
}

// What is over makes room first, so that the answer does not depend on who has looked when.
bool RollupBook::MakeRoom(Turn& turn, bool opens) {
  if (!opens && turn.id.empty() && !clears_) return true;
  if (WhatLacks(turn, opens) == Lack::kNothing) return true;
  VisitAll(turn.at);
  turn.number = CounterOf(turn.event);
  const Lack lack = WhatLacks(turn, Opens(turn));
  ledger_.refused_for_bytes += lack == Lack::kBytes;
  return lack == Lack::kNothing;
}

// --- Into windows

void RollupBook::Add(Turn& turn) {
  if (turn.number == kNone) {
    turn.number = counters_.New(turn.event.key, turn.event.hash);
    ++ledger_.keys_opened;
    if (store_ != nullptr) store_->Begin(turn.number);
  } else {
    counters_.Change(turn.number);
  }
  const EngineTime start = windowing_.StartOf(turn.stamp);
  PLEAT_CHECK(windowing_.EndOf(start) > windowing_.FrontierAt(turn.now));
  if (turn.clears) ++ledger_.clears;
  if (!AddInside(turn, start)) AddOutside(turn, start);
}

// Adds the event to the window inside the counter, or begins one there. Returns false if that
// cannot be.
bool RollupBook::AddInside(const Turn& turn, EngineTime start) {
  if (clears_ || turn.delta.kind() != Delta::Kind::kInteger) return false;
  Counter& counter = counters_.ChangeKept(turn.number);
  const int64_t delta = turn.delta.whole();
  if (start > counter.start) {
    if (counter.count > 0) MoveOut(turn.number);
    counter.start = start;
    counter.count = 1;
    counter.sum = delta;
    ++inside_;
    NoteOpened(turn, start);
  } else {
    int64_t sum;
    if (!CounterTable::IsInside(counter, start) || counter.count == UINT32_MAX ||
        __builtin_add_overflow(counter.sum, delta, &sum)) {
      return false;
    }
    counter.sum = sum;
    ++counter.count;
  }
  NoteAdded(static_cast<uint64_t>(delta));
  return true;
}

void RollupBook::AddOutside(const Turn& turn, EngineTime start) {
  Counter& counter = counters_.ChangeKept(turn.number);
  if (counter.count > 0 && counter.start <= start) MoveOut(turn.number);
  counter.start = std::max(counter.start, start);
  uint32_t number = counters_.FindWindow(counter, 0, start);
  if (number == kNone) {
    number = counters_.NewWindow(turn.number, 0, start);
    counters_.Chain(number);
    NoteOpened(turn, start);
  }
  Window& window = counters_.ChangeKeptWindow(number);
  PLEAT_CHECK(!window.closed);
  if (clears_) AddToDetail(turn, number);
  if (turn.clears) return;
  const int64_t before = window.total.whole;
  window.total.Add(turn.delta);
  const auto delta = static_cast<uint64_t>(window.total.whole) - static_cast<uint64_t>(before);
  NoteAdded(delta);
  Account& account = counters_.AccountOf(counter);
  ++account.open_count;
  account.irregular |=
      !window.total.plain() || IsFar(window.total.whole, kOpenBits) ||
      __builtin_add_overflow(account.open_sum, static_cast<int64_t>(delta), &account.open_sum);
}

// The window inside goes outside, where older windows lie.
void RollupBook::MoveOut(uint32_t number) {
  const Counter& before = counters_.at(number);
  const uint32_t count = before.count;
  const int64_t sum = before.sum;
  const bool may_have_ended = before.start < floor_;
  const uint32_t window = counters_.MoveOut(number);
  --inside_;
  if (may_have_ended) [[unlikely]] {
    counters_.ChangeKeptWindow(window).closed = IsEnded(EndOf(counters_.window(window)));
  }
  Account& account = counters_.AccountOf(counters_.ChangeKept(number));
  account.open_count += count;
  account.irregular |=
      IsFar(sum, kOpenBits) || __builtin_add_overflow(account.open_sum, sum, &account.open_sum);
}

// The counter has a new window, and with it those of further resolutions, if they are new, too.
void RollupBook::NoteOpened(const Turn& turn, EngineTime start) {
  ++windows_opened_;
  ++ledger_.windows;
  ++ledger_.open;
  lists_.Append({windowing_.EndOf(start), 0}, turn.number, turn.position);
  for (size_t i = 1; i < windowing_.resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const EngineTime coarse = windowing_.StartOf(turn.stamp, resolution);
    if (counters_.FindWindow(counters_.at(turn.number), resolution, coarse) != kNone) continue;
    counters_.Chain(counters_.NewWindow(turn.number, resolution, coarse));
    ++ledger_.windows;
    ++ledger_.open;
    lists_.Append({windowing_.EndOf(coarse, resolution), resolution}, turn.number, turn.position);
  }
}

void RollupBook::NoteAdded(uint64_t delta) noexcept {
  ++ledger_.pending;
  ledger_.delta_added += delta;
  ledger_.delta_pending += delta;
}

// With clears, the events of open windows are kept one by one: a clear that comes later may lie
// between them.
void RollupBook::AddToDetail(const Turn& turn, uint32_t window) {
  Detail& detail = details_[window];
  if (!turn.clears) {
    detail.events.push_back({turn.stamp, turn.delta});
    detail_bytes_ += kStampedBytes;
    if (detail.clear && turn.stamp >= *detail.clear) detail.after.Add(turn.delta);
    return;
  }
  if (detail.clear && turn.stamp < *detail.clear) return;
  detail.clear = turn.stamp;
  detail.after = {};
  for (const Stamped& each : detail.events) {
    if (each.at > turn.stamp) detail.after.Add(each.delta);
  }
}

// --- Counts

size_t RollupBook::bytes() const noexcept {
  return counters_.bytes() + inside_ * inside_bytes_ + ledger_.open * WindowLists::kEntryBytes +
         lists_.size() * WindowLists::kListBytes + detail_bytes_ +
         (ids_ == nullptr ? 0 : ids_->bytes());
}

// A window of the first resolution is a group: so its events have opened it, or were folded.
Ledger RollupBook::ledger() const noexcept {
  Ledger ledger;
  ledger.events = ledger_.events;
  ledger.opened = windows_opened_;
  ledger.folded = ledger_.added + ledger_.clamped - windows_opened_;
  ledger.late = ledger_.late;
  ledger.future = ledger_.future;
  ledger.refused = ledger_.refused;
  ledger.refused_for_bytes = ledger_.refused_for_bytes;
  ledger.duplicate = ledger_.duplicate;
  ledger.conflict = ledger_.conflict;
  ledger.corrected = ledger_.corrected;
  ledger.closed = windows_closed_;
  ledger.open = windows_opened_ - windows_closed_;
  ledger.partial = ledger_.frozen + ledger_.ended - windows_closed_;
  std::ranges::copy(emissions_, ledger.emissions.begin());
  outbox_.AddTo(ledger);
  return ledger;
}

Sizes RollupBook::sizes() const noexcept {
  const Ledger now = ledger();
  return {.open_groups = now.open,
          .ready_emissions = now.ready,
          .unacked_emissions = now.unacked,
          .dead_letters = now.dead,
          .bytes = bytes()};
}

RollupSizes RollupBook::rollup_sizes() const noexcept {
  return {.keys = counters_.size(),
          .open = ledger_.open,
          .retained = kept_,
          .ids = ids_ == nullptr ? 0 : ids_->size(),
          .ready = sizes().ready_emissions,
          .unpublished = unpublished(),
          .bytes = bytes()};
}

}  // namespace pleat::inline v0_1
