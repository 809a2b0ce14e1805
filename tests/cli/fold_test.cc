// What `pleat fold` makes of good input: the options that decide groups, time and output lines.
#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kSixEvents =
    R"({"id": "post_1", "account_id": "account_1", "metrics": {"likes": 10, "shares": 5}}
{"id": "post_2", "account_id": "account_1", "metrics": {"comments": 25, "impressions": 16}}
{"id": "post_3", "account_id": "account_1", "metrics": {"likes": 5, "shares": 2}}
{"id": "post_4", "account_id": "account_1", "metrics": {"comments": 33, "impressions": 8}}
{"id": "post_5", "account_id": "account_2", "metrics": {"likes": 12, "shares": 15}}
{"id": "post_6", "account_id": "account_2", "metrics": {"likes": 3, "shares": 1}}
)";

// --time t --quiet 60s --key k, and what else is given.
FoldResult FoldAtTimes(const Arguments& more, const std::string& input) {
  Arguments arguments = {"--key", "k", "--quiet", "60s", "--time", "t"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Fold(arguments, input);
}

TEST(PleatFold, SixEventsGiveTheTwoLinesOfTheFirstExample) {
  const FoldResult r = Fold(
      {"--key", "account_id", "--quiet", "5m", "--merge", "metrics=keys(metrics)", "--no-meta"},
      kSixEvents);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out,
            "{\"account_id\":\"account_1\",\"metrics\":[\"likes\",\"shares\",\"comments\","
            "\"impressions\"]}\n"
            "{\"account_id\":\"account_2\",\"metrics\":[\"likes\",\"shares\"]}\n");
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.stats,
            "{\"lines\":6,\"events\":6,\"bad\":0,\"late\":0,\"refused\":0,\"opened\":2,"
            "\"folded\":4,\"emissions\":2,\"open\":0,\"mismatched\":0,"
            "\"folding_ratio\":0.6666666666666666,\"duplicate\":0,\"conflict\":0,\"corrected\":0,"
            "\"control\":0,\"cancelled\":0,"
            "\"silent\":0,\"partial\":0,\"late_folded\":0,"
            "\"out_of_order\":0,\"most_behind_s\":0}");
}

TEST(PleatFold, MetaTellsCountTimesAndReason) {
  const FoldResult r = FoldAtTimes({}, At(0) + At(10) + At(200));
  EXPECT_EQ(r.out, "{\"k\":\"a\",\"_fold\":{\"count\":2,\"first\":" + Printed(0) +
                       ",\"last\":" + Printed(10) + ",\"closed\":" + Printed(70) +
                       ",\"reason\":\"quiet\"}}\n"
                       "{\"k\":\"a\",\"_fold\":{\"count\":1,\"first\":" +
                       Printed(200) + ",\"last\":" + Printed(200) + ",\"closed\":" + Printed(200) +
                       ",\"reason\":\"end\"}}\n");
}

TEST(PleatFold, NoMetaLeavesOnlyKeyAndMerges) {
  EXPECT_EQ(FoldAtTimes({"--no-meta"}, At(0)).out, "{\"k\":\"a\"}\n");
}

TEST(PleatFold, WatermarkClosesAndNeverTheStamp) {
  const FoldResult r =
      FoldAtTimes({"--lateness", "30s", "--no-meta", "--merge", "n=count()"}, At(0) + At(80));
  EXPECT_EQ(r.out, "{\"k\":\"a\",\"n\":2}\n");
}

TEST(PleatFold, QuietInfNeverCloses) {
  const FoldResult r = Fold({"--key", "k", "--quiet", "inf", "--time", "t", "--merge", "n=count()"},
                            "{\"k\":1,\"t\":\"0001-01-01T00:00:00Z\"}\n"
                            "{\"k\":2,\"t\":\"9999-12-31T23:59:59.999999Z\"}\n"
                            "{\"k\":1,\"t\":\"9999-12-31T23:59:59.999999Z\"}\n");
  EXPECT_EQ(Stat(r, "opened"), 2);
  EXPECT_EQ(r.out.find("\"quiet\""), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("{\"k\":1,\"n\":2,"), std::string::npos) << r.out;
}

TEST(PleatFold, MaxHoldClosesABusyGroup) {
  const FoldResult r = FoldAtTimes({"--max-hold", "90s"}, At(0) + At(50) + At(100) + At(300));
  EXPECT_NE(r.out.find("\"count\":2,\"first\":" + Printed(0) + ",\"last\":" + Printed(50) +
                       ",\"closed\":" + Printed(90) + ",\"reason\":\"max_hold\""),
            std::string::npos)
      << r.out;
}

TEST(PleatFold, MaxEventsClosesAFullGroup) {
  const FoldResult r = FoldAtTimes({"--max-events", "2"}, At(0) + At(1) + At(2));
  EXPECT_NE(r.out.find("\"count\":2"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\"reason\":\"max_events\""), std::string::npos) << r.out;
  EXPECT_EQ(Stat(r, "emissions"), 2);
}

TEST(PleatFold, AtEndDropKeepsBackOnlyWhatIsOpen) {
  const FoldResult r =
      FoldAtTimes({"--at-end", "drop", "--no-meta"}, At(0, "closed") + At(200, "open"));
  EXPECT_EQ(r.out, "{\"k\":\"closed\"}\n");
  EXPECT_EQ(Stat(r, "open"), 1);
  EXPECT_EQ(r.code, 0);
}

TEST(PleatFold, AtEndDropHandsOutWhatAnEventClosedLast) {
  const FoldResult r = FoldAtTimes({"--at-end", "drop", "--no-meta", "--max-events", "1"}, At(0));
  EXPECT_EQ(r.out, "{\"k\":\"a\"}\n");
  EXPECT_EQ(Stat(r, "open"), 0);
}

TEST(PleatFold, LateLinesAreCountedAndKept) {
  TemporaryDirectory dir;
  const FoldResult r = FoldAtTimes({"--accept-limit", "10s", "--late", dir / "late", "--no-meta"},
                                   At(100) + At(90) + At(89));
  EXPECT_EQ(Stat(r, "late"), 1);
  EXPECT_EQ(Content(dir / "late"), At(89));
  EXPECT_EQ(r.code, 0);
  FoldAtTimes({"--accept-limit", "10s", "--late", dir / "late", "--on-late", "fold"},
              At(100) + At(89));
  EXPECT_EQ(Content(dir / "late"), "");
}

TEST(PleatFold, StampsBeyondTheFutureLimitAreBad) {
  TemporaryDirectory dir;
  const FoldResult r = FoldAtTimes({"--future-limit", "1h", "--bad", dir / "bad"},
                                   At(0) + "{\"k\":1,\"t\":\"2099-01-01T00:00:00Z\"}\n" + At(5));
  EXPECT_EQ(Stat(r, "bad"), 1);
  EXPECT_TRUE(HasLine(r.err, "<stdin>:2: ")) << r.err;
  EXPECT_NE(r.out.find("\"count\":2"), std::string::npos) << r.out;
}

TEST(PleatFold, TimeUnitSaysWhatANumberMeans) {
  const FoldResult r = Fold({"--key", "k", "--quiet", "60s", "--time", "t", "--time-unit", "ms"},
                            "{\"k\":1,\"t\":1442016000500}\n");
  EXPECT_NE(r.out.find("\"first\":\"2015-09-12T00:00:00.500000Z\""), std::string::npos) << r.out;
}

TEST(PleatFold, NumberWithoutUnitStopsTheRun) {
  TemporaryDirectory dir;
  const std::string path =
      dir.Write("in", "{\"k\":1,\"t\":1442016000}\n{\"k\":1,\"t\":1442016001}\n");
  const FoldResult r =
      Fold({"--key", "k", "--quiet", "60s", "--time", "t", "--output", dir / "out", path});
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(HasLine(r.err, path + ":1: ")) << r.err;
  EXPECT_NE(r.err.find("--time-unit"), std::string::npos) << r.err;
  EXPECT_FALSE(r.stats.empty());
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"in"});
}

TEST(PleatFold, KeyMayNestBeNamedAndCompound) {
  const FoldResult r = Fold({"--key", "who=user.id,/a~1b", "--quiet", "1m", "--no-meta"},
                            "{\"user\":{\"id\":7},\"a/b\":null}\n");
  EXPECT_EQ(r.out, "{\"who\":7,\"a/b\":null}\n");
}

TEST(PleatFold, MergesComeInTheirOrder) {
  const FoldResult r = Fold(
      {"--key",     "k",        "--quiet",    "1m",        "--no-meta", "--merge",   "n=count()",
       "--merge",   "s=sum(v)", "--merge",    "m=mean(v)", "--merge",   "lo=min(v)", "--merge",
       "hi=max(v)", "--merge",  "f=first(v)", "--merge",   "l=last(v)", "--merge",   "all=set(v)"},
      "{\"k\":1,\"v\":1}\n{\"k\":1,\"v\":4}\n{\"k\":1,\"v\":\"x\"}\n");
  EXPECT_EQ(r.out,
            "{\"k\":1,\"n\":3,\"s\":5,\"m\":2.5,\"lo\":1,\"hi\":4,\"f\":1,\"l\":\"x\","
            "\"all\":[1,4,\"x\"]}\n");
  EXPECT_EQ(Stat(r, "mismatched"), 4);
}

TEST(PleatFold, EventsPastMaxGroupsAreRefusedCountedAndSaidOnce) {
  const FoldResult r = Fold({"--key", "k", "--quiet", "1m", "--max-groups", "2", "--no-meta"},
                            "{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n{\"k\":1}\n{\"k\":4}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "{\"k\":1}\n{\"k\":2}\n");
  EXPECT_EQ(Stat(r, "refused"), 2);
  EXPECT_TRUE(HasLine(r.err, "<stdin>:3: event refused: ")) << r.err;
  EXPECT_NE(r.err.find("--max-groups"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("refused"), r.err.rfind("refused")) << r.err;
}

TEST(PleatFold, EventsPastMaxMemoryAreRefused) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) input += "{\"k\":" + std::to_string(i) + "}\n";
  const FoldResult r =
      Fold({"--key", "k", "--quiet", "1m", "--max-memory", "100000", "--no-meta"}, input);
  EXPECT_EQ(r.code, 1);
  EXPECT_GT(Stat(r, "refused"), 0);
  EXPECT_GT(Stat(r, "opened"), 0);
  EXPECT_NE(r.err.find("--max-memory 100000"), std::string::npos) << r.err;
}

TEST(PleatFold, EmptyInputGivesNothing) {
  const FoldResult r = Fold({"--key", "k", "--quiet", "1m"}, "");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.stats,
            "{\"lines\":0,\"events\":0,\"bad\":0,\"late\":0,\"refused\":0,\"opened\":0,"
            "\"folded\":0,\"emissions\":0,\"open\":0,\"mismatched\":0,\"folding_ratio\":0,"
            "\"duplicate\":0,\"conflict\":0,\"corrected\":0,\"control\":0,\"cancelled\":0,"
            "\"silent\":0,\"partial\":0,\"late_folded\":0,"
            "\"out_of_order\":0,\"most_behind_s\":0}");
}

TEST(PleatFold, ThreadsDoNotShow) {
  std::string input;
  for (int i = 200; i < 60'000; ++i)
    input += At(i / 20 - i % 7, std::to_string(i % (i < 30'000 ? 101 : 1601)));
  TemporaryDirectory dir;
  const std::string path = dir.Write("in.gz", Gzip(input));
  const FoldResult one = FoldAtTimes({"--lateness", "10s", path}, "");
  EXPECT_GT(Stat(one, "emissions"), 1601);
  EXPECT_GT(Stat(one, "folded"), 1000);
  for (const char* threads : {"1", "2", "256"}) {
    const FoldResult other = FoldAtTimes({"--lateness", "10s", "--threads", threads, path}, "");
    EXPECT_TRUE(other.out == one.out) << threads;  // too long to print
    EXPECT_EQ(other.stats, one.stats);
  }
}

TEST(PleatFold, ReadSizesDoNotShow) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) input += At(i / 7, std::to_string(i * 7919 % 101));
  TemporaryDirectory dir;
  const FoldResult file = FoldAtTimes({dir.Write("in", input)}, "");
  const FoldResult pipe = FoldAtTimes({}, input);
  EXPECT_TRUE(pipe.out == file.out);
  EXPECT_EQ(pipe.stats, file.stats);
}

TEST(PleatFold, SummaryTellsAPersonWhatHappened) {
  const Finished r = RunToEnd(Pleat({"fold", "--key", "account_id", "--quiet", "5m"}), kSixEvents);
  EXPECT_EQ(r.code, 0);
  EXPECT_TRUE(HasLine(r.err, "lines ")) << r.err;
  EXPECT_NE(r.err.find("66.7 %  of events folded away"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace pleat::cli
