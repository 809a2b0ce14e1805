// Text that grows at its end. A std::string does so too, but takes a call for each piece, and a
// line of output has twenty pieces.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <absl/functional/function_ref.h>

#include "engine/base/check.h"
#include "engine/lines/reduce/short_text.h"

namespace pleat::inline v0_1 {

class LineWriter {
 public:
  void Put(std::string_view text) {
    CopyText(Reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void Put(char c) {
    *Reserve(1) = c;
    ++size_;
  }

  // Room for `bytes` more at the end, and one: a writer that holds nothing has an address to copy an
  // empty text to. TakeUpTo() keeps the part that was used.
  char* Reserve(size_t bytes) {
    if (capacity_ - size_ <= bytes) Grow(bytes + 1);
    return bytes_.get() + size_;
  }
  void TakeUpTo(const char* end) noexcept { size_ = static_cast<size_t>(end - bytes_.get()); }

  // Makes an object of the members from `begin` on, each of which has a comma before it, but for the
  // brace at its end.
  void OpenObjectAt(size_t begin) {
    if (begin == size_) return Put('{');
    bytes_[begin] = '{';
  }

  std::string_view text() const noexcept { return {bytes_.get(), size_}; }
  void Clear() noexcept { size_ = 0; }
  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return capacity_; }

  // Hands the text to `write` and holds none afterwards, if there are so many bytes.
  void HandOn(absl::FunctionRef<void(std::string_view text)> write, size_t at_least = 1) {
    if (size_ < at_least) return;
    write(text());
    Clear();
  }

 private:
  static constexpr size_t kBytesAtFirst = 16 * 1024;

  void Grow(size_t more) {
    capacity_ = std::max(2 * capacity_, std::max(size_ + more, kBytesAtFirst));
    auto grown = std::make_unique_for_overwrite<char[]>(capacity_);
    if (size_ != 0) std::memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
  }

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// An integer, or the shortest decimal that reads as this double.
template <class T>
void AppendNumber(T value, LineWriter& out) {
  constexpr size_t kDigitsMax = 32;
  char* const digits = out.Reserve(kDigitsMax);
  const auto [end, error] = std::to_chars(digits, digits + kDigitsMax, value);
  PLEAT_CHECK(error == std::errc());
  out.TakeUpTo(end);
}

}  // namespace pleat::inline v0_1
