// Between grid points the folding ratio is read off the gaps: how near that is, on real logs.
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json_analysis.h>

#include "tests/support/source_dir.h"

namespace pleat {
namespace {

using testing::StartsWith;

FoldSpec SpecOf(std::string key, std::string time, TimeUnit unit = TimeUnit::kNotStated) {
  FoldSpec spec;
  spec.key = {{.name = "key", .path = std::move(key)}};
  spec.time = std::move(time);
  spec.time_unit = unit;
  return spec;
}

void AddFile(JsonAnalyzer& analyzer, const std::string& path) {
  constexpr size_t kBytes = 1 << 20;
  const gzFile file = gzopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  JsonLines lines(analyzer);
  std::string text;
  std::vector<char> buffer(kBytes);
  for (int got = 1; got > 0;) {
    got = gzread(file, buffer.data(), kBytes);
    text.append(buffer.data(), static_cast<size_t>(std::max(got, 0)));
    const size_t whole = got > 0 ? text.rfind('\n') + 1 : text.size();
    std::string padded = text.substr(0, whole) + std::string(kLinePaddingBytes, ' ');
    lines.Read(std::string_view(padded).substr(0, whole));
    analyzer.Add(lines, [](const UnusualLine&) { return true; });
    text.erase(0, whole);
  }
  gzclose(file);
}

struct RealLog {
  std::string name;
  std::string path;
  FoldSpec spec;
};

class GapsOf : public testing::TestWithParam<RealLog> {};

TEST_P(GapsOf, TellTheRatioOfAnyQuietPeriodWithinATenthOfAPoint) {
  if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
  // Quiet periods without a round digit, from 20 us to 10 days.
  AnalyzerOptions options;
  for (double quiet = 20.123; quiet < 864e9; quiet *= 1.2345)
    options.grid.emplace_back(std::llround(quiet));
  ASSERT_GT(options.grid.size(), 100u);
  auto analyzer = *JsonAnalyzer::Open(GetParam().spec, options);
  AddFile(*analyzer, GetParam().path);
  const auto analysis = std::move(*analyzer).Finish();
  ASSERT_GT(analysis->events, 1'000u);
  for (const AnalysisRow& row : analysis->rows) {
    const double folded =
        analysis->gaps.CountBelow(static_cast<uint64_t>(row.quiet_period.count()));
    EXPECT_NEAR(folded / static_cast<double>(analysis->events), row.folding_ratio, 0.001)
        << row.quiet_period.count();
  }
}

const std::string kShared = SharedData() + "/";
INSTANTIATE_TEST_SUITE_P(
    RealLogs, GapsOf,
    testing::Values(
        RealLog{"WikitickerSlice",
                SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz",
                SpecOf("user", "time")},
        RealLog{"Gharchive", kShared + "gharchive2015-apr.ndjson.gz", SpecOf("actor", "dt")},
        RealLog{"Higgs", kShared + "higgs-activity.ndjson.gz",
                SpecOf("userB", "timestamp", TimeUnit::kSeconds)},
        RealLog{"ZeekByHost", kShared + "zeek-wrccdc.ndjson.gz", SpecOf("/id.orig_h", "ts")},
        RealLog{"ZeekByConnection", kShared + "zeek-wrccdc.ndjson.gz", SpecOf("/uid", "ts")}),
    [](const auto& test) { return test.param.name; });

TEST(JsonAnalyzer, NamesTheOptionThatIsWrong) {
  const auto message = [](const FoldSpec& spec, AnalyzerOptions options) {
    return std::string(JsonAnalyzer::Open(spec, std::move(options)).status().message());
  };
  EXPECT_THAT(message(SpecOf("k", ""), {}), StartsWith("--time: is required"));
  EXPECT_THAT(message({}, {}), StartsWith("--key: "));
  EXPECT_THAT(message(SpecOf("k", "t"), {.max_hold = Duration{0}}), StartsWith("max_hold "));
  EXPECT_THAT(message(SpecOf("k", "t"), {.grid = {Duration{2}, Duration{2}}}), StartsWith("grid "));
}

TEST(JsonAnalyzer, ALineByItselfCountsLikeOneOfMany) {
  auto analyzer = *JsonAnalyzer::Open(SpecOf("k", "t", TimeUnit::kSeconds), {});
  const auto add = [&](std::string line) {
    line += std::string(kLinePaddingBytes, ' ');
    return analyzer->AddLine(std::string_view(line).substr(0, line.size() - kLinePaddingBytes))
        .kind;
  };
  EXPECT_EQ(add(R"({"k":1,"t":1})"), LineResult::Kind::kEvent);
  EXPECT_EQ(add(R"({"k":1,"t":2})"), LineResult::Kind::kEvent);
  EXPECT_EQ(add(R"({"k":1})"), LineResult::Kind::kBad);
  EXPECT_EQ(add(" "), LineResult::Kind::kBlank);
  EXPECT_EQ(analyzer->counts(), (LineCounts{.lines = 3, .events = 2, .bad = 1}));
  EXPECT_EQ(analyzer->analyzer().keys(), 1u);
}

}  // namespace
}  // namespace pleat
