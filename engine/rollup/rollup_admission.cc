#include "engine/rollup/rollup_admission.h"

#include <bit>
#include <cmath>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kAbove = 0x9e3779b185ebca87;

// What stands for the content of an event. Equal numbers have equal words, whatever their kind. Numbers
// that are no integers are told from integers by bits that the two do not share by intent; that they do
// by chance takes one number in 2^64.
uint64_t WordOf(double real) noexcept {
  constexpr uint64_t kReal = 0xc2b2ae3d27d4eb4f;
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (std::isnan(real)) return 0;
  if (real >= kEnd) return kAbove;
  if (real < -kEnd) return ~kAbove;
  const double whole = std::nearbyint(real);
  return real == whole ? static_cast<uint64_t>(static_cast<int64_t>(whole))
                       : std::bit_cast<uint64_t>(real) ^ kReal;
}

uint64_t WordOf(const RollupTurn& turn) noexcept {
  constexpr uint64_t kClear = 0x9ae16a3b2f90404f;
  if (turn.clears) return kClear;
  switch (turn.delta.kind()) {
    case Delta::Kind::kInteger: return static_cast<uint64_t>(turn.delta.whole());
    case Delta::Kind::kReal: return WordOf(turn.delta.real());
    case Delta::Kind::kAbove: return kAbove;
    case Delta::Kind::kBelow: return ~kAbove;
    case Delta::Kind::kNone: return 0;  // as of the number 0, which adds as much
  }
  return 0;
}

}  // namespace

RollupAdmission::RollupAdmission(const RollupOptions& options, const Parts& parts)
    : limits_(options.limits),
      on_late_(options.on_late),
      clock_(parts.clock),
      windows_(parts.windows),
      counters_(parts.windows.counters()),
      ids_(parts.ids),
      store_(parts.store),
      outbox_(parts.outbox),
      forgetter_(parts.forgetter),
      emitter_(parts.emitter),
      closer_(parts.closer),
      ledger_(parts.ledger) {}

// --- An event

AddOutcome RollupAdmission::Take(const EventRef& event, const Entry& entry, const Instant& at) {
  const CounterEvent& added = *static_cast<const CounterEvent*>(event.event);
  RollupTurn turn{.event = event,
                  .at = at,
                  .delta = added.delta,
                  .id = added.id,
                  .name = {},
                  .clears = false,
                  .now = clock_.Reach(at.now),
                  .position = clock_.NextPosition(at.position),
                  .number = entry.counter,
                  .stamp = event.at};
  NameEvent(turn, entry.guess);
  return TakeTurn(turn);
}

AddOutcome RollupAdmission::Clear(const EventRef& event, std::string_view id, const Instant& at) {
  RollupTurn turn{.event = event,
                  .at = at,
                  .delta = 0,
                  .id = id,
                  .name = {},
                  .clears = true,
                  .now = clock_.Reach(at.now),
                  .position = clock_.NextPosition(at.position),
                  .number = windows_.CounterOf(event),
                  .stamp = event.at};
  NameEvent(turn, nullptr);
  return TakeTurn(turn);
}

AddOutcome RollupAdmission::Refuse(AddOutcome why) noexcept {
  ++ledger_.events;
  return Count(why);
}

AddOutcome RollupAdmission::TakeTurn(RollupTurn& turn) {
  ++ledger_.events;
  if (turn.number != kNone && clock_.forgets() && forgetter_.IsOver(turn.number)) {
    closer_.VisitAll(turn.at);
    turn.number = windows_.CounterOf(turn.event);
    if (turn.number != kNone && forgetter_.IsOver(turn.number)) {
      forgetter_.ForgetUnlessHeld(turn.number);
      turn.number = windows_.CounterOf(turn.event);
    }
  }
  if (const auto known = JudgeId(turn)) return Count(*known);
  if (const auto late = JudgeLate(turn)) return Count(*late);
  if (!MakeRoom(turn, windows_.Opens(turn.number, turn.stamp))) {
    return Count(AddOutcome::kOverLimit);
  }
  Add(turn);
  Remember(turn, turn.stamp);
  return Count(turn.stamp == turn.event.at ? AddOutcome::kAdded : AddOutcome::kClamped);
}

void RollupAdmission::Add(RollupTurn& turn) {
  if (turn.number == kNone) {
    turn.number = Make(turn.event);
  } else {
    counters_.Change(turn.number);
  }
  if (turn.clears) ++ledger_.clears;
  windows_.Add(turn);
}

// A counter for the event's key.
uint32_t RollupAdmission::Make(const EventRef& event) {
  const uint32_t number = counters_.New(event.key, event.hash);
  ++ledger_.keys_opened;
  if (store_ != nullptr) store_->Begin(number);
  return number;
}

AddOutcome RollupAdmission::Count(AddOutcome outcome) noexcept {
  switch (outcome) {
    case AddOutcome::kAdded: ++ledger_.added; break;
    case AddOutcome::kDuplicate: ++ledger_.duplicate; break;
    case AddOutcome::kConflict: ++ledger_.conflict; break;
    case AddOutcome::kLateUnknown: ++ledger_.late_unknown; [[fallthrough]];
    case AddOutcome::kLate: ++ledger_.late; break;
    case AddOutcome::kClamped: ++ledger_.clamped; break;
    case AddOutcome::kCorrected: ++ledger_.corrected; break;
    case AddOutcome::kFuture: ++ledger_.future; break;
    case AddOutcome::kOverLimit: ++ledger_.over_limit; break;
    default: break;  // not counted
  }
  return outcome;
}

// --- Ids

// Gives the event its name among ids, if it has an id.
void RollupAdmission::NameEvent(RollupTurn& turn, const Guess* guess) {
  if (turn.id.empty()) return;
  const EventIds& ids = ids_.Make();
  const bool named = guess != nullptr && guess->named;
  turn.name = named ? guess->name : ids.NameOf(turn.event.key, turn.id);
}

// Before anybody asks whether the event is late: a retry of what was counted is a duplicate, however
// late it is by now.
std::optional<AddOutcome> RollupAdmission::JudgeId(const RollupTurn& turn) const {
  if (turn.id.empty()) return std::nullopt;
  const std::optional<uint64_t> known = ids_.get()->Find(turn.name, turn.now);
  if (!known) return std::nullopt;
  return *known == WordOf(turn) ? AddOutcome::kDuplicate : AddOutcome::kConflict;
}

// Only an event that was counted is remembered, in the same step.
void RollupAdmission::Remember(const RollupTurn& turn, EngineTime stamp) {
  if (!turn.id.empty()) ids_.get()->Remember(turn.name, WordOf(turn), stamp, turn.now);
}

// --- Late events

// The outcome, or nothing if the event goes on, by now perhaps with another stamp.
std::optional<AddOutcome> RollupAdmission::JudgeLate(RollupTurn& turn) {
  const EngineTime earliest = clock_.EarliestAt(turn.now);
  if (turn.event.at >= earliest) return std::nullopt;
  const bool unknown = turn.event.at < SaturatingSub(turn.now, clock_.horizon());
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
  closer_.VisitAll(turn.at);
  turn.number = windows_.CounterOf(turn.event);
  const Lack lack = WhatLacks(turn, /*opens=*/true);
  ledger_.over_byte_limit += lack == Lack::kBytes;
  if (lack != Lack::kNothing) return AddOutcome::kOverLimit;
  Correct(turn);
  Remember(turn, turn.event.at);
  return AddOutcome::kCorrected;
}

// Into an emission by itself.
void RollupAdmission::Correct(const RollupTurn& turn) {
  const bool is_new = turn.number == kNone;
  const uint32_t number = is_new ? counters_.New(turn.event.key, turn.event.hash) : turn.number;
  const EngineTime start = clock_.windowing().StartOf(turn.event.at);
  clock_.windowing().NoteOpened(turn.event.at);
  const uint32_t corrected = counters_.FindWindow(counters_.at(number), 0, start);
  const uint32_t correction = counters_.NewWindow(number, 0, start);
  CounterTable::Window& window = counters_.ChangeKeptWindow(correction);
  window.correction = 1;
  window.total.Add(turn.delta);
  if (corrected != kNone && counters_.window(corrected).closed) {
    emitter_.NoteCorrected(correction, counters_.window(corrected).generation);
  }
  emitter_.HandOut(correction, Reason::kCorrection, turn.now, turn.position, /*by_event=*/true,
                   turn.at);
  if (is_new) counters_.Remove(number);
}

// --- Limits

RollupAdmission::Lack RollupAdmission::WhatLacks(const RollupTurn& turn, bool opens) const {
  size_t need = turn.id.empty() ? 0 : EventIds::kIdBytes;
  if (windows_.clears().on()) need += Clears::kEventBytes;
  if (turn.number == kNone) need += CounterTable::BytesOfNew(turn.event.key);
  if (opens) need += windows_.bytes_to_open();
  if (turn.number == kNone && counters_.size() >= limits_.max_keys) return Lack::kKeys;
  if (need > 0 && bytes() + need > limits_.max_bytes) return Lack::kBytes;
  return opens && outbox_.is_full() ? Lack::kBacklog : Lack::kNothing;
}

bool RollupAdmission::MakeRoom(RollupTurn& turn, bool opens) {
  if (!opens && turn.id.empty() && !windows_.clears().on()) return true;
  if (WhatLacks(turn, opens) == Lack::kNothing) return true;
  closer_.VisitAll(turn.at);
  turn.number = windows_.CounterOf(turn.event);
  const Lack lack = WhatLacks(turn, windows_.Opens(turn.number, turn.stamp));
  ledger_.over_byte_limit += lack == Lack::kBytes;
  return lack == Lack::kNothing;
}

uint32_t RollupAdmission::FindOrMake(const EventRef& event) {
  const uint32_t found = windows_.CounterOf(event);
  if (found != kNone) return found;
  const bool room = counters_.size() < limits_.max_keys &&
                    bytes() + CounterTable::BytesOfNew(event.key) <= limits_.max_bytes;
  if (!room) return kNone;
  const uint32_t number = Make(event);
  if (clock_.forgets()) forgetter_.Release(number);
  return number;
}

}  // namespace pleat::inline v0_1
