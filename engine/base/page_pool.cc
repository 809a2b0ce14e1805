#include "engine/base/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/touch.h"

namespace pleat::inline v0_1 {
namespace {

// An offer: a kernel without huge pages, or out of them, gives small ones.
void OfferHugePages(std::byte* begin, size_t extents) noexcept {
  if (extents > 0) madvise(begin, extents * PagePool::kExtentBytes, MADV_HUGEPAGE);
}

}  // namespace

PagePool::~PagePool() {
  for (CutPage* each : with_blocks_) {
    for (; each != nullptr; each = each->next) {
      PLEAT_DCHECK(each->taken == 0);
      ReturnPage(each->begin);
    }
  }
  for (const auto& [begin, extent] : extents_) {
    PLEAT_DCHECK(extent.free == kAllFree && !extent.stocked);
    munmap(begin, kExtentBytes);
  }
}

std::byte* PagePool::Take() {
  LockGuard guard(lock_);
  return TakePage();
}

std::byte* PagePool::TakePage() {
  std::byte* const begin = with_room_.empty() ? AddExtent() : with_room_.begin()->extent;
  auto& [free, stocked, room, cut] = extents_[begin];
  PLEAT_DCHECK(free != 0);
  if (free == kAllFree && !stocked) {
    std::erase(empty_, begin);
    NoteEmpty();
  }
  const int page = std::countr_zero(free);
  free &= free - 1;
  if (free == 0) room = with_room_.extract({!stocked, begin});
  return begin + static_cast<size_t>(page) * kPageBytes;
}

void PagePool::Return(std::byte* page) noexcept {
  {
    LockGuard guard(lock_);
    if (!ReturnPage(page)) return;
  }
  GiveBackExcess();
}

bool PagePool::ReturnPage(std::byte* page) noexcept {
  PLEAT_DCHECK(reinterpret_cast<uintptr_t>(page) % kPageBytes == 0);
  PLEAT_DCHECK(!extents_.empty() && page >= extents_.begin()->first);
  auto& [begin, extent] = *std::prev(extents_.upper_bound(page));
  const auto index = static_cast<size_t>(page - begin) / kPageBytes;
  PLEAT_DCHECK(index < 32 && (extent.free >> index & 1) == 0);
  if (extent.free == 0) {
    extent.room.value() = {!extent.stocked, begin};
    with_room_.insert(std::move(extent.room));
  }
  extent.free |= uint32_t{1} << index;
  if (extent.free != kAllFree || extent.stocked) return false;
  empty_.push_back(begin);
  NoteEmpty();
  return deferrals_ == 0;
}

PagePool::CutPage& PagePool::CutPageOf(std::byte* page) {
  auto& [begin, extent] = *std::prev(extents_.upper_bound(page));
  return extent.cut[static_cast<size_t>(page - begin) / kPageBytes];
}

void PagePool::Link(CutPage*& list, CutPage& page) noexcept {
  page.previous = nullptr;
  page.next = list;
  if (list != nullptr) list->previous = &page;
  list = &page;
}

void PagePool::Unlink(CutPage*& list, CutPage& page) noexcept {
  (page.previous == nullptr ? list : page.previous->next) = page.next;
  if (page.next != nullptr) page.next->previous = page.previous;
}

std::byte* PagePool::TakeBlock(size_t bytes) {
  const size_t size = BlockSizeOf(bytes);
  if (size == kBlockSizes) return Take();
  LockGuard guard(lock_);
  CutPage*& list = with_blocks_[size];
  if (list == nullptr) {
    std::byte* const page = TakePage();
    CutPage& cut = CutPageOf(page);
    cut = {.begin = page};
    Link(list, cut);
  }
  CutPage& cut = *list;
  const size_t stride = kSmallestBlock << 2 * size;
  std::byte* const block = cut.begin + (cut.free == kNoBlock ? cut.fresh : cut.free) * stride;
  if (cut.free == kNoBlock) {
    ++cut.fresh;
  } else {
    std::memcpy(&cut.free, block, sizeof(cut.free));
  }
  if (++cut.taken == kPageBytes / stride) Unlink(list, cut);
  return block;
}

// A page without blocks goes back, unless it is the only one with room: so a table that runs empty
// and begins again, time after time, takes no page each time.
void PagePool::ReturnBlock(std::byte* block, size_t bytes) noexcept {
  const size_t size = BlockSizeOf(bytes);
  if (size == kBlockSizes) return Return(block);
  {
    LockGuard guard(lock_);
    CutPage*& list = with_blocks_[size];
    const size_t within = reinterpret_cast<uintptr_t>(block) % kPageBytes;
    CutPage& cut = CutPageOf(block - within);
    const size_t stride = kSmallestBlock << 2 * size;
    PLEAT_DCHECK(cut.begin == block - within && within % stride == 0 && cut.taken > 0);
    if (cut.taken-- == kPageBytes / stride) Link(list, cut);
    std::memcpy(block, &cut.free, sizeof(cut.free));
    cut.free = static_cast<uint16_t>(within / stride);
    const bool is_only_one = list == &cut && cut.next == nullptr;
    if (cut.taken > 0 || is_only_one) return;
    Unlink(list, cut);
    if (!ReturnPage(std::exchange(cut.begin, nullptr))) return;
  }
  GiveBackExcess();
}

std::byte* PagePool::TakeExcess() noexcept {
  LockGuard guard(lock_);
  if (empty_.size() <= 1) return nullptr;
  std::byte* const extent = empty_.back();
  empty_.pop_back();
  NoteEmpty();
  with_room_.erase({true, extent});
  extents_.erase(extent);
  return extent;
}

// Without the lock, so that others get pages meanwhile.
void PagePool::GiveBackExcess() noexcept {
  while (std::byte* const extent = TakeExcess()) munmap(extent, kExtentBytes);
}

size_t PagePool::taken_bytes() const {
  LockGuard guard(lock_);
  size_t pages = 0;
  for (const auto& [begin, extent] : extents_) {
    pages += static_cast<size_t>(std::popcount(~extent.free));
  }
  for (const CutPage* each : with_blocks_) {
    for (; each != nullptr; each = each->next) pages -= each->taken == 0 ? 1 : 0;
  }
  return pages * kPageBytes;
}

size_t PagePool::held_bytes() const {
  LockGuard guard(lock_);
  return extents_.size() * kExtentBytes;
}

// Below an extent that is there the system mostly gives the next one. Elsewhere one more is mapped, and
// what is left and right of the aligned extents goes back.
std::byte* PagePool::Map(size_t extents) noexcept {
  if (extents >= SIZE_MAX / kExtentBytes) return nullptr;
  const size_t bytes = extents * kExtentBytes;
  const auto map = [](size_t size) {
    void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              /*fd=*/-1, /*offset=*/0);
    return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  };
  const auto beyond_aligned = [](const std::byte* begin) {
    return reinterpret_cast<uintptr_t>(begin) % kExtentBytes;
  };
  std::byte* begin = map(bytes);
  if (begin == nullptr || beyond_aligned(begin) == 0) return begin;
  munmap(begin, bytes);
  begin = map(bytes + kExtentBytes);
  if (begin == nullptr) return nullptr;
  const size_t beyond = beyond_aligned(begin);
  const size_t before = beyond == 0 ? 0 : kExtentBytes - beyond;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, kExtentBytes - before);
  return begin + before;
}

size_t PagePool::PlainOf(size_t extents) const noexcept {
  const size_t held = extents_.size() * kExtentBytes;
  const size_t plain = plain_bytes_ <= held ? 0 : (plain_bytes_ - held - 1) / kExtentBytes + 1;
  return std::min(plain, extents);
}

std::byte* PagePool::AddExtent() {
  std::byte* const extent = Map(1);
  PLEAT_CHECK(extent != nullptr);
  if (PlainOf(1) == 0) OfferHugePages(extent, 1);
  extents_[extent];
  with_room_.insert({.beyond_stock = true, .extent = extent});
  empty_.reserve(extents_.size());
  empty_.push_back(extent);
  return extent;
}

// --- Stock

size_t PagePool::FreeInStock() const {
  LockGuard guard(lock_);
  size_t pages = 0;
  for (const Room& room : with_room_) {
    if (room.beyond_stock) break;
    pages += static_cast<size_t>(std::popcount(extents_.at(room.extent).free));
  }
  return pages * kPageBytes;
}

// One call for the addresses of all: the system says at once if it never has so much.
bool PagePool::Stock::Fill(size_t bytes) {
  const size_t free = pool_.FreeInStock();
  if (bytes <= free) return true;
  const size_t extents = (bytes - free - 1) / kExtentBytes + 1;
  std::byte* const begin = Map(extents);
  if (begin == nullptr) return false;
  size_t plain;
  {
    LockGuard guard(pool_.lock_);
    plain = pool_.PlainOf(extents);
  }
  OfferHugePages(begin + plain * kExtentBytes, extents - plain);
  Touch(begin, extents * kExtentBytes);
  LockGuard guard(pool_.lock_);
  for (size_t i = 0; i < extents; ++i) {
    std::byte* const extent = begin + i * kExtentBytes;
    pool_.extents_[extent].stocked = true;
    pool_.with_room_.insert({.beyond_stock = false, .extent = extent});
    extents_.push_back(extent);
  }
  return true;
}

PagePool::Stock::~Stock() {
  {
    LockGuard guard(pool_.lock_);
    for (std::byte* const begin : extents_) {
      Extent& extent = pool_.extents_[begin];
      extent.stocked = false;
      if (pool_.with_room_.erase({.beyond_stock = false, .extent = begin}) > 0) {
        pool_.with_room_.insert({.beyond_stock = true, .extent = begin});
      }
      if (extent.free == kAllFree) pool_.empty_.push_back(begin);
    }
    pool_.NoteEmpty();
    if (pool_.deferrals_ > 0) return;
  }
  pool_.GiveBackExcess();
}

}  // namespace pleat::inline v0_1
