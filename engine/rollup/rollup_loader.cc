#include "engine/rollup/rollup_loader.h"

#include <optional>
#include <string_view>
#include <unordered_set>

#include "engine/base/check.h"
#include "engine/base/read_fields.h"
#include "engine/rollup/stored_flags.h"

namespace pleat::inline v0_1 {
namespace {

using namespace rollup_stored;

constexpr uint64_t kGenerationsMax = uint64_t{1} << 56;
constexpr uint64_t kArrivalsMax = uint64_t{1} << 60;

}  // namespace

RollupLoader::RollupLoader(const HashKey& hash_key, bool corrects, const Parts& parts)
    : hash_key_(hash_key),
      corrects_(corrects),
      clock_(parts.clock),
      windowing_(parts.clock.windowing()),
      windows_(parts.windows),
      counters_(parts.windows.counters()),
      ids_(parts.ids),
      shared_(parts.shared),
      store_(parts.store),
      values_(parts.values),
      forgetter_(parts.forgetter),
      emitter_(parts.emitter),
      ledger_(parts.ledger) {}

void RollupLoader::Load(FieldReader& in) {
  clock_.Load(in);
  ledger_.Load(in);
  in(waiting_count_);
  in.Expect(!clock_.HasReached(kArrivalsMax));
  shared_.Reach(clock_.final_up_to());
  for (bool more = true; more && in.ok();) more = LoadCounter(in);
  for (bool more = true; more && in.ok();) more = LoadLoose(in);
  PlaceWaiting(in);
  LoadReleased(in);
  if (!in.ok()) return;
  LoadLists(in);
  if (store_ != nullptr) LoadQueue(in);
  bool has_ids = false;
  in(has_ids);
  if (has_ids) ids_.Make().Load(in);
}

bool RollupLoader::AllAreNamed() const {
  if (emissions_ != waiting_.size()) return false;
  for (const uint32_t number : numbers_) {
    if (counters_.IsForgotten(number) && !counters_.IsNamed(number)) return false;
  }
  return true;
}

// --- Counters

// Returns false behind the last one.
bool RollupLoader::LoadCounter(FieldReader& in) {
  const uint8_t flags = in.Byte();
  if (flags == kCounterFlags) return false;
  const std::string_view text = in.Bytes();
  if (!in.Expect(text.size() <= kKeyBytesMax && flags < kCounterFlags)) return false;
  const PackedKey key(text);
  const uint64_t hash = key.HashWith(hash_key_);
  if ((flags & kForgotten) != 0) {
    if (in.Expect(flags == kForgotten)) {
      numbers_.push_back(counters_.NewForgotten(key, hash));
    }
  } else if (in.Expect(counters_.Find(key, hash) == kNone)) {
    const uint32_t number = counters_.New(key, hash);
    numbers_.push_back(number);
    LoadKnown(in, number, flags);
  }
  return true;
}

// A counter that was not forgotten.
void RollupLoader::LoadKnown(FieldReader& in, uint32_t number, uint8_t flags) {
  CounterTable::Counter& counter = counters_.ChangeKept(number);
  if ((flags & kHasStart) != 0) counter.start = windowing_.LoadNewest(in);
  if ((flags & kHasInside) != 0) {
    in(counter.count, counter.sum);
    in.Expect((flags & kHasStart) != 0 && counter.count > 0 && !windows_.clears().on());
    windows_.NoteInside();
    if (!in.ok()) return;
    in.Expect(!clock_.IsEnded(windowing_.EndOf(counter.start)) || !corrects_);
  }
  Total final_total;
  final_total.Load(in);
  counters_.SetFinal(counter, final_total);
  if ((flags & kHasAccount) != 0) {
    counters_.AccountOf(counter).irregular = (flags & kIrregular) != 0;
    LoadChain(in, number, 0);
    if (windowing_.resolutions() > 1) LoadChain(in, number, 1);
  }
  in.Expect((flags & kIrregular) == 0 || (flags & kHasAccount) != 0);
  if ((flags & kReleased) != 0 && in.Expect(clock_.forgets())) forgetter_.Release(number);
  if (store_ == nullptr || !in.ok()) return;
  store_->LoadState(in, number,
                    [&](EngineTime until) { return values_.HasFinalSince(number, until); });
}

// --- Windows

void RollupLoader::LoadChain(FieldReader& in, uint32_t counter, uint8_t chain) {
  const uint64_t windows = in.Number();
  if (!in.Expect(windows == 0 || counters_.at(counter).start != CounterTable::kNoStart)) return;
  for (uint64_t left = windows; left > 0 && in.ok(); --left) LoadWindow(in, counter, chain);
}

void RollupLoader::LoadWindow(FieldReader& in, uint32_t counter, uint8_t chain) {
  const uint8_t flags = in.Byte();
  const auto resolution = static_cast<uint8_t>(flags & kResolution);
  in.Expect(flags < kWindowFlags && resolution < windowing_.resolutions());
  if (!in.Expect((resolution == 0) == (chain == 0))) return;
  const EngineTime start = windowing_.LoadStart(in, resolution);
  if (!in.ok()) return;

  // No window begins after the newest one, and the final ones are the oldest.
  CounterTable::Counter& owner = counters_.ChangeKept(counter);
  const uint32_t head = counters_.ChainOf(owner, chain);
  const bool is_final = (flags & kFinal) != 0;
  const EngineTime end = windowing_.EndOf(start, resolution);
  in.Expect(start <= windowing_.StartOf(owner.start, resolution));
  in.Expect(head == kNone || start >= counters_.window(head).start);
  in.Expect(chain > 0 || !CounterTable::IsInside(owner, start));
  in.Expect(counters_.FindWindow(owner, resolution, start) == kNone);
  in.Expect(!is_final || clock_.IsOver(WindowLists::kOpen, end));
  in.Expect(!is_final || chain > 0 || head == kNone || counters_.window(head).is_final);
  if (!in.ok()) return;

  const uint32_t number = counters_.NewWindow(counter, resolution, start);
  Window& window = counters_.ChangeKeptWindow(number);
  window.is_final = is_final;
  window.closed = is_final || clock_.IsEnded(end);
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
  if ((flags & kDetailed) != 0 && in.Expect(windows_.clears().on())) {
    windows_.clears().Load(in, number, window, end);
  }
  if ((flags & kWaits) != 0 && in.Expect(window.closed)) {
    LoadWaiting(in, number);
    windowing_.NoteShown(start, resolution, /*more=*/true);
  }
  if (is_final) windows_.NoteKept();
  if (is_final || chain > 0) return;
  const Total& total = window.total;
  in.Expect(total.wholes || total.whole == 0);
  CounterTable::Account& account = counters_.AccountOf(owner);
  account.open_count += total.count;
  if (account.irregular) return;
  in.Expect(total.plain() && !CounterWindows::IsFar(total.whole, CounterWindows::kOpenBits));
  in.Expect(!__builtin_add_overflow(account.open_sum, total.whole, &account.open_sum));
}

// Where the next look at released counters begins.
void RollupLoader::LoadReleased(FieldReader& in) {
  uint32_t next = 0;
  in(next);
  if (!in.Expect(next <= numbers_.size())) return;
  forgetter_.set_released_next(next < numbers_.size() ? numbers_[next]
                               : numbers_.empty()     ? 0
                                                      : numbers_.back() + 1);
}

// --- The lists of windows

void RollupLoader::LoadLists(FieldReader& in) {
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

void RollupLoader::LoadList(FieldReader& in, WindowLists::Stage stage,
                            const WindowLists::Name& name, bool first) {
  const uint64_t size = in.Number();
  uint32_t passed = 0;
  in(passed);
  // A list comes to a stage once the stage before is over, and one after the other is taken.
  const bool frees = clock_.StageAfter(stage) == WindowLists::kStages;
  const WindowLists::Stage reached_from =
      stage == WindowLists::kLast && clock_.retains() ? WindowLists::kKept : WindowLists::kOpen;
  in.Expect(size > 0 && size <= UINT32_MAX && passed < size);
  in.Expect(stage == WindowLists::kOpen ||
            (clock_.StageAfter(reached_from) == stage && clock_.IsOver(reached_from, name.end)));
  in.Expect(passed == 0 || (first && !frees && clock_.IsOver(stage, name.end)));
  if (!in.ok()) return;
  WindowLists::List& list = windows_.lists().Add(stage, name);
  list.ended = clock_.IsEnded(name.end);
  std::unordered_set<uint32_t> counters;
  uint64_t before = 0;
  for (uint64_t i = 0; i < size; ++i) {
    const uint32_t counter = LoadNumber(in);
    // Or else it would be forgotten twice. Open windows are counted.
    if (stage != WindowLists::kOpen && !in.Expect(counters.insert(counter).second)) return;
    uint64_t arrival = 0;
    in(arrival);
    in.Expect(i == 0 || arrival > 0);
    arrival += before;
    in.Expect(arrival >= before && clock_.HasReached(arrival));
    if (!in.ok() || !in.Expect(counters_.Has(counter))) return;
    // Or else the counter could be forgotten before the list is taken.
    const EngineTime newest = counters_.at(counter).start;
    if (!in.Expect(newest != CounterTable::kNoStart &&
                   windows_.LastOf(counters_.at(counter)) >= name))
      return;
    windows_.lists().AppendTo(list, counter, arrival);
    before = arrival;
  }
  for (uint32_t i = 0; i < passed; ++i) windows_.lists().Pass(list, /*frees=*/false);
}

// The counter that the next number in the bytes stands for.
uint32_t RollupLoader::LoadNumber(FieldReader& in) const {
  uint32_t number = 0;
  in(number);
  return in.Expect(number < numbers_.size()) ? numbers_[number] : kNone;
}

// --- The store

void RollupLoader::LoadQueue(FieldReader& in) {
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    const uint32_t number = LoadNumber(in);
    if (in.ok() && in.Expect(counters_.Has(number))) in.Expect(store_->LoadQueued(number));
  }
  in.Expect(store_->queued() == store_->undone());
}

// --- Emissions that wait

// The number in the outbox of the window's emission.
void RollupLoader::LoadWaiting(FieldReader& in, uint32_t number) {
  uint32_t emission = 0;
  in(emission);
  if (!in.Expect(emission < waiting_count_)) return;
  named_.push_back({.emission = emission, .window = number});
  counters_.ChangeKeptWindow(number).ready = 1;
}

// All windows are there: each emission has one.
void RollupLoader::PlaceWaiting(FieldReader& in) {
  if (!in.Expect(named_.size() == waiting_count_)) return;
  waiting_.resize(named_.size(), kNone);
  for (const Named& each : named_) {
    if (!in.Expect(waiting_[each.emission] == kNone)) return;
    waiting_[each.emission] = each.window;
  }
  named_ = {};
}

// Returns false behind the last one.
bool RollupLoader::LoadLoose(FieldReader& in) {
  const uint64_t named = in.Number();
  if (named == 0) return false;
  const uint32_t counter = in.Expect(named <= numbers_.size()) ? numbers_[named - 1] : kNone;
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
  if (!in.ok()) return false;
  windowing_.NoteShown(window.start, resolution, /*more=*/true);
  window.closed = 1;
  window.correction = correction;
  window.is_final = !correction;
  window.total.Load(in);
  uint64_t arrival = 0;
  in(arrival);
  in.Expect(arrival < kArrivalsMax);
  window.total.arrival = arrival & (kArrivalsMax - 1);
  if (!corrects) return true;
  uint64_t generation = 0;
  in(generation);
  emitter_.NoteCorrected(number, generation);
  return true;
}

uint32_t RollupLoader::NextEmission(FieldReader& in) {
  const uint32_t emission = emissions_++;
  return in.Expect(emission < waiting_.size()) ? waiting_[emission] : kNone;
}

}  // namespace pleat::inline v0_1
