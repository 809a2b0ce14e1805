// A rollup book becomes bytes while it changes: time and counts; each counter with its windows; the
// windows of emissions whose counter does not keep them; the lists of windows; the counters that wait
// for the store; ids; the outbox.
//
// The cut itself costs little, whatever the number of counters, windows and ids. Written then, beside
// time and counts: the outbox, as bytes that name no window, with the order of its emissions by
// window; and the numbers of the counters that wait for the store. Counters and windows come strip by
// strip, and are kept as they were if they change before (CounterTable). The lists stay as they were,
// because they only grow at their ends (WindowLists).
//
// In the bytes, counters are numbered in the order in which they come, and windows whose emissions
// wait have the number of the emission in the outbox.
#include <algorithm>
#include <bit>
#include <memory>

#include <absl/container/inlined_vector.h>

#include "engine/base/check.h"
#include "engine/rollup/rollup_book.h"
#include "engine/rollup/stored_flags.h"

namespace pleat::inline v0_1 {
namespace {

using namespace rollup_stored;

// How much is done for one turn of the lock.
constexpr uint32_t kEntriesAtOnce = 256;
constexpr size_t kWaitingAtOnce = 1024;
constexpr size_t kChunksFreedAtOnce = 64;
constexpr size_t kOutboxPiece = 16 * 1024;

constexpr uint8_t FlagIf(bool holds, uint8_t flag) noexcept { return holds ? flag : uint8_t{0}; }

void SaveDelta(FieldWriter& out, const Delta& delta) {
  out(delta.kind());
  if (delta.kind() == Delta::Kind::kInteger) out(delta.whole());
  if (delta.kind() == Delta::Kind::kReal) out(delta.real());
}

}  // namespace

bool RollupBook::BeginSave(FieldWriter& out) {
  saving_ = std::make_unique<Saving>();
  FieldWriter outbox(kOutboxPiece);
  outbox_.Save(outbox);
  saving_->outbox = outbox.TakePieces();
  latest_.Save(out);
  out(floor_, as_of_, std::bit_cast<LedgerColumns>(ledger_), windows_opened_, windows_closed_,
      emissions_, saving_->emissions);
  for (const auto stage : {WindowLists::kLast, WindowLists::kKept, WindowLists::kOpen}) {
    const bool frees = StageAfter(stage) == WindowLists::kStages;
    for (const auto& list : lists_.at(stage)) {
      saving_->lists.push_back(WindowLists::RestOf(stage, list, frees));
    }
  }
  saving_->released_next = released_next_;
  if (store_ != nullptr) saving_->waiting = store_->Waiting();
  saving_->has_ids = ids_ != nullptr;
  if (ids_ != nullptr) ids_->BeginSave();
  lists_.BeginSave();
  counters_.BeginSave(*this);
  plain_ = false;
  return true;
}

bool RollupBook::SaveNext(FieldWriter& out) {
  switch (saving_->part) {
    case Saving::kCounters:
      if (counters_.SaveCounters(out, saving_->counters)) return true;
      out.PutByte(kCounterFlags);
      saving_->part = Saving::kLooseWindows;
      return true;
    case Saving::kLooseWindows:
      if (counters_.SaveLooseWindows(out, saving_->counters)) return true;
      out.PutNumber(0);
      counters_.EndSave();
      plain_ = !clears_;
      out(saving_->counters.Before(saving_->released_next));
      saving_->part = Saving::kLists;
      return true;
    case Saving::kLists:
      if (SaveLists(out)) return true;
      out.PutByte(WindowLists::kStages);
      saving_->part = Saving::kListsSaved;
      return true;
    case Saving::kListsSaved:
      if (!lists_.EndSave(kChunksFreedAtOnce)) return true;
      if (store_ != nullptr) out(saving_->waiting.size());
      saving_->part = Saving::kWaiting;
      return true;
    case Saving::kWaiting:
      if (SaveWaiting(out)) return true;
      out(saving_->has_ids);
      saving_->part = Saving::kIds;
      return true;
    case Saving::kIds:
      if (saving_->has_ids && ids_->SaveNext(out)) return true;
      saving_->part = Saving::kOutbox;
      return true;
    case Saving::kOutbox: break;
  }
  if (saving_->next < saving_->outbox.size()) {
    out.PutFields(saving_->outbox[saving_->next].bytes());
    saving_->outbox[saving_->next++].data = nullptr;
    return true;
  }
  EndSave();
  return false;
}

void RollupBook::EndSave() noexcept {
  counters_.EndSave();
  lists_.EndSave(SIZE_MAX);
  if (ids_ != nullptr) ids_->EndSave();
  plain_ = !clears_;
  saving_ = nullptr;
}

// --- Counters

size_t RollupBook::SaveCounter(FieldWriter& out, uint32_t number) const {
  const Counter& counter = counters_.at(number);
  const bool forgotten = counters_.IsForgotten(number);
  const Account* const account = counters_.AccountIn(counter);
  const bool has_start = counter.start != CounterTable::kNoStart;
  out.PutByte(forgotten ? kForgotten
                        : FlagIf(has_start, kHasStart) | FlagIf(counter.count > 0, kHasInside) |
                              FlagIf(account != nullptr, kHasAccount) |
                              FlagIf(account != nullptr && account->irregular, kIrregular) |
                              FlagIf(released_.contains(number), kReleased));
  out.PutBytes(counter.key.view());
  if (forgotten) return 0;
  if (has_start) windowing_.SaveStart(out, counter.start, 0);
  if (counter.count > 0) out(counter.count, counter.sum);
  counters_.FrozenOf(counter).Save(out);
  size_t windows = 0;
  if (account != nullptr) {
    windows += SaveChain(out, account->chain);
    if (windowing_.resolutions() > 1) windows += SaveChain(out, account->coarse);
  }
  if (store_ != nullptr) store_->SaveState(out, number);
  return windows;
}

// --- Windows

// The oldest first, so that each one goes to the head of its chain.
size_t RollupBook::SaveChain(FieldWriter& out, uint32_t head) const {
  absl::InlinedVector<uint32_t, 64> chain;
  for (uint32_t at = head; at != kNone; at = counters_.window(at).next) chain.push_back(at);
  out(chain.size());
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) SaveWindow(out, *at);
  return chain.size();
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
  if (window.ready) out(saving_->order[number]);
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

// Of a window in no chain, the emission is all that is left.
void RollupBook::SaveLoose(FieldWriter& out, uint32_t number) const {
  const Window& window = counters_.window(number);
  const auto resolution = static_cast<uint8_t>(window.resolution);
  const auto corrects = corrects_.find(number);
  out.PutByte(resolution | FlagIf(window.correction, kCorrection) |
              FlagIf(corrects != corrects_.end(), kCorrects));
  out(saving_->order[number]);
  windowing_.SaveStart(out, window.start, resolution);
  window.total.Save(out);
  out(uint64_t{window.total.arrival});
  if (corrects != corrects_.end()) out(corrects->second);
}

// The window is written elsewhere.
void RollupBook::SaveEntry(FieldWriter&, uint32_t entry) const {
  if (saving_->order == nullptr) {
    saving_->order = std::make_unique_for_overwrite<uint32_t[]>(counters_.window_end());
  }
  saving_->order[entry] = saving_->emissions++;
}

// --- The rest

// From the stage of the earliest ends on.
bool RollupBook::SaveLists(FieldWriter& out) {
  if (saving_->next == saving_->lists.size()) {
    saving_->next = 0;
    return false;
  }
  WindowLists::Rest& rest = saving_->lists[saving_->next];
  if (rest.left == rest.size) {
    out(rest.stage, rest.name.resolution);
    windowing_.SaveStart(out, StartOf(rest.name), rest.name.resolution);
    out(rest.size, rest.passed);
    saving_->arrival = 0;
  }
  lists_.Take(rest, kEntriesAtOnce, [&](const WindowLists::Entry& entry) {
    out(saving_->counters.Before(entry.counter), entry.arrival - saving_->arrival);
    saving_->arrival = entry.arrival;
  });
  saving_->next += rest.left == 0;
  return true;
}

bool RollupBook::SaveWaiting(FieldWriter& out) {
  const std::vector<uint32_t>& waiting = saving_->waiting;
  const size_t end = std::min(waiting.size(), saving_->next + kWaitingAtOnce);
  for (; saving_->next < end; ++saving_->next) {
    out(saving_->counters.Before(waiting[saving_->next]));
  }
  if (end < waiting.size()) return true;
  saving_->next = 0;
  return false;
}

}  // namespace pleat::inline v0_1
