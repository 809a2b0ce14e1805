// A PagePool gives an engine's tables their memory: pages of 64 KiB, cut from extents of 2 MiB that
// the kernel may back with one huge page each. A table with a few entries takes *blocks*, which are
// cut from a page: an engine can have thousands of such tables.
//
// Huge pages matter because a fold touches two cache lines at random: with pages of 4 KiB each of
// the two also misses the processor's cache of page addresses. Huge pages are requested only beyond
// the first `plain_bytes`, so that a small engine, which touches the beginning of a few pages,
// stays small.
//
// Memory goes back. Pages come from the lowest extent that has one free. When all pages of an
// extent have been returned, the extent goes back to the system; one empty extent is kept for the
// next need. The system takes some fifty microseconds for each. A call that frees much under a lock
// for which others wait holds a Deferral, and has the extents go back while it holds no lock.
//
// The system clears memory when it is first touched, and whoever touches it waits. A Stock is memory
// that was touched ahead: its pages are handed out before all others, and it stays in the pool.
//
// A book has a PageAccount, which takes its tables' pages from the pool and counts them.
//
// Thread safety: of a pool any thread, any time; of an account that of its book.
#pragma once

#include <array>
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

// Where tables get memory.
class Pages {
 public:
  // A page, aligned to its size, of unknown content. Ends the process if there is no memory.
  virtual std::byte* Take() = 0;
  virtual void Return(std::byte* page) noexcept = 0;

  // A block of 256 B, 1, 4 or 16 KiB, or a page, whichever is the smallest that has room for `bytes`.
  // As Take(), but aligned to 64 bytes. REQUIRES: `bytes` is at most a page, and the same when the
  // block is returned.
  virtual std::byte* TakeBlock(size_t bytes) = 0;
  virtual void ReturnBlock(std::byte* block, size_t bytes) noexcept = 0;

 protected:
  ~Pages() = default;
};

class PagePool final : public Pages {
 public:
  static constexpr size_t kPageBytes = 64 * 1024;
  static constexpr size_t kExtentBytes = 2 * 1024 * 1024;

  static constexpr size_t kAllPlain = SIZE_MAX;

  explicit PagePool(size_t plain_bytes = 0) : plain_bytes_(plain_bytes) {}
  // REQUIRES: all pages have been returned.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

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

  std::byte* Take() override;
  void Return(std::byte* page) noexcept override;
  std::byte* TakeBlock(size_t bytes) override;
  void ReturnBlock(std::byte* block, size_t bytes) noexcept override;
  // How much a block of so many bytes takes.
  static size_t BytesOfBlock(size_t bytes) noexcept {
    return kSmallestBlock << 2 * BlockSizeOf(bytes);
  }

  // The bytes of pages handed out, or cut into blocks of which some are.
  size_t taken_bytes() const;
  // The bytes that the pool has from the system, in pages handed out and in free ones.
  size_t held_bytes() const;

 private:
  static constexpr uint32_t kAllFree = UINT32_MAX;
  static constexpr size_t kPagesPerExtent = kExtentBytes / kPageBytes;
  static_assert(kPagesPerExtent == 32, "a bit for each page of an extent");

  static constexpr uint16_t kNoBlock = UINT16_MAX;
  // A page that is cut into blocks of one size. A free block begins with the index of another one.
  struct CutPage {
    std::byte* begin = nullptr;  // null: the page is not cut
    CutPage* next = nullptr;  // those with room for one more block, the latest to have some first
    CutPage* previous = nullptr;
    uint16_t taken = 0;
    uint16_t fresh = 0;  // blocks from here on were never handed out
    uint16_t free = kNoBlock;
  };
  // An extent in the order in which pages are taken.
  struct Room {
    bool beyond_stock;
    std::byte* extent;
    friend auto operator<=>(const Room&, const Room&) = default;
  };
  struct Extent {
    uint32_t free = kAllFree;        // a bit for each page
    bool stocked = false;            // of a Stock
    std::set<Room>::node_type room;  // of one without room, so that a return allocates nothing
    std::array<CutPage, kPagesPerExtent> cut = {};
  };

  static constexpr size_t kSmallestBlock = 256;
  static constexpr size_t kBlockSizes = 4;  // each four times as large as the one before
  static size_t BlockSizeOf(size_t bytes) noexcept {
    size_t size = 0;
    while (kSmallestBlock << 2 * size < bytes) ++size;
    return size;
  }

  CutPage& CutPageOf(std::byte* page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  static void Link(CutPage*& list, CutPage& page) noexcept;
  static void Unlink(CutPage*& list, CutPage& page) noexcept;
  std::byte* TakePage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // Returns whether an extent is to go back.
  bool ReturnPage(std::byte* page) noexcept ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

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
  const size_t plain_bytes_;  // or kAllPlain
  std::map<std::byte*, Extent> extents_ ABSL_GUARDED_BY(lock_);
  std::set<Room> with_room_ ABSL_GUARDED_BY(lock_);
  std::vector<std::byte*> empty_ ABSL_GUARDED_BY(lock_);  // free as a whole, and not stocked
  std::array<CutPage*, kBlockSizes> with_blocks_ ABSL_GUARDED_BY(lock_) = {};  // lists, by size
  // Whether more than one is empty; changes under the lock only. Both are sequentially consistent:
  // either a Return() sees that the last Deferral has gone, or that one sees the excess.
  std::atomic<bool> has_excess_ = false;
  std::atomic<uint32_t> deferrals_ = 0;
};

class PageAccount final : public Pages {
 public:
  explicit PageAccount(PagePool& pool) : pool_(pool) {}
  PageAccount(const PageAccount&) = delete;
  PageAccount& operator=(const PageAccount&) = delete;

  std::byte* Take() override {
    bytes_ += PagePool::kPageBytes;
    return pool_.Take();
  }
  void Return(std::byte* page) noexcept override {
    bytes_ -= PagePool::kPageBytes;
    pool_.Return(page);
  }
  std::byte* TakeBlock(size_t bytes) override {
    bytes_ += PagePool::BytesOfBlock(bytes);
    return pool_.TakeBlock(bytes);
  }
  void ReturnBlock(std::byte* block, size_t bytes) noexcept override {
    bytes_ -= PagePool::BytesOfBlock(bytes);
    pool_.ReturnBlock(block, bytes);
  }

  // Of what was taken and not returned.
  size_t bytes() const noexcept { return bytes_; }

 private:
  PagePool& pool_;
  size_t bytes_ = 0;
};

}  // namespace pleat::inline v0_1
