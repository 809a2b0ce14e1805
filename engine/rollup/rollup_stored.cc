// A rollup book is read from the bytes that rollup_saving.cc writes.
//
// Counters come in the order of their numbers, and get numbers in this order again: their order is
// all that numbers mean. What follows from something else is not written, and so cannot contradict
// it: which windows are closed or over, the sums of open windows, what the store lacks. The rest is
// checked, at the end as a whole (ListsAgree, CountsAgree).
//
// CounterRefs belong to the process: they are not written, and hold no counter after a restart.
#include <bit>
#include <optional>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/read_fields.h"
#include "engine/rollup/rollup_book.h"
#include "engine/rollup/stored_flags.h"

namespace pleat::inline v0_1 {
namespace {

using namespace rollup_stored;

constexpr uint64_t kGenerationsMax = uint64_t{1} << 56;
constexpr uint64_t kArrivalsMax = uint64_t{1} << 60;

Delta LoadDelta(FieldReader& in) {
  switch (ReadEnum(in, Delta::Kind::kBelow)) {
    case Delta::Kind::kInteger: {
      int64_t whole = 0;
      in(whole);
      return whole;
    }
    case Delta::Kind::kReal: {
      double real = 0;
      in(real);
      return real;
    }
    case Delta::Kind::kAbove: return Delta::Above();
    case Delta::Kind::kBelow: return Delta::Below();
  }
  return {};
}

}  // namespace

void RollupBook::Load(FieldReader& in, const Instant& at) {
  Renumbered numbers;
  renumbered_ = &numbers;
  LoadAll(in, at);
  renumbered_ = nullptr;
}

void RollupBook::LoadAll(FieldReader& in, const Instant& at) {
  latest_.Load(in);
  LedgerColumns columns{};
  floor_ = ReadTime(in);
  as_of_ = ReadTime(in);
  in(columns, windows_opened_, windows_closed_, emissions_);
  renumbered_->waiting.resize(in.Count(), kNone);
  ledger_ = std::bit_cast<RollupLedger>(columns);
  in.Expect(latest_.now() <= kEndOfTime && !latest_.HasReached(kArrivalsMax) && as_of_ <= AsOf());
  frozen_time_->time.store(as_of_, std::memory_order_release);
  for (bool more = true; more && in.ok();) more = LoadCounter(in);
  for (bool more = true; more && in.ok();) more = LoadLoose(in);
  const std::vector<uint32_t>& counters = renumbered_->counters;
  uint32_t before_next = 0;
  in(before_next);
  if (!in.Expect(before_next <= counters.size())) return;
  released_next_ = before_next < counters.size() ? counters[before_next]
                   : counters.empty()            ? 0
                                                 : counters.back() + 1;
  LoadLists(in);
  if (store_ != nullptr) LoadQueue(in);
  bool has_ids = false;
  in(has_ids);
  if (has_ids) {
    ids_ = std::make_unique<EventIds>(pool_, name_key_, horizon_);
    ids_->Load(in);
  }
  if (!in.ok()) return;
  outbox_.Load(in, at);
  if (!in.ok()) return;
  const Tally tally = TallyWindows();
  in.Expect(AllAreNamed() && CountsAgree(tally) && ListsAgree(tally));
}

// Whether every emission was met, and all that only emissions need was named by one.
bool RollupBook::AllAreNamed() const {
  if (renumbered_->emissions != renumbered_->waiting.size()) return false;
  for (const uint32_t number : renumbered_->counters) {
    if (counters_.IsForgotten(number) && !counters_.IsNamed(number)) return false;
  }
  return true;
}

// --- Counters

// Returns false behind the last one.
bool RollupBook::LoadCounter(FieldReader& in) {
  const uint8_t flags = in.Byte();
  if (flags == kCounterFlags) return false;
  const std::string_view text = in.Bytes();
  if (!in.Expect(text.size() <= kKeyBytesMax && flags < kCounterFlags)) return false;
  const PackedKey key(text);
  const uint64_t hash = key.HashWith(hash_key_);
  if ((flags & kForgotten) != 0) {
    if (in.Expect(flags == kForgotten)) {
      renumbered_->counters.push_back(counters_.NewForgotten(key, hash));
    }
  } else if (in.Expect(counters_.Find(key, hash) == kNone)) {
    const uint32_t number = counters_.New(key, hash);
    renumbered_->counters.push_back(number);
    LoadKnown(in, number, flags);
  }
  return true;
}

// A counter that was not forgotten.
void RollupBook::LoadKnown(FieldReader& in, uint32_t number, uint8_t flags) {
  Counter& counter = counters_.ChangeKept(number);
  if ((flags & kHasStart) != 0) counter.start = windowing_.LoadStart(in, 0);
  if ((flags & kHasInside) != 0) {
    in(counter.count, counter.sum);
    in.Expect((flags & kHasStart) != 0 && counter.count > 0 && !clears_);
    ++inside_;
    if (!in.ok()) return;
    in.Expect(!IsEnded(windowing_.EndOf(counter.start)) || on_late_ != OnLateAdd::kCorrect);
  }
  Total frozen;
  frozen.Load(in);
  counters_.SetFrozen(counter, frozen);
  if ((flags & kHasAccount) != 0) {
    counters_.AccountOf(counter).irregular = (flags & kIrregular) != 0;
    LoadChain(in, number, 0);
    if (windowing_.resolutions() > 1) LoadChain(in, number, 1);
  }
  in.Expect((flags & kIrregular) == 0 || (flags & kHasAccount) != 0);
  if ((flags & kReleased) != 0 && in.Expect(forgets())) released_.insert(released_.end(), number);
  if (store_ == nullptr || !in.ok()) return;
  store_->LoadState(in, number, [&](EngineTime until) { return HasUnpublished(number, until); });
}

// --- Windows

void RollupBook::LoadChain(FieldReader& in, uint32_t counter, uint8_t chain) {
  const size_t windows = in.Count();
  if (!in.Expect(windows == 0 || counters_.at(counter).start != CounterTable::kNoStart)) return;
  for (size_t left = windows; left > 0 && in.ok(); --left) LoadWindow(in, counter, chain);
}

void RollupBook::LoadWindow(FieldReader& in, uint32_t counter, uint8_t chain) {
  const uint8_t flags = in.Byte();
  const auto resolution = static_cast<uint8_t>(flags & kResolution);
  in.Expect(flags < kWindowFlags && resolution < windowing_.resolutions());
  if (!in.Expect((resolution == 0) == (chain == 0))) return;
  const EngineTime start = windowing_.LoadStart(in, resolution);
  if (!in.ok()) return;

  // No window begins after the newest one, and the frozen ones are the oldest.
  Counter& owner = counters_.ChangeKept(counter);
  const uint32_t head = counters_.ChainOf(owner, chain);
  const bool frozen = (flags & kFrozen) != 0;
  const EngineTime end = windowing_.EndOf(start, resolution);
  in.Expect(start <= windowing_.StartOf(owner.start, resolution));
  in.Expect(head == kNone || start >= counters_.window(head).start);
  in.Expect(chain > 0 || !CounterTable::IsInside(owner, start));
  in.Expect(counters_.FindWindow(owner, resolution, start) == kNone);
  in.Expect(!frozen || latest_.now() >= windowing_.ReachedAt(end));
  in.Expect(!frozen || chain > 0 || head == kNone || counters_.window(head).frozen);
  if (!in.ok()) return;

  const uint32_t number = counters_.NewWindow(counter, resolution, start);
  Window& window = counters_.ChangeKeptWindow(number);
  window.frozen = frozen;
  window.closed = frozen || IsEnded(end);
  window.total.Load(in);
  if (window.closed) {
    uint64_t arrival = 0;
    uint64_t generation = 0;
    in(arrival, generation);
    in.Expect(arrival < kArrivalsMax && generation < kGenerationsMax);
    window.total.arrival = arrival & (kArrivalsMax - 1);
    window.generation = generation & (kGenerationsMax - 1);
  }
  counters_.Chain(number);
  if ((flags & kDetailed) != 0 && in.Expect(clears_)) LoadDetail(in, details_[number], window);
  if ((flags & kWaits) != 0 && in.Expect(window.closed)) LoadWaiting(in, number);
  kept_ += frozen;
  if (frozen || chain > 0) return;
  const Total& total = window.total;
  in.Expect(total.wholes || total.whole == 0);
  Account& account = counters_.AccountOf(owner);
  account.open_count += total.count;
  if (account.irregular) return;
  in.Expect(total.plain() && !IsFar(total.whole, kOpenBits));
  in.Expect(!__builtin_add_overflow(account.open_sum, total.whole, &account.open_sum));
}

void RollupBook::LoadDetail(FieldReader& in, Detail& detail, const Window& window) {
  const auto stamp = [&] {
    Duration into{};
    in(into);
    const bool inside = into >= Duration{0} && into < EndOf(window) - window.start;
    return in.Expect(inside) ? window.start + into : window.start;
  };
  if (!window.frozen) {
    for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
      const EngineTime at = stamp();
      detail.events.push_back({at, LoadDelta(in)});
      detail_bytes_ += kStampedBytes;
    }
  }
  bool cleared = false;
  in(cleared);
  if (!cleared) return;
  detail.clear = stamp();
  detail.after.Load(in);
}

// --- The lists of windows

void RollupBook::LoadLists(FieldReader& in) {
  std::optional<WindowLists::Name> before;
  WindowLists::Stage stage_before = WindowLists::kStages;
  while (in.ok()) {
    const auto stage = ReadEnum(in, WindowLists::kStages);
    if (stage == WindowLists::kStages) return;
    uint8_t resolution = 0;
    in(resolution);
    if (!in.Expect(stage <= stage_before && resolution < windowing_.resolutions())) return;
    const EngineTime start = windowing_.LoadStart(in, resolution);
    const WindowLists::Name name{windowing_.EndOf(start, resolution), resolution};
    if (!in.Expect(!before || *before < name)) return;
    before = name;
    LoadList(in, stage, name, /*first=*/stage != stage_before);
    stage_before = stage;
  }
}

void RollupBook::LoadList(FieldReader& in, WindowLists::Stage stage, const WindowLists::Name& name,
                          bool first) {
  const size_t size = in.Count();
  uint32_t passed = 0;
  in(passed);
  // A list comes to a stage once the stage before is over, and one after the other is taken.
  const bool frees = StageAfter(stage) == WindowLists::kStages;
  const Duration over[] = {Duration{0}, retention_, forget_after_};
  const auto is_over = [&](WindowLists::Stage each) {
    return latest_.now() >= windowing_.ReachedAt(name.end, over[each]);
  };
  const WindowLists::Stage reached_from = stage == WindowLists::kLast && retention_ > Duration{0}
                                              ? WindowLists::kKept
                                              : WindowLists::kOpen;
  in.Expect(size > 0 && size <= UINT32_MAX && passed < size);
  in.Expect(stage == WindowLists::kOpen ||
            (StageAfter(reached_from) == stage && is_over(reached_from)));
  in.Expect(passed == 0 || (first && !frees && is_over(stage)));
  if (!in.ok()) return;
  WindowLists::List& list = lists_.Add(stage, name);
  list.ended = IsEnded(name.end);
  uint64_t before = 0;
  for (size_t i = 0; i < size; ++i) {
    const uint32_t counter = LoadNumber(in);
    uint64_t arrival = 0;
    in(arrival);
    in.Expect(i == 0 || arrival > 0);
    arrival += before;
    in.Expect(arrival >= before && latest_.HasReached(arrival));
    if (!in.ok() || !in.Expect(counters_.Has(counter))) return;
    // Or else the counter could be forgotten before the list is taken.
    const EngineTime newest = counters_.at(counter).start;
    if (!in.Expect(newest != CounterTable::kNoStart && LastOf(counters_.at(counter)) >= name))
      return;
    lists_.AppendTo(list, counter, arrival);
    before = arrival;
  }
  for (uint32_t i = 0; i < passed; ++i) lists_.Pass(list, /*frees=*/false);
}

// The counter that the next number in the bytes stands for.
uint32_t RollupBook::LoadNumber(FieldReader& in) const {
  uint32_t number = 0;
  in(number);
  return in.Expect(number < renumbered_->counters.size()) ? renumbered_->counters[number] : kNone;
}

// --- The store

void RollupBook::LoadQueue(FieldReader& in) {
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const uint32_t number = LoadNumber(in);
    if (in.ok() && in.Expect(counters_.Has(number))) in.Expect(store_->LoadQueued(number));
  }
  in.Expect(store_->queued() == store_->undone());
}

// --- Emissions that wait

// The number in the outbox of the window's emission.
void RollupBook::LoadWaiting(FieldReader& in, uint32_t number) {
  uint32_t emission = 0;
  in(emission);
  std::vector<uint32_t>& waiting = renumbered_->waiting;
  if (!in.Expect(emission < waiting.size() && waiting[emission] == kNone)) return;
  waiting[emission] = number;
  counters_.ChangeKeptWindow(number).ready = 1;
}

// Returns false behind the last one.
bool RollupBook::LoadLoose(FieldReader& in) {
  const uint64_t named = in.Number();
  if (named == 0) return false;
  const std::vector<uint32_t>& counters = renumbered_->counters;
  const uint32_t counter = in.Expect(named <= counters.size()) ? counters[named - 1] : kNone;
  const uint8_t flags = in.Byte();
  const auto resolution = static_cast<uint8_t>(flags & kResolution);
  const bool correction = (flags & kCorrection) != 0;
  const bool corrects = (flags & kCorrects) != 0;
  in.Expect(flags < kLooseFlags && resolution < windowing_.resolutions());
  if (!in.Expect(correction ? resolution == 0 : !corrects)) return false;
  const uint32_t number = counters_.NewWindow(counter, resolution, {});
  Window& window = counters_.ChangeKeptWindow(number);
  LoadWaiting(in, number);
  window.start = windowing_.LoadStart(in, resolution);
  window.closed = 1;
  window.correction = correction;
  window.frozen = !correction;
  window.total.Load(in);
  uint64_t arrival = 0;
  in(arrival);
  in.Expect(arrival < kArrivalsMax);
  window.total.arrival = arrival & (kArrivalsMax - 1);
  if (corrects) in(corrects_[number]);
  return true;
}

uint32_t RollupBook::LoadEntry(FieldReader& in) {
  PLEAT_CHECK(renumbered_ != nullptr);
  const std::vector<uint32_t>& waiting = renumbered_->waiting;
  const uint32_t emission = renumbered_->emissions++;
  const bool known = emission < waiting.size() && waiting[emission] != kNone;
  return in.Expect(known) ? waiting[emission] : kNone;
}

}  // namespace pleat::inline v0_1
