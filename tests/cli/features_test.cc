// Every way to close a group, every way with late events, limits and ids, as a user of `pleat fold` meets
// them. What comes out was worked out by hand from docs/semantics.md.
#include "tests/cli/run_pleat.h"

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

// --key k --quiet 60s --time t, and what else is given.
FoldResult FoldWith(const Arguments& more, const std::string& input) {
  Arguments arguments = {"--key", "k", "--quiet", "60s", "--time", "t"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return Fold(arguments, input);
}

void ExpectStats(const FoldResult& r, const std::map<std::string, double>& expected) {
  for (const auto& [name, value] : expected) EXPECT_EQ(Stat(r, name), value) << name << r.stats;
}

TEST(FeaturesCli, EndMark) {
  const FoldResult r =
      FoldWith({"--end-when", "e=1"},
               Event(0, "a") + Event(10, "a", ",\"e\":1.0") + Event(20, "a", ",\"e\":\"1\""));
  EXPECT_EQ(r.out, Group("a", 2, {0, 10, 10}, "end_mark") + Group("a", 1, {20, 20, 20}, "end"));
  EXPECT_EQ(r.code, 0);
}

TEST(FeaturesCli, EndMarkOnTheEventThatOpens) {
  const FoldResult r = FoldWith({"--end-when", "e=true"}, Event(5, "a", ",\"e\":true"));
  EXPECT_EQ(r.out, Group("a", 1, {5, 5, 5}, "end_mark"));
}

TEST(FeaturesCli, StartMark) {
  const FoldResult r = FoldWith({"--start-when", "s=yes"},
                                Event(0, "a", ",\"s\":\"yes\"") + Event(10, "a") +
                                    Event(20, "a", ",\"s\":\"y\\u0065s\"") + Event(30, "a"));
  EXPECT_EQ(r.out, Group("a", 2, {0, 10, 20}, "start_mark") + Group("a", 2, {20, 30, 30}, "end"));
}

TEST(FeaturesCli, StartMarkAndEndMarkOnOneEvent) {
  const FoldResult r = FoldWith({"--start-when", "m=1", "--end-when", "m=1"},
                                Event(0, "a") + Event(1, "a", ",\"m\":1") + Event(2, "a"));
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 1}, "start_mark") + Group("a", 1, {1, 1, 1}, "end_mark") +
                       Group("a", 1, {2, 2, 2}, "end"));
}

TEST(FeaturesCli, Condition) {
  const FoldResult r =
      FoldWith({"--no-meta", "--merge", "total=sum(v)", "--merge", "n=count()", "--close-when",
                "total >= 100"},
               Event(0, "a", ",\"v\":60") + Event(1, "a", ",\"v\":39") + Event(2, "a", ",\"v\":1") +
                   Event(3, "a", ",\"v\":1e2") + Event(4, "a", ",\"v\":99"));
  EXPECT_EQ(r.out,
            "{\"k\":\"a\",\"total\":100,\"n\":3}\n{\"k\":\"a\",\"total\":100,\"n\":1}\n"
            "{\"k\":\"a\",\"total\":99,\"n\":1}\n");
}

TEST(FeaturesCli, ConditionNamesItsReason) {
  const FoldResult r =
      FoldWith({"--merge", "l=last(v)", "--close-when", R"({"not":{"any":["l=null","l<=5"]}})"},
               Event(0, "a") + Event(1, "a", ",\"v\":5") + Event(2, "a", ",\"v\":6"));
  EXPECT_NE(r.out.find("\"l\":6,\"_fold\":{\"count\":3,"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\"closed\":" + Printed(2) + ",\"reason\":\"condition\"}"),
            std::string::npos)
      << r.out;
}

TEST(FeaturesCli, ConditionGivenByASpecDocument) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("spec", R"json({"key":["k"],"quiet":"1m","no-meta":true,
      "merge":["n=count()"],"end-when":{"any":["s=done",{"all":["s=failed","tries>=3"]}]}})json");
  const FoldResult r = Fold({"--spec", path},
                            "{\"k\":1,\"s\":\"failed\",\"tries\":2}\n"
                            "{\"k\":1,\"s\":\"failed\",\"tries\":3}\n{\"k\":1,\"s\":\"done\"}\n");
  EXPECT_EQ(r.out, "{\"k\":1,\"n\":2}\n{\"k\":1,\"n\":1}\n");
}

TEST(FeaturesCli, MaxBytes) {
  const size_t line = At(0, "a").size() - 1;
  const std::string input = Event(0, "a") + Event(1, "a") + Event(2, "a");
  EXPECT_EQ(FoldWith({"--max-bytes", std::to_string(2 * line)}, input).out,
            Group("a", 2, {0, 1, 1}, "max_bytes") + Group("a", 1, {2, 2, 2}, "end"));
  EXPECT_EQ(FoldWith({"--max-bytes", std::to_string(2 * line + 1)}, input).out,
            Group("a", 3, {0, 2, 2}, "max_bytes"));
}

TEST(FeaturesCli, MaxBytesCountsLinesAsTheyCame) {
  std::string spaced = Event(0, "a");
  spaced.insert(1, std::string(1024, ' '));
  EXPECT_EQ(FoldWith({"--max-bytes", "1Ki"}, spaced).out, Group("a", 1, {0, 0, 0}, "max_bytes"));
}

TEST(FeaturesCli, LeadingEdge) {
  const FoldResult r =
      FoldWith({"--edge", "leading"}, Event(0, "a") + Event(10, "a") + Event(100, "a"));
  EXPECT_EQ(r.out,
            Group("a", 1, {0, 0, 0}, "leading", R"(,"partial":true,"revision":1)") +
                Group("a", 1, {100, 100, 100}, "leading", R"(,"partial":true,"revision":1)"));
  ExpectStats(r, {{"opened", 2}, {"folded", 1}, {"emissions", 2}, {"partial", 2}, {"silent", 2}});
}

TEST(FeaturesCli, BothEdges) {
  const FoldResult r = FoldWith({"--edge", "both"},
                                Event(0, "a") + Event(5, "b") + Event(10, "a") + Event(200, "c"));
  const std::string leading = R"(,"partial":true,"revision":1)";
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 0}, "leading", leading) +
                       Group("b", 1, {5, 5, 5}, "leading", leading) +
                       Group("a", 2, {0, 10, 70}, "quiet", R"(,"partial":false,"revision":2)") +
                       Group("c", 1, {200, 200, 200}, "leading", leading));
  ExpectStats(r, {{"opened", 3}, {"emissions", 4}, {"partial", 3}, {"silent", 2}});
}

TEST(FeaturesCli, PartialEvery) {
  const FoldResult r =
      FoldWith({"--partial-every", "30s"},
               Event(0, "a") + Event(10, "a") + Event(40, "a") + Event(50, "a") + Event(100, "b"));
  EXPECT_EQ(r.out, Group("a", 2, {0, 10, 30}, "partial", R"(,"partial":true,"revision":1)") +
                       Group("a", 4, {0, 50, 60}, "partial", R"(,"partial":true,"revision":2)") +
                       Group("a", 4, {0, 50, 100}, "end", R"(,"partial":false,"revision":3)") +
                       Group("b", 1, {100, 100, 100}, "end", R"(,"partial":false,"revision":1)"));
  ExpectStats(r, {{"opened", 2}, {"folded", 3}, {"emissions", 4}, {"partial", 2}, {"silent", 0}});
}

TEST(FeaturesCli, PartialEveryWithMerges) {
  const FoldResult r = FoldWith(
      {"--no-meta", "--partial-every", "30s", "--merge", "tags=set(v)", "--merge", "last=last(v)"},
      Event(0, "a", ",\"v\":\"one, and a text too long for its place\"") +
          Event(40, "a", ",\"v\":2") + Event(80, "a"));
  const std::string one = "\"one, and a text too long for its place\"";
  EXPECT_EQ(r.out, "{\"k\":\"a\",\"tags\":[" + one + "],\"last\":" + one +
                       "}\n{\"k\":\"a\",\"tags\":[" + one +
                       ",2],\"last\":2}\n{\"k\":\"a\",\"tags\":[" + one + ",2],\"last\":2}\n");
}

TEST(FeaturesCli, QuietPath) {
  const FoldResult r = FoldWith({"--quiet-path", "q"}, Event(0, "a", ",\"q\":\"10s\"") +
                                                           Event(0, "b", ",\"q\":null") +
                                                           Event(20, "c", ",\"q\":\"1\\u0030s\""));
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 10}, "quiet") + Group("c", 1, {20, 20, 20}, "end") +
                       Group("b", 1, {0, 0, 20}, "end"));
}

TEST(FeaturesCli, QuietPathWaitsForTheLatestOfAllEvents) {
  const FoldResult r = FoldWith({"--quiet-path", "q"}, Event(20, "a", ",\"q\":\"5m\"") +
                                                           Event(30, "a", ",\"q\":\"1s\"") +
                                                           Event(319, "b") + Event(320, "b"));
  EXPECT_EQ(r.out, Group("a", 2, {20, 30, 320}, "quiet") + Group("b", 2, {319, 320, 320}, "end"));
}

TEST(FeaturesCli, QuietPathThatLeadsToNoDurationMakesABadLine) {
  std::string input;
  for (const char* period : {"5", "\"5\"", "\"0\"", "\"-1s\"", "\"soon\"", "true", "{}"}) {
    input += Event(0, "a", ",\"q\":" + std::string(period));
  }
  const FoldResult r = FoldWith({"--quiet-path", "q"}, input);
  ExpectStats(r, {{"bad", 7}, {"events", 0}});
  EXPECT_TRUE(HasLine(r.err, "<stdin>:1: quiet period is not a duration above zero")) << r.err;
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
           Event(3300, "end") + Event(3300, "bad", ",\"c\":[]");
  const FoldResult r = FoldWith({"--quiet", "adaptive:10s..100s", "--class", "c"}, input);
  const std::string last = Group("gone", 1, {3200, 3200, 3210}, "quiet") +
                           Group("back", 1, {3200, 3200, 3235}, "quiet") +
                           Group("end", 1, {3300, 3300, 3300}, "end");
  EXPECT_TRUE(r.out.ends_with(last)) << r.out;
  ExpectStats(r, {{"folded", 12}, {"bad", 1}});
  EXPECT_TRUE(HasLine(r.err, "<stdin>:64: class \"c\" is an object or an array")) << r.err;
}

TEST(FeaturesCli, FlushLine) {
  const FoldResult r =
      FoldWith({"--flush-when", "f=1"}, Event(0, "a") + Event(5, "a") + Event(10, "a", ",\"f\":1") +
                                            Event(20, "a") + Event(20, "b", ",\"f\":1"));
  EXPECT_EQ(r.out, Group("a", 2, {0, 5, 10}, "flush") + Group("a", 1, {20, 20, 20}, "end"));
  ExpectStats(r, {{"lines", 5},
                  {"events", 5},
                  {"opened", 2},
                  {"folded", 1},
                  {"control", 2},
                  {"reopened", 1},
                  {"corrected_folding_ratio", 0.25}});
}

TEST(FeaturesCli, FlushLineMovesTheWatermark) {
  const FoldResult r = FoldWith(
      {"--flush-when", "f=1", "--lateness", "5s"},
      Event(0, "a") + Event(100, "b") + Event(164, "z", ",\"f\":1") + Event(165, "z", ",\"f\":1"));
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet") + Group("b", 1, {100, 100, 160}, "quiet"));
}

TEST(FeaturesCli, FlushLineBeyondTheFutureLimitIsBad) {
  const FoldResult r = FoldWith({"--flush-when", "f=1", "--future-limit", "10s"},
                                Event(0, "a") + Event(11, "a", ",\"f\":1"));
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 0}, "end"));
  ExpectStats(r, {{"bad", 1}, {"control", 0}});
}

TEST(FeaturesCli, FlushLineIsNeitherLateNorDuplicate) {
  const FoldResult r = FoldWith({"--flush-when", "f=1", "--accept-limit", "10s", "--id", "id"},
                                Event(100, "a", ",\"id\":1") + Event(0, "a", ",\"id\":1,\"f\":1") +
                                    Event(0, "a", ",\"f\":1"));
  EXPECT_EQ(r.out, Group("a", 1, {100, 100, 100}, "flush"));
  ExpectStats(r, {{"control", 2}, {"late", 0}, {"duplicate", 0}, {"bad", 0}});
}

TEST(FeaturesCli, FlushLineNeedsAKeyAndATime) {
  const FoldResult r = FoldWith({"--flush-when", "f=1"},
                                "{\"f\":1,\"t\":\"2015-09-12T00:00:00Z\"}\n"
                                "{\"f\":1,\"k\":\"a\"}\n");
  ExpectStats(r, {{"bad", 2}, {"control", 0}});
}

TEST(FeaturesCli, FlushLineOnArrivalTime) {
  const FoldResult r = Fold({"--key", "k", "--quiet", "1h", "--no-meta", "--merge", "n=count()",
                             "--flush-when", "f=1", "--at-end", "drop"},
                            "{\"k\":1}\n{\"k\":2}\n{\"k\":1}\n{\"k\":1,\"f\":1}\n{\"k\":1}\n");
  EXPECT_EQ(r.out, "{\"k\":1,\"n\":2}\n");
  ExpectStats(r, {{"control", 1}, {"open", 2}});
}

TEST(FeaturesCli, CancelLine) {
  const FoldResult r =
      FoldWith({"--cancel-when", "c=1", "--flush-when", "f=1"},
               Event(0, "a") + Event(0, "b") + Event(1, "a", ",\"c\":1,\"f\":1") +  // it wins
                   Event(2, "a") + Event(3, "z", ",\"c\":1"));
  EXPECT_EQ(r.out, Group("b", 1, {0, 0, 3}, "end") + Group("a", 1, {2, 2, 3}, "end"));
  ExpectStats(r, {{"cancelled", 1}, {"control", 2}, {"opened", 3}, {"emissions", 2}});
}

TEST(FeaturesCli, ControlLinesDoNotDependOnThreads) {
  std::string input;
  for (int i = 0; i < 30'000; ++i) {
    const char* const members = i % 7 == 0 ? ",\"f\":1" : i % 11 == 0 ? ",\"c\":1" : "";
    input += Event(i / 20, std::to_string(i * 7919 % 13), members);
  }
  TemporaryDirectory dir;
  const std::string path = dir.Write("in", input);
  const Arguments options = {"--flush-when", "f=1", "--cancel-when", "c=1", path};
  const FoldResult one = FoldWith(options, "");
  EXPECT_GT(Stat(one, "cancelled"), 100);
  for (const char* threads : {"2", "5"}) {
    Arguments more = options;
    more.insert(more.end(), {"--threads", threads});
    const FoldResult other = FoldWith(more, "");
    EXPECT_TRUE(other.out == one.out) << threads;
    EXPECT_EQ(other.stats, one.stats);
  }
}

// In order of appearance, whichever the program chose.
std::string SortedLines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

TEST(FeaturesCli, OpenFile) {
  TemporaryDirectory dir;
  const std::string input = Event(0, "a") + Event(100, "b") + Event(110, "c") + Event(120, "b");
  const std::string open =
      Group("b", 2, {100, 120, 120}, "open") + Group("c", 1, {110, 110, 120}, "open");
  FoldResult r = FoldWith({"--open", dir / "open"}, input);
  EXPECT_EQ(SortedLines(Content(dir / "open")), open);
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet") + Group("c", 1, {110, 110, 120}, "end") +
                       Group("b", 2, {100, 120, 120}, "end"));
  r = FoldWith({"--open", dir / "dropped", "--at-end", "drop"}, input);
  EXPECT_EQ(SortedLines(Content(dir / "dropped")), open);
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet"));
}

TEST(FeaturesCli, OpenFileSaysPartialWhereRevisionsAreShown) {
  TemporaryDirectory dir;
  FoldWith({"--open", dir / "open", "--edge", "both", "--emission-id"},
           Event(0, "a") + Event(1, "a"));
  EXPECT_EQ(Content(dir / "open"), Group("a", 2, {0, 1, 1}, "open", R"(,"partial":true)"));
}

TEST(FeaturesCli, OpenFileIsWrittenWholeOrNotAtAll) {
  TemporaryDirectory dir;
  EXPECT_EQ(FoldWith({"--open", dir / "open"}, "").code, 0);
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"open"});
  EXPECT_EQ(FoldWith({"--open", dir / "not", "--on-bad", "fail"}, Event(0, "a") + "bad\n").code, 1);
  EXPECT_EQ(dir.Names(), std::vector<std::string>{"open"});
}

TEST(FeaturesCli, IdsDuplicate) {
  const FoldResult r =
      FoldWith({"--id", "id", "--accept-limit", "1h"},
               Event(0, "a", ",\"id\":1") + Event(1, "a", ",\"id\":\"1\"") +
                   Event(0, "a", ",\"id\":1") + Event(0, "b", ",\"id\":1") +
                   // The same in other words.
                   Event(0, "a", " , \"i\\u0064\" : 1 ") + Event(1, "a", ",\"id\":\"\\u0031\""));
  EXPECT_EQ(r.out, Group("b", 1, {0, 0, 1}, "end") + Group("a", 2, {0, 1, 1}, "end"));
  ExpectStats(r, {{"events", 6}, {"opened", 2}, {"folded", 1}, {"duplicate", 3}, {"conflict", 0}});
  EXPECT_EQ(r.err, "");
}

TEST(FeaturesCli, IdsDuplicateAlsoBehindAnEmission) {
  const FoldResult r = FoldWith(
      {"--id", "id", "--accept-limit", "1h"},
      Event(0, "a", ",\"id\":1") + Event(100, "b", ",\"id\":1") + Event(0, "a", ",\"id\":1"));
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet") + Group("b", 1, {100, 100, 100}, "end"));
  ExpectStats(r, {{"duplicate", 1}});
}

TEST(FeaturesCli, IdsAreForgottenOnceTheirEventWouldBeLate) {
  const std::string again = Event(15, "a", ",\"id\":1");
  const FoldResult r =
      FoldWith({"--id", "id", "--accept-limit", "10s"},
               Event(0, "a", ",\"id\":1") + Event(20, "b", ",\"id\":1") + again + again);
  ExpectStats(r, {{"opened", 2}, {"folded", 1}, {"duplicate", 1}, {"conflict", 0}});
}

TEST(FeaturesCli, IdsConflict) {
  std::string input = Event(0, "a", ",\"id\":1,\"v\":1");
  for (int i = 2; i < 14; ++i) input += Event(0, "a", ",\"id\":1,\"v\":" + std::to_string(i));
  const FoldResult r = FoldWith({"--id", "id", "--accept-limit", "1h", "--strict"}, input);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 0}, "end"));
  ExpectStats(r, {{"conflict", 12}, {"duplicate", 0}, {"bad", 0}});
  EXPECT_TRUE(HasLine(r.err, "<stdin>:2: id 1 of key \"a\" was seen before with different content"))
      << r.err;
  EXPECT_TRUE(HasLine(r.err, "<stdin>:11: ")) << r.err;
  EXPECT_FALSE(HasLine(r.err, "<stdin>:12: ")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "pleat fold: 2 more conflicts, not shown")) << r.err;
}

TEST(FeaturesCli, IdsAreScalarsOfEveryEvent) {
  const FoldResult r = FoldWith({"--id", "e.id", "--accept-limit", "1h"},
                                Event(0, "a") + Event(0, "a", ",\"e\":{\"id\":[1]}"));
  ExpectStats(r, {{"bad", 2}, {"events", 0}});
  EXPECT_TRUE(HasLine(r.err, "<stdin>:1: id \"e.id\" is missing")) << r.err;
  EXPECT_TRUE(HasLine(r.err, "<stdin>:2: id \"e.id\" is an object or an array")) << r.err;
}

TEST(FeaturesCli, OnLateReject) {
  TemporaryDirectory dir;
  const FoldResult r =
      FoldWith({"--accept-limit", "10s", "--on-late", "reject", "--late", dir / "late"},
               Event(100, "a") + Event(90, "a") + Event(89, "a"));
  EXPECT_EQ(r.out, Group("a", 2, {90, 100, 100}, "end"));
  EXPECT_EQ(Content(dir / "late"), Event(89, "a"));
  ExpectStats(r, {{"late", 1}, {"late_folded", 0}, {"corrected", 0}});
}

TEST(FeaturesCli, OnLateFold) {
  TemporaryDirectory dir;
  const FoldResult r =
      FoldWith({"--accept-limit", "10s", "--on-late", "fold", "--late", dir / "late"},
               Event(0, "a") + Event(100, "b") + Event(89, "b") + Event(20, "a"));
  // The last one opens a group that was due at 80.
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet") + Group("a", 1, {20, 20, 80}, "quiet") +
                       Group("b", 2, {89, 100, 100}, "end"));
  EXPECT_EQ(Content(dir / "late"), "");
  ExpectStats(r, {{"late", 0}, {"late_folded", 2}, {"opened", 3}, {"folded", 1}});
}

TEST(FeaturesCli, OnLateCorrect) {
  const FoldResult r =
      FoldWith({"--accept-limit", "10s", "--on-late", "correct", "--emission-id"},
               Event(0, "a") + Event(100, "b") + Event(10, "a") + Event(5, "z") + Event(95, "b"));
  EXPECT_EQ(r.out,
            Group("a", 1, {0, 0, 60}, "quiet", R"(,"id":"0-0")") +
                Group("a", 1, {10, 10, 100}, "correction", R"(,"corrects":"0-0","id":"0-1")") +
                Group("z", 1, {5, 5, 100}, "correction", R"(,"corrects":null,"id":"0-2")") +
                Group("b", 2, {95, 100, 100}, "end", R"(,"id":"0-3")"));
  ExpectStats(r, {{"corrected", 2}, {"late", 0}, {"opened", 2}, {"folded", 1}, {"emissions", 4}});
}

TEST(FeaturesCli, OnLateCorrectShowsWhatTheEventMerges) {
  const FoldResult r = FoldWith(
      {"--accept-limit", "10s", "--on-late", "correct", "--merge", "v=sum(v)", "--no-meta"},
      Event(0, "a", ",\"v\":1") + Event(100, "a", ",\"v\":2") + Event(10, "a", ",\"v\":3"));
  EXPECT_EQ(r.out, "{\"k\":\"a\",\"v\":1}\n{\"k\":\"a\",\"v\":3}\n{\"k\":\"a\",\"v\":2}\n");
}

TEST(FeaturesCli, OnLimitRefuse) {
  const FoldResult r = FoldWith({"--max-groups", "2", "--on-limit", "refuse"},
                                Event(0, "a") + Event(1, "b") + Event(2, "c") + Event(3, "a"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, Group("b", 1, {1, 1, 3}, "end") + Group("a", 2, {0, 3, 3}, "end"));
  ExpectStats(r, {{"refused", 1}});
}

TEST(FeaturesCli, OnLimitEmit) {
  const FoldResult r = FoldWith({"--max-groups", "2", "--on-limit", "emit"},
                                Event(0, "a") + Event(1, "b") + Event(2, "c") + Event(3, "a"));
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 2}, "limit") + Group("b", 1, {1, 1, 3}, "limit") +
                       Group("c", 1, {2, 2, 3}, "end") + Group("a", 1, {3, 3, 3}, "end"));
  ExpectStats(r, {{"refused", 0}, {"opened", 4}, {"reopened", 1}});
}

TEST(FeaturesCli, OnLimitEmitKeepsWithinMemoryAndLosesNothing) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) {
    input += Event(i / 1000, std::to_string(i), ",\"v\":\"" + std::string(100, 'x') + "\"");
  }
  const Arguments options = {"--max-memory", "100000",  "--on-limit",
                             "emit",         "--merge", "l=last(v)"};
  const FoldResult r = FoldWith(options, input);
  EXPECT_EQ(r.code, 0) << r.err;
  ExpectStats(r, {{"refused", 0}, {"opened", 20'000}, {"emissions", 20'000}});
  EXPECT_NE(r.out.find("\"reason\":\"limit\""), std::string::npos);
  TemporaryDirectory dir;
  Arguments from_file = options;
  from_file.push_back(dir.Write("in", input));
  EXPECT_TRUE(FoldWith(from_file, "").out == r.out);
}

TEST(FeaturesCli, EmissionId) {
  const FoldResult r = FoldWith({"--emission-id"}, Event(0, "a") + Event(1, "b") + Event(100, "a"));
  EXPECT_EQ(r.out, Group("a", 1, {0, 0, 60}, "quiet", R"(,"id":"0-0")") +
                       Group("b", 1, {1, 1, 61}, "quiet", R"(,"id":"0-1")") +
                       Group("a", 1, {100, 100, 100}, "end", R"(,"id":"0-2")"));
}

TEST(FeaturesCli, EmissionIdComesBehindRevisionAndBeforeWhatSaturated) {
  const FoldResult r =
      FoldWith({"--emission-id", "--edge", "both", "--merge", "s=sum(v)"},
               Event(0, "a", ",\"v\":9223372036854775807") + Event(1, "a", ",\"v\":1"));
  EXPECT_NE(
      r.out.find(R"("reason":"end","partial":false,"revision":2,"id":"0-1","saturated":["s"]}})"),
      std::string::npos)
      << r.out;
}

TEST(FeaturesCli, StatsAddUp) {
  // Fold() checks the sums; here every column has something in it.
  const std::string input =
      Event(0, "a", ",\"id\":1") + Event(1, "a", ",\"id\":2") +  // opened (handed out), folded
      Event(1, "a", ",\"id\":2") +                               // duplicate
      Event(1, "a", ",\"id\":2,\"v\":1") +                       // conflict
      Event(2, "a", ",\"f\":1") + Event(3, "a", ",\"id\":3") +   // control; reopened (handed out)
      Event(4, "a", ",\"c\":1") +                                // control: cancelled
      Event(5, "b", ",\"id\":4") +                       // opened (handed out), silent at 65
      "bad\n" + Event(200, "c", ",\"id\":5,\"v\":[]") +  // bad; opened (handed out), mismatched
      Event(0, "a", ",\"id\":9") +                       // late
      Event(201, "d", ",\"id\":6") +                     // opened (handed out)
      Event(202, "e", ",\"id\":7");                      // refused
  const FoldResult r = FoldWith(
      {"--id", "id", "--accept-limit", "1m", "--edge", "both", "--flush-when", "f=1",
       "--cancel-when", "c=1", "--merge", "s=sum(v)", "--max-groups", "2", "--at-end", "drop"},
      input);
  ExpectStats(r, {{"lines", 13},
                  {"events", 12},
                  {"bad", 1},
                  {"late", 1},
                  {"refused", 1},
                  {"opened", 5},
                  {"folded", 1},
                  {"emissions", 6},
                  {"open", 2},
                  {"mismatched", 1},
                  {"duplicate", 1},
                  {"conflict", 1},
                  {"corrected", 0},
                  {"control", 2},
                  {"cancelled", 1},
                  {"silent", 1},
                  {"partial", 5},
                  {"reopened", 1},
                  {"late_folded", 0}});
  EXPECT_DOUBLE_EQ(Stat(r, "folding_ratio"), 1.0 / 12);
  EXPECT_DOUBLE_EQ(Stat(r, "corrected_folding_ratio"), 1.0 / 8);
}

TEST(FeaturesCli, StatsHaveTheirOrder) {
  std::vector<std::string> names;
  ParseStats(FoldWith({}, "").stats, &names);
  EXPECT_EQ(names,
            (std::vector<std::string>{"lines",        "events",        "bad",
                                      "late",         "refused",       "opened",
                                      "folded",       "emissions",     "open",
                                      "mismatched",   "folding_ratio", "duplicate",
                                      "conflict",     "corrected",     "control",
                                      "cancelled",    "silent",        "partial",
                                      "reopened",     "late_folded",   "corrected_folding_ratio",
                                      "out_of_order", "most_behind_s"}));
}

TEST(FeaturesCli, SummaryMentionsWhatThereIs) {
  const Arguments options = {"fold", "--key", "k",  "--quiet",        "1m", "--time",
                             "t",    "--id",  "id", "--accept-limit", "1h"};
  const std::string line = Event(0, "a", ",\"id\":1");
  const std::string plain = RunToEnd(Pleat(options), line).err;
  EXPECT_NE(plain.find("0 refused\n"), std::string::npos) << plain;
  const std::string more =
      RunToEnd(Pleat(options), line + line + Event(0, "a", ",\"id\":1,\"v\":1")).err;
  EXPECT_NE(more.find("0 refused, 1 duplicate, 1 conflicting\n"), std::string::npos) << more;
}

}  // namespace
}  // namespace pleat::cli
