// The way of an event that is not simply folded, step by step as docs/semantics.md counts them: it is late,
// or a duplicate, or at a limit, or it opens a group, or it is older than the one that did, or its folder has marks,
// edges or partials, or learns its quiet period.
#include <algorithm>
#include <limits>

#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

FoldOutcome FoldBook::FoldElsewhere(uint32_t number, FoldCall call) {
  if (bytes_ >= catch_up_from_ && CatchUp(call.now)) {
    call.now = std::max(call.now, seen_);  // it may have been told of a later time
    call.edge = std::max(call.edge, seen_);
    number = FindSlowly(call.key, call.hash);
    ++changes_;
  }
  const bool late = IsLate(call);
  if (late && options_.late.on_late == OnLate::kReject) {
    ++ledger_.late;
    return FoldOutcome::kLate;
  }
  if (late && options_.late.on_late == OnLate::kCorrect) return Correct(call);

  EventMarks marks;
  if (ops_.marks != nullptr) marks = ops_.marks(ops_.context, call.key.view(), call.event);
  ExpiringMap::Name id{};
  if (ops_.has_ids) {
    id = NameOf(call.key, marks.id);
    if (const ExpiringMap::Known* taken = memory_->ids.Find(id, call.now)) {
      const bool same = taken->word == marks.content;
      ++(same ? ledger_.duplicate : ledger_.conflict);
      return same ? FoldOutcome::kDuplicate : FoldOutcome::kConflict;
    }
  }
  const bool starts = marks.starts || IsTooOld(number, call.at);
  if (IsOverloaded(number, call, starts)) {
    ++ledger_.overloaded;
    return FoldOutcome::kOverloaded;
  }
  if (!MakeRoom(number, call, starts)) {
    ++ledger_.refused;
    return FoldOutcome::kOverLimit;
  }
  if (late) ++ledger_.late_folded;
  if (ops_.has_ids) {
    ChangeMemory([&](Memory& memory) {
      size_t budget = 4;  // so that what is over goes as fast as new names come
      memory.ids.Expire(call.now, budget);
      memory.ids.Put(id, marks.content, SaturatingAdd(call.at, options_.late.accept_limit));
    });
  }

  const bool open = IsOpen(number, call);
  if (open && has_extra_) CutPartial(number, call.edge);
  if (open && !starts) {
    if (call.at < hot(number).opened) NoteEarlier(number, call.at);
    if (!is_particular_) {
      FoldInto(hot(number), number, call.event, call.at, call.now, call.edge, call.position);
      return FoldOutcome::kFolded;
    }
    Hot& group = hot(number);
    const Duration gap = call.edge - group.last;
    Take(group, number, call.event, call.at, call.edge);
    if (group.count == 0) ++wraps_[number];
    if (has_extra_) {
      Extra& extra = ExtraOf(group);
      const auto learned = AskLearner(marks, gap, extra.memo());
      extra.set_memo(learned.memo);
      extra.quiet_due =
          std::max(extra.quiet_due, After(call.at, QuietPeriodOf(marks, learned.quiet)));
      extra.changed = true;
    }
    if (const std::optional<Reason> reason = ReasonBehind(number, marks.ends)) {
      CloseByEvent(number, *reason, call.now, OrderOf(PositionOf(call), Step::kBehindIt));
    }
    return FoldOutcome::kFolded;
  }
  if (open) {
    const Reason reason = marks.starts ? Reason::kStartMark : Reason::kMaxHold;
    CloseByEvent(number, reason, call.now, OrderOf(PositionOf(call), Step::kBeforeIt));
  } else if (number != KeyIndex::kNone) {
    Overtake(number, call);
  }
  OpenGroup(call, marks);
  return FoldOutcome::kOpened;
}

bool FoldBook::IsLate(const FoldCall& call) const noexcept {
  return options_.late.accept_limit != kForever && call.now != kBeginningOfTime &&
         call.at < SaturatingSub(call.now, options_.late.accept_limit);
}

// Whether the event is too old for the key's group. Only on arrival time: there one stamp too far ahead would else
// hold the key's group open until that time comes, however many events it gets.
bool FoldBook::IsTooOld(uint32_t number, EngineTime at) const noexcept {
  return number != KeyIndex::kNone && timeline_.axis() == Axis::kArrival &&
         hot(number).opened - at > max_hold_;
}

// Whether the event would open a group while too many emissions wait.
bool FoldBook::IsOverloaded(uint32_t number, const FoldCall& call, bool starts) const {
  return backlog() >= options_.limits.max_backlog &&
         options_.limits.on_backlog == OnBacklog::kRefuse && (starts || !IsOpen(number, call));
}

// How many bytes the event takes, as far as that is known before it is folded. `number` is its
// key's group.
size_t FoldBook::NeedOf(uint32_t number, const FoldCall& call, bool starts) const noexcept {
  const size_t id = ops_.has_ids ? ExpiringMap::kNameBytes : 0;
  if (starts || !IsOpen(number, call)) {
    return id + (options_.edge == Edge::kTrailing ? 1 : 2) * BytesOfNew(call.key);
  }
  return id + (ops_.heap_bytes != nullptr ? 1 : 0);  // at least
}

// Whether the event may come in; if the limits say that others make room for it, they have. `number` is
// the key's group, before and after.
bool FoldBook::MakeRoom(uint32_t& number, FoldCall& call, bool starts) {
  if (!Fits(NeedOf(number, call, starts), used(), bytes_full_)) {
    const auto need = [&] {
      // Its own group may be among those that have closed.
      number = FindSlowly(call.key, call.hash);
      return NeedOf(number, call, starts);
    };
    if (!MakeRoomInBytes(call, need)) return false;
  }
  const bool emits = options_.limits.on_limit == OnLimit::kEmitOldest;
  if (IsOpen(number, call) || ledger_.open < options_.limits.max_groups) return true;

  // What time has closed does not count as open, so here, and only here, a fold closes other groups: a few
  // at a time, until there is room.
  while (ledger_.open >= options_.limits.max_groups) {
    size_t budget = 64;
    if (CloseDue(call.now, budget)) break;
  }
  number = FindSlowly(call.key, call.hash);
  if (emits && ledger_.open >= options_.limits.max_groups) {
    if (number != KeyIndex::kNone) Overtake(number, call);
    while (ledger_.open >= options_.limits.max_groups && EmitOldest(call)) {
    }
    number = KeyIndex::kNone;
  }
  ++changes_;
  return ledger_.open < options_.limits.max_groups;
}

// The same for bytes, of which `need()` says how many there have to be as things are.
bool FoldBook::MakeRoomInBytes(FoldCall& call, absl::FunctionRef<size_t()> need) {
  const bool emits = options_.limits.on_limit == OnLimit::kEmitOldest;
  const bool nothing_waits = !options_.limits.count_ready || ready_bytes_ == 0;
  size_t budget = std::numeric_limits<size_t>::max();
  CloseDue(call.now, budget);
  size_t bytes = need();
  if (emits) {
    while (!Fits(bytes, bytes_ - ready_bytes_, bytes_full_) && EmitOldest(call)) bytes = need();
  }
  ++changes_;
  bool fits = Fits(bytes, used(), options_.limits.max_bytes);
  // What waits now has closed for this event, which takes its room: but for the ids, all that could
  // go has gone.
  if (emits && nothing_waits) {
    fits = !ops_.has_ids || Fits(bytes, memory_->bytes(), options_.limits.max_bytes);
  }
  if (!fits) ++ledger_.refused_for_bytes;
  return fits;
}

// Hands out what would be handed out next, though its time has not come.
bool FoldBook::EmitOldest(FoldCall& call) {
  Due due;
  size_t budget = std::numeric_limits<size_t>::max();
  if (deadlines_.Next(kNever, budget, Asker{*this}, due) != Deadlines::Found::kDue) return false;
  if (!due.by_event) {
    Cold& cold = slab_.cold(due.number);
    cold.armed = 0;
    due = {.ripe = call.now,
           .order = OrderOf(PositionOf(call), Step::kMakesRoom),
           .number = due.number,
           .by_event = true,
           .tag = TagOf(cold.indexed != 0 ? Reason::kLimit : ReasonByTime(due.number))};
  }
  LeaveIndex(due.number, ReasonOf(due));
  Push(due);
  return true;
}

// The key's group is due by the edge of its next event: it stays armed and surfaces in order.
void FoldBook::Overtake(uint32_t number, const FoldCall& call) {
  if (has_extra_) {
    CutPartial(number, call.edge);
    extra(number).next_partial = kNever;
  }
  if (options_.count_reopened && QuietDue(hot(number)) > call.edge) ++ledger_.reopened;
  Unindex(number);
}

// A late event becomes an emission by itself. What is due goes first: it may be what is corrected.
FoldOutcome FoldBook::Correct(FoldCall& call) {
  size_t budget = std::numeric_limits<size_t>::max();
  CloseDue(call.now, budget);
  if (options_.limits.on_backlog == OnBacklog::kRefuse &&
      backlog() >= options_.limits.max_backlog) {
    ++ledger_.overloaded;
    return FoldOutcome::kOverloaded;
  }
  const auto need = [&] { return BytesOfNew(call.key); };
  if (!Fits(need(), used(), bytes_full_) && !MakeRoomInBytes(call, need)) {
    ++ledger_.refused;
    return FoldOutcome::kOverLimit;
  }
  const ExpiringMap::Known* const corrected = memory_->emissions.Find(NameOf(call.key), call.now);
  const uint64_t position = PositionOf(call);
  const uint32_t number = NewEntry(call, position);
  extra(number) = Extra{.quiet_due = call.at,
                        .next_partial = kNever,
                        .corrects = corrected == nullptr ? kNothing : corrected->word,
                        .revision = 1,
                        .kind = Extra::Kind::kCorrection,
                        .changed = false};
  ++ledger_.corrected;
  Push({.ripe = call.now,
        .order = OrderOf(position, Step::kBehindIt),
        .number = number,
        .by_event = true,
        .tag = TagOf(Reason::kCorrection)});
  return FoldOutcome::kCorrected;
}

// Why the group closes behind the event folded last, if it does.
std::optional<Reason> FoldBook::ReasonBehind(uint32_t number, bool ends) const {
  if (ends) return Reason::kEndMark;
  const void* const state = this->state(number);
  if (ops_.condition != nullptr && ops_.condition(ops_.context, state)) return Reason::kCondition;
  if (InfoOf(number).count >= options_.max_events) return Reason::kMaxEvents;
  if (options_.max_group_bytes == kNoByteCap) return std::nullopt;
  const size_t weight =
      ops_.weight != nullptr ? ops_.weight(ops_.context, state) : ops_.size + HeapBytesOf(number);
  if (weight >= options_.max_group_bytes) return Reason::kMaxBytes;
  return std::nullopt;
}

// --- Learning

QuietLearner::Answer FoldBook::AskLearner(const EventMarks& marks, Duration gap,
                                          QuietLearner::Memo memo) {
  if (learner_ == nullptr) return {.quiet = quiet_period_, .memo = memo};
  return learner_->Ask(marks.key_class, gap, memo);
}

// The same for an event that opens a group: its key may have had one before.
QuietLearner::Answer FoldBook::AskLearnerToOpen(const FoldCall& call, const EventMarks& marks) {
  if (learner_ == nullptr) return {.quiet = quiet_period_, .memo = {}};
  const ExpiringMap::Name name = NameOf(call.key);
  QuietLearner::Memo memo{};
  Duration gap{0};
  if (const ExpiringMap::Known* const pause = memory_->pauses.Find(name, call.edge)) {
    memo = {.run = static_cast<uint16_t>(pause->word),
            .row = static_cast<uint16_t>(pause->word >> 16)};
    gap = call.edge - (pause->expires - quiet_period_);
  }
  // Also one that is over at this edge: a later event, of an earlier edge, must not take it for that of this group.
  ChangeMemory([&](Memory& memory) { memory.pauses.Erase(name); });
  return AskLearner(marks, gap, memo);
}

// The group takes no more events. If its key comes back before the ceiling, that is a gap to learn from.
void FoldBook::NotePause(uint32_t number) {
  const Hot& group = hot(number);
  const EngineTime ceiling = group.last + quiet_period_;
  if (ceiling > kEndOfTime || ceiling <= seen_ || !HasRoomToRemember()) return;
  ChangeMemory([&](Memory& memory) {
    size_t budget = 4;
    memory.pauses.Expire(seen_, budget);
    const Extra& extra = ExtraOf(group);
    memory.pauses.Put(NameOf(group.key), uint64_t{extra.row} << 16 | extra.run, ceiling);
  });
}

// --- Leading edges and partials

// The first instant of the group's grid behind `t`.
EngineTime FoldBook::GridAfter(const Hot& group, EngineTime t) const noexcept {
  if (options_.partial_every == kForever) return kNever;
  const Duration every = std::min<Duration>(options_.partial_every, kNever - kBeginningOfTime);
  const Duration::rep passed = t < group.opened ? 0 : (t - group.opened) / every;
  const EngineTime instant = group.opened + (passed + 1) * every;
  return instant > kEndOfTime ? kNever : instant;
}

// A copy of the group as it is, in an entry of its own.
uint32_t FoldBook::Cut(uint32_t number, Extra::Kind kind) {
  const uint32_t cut = slab_.Allocate();
  const Hot& group = hot(number);
  Hot& copy = *::new (slab_.hot(cut)) Hot(group);
  copy.key = keys_.Keep(group.key);
  slab_.cold(cut) = Cold{};
  slab_.cold(cut).back = slab_.cold(number).back;
  slab_.cold(cut).set_position(slab_.cold(number).position());
  if (slab_.cold(cut).back == kFar) early_[cut] = early_.at(number);
  if (const auto wraps = wraps_.find(number); wraps != wraps_.end()) wraps_[cut] = wraps->second;
  Extra& extra = this->extra(number);
  extra.changed = false;
  ExtraOf(copy) = Extra{.quiet_due = extra.quiet_due,
                        .next_partial = kNever,
                        .corrects = kNothing,
                        .revision = ++extra.revision,
                        .kind = kind,
                        .changed = false};
  ops_.copy(ops_.context, state(cut), state(number));
  bytes_ += group_bytes_ + KeyArena::BytesFor(copy.key);
  CountHeap(cut, HeapBytesOf(cut));
  return cut;
}

// Nothing at the limit on bytes or the backlog: then the group goes on to its next instant.
uint32_t FoldBook::CutForPartial(uint32_t number) {
  if (!HasRoomForCut(number)) return KeyIndex::kNone;
  if (backlog() >= options_.limits.max_backlog) return KeyIndex::kNone;
  const uint32_t cut = Cut(number, Extra::Kind::kPartial);
  extra(cut).quiet_due = extra(number).next_partial;
  return cut;
}

// An event at `edge` is about to reach the group: what its grid had before that is cut first. Time may not
// have got there yet, so the cut waits for its instant.
void FoldBook::CutPartial(uint32_t number, EngineTime edge) {
  Extra& extra = this->extra(number);
  if (extra.next_partial > edge || extra.next_partial >= DueOf(hot(number))) return;
  if (extra.changed) {
    const uint32_t cut = CutForPartial(number);
    if (cut != KeyIndex::kNone) {
      slab_.cold(cut).armed = 1;
      deadlines_.Arm(cut, extra.next_partial, slab_.cold(cut).position());
    }
  }
  extra.next_partial = GridAfter(hot(number), edge);
}

// Time has reached an instant of the group's grid. Nothing happens before `until` that could make room for it, if
// there is none, so that no instant up to there need be tried.
void FoldBook::PassPartial(uint32_t number, EngineTime instant, EngineTime until) {
  Extra& extra = this->extra(number);
  const uint64_t position = slab_.cold(number).position();
  if (extra.changed) {
    const uint32_t cut = CutForPartial(number);
    if (cut != KeyIndex::kNone) {
      Push({.ripe = instant,
            .order = position,
            .number = cut,
            .by_event = false,
            .tag = TagOf(Reason::kPartial)});
    }
  }
  extra.next_partial = GridAfter(hot(number), std::max(instant, until));
  slab_.cold(number).armed = 1;
  deadlines_.Arm(number, NextInstantOf(hot(number)), position);
}

void FoldBook::HandOutLeading(uint32_t number, EngineTime now, uint64_t position) {
  const uint32_t cut = Cut(number, Extra::Kind::kLeading);
  slab_.cold(cut).ended = 1;
  PushInOrder({.ripe = now,
               .order = OrderOf(position, Step::kBehindIt),
               .number = cut,
               .by_event = true,
               .tag = TagOf(Reason::kLeading)});
}

// --- Memory

FoldBook::Memory::Memory(PagePool& pool, const FolderOptions& options, const HashKey& hash_key)
    : other_hash_key(MakeHashKey(hash_key[1], hash_key[2])),
      ids(pool, options.late.accept_limit),
      early(pool, options.quiet_period),
      emissions(pool, options.late.accept_limit),
      pauses(pool, options.quiet_period) {
  // Ten times what an event may be late, and what a group takes to close.
  const EngineTime within =
      SaturatingAdd(SaturatingAdd(EngineTime{}, options.late.accept_limit), options.quiet_period);
  const Duration once = within - EngineTime{};
  emissions_for = once > (kEndOfTime - kBeginningOfTime) / 10 ? kForever : 10 * once;
}

ExpiringMap::Name FoldBook::NameOf(const PackedKey& key) const noexcept {
  return {key.HashWith(hash_key_), key.HashWith(memory_->other_hash_key)};
}

ExpiringMap::Name FoldBook::NameOf(const PackedKey& key, std::string_view id) const noexcept {
  const PackedKey packed(id);
  const auto half = [&](const HashKey& hash_key) {
    return KeyedHash(key.HashWith(hash_key), packed.HashWith(hash_key), id.size(), hash_key);
  };
  return {half(hash_key_), half(memory_->other_hash_key)};
}

template <class Change>
void FoldBook::ChangeMemory(const Change& change) {
  const size_t before = memory_->bytes();
  change(*memory_);
  bytes_ += memory_->bytes() - before;
}

// Returns whether all that is over was forgotten before `budget` ran out.
bool FoldBook::Forget(EngineTime now, size_t& budget) {
  bool all = false;
  ChangeMemory([&](Memory& memory) {
    all = memory.ids.Expire(now, budget) && memory.early.Expire(now, budget) &&
          memory.emissions.Expire(now, budget) && memory.pauses.Expire(now, budget);
  });
  return all;
}

// Of groups that are gone no more is remembered than fits an eighth of the limit: it must not keep out
// events.
bool FoldBook::HasRoomToRemember() const noexcept {
  return Fits(ExpiringMap::kNameBytes, memory_->bytes_of_groups(), options_.limits.max_bytes / 8) &&
         (!options_.limits.count_ready ||
          Fits(ExpiringMap::kNameBytes, bytes_, options_.limits.max_bytes));
}

// Whether that eighth could become full if all that is open closed: each leaves a name in up to
// three maps.
bool FoldBook::MayForgetTooMuch() const noexcept {
  return memory_ != nullptr && !Fits(3 * ExpiringMap::kNameBytes * ledger_.open,
                                     memory_->bytes_of_groups(), options_.limits.max_bytes / 8);
}

// If the group closes before its quiet period is over, and not for good: its key's next group may only go
// on with it.
void FoldBook::NoteClosedEarly(uint32_t number, Reason reason) {
  const bool early = reason == Reason::kMaxHold || reason == Reason::kMaxEvents ||
                     reason == Reason::kMaxBytes || reason == Reason::kFlush ||
                     reason == Reason::kLimit;
  const EngineTime quiet_due = QuietDue(hot(number));
  if (!early || quiet_due <= seen_ || !HasRoomToRemember()) return;
  ChangeMemory([&](Memory& memory) {
    size_t budget = 4;
    memory.early.Expire(seen_, budget);
    memory.early.Put(NameOf(hot(number).key), 0, quiet_due);
  });
}

void FoldBook::NoteReopened(const FoldCall& call) {
  const ExpiringMap::Name name = NameOf(call.key);
  const ExpiringMap::Known* const early = memory_->early.Find(name, call.now);
  if (early == nullptr) return;
  if (early->expires > call.edge) ++ledger_.reopened;
  ChangeMemory([&](Memory& memory) { memory.early.Erase(name); });
}

// The key's last emission, for a correction to name.
void FoldBook::NoteEmission(uint32_t number, const ReadyGroup& ready) {
  if (options_.late.on_late != OnLate::kCorrect || !HasRoomToRemember()) return;
  ChangeMemory([&](Memory& memory) {
    size_t budget = 4;
    memory.emissions.Expire(seen_, budget);
    memory.emissions.Put(NameOf(hot(number).key), ready.generation,
                         SaturatingAdd(ready.ripe, memory.emissions_for));
  });
}

}  // namespace pleat::inline v0_1
