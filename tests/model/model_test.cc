// The model against the documents: the examples and the sharp sentences of design.md and semantics.md,
// so that model and engine cannot agree on something that nobody wrote.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/fold_model.h"
#include "tests/support/plain_json.h"
#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

EngineTime AtSecond(int64_t n) { return FromUnix(std::chrono::seconds(n)); }

FolderOptions QuietFor(int64_t seconds) {
  return {.quiet_period = std::chrono::seconds(seconds), .max_hold = kForever};
}

TEST(FoldModel, WatermarkClosesAndNotTheStamp) {
  FoldModel model({.axis = Axis::kEvent, .lateness = std::chrono::seconds(30)}, QuietFor(60));
  model.Fold("key", 1, AtSecond(0));
  EXPECT_EQ(model.Fold("key", 2, AtSecond(80)), FoldOutcome::kFolded);
  model.CloseAll();
  const std::vector<ModelGroup> groups = model.Pop(9);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].events, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(groups[0].closed, AtSecond(50));
}

TEST(FoldModel, OvertakenGroupSurfacesAtItsDue) {
  FoldModel model({.axis = Axis::kArrival}, QuietFor(60));
  model.Fold("key", 1, AtSecond(0));
  EXPECT_EQ(model.Fold("key", 2, AtSecond(60)), FoldOutcome::kOpened);
  EXPECT_TRUE(model.Pop(9).empty());
  EXPECT_EQ(model.ledger().open, 2u);
  model.Advance(AtSecond(60));
  const std::vector<ModelGroup> groups = model.Pop(9);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].closed, AtSecond(60));
  EXPECT_EQ(groups[0].reason, Reason::kQuiet);
}

TEST(FoldModel, GroupOpenedOverdueClosesWithItsOwnEvent) {
  FoldModel model({.axis = Axis::kEvent}, QuietFor(60));
  model.Fold("now", 1, AtSecond(1000));
  EXPECT_EQ(model.Fold("old", 2, AtSecond(5)), FoldOutcome::kOpened);
  const std::vector<ModelGroup> groups = model.Pop(9);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].key, "old");
  EXPECT_EQ(groups[0].closed, AtSecond(65));
}

TEST(FoldModel, MaxHoldIsTheReasonOnlyWhenItComesStrictlyFirst) {
  for (const int64_t hold : {59, 60}) {
    FolderOptions options = QuietFor(60);
    options.max_hold = std::chrono::seconds(hold);
    FoldModel model({}, options);
    model.Fold("key", 1, AtSecond(0));
    model.Advance(AtSecond(60));
    EXPECT_EQ(model.Pop(1).at(0).reason, hold < 60 ? Reason::kMaxHold : Reason::kQuiet);
  }
}

TEST(FoldModel, WhatTimeClosedComesBeforeWhatAnEventClosed) {
  FolderOptions options = QuietFor(60);
  options.max_events = 2;
  FoldModel model({.axis = Axis::kEvent}, options);
  model.Fold("pair", 1, AtSecond(30));
  model.Fold("quiet", 2, AtSecond(0));
  model.Fold("pair", 3, AtSecond(60));
  const std::vector<ModelGroup> groups = model.Pop(9);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].key, "quiet");
  EXPECT_EQ(groups[1].reason, Reason::kMaxEvents);
}

TEST(PlainTime, ReadsRfc3339AndNothingElse) {
  EXPECT_EQ(ReadPlainTimestamp("1970-01-01T00:00:01.1234569Z"), FromUnix(Duration{1'123'456}));
  EXPECT_EQ(ReadPlainTimestamp("1970-01-01 01:00:00+01:00"), AtSecond(0));
  EXPECT_EQ(ReadPlainTimestamp("0001-01-01t00:00:00z"), kBeginningOfTime);
  EXPECT_EQ(ReadPlainTimestamp("9999-12-31T23:59:59.999999Z"), kEndOfTime);
  for (const char* bad :
       {"", "2015-02-29T00:00:00Z", "2015-01-01T00:00:60Z", "2015-01-01T24:00:00Z",
        "2015-01-01T00:00:00", "2015-01-01T00:00:00.Z", "2015-01-01T00:00:00Z ", "2015-01-01",
        "0000-01-01T00:00:00Z", "2015-13-01T00:00:00Z", "2015-01-01T00:00:00+1:00"}) {
    EXPECT_EQ(ReadPlainTimestamp(bad), std::nullopt) << bad;
  }
}

TEST(PlainTime, ReadsNumbersAsDecimalsAndCutsTowardZero) {
  EXPECT_EQ(ReadPlainNumber("1.9999999", 6), FromUnix(Duration{1'999'999}));
  EXPECT_EQ(ReadPlainNumber("-1.9999999", 6), FromUnix(Duration{-1'999'999}));
  EXPECT_EQ(ReadPlainNumber("1442018855776123456", -3), FromUnix(Duration{1'442'018'855'776'123}));
  EXPECT_EQ(ReadPlainNumber("15e-1", 6), FromUnix(Duration{1'500'000}));
  EXPECT_EQ(ReadPlainNumber("0e99999", 6), AtSecond(0));
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

TEST(PlainJson, RefusesWhatIsNotValid) {
  for (const std::string bad : {"",
                                "{",
                                "{}x",
                                "01",
                                "1.",
                                ".5",
                                "+1",
                                "1e",
                                "-",
                                "nul",
                                "[1,]",
                                "{\"a\":1,}",
                                "{'a':1}",
                                "\"\t\"",
                                "\"\\x\"",
                                "\"\\u12\"",
                                "\"\\ud800\"",
                                "\"\\udc00\"",
                                "\"\\ud800\\u0061\"",
                                "\"\xc0\x80\"",
                                "\"\xed\xa0\x80\"",
                                "\"\xf4\x90\x80\x80\"",
                                "\"\xe2\x82\"",
                                "\"\x80\"",
                                "\xef\xbb\xbf{}",
                                "{\"a\":1,\"\\u0061\":2}",
                                "NaN",
                                "[1 2]",
                                "{\"a\" 1}"}) {
    EXPECT_FALSE(ParsePlainJson(bad).has_value()) << bad;
  }
}

TEST(PlainJson, LimitsDepthAndMembers) {
  EXPECT_TRUE(ParsePlainJson(std::string(64, '[') + std::string(64, ']')).has_value());
  EXPECT_FALSE(ParsePlainJson(std::string(65, '[') + std::string(65, ']')).has_value());
  std::string members;
  for (int i = 0; i < 1024; ++i) members += ",\"" + std::to_string(i) + "\":1";
  EXPECT_TRUE(ParsePlainJson("{" + members.substr(1) + "}").has_value());
  EXPECT_FALSE(ParsePlainJson("{" + members.substr(1) + ",\"x\":1}").has_value());
}

}  // namespace
}  // namespace pleat::inline v0_1
