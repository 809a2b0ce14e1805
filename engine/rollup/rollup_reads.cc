// What a rollup counter comes to: its values, its kept windows, and its largest keys.
#include <algorithm>
#include <iterator>

#include <absl/container/inlined_vector.h>

#include "engine/base/check.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

// --- What a value is made of

// Calls `see(total, window, start)` for the open windows of the first resolution, oldest first;
// `window` is kNone for the one inside.
void RollupBook::ForEachOpen(const Counter& counter, SeeWindow see) const {
  absl::InlinedVector<uint32_t, 64> open;
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (counters_.window(at).frozen) break;  // and so are all that are older
    open.push_back(at);
  }
  for (auto at = open.rbegin(); at != open.rend(); ++at) {
    see(counters_.window(*at).total, *at, counters_.window(*at).start);
  }
  if (counter.count > 0) see(CounterTable::TotalInside(counter), kNone, counter.start);
}

const RollupBook::Detail* RollupBook::DetailOf(uint32_t window) const {
  if (!clears_ || window == kNone) return nullptr;
  const auto found = details_.find(window);
  return found == details_.end() ? nullptr : &found->second;
}

// A clear in a window ends all that came before.
void RollupBook::AddToSum(const Total& total, const Detail* detail, Total& sum) noexcept {
  if (detail != nullptr && detail->clear) {
    sum = detail->after;
  } else {
    sum.Merge(total);
  }
}

// Windows that begin before this are part of a checkpoint of the store.
EngineTime RollupBook::CoveredUpTo(uint32_t number) const {
  return store_ == nullptr ? EngineTime::min() : store_->At(number).until;
}

// What the windows come to that end by `until`.
Total RollupBook::ValueBefore(uint32_t number, EngineTime until) const {
  const Counter& counter = counters_.at(number);
  Total value = counters_.FrozenOf(counter);
  const EngineTime covered = CoveredUpTo(number);
  const auto add = [&](const Total& total, uint32_t window, EngineTime start) {
    if (start < covered || windowing_.EndOf(start) > until) return;
    AddToSum(total, DetailOf(window), value);
  };
  if (counters_.ChainOf(counter, 0) != kNone) {
    ForEachOpen(counter, add);
  } else if (counter.count > 0) {
    add(CounterTable::TotalInside(counter), kNone, counter.start);
  }
  return value;
}

// What all windows come to. The account knows the sum of the older open windows, if that is plain.
Total RollupBook::ValueOf(uint32_t number) const {
  const Counter& counter = counters_.at(number);
  const Account* const account = counters_.AccountIn(counter);
  const Total frozen = counters_.FrozenOf(counter);
  if (account == nullptr && CoveredUpTo(number) <= counter.start) {
    Total value = frozen;
    if (counter.count > 0) value.Merge(CounterTable::TotalInside(counter));
    return value;
  }
  const bool walks = clears_ || account == nullptr || account->irregular ||
                     IsFar(frozen.whole, kFrozenBits) ||
                     (store_ != nullptr && CoveredUpTo(number) > as_of_);
  if (!walks) {
    Total value = frozen;
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

uint32_t RollupBook::FindLive(const PackedKey& key, uint64_t hash) const {
  const uint32_t number = counters_.Find(key, hash);
  return number != kNone && forgets() && IsOver(number) && !IsHeld(number) ? kNone : number;
}

// --- One counter

std::optional<EventualCount> RollupBook::Eventual(const PackedKey& key, uint64_t hash,
                                                  const Instant& at) {
  std::optional<EventualCount> count;
  const EngineTime now = latest_.Reach(at.now);
  const uint32_t number = FindLive(key, hash);
  if (number == kNone) return count;
  const EngineTime as_of = AsOf();
  const Counter& counter = counters_.at(number);
  // As a rule no window waits to be frozen.
  const bool all_frozen = counters_.ChainOf(counter, 0) == kNone &&
                          (counter.count == 0 || windowing_.EndOf(counter.start) > as_of);
  count.emplace();
  count->amount =
      all_frozen ? counters_.FrozenOf(counter).amount() : ValueBefore(number, as_of).amount();
  count->as_of = std::max(as_of, CoveredUpTo(number));
  count->lag = std::max(now - count->as_of, Duration{0});
  return count;
}

AccurateCount RollupBook::Accurate(const PackedKey& key, uint64_t hash, const Instant& at) {
  latest_.Reach(at.now);
  AccurateCount count{.amount = {}, .checkpoint = AsOf(), .loaded = store_ == nullptr};
  const uint32_t number = FindLive(key, hash);
  if (number == kNone) return count;
  count.amount = ValueOf(number).amount();
  if (store_ == nullptr) return count;
  count.loaded = store_->At(number).loaded;
  count.checkpoint = std::max(count.checkpoint, store_->At(number).until);
  return count;
}

// The total of a window so far. Open windows of further resolutions lack those inside them that are
// not closed.
Total RollupBook::TotalOf(const Counter& counter, uint8_t resolution, EngineTime start) const {
  if (resolution == 0 && CounterTable::IsInside(counter, start)) {
    return CounterTable::TotalInside(counter);
  }
  const uint32_t number = counters_.FindWindow(counter, resolution, start);
  PLEAT_CHECK(number != kNone);
  Total total = counters_.window(number).total;
  if (resolution == 0 || counters_.window(number).closed) return total;
  ForEachOpen(counter, [&](const Total& open, uint32_t window, EngineTime each) {
    const bool added =
        window == kNone ? IsEnded(windowing_.EndOf(each)) : counters_.window(window).closed != 0;
    if (!added && windowing_.StartOf(each, resolution) == start) total.Merge(open);
  });
  return total;
}

void RollupBook::History(const PackedKey& key, uint64_t hash, EngineTime from, EngineTime to,
                         uint8_t resolution, const Instant& at, std::vector<CountedWindow>& out) {
  const EngineTime now = latest_.Reach(at.now);
  const uint32_t number = FindLive(key, hash);
  if (number == kNone) return;
  const Counter& counter = counters_.at(number);
  const size_t before = out.size();
  const auto see = [&](EngineTime start) {
    const EngineTime end = windowing_.EndOf(start, resolution);
    if (start < from || start >= to || now < windowing_.ReachedAt(end)) return;
    if (now >= windowing_.ReachedAt(end, retention_)) return;
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

void RollupBook::WindowAround(EngineTime around, uint8_t resolution, const Instant& at,
                              SeeTop see) {
  const EngineTime now = latest_.Reach(at.now);
  const EngineTime start = windowing_.StartOf(around, resolution);
  const EngineTime end = windowing_.EndOf(start, resolution);
  if (now >= windowing_.ReachedAt(end, retention_)) return;
  const WindowLists::List* const list = lists_.Find({end, resolution});
  if (list == nullptr) return;
  lists_.ForEach(*list, [&](const WindowLists::Entry& entry) {
    const Counter& counter = counters_.at(entry.counter);
    see(counter.key.view(), TotalOf(counter, resolution, start).amount());
  });
}

void RollupBook::ScanOpen(const Instant& at, SeeOpen see) {
  const EngineTime now = latest_.Reach(at.now);
  for (const auto& [name, list] : lists_.open()) {
    if (list.ended || now >= windowing_.ReachedAt(name.end)) continue;
    const uint8_t resolution = name.resolution;
    const EngineTime start = StartOf(name);
    lists_.ForEachLeft(list, [&, end = name.end](const WindowLists::Entry& entry) {
      const Counter& counter = counters_.at(entry.counter);
      see(counter.key.view(), {start, end, TotalOf(counter, resolution, start).amount()});
    });
  }
}

// --- Counters that are read without a lock

// Up to when the account speaks: it may be ahead of other counters while a visit is under way.
EngineTime RollupBook::FrozenUpTo(uint32_t number) const {
  const Counter& counter = counters_.at(number);
  EngineTime until = as_of_;
  for (uint32_t at = counters_.ChainOf(counter, 0); at != kNone; at = counters_.window(at).next) {
    if (!counters_.window(at).frozen) continue;
    until = std::max(until, EndOf(counters_.window(at)));
    break;
  }
  return until;
}

std::shared_ptr<const SharedCount> RollupBook::Share(const EventRef& event, const Instant& at) {
  latest_.Reach(at.now);
  VisitAll(at);
  uint32_t number = CounterOf(event);
  if (number == kNone) {
    const bool room = counters_.size() < limits_.max_keys &&
                      bytes() + CounterTable::BytesOfNew(event.key) <= limits_.max_bytes;
    if (!room) return nullptr;
    number = counters_.New(event.key, event.hash);
    ++ledger_.keys_opened;
    if (store_ != nullptr) store_->Begin(number);
    if (forgets()) released_.insert(number);
  }
  std::shared_ptr<SharedCount>& shared = shared_[number];
  if (shared == nullptr) {
    shared = std::make_shared<SharedCount>(frozen_time_);
    WriteShared(number, std::max(as_of_, CoveredUpTo(number)));
  }
  return shared;
}

// What the counter comes to has changed: it is known up to `until` now.
void RollupBook::WriteShared(uint32_t number, EngineTime until) {
  if (shared_.empty()) return;
  const auto found = shared_.find(number);
  if (found == shared_.end()) return;
  found->second->Write(counters_.FrozenOf(counters_.at(number)).amount(), until);
}

}  // namespace pleat::inline v0_1
