#include "engine/base/page_pool.h"

#include <sys/mman.h>

#include <bit>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

PagePool::~PagePool() {
  for (const auto& [extent, free] : extents_) {
    PLEAT_DCHECK(free == kAllFree);
    munmap(extent, kExtentBytes);
  }
}

PagePool::PlainShare::PlainShare(PagePool& pool, size_t bytes) noexcept
    : pool_(pool), bytes_(bytes) {
  LockGuard guard(pool_.lock_);
  if (pool_.plain_bytes_ != kAllPlain) pool_.plain_bytes_ += bytes_;
}

PagePool::PlainShare::~PlainShare() {
  LockGuard guard(pool_.lock_);
  if (pool_.plain_bytes_ != kAllPlain) pool_.plain_bytes_ -= bytes_;
}

std::byte* PagePool::Take() {
  LockGuard guard(lock_);
  std::byte* const extent = with_room_.empty() ? AddExtent() : *with_room_.begin();
  uint32_t& free = extents_[extent];
  PLEAT_DCHECK(free != 0);
  if (free == kAllFree) {
    std::erase(empty_, extent);
    NoteEmpty();
  }
  const int page = std::countr_zero(free);
  free &= free - 1;
  if (free == 0) with_room_.erase(extent);
  return extent + static_cast<size_t>(page) * kPageBytes;
}

void PagePool::Return(std::byte* page) noexcept {
  {
    LockGuard guard(lock_);
    PLEAT_DCHECK(reinterpret_cast<uintptr_t>(page) % kPageBytes == 0);
    PLEAT_DCHECK(!extents_.empty() && page >= extents_.begin()->first);
    auto& [extent, free] = *std::prev(extents_.upper_bound(page));
    const auto index = static_cast<size_t>(page - extent) / kPageBytes;
    PLEAT_DCHECK(index < 32 && (free >> index & 1) == 0);
    if (free == 0) with_room_.insert(extent);
    free |= uint32_t{1} << index;
    if (free != kAllFree) return;
    empty_.push_back(extent);
    NoteEmpty();
    if (deferrals_ > 0) return;
  }
  GiveBackExcess();
}

std::byte* PagePool::TakeExcess() noexcept {
  LockGuard guard(lock_);
  if (empty_.size() <= 1) return nullptr;
  std::byte* const extent = empty_.back();
  empty_.pop_back();
  NoteEmpty();
  with_room_.erase(extent);
  extents_.erase(extent);
  return extent;
}

// Without the lock, so that others get pages meanwhile.
void PagePool::GiveBackExcess() noexcept {
  while (std::byte* const extent = TakeExcess()) munmap(extent, kExtentBytes);
}

size_t PagePool::plain_bytes() const {
  LockGuard guard(lock_);
  return plain_bytes_;
}

size_t PagePool::held_bytes() const {
  LockGuard guard(lock_);
  return extents_.size() * kExtentBytes;
}

// Maps twice as much and gives back what is left and right of an aligned extent.
std::byte* PagePool::AddExtent() {
  void* const mapped = mmap(nullptr, 2 * kExtentBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  PLEAT_CHECK(mapped != MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t beyond = reinterpret_cast<uintptr_t>(begin) % kExtentBytes;
  const size_t before = beyond == 0 ? 0 : kExtentBytes - beyond;
  std::byte* const extent = begin + before;
  if (before > 0) munmap(begin, before);
  munmap(extent + kExtentBytes, kExtentBytes - before);
  // An offer: a kernel without huge pages, or out of them, gives small ones.
  if (extents_.size() * kExtentBytes >= plain_bytes_) madvise(extent, kExtentBytes, MADV_HUGEPAGE);
  extents_[extent] = kAllFree;
  with_room_.insert(extent);
  empty_.push_back(extent);
  return extent;
}

}  // namespace pleat::inline v0_1
