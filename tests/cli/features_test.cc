// Features of `pleat fold` that no story of tests/stories can tell: with files, threads or too many lines.
#include <sstream>
#include <string>
#include <string_view>

#include "tests/cli/run_pleat.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

// An event of `key` at `seconds` past the hour, with `members` behind, such as `,"v":1`.
std::string Event(int seconds, std::string_view key, std::string_view members = "") {
  std::string line = At(seconds, key);
  return line.insert(line.size() - 2, members);
}

struct Times {
  int first;
  int last;
  int closed;
};

// The line of a group without merges; `more` is what "_fold" has behind the reason.
std::string Group(std::string_view key, int count, Times times, std::string_view reason,
                  std::string_view more = "") {
  return "{\"k\":\"" + std::string(key) + "\",\"_fold\":{\"count\":" + std::to_string(count) +
         ",\"first\":" + Printed(times.first) + ",\"last\":" + Printed(times.last) +
         ",\"closed\":" + Printed(times.closed) + ",\"reason\":\"" + std::string(reason) + "\"" +
         std::string(more) + "}}\n";
}

void ExpectStats(const FoldResult& r, const std::map<std::string, double>& expected) {
  for (const auto& [name, value] : expected) EXPECT_EQ(Stat(r, name), value) << name << r.stats;
}

TEST(FeaturesCli, ConditionGivenByASpecDocument) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("spec", R"json({"key":["k"],"quiet":"1m","no-meta":true,
      "merge":["n=count()"],"end-when":{"any":["s=done",{"all":["s=failed","tries>=3"]}]}})json");
  const FoldResult r = Fold("--spec " + path,
                            "{\"k\":1,\"s\":\"failed\",\"tries\":2}\n"
                            "{\"k\":1,\"s\":\"failed\",\"tries\":3}\n{\"k\":1,\"s\":\"done\"}\n");
  EXPECT_EQ(r.out, "{\"k\":1,\"n\":2}\n{\"k\":1,\"n\":1}\n");
}

// Keys of class 1 come back after 30 s, those of no class never do. After 16 events one waits as if half came back,
// after 16 of a class as long as that class is worth.
TEST(FeaturesCli, AdaptiveQuiet) {
  std::string input;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    input += Event(150 * i, "back" + number, ",\"c\":1") + Event(150 * i, "gone" + number) +
             Event(150 * i + 30, "back" + number, ",\"c\":1");
  }
  input += Event(3200, "back", ",\"c\":1") + Event(3200, "gone", ",\"c\":null") +
           Event(3300, "end") + Event(3300, "invalid", ",\"c\":[]");
  const FoldResult r = FoldAtTimes("--quiet adaptive:10s..100s --class c", input);
  const std::string last = Group("gone", 1, {3200, 3200, 3210}, "quiet") +
                           Group("back", 1, {3200, 3200, 3235}, "quiet") +
                           Group("end", 1, {3300, 3300, 3300}, "end");
  EXPECT_TRUE(r.out.ends_with(last)) << r.out;
  ExpectStats(r, {{"folded", 12}, {"invalid", 1}});
  EXPECT_TRUE(HasLine(r.err, "<stdin>:64: class \"c\" is an object or an array")) << r.err;
}

TEST(FeaturesCli, FlushLineOnArrivalTime) {
  const FoldResult r = FoldByKey("--merge 'n=count()' --flush-when f=1 --at-end drop",
                                 "{\"k\":1}\n{\"k\":2}\n{\"k\":1}\n{\"k\":1,\"f\":1}\n{\"k\":1}\n");
  EXPECT_EQ(r.out, "{\"k\":1,\"n\":2}\n");
  ExpectStats(r, {{"control", 1}, {"open", 2}});
}

TEST(FeaturesCli, OpenFile) {
  TemporaryDirectory dir;
  const std::string input = Event(0, "a") + Event(100, "b") + Event(110, "c") + Event(120, "b");
  const std::string open =
      Group("c", 1, {110, 110, 120}, "open") + Group("b", 2, {100, 120, 120}, "open");
  FoldResult r = FoldAtTimes("--open " + (dir / "open"), input);
  EXPECT_EQ(Content(dir / "open"), open);
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet") + Group("c", 1, {110, 110, 120}, "end") +
                       Group("b", 2, {100, 120, 120}, "end"));
  r = FoldAtTimes("--open " + (dir / "dropped") + " --at-end drop", input);
  EXPECT_EQ(Content(dir / "dropped"), open);
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet"));
}

TEST(FeaturesCli, OpenFileHasTheOrderInWhichTheGroupsWouldClose) {
  TemporaryDirectory dir;
  const std::string log = SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz";
  const std::string fold =
      "fold --key user --time time --quiet 3h --max-wait 4h --quiet-summary --threads 2 ";
  const Finished r = RunToEnd(Pleat(fold + "--open " + (dir / "open") + " " + log));
  ASSERT_EQ(r.code, 0) << r.err;
  constexpr std::string_view kEnd = R"("end"}})";
  std::string at_the_end;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(kEnd))
      at_the_end += line.replace(line.size() - kEnd.size(), 5, "\"open\"") + "\n";
  }
  EXPECT_GT(at_the_end.size(), 10'000u);
  EXPECT_TRUE(Content(dir / "open") == at_the_end);
}

TEST(FeaturesCli, OpenFileSaysPartialWhereRevisionsAreShown) {
  TemporaryDirectory dir;
  FoldAtTimes("--open " + (dir / "open") + " --edge both --emission-id",
              Event(0, "a") + Event(1, "a"));
  EXPECT_EQ(Content(dir / "open"), Group("a", 2, {0, 1, 1}, "open", R"(,"partial":true)"));
}

TEST(FeaturesCli, OpenFileIsWrittenWholeOrNotAtAll) {
  TemporaryDirectory dir;
  EXPECT_EQ(FoldAtTimes("--open " + (dir / "open"), "").code, 0);
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"open"});
  EXPECT_EQ(
      FoldAtTimes("--open " + (dir / "not") + " --on-invalid fail", Event(0, "a") + "invalid\n")
          .code,
      1);
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"open"});
}

TEST(FeaturesCli, OnLimitEmitKeepsWithinMemoryAndLosesNothing) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) {
    input += Event(i / 1000, std::to_string(i), ",\"v\":\"" + std::string(100, 'x') + "\"");
  }
  const std::string options = "--max-memory 100000 --on-limit emit --merge 'l=last(v)' ";
  const FoldResult r = FoldAtTimes(options, input);
  EXPECT_EQ(r.code, 0) << r.err;
  ExpectStats(r, {{"over_limit", 0}, {"opened", 20'000}, {"emissions", 20'000}});
  EXPECT_NE(r.out.find("\"reason\":\"limit\""), std::string::npos);
  TemporaryDirectory dir;
  EXPECT_TRUE(FoldAtTimes(options + dir.Write("in", input), "").out == r.out);
}

TEST(FeaturesCli, SummaryMentionsWhatThereIs) {
  const Words fold = Pleat("fold --key k --quiet 1m --time t --id id --allowed-lateness 1h");
  const std::string line = Event(0, "a", ",\"id\":1");
  const std::string plain = RunToEnd(fold, line).err;
  EXPECT_NE(plain.find("0 over limit\n"), std::string::npos) << plain;
  const std::string more = RunToEnd(fold, line + line + Event(0, "a", ",\"id\":1,\"v\":1")).err;
  EXPECT_NE(more.find("0 over limit, 1 duplicate, 1 conflicting\n"), std::string::npos) << more;
}

}  // namespace
}  // namespace pleat::cli
