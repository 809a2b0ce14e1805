#include "engine/lines/reduce/rounded_counts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// A rounded number is +-digits * 10^exponent with 100 <= digits <= 999, or zero, whose code is 0.
// The code of a positive one is a place in the list of all of them, from 1; of a negative one the same
// below zero.
constexpr int32_t kDigitsMin = 100;
constexpr int32_t kDigitsEnd = 1000;
constexpr int32_t kDigits = kDigitsEnd - kDigitsMin;
constexpr int64_t kLargestExponent = 1'000'000;
constexpr int64_t kCodeMax = (2 * kLargestExponent + 1) * kDigits;
static_assert(kCodeMax <= std::numeric_limits<int32_t>::max());

constexpr size_t kFirstCodes = 8;

struct Rounded {
  int32_t digits;  // 0: the number is zero
  int64_t exponent;
};

// Of an exponent in the text of a number; a larger one than any that matters stays at that.
int64_t ReadExponent(std::string_view text) noexcept {
  constexpr int64_t kEnough = int64_t{1} << 40;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int64_t exponent = 0;
  for (const char c : text) exponent = std::min(10 * exponent + (c - '0'), kEnough);
  return negative ? -exponent : exponent;
}

// `number` has no sign.
Rounded Round(std::string_view number) noexcept {
  constexpr int kTaken = 4;  // digits; the fourth one decides how the third is rounded
  int32_t digits = 0;
  int taken = 0;
  int64_t exponent = 0;  // of the last digit taken
  bool fraction = false;
  for (size_t i = 0; i < number.size(); ++i) {
    const char c = number[i];
    if (c == '.') {
      fraction = true;
    } else if (c == 'e' || c == 'E') {
      exponent += ReadExponent(number.substr(i + 1));
      break;
    } else if (taken == kTaken) {
      exponent += fraction ? 0 : 1;
    } else {
      exponent -= fraction ? 1 : 0;
      if (taken == 0 && c == '0') continue;
      digits = 10 * digits + (c - '0');
      ++taken;
    }
  }
  if (taken == 0) return {0, 0};
  for (; taken < kTaken; ++taken) {
    digits *= 10;
    --exponent;
  }
  digits = (digits + 5) / 10;
  ++exponent;
  if (digits < kDigitsEnd) return {digits, exponent};
  return {kDigitsMin, exponent + 1};
}

void AppendInteger(int64_t value, LineWriter& out) {
  constexpr size_t kBytes = 20;
  char* const to = out.Reserve(kBytes);
  out.TakeUpTo(std::to_chars(to, to + kBytes, value).ptr);
}

}  // namespace

int32_t RoundedCodeOf(std::string_view number) noexcept {
  const bool negative = number.starts_with('-');
  Rounded rounded = Round(negative ? number.substr(1) : number);
  if (rounded.digits == 0 || rounded.exponent < -kLargestExponent) return 0;
  if (rounded.exponent > kLargestExponent) rounded = {kDigitsEnd - 1, kLargestExponent};
  const int64_t code =
      1 + (rounded.exponent + kLargestExponent) * kDigits + (rounded.digits - kDigitsMin);
  return static_cast<int32_t>(negative ? -code : code);
}

// In full if that takes few zeros, else with an exponent: 0.00123, 123000, 1.23e+25.
void AppendRounded(int32_t code, LineWriter& out) {
  if (code == 0) return out.Put('0');
  if (code < 0) out.Put('-');
  const int64_t place = std::abs(static_cast<int64_t>(code)) - 1;
  int64_t exponent = place / kDigits - kLargestExponent;
  std::string digits = std::to_string(kDigitsMin + place % kDigits);
  for (; digits.ends_with('0'); ++exponent) digits.pop_back();
  const auto size = static_cast<int64_t>(digits.size());
  const int64_t point = size + exponent;  // how many digits are before it
  if (exponent >= 0 && point <= 21) {
    out.Put(digits.append(static_cast<size_t>(exponent), '0'));
  } else if (point > 0 && point < size) {
    out.Put(digits.insert(static_cast<size_t>(point), 1, '.'));
  } else if (point <= 0 && point > -6) {
    out.Put("0.");
    out.Put(digits.insert(0, static_cast<size_t>(-point), '0'));
  } else {
    out.Put(size == 1 ? digits : digits.insert(1, 1, '.'));
    out.Put(point > 0 ? "e+" : "e");
    AppendInteger(point - 1, out);
  }
}

struct RoundedCounts::Table {
  // Makes room for one more, or for `size` at first. What a table takes depends on its size alone.
  void Grow(size_t size) {
    size_t capacity = std::max(codes.capacity(), kFirstCodes);
    while (capacity < size) capacity *= 2;
    codes.reserve(capacity);
    counts.reserve(capacity);
  }

  std::vector<int32_t> codes;  // ascending
  std::vector<uint64_t> counts;
  bool cut = false;
};

void RoundedCounts::Add(int32_t code) {
  if (table_ == nullptr) table_ = new Table;
  std::vector<int32_t>& codes = table_->codes;
  std::vector<uint64_t>& counts = table_->counts;
  auto place = std::ranges::lower_bound(codes, code) - codes.begin();
  const auto at = [&] { return static_cast<size_t>(place); };
  if (at() < codes.size() && codes[at()] == code) {
    ++counts[at()];
    return;
  }
  if (codes.size() == kCodesMax) {
    table_->cut = true;
    if (place == 0) {
      ++counts.front();
      return;
    }
    // The smallest one gives way. Behind it the new one may be the smallest.
    const uint64_t below = counts.front();
    codes.erase(codes.begin());
    counts.erase(counts.begin());
    --place;
    codes.insert(codes.begin() + place, code);
    counts.insert(counts.begin() + place, 1);
    counts.front() += below;
    return;
  }
  table_->Grow(codes.size() + 1);
  codes.insert(codes.begin() + place, code);
  counts.insert(counts.begin() + place, 1);
}

bool RoundedCounts::cut() const noexcept { return table_ != nullptr && table_->cut; }

int32_t RoundedCounts::Percentile(uint64_t thousandths) const noexcept {
  uint64_t all = 0;
  for (const uint64_t count : table_->counts) all += count;
  // The rank, rounded up, without a product that could leave 64 bits.
  const uint64_t rank = all / 1000 * thousandths + (all % 1000 * thousandths + 999) / 1000;
  uint64_t seen = 0;
  size_t place = 0;
  for (; place + 1 < table_->counts.size(); ++place) {
    seen += table_->counts[place];
    if (seen >= rank) break;
  }
  return table_->codes[place];
}

size_t RoundedCounts::heap_bytes() const noexcept {
  if (table_ == nullptr) return 0;
  return sizeof(Table) + table_->codes.capacity() * (sizeof(int32_t) + sizeof(uint64_t));
}

void RoundedCounts::Detach() {
  if (table_ == nullptr) return;
  auto* const copy = new Table;
  copy->Grow(table_->codes.size());
  copy->codes = table_->codes;
  copy->counts = table_->counts;
  copy->cut = table_->cut;
  table_ = copy;
}

void RoundedCounts::Clear() noexcept {
  delete table_;
  table_ = nullptr;
}

// How many there are, and whether there were too many; each as the distance from the one before, and
// its count.
void RoundedCounts::Save(FieldWriter& out) const {
  const size_t size = table_ == nullptr ? 0 : table_->codes.size();
  out.PutNumber(size * 2 + (cut() ? 1 : 0));
  int64_t before = 0;
  for (size_t i = 0; i < size; ++i) {
    const int64_t code = table_->codes[i];
    out(code - before, table_->counts[i]);
    before = code;
  }
}

void RoundedCounts::Load(FieldReader& in) {
  const uint64_t head = in.Number();
  const uint64_t size = head / 2;
  if (!in.Expect(size <= kCodesMax && in.Has(size) && head != 1) || size == 0) return;
  table_ = new Table;
  table_->Grow(size);
  table_->cut = head % 2 != 0;
  in.Expect(!table_->cut || size == kCodesMax);
  int64_t before = 0;
  for (uint64_t i = 0; i < size && in.ok(); ++i) {
    int64_t step = 0;
    uint64_t count = 0;
    in(step, count);
    const bool near = step >= -kCodeMax && step <= 2 * kCodeMax;
    const int64_t code = near ? before + step : 0;
    if (!in.Expect(near && (i == 0 || step > 0) && code >= -kCodeMax && code <= kCodeMax)) break;
    if (!in.Expect(count > 0 && count <= uint64_t{1} << 48)) break;  // so that no sum overflows
    table_->codes.push_back(static_cast<int32_t>(code));
    table_->counts.push_back(count);
    before = code;
  }
  // A table is never empty.
  if (table_->codes.empty()) Clear();
}

}  // namespace pleat::inline v0_1
