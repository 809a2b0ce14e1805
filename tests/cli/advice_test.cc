// What the summary says of options that did not fit the input.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

constexpr const char* kOne = R"({"k":1,"t":"2015-09-12T00:00:00Z","v":{"w":1}})"
                             "\n";

// What `pleat fold` says on standard error.
std::string ErrOf(const std::string& more, std::string_view input = "") {
  return RunToEnd(Pleat("fold --key k --quiet 1m " + more), input).err;
}

bool Says(const std::string& err, std::string_view what) {
  return HasLine(err, "pleat fold: " + std::string(what));
}

TEST(Advice, APathThatNoLineHasIsNamed) {
  const std::string err = ErrOf(
      "--time t --merge 'a=sum(v.w)' --merge 'b=sum(prcie)' --merge 'c=max(prcie)'"
      " --merge 'd=max(v.x)' --end-when staus=done --close-when 'a>=5'"
      R"( --flush-when '{"any":["k=2","/v/y=1"]}')",
      kOne);
  EXPECT_TRUE(Says(err, R"(no line has "prcie" (--merge), "v.x" (--merge), "staus" (--end-when), )"
                        R"("/v/y" (--flush-when); the first line has "k", "t", "v")"
                        "\n"))
      << err;
}

TEST(Advice, APathThatNoLineHasIsAskedAbout) {
  const std::string input = R"({"k":1,"T":5,"price":2,"tags":[{"n":1}],"id.x":1})"
                            "\n";
  EXPECT_TRUE(
      Says(ErrOf("--merge 's=sum(prcie)' --end-when id.x=2 --merge 'n=max(tags.n)'", input + input),
           R"(no line has "prcie" (--merge), "tags.n" (--merge), "id.x" (--end-when);)"
           R"( did you mean "price"? did you mean "/id.x"?)"
           R"( (a name with dots is written as a JSON Pointer))"
           R"(; "tags" is a list of 1: make a line of each element first, jq -c '.tags[]')"
           "\n"));
  // Which line is the first: of all, blank ones aside. It may be none, or too long to keep.
  EXPECT_TRUE(
      Says(ErrOf("--merge 's=sum(x)'", "\n \n" + input + R"({"k":1})"),
           R"(no line has "x" (--merge); the first line has "k", "T", "price", "tags", "id.x")"));
  EXPECT_TRUE(
      Says(ErrOf("--merge 's=sum(x)'", "nonsense\n" + input), "no line has \"x\" (--merge)\n"));
  const std::string large = R"({"k":1,"v":")" + std::string(100'000, 'v') + "\"}\n";
  EXPECT_TRUE(Says(ErrOf("--merge 's=sum(x)'", large), "no line has \"x\" (--merge)\n"));
}

TEST(Advice, AConditionInThePlaceOfAPathIsSaid) {
  EXPECT_TRUE(Says(ErrOf("--merge 'n=count(v>500)'", kOne),
                   R"(no line has "v>500" (--merge); a reducer takes no condition: --where keeps )"
                   "the events for which one holds\n"));
}

TEST(Advice, APathThatSomeLineHasIsNot) {
  const std::string words =
      "--time t --merge 'n=sum(n)' --merge 'w=sum(v.w)' --end-when /x/y=1 --merge 'o=sum(other)'";
  const std::string rest = R"(; the first line has "k", "t", "v")"
                           "\n";
  const std::string none = ErrOf(words, std::string(kOne) + kOne);
  EXPECT_TRUE(
      Says(none, R"(no line has "n" (--merge), "other" (--merge), "/x/y" (--end-when))" + rest))
      << none;
  // Whichever line it is, and whatever the value.
  const std::string last = R"({"k":2,"t":"2015-09-12T00:00:00Z","n":null,"x":{"y":2}})"
                           "\n";
  const std::string some = ErrOf(words, std::string(kOne) + last + kOne);
  EXPECT_TRUE(Says(some, R"(no line has "other" (--merge))" + rest)) << some;
  const std::string all = ErrOf("--time t --merge 'n=sum(n)' --merge 'c=count()'", kOne + last);
  EXPECT_EQ(all.find("no line has"), std::string::npos) << all;
}

// The sentence that says why has named what is missing.
TEST(Advice, NoPathIsNamedAgainWhereNoLineIsUsable) {
  const std::string err = ErrOf("--key page", std::string(kOne) + kOne);
  EXPECT_TRUE(Says(err,
                   R"(no line was usable; key "page" is missing in all 2 lines; the first has )"
                   R"("k", "t", "v")"));
  EXPECT_EQ(err.find("no line has"), std::string::npos) << err;
  EXPECT_EQ(ErrOf("", "a,b\n1,2\n").find("no line has"), std::string::npos);
  EXPECT_EQ(ErrOf("--merge 's=sum(v)'", "").find("no line has"), std::string::npos);
}

TEST(Advice, PathsAreCountedOverAllThreadsAndFiles) {
  TemporaryDirectory dir;
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += At(i % 3600);
  const std::string first =
      dir.Write("first", many + R"({"k":1,"t":"2015-09-12T00:00:00Z","v":1})");
  const std::string second = dir.Write("second", many);
  for (const std::string threads : {"1", "3"}) {
    const std::string err = ErrOf("--time t --merge 'v=sum(v)' --merge 'w=sum(w)' --threads " +
                                  threads + " " + first + " " + second);
    EXPECT_TRUE(Says(err, R"(no line has "w" (--merge))")) << err;
  }
}

TEST(Advice, InputOutOfOrderIsSaid) {
  const std::string input = At(50) + At(100) + At(70) + At(100) + At(99) + At(101);
  EXPECT_TRUE(
      Says(ErrOf("--time t", input),
           "2 events came up to 30s behind; --reorder 30s takes them in the order of time\n"));
  EXPECT_TRUE(
      Says(ErrOf("--time t", At(3'000) + At(1)),
           "1 event came up to 50m behind; --reorder 50m takes them in the order of time\n"));
  EXPECT_EQ(ErrOf("--time t --reorder 30s", input).find("behind"), std::string::npos);
  EXPECT_EQ(ErrOf("--time t", At(1) + At(1) + At(2)).find("behind"), std::string::npos);
}

TEST(Advice, FilesAreNotMergedByTimeAndThatIsSaid) {
  TemporaryDirectory dir;
  const std::string early = dir.Write("early", At(0) + At(10));
  const std::string late = dir.Write("late", At(20) + At(40));
  const std::string mixed = dir.Write("mixed", At(60) + At(55));
  EXPECT_EQ(ErrOf("--time t " + early + " " + late).find("behind"), std::string::npos);
  EXPECT_TRUE(Says(
      ErrOf("--time t " + late + " " + early),
      "2 events came up to 40s behind; --reorder 40s takes them in the order of time (2 behind "
      "an earlier file: files "
      "are read one after the other, not merged by time)\n"));
  EXPECT_TRUE(Says(ErrOf("--time t " + early + " " + mixed),
                   "1 event came up to 5s behind; --reorder 5s takes them in the order of time\n"));
}

TEST(Advice, AFileWithoutTimeIsStampedByTheClockAndThatIsSaid) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("in", kOne);
  EXPECT_TRUE(Says(ErrOf({path}, ""), "events of " + path + " were stamped as they were read"));
  EXPECT_EQ(ErrOf("", kOne).find("stamped"), std::string::npos);
  EXPECT_EQ(ErrOf("--time t " + path).find("stamped"), std::string::npos);
}

TEST(Advice, AUnitThatPutsAllEventsFarAwayIsDoubted) {
  const std::string seconds = "{\"k\":1,\"t\":1442016000}\n{\"k\":1,\"t\":1442016001}\n";
  EXPECT_TRUE(
      Says(ErrOf("--time t --time-unit ms", seconds),
           "all events are of 1970-01-17T16:33:36.000000Z to 1970-01-17T16:33:36.001000Z; is "
           "--time-unit right?"));
  EXPECT_TRUE(Says(ErrOf("--time t --time-unit s", "{\"k\":1,\"t\":4102444800}\n"),
                   "all events are of 2100"));
  EXPECT_EQ(ErrOf("--time t --time-unit s", seconds).find("right?"), std::string::npos);
}

TEST(Advice, AUnitIsDoubtedByAnalyzeToo) {
  const std::string input = "{\"k\":1,\"t\":1442016000}\n";
  const auto err_with = [&](const std::string& unit) {
    return RunToEnd(Pleat("analyze --key k --time t --time-unit " + unit), input).err;
  };
  EXPECT_TRUE(HasLine(err_with("ms"), "pleat analyze: all events are of 1970-01-17T16:33:36"));
  EXPECT_EQ(err_with("s").find("right?"), std::string::npos);
}

TEST(Advice, ValuesThatAReducerDoesNotTakeAreNamed) {
  const auto summary = [](const std::vector<std::string>& values) {
    std::string input;
    for (const std::string& value : values) input += "{\"k\":1,\"amount\":" + value + "}\n";
    return ErrOf("--merge 'total=sum(amount)' --merge 'n=count()'", input);
  };
  EXPECT_TRUE(HasLine(summary({"1", "2"}), "emissions      1  written\n"));
  EXPECT_TRUE(
      HasLine(summary({R"("12,50")", R"(" 1")", R"("3")"}),
              R"(emissions      1  written; 2 values of "total" (sum of "amount") were left )"
              "out: sum() takes no text\n"));
  EXPECT_TRUE(HasLine(summary({"true"}),
                      R"(emissions      1  written; 1 value of "total" (sum of "amount") was left )"
                      "out: sum() takes no booleans\n"));
  EXPECT_TRUE(
      HasLine(summary({R"("x")", "[]"}),
              R"(emissions      1  written; 2 values were of a type their reducer does not )"
              R"(take, such as text in "total" (sum of "amount"))"
              "\n"));
}

// Nothing was kept, which may be right; but not if the types never fit.
TEST(Advice, AConditionOfAnotherTypeThanItsMemberIsDoubted) {
  const std::string input = "{\"k\":1,\"status\":500}\n{\"k\":1,\"status\":502}\n";
  EXPECT_TRUE(Says(ErrOf("--where status=5xx", input),
                   R"(no line was kept; in the first one "status" is a number, "5xx" is text)"
                   " (--where)\n"));
  EXPECT_EQ(ErrOf("--where status=500", "{\"k\":1,\"status\":\"502\"}\n").find("in the first"),
            std::string::npos);
  EXPECT_TRUE(Says(ErrOf(R"(--where 'status>="500"')", input),
                   R"(no line was kept; in the first one "status" is a number, "500" is text)"));
  for (const std::string kept : {"status=400", R"('{"any":["status=5xx","k=1"]}')"}) {
    EXPECT_EQ(ErrOf("--where " + kept, input).find("in the first"), std::string::npos) << kept;
  }
}

TEST(Advice, OptionsThatKeepNoLineAreNamed) {
  const std::string two = kOne + std::string(kOne);
  EXPECT_TRUE(
      Says(ErrOf("--where k=2", two), "no line was kept: 2 lines were excluded by --where\n"));
  EXPECT_TRUE(Says(ErrOf("--time t --to 2015-09-12", kOne),
                   "no line was kept: 1 line was excluded by --to\n"));
  EXPECT_TRUE(Says(ErrOf("--time t --from 2016-01-01 --to 2017-01-01 --where k=1", two),
                   "no line was kept: 2 lines were excluded by --where, --from or --to\n"));
  EXPECT_EQ(ErrOf("--time t --from 2015-09-12", two).find("was kept"), std::string::npos);
  EXPECT_EQ(ErrOf("--time t --from 2015-09-12", "").find("was kept"), std::string::npos);
  const Finished r = RunToEnd(Pleat("analyze --key k --time t --from 2016-01-01 --where k=1"), two);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out,
            "k: 0 events of 0 keys in 0 us\n\nThere is nothing to fold: there was no event.\n");
  EXPECT_TRUE(HasLine(r.err,
                      "pleat analyze: no line was kept: 2 lines were excluded by --where or "
                      "--from\n"))
      << r.err;
}

TEST(Advice, ASumThatLeavesItsRangeIsInTheSummary) {
  const std::string input = "{\"k\":1,\"v\":1e308}\n{\"k\":1,\"v\":1e308}\n";
  EXPECT_TRUE(
      HasLine(ErrOf("--no-meta --merge 's=sum(v)'", input),
              "emissions      1  written; 1 emission has a sum at the end of its range, named "
              "under \"saturated\"\n"));
}

TEST(Advice, ACounterThatLeavesItsRangeIsInTheSummary) {
  const std::string input = "{\"k\":1,\"v\":1e308}\n{\"k\":1,\"v\":1e308}\n";
  const std::string words = "rollup --key k --window 1h,1d --allowed-lateness 1h --value v ";
  EXPECT_TRUE(HasLine(RunToEnd(Pleat(words), input).err,
                      "output         2  written; 2 lines have a sum at the end of its range, "
                      "which says \"saturated\"\n"));
  EXPECT_TRUE(
      HasLine(RunToEnd(Pleat(words), "{\"k\":1,\"v\":1}\n").err, "output         2  written\n"));
}

TEST(Advice, IsPartOfTheSummary) {
  EXPECT_EQ(ErrOf("--time t --merge 's=sum(x)' --quiet-summary", kOne), "");
}

}  // namespace
}  // namespace pleat::cli
