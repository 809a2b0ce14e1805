#include "engine/rollup/rollup_check.h"

#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

void RollupCheck::CheckWhole() const {
  counters_.CheckWhole();
  outbox_.CheckWhole();
  if (ids_.get() != nullptr) ids_.get()->CheckWhole();
  PLEAT_CHECK(Agrees());
  counters_.ForEach([&](uint32_t number) {
    Total chained;
    values_.ForEachOpen(counters_.at(number), [&](const Total& total, uint32_t window, EngineTime) {
      if (window != kNone) chained.Merge(total);
    });
    const CounterTable::Account* const account = counters_.AccountIn(counters_.at(number));
    if (account != nullptr && !account->irregular) {
      PLEAT_CHECK(chained.count == account->open_count && chained.whole == account->open_sum);
    }
    CheckWindowsOf(counters_.at(number));
    if (store_ == nullptr) return;
    const Publications::State& state = store_->At(number);
    PLEAT_CHECK(state.changed == values_.HasFinalSince(number, state.until));
    PLEAT_CHECK(state.done() ? !state.queued && !state.busy : state.queued != state.busy);
  });
}

// None is final before its time, or begins after the newest one.
void RollupCheck::CheckWindowsOf(const Counter& counter) const {
  const auto& windowing = clock_.windowing();
  for (const uint8_t chain : {uint8_t{0}, uint8_t{1}}) {
    for (uint32_t at = counters_.ChainOf(counter, chain); at != kNone;
         at = counters_.window(at).next) {
      const Window& window = counters_.window(at);
      const EngineTime end = windowing.EndOf(window.start, window.resolution);
      PLEAT_CHECK(!window.is_final || clock_.IsOver(WindowLists::kOpen, end));
      PLEAT_CHECK(window.start <= windowing.StartOf(counter.start, window.resolution));
    }
  }
}

RollupCheck::Tally RollupCheck::TallyWindows() const {
  Tally tally;
  counters_.ForEach([&](uint32_t number) {
    const Counter& counter = counters_.at(number);
    values_.ForEachOpen(counter, [&](const Total& total, uint32_t, EngineTime) {
      tally.pending += total.count;
      tally.delta += static_cast<uint64_t>(total.whole);
    });
    if (counter.count > 0) {
      const bool open = !clock_.IsEnded(clock_.windowing().EndOf(counter.start));
      tally.open += open;
      tally.open_first += open;
      ++tally.not_final;
      ++tally.inside;
    }
    for (const uint8_t chain : {uint8_t{0}, uint8_t{1}}) {
      for (uint32_t at = counters_.ChainOf(counter, chain); at != kNone;
           at = counters_.window(at).next) {
        const Window& window = counters_.window(at);
        tally.open += !window.closed;
        tally.open_first += !window.closed && chain == 0;
        tally.not_final += !window.is_final;
        tally.kept += window.is_final;
        tally.kept_first += window.is_final && chain == 0;
      }
    }
  });
  return tally;
}

bool RollupCheck::CountsAgree(const Tally& tally) const {
  return ledger_.Balances() && ledger_.OfGroups(outbox_).Balances() &&
         tally.pending == ledger_.pending && tally.delta == ledger_.delta_pending &&
         tally.open == ledger_.open &&
         tally.open_first == ledger_.windows_opened - ledger_.windows_closed &&
         tally.kept == windows_.kept() && tally.inside == windows_.inside();
}

// Calls `see(entry, passed)` for the entries of a list that this stage or a later one takes.
void RollupCheck::ForEachNeeded(WindowLists::Stage stage, const WindowLists::List& list,
                                SeeEntry see) const {
  if (clock_.StageAfter(stage) == WindowLists::kStages) {
    windows_.lists().ForEachLeft(list, [&](const WindowLists::Entry& entry) { see(entry, false); });
    return;
  }
  uint32_t passed = list.passed;
  windows_.lists().ForEach(list, [&](const WindowLists::Entry& entry) {
    see(entry, passed > 0);
    passed -= passed > 0;
  });
}

// Whether each window that is not final has one entry in the open list of its end, and each kept
// one in a list that will be taken once retention is over; and whether each entry leads to the
// window that its taker will ask for.
//
// Lists are looked at from the last to the first, so a counter's windows come up in the order of
// its chains, and one walk along each chain finds them all.
bool RollupCheck::ListsAgree(const Tally& tally) const {
  constexpr uint32_t kBegin = kNone - 1;
  constexpr uint32_t kInside = kNone - 1;
  const size_t resolutions = clock_.windowing().resolutions();
  size_t numbers = 0;
  counters_.ForEach([&](uint32_t number) { numbers = number + size_t{1}; });
  std::vector<uint32_t> places(numbers * resolutions, kBegin);  // where each walk is
  const auto find = [&](uint32_t number, uint8_t resolution, EngineTime start) {
    const Counter& counter = counters_.at(number);
    uint32_t& place = places[number * resolutions + resolution];
    if (place == kBegin) {
      place = counters_.ChainOf(counter, resolution);
      if (resolution == 0 && CounterTable::IsInside(counter, start)) return kInside;
    }
    while (place != kNone && counters_.window(place).start >= start) {
      const Window& window = counters_.window(place);
      const uint32_t found = std::exchange(place, window.next);
      if (window.start == start && window.resolution == resolution) return found;
    }
    return kNone;
  };

  bool agree = true;
  uint64_t not_final = 0;
  uint64_t kept = 0;
  uint64_t kept_first = 0;
  for (const WindowLists::Stage stage : {WindowLists::kOpen, WindowLists::kKept}) {
    const WindowLists::Lists& lists = windows_.lists().at(stage);
    for (auto at = lists.rbegin(); at != lists.rend(); ++at) {
      const auto& [name, list] = *at;
      const EngineTime start = windows_.StartOf(name);
      const bool over = clock_.IsOver(WindowLists::kKept, name.end);
      ForEachNeeded(stage, list,
                    [&, ended = list.ended](const WindowLists::Entry& entry, bool passed) {
                      if (!counters_.Has(entry.counter)) return void(agree = false);
                      if (passed && (stage == WindowLists::kKept || !clock_.retains())) return;
                      const uint32_t found = find(entry.counter, name.resolution, start);
                      const bool is_final = found < kInside && counters_.window(found).is_final;
                      const bool closed = found == kInside
                                              ? clock_.IsEnded(name.end)
                                              : found < kInside && counters_.window(found).closed;
                      if (stage == WindowLists::kOpen && !passed) {
                        ++not_final;
                        agree &= found != kNone && !is_final && closed == ended;
                        agree &= name.resolution > 0 || ended || HasCoarse(entry.counter, start);
                        return;
                      }
                      // Once the store has it, a window may go before its entry.
                      const bool may_be_gone = store_ != nullptr && name.resolution == 0 && over;
                      agree &= is_final || (found == kNone && may_be_gone);
                      kept += is_final;
                      kept_first += is_final && name.resolution == 0;
                    });
    }
  }
  for (const auto& [name, list] : windows_.lists().at(WindowLists::kLast)) {
    ForEachNeeded(WindowLists::kLast, list, [&](const WindowLists::Entry& entry, bool) {
      agree &= counters_.Has(entry.counter);
    });
  }
  // A value that the store lacks is kept even if it is in no list.
  const bool all_listed = store_ == nullptr ? kept_first == tally.kept_first : true;
  return agree && not_final == tally.not_final && all_listed &&
         kept - kept_first == tally.kept - tally.kept_first;
}

// Whether the windows of further resolutions around a window of the first one are open.
bool RollupCheck::HasCoarse(uint32_t number, EngineTime start) const {
  for (size_t i = 1; i < clock_.windowing().resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const uint32_t coarse = counters_.FindWindow(counters_.at(number), resolution,
                                                 clock_.windowing().StartOf(start, resolution));
    if (coarse == kNone || counters_.window(coarse).closed) return false;
  }
  return true;
}

}  // namespace pleat::inline v0_1
