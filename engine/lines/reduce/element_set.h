// The elements that a merge keeps, in order of arrival: each once (`set`, `keys`, `distinct`), or
// as often as they come (`array`, `concat`).
//
// Elements lie one after the other, each with its length before it: the first few bytes in the set
// itself, so that a group with one or two short elements owns no heap memory, and more in one block
// on the heap. A few elements are compared one by one; from kIndexedSize on a hash table of their
// places finds them. Numbers that are equal are one element, which is kept as it came first: an element
// with an odd number, which is in another form than the normal one (normal.h), is looked for by its normal
// form, and moves the set to the heap. A set is plain data, like SmallText: all zeros is the empty set, the bytes may
// be moved, and the owner calls Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/stored.h>

#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/reduce/short_text.h"

namespace pleat::inline v0_1 {

class ElementSet {
 public:
  // Adds `element` unless the set has it. A set that has `bound` elements is cut instead.
  // REQUIRES, here and below: AddOdd() for an element with an odd number.
  void Add(std::string_view element, uint64_t bound = UINT64_MAX);
  void AddOdd(std::string_view element, uint64_t bound = UINT64_MAX);

  // Add() where that takes no memory of the heap, as it mostly does. Returns false, and has done
  // nothing, where it may.
  bool AddInPlace(std::string_view element, uint64_t bound) noexcept {
    if (state_ >= kCut) return false;
    uint64_t count = 0;
    size_t place = 0;
    for (; place < state_; ++count) {
      const size_t size = static_cast<uint8_t>(bytes_[place]);
      const char* const text = bytes_ + place + sizeof(InlineLength);
      if (size == element.size() && SameText(text, element.data(), size)) return true;
      place += sizeof(InlineLength) + size;
    }
    const size_t used = place + sizeof(InlineLength) + element.size();
    if (used > kInlineBytes || count >= bound) return false;
    bytes_[place] = static_cast<char>(element.size());
    CopyText(bytes_ + place + sizeof(InlineLength), element.data(), element.size());
    state_ = static_cast<uint8_t>(used);
    return true;
  }

  // Adds `element` even if the set has it. REQUIRES: Add() is never called on the same set.
  void Push(std::string_view element, uint64_t bound = UINT64_MAX);

  // Later elements are no longer added. O(1).
  void Cut() noexcept { state_ |= kCut; }
  bool cut() const noexcept { return (state_ & kCut) != 0; }

  uint64_t count() const noexcept;
  bool empty() const noexcept { return !on_heap() && inline_used() == 0; }

  // Appends the elements to `out`, joined by commas or by `separator`.
  void AppendTo(LineWriter& out) const;
  void AppendTo(LineWriter& out, std::string_view separator) const;

  // The heap memory that the set owns, in O(1).
  size_t heap_bytes() const noexcept { return on_heap() ? BlockBytes() : 0; }

  // Makes a set that is a copy of another set's bytes own its heap memory.
  void Detach();

  void Clear() noexcept;

  // A loaded set has the same heap_bytes(), and an index if the saved one had one.
  void Save(FieldWriter& out) const;
  // REQUIRES: the set is empty. `may_be_odd`: elements may have odd numbers.
  void Load(FieldReader& in, bool may_be_odd = false);
  bool All(absl::FunctionRef<bool(std::string_view element)> holds) const;

 private:
  struct Block;
  using InlineLength = uint8_t;  // of an element in the set itself

  // With the other 56 bytes of the state, the set fills one and a half cache lines.
  static constexpr size_t kInlineBytes = 39;

  static constexpr uint8_t kOnHeap = 0x80;
  static constexpr uint8_t kCut = 0x40;
  static_assert(kInlineBytes < kCut);

  bool on_heap() const noexcept { return (state_ & kOnHeap) != 0; }
  size_t inline_used() const noexcept { return state_ & (kCut - 1); }
  size_t BlockBytes() const noexcept;
  const Block* block() const noexcept;
  Block* block() noexcept;
  void set_block(Block* block) noexcept;
  bool FitsInPlace() const noexcept;
  void MoveToHeap();
  void Put(std::string_view element);
  void LoadInline(FieldReader& in, size_t count, size_t text_bytes);
  void LoadBlock(FieldReader& in, size_t count, size_t text_bytes);

  alignas(8) char bytes_[kInlineBytes];  // elements, or a pointer to the block
  uint8_t state_;                        // how much of them is used, or kOnHeap; and kCut
};
static_assert(sizeof(ElementSet) == 40);

}  // namespace pleat::inline v0_1
