#include "engine/rollup/publisher.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {
namespace {

// Whether two amounts of one checkpoint contradict each other. Sums of other numbers than integers
// depend on the order of arrival by rounding.
bool Contradict(const Amount& a, const Amount& b) noexcept {
  if (a.count != b.count || a.integer != b.integer) return true;
  return a.integer && (a.sum != b.sum || a.saturated != b.saturated);
}

}  // namespace

void Publisher::TakeUnpublished(size_t max, std::vector<std::string>& keys) {
  // Counters that come back to the queue meanwhile are left for the next call.
  size_t left = std::min(max, store_.queued());
  for (uint32_t number; left > 0 && store_.Next(number); --left) {
    // Other instances may have met the key in another spelling first.
    keys.emplace_back(SpelledKey::Of(counters_.at(number).key.view()).identity);
  }
}

Publisher::Step Publisher::TakeLoaded(const EventRef& counter,
                                      const absl::StatusOr<Checkpoint>& loaded, Checkpoint& ours) {
  const uint32_t number = windows_.CounterOf(counter);
  if (number == kNone) return Step::kNothing;
  counters_.Change(number);
  Step step = Step::kFailed;
  store_.Update(number, [&](Publications::State& state) {
    if (!loaded.ok() || !clock_.windowing().IsEnd(loaded->until)) {
      ++ledger_.store_errors;
    } else if (loaded->until < state.until) {
      ++ledger_.store_behind;
    } else if (state.until > kBeginningOfTime && loaded->until == state.until &&
               Contradict(loaded->amount, state.amount.amount())) {
      ++ledger_.store_conflicts;
    } else {
      state.loaded = true;
      if (loaded->until > state.until) {
        Adopt(number, state, loaded->until, Total::Of(loaded->amount));
      }
      state.offered = counters_.FinalOf(counters_.at(number));
      ours = {values_.FinalUpTo(number), state.offered.amount()};
      step = state.changed && ours.until > state.until ? Step::kWanted : Step::kNothing;
    }
  });
  if (step != Step::kWanted) Finish(number);
  return step;
}

Publisher::Step Publisher::TakeKept(const EventRef& counter, const Checkpoint& ours,
                                    const absl::StatusOr<Checkpoint>& kept) {
  const uint32_t number = windows_.CounterOf(counter);
  if (number == kNone) return Step::kNothing;
  counters_.Change(number);
  Step step = Step::kFailed;
  store_.Update(number, [&](Publications::State& state) {
    if (!kept.ok() || !clock_.windowing().IsEnd(kept->until)) {
      ++ledger_.store_errors;
    } else if (kept->until < ours.until) {
      ++ledger_.store_behind;
    } else if (kept->until == ours.until && Contradict(kept->amount, ours.amount)) {
      ++ledger_.store_conflicts;
    } else {
      const bool is_ours = kept->until == ours.until;
      step = is_ours ? Step::kKept : Step::kNothing;
      ledger_.published += is_ours;
      // Our own total says more than its amount does: the part of integers, and what was rounded.
      const Total total = is_ours ? state.offered : Total::Of(kept->amount);
      if (kept->until > state.until) Adopt(number, state, kept->until, total);
    }
  });
  Finish(number);
  return step;
}

// Ends the steps of a counter, and forgets the counter if that had to wait for the store. As long as
// there are lists that may name the counter, a visit is to come that forgets it.
void Publisher::Finish(uint32_t number) {
  store_.Finish(number);
  if (!forgetter_.IsReleased(number) || !forgetter_.IsOver(number)) return;
  const Counter& counter = counters_.at(number);
  const bool listed = counter.start != CounterTable::kNoStart &&
                      windows_.lists().FirstEnd() <= windows_.LastOf(counter).end;
  if (!listed) forgetter_.ForgetUnlessHeld(number);
}

// The counter continues from a checkpoint: its value is `total`, that of the checkpoint, plus the
// final windows after it. No window reaches over the end of the checkpoint, now or later: also not
// when a restart brings other data about the calendar.
void Publisher::Adopt(uint32_t number, Publications::State& state, EngineTime until,
                      const Total& total) {
  clock_.windowing().NoteOpened(until - Duration{1});
  state.until = until;
  state.amount = total;
  state.changed = false;
  Counter& counter = counters_.ChangeKept(number);
  Total value = state.amount;
  std::vector<uint32_t> finals;
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (counters_.window(at).is_final) finals.push_back(at);
  }
  for (auto at = finals.rbegin(); at != finals.rend(); ++at) {
    const Window& window = counters_.window(*at);
    PLEAT_DCHECK(window.start >= until || windows_.EndOf(window) <= until);
    if (window.start >= until) {
      windows_.clears().AddToSum(window.total, *at, value);
      state.changed = true;
    } else if (clock_.IsOver(WindowLists::kKept, windows_.EndOf(window))) {
      windows_.ReleaseKept(*at);
    }
  }
  counters_.SetFinal(counter, value);
  counters_.TrimAccount(counter);
  values_.WriteShared(number, std::max(values_.FinalUpTo(number), until));
}

}  // namespace pleat::inline v0_1
