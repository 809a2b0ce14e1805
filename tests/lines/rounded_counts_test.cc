#include "engine/lines/reduce/rounded_counts.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/lines/scan/number.h"

namespace pleat {
namespace {

std::string RoundedText(std::string_view number) {
  LineWriter out;
  AppendRounded(RoundedCodeOf(number), out);
  return std::string(out.text());
}

class RoundedCountsTest : public ::testing::Test {
 protected:
  ~RoundedCountsTest() override { counts_.Clear(); }

  double Percentile(uint64_t thousandths) const {
    LineWriter out;
    AppendRounded(counts_.Percentile(thousandths), out);
    return std::stod(std::string(out.text()));
  }

  RoundedCounts counts_{};
};

TEST(Rounding, KeepsThreeDigitsAndGoesByTheFourth) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0.000e5", "0"},
      {"7", "7"},
      {"-7", "-7"},
      {"123", "123"},
      {"-0.00250", "-0.0025"},
      {"1234", "1230"},
      {"1235", "1240"},
      {"-1235", "-1240"},
      {"1234.9999", "1230"},
      {"99949", "99900"},
      {"9995", "10000"},
      {"999.5", "1000"},
      {"0.9995", "1"},
      {"0.09994999", "0.0999"},
      {"1.00E2", "100"},
      {"12e-1", "1.2"},
      {"0.0123e+4", "123"},
      {"1e20", "100000000000000000000"},
      {"1e21", "1e+21"},
      {"1.5e-6", "0.0000015"},
      {"1.5e-7", "1.5e-7"},
      {"-4.567e-30", "-4.57e-30"},
      {"1e400", "1e+400"},
      {"1.23456e-400", "1.23e-400"},
      {"9.99e999999", "9.99e+999999"},
      {"1e1000002", "1e+1000002"},
      {"1e1000003", "9.99e+1000002"},
      {"-1e99999999999999999999", "-9.99e+1000002"},
      {"1e-99999999999999999999", "0"},
      {"0e99999999999999999999", "0"}};
  for (const auto& [number, rounded] : cases) EXPECT_EQ(RoundedText(number), rounded) << number;
  const std::string zeros(100'000, '0');
  EXPECT_EQ(RoundedText("1" + zeros), "1e+100000");
  EXPECT_EQ(RoundedText("0." + zeros + "12345"), "1.23e-100001");
  EXPECT_EQ(RoundedText("1" + zeros + "e-100000"), "1");
}

// What is rounded stays as it is, is near, and keeps its order.
TEST(Rounding, KeepsTheOrderAndIsOffByHalfAPercentAtMost) {
  std::mt19937_64 random(3);
  std::vector<std::pair<double, std::string>> numbers;
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                                    static_cast<int>(random() % 200) - 160);
    char text[64];
    std::snprintf(text, sizeof(text), "%.17g", value);
    numbers.emplace_back(value, text);
  }
  std::ranges::sort(numbers);
  int32_t before = INT32_MIN;
  for (const auto& [value, text] : numbers) {
    const int32_t code = RoundedCodeOf(text);
    EXPECT_GE(code, before) << text;
    before = code;
    const std::string rounded = RoundedText(text);
    EXPECT_TRUE(IsNumber(rounded)) << rounded;
    EXPECT_EQ(RoundedCodeOf(rounded), code) << text;
    EXPECT_LE(std::abs(std::stod(rounded) - value), 0.005 * std::abs(value)) << text;
  }
}

// Against a sort of all numbers, of several distributions.
TEST_F(RoundedCountsTest, PercentilesAreThoseOfAllNumbersWithinHalfAPercent) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> latencies(3, 2);
  std::normal_distribution<double> around_zero(0, 1000);
  std::uniform_real_distribution<double> even(0, 1);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> all;
    for (size_t left = 1 + random() % (round % 2 == 0 ? 20 : 20'000); left > 0; --left) {
      const double value = round % 3 == 0   ? latencies(random)
                           : round % 3 == 1 ? around_zero(random)
                                            : std::pow(even(random), 9);
      char text[64];
      std::snprintf(text, sizeof(text), "%.17g", value);
      counts_.Add(RoundedCodeOf(text));
      all.push_back(value);
    }
    std::ranges::sort(all);
    for (const uint64_t thousandths : {1, 500, 900, 950, 990, 999, 1000}) {
      const double exact = all[(all.size() * thousandths + 999) / 1000 - 1];
      EXPECT_LE(std::abs(Percentile(thousandths) - exact), 0.005 * std::abs(exact)) << thousandths;
    }
    EXPECT_FALSE(counts_.cut());
    counts_.Clear();
  }
}

TEST_F(RoundedCountsTest, TakeMemoryByWhatDiffers) {
  EXPECT_EQ(counts_.heap_bytes(), 0u);
  for (int i = 0; i < 100'000; ++i) counts_.Add(RoundedCodeOf(std::to_string(i % 8)));
  EXPECT_LE(counts_.heap_bytes(), 8 * 12 + 64u);
  for (int i = 0; i < 1000; ++i) counts_.Add(RoundedCodeOf(std::to_string(i)));
  EXPECT_LE(counts_.heap_bytes(), 1024 * 12 + 64u);
}

// The largest ones stay as they are, whatever the order in which they come.
TEST_F(RoundedCountsTest, TellTheLargestApartWhereThereAreTooMany) {
  constexpr size_t kMax = RoundedCounts::kCodesMax;
  constexpr size_t kAll = kMax + 5000;
  std::vector<int32_t> codes;
  for (size_t i = 0; i < kAll; ++i) codes.push_back(static_cast<int32_t>(i) - 3000);
  std::mt19937_64 random(9);
  for (const int way : {0, 1, 2}) {
    if (way == 1) std::ranges::reverse(codes);
    if (way == 2) std::ranges::shuffle(codes, random);
    for (const int32_t code : codes) {
      counts_.Add(code);
      counts_.Add(code);
    }
    EXPECT_TRUE(counts_.cut());
    EXPECT_LE(counts_.heap_bytes(), kMax * 12 + 64);
    const int32_t smallest = static_cast<int32_t>(kAll - kMax) - 3000;
    for (const uint64_t thousandths : {1, 200, 233, 234, 500, 900, 999, 1000}) {
      const auto exact =
          static_cast<int32_t>((2 * kAll * thousandths + 999) / 1000 + 1) / 2 - 1 - 3000;
      EXPECT_EQ(counts_.Percentile(thousandths), std::max(exact, smallest)) << thousandths;
    }
    counts_.Clear();
  }
}

TEST_F(RoundedCountsTest, DetachedCopyGoesItsOwnWay) {
  constexpr auto kMax = static_cast<int32_t>(RoundedCounts::kCodesMax);
  for (int32_t code = 0; code <= kMax; ++code) counts_.Add(code);
  RoundedCounts copy = counts_;
  copy.Detach();
  EXPECT_TRUE(copy.cut());
  EXPECT_EQ(copy.heap_bytes(), counts_.heap_bytes());
  copy.Add(kMax + 1);
  EXPECT_EQ(counts_.Percentile(1000), kMax);
  counts_.Clear();
  EXPECT_EQ(copy.Percentile(1000), kMax + 1);
  copy.Clear();
}

TEST_F(RoundedCountsTest, AreNotLoadedOutOfOrder) {
  const auto loads = [&](std::vector<std::pair<int64_t, uint64_t>> steps, uint64_t head) {
    FieldWriter out;
    out.PutNumber(head);
    for (const auto& [step, count] : steps) out(step, count);
    FieldReader in(out.bytes());
    counts_.Load(in);
    const bool done = in.done();
    counts_.Clear();
    return done;
  };
  EXPECT_TRUE(loads({{-5, 1}, {3, 2}}, 4));
  EXPECT_TRUE(loads({}, 0));
  EXPECT_FALSE(loads({}, 1));
  EXPECT_FALSE(loads({{-5, 1}, {0, 2}}, 4));
  EXPECT_FALSE(loads({{-5, 1}, {-3, 2}}, 4));
  EXPECT_FALSE(loads({{-5, 0}}, 2));
  EXPECT_FALSE(loads({{-5, 1}}, 3));  // cut, though there is room
  EXPECT_FALSE(loads({{INT64_MAX, 1}}, 2));
  EXPECT_FALSE(loads({{2'000'000'000, 1}}, 2));
  EXPECT_FALSE(loads({{1, UINT64_MAX}}, 2));
}

}  // namespace
}  // namespace pleat
