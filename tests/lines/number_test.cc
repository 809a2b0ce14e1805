#include "engine/lines/scan/number.h"

#include <cfloat>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Number, OrdersByValueAtAnySize) {
  const std::vector<std::string> ascending = {
      "-1e308",
      "-123456789012345678901234567890",
      "-9223372036854775809",
      "-9223372036854775808",
      "-9007199254740993",
      "-9007199254740992",
      "-1.5",
      "-1.0000000000000000000000001",
      "-1",
      "-0.1",
      "-1e-400",
      "0",
      "1e-500",
      "1e-400",
      "0.09999999999999999999999",
      "0.1",
      "1",
      "1.0000000000000000000000001",
      "10",
      "9007199254740992",
      "9007199254740993",
      "18446744073709551616",
      "123456789012345678901234567890",
      "123456789012345678901234567891",
      "1e30",
  };
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      const int order = CompareNumbers(ascending[i], ascending[j]);
      EXPECT_EQ(order < 0, i < j) << ascending[i] << " " << ascending[j];
      EXPECT_EQ(order > 0, i > j) << ascending[i] << " " << ascending[j];
    }
  }
}

TEST(Number, ComparesSpellingsOfOneValueAsEqual) {
  const std::vector<std::string> hundred = {"100",     "100.0",    "1e2",     "1E+2",    "0.1e3",
                                            "1000e-1", "100.00e0", "10.0e01", "0.0001e6"};
  for (const std::string& a : hundred) {
    for (const std::string& b : hundred) EXPECT_EQ(CompareNumbers(a, b), 0) << a << " " << b;
  }
  for (const char* zero : {"-0", "0.0", "0e99999999999999999999", "-0.000e-5"}) {
    EXPECT_EQ(CompareNumbers("0", zero), 0) << zero;
  }
}

TEST(Number, KnowsIntegersOf64Bits) {
  Number number = ReadNumber("9223372036854775807");
  EXPECT_TRUE(number.integer && number.fits);
  EXPECT_EQ(number.whole, INT64_MAX);
  number = ReadNumber("-9223372036854775808");
  EXPECT_TRUE(number.integer && number.fits);
  EXPECT_EQ(number.whole, INT64_MIN);
  number = ReadNumber("9223372036854775808");
  EXPECT_TRUE(number.integer && !number.fits);
  EXPECT_EQ(number.real, 9223372036854775808.0);
  for (const char* real : {"1.0", "1e0", "1E2"}) {
    number = ReadNumber(real);
    EXPECT_FALSE(number.integer || number.fits) << real;
  }
}

TEST(Number, ReadsWhatIsBeyondTheDoublesAsInfinite) {
  for (const char* token : {"1e309", "1.8e308", "1e99999999999999999999"}) {
    EXPECT_EQ(ReadNumber(token).real, HUGE_VAL) << token;
  }
  EXPECT_EQ(ReadNumber("-1e309").real, -HUGE_VAL);
  const Number large = ReadNumber("1" + std::string(400, '0'));
  EXPECT_TRUE(large.integer && !large.fits);
  EXPECT_EQ(large.real, HUGE_VAL);
  EXPECT_EQ(ReadNumber("1.7976931348623157e308").real, DBL_MAX);
}

TEST(Number, ReadsTheSmallestAsZeroOfItsSign) {
  Number number = ReadNumber("-1e-400");
  EXPECT_EQ(number.real, 0.0);
  EXPECT_TRUE(std::signbit(number.real));
  number = ReadNumber("5e-324");
  EXPECT_GT(number.real, 0.0);
  number = ReadNumber("0e999999999999");
  EXPECT_EQ(number.real, 0.0);
}

TEST(Number, ScalesExactlyAndCutsTowardZero) {
  struct Case {
    std::string token;
    int shift;
    int64_t expected;
  };
  for (const Case& c : std::vector<Case>{{"1341100972", 6, 1341100972000000},
                                         {"1341100972.1234567", 6, 1341100972123456},
                                         {"-1.9999999", 6, -1999999},
                                         {"1e-7", 6, 0},
                                         {"-1e-7", 6, 0},
                                         {"1.341100972e9", 6, 1341100972000000},
                                         {"1341100972999", -3, 1341100972},
                                         {"-1999", -3, -1},
                                         {"0.001", 3, 1},
                                         {"0e999999999999999999", 6, 0},
                                         {"0.00000000000000000000000000001e29", 0, 1},
                                         {"999999999999999999", 0, 999999999999999999}}) {
    int64_t value = -1;
    EXPECT_TRUE(ScaledToInteger(c.token, c.shift, value)) << c.token;
    EXPECT_EQ(value, c.expected) << c.token;
  }
  int64_t value = 0;
  EXPECT_FALSE(ScaledToInteger("1000000000000000000", 0, value));
  EXPECT_FALSE(ScaledToInteger("1e300", 6, value));
  EXPECT_FALSE(ScaledToInteger("1e99999999999999999999", -3, value));
}

TEST(Number, ShortIntegersAreReadAsOthersAre) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string token(1, static_cast<char>('0' + random() % 10));
    for (size_t digits = random() % 18; digits > 0; --digits) {
      token += static_cast<char>('0' + random() % 10);
    }
    if (random() % 4 == 0) token[random() % token.size()] = "/:.-ea\xb0"[random() % 7];
    if (token[0] < '0' || token[0] > '9') continue;
    const std::string padded = token + std::string(16, "1,}"[random() % 3]);
    const std::string_view view = std::string_view(padded).substr(0, token.size());
    const bool expected = token.size() <= 16 && IsNumber(token) &&
                          token.find_first_not_of("0123456789") == std::string::npos;
    ASSERT_EQ(IsShortInteger(view), expected) << token;
    if (expected) {
      ASSERT_EQ(ReadShortInteger(view), std::stoll(token)) << token;
    }
  }
}

}  // namespace
}  // namespace pleat
