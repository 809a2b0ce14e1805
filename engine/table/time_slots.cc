#include "engine/table/time_slots.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// 1/4096 of the usual life, as a power of two: fine enough that a slot's heap stays in the cache,
// coarse enough that slots hold more than one entry.
int ShiftFor(Duration usual_life) noexcept {
  const auto width = static_cast<uint64_t>(std::max<Duration::rep>(usual_life.count() / 4096, 1));
  return std::min(static_cast<int>(std::bit_width(width)) - 1, 40);
}

}  // namespace

TimeSlots::TimeSlots(Duration usual_life) : shift_(ShiftFor(usual_life)), known_(4) {}

TimeSlots::~TimeSlots() { order_.clear(); }

size_t TimeSlots::Reserve(size_t slots) {
  const size_t room = std::bit_ceil(std::min(slots, kKnownMax));
  if (room > known_.size()) KnowSlots(room);
  return room;
}

bool TimeSlots::Suits(Duration usual_life) const noexcept { return shift_ == ShiftFor(usual_life); }

void TimeSlots::SetUsualLife(Duration usual_life) noexcept {
  PLEAT_CHECK(empty());
  shift_ = ShiftFor(usual_life);
}

TimeSlots::Slot& TimeSlots::FirstFrom(uint64_t index) noexcept {
  const auto it = order_.lower_bound(index);
  return it == order_.end() ? first() : *it;
}

TimeSlots::Slot& TimeSlots::At(uint64_t index) {
  if (Slot* const slot = Guess(index); slot != nullptr && slot->index == index) return *slot;
  // New groups are due after all others, as a rule.
  if (order_.empty() || order_.rbegin()->index < index) {
    order_.push_back(New(index));
    Know(*order_.rbegin());
    return *order_.rbegin();
  }
  Order::insert_commit_data where;
  const auto [found, is_new] = order_.insert_check(index, where);
  Slot& slot = is_new ? *order_.insert_commit(New(index), where) : *found;
  Know(slot);
  return slot;
}

void TimeSlots::Know(Slot& slot) {
  if (size_ > known_.size() && known_.size() < kKnownMax) KnowSlots(2 * known_.size());
  KnownAt(slot.index) = &slot;
}

void TimeSlots::KnowSlots(size_t size) {
  known_.assign(size, nullptr);
  for (Slot& each : order_) KnownAt(each.index) = &each;
}

TimeSlots::Slot& TimeSlots::New(uint64_t index) {
  if (free_.empty()) {
    const size_t block = std::clamp<size_t>(size_, 2, 64);  // many need but a few
    blocks_.push_back(std::make_unique<Slot[]>(block));
    free_.reserve(size_ + block);
    for (size_t i = 0; i < block; ++i) free_.push_back(&blocks_.back()[i]);
  }
  Slot& slot = *free_.back();
  free_.pop_back();
  ++size_;
  slot.index = index;
  slot.min_due = kNever;
  static_cast<ReferenceLists::List&>(slot) = {};
  return slot;
}

void TimeSlots::Free(Slot& slot) noexcept {
  order_.erase(order_.iterator_to(slot));
  if (KnownAt(slot.index) == &slot) KnownAt(slot.index) = nullptr;
  --size_;
  free_.push_back(&slot);
}

void TimeSlots::CheckWhole() const {
  PLEAT_CHECK(order_.size() == size_);
  for (const Slot* slot : known_) PLEAT_CHECK(slot == nullptr || order_.count(slot->index) == 1);
}

}  // namespace pleat::inline v0_1
