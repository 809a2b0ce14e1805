// A SideArray keeps a T for each taken place of a Slab, apart from the place: small things that are
// read at random lie close together then, a page full of them, instead of a few in every chunk. There,
// all at the same distance from the beginning of a page, they would also share few sets of a cache.
//
// It knows numbers only. A page of the pool holds those of 2^kBits successive numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"

namespace pleat::inline v0_1 {

template <class T>
class SideArray {
  static_assert(std::is_trivially_copyable_v<T> && std::has_single_bit(sizeof(T)));

 public:
  explicit SideArray(Pages& pool) : pool_(pool) {}
  ~SideArray() {
    for (std::byte* page : pages_) {
      if (page != nullptr) pool_.Return(page);
    }
  }
  SideArray(const SideArray&) = delete;
  SideArray& operator=(const SideArray&) = delete;

  // The T of a number that was added. Its bytes are undefined until they are set, and stay readable
  // as long as any number of its page is there.
  const T& operator[](uint32_t number) const noexcept {
    PLEAT_DCHECK(number >> kBits < pages_.size() && used_[number >> kBits] > 0);
    return reinterpret_cast<const T*>(pages_[number >> kBits])[number & kMask];
  }
  T& operator[](uint32_t number) noexcept { return const_cast<T&>(std::as_const(*this)[number]); }

  // REQUIRES: the number is not there.
  T& Add(uint32_t number) {
    const uint32_t page = number >> kBits;
    if (page >= pages_.size()) {
      pages_.resize(page + 1);
      used_.resize(page + 1);
    }
    if (used_[page]++ == 0) pages_[page] = pool_.Take();
    return (*this)[number];
  }

  // REQUIRES: the number is there.
  void Remove(uint32_t number) noexcept {
    const uint32_t page = number >> kBits;
    PLEAT_DCHECK(page < pages_.size() && used_[page] > 0);
    if (--used_[page] > 0) return;
    pool_.Return(pages_[page]);
    pages_[page] = nullptr;
  }

 private:
  static constexpr int kBits = std::countr_zero(PagePool::kPageBytes / sizeof(T));
  static constexpr uint32_t kMask = (1U << kBits) - 1;

  Pages& pool_;
  std::vector<std::byte*> pages_;  // null: given back
  std::vector<uint32_t> used_;     // how many numbers of each page are there
};

}  // namespace pleat::inline v0_1
