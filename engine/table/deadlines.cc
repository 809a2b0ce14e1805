#include "engine/table/deadlines.h"

#include <algorithm>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// The heap's order, reversed as the standard algorithms want it. Not a function: they would call
// that by its address.
constexpr auto kLater = [](const Due& a, const Due& b) noexcept {
  if (a.ripe != b.ripe) return a.ripe > b.ripe;
  if (a.by_event != b.by_event) return a.by_event;
  if (a.order != b.order) return a.order > b.order;
  if (a.is_filed() != b.is_filed()) return b.is_filed();
  return a.tag > b.tag;
};

}  // namespace

Deadlines::Deadlines(Pages& pool, Duration usual_life, size_t run_most)
    : slots_(usual_life), run_full_(run_most - Chunk::kRefs), references_(pool) {
  PLEAT_CHECK(run_most >= 2 * Chunk::kRefs);
}

// Each slot has a chunk that is not full.
void Deadlines::Reserve(size_t references) {
  const size_t slots = slots_.Reserve(references);
  if (references > 0) references_.Reserve(references / Chunk::kRefs + slots + 1);
}

void Deadlines::ArmSlowly(uint32_t number, EngineTime due, uint64_t order) {
  const uint64_t index = slots_.IndexOf(due);
  if (index < surfaced_) {
    PushHeap({.ripe = due, .order = order, .number = number, .by_event = false, .tag = 0});
    return;
  }
  Slot& slot = slots_.At(index);
  slot.min_due = std::min(slot.min_due, due);
  references_.Push(slot, number);
}

// What is loaded comes before all slots, and so does the run.
EngineTime Deadlines::NextDue() const noexcept {
  const EngineTime next = heap_.empty() ? kNever : heap_.front().ripe;
  if (!loading_.empty()) return std::min(next, loading_from_);
  if (!run_.empty()) return std::min(next, run_.back().ripe);
  if (!slots_.empty()) return std::min(next, slots_.begin()->min_due);
  return next;
}

void Deadlines::Clear() noexcept {
  while (!slots_.empty()) {
    Slot& slot = slots_.first();
    references_.Clear(slot);
    slots_.Free(slot);
  }
  references_.Clear(loading_);
  prefetched_ = nullptr;
  for (Part& part : parts_) references_.Clear(part);
  parts_.clear();
  run_.clear();
  heap_.clear();
  stale_ = 0;
  surfaced_ = 0;
  sweep_index_ = 0;
  sweep_chunk_ = nullptr;
}

void Deadlines::Clear(Duration usual_life) noexcept {
  Clear();
  slots_.SetUsualLife(usual_life);
}

bool Deadlines::Suits(Duration usual_life) const noexcept { return slots_.Suits(usual_life); }

void Deadlines::CheckWhole() const {
  slots_.CheckWhole();
  references_.CheckWhole();
  size_t chunks = references_.CheckList(loading_);
  for (const Slot& slot : slots_) {
    chunks += references_.CheckList(slot);
    PLEAT_CHECK(slot.index >= surfaced_ && !slot.empty());
    PLEAT_CHECK(slots_.IndexOf(slot.min_due) == slot.index);
  }
  for (const Part& part : parts_) {
    chunks += references_.CheckList(part);
    PLEAT_CHECK(!part.empty() && slots_.IndexOf(part.after.ripe) < surfaced_);
    PLEAT_CHECK(&part == &parts_.front() || !kLater(part.after, (&part - 1)->after));
  }
  PLEAT_CHECK(chunks == references_.chunks());
  if (loading_.empty()) {
    PLEAT_CHECK(parts_.empty() || !run_.empty());
    PLEAT_CHECK(std::is_sorted(run_.begin(), run_.end(), kLater));
    PLEAT_CHECK(parts_.empty() || !kLater(run_.front(), parts_.back().after));
  }
  PLEAT_CHECK(std::is_heap(heap_.begin(), heap_.end(), kLater));
  size_t references = 0;
  ForEachReference([&](uint32_t, EngineTime from) {
    ++references;
    PLEAT_CHECK(from >= NextDue());
  });
  PLEAT_CHECK(stale_ <= references);
}

// If the first slot begins by `limit`, takes it off the order and makes it the one being loaded.
bool Deadlines::SurfaceSlot(EngineTime limit) {
  if (slots_.empty()) return false;
  Slot& slot = slots_.first();
  if (slots_.StartOf(slot) > limit) return false;
  PLEAT_DCHECK(loading_.empty() && run_.empty() && slot.index >= surfaced_);
  loading_ = slot;
  loads_part_ = false;
  loading_from_ = slots_.StartOf(slot);
  surfaced_ = slot.index + 1;
  slots_.Free(slot);
  return true;
}

// The same with the first part, at any time.
void Deadlines::SurfacePart() {
  PLEAT_DCHECK(loading_.empty() && run_.empty());
  const Part& part = parts_.back();
  loading_ = part;
  loads_part_ = true;
  loading_from_ = part.after.ripe;
  parts_.pop_back();
}

void Deadlines::PushHeap(const Due& due) {
  heap_.push_back(due);
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

// Of the run, which is complete, and the heap.
const Due* Deadlines::First() const noexcept {
  const Due* first = heap_.empty() ? nullptr : &heap_.front();
  if (!run_.empty() && (first == nullptr || kLater(*first, run_.back()))) first = &run_.back();
  return first;
}

Due Deadlines::PopHeap() {
  const Due due = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end(), kLater);
  heap_.pop_back();
  if (heap_.empty()) GiveBack(heap_);
  return due;
}

// The last armed come first out of a slot, so it often is sorted; and if all have moved on once, the
// other way round.
void Deadlines::SortRun() {
  if (std::is_sorted(run_.begin(), run_.end(), kLater)) return;
  if (std::is_sorted(run_.rbegin(), run_.rend(), kLater)) {
    std::reverse(run_.begin(), run_.end());
  } else {
    std::sort(run_.begin(), run_.end(), kLater);
  }
}

// While a slot or a part is loaded: parts the run if it is full. Behind the last chunk, if there is
// nothing in the run, makes the next part the one being loaded.
void Deadlines::TendParts() {
  if (run_.size() > run_full_) CutRun();
  if (!loading_.empty() || parts_.empty()) return;
  MoveToParts();
  if (run_.empty()) SurfacePart();
}

// Of a run that is full leaves no more than half. In a slot in no order an entry is moved O(log(entries
// of the slot / length of a run)) times, in one that is sorted either way at most twice.
void Deadlines::CutRun() {
  if (!parts_.empty()) MoveToParts();
  if (run_.size() <= run_full_ / 2) return;
  const auto kept = run_.begin() + static_cast<std::ptrdiff_t>(run_.size() - run_full_ / 2);
  if (!std::is_sorted(run_.begin(), run_.end(), kLater)) {
    std::nth_element(run_.begin(), kept, run_.end(), kLater);
  }
  Part& part = parts_.emplace_back();
  part.after = *kept;
  // The last one comes out of there first.
  for (auto due = kept; due != run_.begin();) references_.Push(part, (--due)->number);
  run_.erase(run_.begin(), kept);
}

// Moves what does not come before all parts from the run to the part where it belongs.
void Deadlines::MoveToParts() {
  std::erase_if(run_, [this](const Due& due) {
    if (!kLater(due, parts_.back().after)) return false;
    const auto part = std::partition_point(
        parts_.begin(), parts_.end(), [&](const Part& each) { return !kLater(due, each.after); });
    references_.Push(*part, due.number);
    return true;
  });
}

void Deadlines::EndRun() { parts_.empty() ? GiveBack(run_) : SurfacePart(); }

void Deadlines::RebuildHeap() { std::make_heap(heap_.begin(), heap_.end(), kLater); }

}  // namespace pleat::inline v0_1
