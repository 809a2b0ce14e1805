// A rollup book as bytes: time and counts, then each counter with its windows, the lists of windows,
// the counters that wait for the store, ids, and the outbox.
//
// Counters come in the order of their numbers, and get numbers in this order again: their order is
// all that numbers mean. What follows from something else is not written, and so cannot contradict
// it: which windows are closed or over, the sums of open windows, what the store lacks. The rest is
// checked, at the end as a whole (ListsAgree, CountsAgree).
//
// CounterRefs belong to the process: they are not written, and hold no counter after a restart.
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include <absl/container/inlined_vector.h>

#include "engine/base/check.h"
#include "engine/base/read_fields.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {
namespace {

using LedgerColumns = std::array<uint64_t, sizeof(RollupLedger) / sizeof(uint64_t)>;

// Of a counter:
constexpr uint8_t kForgotten = 1;  // nothing follows
constexpr uint8_t kHasStart = 2;
constexpr uint8_t kHasInside = 4;
constexpr uint8_t kHasAccount = 8;
constexpr uint8_t kIrregular = 16;
constexpr uint8_t kReleased = 32;
constexpr uint8_t kCounterFlags = 64;  // less than this

// Of a window, behind three bits of resolution:
constexpr uint8_t kResolution = 7;
constexpr uint8_t kFrozen = 8;
constexpr uint8_t kWaits = 16;  // its emission does
constexpr uint8_t kDetailed = 32;
constexpr uint8_t kWindowFlags = 64;

// Of a window that is in no chain, in place of the last three:
constexpr uint8_t kCorrection = 8;
constexpr uint8_t kCorrects = 16;
constexpr uint8_t kLooseFlags = 32;

constexpr uint64_t kGenerationsMax = uint64_t{1} << 56;
constexpr uint64_t kArrivalsMax = uint64_t{1} << 60;

constexpr uint8_t FlagIf(bool holds, uint8_t flag) noexcept { return holds ? flag : uint8_t{0}; }

void Number(std::vector<uint32_t>& numbers, uint32_t of, uint32_t number) {
  if (of >= numbers.size()) numbers.resize(of + size_t{1});
  numbers[of] = number;
}

void SaveDelta(FieldWriter& out, const Delta& delta) {
  out(delta.kind());
  if (delta.kind() == Delta::Kind::kInteger) out(delta.whole());
  if (delta.kind() == Delta::Kind::kReal) out(delta.real());
}

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

bool RollupBook::BeginSave(FieldWriter& out) {
  Renumbered numbers;
  renumbered_ = &numbers;
  uint32_t counters = 0;
  uint32_t before_next = 0;
  counters_.ForEachKept([&](uint32_t number) {
    before_next += number < released_next_;
    Number(numbers.counters, number, counters++);
  });
  latest_.Save(out);
  out(floor_, as_of_, std::bit_cast<LedgerColumns>(ledger_), windows_opened_, windows_closed_,
      emissions_);
  out(counters);
  counters_.ForEachKept([&](uint32_t number) { SaveCounter(out, number); });
  out(before_next);
  SaveLists(out);
  if (store_ != nullptr) SaveQueue(out);
  out(ids_ != nullptr);
  if (ids_ != nullptr) ids_->Save(out);
  outbox_.Save(out);
  renumbered_ = nullptr;
  return false;
}

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
  ledger_ = std::bit_cast<RollupLedger>(columns);
  in.Expect(latest_.now() <= kEndOfTime && !latest_.HasReached(kArrivalsMax) && as_of_ <= AsOf());
  frozen_time_->time.store(as_of_, std::memory_order_release);
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) LoadCounter(in);
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

// Whether all that only emissions need was named by one.
bool RollupBook::AllAreNamed() const {
  for (const uint32_t number : renumbered_->waiting) {
    if (!counters_.window(number).ready) return false;
  }
  for (const uint32_t number : renumbered_->counters) {
    if (counters_.IsForgotten(number) && !counters_.IsNamed(number)) return false;
  }
  return true;
}

// --- Counters

void RollupBook::SaveCounter(FieldWriter& out, uint32_t number) const {
  const Counter& counter = counters_.at(number);
  out.PutBytes(counter.key.view());
  if (counters_.IsForgotten(number)) return out.PutByte(kForgotten);
  const Account* const account = counters_.AccountIn(counter);
  const bool has_start = counter.start != CounterTable::kNoStart;
  out.PutByte(FlagIf(has_start, kHasStart) | FlagIf(counter.count > 0, kHasInside) |
              FlagIf(account != nullptr, kHasAccount) |
              FlagIf(account != nullptr && account->irregular, kIrregular) |
              FlagIf(released_.contains(number), kReleased));
  if (has_start) windowing_.SaveStart(out, counter.start, 0);
  if (counter.count > 0) out(counter.count, counter.sum);
  counters_.FrozenOf(counter).Save(out);
  if (account != nullptr) {
    SaveChain(out, account->chain);
    if (windowing_.resolutions() > 1) SaveChain(out, account->coarse);
  }
  if (store_ != nullptr) store_->SaveState(out, number);
}

void RollupBook::LoadCounter(FieldReader& in) {
  const std::string_view text = in.Bytes();
  const uint8_t flags = in.Byte();
  if (!in.Expect(text.size() <= kKeyBytesMax && flags < kCounterFlags)) return;
  const PackedKey key(text);
  const uint64_t hash = key.HashWith(hash_key_);
  if ((flags & kForgotten) != 0) {
    if (in.Expect(flags == kForgotten)) {
      renumbered_->counters.push_back(counters_.NewForgotten(key, hash));
    }
    return;
  }
  if (!in.Expect(counters_.Find(key, hash) == kNone)) return;
  const uint32_t number = counters_.New(key, hash);
  renumbered_->counters.push_back(number);
  Counter& counter = counters_.at(number);
  if ((flags & kHasStart) != 0) counter.start = windowing_.LoadStart(in, 0);
  if ((flags & kHasInside) != 0) {
    in(counter.count, counter.sum);
    in.Expect((flags & kHasStart) != 0 && counter.count > 0 && !clears_);
    if (!in.ok()) return;
    in.Expect(windowing_.EndOf(counter.start) > floor_);
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

// The oldest first, so that each one goes to the head of its chain.
void RollupBook::SaveChain(FieldWriter& out, uint32_t head) const {
  absl::InlinedVector<uint32_t, 64> chain;
  for (uint32_t at = head; at != kNone; at = counters_.window(at).next) chain.push_back(at);
  out(chain.size());
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) SaveWindow(out, *at);
}

void RollupBook::LoadChain(FieldReader& in, uint32_t counter, uint8_t chain) {
  const size_t windows = in.Count();
  if (!in.Expect(windows == 0 || counters_.at(counter).start != CounterTable::kNoStart)) return;
  for (size_t left = windows; left > 0 && in.ok(); --left) LoadWindow(in, counter, chain);
}

void RollupBook::SaveWindow(FieldWriter& out, uint32_t number) const {
  const Window& window = counters_.window(number);
  const auto resolution = static_cast<uint8_t>(window.resolution);
  const auto detail = details_.find(number);
  out.PutByte(resolution | FlagIf(window.frozen, kFrozen) | FlagIf(window.ready, kWaits) |
              FlagIf(detail != details_.end(), kDetailed));
  windowing_.SaveStart(out, window.start, resolution);
  window.total.Save(out);
  if (window.closed) out(uint64_t{window.total.arrival}, uint64_t{window.generation});
  if (detail != details_.end()) SaveDetail(out, detail->second, window);
  if (window.ready) Number(renumbered_->waiting, number, renumbered_->next_waiting++);
}

void RollupBook::LoadWindow(FieldReader& in, uint32_t counter, uint8_t chain) {
  const uint8_t flags = in.Byte();
  const auto resolution = static_cast<uint8_t>(flags & kResolution);
  in.Expect(flags < kWindowFlags && resolution < windowing_.resolutions());
  if (!in.Expect((resolution == 0) == (chain == 0))) return;
  const EngineTime start = windowing_.LoadStart(in, resolution);
  if (!in.ok()) return;

  // No window begins after the newest one, and the frozen ones are the oldest.
  Counter& owner = counters_.at(counter);
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
  Window& window = counters_.window(number);
  window.frozen = frozen;
  window.closed = frozen || end <= floor_;
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
  if ((flags & kWaits) != 0 && in.Expect(window.closed)) renumbered_->waiting.push_back(number);
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

// The events of a frozen window are gone.
void RollupBook::SaveDetail(FieldWriter& out, const Detail& detail, const Window& window) {
  if (!window.frozen) {
    out(detail.events.size());
    for (const Stamped& each : detail.events) {
      out(each.at - window.start);
      SaveDelta(out, each.delta);
    }
  }
  out(detail.clear.has_value());
  if (!detail.clear) return;
  out(*detail.clear - window.start);
  detail.after.Save(out);
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

// From the stage of the earliest ends on.
void RollupBook::SaveLists(FieldWriter& out) const {
  for (const auto stage : {WindowLists::kLast, WindowLists::kKept, WindowLists::kOpen}) {
    const bool frees = StageAfter(stage) == WindowLists::kStages;
    out(lists_.at(stage).size());
    for (const auto& [name, list] : lists_.at(stage)) {
      out(name.resolution);
      windowing_.SaveStart(out, StartOf(name), name.resolution);
      out(frees ? list.size - list.passed : list.size, frees ? 0 : list.passed);
      uint64_t before = 0;
      ForEachNeeded(stage, list, [&](const WindowLists::Entry& entry, bool) {
        out(renumbered_->counters[entry.counter], entry.arrival - before);
        before = entry.arrival;
      });
    }
  }
}

void RollupBook::LoadLists(FieldReader& in) {
  std::optional<WindowLists::Name> before;
  for (const auto stage : {WindowLists::kLast, WindowLists::kKept, WindowLists::kOpen}) {
    const size_t lists = in.Count();
    for (size_t i = 0; i < lists && in.ok(); ++i) {
      uint8_t resolution = 0;
      in(resolution);
      if (!in.Expect(resolution < windowing_.resolutions())) return;
      const EngineTime start = windowing_.LoadStart(in, resolution);
      const WindowLists::Name name{windowing_.EndOf(start, resolution), resolution};
      if (!in.Expect(!before || *before < name)) return;
      before = name;
      LoadList(in, stage, name, /*first=*/i == 0);
    }
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
  list.ended = name.end <= floor_;
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

// Those that a Publish() asks about have waited longest. The answer will not come, so they are the
// first to be asked about again.
void RollupBook::SaveQueue(FieldWriter& out) const {
  std::vector<uint32_t> waiting;
  counters_.ForEach([&](uint32_t number) {
    const Publications::State& state = store_->At(number);
    if (state.busy && !state.done()) waiting.push_back(number);
  });
  for (const uint32_t number : store_->queue()) waiting.push_back(number);
  out(waiting.size());
  for (const uint32_t number : waiting) out(renumbered_->counters[number]);
}

void RollupBook::LoadQueue(FieldReader& in) {
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const uint32_t number = LoadNumber(in);
    if (in.ok() && in.Expect(counters_.Has(number))) in.Expect(store_->LoadQueued(number));
  }
  in.Expect(store_->queued() == store_->undone());
}

// --- Entries of the outbox

// A window in a chain has been written there; of another one, the emission is all that is left.
void RollupBook::SaveEntry(FieldWriter& out, uint32_t entry) const {
  PLEAT_CHECK(renumbered_ != nullptr);
  const Window& window = counters_.window(entry);
  if (window.chained) return out.PutNumber(uint64_t{renumbered_->waiting[entry]} + 1);
  const auto resolution = static_cast<uint8_t>(window.resolution);
  const auto corrects = corrects_.find(entry);
  out.PutNumber(0);
  out(renumbered_->counters[window.counter]);
  out.PutByte(resolution | FlagIf(window.correction, kCorrection) |
              FlagIf(corrects != corrects_.end(), kCorrects));
  windowing_.SaveStart(out, window.start, resolution);
  window.total.Save(out);
  out(uint64_t{window.total.arrival});
  if (corrects != corrects_.end()) out(corrects->second);
}

uint32_t RollupBook::LoadEntry(FieldReader& in) {
  PLEAT_CHECK(renumbered_ != nullptr);
  if (const uint64_t waits = in.Number(); waits > 0) {
    if (!in.Expect(waits <= renumbered_->waiting.size())) return kNone;
    const uint32_t number = renumbered_->waiting[waits - 1];
    in.Expect(!counters_.window(number).ready);
    counters_.window(number).ready = 1;
    return number;
  }
  const uint32_t counter = LoadNumber(in);
  const uint8_t flags = in.Byte();
  const auto resolution = static_cast<uint8_t>(flags & kResolution);
  const bool correction = (flags & kCorrection) != 0;
  const bool corrects = (flags & kCorrects) != 0;
  in.Expect(flags < kLooseFlags && resolution < windowing_.resolutions());
  if (!in.Expect(correction ? resolution == 0 : !corrects)) return kNone;
  const EngineTime start = windowing_.LoadStart(in, resolution);
  if (!in.ok()) return kNone;
  const uint32_t number = counters_.NewWindow(counter, resolution, start);
  Window& window = counters_.window(number);
  window.ready = window.closed = 1;
  window.correction = correction;
  window.frozen = !correction;
  window.total.Load(in);
  uint64_t arrival = 0;
  in(arrival);
  in.Expect(arrival < kArrivalsMax);
  window.total.arrival = arrival & (kArrivalsMax - 1);
  if (corrects) in(corrects_[number]);
  return number;
}

}  // namespace pleat::inline v0_1
