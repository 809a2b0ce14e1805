// A PagePool gives an engine's tables their memory: pages of 64 KiB, cut from extents of 2 MiB that
// the kernel may back with one huge page each.
//
// Huge pages matter because a fold touches two cache lines at random: with pages of 4 KiB each of
// the two also misses the processor's cache of page addresses. Huge pages are requested only beyond
// the first `plain_bytes`, so that a small engine, which touches the beginning of a few pages,
// stays small. Whoever begins more pages than the engine counts on has a PlainShare.
//
// Memory goes back. Pages come from the lowest extent that has one free. When all pages of an
// extent have been returned, the extent goes back to the system; one empty extent is kept for the
// next need. The system takes some fifty microseconds for each. A call that frees much under a lock
// for which others wait holds a Deferral, and has the extents go back while it holds no lock.
//
// The system clears memory when it is first touched, and whoever touches it waits. A Stock is memory
// that was touched ahead: its pages are handed out before all others, and it stays in the pool.
//
// Thread safety: any thread, any time.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <absl/base/thread_annotations.h>

#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

class PagePool {
 public:
  static constexpr size_t kPageBytes = 64 * 1024;
  static constexpr size_t kExtentBytes = 2 * 1024 * 1024;

  static constexpr size_t kAllPlain = SIZE_MAX;

  explicit PagePool(size_t plain_bytes = 0) : plain_bytes_(plain_bytes) {}
  // REQUIRES: all pages have been returned.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // While this lives, as many bytes more stay in plain pages.
  class PlainShare {
   public:
    PlainShare(PagePool& pool, size_t bytes) noexcept;
    ~PlainShare();
    PlainShare(const PlainShare&) = delete;
    PlainShare& operator=(const PlainShare&) = delete;

   private:
    PagePool& pool_;
    const size_t bytes_;
  };

  // While one lives, extents that run empty are kept until GiveBack().
  class Deferral {
   public:
    explicit Deferral(PagePool& pool) noexcept : pool_(pool) { ++pool_.deferrals_; }
    ~Deferral() {
      --pool_.deferrals_;
      GiveBack();
    }
    Deferral(const Deferral&) = delete;
    Deferral& operator=(const Deferral&) = delete;

    // Costs next to nothing if there is nothing to give back.
    void GiveBack() noexcept {
      if (pool_.has_excess_) pool_.GiveBackExcess();
    }

   private:
    PagePool& pool_;
  };

  // Extents that were touched ahead. They stay with the pool while this lives, used or not.
  class Stock {
   public:
    explicit Stock(PagePool& pool) noexcept : pool_(pool) {}
    ~Stock();
    Stock(const Stock&) = delete;
    Stock& operator=(const Stock&) = delete;

    // Takes memory from the system until `bytes` of what was touched ahead are free, in this stock or
    // in another one of the pool. The pool goes on handing out pages meanwhile. Returns false, and
    // has changed nothing, if the system refuses. Not for two threads at once.
    bool Fill(size_t bytes);

   private:
    PagePool& pool_;
    std::vector<std::byte*> extents_;
  };

  // A page, aligned to its size, of unknown content. Ends the process if there is no memory.
  std::byte* Take();
  void Return(std::byte* page) noexcept;

  // The bytes of pages handed out.
  size_t taken_bytes() const;
  // The bytes that the pool has from the system, in pages handed out and in free ones.
  size_t held_bytes() const;
  // How many of them stay plain, for now.
  size_t plain_bytes() const;

 private:
  static constexpr uint32_t kAllFree = UINT32_MAX;
  static_assert(kExtentBytes / kPageBytes == 32, "a bit for each page of an extent");

  struct Extent {
    uint32_t free = kAllFree;  // a bit for each page
    bool stocked = false;      // of a Stock
  };
  // An extent in the order in which pages are taken.
  struct Room {
    bool beyond_stock;
    std::byte* extent;
    friend auto operator<=>(const Room&, const Room&) = default;
  };

  // So many extents in a row; null if the system refuses.
  static std::byte* Map(size_t extents) noexcept;
  // How many of the next `extents` stay plain.
  size_t PlainOf(size_t extents) const noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  std::byte* AddExtent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  size_t FreeInStock() const;
  void NoteEmpty() noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    has_excess_ = empty_.size() > 1;
  }
  // The last empty extent beyond the one that is kept, which is the pool's no more; null if none.
  std::byte* TakeExcess() noexcept;
  void GiveBackExcess() noexcept;

  mutable Lock lock_;
  size_t plain_bytes_ ABSL_GUARDED_BY(lock_);  // or kAllPlain
  std::map<std::byte*, Extent> extents_ ABSL_GUARDED_BY(lock_);
  std::set<Room> with_room_ ABSL_GUARDED_BY(lock_);
  std::vector<std::byte*> empty_ ABSL_GUARDED_BY(lock_);  // free as a whole, and not stocked
  // Whether more than one is empty; changes under the lock only. Both are sequentially consistent:
  // either a Return() sees that the last Deferral has gone, or that one sees the excess.
  std::atomic<bool> has_excess_ = false;
  std::atomic<uint32_t> deferrals_ = 0;
};

}  // namespace pleat::inline v0_1
