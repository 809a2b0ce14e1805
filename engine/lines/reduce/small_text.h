// A piece of JSON text inside a group's state: short ones in place, long ones on the heap.
//
// A SmallText is plain data: no constructor has to run (all zeros is the empty text), and moving
// the bytes moves the text. So the states of all reducers can be laid out at run time and moved by
// memcpy. The owner calls Clear() at the end. JSON text is never empty, so empty stands for "none".
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <pleat/json_lines.h>
#include <pleat/stored.h>

#include "engine/lines/reduce/short_text.h"

namespace pleat::inline v0_1 {

class SmallText {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {data(), size_}; }
  size_t heap_bytes() const noexcept { return capacity_; }

  void Assign(std::string_view text) noexcept {
    const auto size = static_cast<uint32_t>(text.size());  // at most a line's
    if (size > (capacity_ == 0 ? sizeof(inline_) : capacity_)) {
      Clear();
      Allocate(size);
    }
    CopyText(data(), text.data(), size);
    size_ = size;
  }

  // Makes a text that is a copy of another text's bytes own its heap memory.
  void Detach() noexcept {
    if (capacity_ == 0) return;
    const std::string_view shared = view();
    capacity_ = 0;
    Assign(shared);
  }

  void Clear() noexcept {
    if (capacity_ != 0) delete[] heap_;
    size_ = 0;
    capacity_ = 0;
  }

  // A loaded text has the same heap_bytes(), unless a longer one came before it by more than
  // kSpareBytesMax: a few bytes must not stand for much memory.
  void Save(FieldWriter& out) const {
    out.PutBytes(view());
    if (empty()) return;
    const uint32_t spare = capacity_ == 0 ? 0 : capacity_ - NeededFor(size_);
    out.PutNumber(std::min(spare, kSpareBytesMax));
  }
  // REQUIRES: the text is empty.
  void Load(FieldReader& in) {
    const std::string_view text = in.Bytes();
    if (text.empty()) return;
    const uint64_t spare = in.Number();
    if (!in.Expect(text.size() <= kLineBytesMax && spare <= kSpareBytesMax)) return;
    const auto size = static_cast<uint32_t>(text.size());
    const uint32_t capacity = NeededFor(size) + static_cast<uint32_t>(spare);
    if (capacity > sizeof(inline_)) Allocate(capacity);
    Assign(text);
  }

 private:
  static constexpr uint32_t kSpareBytesMax = 64 * 1024;

  // The room that a text of this size has at least.
  static uint32_t NeededFor(uint32_t size) noexcept {
    return std::max(size, static_cast<uint32_t>(sizeof(inline_)));
  }
  void Allocate(uint32_t capacity) noexcept {
    heap_ = new char[capacity];
    capacity_ = capacity;
  }
  char* data() noexcept { return capacity_ == 0 ? inline_ : heap_; }
  const char* data() const noexcept { return capacity_ == 0 ? inline_ : heap_; }

  uint32_t size_;
  uint32_t capacity_;  // of the heap block; 0: the text is in place
  union {
    char inline_[16];
    char* heap_;
  };
};

}  // namespace pleat::inline v0_1
