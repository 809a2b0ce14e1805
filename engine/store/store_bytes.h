// StoreBytes: memory that grows and is used again, and that nobody fills with zeros first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

class StoreBytes {
 public:
  // Room for `bytes` behind what is there. Commit() tells how far it was written.
  char* Reserve(size_t bytes) {
    if (capacity_ - size_ < bytes) [[unlikely]]
      Grow(bytes);
    return data_.get() + size_;
  }
  void CommitTo(const char* end) noexcept {
    size_ = static_cast<size_t>(end - data_.get());
    PLEAT_DCHECK(size_ <= capacity_);
  }
  void Append(std::string_view bytes) {
    char* const to = Reserve(bytes.size());
    std::memcpy(to, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  void Clear() noexcept { size_ = 0; }
  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return capacity_; }
  char* data() noexcept { return data_.get(); }
  std::string_view bytes() const noexcept { return {data_.get(), size_}; }

 private:
  void Grow(size_t bytes) {
    capacity_ = std::max({size_ + bytes, 2 * capacity_, size_t{256}});
    std::unique_ptr<char[]> larger(new char[capacity_]);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
  }

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace pleat::inline v0_1
