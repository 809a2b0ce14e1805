// Integers as the digits that JSON has of them, added as on paper. For the models.
#pragma once

#include <cstdint>
#include <string>

namespace pleat::inline v0_1 {

struct PlainInteger {
  bool negative = false;
  std::string digits = "0";  // without zeros in front

  std::string Text() const { return (negative ? "-" : "") + digits; }
};

PlainInteger ReadPlainWhole(const std::string& text);
PlainInteger AddPlain(const PlainInteger& a, const PlainInteger& b);
PlainInteger Negated(PlainInteger a);

// Whether an integer of 128 bits can be this.
bool FitsIn128Bits(const PlainInteger& a);

// a / n with that many decimals, cut off; and whether anything was. REQUIRES: n is above 0.
struct PlainQuotient {
  PlainInteger whole;
  std::string decimals;
  bool cut = false;
};
PlainQuotient DividePlain(const PlainInteger& a, uint64_t n, int decimals);

}  // namespace pleat::inline v0_1
