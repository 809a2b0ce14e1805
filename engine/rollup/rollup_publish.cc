// The steps of Publish() in one book. No lock is held during a call of the store, so each step
// looks its counter up again, and accepts all changes since the step before.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {
namespace {

// Whether two amounts of one checkpoint contradict each other. Sums of other numbers than integers
// depend on the order of arrival by rounding.
bool Contradict(const Amount& a, const Amount& b) noexcept {
  if (a.count != b.count || a.integer != b.integer) return true;
  return a.integer && (a.sum != b.sum || a.saturated != b.saturated);
}

}  // namespace

void RollupBook::TakeUnpublished(size_t max, const Instant& at, std::vector<std::string>& keys) {
  latest_.Reach(at.now);
  if (store_ == nullptr) return;
  // Counters that come back to the queue meanwhile are left for the next call.
  size_t left = std::min(max, store_->queued());
  for (uint32_t number; left > 0 && store_->Next(number); --left) {
    keys.emplace_back(counters_.at(number).key.view());
  }
}

RollupBook::Step RollupBook::TakeLoaded(const EventRef& counter,
                                        const absl::StatusOr<Checkpoint>& loaded, const Instant& at,
                                        Checkpoint& ours) {
  latest_.Reach(at.now);
  const uint32_t number = CounterOf(counter);
  if (number == kNone) return Step::kNothing;
  counters_.Change(number);
  Step step = Step::kFailed;
  store_->Update(number, [&](Publications::State& state) {
    if (!loaded.ok() || !windowing_.IsEnd(loaded->until)) {
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
      state.offered = counters_.FrozenOf(counters_.at(number));
      ours = {FrozenUpTo(number), state.offered.amount()};
      step = state.changed && ours.until > state.until ? Step::kWanted : Step::kNothing;
    }
  });
  if (step != Step::kWanted) Finish(number);
  return step;
}

RollupBook::Step RollupBook::TakeKept(const EventRef& counter, const Checkpoint& ours,
                                      const absl::StatusOr<Checkpoint>& kept, const Instant& at) {
  latest_.Reach(at.now);
  const uint32_t number = CounterOf(counter);
  if (number == kNone) return Step::kNothing;
  counters_.Change(number);
  Step step = Step::kFailed;
  store_->Update(number, [&](Publications::State& state) {
    if (!kept.ok() || !windowing_.IsEnd(kept->until)) {
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
void RollupBook::Finish(uint32_t number) {
  store_->Finish(number);
  if (!released_.contains(number) || !IsOver(number)) return;
  const Counter& counter = counters_.at(number);
  const bool listed =
      counter.start != CounterTable::kNoStart && lists_.FirstEnd() <= LastOf(counter).end;
  if (!listed) ForgetUnlessHeld(number);
}

// The counter continues from a checkpoint: its value is `total`, that of the checkpoint, plus the
// frozen windows after it.
void RollupBook::Adopt(uint32_t number, Publications::State& state, EngineTime until,
                       const Total& total) {
  state.until = until;
  state.amount = total;
  state.changed = false;
  Counter& counter = counters_.ChangeKept(number);
  Total value = state.amount;
  std::vector<uint32_t> frozen;
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (counters_.window(at).frozen) frozen.push_back(at);
  }
  for (auto at = frozen.rbegin(); at != frozen.rend(); ++at) {
    const Window& window = counters_.window(*at);
    if (window.start >= until) {
      AddToSum(window.total, DetailOf(*at), value);
      state.changed = true;
    } else if (latest_.now() >= windowing_.ReachedAt(EndOf(window), retention_)) {
      --kept_;
      ReleaseWindow(*at);
    }
  }
  counters_.SetFrozen(counter, value);
  counters_.TrimAccount(counter);
  WriteShared(number, std::max(FrozenUpTo(number), until));
}

}  // namespace pleat::inline v0_1
