#include "engine/rollup/rollup_saver.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <absl/container/inlined_vector.h>

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

}  // namespace

RollupSaver::RollupSaver(const Parts& parts, Copies& copies)
    : Holder(copies),
      clock_(parts.clock),
      windows_(parts.windows),
      counters_(parts.windows.counters()),
      ids_(parts.ids),
      store_(parts.store),
      forgetter_(parts.forgetter),
      emitter_(parts.emitter),
      outbox_(parts.outbox),
      ledger_(parts.ledger),
      released_next_(parts.forgetter.released_next()),
      has_ids_(parts.ids.get() != nullptr) {}

RollupSaver::~RollupSaver() {
  Leave();
  counters_.EndSave();
  windows_.lists().EndSave(SIZE_MAX);
  if (ids_.get() != nullptr) ids_.get()->EndSave();
}

void RollupSaver::Begin(FieldWriter& out, Copies& copies) {
  FieldWriter outbox(kOutboxPiece);
  outbox_.Save(outbox);
  std::vector<FieldWriter::Piece> pieces = outbox.TakePieces();
  clock_.Save(out);
  ledger_.Save(out);
  out(emissions_);
  for (const auto stage : {WindowLists::kLast, WindowLists::kKept, WindowLists::kOpen}) {
    const bool frees = clock_.StageAfter(stage) == WindowLists::kStages;
    for (const auto& list : windows_.lists().at(stage)) {
      lists_.push_back(WindowLists::RestOf(stage, list, frees));
    }
  }
  if (store_ != nullptr) waiting_ = store_->Waiting();
  if (has_ids_) ids_.get()->BeginSave(copies);
  windows_.lists().BeginSave(copies);
  counters_.BeginSave(*this, copies);
  size_t bytes = 0;
  for (const FieldWriter::Piece& piece : pieces) bytes += piece.size;
  Hold(bytes, [&] { pieces_ = std::move(pieces); });
}

void RollupSaver::Free() noexcept { pieces_.clear(); }

bool RollupSaver::Next(FieldWriter& out) {
  switch (part_) {
    case kCounters:
      if (counters_.SaveCounters(out, saved_)) return true;
      out.PutByte(kCounterFlags);
      part_ = kLooseWindows;
      return true;
    case kLooseWindows:
      if (counters_.SaveLooseWindows(out, saved_)) return true;
      out.PutNumber(0);
      counters_.EndSave();
      out(saved_.Before(released_next_));
      part_ = kLists;
      return true;
    case kLists:
      if (SaveLists(out)) return true;
      out.PutByte(WindowLists::kStages);
      part_ = kListsSaved;
      return true;
    case kListsSaved:
      if (!windows_.lists().EndSave(kChunksFreedAtOnce)) return true;
      if (store_ != nullptr) out(waiting_.size());
      part_ = kWaiting;
      return true;
    case kWaiting:
      if (SaveWaiting(out)) return true;
      out(has_ids_);
      part_ = kIds;
      return true;
    case kIds:
      if (has_ids_ && ids_.get()->SaveNext(out)) return true;
      part_ = kOutbox;
      return true;
    case kOutbox: break;
  }
  LockGuard guard(lock());
  if (next_ >= pieces_.size()) return false;
  FieldWriter::Piece& piece = pieces_[next_++];
  out.PutFields(piece.bytes());
  piece.data = nullptr;
  LetGo(piece.size);
  return true;
}

void RollupSaver::NoteEmission(uint32_t window) {
  if (order_ == nullptr) {
    order_ = std::make_unique_for_overwrite<uint32_t[]>(counters_.window_end());
  }
  order_[window] = emissions_++;
}

// --- Counters

size_t RollupSaver::SaveCounter(FieldWriter& out, uint32_t number) const {
  const CounterTable::Counter& counter = counters_.at(number);
  const bool forgotten = counters_.IsForgotten(number);
  const CounterTable::Account* const account = counters_.AccountIn(counter);
  const bool has_start = counter.start != CounterTable::kNoStart;
  out.PutByte(forgotten ? kForgotten
                        : FlagIf(has_start, kHasStart) | FlagIf(counter.count > 0, kHasInside) |
                              FlagIf(account != nullptr, kHasAccount) |
                              FlagIf(account != nullptr && account->irregular, kIrregular) |
                              FlagIf(forgetter_.IsReleased(number), kReleased));
  out.PutBytes(counter.key.view());
  if (forgotten) return 0;
  if (has_start) clock_.windowing().SaveStart(out, counter.start, 0);
  if (counter.count > 0) out(counter.count, counter.sum);
  counters_.FinalOf(counter).Save(out);
  size_t windows = 0;
  if (account != nullptr) {
    windows += SaveChain(out, account->chain);
    if (clock_.windowing().resolutions() > 1) windows += SaveChain(out, account->coarse);
  }
  if (store_ != nullptr) store_->SaveState(out, number);
  return windows;
}

// --- Windows

// The oldest first, so that each one goes to the head of its chain.
size_t RollupSaver::SaveChain(FieldWriter& out, uint32_t head) const {
  absl::InlinedVector<uint32_t, 64> chain;
  for (uint32_t at = head; at != kNone; at = counters_.window(at).next) chain.push_back(at);
  out(chain.size());
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) SaveWindow(out, *at);
  return chain.size();
}

void RollupSaver::SaveWindow(FieldWriter& out, uint32_t number) const {
  const CounterTable::Window& window = counters_.window(number);
  const auto resolution = static_cast<uint8_t>(window.resolution);
  const bool detailed = windows_.clears().Has(number);
  out.PutByte(resolution | FlagIf(window.is_final, kFinal) | FlagIf(window.ready, kWaits) |
              FlagIf(detailed, kDetailed));
  clock_.windowing().SaveStart(out, window.start, resolution);
  window.total.Save(out);
  if (window.closed) out(uint64_t{window.total.arrival}, uint64_t{window.generation});
  if (detailed) windows_.clears().Save(out, number, window);
  if (window.ready) out(order_[number]);
}

// Of a window in no chain, the emission is all that is left.
void RollupSaver::SaveLoose(FieldWriter& out, uint32_t number) const {
  const CounterTable::Window& window = counters_.window(number);
  const auto resolution = static_cast<uint8_t>(window.resolution);
  const std::optional<uint64_t> corrected = emitter_.CorrectedBy(number);
  out.PutByte(resolution | FlagIf(window.correction, kCorrection) |
              FlagIf(corrected.has_value(), kCorrects));
  out(order_[number]);
  clock_.windowing().SaveStart(out, window.start, resolution);
  window.total.Save(out);
  out(uint64_t{window.total.arrival});
  if (corrected) out(*corrected);
}

// --- The rest

// From the stage of the earliest ends on.
bool RollupSaver::SaveLists(FieldWriter& out) {
  if (next_ == lists_.size()) {
    next_ = 0;
    return false;
  }
  WindowLists::Rest& rest = lists_[next_];
  if (rest.left == rest.size) {
    out(rest.stage, rest.name.resolution);
    clock_.windowing().SaveStart(out, windows_.StartOf(rest.name), rest.name.resolution);
    out(rest.size, rest.passed);
    arrival_ = 0;
  }
  windows_.lists().Take(rest, kEntriesAtOnce, [&](const WindowLists::Entry& entry) {
    out(saved_.Before(entry.counter), entry.arrival - arrival_);
    arrival_ = entry.arrival;
  });
  next_ += rest.left == 0;
  return true;
}

bool RollupSaver::SaveWaiting(FieldWriter& out) {
  const size_t end = std::min(waiting_.size(), next_ + kWaitingAtOnce);
  for (; next_ < end; ++next_) out(saved_.Before(waiting_[next_]));
  if (end < waiting_.size()) return true;
  next_ = 0;
  return false;
}

}  // namespace pleat::inline v0_1
