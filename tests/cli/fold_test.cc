// `pleat fold` on good input, where no story of tests/stories can tell it: files, sizes and summaries.
#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

TEST(PleatFold, LateLinesAreCountedAndKept) {
  TemporaryDirectory dir;
  const FoldResult r = FoldAtTimes("--allowed-lateness 10s --no-meta --late " + dir / "late",
                                   At(100) + At(90) + At(89));
  EXPECT_EQ(Stat(r, "late"), 1);
  EXPECT_EQ(Content(dir / "late"), At(89));
  EXPECT_EQ(r.code, 0);
  FoldAtTimes("--allowed-lateness 10s --on-late fold --late " + dir / "late", At(100) + At(89));
  EXPECT_EQ(Content(dir / "late"), "");
}

TEST(PleatFold, NumberWithoutUnitStopsTheRun) {
  TemporaryDirectory dir;
  const std::string path =
      dir.Write("in", "{\"k\":1,\"t\":1442016000}\n{\"k\":1,\"t\":1442016001}\n");
  const FoldResult r = FoldAtTimes("--output " + dir / "out" + " " + path, "");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(HasLine(r.err, path + ":1: ")) << r.err;
  EXPECT_NE(r.err.find("--time-unit"), std::string::npos) << r.err;
  EXPECT_FALSE(r.stats.empty());
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"in"});
}

TEST(PleatFold, EventsPastMaxMemoryAreRefused) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) input += "{\"k\":" + std::to_string(i) + "}\n";
  const FoldResult r = FoldByKey("--max-memory 100000", input);
  EXPECT_EQ(r.code, 1);
  EXPECT_GT(Stat(r, "over_limit"), 0);
  EXPECT_GT(Stat(r, "opened"), 0);
  EXPECT_NE(r.err.find("--max-memory 100000"), std::string::npos) << r.err;
}

TEST(PleatFold, EmptyInputGivesNothing) {
  const FoldResult r = FoldByKey("", "");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "");
  for (const auto& [name, value] : ParseStats(r.stats)) EXPECT_EQ(value, 0) << name;
}

TEST(PleatFold, ReadSizesDoNotShow) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) input += At(i / 7, std::to_string(i * 7919 % 101));
  TemporaryDirectory dir;
  const FoldResult file = FoldAtTimes(dir.Write("in", input), "");
  const FoldResult pipe = FoldAtTimes("", input);
  EXPECT_TRUE(pipe.out == file.out);
  EXPECT_EQ(pipe.stats, file.stats);
}

TEST(PleatFold, SummaryTellsAPersonWhatHappened) {
  const Finished r =
      RunToEnd(Pleat("fold --key k --quiet 5m"), "{\"k\":1}\n{\"k\":1}\n{\"k\":1}\n");
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(HasLine(r.err, "lines ")) << r.err;
  EXPECT_NE(r.err.find("66.7 %  of events folded away"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace pleat::cli
