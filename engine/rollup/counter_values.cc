#include "engine/rollup/counter_values.h"

#include <algorithm>
#include <iterator>

#include <absl/container/inlined_vector.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

// --- What a value is made of

void CounterValues::ForEachOpen(const Counter& counter, SeeWindow see) const {
  absl::InlinedVector<uint32_t, 64> open;
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (counters_.window(at).is_final) break;  // and so are all that are older
    open.push_back(at);
  }
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    see(counters_.window(*at).total, *at, counters_.window(*at).start);
  }
  if (counter.count > 0) see(CounterTable::TotalInside(counter), kNone, counter.start);
}

// What the windows come to that end by `until`.
Total CounterValues::ValueBefore(uint32_t number, EngineTime until) const {
  const Counter& counter = counters_.at(number);
  Total value = counters_.FinalOf(counter);
  const EngineTime covered = CoveredUpTo(number);
  const auto add = [&](const Total& total, uint32_t window, EngineTime start) {
    if (start < covered || windowing_.EndOf(start) > until) return;
    windows_.clears().AddToSum(total, window, value);
  };
  if (counters_.ChainOf(counter, 0) != kNone) {
    ForEachOpen(counter, add);
  } else if (counter.count > 0) {
    add(CounterTable::TotalInside(counter), kNone, counter.start);
  }
  return value;
}

// What all windows come to. The account knows the sum of the older open windows, if that is plain.
Total CounterValues::ValueOf(uint32_t number) const {
  const Counter& counter = counters_.at(number);
  const Account* const account = counters_.AccountIn(counter);
  const Total final_total = counters_.FinalOf(counter);
  if (account == nullptr && CoveredUpTo(number) <= counter.start) {
    Total value = final_total;
    if (counter.count > 0) value.Merge(CounterTable::TotalInside(counter));
    return value;
  }
  const bool walks = windows_.clears().on() || account == nullptr || account->irregular ||
                     CounterWindows::IsFar(final_total.whole, CounterWindows::kFinalBits) ||
                     (store_ != nullptr && CoveredUpTo(number) > clock_.final_up_to());
  if (!walks) {
    Total value = final_total;
    Total open;
    open.count = account->open_count;
    open.whole = account->open_sum;
    open.wholes = account->open_count > 0;
    value.Merge(open);
    if (counter.count > 0) value.Merge(CounterTable::TotalInside(counter));
    if (!value.whole_stuck) return value;
  }
  return ValueBefore(number, kNever);
}

// --- One counter

std::optional<EventualCount> CounterValues::Eventual(const PackedKey& key, uint64_t hash,
                                                     const Instant& at) {
  std::optional<EventualCount> count;
  const EngineTime now = clock_.Reach(at.now);
  const uint32_t number = forgetter_.FindLive(key, hash);
  if (number == kNone) return count;
  const EngineTime as_of = clock_.AsOf();
  const Counter& counter = counters_.at(number);
  // As a rule no window waits to be final.
  const bool all_final = counters_.ChainOf(counter, 0) == kNone &&
                         (counter.count == 0 || windowing_.EndOf(counter.start) > as_of);
  count.emplace();
  count->amount =
      all_final ? counters_.FinalOf(counter).amount() : ValueBefore(number, as_of).amount();
  count->as_of = std::max(as_of, CoveredUpTo(number));
  count->lag = std::max(now - count->as_of, Duration{0});
  return count;
}

AccurateCount CounterValues::Accurate(const PackedKey& key, uint64_t hash, const Instant& at) {
  clock_.Reach(at.now);
  AccurateCount count{.amount = {}, .loaded = store_ == nullptr};
  const uint32_t number = forgetter_.FindLive(key, hash);
  if (number == kNone) return count;
  count.checkpoint = clock_.AsOf();
  count.amount = ValueOf(number).amount();
  if (store_ == nullptr) return count;
  count.loaded = store_->At(number).loaded;
  count.checkpoint = std::max(count.checkpoint, store_->At(number).until);
  return count;
}

// The total of a window so far. Open windows of further resolutions lack those inside them that are
// not closed.
Total CounterValues::TotalOf(const Counter& counter, uint8_t resolution, EngineTime start) const {
  if (resolution == 0 && CounterTable::IsInside(counter, start)) {
    return CounterTable::TotalInside(counter);
  }
  const uint32_t number = counters_.FindWindow(counter, resolution, start);
  PLEAT_CHECK(number != kNone);
  Total total = counters_.window(number).total;
  if (resolution == 0 || counters_.window(number).closed) return total;
  ForEachOpen(counter, [&](const Total& open, uint32_t window, EngineTime each) {
    const bool added = window == kNone ? clock_.IsEnded(windowing_.EndOf(each))
                                       : counters_.window(window).closed != 0;
    if (!added && windowing_.StartOf(each, resolution) == start) total.Merge(open);
  });
  return total;
}

void CounterValues::History(const PackedKey& key, uint64_t hash, EngineTime from, EngineTime to,
                            uint8_t resolution, const Instant& at,
                            std::vector<CountedWindow>& out) {
  clock_.Reach(at.now);
  const uint32_t number = forgetter_.FindLive(key, hash);
  if (number == kNone) return;
  const Counter& counter = counters_.at(number);
  const size_t before = out.size();
  const auto see = [&](EngineTime start) {
    const EngineTime end = windowing_.EndOf(start, resolution);
    if (start < from || start >= to || !clock_.IsOver(WindowLists::kOpen, end)) return;
    if (clock_.IsOver(WindowLists::kKept, end)) return;
    out.push_back({start, end, TotalOf(counter, resolution, start).amount()});
  };
  if (resolution == 0 && counter.count > 0) see(counter.start);
  for (uint32_t each = counters_.ChainOf(counter, resolution); each != kNone;
       each = counters_.window(each).next) {
    const Window& window = counters_.window(each);
    if (window.start < from) break;
    if (window.resolution == resolution) see(window.start);
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
}

// --- All counters

void CounterValues::WindowAround(EngineTime around, uint8_t resolution, const Instant& at,
                                 SeeTop see) {
  clock_.Reach(at.now);
  const EngineTime start = windowing_.StartOf(around, resolution);
  const EngineTime end = windowing_.EndOf(start, resolution);
  if (clock_.IsOver(WindowLists::kKept, end)) return;
  const WindowLists::List* const list = windows_.lists().Find({end, resolution});
  if (list == nullptr) return;
  windows_.lists().ForEach(*list, [&](const WindowLists::Entry& entry) {
    const Counter& counter = counters_.at(entry.counter);
    see(counter.key.view(), TotalOf(counter, resolution, start).amount());
  });
}

void CounterValues::ScanOpen(const Instant& at, SeeOpen see) {
  clock_.Reach(at.now);
  for (const auto& [name, list] : windows_.lists().open()) {
    if (list.ended || clock_.IsOver(WindowLists::kOpen, name.end)) continue;
    const uint8_t resolution = name.resolution;
    const EngineTime start = windows_.StartOf(name);
    windows_.lists().ForEachLeft(list, [&, end = name.end](const WindowLists::Entry& entry) {
      const Counter& counter = counters_.at(entry.counter);
      see(counter.key.view(), {start, end, TotalOf(counter, resolution, start).amount()});
    });
  }
}

// --- What is final

bool CounterValues::HasFinalSince(uint32_t number, EngineTime until) const {
  const Counter& counter = counters_.at(number);
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (counters_.window(at).is_final) return counters_.window(at).start >= until;
  }
  return false;
}

EngineTime CounterValues::FinalUpTo(uint32_t number) const {
  const Counter& counter = counters_.at(number);
  EngineTime until = clock_.final_up_to();
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (!counters_.window(at).is_final) continue;
    until = std::max(until, windows_.EndOf(counters_.window(at)));
    break;
  }
  return until;
}

void CounterValues::AddFinal(Counter& counter, uint32_t number) {
  const Window& window = counters_.window(number);
  if (window.chained) windows_.LeaveOpen(counter, window);
  if (window.start < CoveredUpTo(window.counter)) return;
  Total final_total = counters_.FinalOf(counter);
  windows_.clears().AddToSum(window.total, number, final_total);
  counters_.SetFinal(counter, final_total);
  if (store_ != nullptr) {
    store_->Update(window.counter, [](Publications::State& state) { state.changed = true; });
  }
  WriteShared(window.counter, windows_.EndOf(window));
}

std::shared_ptr<const SharedCount> CounterValues::Share(uint32_t number) {
  return shared_.Share(number, [&](SharedCount& shared) {
    WriteTo(shared, number, std::max(clock_.final_up_to(), CoveredUpTo(number)));
  });
}

}  // namespace pleat::inline v0_1
