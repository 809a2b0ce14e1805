// The memory of an EmissionBuffer or a LeaseBuffer: one block for the views, which are emissions of
// some type, and blocks for the bytes of their keys. An implementation detail of emission_source.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

template <class View>
class ViewBuffer {
 public:
  ViewBuffer() = default;
  ~ViewBuffer() {
    Clear();
    if (views_ != nullptr) std::allocator<View>().deallocate(views_, room_);
  }
  ViewBuffer(ViewBuffer&& other) noexcept { Swap(other); }
  ViewBuffer& operator=(ViewBuffer&& other) noexcept {
    ViewBuffer old(std::move(other));
    Swap(old);
    return *this;
  }

  void Clear() noexcept {
    if (size_ == 0) return;
    std::destroy_n(views_, std::exchange(size_, 0));
    UseBlock(0);
  }

 protected:
  std::span<View> views() noexcept { return {views_, size_}; }

  // Where the next view is to be made; behind it there is room for so many. Then call Made().
  View* Room(size_t count) {
    if (count > room_ - size_) Grow(count);
    return views_ + size_;
  }
  void Made(size_t count) noexcept { size_ += count; }

  // A copy of the bytes, good until Clear().
  std::string_view Keep(std::string_view key) {
    if (key.size() >= left_) [[unlikely]]
      NextBlockFor(key.size());
    const std::string_view kept = CopyTo(next_, key);
    next_ += key.size();
    left_ -= key.size();
    return kept;
  }

 private:
  static constexpr size_t kFirst = 64;
  static constexpr size_t kBlockBytes = 4096;

  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };

  // Makes room for so many more at least.
  void Grow(size_t more) {
    const size_t room = std::max({kFirst, 2 * room_, size_ + more});
    View* const views = std::allocator<View>().allocate(room);
    std::uninitialized_move_n(views_, size_, views);
    std::destroy_n(views_, size_);
    if (views_ != nullptr) std::allocator<View>().deallocate(views_, room_);
    views_ = views;
    room_ = room;
  }

  // Most keys have 8 to 32 bytes: two copies of fixed size, which may overlap, need no call.
  static std::string_view CopyTo(char* to, std::string_view key) noexcept {
    const auto ends = [&](auto size) {
      std::memcpy(to, key.data(), size);
      std::memcpy(to + key.size() - size, key.data() + key.size() - size, size);
    };
    if (key.size() - 16 <= 16) {
      ends(std::integral_constant<size_t, 16>());
    } else if (key.size() - 8 < 8) {
      ends(std::integral_constant<size_t, 8>());
    } else {
      std::memcpy(to, key.data(), key.size());
    }
    return {to, key.size()};
  }

  // To a block with room for a key. The next one may be too small.
  void NextBlockFor(size_t key_size) {
    while (key_size >= left_) {
      const size_t next = blocks_.empty() || next_ == nullptr ? 0 : block_ + 1;
      if (next == blocks_.size()) {
        const size_t size = std::max(kBlockBytes << std::min<size_t>(next, 8), key_size + 1);
        blocks_.push_back({std::make_unique<char[]>(size), size});
      }
      UseBlock(next);
    }
  }
  void UseBlock(size_t number) noexcept {
    block_ = number;
    next_ = number < blocks_.size() ? blocks_[number].bytes.get() : nullptr;
    left_ = number < blocks_.size() ? blocks_[number].size : 0;
  }

  void Swap(ViewBuffer& other) noexcept {
    std::swap(views_, other.views_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    std::swap(blocks_, other.blocks_);
    std::swap(block_, other.block_);
    std::swap(next_, other.next_);
    std::swap(left_, other.left_);
  }

  View* views_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;
  std::vector<Block> blocks_;
  size_t block_ = 0;      // the one in use
  char* next_ = nullptr;  // in there
  size_t left_ = 0;       // bytes, from there on
};

}  // namespace pleat::inline v0_1
