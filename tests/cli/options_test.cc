// Flags, spec documents, help: how the program is told what to do, and what it answers when told
// wrongly.
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

Finished RunPleat(const Arguments& arguments, std::string_view input = "") {
  return RunToEnd(Pleat(arguments), input);
}

// A usage error: exit code 2, one line, nothing on standard output, and `what` in that line.
void ExpectUsageError(const Arguments& arguments, const std::string& what) {
  const Finished r = RunPleat(arguments, "{\"k\":1}\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find(what), std::string::npos) << r.err;
}

TEST(Program, AloneItPrintsAShortHelpAndFails) {
  const Finished r = RunPleat({});
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("pleat fold"), std::string::npos);
}

TEST(Program, VersionSaysWhatItIsAndReads) {
  const Finished r = RunPleat({"--version"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out.rfind("pleat ", 0), 0u);
  for (const char* word : {"gzip", "zstd", "1 MiB"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word;
  }
}

TEST(Program, HelpBeginsWithExamplesAndNamesEveryOption) {
  const Finished r = RunPleat({"fold", "--help"});
  EXPECT_EQ(r.code, 0);
  EXPECT_LT(r.out.find("Examples:"), r.out.find("--max-hold DURATION"));
  for (const char* option :
       {"--key",         "--quiet",      "--max-hold",      "--max-events",    "--time",
        "--time-unit",   "--lateness",   "--accept-limit",  "--late",          "--future-limit",
        "--idle",        "--merge",      "--no-meta",       "--at-end",        "--on-bad",
        "--bad",         "--strict",     "--max-groups",    "--max-memory",    "--threads",
        "--output",      "--stats",      "--quiet-summary", "--spec",          "--print-spec",
        "--max-bytes",   "--start-when", "--end-when",      "--close-when",    "--flush-when",
        "--cancel-when", "--quiet-path", "--edge",          "--partial-every", "--on-late",
        "--id",          "--on-limit",   "--emission-id",   "--open",          "--class"}) {
    EXPECT_NE(r.out.find("\n  " + std::string(option)), std::string::npos) << option;
  }
  EXPECT_EQ(RunPleat({"help", "fold"}).out, r.out);
  EXPECT_EQ(RunPleat({"fold", "-h"}).out, r.out);
}

TEST(Program, UnknownCommandSuggestsTheNearest) {
  ExpectUsageError({"fodl"}, "did you mean \"fold\"?");
}

TEST(Usage, KeyAndQuietAreRequired) {
  ExpectUsageError({"fold", "--quiet", "1m"}, "key");
  ExpectUsageError({"fold", "--key", "k"}, "quiet");
}

TEST(Usage, UnknownOptionSuggestsTheNearest) {
  ExpectUsageError({"fold", "--key", "k", "--quite", "5m"},
                   "unknown option --quite; did you mean --quiet?");
  ExpectUsageError({"fold", "--quite=5m"}, "unknown option --quite; did you mean --quiet?");
  ExpectUsageError({"fold", "--zzzzzz"}, "unknown option --zzzzzz");
}

TEST(Usage, EveryBadValueNamesItsOption) {
  const std::vector<std::pair<std::string, std::string>> wrong = {{"--quiet", "5x"},
                                                                  {"--quiet", "0"},
                                                                  {"--quiet", ""},
                                                                  {"--max-hold", "0s"},
                                                                  {"--max-events", "0"},
                                                                  {"--max-events", "many"},
                                                                  {"--time-unit", "fortnight"},
                                                                  {"--lateness", "soon"},
                                                                  {"--accept-limit", "1h30m"},
                                                                  {"--future-limit", "x"},
                                                                  {"--idle", "0"},
                                                                  {"--idle", "x"},
                                                                  {"--merge", "n"},
                                                                  {"--merge", "n=median(x)"},
                                                                  {"--at-end", "keep"},
                                                                  {"--on-bad", "ignore"},
                                                                  {"--max-groups", "0"},
                                                                  {"--max-memory", "much"},
                                                                  {"--threads", "0"},
                                                                  {"--threads", "257"},
                                                                  {"--threads", "two"},
                                                                  {"--bad", "-"},
                                                                  {"--late", "-"},
                                                                  {"--open", "-"},
                                                                  {"--max-bytes", "0"},
                                                                  {"--start-when", "s"},
                                                                  {"--end-when", "a==1"},
                                                                  {"--close-when", "n>=1"},
                                                                  {"--flush-when", "=1"},
                                                                  {"--cancel-when", "{}"},
                                                                  {"--quiet-path", "a..b"},
                                                                  {"--class", "a..b"},
                                                                  {"--class", "c"},
                                                                  {"--edge", "rising"},
                                                                  {"--partial-every", "0"},
                                                                  {"--on-late", "drop"},
                                                                  {"--on-late", "fold"},
                                                                  {"--id", "id"},
                                                                  {"--on-limit", "drop"},
                                                                  {"--key", ""}};
  for (const auto& [option, value] : wrong) {
    SCOPED_TRACE(option + " " + value);
    ExpectUsageError({"fold", "--key", "k", "--quiet", "1m", option, value}, option);
  }
}

TEST(Usage, OptionWithoutValueIsAnError) {
  ExpectUsageError({"fold", "--key", "k", "--quiet"}, "--quiet: needs a value");
  ExpectUsageError({"fold", "--key", "--quiet", "1m"}, "--key: needs a value");
  ExpectUsageError({"fold", "--key", "k", "--quiet", "1m", "--output=", "input.ndjson"},
                   "--output: needs a value");
  ExpectUsageError({"fold", "--key", "k", "--quiet", "1m", "--output", "--no-meta"},
                   "--output: needs a value");
}

TEST(Usage, SwitchMayBeTurnedOff) {
  EXPECT_EQ(
      RunPleat({"fold", "--key", "k", "--quiet", "1m", "--strict=false"}, "{\"k\":1}\nbad\n").code,
      0);
  ExpectUsageError({"fold", "--key", "k", "--quiet", "1m", "--strict=maybe"}, "--strict");
}

TEST(Usage, LatenessNeedsEventTime) {
  ExpectUsageError({"fold", "--key", "k", "--quiet", "1m", "--lateness", "1s"},
                   "--lateness: needs --time");
}

TEST(Usage, OptionsThatWouldDoNothingAreRefused) {
  const auto refused = [](const Arguments& more, const std::string& what) {
    Arguments arguments = {"fold", "--key", "k", "--quiet", "1m"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ExpectUsageError(arguments, what);
  };
  refused({"--time-unit", "ms"}, "--time-unit: needs --time");
  refused({"--idle", "1s"}, "--idle: needs --time");
  refused({"--accept-limit", "1s"}, "--accept-limit: needs --time");
  refused({"--time", "t", "--late", "x"}, "--late: needs --accept-limit");
  EXPECT_EQ(Fold({"--key", "k", "--quiet", "1m", "--accept-limit", "1s", "--id", "k"}).code, 0);
}

TEST(Usage, AConditionGivenTwiceIsAnErrorThatSaysHowToWriteBoth) {
  for (const char* option :
       {"--start-when", "--end-when", "--close-when", "--flush-when", "--cancel-when"}) {
    ExpectUsageError(
        {"fold", "--key", "k", "--quiet", "1m", option, "s=paid", option, R"({"not":"n<5"})"},
        std::string(option) +
            R"(: takes one condition; any of several is '{"any":["s=paid",{"not":"n<5"}]}')");
  }
}

TEST(Usage, OutputNamesMustDiffer) {
  ExpectUsageError({"fold", "--quiet", "1m", "--key", "a.x,b.x"}, "x");
  ExpectUsageError({"fold", "--quiet", "1m", "--key", "k", "--merge", "k=count()"}, "k");
  ExpectUsageError({"fold", "--quiet", "1m", "--key", "_fold=k"}, "_fold");
}

TEST(Usage, MergeDoesNotSwallowTheFileBehindIt) {
  TemporaryDirectory dir;
  const FoldResult r = Fold({"--key", "k", "--quiet", "1m", "--no-meta", "--merge", "n=count()",
                             dir.Write("in", "{\"k\":1}\n")},
                            "{\"k\":2}\n");
  EXPECT_EQ(r.out, "{\"k\":1,\"n\":1}\n");
}

TEST(Usage, OptionsMayFollowFilesAndFilesTheDoubleDash) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("in", "{\"k\":1}\n");
  EXPECT_EQ(Fold({path, "--key", "k", "--quiet=1m", "--no-meta"}).out, "{\"k\":1}\n");
  EXPECT_EQ(Fold({"--key", "k", "--quiet=1m", "--no-meta", "--", path}).out, "{\"k\":1}\n");
}

TEST(Usage, LastOfSeveralValuesCounts) {
  EXPECT_EQ(RunPleat({"fold", "--key", "k", "--quiet", "1m", "--quiet", "2m", "--print-spec"}).out,
            "{\n  \"key\": [\"k\"],\n  \"quiet\": \"2m\"\n}\n");
}

TEST(Spec, PrintSpecIsOneDocument) {
  const Finished r =
      RunPleat({"fold", "--key", "a=b.c,d", "--quiet", "90s", "--merge", "n=count()", "--merge",
                "m=keys(m)", "--no-meta", "--strict", "--threads", "2", "--print-spec"});
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out.front(), '{');
  for (const char* member : {"\"key\": [", "\"merge\": [\"n=count()\", \"m=keys(m)\"]",
                             "\"no-meta\": true", "\"strict\": true", "\"threads\": 2"}) {
    EXPECT_NE(r.out.find(member), std::string::npos) << member << " in " << r.out;
  }
}

TEST(Spec, PrintedDocumentAmountsToTheSame) {
  TemporaryDirectory dir;
  const Arguments flags = {"fold",
                           "--key",
                           "who=u.id,/a~1b",
                           "--quiet",
                           "1.5s",
                           "--max-hold",
                           "1h",
                           "--max-events",
                           "7",
                           "--max-bytes",
                           "64Ki",
                           "--start-when",
                           "s = new",
                           "--end-when",
                           R"({"any":["s=done", {"not":"\"a=b\"<2"}]})",
                           "--close-when",
                           "n>=10",
                           "--flush-when",
                           R"(f="true")",
                           "--cancel-when",
                           R"({"all":["f=true"]})",
                           "--quiet-path",
                           "q",
                           "--open",
                           "open",
                           "--edge",
                           "both",
                           "--partial-every",
                           "5m",
                           "--time",
                           "t",
                           "--time-unit",
                           "ms",
                           "--lateness",
                           "30s",
                           "--accept-limit",
                           "1m",
                           "--on-late",
                           "correct",
                           "--late",
                           "l\"ate",
                           "--future-limit",
                           "1d",
                           "--idle",
                           "250ms",
                           "--merge",
                           "n=count()",
                           "--merge",
                           "s=sum(v.w)",
                           "--no-meta",
                           "--at-end",
                           "drop",
                           "--on-bad",
                           "fail",
                           "--bad",
                           "b",
                           "--strict",
                           "--max-groups",
                           "1000",
                           "--max-memory",
                           "4294967296",
                           "--on-limit",
                           "emit",
                           "--emission-id",
                           "--threads",
                           "3",
                           "--output",
                           "o",
                           "--stats",
                           "s",
                           "--quiet-summary",
                           "--print-spec"};
  const Finished printed = RunPleat(flags);
  ASSERT_EQ(printed.code, 0) << printed.err;
  for (const char* name :
       {"key",        "quiet",         "max-hold",   "max-events",   "time",          "time-unit",
        "lateness",   "accept-limit",  "late",       "future-limit", "idle",          "merge",
        "no-meta",    "at-end",        "on-bad",     "bad",          "strict",        "max-groups",
        "max-memory", "threads",       "output",     "stats",        "quiet-summary", "max-bytes",
        "start-when", "end-when",      "close-when", "flush-when",   "cancel-when",   "quiet-path",
        "edge",       "partial-every", "on-late",    "on-limit",     "emission-id",   "open"}) {
    EXPECT_NE(printed.out.find("\"" + std::string(name) + "\": "), std::string::npos) << name;
  }
  const std::string path = dir.Write("spec", printed.out);
  EXPECT_EQ(RunPleat({"fold", "--spec", path, "--print-spec"}).out, printed.out);
}

TEST(Spec, ConditionIsPrintedAsItWouldBeWritten) {
  const Arguments flags = {"fold",
                           "--key",
                           "k",
                           "--quiet",
                           "1m",
                           "--id",
                           "i",
                           "--accept-limit",
                           "1h",
                           "--start-when",
                           " s = new ",
                           "--end-when",
                           R"( {"any": ["s=done", {"not": "x<\"5\""}]} )",
                           "--print-spec"};
  const Finished printed = RunPleat(flags);
  EXPECT_EQ(printed.out,
            "{\n  \"key\": [\"k\"],\n  \"quiet\": \"1m\",\n  \"start-when\": \"s=new\",\n"
            "  \"end-when\": {\"any\":[\"s=done\",{\"not\":\"x<\\\"5\\\"\"}]},\n"
            "  \"accept-limit\": \"1h\",\n  \"id\": \"i\"\n}\n");
  TemporaryDirectory dir;
  const std::string path = dir.Write("spec", printed.out);
  EXPECT_EQ(RunPleat({"fold", "--spec", path, "--print-spec"}).out, printed.out);
}

TEST(Spec, FoldsAsTheFlagsWould) {
  TemporaryDirectory dir;
  const std::string path = dir.Write(
      "spec",
      R"json({"key":["k"],"quiet":"1m","merge":["n=count()"],"no-meta":true,"at-end":"flush"})json");
  EXPECT_EQ(Fold({"--spec", path}, "{\"k\":1}\n{\"k\":1}\n").out, "{\"k\":1,\"n\":2}\n");
}

TEST(Spec, FlagsOverrideItAndReplaceItsLists) {
  TemporaryDirectory dir;
  const std::string path = dir.Write(
      "spec", R"json({"key":["a","b"],"quiet":"1m","merge":["n=count()","m=count()"]})json");
  EXPECT_EQ(RunPleat({"fold", "--spec", path, "--quiet", "2m", "--key", "k", "--merge", "x=count()",
                      "--print-spec"})
                .out,
            "{\n  \"key\": [\"k\"],\n  \"quiet\": \"2m\",\n  \"merge\": [\"x=count()\"]\n}\n");
}

TEST(Spec, UnknownMemberIsAUsageErrorThatNamesIt) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("spec", R"json({"key":["k"],"quite":"1m"})json");
  ExpectUsageError({"fold", "--spec", path}, "unknown option \"quite\"; did you mean \"quiet\"?");
  ExpectUsageError({"fold", "--spec", path}, path);
}

TEST(Spec, AMemberGivenTwiceIsAUsageErrorHoweverItIsSpelled) {
  TemporaryDirectory dir;
  for (const char* name : {"quiet", "qu\\u0069et", "max_hold"}) {
    const std::string path = dir.Write(
        "spec", R"({"key":"k","quiet":"1m","max-hold":"1h",")" + std::string(name) + R"(":"2h"})");
    ExpectUsageError({"fold", "--spec", path}, "appears twice");
  }
}

TEST(Spec, UnknownReducerIsAUsageError) {
  TemporaryDirectory dir;
  const std::string path =
      dir.Write("spec", R"json({"key":["k"],"quiet":"1m","merge":["n=median(x)"]})json");
  ExpectUsageError({"fold", "--spec", path}, "median");
}

TEST(Spec, WhatIsNoDocumentIsAUsageError) {
  TemporaryDirectory dir;
  for (const char* text : {"", "[]", "{\"key\":", "{\"key\":{\"a\":1}}", "{} {}"}) {
    SCOPED_TRACE(text);
    ExpectUsageError({"fold", "--spec", dir.Write("spec", text)}, dir / "spec");
  }
}

TEST(Spec, MissingFileIsAnError) {
  const Finished r = RunPleat({"fold", "--spec", "/no/such/spec"});
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "pleat fold: /no/such/spec: No such file or directory\n");
}

TEST(Spec, FileNameThatIsNoTextCannotBePrinted) {
  ExpectUsageError({"fold", "--key", "k", "--quiet", "1m", "--output", "\xff", "--print-spec"},
                   "--print-spec");
}

}  // namespace
}  // namespace pleat::cli
