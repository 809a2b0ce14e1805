// The normal form of numbers, and texts with numbers in them.
#include "engine/lines/scan/normal.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/lines/scan/number.h"
#include "tests/model/plain_condition.h"

namespace pleat {
namespace {

TEST(Normal, EqualNumbersHaveOneForm) {
  const std::pair<std::string, std::vector<std::string>> forms[] = {
      {"123", {"123", "123.0", "1.23e2", "12.3E+1", "1230e-1", "0.123e3", "123.000"}},
      {"0", {"0", "-0", "0.0", "-0.000", "0e5", "0E-99999999999999999999", "-0e1000000000"}},
      {"-1.5", {"-1.5", "-1.50", "-15e-1", "-0.15e1"}},
      {"0.000001", {"0.000001", "1e-6", "0.0000010"}},
      {"1e-7", {"0.0000001", "1e-7", "1.0E-07", "0.1e-6"}},
      {"100000000000000000000", {"100000000000000000000", "1e20", "1e+20", "10.0e19"}},
      {"1e+21", {"1000000000000000000000", "1e21", "1.e21"}},
      {"1.5e+300", {"1.5e300", "15E299", "1.50e+300"}},
      {"1e+1000000000", {"1e1000000000", "10e999999999", "0.01e1000000002"}},
      {"1e-1000000000", {"1e-1000000000", "0.1e-999999999"}},
      {"18446744073709551616", {"18446744073709551616", "18446744073709551616.0"}},
      {"123456789012345678901234567890.123456789012345678901234567891",
       {"123456789012345678901234567890.123456789012345678901234567891",
        "123456789012345678901234567890123456789012345678901234567891e-30"}},
  };
  for (const auto& [form, spellings] : forms) {
    for (const std::string& spelling : spellings) {
      if (!IsNumber(spelling)) continue;
      EXPECT_EQ(Normal(spelling), form) << spelling;
      EXPECT_EQ(IsNormal(spelling), spelling == form) << spelling;
    }
  }
}

TEST(Normal, OtherNumbersHaveOthers) {
  EXPECT_NE(Normal("9007199254740993"), Normal("9007199254740992.0"));
  EXPECT_NE(Normal("18446744073709551616"), Normal("18446744073709551617.0"));
  EXPECT_NE(Normal("0.1"), Normal("0.1000000000000000055511151231257827"));
  EXPECT_NE(Normal("1e1000000000"), Normal("1e1000000001"));
  EXPECT_NE(Normal("-1.0"), Normal("1.0"));
}

// Beyond 18 digits of exponent a number is as it is written.
TEST(Normal, AnExponentOfAnyLengthIsReadInItsPlace) {
  EXPECT_EQ(Normal("1e1000000000000000000"), "1e+1000000000000000000");
  EXPECT_EQ(Normal("10e999999999999999999"), "1e+1000000000000000000");
  const std::string huge = "1.0e" + std::string(1000, '9');
  EXPECT_EQ(Normal(huge), huge);
  EXPECT_TRUE(IsNormal(huge));
}

TEST(Normal, OnlyNumbersOutsideStringsAreRewritten) {
  EXPECT_EQ(Normal(R"({"1.0":[1.0,"1.0","\"1.0",-0,{"a\\":2e0}],"b":true,"c":null})"),
            R"({"1.0":[1,"1.0","\"1.0",0,{"a\\":2}],"b":true,"c":null})");
  EXPECT_EQ(Normal(R"(1.0,"x",-0,"1.0")"), R"(1,"x",0,"1.0")");
  for (const char* text :
       {"", "null", "true", "false", R"("1.0")", "[]", "{}", R"(["1e5",false,17])"}) {
    EXPECT_TRUE(IsNormal(text)) << text;
    EXPECT_EQ(Normal(text), text);
  }
  EXPECT_TRUE(AreSameValue("[1.0,2]", "[1,2e0]"));
  EXPECT_FALSE(AreSameValue("[1.0,2]", "[1,3]"));
  EXPECT_FALSE(AreSameValue(R"("1.0")", "1"));
}

// Bytes of a damaged snapshot.
TEST(Normal, AnyBytesAreSafe) {
  std::mt19937_64 random(5);
  constexpr std::string_view kBytes = "0123456789.eE+-\"\\,[]{}tn#\xff ";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t size = random() % 12; size > 0; --size) text += kBytes[random() % kBytes.size()];
    Normal(text);
    IsNormal(text);
  }
}

// Against numbers as digits and an exponent.
TEST(Normal, AgreesWithThePlainForm) {
  std::mt19937_64 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto digits = [&](size_t most) {
    std::string out;
    for (size_t size = 1 + below(most); size > 0; --size)
      out += below(3) == 0 ? '0' : static_cast<char>('0' + below(3));
    return out;
  };
  std::vector<std::string> numbers;
  while (numbers.size() < 400) {
    std::string number = below(4) == 0 ? "-" : "";
    number += digits(below(5) == 0 ? 30 : 3);
    if (below(2) == 0) number += "." + digits(below(5) == 0 ? 30 : 3);
    if (below(2) == 0) number += (below(2) == 0 ? "e" : "E-") + std::to_string(below(30));
    if (IsNumber(number)) numbers.push_back(number);
  }
  for (const std::string& a : numbers) {
    EXPECT_EQ(Normal(Normal(a)), Normal(a));
    EXPECT_EQ(CompareNumbers(Normal(a), a), 0) << a;
    EXPECT_LE(Normal(a).size(), a.size() + kNormalGrowth);
    for (const std::string& b : numbers) {
      ASSERT_EQ(Normal(a) == Normal(b), PlainNumberForm(a) == PlainNumberForm(b)) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace pleat
