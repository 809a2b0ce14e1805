// The slow path of an event, step by step as docs/semantics.md counts them. An event comes here if
// late, duplicate or over a limit; if the event opens a group, or is older than the event that did;
// or if its folder has marks, edges, partials, closing times, or learns its quiet period. While a
// snapshot is being taken, all events come here: a group that an event finds is first kept as it was.
#include <algorithm>
#include <optional>

#include "engine/base/check.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

FoldOutcome FoldBook::FoldSlowly(const EventRef& event, Entry entry, const Instant& at) {
  if (entry.number == kNone && opens_plainly_ && OpenPlainly(event, at)) {
    return FoldOutcome::kOpened;
  }
  return FoldInSteps(event, entry, at);
}

FoldOutcome FoldBook::FoldInSteps(const EventRef& event, Entry entry, const Instant& at) {
  const uint32_t number = entry.number;
  PLEAT_DCHECK(number == kNone || groups_.indexed(number));
  if (groups_.saving() && number != kNone) [[unlikely]] {
    groups_.Change(number);
    if (FoldPlainlyBelow(usual_plain_below_, event, entry, at)) return FoldOutcome::kFolded;
  }
  ++ledger_.events;
  const EngineTime now = latest_.Reach(at.now);
  Turn turn{.event = event,
            .at = at,
            .now = now,
            .due_by = DueBy(event.at, now),
            .position = latest_.NextPosition(at.position),
            .number = number,
            .marks = {},
            .name = {},
            .late = false,
            .starts = false};
  if (emitter_.CloseBeforeMemoryFills(at)) turn.FindAgain(groups_);
  const FoldOutcome outcome = admission_.Judge(turn);
  switch (outcome) {
    case FoldOutcome::kFolded: Join(turn); break;
    case FoldOutcome::kOpened: OpenGroup(turn); break;
    case FoldOutcome::kCorrected: Correct(turn); break;
    default: break;  // refused
  }
  return outcome;
}

FoldOutcome FoldBook::Refuse(FoldOutcome why, const Instant&) noexcept {
  ++ledger_.events;
  return admission_.Refuse(why);
}

// --- Into the key's group

void FoldBook::Join(const Turn& turn) {
  const uint32_t number = turn.number;
  PLEAT_DCHECK(turn.FindsOpen(groups_));
  emitter_.CutBefore(number, turn.due_by);
  Group& group = groups_.ChangeKept(number);
  if (turn.event.at < group.opened) groups_.NoteEarlier(number, turn.event.at);
  if (observer_ != nullptr) observer_->NoteFolded(turn.due_by, group.last, turn.event.at);
  const Duration gap = turn.due_by - group.last;
  const bool states_end = turn.marks.close_at < kNever && groups_.has_closing_time();
  const EngineTime armed_by = states_end ? groups_.DueOf(number) : kNever;
  ++ledger_.folded;
  groups_.FoldInto(group, number, turn.event.event, turn.event.at);
  if (group.count == 0) groups_.NoteWrap(number);
  if (groups_.has_extra()) MoveQuietDue(turn, gap);
  if (states_end) {
    groups_.set_closing_time(number, ClosingTimeOf(group, turn.marks.close_at, turn.due_by));
  }
  if (groups_.has_extra() && groups_.CountOf(number) <= leading_events_) [[unlikely]] {
    emitter_.EmitLeading(number, OrderOf(turn.position, Step::kBehindIt), turn.at);
  }
  std::optional<Reason> reason = end_rules_.ReasonBehind(groups_, number, turn.marks.ends);
  if (states_end && !reason && groups_.DueOf(number) <= turn.now) {
    reason = groups_.ReasonByTime(number);
  }
  if (reason) {
    emitter_.End(number, *reason, OrderOf(turn.position, Step::kBehindIt), turn.at);
  } else if (states_end && groups_.DueOf(number) < armed_by) {
    emitter_.ArmEarlier(number, turn.event.hash);
  } else if (groups_.has_extra() && groups_.extra(number).next_partial < kNever) {
    groups_.CallForPartial(number, turn.now);
  }
}

// Of a group for which `stated` was said; kNever: nothing was. An instant that is past counts as
// `edge`, so that the group closes by time as soon as it can: behind the partial of that instant, which
// a stamp ahead of time has passed already.
EngineTime FoldBook::ClosingTimeOf(const Group& group, EngineTime stated, EngineTime edge) const {
  const EngineTime by_folder = groups_.clock().ClosingTimeFor(group.opened);
  if (stated == kNever) return by_folder;
  const bool has_partial = edge > std::max(latest_.now(), group.opened) &&
                           groups_.clock().GridAfter(group, edge - Duration{1}) == edge;
  if (has_partial) edge += Duration{1};
  return std::min(by_folder, std::max(stated, edge));
}

// The event may move the quiet deadline of its group, with a mark or by what the learner says to
// `gap`, the pause before the event.
void FoldBook::MoveQuietDue(const Turn& turn, Duration gap) {
  Extra& extra = GroupTable::ExtraOf(groups_.ChangeKept(turn.number));
  const QuietLearner::Answer learned =
      observer_ != nullptr ? observer_->AskToFold(turn.marks, gap, extra.memo())
                           : QuietLearner::Answer{groups_.clock().quiet_period(), extra.memo()};
  extra.set_memo(learned.memo);
  const Duration quiet = QuietPeriodOf(turn.marks, learned.quiet);
  extra.quiet_due = std::max(extra.quiet_due, GroupClock::After(turn.event.at, quiet));
  extra.changed = true;
}

// --- Into a new group

// Ends the key's group so far, or, if time has come for it, lets it wait for its turn.
void FoldBook::MakeWay(const Turn& turn) {
  if (!turn.FindsOpen(groups_)) return emitter_.Overtake(turn.number, turn.due_by);
  emitter_.CutBefore(turn.number, turn.due_by);
  const Reason reason = turn.marks.starts ? Reason::kStartMark : Reason::kMaxWait;
  emitter_.End(turn.number, reason, OrderOf(turn.position, Step::kBeforeIt), turn.at);
}

// Opens the group of a key that has none, of a folder that asks for nothing else of an event, if no
// limit is near and the group is not due already. If not, returns false and has changed nothing.
// What OpenGroup() does then, without asking whether there is more to do.
bool FoldBook::OpenPlainly(const EventRef& event, const Instant& at) {
  const EngineTime now = latest_.TimeOf(at.now);
  const EngineTime due = groups_.clock().DueOfNew(event.at);
  if (ledger_.open >= max_groups_ || !room_.Fits(groups_.BytesOfNew(event.key)) ||
      outbox_.refuses() || due <= now) [[unlikely]]
    return false;
  latest_.Reach(at.now);
  ++ledger_.events;
  ++ledger_.opened;
  ++ledger_.open;
  const uint64_t position = latest_.NextPosition(at.position);
  const GroupTable::Parts parts =
      groups_.AddInline(event.key, event.hash, event.at, position, event.event);
  if (const auto reason = end_rules_.ReasonBehind(groups_, parts.number, /*end_mark=*/false)) {
    emitter_.End(parts.number, *reason, OrderOf(position, Step::kBehindIt), at);
    return true;
  }
  groups_.IndexAndArm(parts, event.hash, due, position);
  return true;
}

void FoldBook::OpenGroup(const Turn& turn) {
  if (turn.number != kNone) MakeWay(turn);
  const EventRef& event = turn.event;
  PLEAT_DCHECK(groups_.FindSlowly(event.key, event.hash).number == kNone);
  const QuietLearner::Answer learned = AskToOpen(turn);
  const uint32_t number = groups_.Add(event.key, event.hash, event.at, turn.position, event.event);
  ++ledger_.opened;
  ++ledger_.open;
  if (observer_ != nullptr) observer_->NoteOpened(event.key, turn.due_by, event.at);
  emitter_.NoteOpened(number, turn.at);
  const uint64_t order = OrderOf(turn.position, Step::kBehindIt);
  if (groups_.has_extra()) {
    FillExtra(turn, number, learned);
    emitter_.EmitLeading(number, order, turn.at);
  }
  std::optional<Reason> reason = end_rules_.ReasonBehind(groups_, number, turn.marks.ends);
  if (!reason && groups_.DueOf(number) <= turn.now) reason = groups_.ReasonByTime(number);
  if (reason) [[unlikely]]
    return emitter_.End(number, *reason, order, turn.at);
  groups_.IndexAndArm(number, event.hash, turn.now);
}

QuietLearner::Answer FoldBook::AskToOpen(const Turn& turn) {
  if (observer_ == nullptr) return {.quiet = groups_.clock().quiet_period(), .memo = {}};
  return observer_->AskToOpen(turn.marks, turn.event.key, turn.due_by);
}

void FoldBook::FillExtra(const Turn& turn, uint32_t number, const QuietLearner::Answer& learned) {
  const Duration quiet = QuietPeriodOf(turn.marks, learned.quiet);
  Extra extra{.quiet_due = GroupClock::After(turn.event.at, quiet),
              .next_partial = groups_.clock().GridAfter(groups_.at(number), turn.due_by),
              .corrects = GroupTable::kNothing,
              .revision = 0,
              .kind = Kind::kGroup,
              .changed = true};
  extra.set_memo(learned.memo);
  groups_.SetExtra(number, extra);
  if (!groups_.has_closing_time()) return;
  groups_.set_closing_time(number,
                           ClosingTimeOf(groups_.at(number), turn.marks.close_at, turn.due_by));
}

// --- Into an emission by itself

void FoldBook::Correct(const Turn& turn) {
  const EventRef& event = turn.event;
  const uint64_t corrects =
      memory_->LastEmissionOf(event.key, turn.now).value_or(GroupTable::kNothing);
  const uint32_t number = groups_.Add(event.key, event.hash, event.at, turn.position, event.event);
  groups_.SetExtra(number, Extra{.quiet_due = event.at,
                                 .next_partial = kNever,
                                 .corrects = corrects,
                                 .revision = 1,
                                 .kind = Kind::kCorrection,
                                 .changed = false});
  ++ledger_.corrected;
  emitter_.EmitCorrection(number, OrderOf(turn.position, Step::kBehindIt), turn.at);
}

}  // namespace pleat::inline v0_1
