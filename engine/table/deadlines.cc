#include "engine/table/deadlines.h"

#include <algorithm>
#include <bit>
#include <new>

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

// 1/4096 of the usual life, as a power of two: fine enough that a slot's heap stays in the cache,
// coarse enough that slots hold more than one entry.
int ShiftFor(Duration usual_life) noexcept {
  const auto width = static_cast<uint64_t>(std::max<Duration::rep>(usual_life.count() / 4096, 1));
  return std::min(static_cast<int>(std::bit_width(width)) - 1, 40);
}

}  // namespace

Deadlines::Deadlines(PagePool& pool, Duration usual_life, size_t run_most)
    : shift_(ShiftFor(usual_life)),
      known_(16),
      run_full_(run_most - Chunk::kRefs),
      chunks_(pool, sizeof(Chunk)) {
  PLEAT_CHECK(run_most >= 2 * Chunk::kRefs);
}

Deadlines::~Deadlines() { slots_.clear(); }

// Each slot has a chunk that is not full.
void Deadlines::Reserve(size_t references) {
  const size_t slots = std::bit_ceil(std::min(references, kKnownMax));
  if (slots > known_.size()) KnowSlots(slots);
  if (references > 0) chunks_.Reserve(references / Chunk::kRefs + slots + 1);
}

void Deadlines::ArmSlowly(uint32_t number, EngineTime due, uint64_t order) {
  const uint64_t index = IndexOf(due);
  if (index < surfaced_) {
    PushHeap({.ripe = due, .order = order, .number = number, .by_event = false, .tag = 0});
    return;
  }
  Slot* const known = Known(index);
  Slot& slot = known != nullptr && known->index == index ? *known : SlotAt(index);
  slot.min_due = std::min(slot.min_due, due);
  Push(slot, number);
}

// What is loaded comes before all slots, and so does the run.
EngineTime Deadlines::NextDue() const noexcept {
  const EngineTime next = heap_.empty() ? kNever : heap_.front().ripe;
  if (loading_ != nullptr) return std::min(next, loading_from_);
  if (!run_.empty()) return std::min(next, run_.back().ripe);
  if (!slots_.empty()) return std::min(next, slots_.begin()->min_due);
  return next;
}

void Deadlines::Clear() noexcept {
  while (!slots_.empty()) {
    Slot& slot = *slots_.begin();
    while (slot.head != nullptr) slot.head = FreeChunk(*slot.head);
    FreeSlot(slot);
  }
  while (loading_ != nullptr) loading_ = FreeChunk(*loading_);
  prefetched_ = nullptr;
  for (Part& part : parts_) {
    while (part.head != nullptr) part.head = FreeChunk(*part.head);
  }
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
  shift_ = ShiftFor(usual_life);
}

bool Deadlines::Suits(Duration usual_life) const noexcept { return shift_ == ShiftFor(usual_life); }

void Deadlines::CheckWhole() const {
  size_t chunks = 0;
  const auto count = [&](const Chunk* chunk) {
    for (; chunk != nullptr; chunk = After(*chunk)) ++chunks;
  };
  count(loading_);
  size_t slots = 0;
  for (const Slot& slot : slots_) {
    ++slots;
    count(slot.head);
    PLEAT_CHECK(slot.index >= surfaced_ && slot.head != nullptr);
    PLEAT_CHECK(slot.head_size > 0 && slot.head_size <= Chunk::kRefs);
    PLEAT_CHECK(IndexOf(slot.min_due) == slot.index);
  }
  PLEAT_CHECK(slots == slot_count_);
  for (const Slot* slot : known_) PLEAT_CHECK(slot == nullptr || slots_.count(slot->index) == 1);
  for (const Part& part : parts_) {
    count(part.head);
    PLEAT_CHECK(part.head != nullptr && part.head_size > 0 && part.head_size <= Chunk::kRefs);
    PLEAT_CHECK(IndexOf(part.after.ripe) < surfaced_);
    PLEAT_CHECK(&part == &parts_.front() || !kLater(part.after, (&part - 1)->after));
  }
  PLEAT_CHECK(chunks == chunk_count_ && chunks == chunks_.CheckWhole());
  if (loading_ == nullptr) {
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
  Slot& slot = *slots_.begin();
  if (StartOf(slot) > limit) return false;
  PLEAT_DCHECK(loading_ == nullptr && run_.empty() && slot.index >= surfaced_);
  loading_ = slot.head;
  loading_size_ = slot.head_size;
  loads_part_ = false;
  loading_from_ = StartOf(slot);
  surfaced_ = slot.index + 1;
  FreeSlot(slot);
  return true;
}

// The same with the first part, at any time.
void Deadlines::SurfacePart() {
  PLEAT_DCHECK(loading_ == nullptr && run_.empty());
  const Part& part = parts_.back();
  loading_ = part.head;
  loading_size_ = part.head_size;
  loads_part_ = true;
  loading_from_ = part.after.ripe;
  parts_.pop_back();
}

Deadlines::Slot& Deadlines::SlotAt(uint64_t index) {
  // New groups are due after all others, as a rule.
  if (slots_.empty() || slots_.rbegin()->index < index) {
    slots_.push_back(NewSlot(index));
    Know(*slots_.rbegin());
    return *slots_.rbegin();
  }
  Slots::insert_commit_data where;
  const auto [found, is_new] = slots_.insert_check(index, where);
  Slot& slot = is_new ? *slots_.insert_commit(NewSlot(index), where) : *found;
  Know(slot);
  return slot;
}

void Deadlines::Know(Slot& slot) {
  if (slot_count_ > known_.size() && known_.size() < kKnownMax) {
    KnowSlots(2 * known_.size());
  }
  Known(slot.index) = &slot;
}

void Deadlines::KnowSlots(size_t size) {
  known_.assign(size, nullptr);
  for (Slot& each : slots_) Known(each.index) = &each;
}

void Deadlines::Push(References& references, uint32_t number) {
  if (references.head == nullptr || references.head_size == Chunk::kRefs) {
    references.head = NewChunk(references.head);
    references.head_size = 0;
  }
  references.head->refs[references.head_size++] = number;
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
  if (loading_ != nullptr || parts_.empty()) return;
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
  for (auto due = kept; due != run_.begin();) Push(part, (--due)->number);
  run_.erase(run_.begin(), kept);
}

// Moves what does not come before all parts from the run to the part where it belongs.
void Deadlines::MoveToParts() {
  std::erase_if(run_, [this](const Due& due) {
    if (!kLater(due, parts_.back().after)) return false;
    const auto part = std::partition_point(
        parts_.begin(), parts_.end(), [&](const Part& each) { return !kLater(due, each.after); });
    Push(*part, due.number);
    return true;
  });
}

void Deadlines::EndRun() { parts_.empty() ? GiveBack(run_) : SurfacePart(); }

void Deadlines::RebuildHeap() { std::make_heap(heap_.begin(), heap_.end(), kLater); }

Deadlines::Chunk* Deadlines::NewChunk(Chunk* next) {
  const uint32_t number = chunks_.Allocate();
  ++chunk_count_;
  auto* const chunk = ::new (chunks_.hot(number)) Chunk;
  chunk->number = number;
  chunk->next = next == nullptr ? kNoChunk : next->number;
  return chunk;
}

Deadlines::Chunk* Deadlines::FreeChunk(const Chunk& chunk) noexcept {
  Chunk* const after = After(chunk);
  chunks_.Free(chunk.number);
  --chunk_count_;
  return after;
}

Deadlines::Slot& Deadlines::NewSlot(uint64_t index) {
  if (free_slots_.empty()) {
    const size_t block = slot_blocks_.empty() ? 8 : 64;  // many need but a few
    slot_blocks_.push_back(std::make_unique<Slot[]>(block));
    free_slots_.reserve(slot_count_ + block);
    for (size_t i = 0; i < block; ++i) free_slots_.push_back(&slot_blocks_.back()[i]);
  }
  Slot& slot = *free_slots_.back();
  free_slots_.pop_back();
  ++slot_count_;
  slot.index = index;
  slot.min_due = kNever;
  slot.head = nullptr;
  slot.head_size = 0;
  return slot;
}

void Deadlines::FreeSlot(Slot& slot) noexcept {
  slots_.erase(slots_.iterator_to(slot));
  if (Known(slot.index) == &slot) Known(slot.index) = nullptr;
  --slot_count_;
  free_slots_.push_back(&slot);
}

}  // namespace pleat::inline v0_1
