// The fields of a time as text.
#pragma once

#include <cstddef>
#include <string_view>

namespace pleat::inline v0_1 {

// Takes fixed-width fields off the front of a text. After a mismatch nothing matches any more.
class TimeFields {
 public:
  explicit TimeFields(std::string_view text) : text_(text) {}

  // A number of exactly `digits` digits, at most `max`.
  int Number(size_t digits, int max) noexcept {
    int value = 0;
    for (size_t i = 0; i < digits; ++i) value = value * 10 + Digit();
    ok_ &= value <= max;
    return value;
  }

  // One of `chars`; returns it.
  char OneOf(std::string_view chars) noexcept {
    const char c = text_.empty() ? '\0' : text_.front();
    if (c == '\0' || chars.find(c) == std::string_view::npos) return Mismatch(), '\0';
    text_.remove_prefix(1);
    return c;
  }

  // Digits of a fraction of a second, at least one, as microseconds; further ones are cut.
  int Fraction() noexcept {
    int micros = Digit();
    int digits = 1;
    for (; !text_.empty() && IsDigit(text_.front()); ++digits) {
      const int digit = Digit();
      if (digits < 6) micros = micros * 10 + digit;
    }
    for (; digits < 6; ++digits) micros *= 10;
    return micros;
  }

  bool StartsWith(char c) const noexcept { return !text_.empty() && text_.front() == c; }
  bool StartsWithDigit() const noexcept { return !text_.empty() && IsDigit(text_.front()); }
  bool AllTaken() const noexcept { return ok_ && text_.empty(); }

  // What is left, and the same without its first bytes.
  std::string_view rest() const noexcept { return text_; }
  void Skip(size_t bytes) noexcept { text_.remove_prefix(bytes); }

  void Mismatch() noexcept {
    ok_ = false;
    text_ = {};
  }

 private:
  static bool IsDigit(char c) noexcept { return c >= '0' && c <= '9'; }

  int Digit() noexcept {
    if (text_.empty() || !IsDigit(text_.front())) return Mismatch(), 0;
    const int digit = text_.front() - '0';
    text_.remove_prefix(1);
    return digit;
  }

  std::string_view text_;
  bool ok_ = true;
};

}  // namespace pleat::inline v0_1
