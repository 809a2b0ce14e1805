// Runs with --input: other formats than lines of JSON, read by the program as its users run it.
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;

// One log, in each of the formats.
struct Format {
  std::string name;
  std::string text;
};

std::vector<Format> FormatsOfOneLog() {
  return {{"ndjson",
           "{\"k\":\"a\",\"t\":0,\"n\":1.5}\n{\"k\":\"007\",\"t\":1,\"n\":null}\n"
           "{\"k\":\"a\",\"t\":2,\"n\":2}\n"},
          {"csv", "k,t,n\r\na,0,1.5\r\n\"007\",1,\r\na,\"2\",2\r\n"},
          {"tsv", "k\tt\tn\na\t0\t1.5\n007\t1\t\na\t2\t2\n"},
          {"logfmt", "k=a t=0 n=1.5\nk=\"007\" t=1 n=\nk=a t=2 n=2\n"},
          {"json",
           "[\n  {\"k\": \"a\", \"t\": 0, \"n\": 1.5},\n  {\"k\": \"007\",\n   \"t\": 1, \"n\": "
           "null},\n"
           "  {\"k\": \"a\", \"t\": 2, \"n\": 2}\n]\n"}};
}

TEST(InputFormats, OneLogHasOneResultInAllOfThem) {
  TemporaryDirectory dir;
  const std::string words = "--key k --time t --time-unit s ";
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"fold", "--quiet 1m --merge 'sum=sum(n)' --raw 2 "},
      {"rollup", "--window 1m --allowed-lateness 1m --value n "},
      {"live", "--member n --ttl 1s "}};
  for (const auto& [command, more] : commands) {
    std::string expected;
    for (const auto& [name, text] : FormatsOfOneLog()) {
      const std::string input = "--input " + name;
      const RunResult r = RunCommand(command, words + more + input, text);
      EXPECT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(r.err, "") << name;
      if (expected.empty()) expected = r.out + r.stats;
      EXPECT_EQ(r.out + r.stats, expected) << command << " " << name;
      const std::string file = dir.Write(name, Gzip(text));
      const std::string threads = " --threads 3 " + file;
      EXPECT_EQ(RunCommand(command, words + more + input + threads, "").out, r.out);
    }
    EXPECT_NE(expected, "");
  }
  std::string table;
  for (const auto& [name, text] : FormatsOfOneLog()) {
    const std::string command = "analyze --json --quiet-summary --input " + name + " ";
    const Finished r = RunToEnd(Pleat(command + words), text);
    EXPECT_EQ(r.code, 0) << r.err;
    if (table.empty()) table = r.out;
    EXPECT_EQ(r.out, table);
  }
  EXPECT_THAT(table, HasSubstr("\"events\":3"));
}

TEST(InputFormats, SumsWorkAndIdentifiersStay) {
  const FoldResult r =
      FoldByKey("--input csv --merge 'n=sum(n)'", "k,n\n007,1\n7,2\n007,\"3\"\n007,\n");
  EXPECT_EQ(r.out, "{\"k\":\"007\",\"n\":4}\n{\"k\":7,\"n\":2}\n");
}

TEST(InputFormats, MessagesNameTheFirstLineOfTheRecord) {
  TemporaryDirectory dir;
  const std::string csv =
      dir.Write("a.csv", "k,t\n\"two\nlines\",0\nx\n\"a\nb\",noon\n\"c\"c,1\nd,\"1\n");
  const FoldResult r = FoldAtTimes(
      "--on-invalid skip --time-unit s --input csv --invalid " + (dir / "invalid") + " " + csv, "");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err,
            csv + ":4: 1 field, and the header has 2\n" +  //
                csv +
                ":5: event time \"noon\" is not of a known form: state it with --time-format\n" +
                csv + ":7: text behind the closing quote of a field\n" + csv +
                ":8: a quote that is not closed\n");
  // A record that was read is kept as JSON, and one that could not be read as it came.
  EXPECT_EQ(Content(dir / "invalid"), "x\n{\"k\":\"a\\nb\",\"t\":\"noon\"}\n\"c\"c,1\nd,\"1\n");
  EXPECT_EQ(Stat(r, "lines"), 5);
  EXPECT_EQ(Stat(r, "invalid"), 4);

  const std::string json =
      dir.Write("a.json", "[{\"k\":1,\"t\":0}, {\"k\":2},\n{\"t\":1}, 5,\n{\n\"k\":[\n]}]");
  const FoldResult j = FoldAtTimes("--on-invalid skip --time-unit s --input json " + json, "");
  EXPECT_EQ(j.err, json + ":1: event time \"t\" is missing; the line has \"k\"\n" + json +
                       ":2: key \"k\" is missing; the line has \"t\"\n" +  //
                       json + ":2: not a JSON object\n" + json +
                       ":3: key \"k\" is an object or an array; \"k\" is an empty array\n");
}

TEST(InputFormats, LinesAreRightBehindManyBlocks) {
  std::string json = "[";
  for (int i = 0; i < 20'000; ++i)
    json += "{\"k\":1,\n\"n\":" + std::to_string(i) + "},{\"k\":2},\n";
  json += "{\"n\":1}]";
  TemporaryDirectory dir;
  const std::string file = dir.Write("a.json", json);
  for (const char* threads : {"1", "3"}) {
    const FoldResult r =
        FoldByKey("--input json --threads " + std::string(threads) + " " + file, "");
    EXPECT_EQ(r.err, file + ":40001: key \"k\" is missing; the line has \"n\"\n");
    EXPECT_EQ(Stat(r, "events"), 40'000);
  }
}

TEST(InputFormats, OnInvalidFailStopsAtARefusedRecord) {
  const FoldResult r = FoldByKey("--on-invalid fail --input csv", "k,n\na,1\nb\nc,1\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.err, "<stdin>:3: 1 field, and the header has 2\n");
  EXPECT_EQ(Stat(r, "events"), 1);
  EXPECT_EQ(FoldByKey("--strict --input csv", "k,n\na,1\nb\n").code, 1);
}

TEST(InputFormats, HeaderThatCannotBeUsedFails) {
  const FoldResult r = FoldByKey("--input csv", "k;n\n1;2\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err,
            "pleat fold: <stdin>:1: the header is one column with semicolons in it: "
            "--input csv --separator ';'\n");
}

TEST(InputFormats, OptionsOfTablesNeedThem) {
  const auto error = [](const std::string& flags) {
    const FoldResult r = FoldByKey(flags, "k\n1\n");
    EXPECT_EQ(r.code, 2) << flags;
    return r.err.substr(0, r.err.find(" (see"));
  };
  EXPECT_EQ(error("--separator ';'"), "pleat fold: --separator: needs --input csv");
  EXPECT_EQ(error("--input tsv --separator ';'"),
            "pleat fold: --separator: tsv has tabs; with others between it is --input csv");
  EXPECT_EQ(error("--input csv --tsv-escapes off"), "pleat fold: --tsv-escapes: needs --input tsv");
  EXPECT_EQ(error("--comment '#'"), "pleat fold: --comment: needs --input csv or tsv");
  EXPECT_EQ(error("--header k"), "pleat fold: --header: needs --input csv or tsv");
  EXPECT_EQ(error("--input csv --separator ';;'"),
            "pleat fold: --separator: must be one character, such as ';' or \\t");
  EXPECT_EQ(FoldByKey("--input csv --separator ';' --comment '#' --header k,n --merge 'n=sum(n)'",
                      "#x\na;1\na;2\n")
                .out,
            "{\"k\":\"a\",\"n\":3}\n");
}

TEST(InputFormats, EachFileHasAHeaderOfItsOwn) {
  TemporaryDirectory dir;
  const std::string files =
      dir.Write("1.csv", "k,n\na,1\n") + " " + dir.Write("2.csv", "n,k\n2,a\nx,y,z\n");
  const FoldResult r = FoldByKey("--input csv --merge 'n=sum(n)' " + files, "");
  EXPECT_EQ(r.out, "{\"k\":\"a\",\"n\":3}\n");
  EXPECT_EQ(r.err, (dir / "2.csv") + ":3: 3 fields, and the header has 2\n");
}

TEST(InputFormats, NoUsableLineSaysWhatMayBeMeant) {
  EXPECT_THAT(
      FoldByKey("--input csv", "K,n\na,1\n").err,
      HasSubstr("no line was usable; key \"k\" is missing in the one line; did you mean \"K\"?"));
  const RunResult list = FoldByKey("--input json", R"({"Records":[{"k":"a"},{"k":"b"}]})");
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.err, HasSubstr(R"(key "k" is missing; "Records" is a list of 2: make a line of )"
                                  R"(each element first, jq -c '.Records[]')"));
  EXPECT_EQ(list.err.find("did you mean"), std::string::npos) << list.err;
  EXPECT_THAT(FoldByKey("--input json", "a,b\n1,2\n").err,
              HasSubstr("no line was usable; the reasons are above\n"));
  EXPECT_THAT(FoldByKey("", "[{\"k\":1},{\"k\":2}]\n").err,
              HasSubstr("<stdin> looks like a JSON array: pleat fold --input json ...\n"));
}

TEST(InputFormats, UnknownFormatAndAFileInItsPlace) {
  EXPECT_THAT(
      FoldByKey("--input xml").err,
      HasSubstr("--input: must be ndjson, csv, tsv, logfmt, json, access, zeek, w3c or sse (see"));
  const FoldResult r = FoldByKey("--input log.csv");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(
      r.err,
      HasSubstr("logfmt, json, access, zeek, w3c or sse; a FILE is named without an option"));
}

TEST(InputFormats, SpecDocumentHoldsTheFormat) {
  TemporaryDirectory dir;
  const Finished printed = RunToEnd(Pleat("fold --key k --quiet 1m --input csv --print-spec"));
  EXPECT_THAT(printed.out, HasSubstr("\"input\": \"csv\""));
  const std::string spec = dir.Write("spec", printed.out);
  EXPECT_EQ(Fold("--no-meta --spec " + spec, "k\na\n").out, "{\"k\":\"a\"}\n");
}

TEST(InputFormats, LogOfZeekHasTypesAndUnsetValues) {
  const RunResult r = Fold(
      "--no-meta --input zeek --key /id.orig_h --quiet 5m --time ts --time-unit s "
      "--merge 'n=count()' --merge 'b=sum(orig_bytes)' --merge 'd=distinct(orig_bytes)' ",
      "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
      "#fields\tts\tuid\tid.orig_h\torig_bytes\n#types\ttime\tstring\taddr\tcount\n"
      "1714521600.123456\tC1\t192.0.2.1\t10\n1714521610.5\tC2\t192.0.2.1\t-\n#close\tx\n");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "{\"id.orig_h\":\"192.0.2.1\",\"n\":2,\"b\":10,\"d\":1}\n");
}

TEST(InputFormats, TimeOfARequestInAnAccessLogIsANumber) {
  const FoldResult r = Fold(
      "--no-meta --input access --key host --quiet 1m --time time --merge 'slowest=max(extra)'",
      "192.0.2.1 - - [05/Feb/2015:22:24:29 +0400] \"POST / HTTP/1.1\" 200 12015 \"-\" \"curl\" "
      "20.178\n"
      "192.0.2.1 - - [05/Feb/2015:22:24:30 +0400] \"GET / HTTP/1.1\" 200 1 \"-\" \"curl\" 0.5\n");
  EXPECT_EQ(r.out, "{\"host\":\"192.0.2.1\",\"slowest\":20.178}\n");
}

TEST(InputFormats, EventsOfAServerAreLinesOfTheirData) {
  const FoldResult r = FoldByKey("--input sse --merge 'n=count()' --merge 'b=sum(b)'",
                                 ":ok\n\nevent: message\nid: [{\"topic\":\"a\"}]\n"
                                 "data: {\"k\":\"ann\",\"b\":1}\n\nevent: message\n"
                                 "data: {\"k\":\"ann\",\ndata:  \"b\":2}\n\n");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "{\"k\":\"ann\",\"n\":2,\"b\":3}\n");
}

// Nobody waits for the end of a stream, and nothing is said twice.
TEST(InputFormats, LineThatGivesItsFormatAwayIsToldOfAtOnce) {
  EXPECT_EQ(
      FoldByKey("", "{\"k\":1,\"t\":1}{\"k\":2,\"t\":1}{\"k\":2,\"t\":2}").err,
      "<stdin>:1: not valid JSON: text after the object; looks like JSON objects without newlines "
      "between: pleat fold --input json ...\n"
      "pleat fold: no line was usable; the reasons are above\n");
  const FoldResult some = FoldByKey("", "{\"k\":1}\n{\"k\":1}{\"k\":2}\n{\"k\":1}{\"k\":2}\n");
  EXPECT_EQ(some.code, 1);
  EXPECT_THAT(some.err,
              HasSubstr(":2: not valid JSON: text after the object; looks like JSON objects"));
  EXPECT_THAT(some.err, HasSubstr(":3: not valid JSON: text after the object\n"));
  EXPECT_THAT(FoldByKey("--input logfmt", "#separator \\x09\n").err,
              HasSubstr(":1: no name=value; looks like a log of Zeek: pleat fold --input zeek"));
  EXPECT_THAT(FoldByKey("", "#Version: 1.0\n#Fields: date time\n").err,
              HasSubstr("looks like a log in the format of the W3C: pleat fold --input w3c ...\n"));
  EXPECT_THAT(FoldByKey("", ":ok\n\nevent: message\ndata: {\"k\":1}\n").err,
              HasSubstr("<stdin>:3: not a JSON object; looks like a stream of server-sent events: "
                        "pleat fold --input sse ...\n"));
  std::string long_line;
  while (long_line.size() <= 2'000'000) long_line += "{\"k\":1}";
  EXPECT_THAT(FoldByKey("", long_line).err, HasSubstr("pleat fold --input json"));
}

// The commands of docs/command-line.md that show their output, in a shell.
TEST(InputFormats, ExamplesOfTheDocumentWriteWhatItSays) {
  const std::string document = Content(SourceDir() + "/docs/command-line.md");
  const size_t begin = document.find("\n## Other formats\n");
  ASSERT_NE(begin, std::string::npos);
  std::string section = document.substr(begin, document.find("\n## ", begin + 1) - begin);
  TemporaryDirectory dir;
  const std::string set_up = "cd " + (dir / "") +
                             " && PATH=" + PleatProgram().substr(0, PleatProgram().rfind('/')) +
                             ":$PATH\n";
  int examples = 0;
  const std::regex example("```sh\n([^`]*)```\n\n```json\n([^`]*)```");
  for (std::sregex_iterator it(section.begin(), section.end(), example), end; it != end; ++it) {
    const Finished r = RunToEnd({"/bin/sh", "-c", set_up + it->str(1)});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, it->str(2));
    ++examples;
  }
  EXPECT_EQ(examples, 4);
}

// --- With --state

class StateOfFormats : public testing::Test {
 protected:
  RunResult Run(const std::string& words) {
    return Fold("--key k --time t --time-unit s --quiet 1m --merge 'n=count()' --output " +
                (dir_ / "out") + " --state " + (dir_ / "j") + " " + words);
  }
  TemporaryDirectory dir_;
};

// The message names lines of the whole file.
TEST_F(StateOfFormats, FileThatHasGrownIsReadOnAtItsPlace) {
  struct Case {
    std::string name;
    std::string before;
    std::string more;
    std::string message;
  };
  for (const auto& [name, before, more, message] :
       {Case{"csv", "k,t,x\na,0,\"1\n2\"\n", "a,1,2\na,59\nb,200,\"\n\"\nb\n",
             ":8: 1 field, and the header has 3\n"},
        Case{"json", "{\"k\":\"a\",\n\"t\":0}",
             "{\"k\":\"a\",\"t\":1},{},\n{\"k\":\"b\",\n\"t\":200}{\"t\":1}",
             ":4: key \"k\" is missing\n"}}) {
    const std::string words = "--input " + name + " ";
    const RunResult once = Run(words + dir_.Write("whole", before + more));
    const std::string expected = Content(dir_ / "out");
    EXPECT_NE(expected, "");
    std::filesystem::remove_all(dir_ / "j");

    const std::string file = dir_.Write("log", before);
    EXPECT_EQ(Run(words + "--at-end keep " + file).code, 0);
    dir_.Write("log", before + more);
    const RunResult rest = Run(words + file);
    EXPECT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(Content(dir_ / "out"), expected);
    EXPECT_EQ(rest.stats, once.stats);
    EXPECT_THAT(rest.err, HasSubstr(file + message));
    std::filesystem::remove_all(dir_ / "j");
  }
}

// That it was missing was an invalid line, which is not there any more.
TEST_F(StateOfFormats, ArrayThatWasReadWithoutItsEndMayNotGoOn) {
  const std::string text = "[{\"k\":\"a\",\"t\":0},\n{\"k\":\"a\",\"t\":1}]";
  for (const size_t read : {text.find('\n'), text.size() - 3}) {
    TemporaryDirectory dir;
    const std::string file = dir.Write("log", text.substr(0, read));
    const std::string words =
        "--input json --state " + (dir / "j") + " --output " + (dir / "out") + " " + file;
    EXPECT_THAT(FoldAtTimes("--time-unit s " + words, "").err,
                HasSubstr("an array that does not end"));
    dir.Write("log", text);
    const RunResult r = FoldAtTimes("--time-unit s " + words, "");
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, HasSubstr("since it was read into --state"));
  }
}

TEST_F(StateOfFormats, FormatHasToStayTheSame) {
  const std::string file = dir_.Write("log", "k,t\na,0\n");
  EXPECT_EQ(Run("--input csv --at-end keep " + file).code, 0);
  const RunResult other = Run("--input tsv " + file);
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--input: is tsv, and was csv when --state"));
  EXPECT_THAT(Run(file).err, HasSubstr("--input: is not given, and was csv when --state"));
}

TEST_F(StateOfFormats, LastRecordThatHasBecomeLongerIsSeen) {
  const std::string file = dir_.Write("log", "k,t\na,0\na,1");
  EXPECT_EQ(Run("--input csv " + file).code, 0);
  dir_.Write("log", "k,t\na,0\na,12\n");
  const RunResult r = Run("--input csv " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("since it was read into --state"));
}

}  // namespace
}  // namespace pleat::cli
