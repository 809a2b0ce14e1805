// The plain readers under the model of `pleat fold`, as far as the tests in tests/lines do not hold them
// against those of the engine.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/plain_json.h"
#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

TEST(PlainTime, ReadsNumbersAsDecimalsAndCutsTowardZero) {
  EXPECT_EQ(ReadPlainNumber("1.9999999", 6), FromUnix(Duration{1'999'999}));
  EXPECT_EQ(ReadPlainNumber("-1.9999999", 6), FromUnix(Duration{-1'999'999}));
  EXPECT_EQ(ReadPlainNumber("1442018855776123456", -3), FromUnix(Duration{1'442'018'855'776'123}));
  EXPECT_EQ(ReadPlainNumber("15e-1", 6), FromUnix(Duration{1'500'000}));
  EXPECT_EQ(ReadPlainNumber("0e99999", 6), FromUnix(Duration{0}));
  EXPECT_EQ(ReadPlainNumber("1e30", 6), std::nullopt);
  EXPECT_EQ(WritePlainTimestamp(FromUnix(Duration{-1})), "1969-12-31T23:59:59.999999Z");
}

TEST(PlainJson, TakesWhatIsValidAndKeepsSpellings) {
  const std::string text = R"({"a":[1,-0,1.50e+3,"é\"\\\u0001"],"b":{"c":null},"😀":true})";
  const std::optional<PlainJson> value = ParsePlainJson(" " + text + "\r\n");
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(WritePlainJson(*value), text);
  EXPECT_EQ(ParsePlainJson(R"("\u0061\/\ud83d\ude00\u0000")")->text, std::string("a/😀\0", 7));
}

}  // namespace
}  // namespace pleat::inline v0_1
