// A PagedQueue is a queue in order that lies in pages, so that the memory of a burst goes back as the
// queue empties. The first pages of a queue are blocks, each four times as large as the one before.
// An item that comes out of order, which is rare (batches folded at the same time close groups so),
// moves forward from the end to its place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"

namespace pleat::inline v0_1 {

template <class Item>
class PagedQueue {
 public:
  explicit PagedQueue(Pages& pool) : pool_(pool) {}
  ~PagedQueue() {
    while (first_ != nullptr) DropFirstPage();
  }
  PagedQueue(const PagedQueue&) = delete;
  PagedQueue& operator=(const PagedQueue&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }
  // REQUIRES: the queue is not empty; as for PopFront().
  const Item& front() const noexcept {
    PLEAT_DCHECK(!empty());
    return ItemsOf(first_)[begin_];
  }

  // An item that comes soon, for callers that want to fetch its target; null near the end of a
  // page.
  const Item* Ahead(size_t n) const noexcept {
    return n < size_ && begin_ + n < first_room_ ? &ItemsOf(first_)[begin_ + n] : nullptr;
  }

  // The first items, at most `max` of them, as far as they lie in one page. They stay where they are
  // until PopFront(). REQUIRES: the queue is not empty.
  std::span<const Item> Front(size_t max) const noexcept {
    PLEAT_DCHECK(!empty());
    return {ItemsOf(first_) + begin_, std::min({max, size_, first_room_ - begin_})};
  }
  // At most `max` items behind the first `skip`, as far as they lie in that page: to look ahead.
  std::span<const Item> Behind(size_t skip, size_t max) const noexcept {
    const size_t here = std::min(size_, first_room_ - begin_);
    if (skip >= here) return {};
    return {ItemsOf(first_) + begin_ + skip, std::min(max, here - skip)};
  }

  // Calls `visit(item)` for each item, in order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    size_t left = size_;
    for (Page* page = first_; left > 0; page = page->next) {
      const size_t begin = page == first_ ? begin_ : 0;
      const size_t end = std::min(page->room, begin + left);
      for (size_t i = begin; i < end; ++i) visit(ItemsOf(page)[i]);
      left -= end - begin;
    }
  }

  // Calls `visit(item)` for up to `max` items, in order, without the first `from`. Returns how many
  // these were. O(`max`), and a step for each page before.
  template <class Visit>
  size_t ForSome(size_t from, size_t max, const Visit& visit) const {
    size_t place = begin_ + from;
    Page* page = first_;
    for (; page != nullptr && place >= page->room; page = page->next) place -= page->room;
    const size_t count = from < size_ ? std::min(max, size_ - from) : 0;
    for (size_t i = 0; i < count; ++i, ++place) {
      if (place == page->room) page = page->next, place = 0;
      visit(ItemsOf(page)[place]);
    }
    return count;
  }

  // By value, so that a new item is written to its place once, field by field: copied as a whole right
  // after it was made, an item would wait for the stores before.
  //
  // Puts `item` in front of all at the end of the queue that `before(item, other)` says it
  // precedes. Returns how many these were.
  template <class Before>
  [[gnu::always_inline]] size_t Insert(Item item, const Before& before) {
    if (last_ != nullptr && end_ < last_room_ && !before(item, ItemsOf(last_)[end_ - 1]))
        [[likely]] {
      ItemsOf(last_)[end_++] = item;
      ++size_;
      return 0;
    }
    return InsertSlowly(item, before);
  }

  // Drops the first `count` items. REQUIRES: so many lie in the first page.
  void PopFront(size_t count = 1) noexcept {
    PLEAT_DCHECK(count <= size_ && begin_ + count <= first_room_);
    begin_ += count;
    size_ -= count;
    if (size_ == 0 || begin_ == first_room_) DropFirstPage();
  }

  // Ends the process unless the pages hold `size()` items, in the order of `before`. O(size); for
  // tests.
  template <class Before>
  void CheckWhole(const Before& before) const {
    size_t items = 0;
    const Item* last = nullptr;
    for (Page* page = first_; page != nullptr; page = page->next) {
      PLEAT_CHECK((page->previous == nullptr) == (page == first_));
      PLEAT_CHECK(page->next == nullptr ? page == last_ : page->next->previous == page);
      const size_t end = page == last_ ? end_ : page->room;
      for (size_t i = page == first_ ? begin_ : 0; i < end; ++i, ++items) {
        const Item& item = ItemsOf(page)[i];
        PLEAT_CHECK(last == nullptr || !before(item, *last));
        last = &item;
      }
    }
    PLEAT_CHECK(items == size_ && (size_ == 0) == (first_ == nullptr));
  }

 private:
  // The head of a page. The items behind it are not constructed: clearing them would cost more than
  // using a few.
  struct Page {
    Page* previous;
    Page* next;
    size_t room;  // for so many items
  };
  static constexpr size_t RoomIn(size_t bytes) { return (bytes - sizeof(Page)) / sizeof(Item); }
  static constexpr size_t BytesFor(size_t room) { return sizeof(Page) + room * sizeof(Item); }
  static constexpr size_t kSmallest = 256;
  static_assert(std::is_trivially_copyable_v<Item> && sizeof(Page) % alignof(Item) == 0);

  static Item* ItemsOf(Page* page) noexcept { return reinterpret_cast<Item*>(page + 1); }

  template <class Before>
  [[gnu::noinline]] size_t InsertSlowly(Item item, const Before& before) {
    if (last_ == nullptr || end_ == last_room_) AddPage();
    Page* page = last_;
    size_t place = end_++;
    Item* hole = &ItemsOf(page)[place];
    size_t ahead = size_++;
    for (; ahead > 0; --ahead) {
      if (place == 0) page = page->previous, place = page->room;
      Item& other = ItemsOf(page)[--place];
      if (!before(item, other)) break;
      *hole = other;
      hole = &other;
    }
    *hole = item;
    return size_ - 1 - ahead;
  }

  // Each page is four times as large as the one before, up to the pool's.
  void AddPage() {
    size_t bytes = kSmallest;
    while (last_ != nullptr && bytes < PagePool::kPageBytes && RoomIn(bytes) <= last_room_)
      bytes *= 4;
    auto* const page = ::new (pool_.TakeBlock(bytes))
        Page{.previous = last_, .next = nullptr, .room = RoomIn(bytes)};
    if (last_ == nullptr) {
      first_ = page;
      first_room_ = page->room;
      begin_ = 0;
    } else {
      last_->next = page;
    }
    last_ = page;
    last_room_ = page->room;
    end_ = 0;
  }
  void DropFirstPage() noexcept {
    Page* const page = std::exchange(first_, first_->next);
    (first_ == nullptr ? last_ : first_->previous) = nullptr;
    first_room_ = first_ == nullptr ? 0 : first_->room;
    begin_ = 0;
    pool_.ReturnBlock(reinterpret_cast<std::byte*>(page), BytesFor(page->room));
  }

  Pages& pool_;
  Page* first_ = nullptr;
  Page* last_ = nullptr;
  size_t begin_ = 0;       // of the queue in the first page
  size_t end_ = 0;         // in the last
  size_t first_room_ = 0;  // of the first page, and of the last
  size_t last_room_ = 0;
  size_t size_ = 0;
};

}  // namespace pleat::inline v0_1
