// The elements of a `set` or `keys` merge: canonical texts, each once, in order of first appearance.
//
// They lie one after the other, a length before each: the first few bytes in the set itself, so that
// a group with one or two short elements owns nothing, and more in one block on the heap. A few are
// compared one by one; from kIndexedSize on a hash table of their places does the finding. Like
// SmallText it is plain data: all zeros is the empty set, its bytes may be moved, and the owner calls
// Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/json/line_writer.h"

namespace pleat::inline v0 {

class ElementSet {
 public:
  // Adds `element` unless it is in.
  void Add(std::string_view element);

  // Appends the elements to `out`, joined by commas.
  void AppendTo(LineWriter& out) const;

  // What it owns, in O(1).
  size_t heap_bytes() const noexcept;

  void Clear() noexcept;

 private:
  struct Block;

  // With the state's other 56 bytes it fills one and a half cache lines.
  static constexpr size_t kInlineBytes = 39;
  static constexpr uint8_t kOnHeap = 0xff;

  bool on_heap() const noexcept { return inline_used_ == kOnHeap; }
  Block* block() const noexcept;
  void set_block(Block* block) noexcept;
  void MoveToHeap();

  alignas(8) char bytes_[kInlineBytes];  // elements, or a pointer to the block
  uint8_t inline_used_;
};
static_assert(sizeof(ElementSet) == 40);

}  // namespace pleat::inline v0
