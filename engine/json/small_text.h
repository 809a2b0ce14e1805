// A piece of JSON text inside a group's state: short ones in place, long ones on the heap.
//
// A SmallText is plain data: no constructor has to run (all zeros is the empty text), and moving
// the bytes moves the text. So the states of all reducers can be laid out at run time and moved by
// memcpy. The owner calls Clear() at the end. JSON text is never empty, so empty stands for "none".
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

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
      heap_ = new char[size];
      capacity_ = size;
    }
    std::memcpy(data(), text.data(), size);
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

 private:
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
