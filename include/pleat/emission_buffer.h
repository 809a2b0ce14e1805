// An EmissionBuffer is where popped emissions go without a call of malloc for each.
//
//   pleat::EmissionBuffer<Edits> popped;  // kept for as long as the loop runs
//   for (auto& e : folder.Pop(256, popped)) Publish(e.key, e.state);
//
// The buffer has one block for the emissions and some for the bytes of their keys, and keeps both
// for the next Pop(), which overwrites them. So its memory is that of the largest Pop() so far:
// some 110 bytes, the state and the key for each emission.
//
// Thread safety: one thread at a time.
// Ownership: the buffer owns the states; move out those that are to stay, and copy keys that are.
// The views that Pop() returns are good until the buffer is popped into again, cleared or
// destroyed; also when it was moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/any_collection.h>
#include <pleat/emission.h>

namespace pleat::inline v0_1 {

template <class State>
class EmissionSource;

template <class State>
class EmissionBuffer {
 public:
  EmissionBuffer() = default;
  ~EmissionBuffer() {
    Clear();
    if (views_ != nullptr) std::allocator<EmissionView<State>>().deallocate(views_, room_);
  }
  EmissionBuffer(EmissionBuffer&& other) noexcept { Swap(other); }
  EmissionBuffer& operator=(EmissionBuffer&& other) noexcept {
    EmissionBuffer old(std::move(other));
    Swap(old);
    return *this;
  }

  // What the latest Pop() returned.
  std::span<EmissionView<State>> emissions() noexcept { return {views_, size_}; }

  // Destroys the emissions and keeps the memory. O(emissions) if State has a destructor.
  void Clear() noexcept {
    if (size_ == 0) return;
    std::destroy_n(views_, std::exchange(size_, 0));
    UseBlock(0);
  }

 private:
  friend class EmissionSource<State>;

  static constexpr size_t kFirst = 64;
  static constexpr size_t kBlockBytes = 4096;

  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };

  // Moves the states out of `groups` and destroys what is left there.
  void Add(std::span<const ClosedGroup> groups) {
    if (groups.size() > room_ - size_) Grow(groups.size());
    EmissionView<State>* view = views_ + size_;
    for (const ClosedGroup& group : groups) {
      if (group.key.size() >= left_) [[unlikely]]
        NextBlockFor(group.key.size());
      State& state = *static_cast<State*>(group.state);
      ::new (view++) EmissionView<State>{group, CopyTo(next_, group.key), std::move(state)};
      next_ += group.key.size();
      left_ -= group.key.size();
      state.~State();
    }
    size_ += groups.size();
  }

  // Makes room for so many more at least.
  void Grow(size_t more) {
    const size_t room = std::max({kFirst, 2 * room_, size_ + more});
    EmissionView<State>* const views = std::allocator<EmissionView<State>>().allocate(room);
    std::uninitialized_move_n(views_, size_, views);
    std::destroy_n(views_, size_);
    if (views_ != nullptr) std::allocator<EmissionView<State>>().deallocate(views_, room_);
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

  void Swap(EmissionBuffer& other) noexcept {
    std::swap(views_, other.views_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    std::swap(blocks_, other.blocks_);
    std::swap(block_, other.block_);
    std::swap(next_, other.next_);
    std::swap(left_, other.left_);
  }

  EmissionView<State>* views_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;
  std::vector<Block> blocks_;
  size_t block_ = 0;      // the one in use
  char* next_ = nullptr;  // in there
  size_t left_ = 0;       // bytes, from there on
};

}  // namespace pleat::inline v0_1
