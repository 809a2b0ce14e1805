// Between grid points the folding ratio is read off the gaps: how near that is, on real logs.
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json_analysis.h>

#include "tests/lines/real_logs.h"

namespace pleat {
namespace {

using testing::StartsWith;

EventSpec SpecWith(std::string key, std::string time, TimeUnit unit = TimeUnit::kNotStated) {
  return LogSpec(RealLog{"", "", std::move(key), std::move(time), unit});
}

class GapsOf : public testing::TestWithParam<RealLog> {};

TEST_P(GapsOf, TellTheRatioOfAnyQuietPeriodWithinATenthOfAPoint) {
  if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
  // Quiet periods without a round digit, from 20 us to 10 days.
  AnalyzerOptions options;
  for (double quiet = 20.123; quiet < 864e9; quiet *= 1.2345)
    options.grid.emplace_back(std::llround(quiet));
  ASSERT_GT(options.grid.size(), 100u);
  const auto analysis = AnalyzeLog(GetParam(), options);
  ASSERT_GT(analysis->events, 1'000u);
  for (const AnalysisRow& row : analysis->rows) {
    const double folded =
        analysis->gaps.CountBelow(static_cast<uint64_t>(row.quiet_period.count()));
    EXPECT_NEAR(folded / static_cast<double>(analysis->events), row.folding_ratio, 0.001)
        << row.quiet_period.count();
  }
}

INSTANTIATE_TEST_SUITE_P(RealLogs, GapsOf,
                         testing::Values(kWikitickerSlice, kGharchive, kHiggs, kZeekByHost,
                                         kZeekByConnection),
                         [](const auto& test) { return test.param.name; });

TEST(JsonAnalyzer, NamesTheOptionThatIsWrong) {
  const auto message = [](const EventSpec& spec, AnalyzerOptions options) {
    return std::string(JsonAnalyzer::Open(spec, std::move(options)).status().message());
  };
  EXPECT_THAT(message(SpecWith("k", ""), {}), StartsWith("--time: is required"));
  EXPECT_THAT(message({}, {}), StartsWith("--key: "));
  EXPECT_THAT(message(SpecWith("k", "t"), {.max_wait = Duration{0}}), StartsWith("max_wait "));
  EXPECT_THAT(message(SpecWith("k", "t"), {.grid = {Duration{2}, Duration{2}}}),
              StartsWith("grid "));
}

TEST(JsonAnalyzer, ALineByItselfCountsLikeOneOfMany) {
  auto analyzer = *JsonAnalyzer::Open(SpecWith("k", "t", TimeUnit::kSeconds), {});
  const auto add = [&](std::string line) {
    line += std::string(kLinePaddingBytes, ' ');
    return analyzer->AddLine(std::string_view(line).substr(0, line.size() - kLinePaddingBytes))
        .kind;
  };
  EXPECT_EQ(add(R"({"k":1,"t":1})"), LineResult::Kind::kEvent);
  EXPECT_EQ(add(R"({"k":1,"t":2})"), LineResult::Kind::kEvent);
  EXPECT_EQ(add(R"({"k":1})"), LineResult::Kind::kInvalid);
  EXPECT_EQ(add(" "), LineResult::Kind::kBlank);
  EXPECT_EQ(analyzer->counts(), (LineCounts{.lines = 3, .events = 2, .invalid = 1}));
  EXPECT_EQ(analyzer->analyzer().keys(), 1u);
}

}  // namespace
}  // namespace pleat
