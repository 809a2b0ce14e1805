// A WaitingQueue has entries of events that wait, and gives them in order. They come in any order: those
// that have come are sorted together, once one is asked for.
//
// A heap would be gone through from its top for each event, where the processor guesses wrong about
// every other step. It is one only if few come to many: to sort all of them again would take too long.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pleat/time.h>

#include "engine/table/waiting_event.h"

namespace pleat::inline v0_1 {

class WaitingQueue {
 public:
  size_t size() const noexcept { return entries_.size() - next_; }
  bool empty() const noexcept { return size() == 0; }

  void Put(const WaitingEvent& event) {
    if (next_ > size()) DropTaken();
    entries_.push_back(WaitingEntry::Of(event));
    if (is_heap_) [[unlikely]]
      PushHeap();
  }
  // The first one, until the next call of Put(). Null: there is none.
  const WaitingEntry* First() {
    if (sorted_ < entries_.size() && !is_heap_) Sort();
    return empty() ? nullptr : &entries_[next_];
  }
  // REQUIRES: First() is not null.
  void TakeFirst() noexcept {
    if (is_heap_) [[unlikely]]
      return PopHeap();
    ++next_;
  }
  // The entry that comes so many behind the first one, if it is known. REQUIRES: as TakeFirst().
  const WaitingEntry* Behind(size_t many) const noexcept {
    return many < size() ? &entries_[next_ + many] : nullptr;
  }

  // All that are there, in any order. Their events may be moved.
  std::span<WaitingEntry> all() noexcept { return std::span(entries_).subspan(next_); }
  std::span<const WaitingEntry> all() const noexcept { return std::span(entries_).subspan(next_); }
  // The smallest stamp; kNever: there is none. Complexity: O(entries).
  EngineTime smallest() const noexcept;
  void Clear() noexcept;

 private:
  void DropTaken() noexcept;
  void Sort();
  void SortAll();
  void PushHeap();
  void PopHeap() noexcept;

  std::vector<WaitingEntry> entries_;
  size_t next_ = 0;       // those before it were taken
  size_t sorted_ = 0;     // those before it are in order
  bool is_heap_ = false;  // then none was taken, and none counts as sorted
  // Of SortAll(): the entries in their buckets, and where each bucket begins, and the last one ends.
  std::vector<WaitingEntry> spread_;
  std::vector<uint32_t> bounds_;
};

}  // namespace pleat::inline v0_1
