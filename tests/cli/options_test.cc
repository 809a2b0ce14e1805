// Flags, spec documents, help: how the program is told what to do, and what it answers when told
// wrongly.
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;

Finished RunPleat(const std::string& words, std::string_view input = "") {
  return RunToEnd(Pleat(words), input);
}

// A usage error: exit code 2, one line, nothing on standard output, and `what` in that line.
void ExpectUsageError(const std::string& words, const std::string& what) {
  const Finished r = RunPleat(words, "{\"k\":1}\n");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find(what), std::string::npos) << r.err;
}

TEST(Program, AloneItPrintsAShortHelpAndFails) {
  const Finished r = RunPleat("");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("pleat fold"), std::string::npos);
}

TEST(Program, VersionSaysWhatItIsAndReads) {
  const Finished r = RunPleat("--version");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out.rfind("pleat ", 0), 0u);
  for (const char* word : {"gzip", "zstd", "1 MiB"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word;
  }
}

TEST(Program, EveryCommandSaysTheVersion) {
  const std::string version = RunPleat("--version").out;
  for (const char* command : {"fold", "live", "rollup", "analyze", "state"}) {
    const Finished r = RunPleat(std::string(command) + " --version");
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, version) << command;
  }
  EXPECT_EQ(RunPleat("fold --key k --version --quiet 1m").out, version);
  EXPECT_EQ(RunPleat("rollup --version file").out, version);
  EXPECT_EQ(RunPleat("state show d --version").out, version);
  // Of `pleat live` it is the version of its members, and behind -- it is a file.
  EXPECT_EQ(RunPleat("live --version v --key k").out, "");
  EXPECT_EQ(RunPleat("fold --key k --quiet 1m -- --version").code, 1);
}

TEST(Program, HelpOnAFullDiskFailsAndSaysSo) {
  for (const std::string words : {"--help", "--version", "fold --help", "analyze --help",
                                  "fold --key k --quiet 1m --print-spec", "completions bash"}) {
    const Finished r = RunToEnd({"/bin/sh", "-c", PleatProgram() + " " + words + " > /dev/full"});
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_EQ(r.err, "pleat: <stdout>: No space left on device\n") << words;
  }
}

TEST(Program, HelpFitsIntoEightyColumns) {
  for (const std::string words :
       {"--help", "--version", "fold --help", "live --help", "rollup --help", "analyze --help",
        "state --help", "store --help", "run --help", "completions --help"}) {
    const Finished help = RunPleat(words);
    ASSERT_EQ(help.code, 0) << words;
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80u) << words << ": " << line;
    }
  }
}

// An argument may come from anywhere, and must not write to the terminal.
TEST(Program, ControlCharactersAreNotRepeated) {
  TemporaryDirectory dir;
  const std::string name = "a\x1b[31mb\nc";
  for (const Words& words :
       std::vector<Words>{{name},
                          {"fold", "--" + name},
                          {"fold", "--key", name, "--quiet", "1m", name},
                          {"fold", "--key", "k", "--quiet", "1m", "--on-invalid", name},
                          {"fold", "--key", "k", "--quiet", "1m", "--spec", name},
                          {"analyze", "--key", name, "--time", "t", name},
                          {"state", name, name},
                          {"state", "check", dir / name},
                          {"completions", name}}) {
    Words all = {PleatProgram()};
    all.insert(all.end(), words.begin(), words.end());
    const Finished r = RunToEnd(all, "{\"k\":1}\n");
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(r.err.find('\x1b'), std::string::npos) << r.err;
    EXPECT_EQ(r.out.find('\x1b'), std::string::npos) << r.out;
    EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
  }
}

TEST(Program, ASpecIsAFile) {
  const Finished r = RunToEnd(Pleat("fold --spec -"), "{\"key\":\"k\",\"quiet\":\"1m\"}");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "pleat fold: --spec: needs a file of its own, not - (see pleat fold --help)\n");
}

TEST(Program, HelpBeginsWithExamples) {
  const Finished r = RunPleat("fold --help");
  EXPECT_EQ(r.code, 0);
  EXPECT_LT(r.out.find("Examples:"), r.out.find("--max-wait DURATION"));
  EXPECT_EQ(RunPleat("help fold").out, r.out);
  EXPECT_EQ(RunPleat("fold -h").out, r.out);
}

TEST(Program, HelpSaysHowExactPercentilesAreAndInWhichZoneTimesArePrinted) {
  for (const char* command : {"fold", "live", "rollup"}) {
    EXPECT_THAT(RunPleat(command + std::string(" --help")).out, HasSubstr("printed in UTC"));
  }
  std::string help = RunPleat("fold --help").out;
  for (size_t at = 0; (at = help.find("\n      ", at)) != std::string::npos;)
    help.replace(at, 7, " ");
  EXPECT_THAT(help, HasSubstr("p50 to p999 are rounded to three digits, which is within 0.5 %"));
}

TEST(Program, UnknownCommandSuggestsTheNearest) {
  ExpectUsageError("fodl", "did you mean \"fold\"?");
}

TEST(Usage, LettersStandForTheMostUsed) {
  TemporaryDirectory dir;
  const std::string in = dir.Write("in", At(0) + At(60) + At(61));
  const Finished r =
      RunPleat("fold -k k -q 1m -t t -j2 --no-meta --no-summary -o " + (dir / "out") + " " + in);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(Content(dir / "out"), RunPleat("fold --key k --quiet 1m --time t --threads 2 --no-meta"
                                           " --quiet-summary " +
                                           in)
                                      .out);
  for (const char* command : {"live -k k --member m=k --ttl 1m",
                              "rollup -k k --window 1m --allowed-lateness 0", "analyze -k k"}) {
    EXPECT_EQ(RunPleat(command + (" -t t -j 1 --no-summary -o /dev/null " + in)).err, "")
        << command;
  }
}

TEST(Usage, KeyAndQuietAreRequired) {
  ExpectUsageError("fold --quiet 1m", "key");
  ExpectUsageError("fold --key k", "quiet");
}

TEST(Usage, UnknownOptionSuggestsTheNearest) {
  ExpectUsageError("fold --key k --quite 5m", "unknown option --quite; did you mean --quiet?");
  ExpectUsageError("fold --quite=5m", "unknown option --quite; did you mean --quiet?");
  ExpectUsageError("fold --zzzzzz", "unknown option --zzzzzz");
}

TEST(Usage, WhatIsCalledOtherwiseElsewhereIsAnswered) {
  ExpectUsageError("fold --key k --window 1h", "unknown option --window; --close-every 1h closes");
  ExpectUsageError("fold --key k --top 3", "unknown option --top; --merge 'top=top(PATH)'");
  ExpectUsageError("rollup --key k --top 3", "unknown option --top; pleat fold --close-every 1h");
  ExpectUsageError("rollup --key k --member m", "--merge 'n=distinct(PATH)' counts members");
  ExpectUsageError("rollup --key k --merge 'n=count()'", "--merge; pleat fold merges");
  ExpectUsageError("live --format csv", "unknown option --format; --input says");
  const std::string fold = "fold --key k --quiet 1m ";
  ExpectUsageError(fold + "--input nginx", "--input: for that it is access (see");
  ExpectUsageError(fold + "--input cloudfront", "--input: for that it is w3c (see");
  ExpectUsageError(fold + "--merge 'm=avg(a)'", "--merge: \"avg\" is called mean (see");
  ExpectUsageError(fold + "--merge 'm=median(a)'", "--merge: \"median\" is called p50 (see");
  ExpectUsageError(fold + "--merge 'count()'",
                   "\"count()\" is not NAME=REDUCER(PATH); write n=count()");
  ExpectUsageError(fold + "--merge 'sum(a)'", "is not NAME=REDUCER(PATH); write n=sum(a)");
}

TEST(Usage, AnOldNameIsAnsweredWithTheNewOne) {
  ExpectUsageError("journal show d", "unknown command \"journal\": it is called \"state\" now");
  ExpectUsageError("window --key k", "unknown command \"window\": it is called \"live\" now");
  const std::pair<std::string, std::string> options[] = {
      {"--accept-limit", "--allowed-lateness"},
      {"--bad", "--invalid"},
      {"--journal", "--state"},
      {"--lateness", "--reorder"},
      {"--max-hold", "--max-wait"},
      {"--on-bad", "--on-invalid"},
  };
  for (const auto& [old_name, new_name] : options) {
    ExpectUsageError("fold --key k --quiet 1m " + old_name + " x",
                     "unknown option " + old_name + ": it is called " + new_name + " now");
  }
  ExpectUsageError("fold --key k --quiet 1m --durability snapshots",
                   "unknown option --durability: it had one value, and is gone; leave it out, with "
                   "its value");
  // Of a command that has neither, nothing is known.
  EXPECT_EQ(RunPleat("analyze --journal d").err.find("is called"), std::string::npos);
  const TemporaryDirectory dir;
  ExpectUsageError("fold --spec " + dir.Write("spec.json", R"({"max_hold":"1h"})"),
                   "unknown option \"max_hold\": it is called \"max-wait\" now");
}

TEST(Usage, EveryInvalidValueNamesItsOption) {
  for (const std::string wrong : {"--quiet 5x",
                                  "--quiet 0",
                                  "--quiet ''",
                                  "--max-wait 0s",
                                  "--max-events 0",
                                  "--max-events many",
                                  "--max-bytes 0",
                                  "--time-unit fortnight",
                                  "--reorder soon",
                                  "--allowed-lateness 1h30m",
                                  "--future-limit x",
                                  "--idle 0",
                                  "--idle x",
                                  "--merge n",
                                  "--merge 'n=median(x)'",
                                  "--at-end keep",
                                  "--on-invalid ignore",
                                  "--max-groups 0",
                                  "--max-memory much",
                                  "--on-limit drop",
                                  "--threads 0",
                                  "--threads 257",
                                  "--threads two",
                                  "--invalid -",
                                  "--late -",
                                  "--open -",
                                  "--start-when s",
                                  "--end-when a==1",
                                  "--close-when 'n>=1'",
                                  "--flush-when =1",
                                  "--cancel-when '{}'",
                                  "--quiet-path a..b",
                                  "--class a..b",
                                  "--class c",
                                  "--edge rising",
                                  "--partial-every 0",
                                  "--on-late drop",
                                  "--on-late fold",
                                  "--id id",
                                  "--key ''"}) {
    SCOPED_TRACE(wrong);
    ExpectUsageError("fold --key k --quiet 1m " + wrong, wrong.substr(0, wrong.find(' ')));
  }
}

TEST(Usage, PathAsOtherToolsWriteItGetsASuggestion) {
  ExpectUsageError("fold --key .user --quiet 1m",
                   "--key: path \".user\" has an empty step; did you mean \"user\"?");
  ExpectUsageError("fold --key k --quiet 1m --time .a[0].t", "did you mean \"a.0.t\"?");
  ExpectUsageError("fold --key k --quiet 1m --merge 'n=sum(.a)'", "did you mean \"a\"?");
  ExpectUsageError("fold --key k --quiet 1m --end-when .a=1", "did you mean \"a\"?");
}

TEST(Usage, EmptyKeyStandsAlone) {
  EXPECT_EQ(Fold("--key '' --quiet 1m --no-meta --merge 'n=count()'", "{\"k\":1}\n{}\n").out,
            "{\"n\":2}\n");
  ExpectUsageError("fold --key '' --key k --quiet 1m", "--key: '' makes all one group");
  ExpectUsageError("fold --key= --quiet 1m", "--key: needs a value");
  ExpectUsageError("fold --quiet 1m", "'' makes all one group");
  TemporaryDirectory dir;
  const Finished printed = RunPleat("fold --key '' --quiet 1m --print-spec");
  EXPECT_EQ(printed.out, "{\n  \"key\": [\"\"],\n  \"quiet\": \"1m\"\n}\n");
  const std::string spec = dir.Write("spec", printed.out);
  EXPECT_EQ(RunPleat("fold --no-meta --no-summary --spec " + spec, "{}\n").out, "{}\n");
}

TEST(Usage, SwitchMayBeTurnedOff) {
  EXPECT_EQ(RunPleat("fold --key k --quiet 1m --strict=false", "{\"k\":1}\ninvalid\n").code, 0);
  ExpectUsageError("fold --key k --quiet 1m --strict=maybe", "--strict");
}

TEST(Usage, OptionsThatWouldDoNothingAreRefused) {
  const auto refused = [](const std::string& more, const std::string& what) {
    ExpectUsageError("fold --key k --quiet 1m " + more, what);
  };
  refused("--time-unit ms", "--time-unit: needs --time");
  refused("--reorder 1s", "--reorder: needs --time");
  refused("--idle 1s", "--idle: needs --time");
  refused("--allowed-lateness 1s", "--allowed-lateness: needs --time");
  refused("--time t --late x", "--late: needs --allowed-lateness");
  EXPECT_EQ(Fold("--key k --quiet 1m --allowed-lateness 1s --id k").code, 0);
}

TEST(Usage, AConditionGivenTwiceIsAnErrorThatSaysHowToWriteBoth) {
  for (const std::string option :
       {"--where", "--start-when", "--end-when", "--close-when", "--flush-when", "--cancel-when"}) {
    ExpectUsageError(
        "fold --key k --quiet 1m " + option + " s=paid " + option + R"( '{"not":"n<5"}')",
        option + R"(: takes one condition; several are '{"all":["s=paid",{"not":"n<5"}]}')" +
            R"( or '{"any":["s=paid",{"not":"n<5"}]}')");
  }
}

TEST(Spec, PrintedDocumentAmountsToTheSame) {
  TemporaryDirectory dir;
  const Finished printed = RunPleat(
      "fold --key 'who=u.id,/a~1b' --quiet 1.5s --max-wait 1h --max-events 7"
      " --max-bytes 64Ki --start-when 's = new' --close-when 'n>=10'"
      R"( --end-when '{"any":["s=done", {"not":"\"a=b\"<2"}]}' --flush-when 'f="true"')"
      R"( --cancel-when '{"all":["f=true"]}' --quiet-path q --open open --edge both)"
      " --close-every 24h@09:15:30 --close-at c --partial-every 5m --time t --time-unit ms "
      "--reorder 30s --allowed-lateness 1m"
      " --on-late correct --late 'l\"ate' --future-limit 1d --idle 250ms"
      R"( --where '{"not":"a=1"}' --from 2015-09-12 --to 2015-09-13T01:00:00Z)"
      " --merge 'n=count()' --merge 's=sum(v.w)' --merge 'a=array(v,5)'"
      R"x( --merge 'c=concat("a,b",",",9)' --rest first --raw 3 --raw-last 2 --no-meta)x"
      " --at-end drop --on-invalid fail --invalid b --strict --max-groups 1000"
      " --max-memory 4294967296 --on-limit emit --emission-id --threads 3 --output o"
      " --stats s --quiet-summary --print-spec");
  ASSERT_EQ(printed.code, 0) << printed.err;
  for (const std::string& name : WordsOf(
           "key quiet max-wait close-every close-at max-events max-bytes start-when close-when "
           "end-when flush-when"
           " cancel-when quiet-path open edge partial-every time time-unit reorder allowed-lateness"
           " on-late late future-limit idle where from to merge rest raw raw-last no-meta at-end "
           "on-invalid invalid "
           "strict"
           " max-groups max-memory on-limit emission-id threads output stats quiet-summary")) {
    EXPECT_NE(printed.out.find("\"" + name + "\": "), std::string::npos) << name;
  }
  const std::string path = dir.Write("spec", printed.out);
  EXPECT_EQ(RunPleat("fold --spec " + path + " --print-spec").out, printed.out);
}

TEST(Spec, ConditionIsPrintedAsItWouldBeWritten) {
  const Finished printed = RunPleat(
      "fold --key k --quiet 1m --id i --allowed-lateness 1h --start-when ' s = new '"
      R"( --end-when ' {"any": ["s=done", {"not": "x<\"5\""}]} ' --print-spec)");
  EXPECT_EQ(printed.out,
            "{\n  \"key\": [\"k\"],\n  \"quiet\": \"1m\",\n  \"start-when\": \"s=new\",\n"
            "  \"end-when\": {\"any\":[\"s=done\",{\"not\":\"x<\\\"5\\\"\"}]},\n"
            "  \"allowed-lateness\": \"1h\",\n  \"id\": \"i\"\n}\n");
  TemporaryDirectory dir;
  const std::string path = dir.Write("spec", printed.out);
  EXPECT_EQ(RunPleat("fold --spec " + path + " --print-spec").out, printed.out);
}

TEST(Spec, FlagsOverrideItAndReplaceItsLists) {
  TemporaryDirectory dir;
  const std::string path = dir.Write(
      "spec", R"json({"key":["a","b"],"quiet":"1m","merge":["n=count()","m=count()"]})json");
  EXPECT_EQ(
      RunPleat("fold --spec " + path + " --quiet 2m --key k --merge 'x=count()' --print-spec").out,
      "{\n  \"key\": [\"k\"],\n  \"quiet\": \"2m\",\n  \"merge\": [\"x=count()\"]\n}\n");
}

TEST(Spec, UnknownMemberIsAUsageErrorThatNamesIt) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("spec", R"json({"key":["k"],"quite":"1m"})json");
  ExpectUsageError("fold --spec " + path, "unknown option \"quite\"; did you mean \"quiet\"?");
  ExpectUsageError("fold --spec " + path, path);
}

TEST(Spec, AMemberGivenTwiceIsAUsageErrorHoweverItIsSpelled) {
  TemporaryDirectory dir;
  for (const char* name : {"quiet", "qu\\u0069et", "max_wait"}) {
    const std::string path = dir.Write(
        "spec", R"({"key":"k","quiet":"1m","max-wait":"1h",")" + std::string(name) + R"(":"2h"})");
    ExpectUsageError("fold --spec " + path, "appears twice");
  }
}

TEST(Spec, MissingFileIsAnError) {
  const Finished r = RunPleat("fold --spec /no/such/spec");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "pleat fold: /no/such/spec: No such file or directory\n");
}

TEST(Spec, FileNameThatIsNoTextCannotBePrinted) {
  ExpectUsageError("fold --key k --quiet 1m --output '\xff' --print-spec", "--print-spec");
}

}  // namespace
}  // namespace pleat::cli
