#include "engine/table/waiting_queue.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace pleat::inline v0_1 {
namespace {

// So few are put in their places one by one.
constexpr size_t kFew = 8;

// If few come to more than this, all become a heap.
constexpr size_t kSortedMax = 4096;

// Of more, a copy would take too much memory beside the events.
constexpr size_t kSpreadMax = size_t{16} << 10;

}  // namespace

EngineTime WaitingQueue::smallest() const noexcept {
  EngineTime least = next_ < sorted_ ? entries_[next_].at : kNever;
  for (size_t i = std::max(next_, sorted_); i < entries_.size(); ++i) {
    least = std::min(least, entries_[i].at);
  }
  return least;
}

void WaitingQueue::Clear() noexcept {
  entries_.clear();
  next_ = sorted_ = 0;
  is_heap_ = false;
}

void WaitingQueue::DropTaken() noexcept {
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(next_));
  sorted_ -= next_;
  next_ = 0;
}

void WaitingQueue::Sort() {
  const size_t come = entries_.size() - sorted_;
  if (size() > kSortedMax && come < size() / 2) {
    DropTaken();
    std::ranges::make_heap(entries_, std::greater<>());
    sorted_ = 0;
    is_heap_ = true;
    return;
  }
  if (come > kFew) {
    DropTaken();
    SortAll();
    sorted_ = entries_.size();
    return;
  }
  for (; sorted_ < entries_.size(); ++sorted_) {
    const auto begin = entries_.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(sorted_);
    const auto place =
        std::upper_bound(begin + static_cast<std::ptrdiff_t>(next_), end, *end, std::less<>());
    std::rotate(place, end, end + 1);
  }
}

void WaitingQueue::PushHeap() { std::ranges::push_heap(entries_, std::greater<>()); }

void WaitingQueue::PopHeap() noexcept {
  std::ranges::pop_heap(entries_, std::greater<>());
  entries_.pop_back();
  is_heap_ = !entries_.empty();
}

// Stamps are spread over as many buckets as there are entries or more, which stand for equal lengths of
// time: so most of them have one or two, and the rest are sorted as usual.
void WaitingQueue::SortAll() {
  if (entries_.size() > kSpreadMax) {
    std::ranges::sort(entries_, std::less<>());
    return;
  }
  const auto [least, greatest] = std::ranges::minmax(entries_, std::less<>(), &WaitingEntry::at);
  const auto distance = [begin = least.at](const WaitingEntry& entry) {
    return static_cast<uint64_t>((entry.at - begin).count());
  };
  const size_t buckets = std::bit_ceil(entries_.size());
  const int shift =
      std::max(0, static_cast<int>(std::bit_width(distance(greatest))) - std::countr_zero(buckets));

  bounds_.assign(buckets + 1, 0);
  for (const WaitingEntry& each : entries_) ++bounds_[distance(each) >> shift];
  uint32_t end = 0;
  for (uint32_t& each : bounds_) end = each += end;
  spread_.resize(entries_.size());
  for (const WaitingEntry& each : entries_) spread_[--bounds_[distance(each) >> shift]] = each;
  entries_.swap(spread_);
  for (size_t i = 0; i < buckets; ++i) {
    const size_t size = bounds_[i + 1] - bounds_[i];
    if (size > 1) std::ranges::sort(std::span(entries_).subspan(bounds_[i], size), std::less<>());
  }
}

}  // namespace pleat::inline v0_1
