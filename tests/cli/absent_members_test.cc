// Members that some lines lack, and lists whose elements are found by name.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Finished PleatRun(const std::string& words, std::string_view input) {
  return RunToEnd(Pleat(words), input);
}

// Alerts, some of which have no cluster (case 14).
constexpr std::string_view kAlerts =
    R"({"labels":{"alertname":"Disk","cluster":"eu"},"at":"2024-05-01T00:00:00Z"}
{"labels":{"alertname":"Disk"},"at":"2024-05-01T00:00:10Z"}
{"labels":{"alertname":"Disk"},"at":"2024-05-01T00:00:20Z"}
)";

TEST(AbsentMembers, CountAsNullIfThePathSaysSo) {
  const Finished r = PleatRun(
      "fold -k 'labels.alertname,labels.cluster?' -q 30s -t at --merge 'n=count()' --no-meta "
      "--no-summary",
      kAlerts);
  EXPECT_EQ(r.out,
            "{\"alertname\":\"Disk\",\"cluster\":\"eu\",\"n\":1}\n"
            "{\"alertname\":\"Disk\",\"cluster\":null,\"n\":2}\n");
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.code, 0);
}

// A deletion has its row before the change, and null behind it (case 15).
TEST(AbsentMembers, AnotherMemberStandsForThem) {
  const Finished r = PleatRun(
      "fold -k 'id=after.id|before.id' -q 1m -t ts --time-unit s --merge 'op=last(op)' --no-meta "
      "--no-summary",
      R"({"op":"c","before":null,"after":{"id":7,"name":"a"},"ts":1}
{"op":"u","before":{"id":7,"name":"a"},"after":{"id":7,"name":"b"},"ts":2}
{"op":"d","before":{"id":7,"name":"b"},"after":null,"ts":3}
)");
  EXPECT_EQ(r.out, "{\"id\":7,\"op\":\"d\"}\n");
  EXPECT_EQ(r.err + std::to_string(r.code), "0");
}

constexpr std::string_view kDaemon =
    R"(time="2022-01-31T13:16:37.9Z" level=info msg="Starting up"
time="2022-01-31T13:16:38.0Z" level=info msg="scheme: \"unix\"" module=grpc
time="2022-01-31T13:16:39Z" level=info msg=Configured driver=awslogs
)";

// Case 17.
TEST(AbsentMembers, CountAsNullInOtherFormatsToo) {
  const Finished r = PleatRun(
      "fold --input logfmt -k driver? -q 10m -t time --merge 'n=count()' --no-meta --no-summary",
      kDaemon);
  EXPECT_EQ(r.out, "{\"driver\":null,\"n\":2}\n{\"driver\":\"awslogs\",\"n\":1}\n");
}

// The first event at once, and how many there were (case 48).
TEST(AbsentMembers, SuppressAndCountNeedsNone) {
  std::string lines;
  for (int t = 0; t < 400; t += 20) lines += "{\"host\":\"h\",\"t\":" + std::to_string(t) + "}\n";
  const Finished r = PleatRun(
      "fold -k host,msg? -q inf --max-wait 5m -t t --time-unit s --edge both --merge 'n=count()' "
      "--no-summary",
      lines);
  std::vector<std::string> seen;
  std::istringstream in(r.out);
  for (std::string line; std::getline(in, line);) {
    const size_t reason = line.find("\"reason\":\"") + 10;
    const size_t n = line.find("\"n\":") + 4;
    seen.push_back(line.substr(reason, line.find('"', reason) - reason) + " " +
                   line.substr(n, line.find(',', n) - n));
  }
  EXPECT_THAT(seen, testing::ElementsAre("leading 1", "max_wait 15", "leading 1", "end 5"));
}

// GA4 exports its parameters so (case 47).
TEST(ElementsByName, AreFoundWhereverTheyStand) {
  const Finished r = PleatRun(
      "fold -k 's=event_params[key=ga_session_id].value.int_value' -q 30m -t event_timestamp "
      "--time-unit us --merge 'n=count()' --no-meta --no-summary",
      R"({"event_timestamp":"1714521600000000","event_params":[{"key":"page","value":)"
      R"({"string_value":"/x"}},{"key":"ga_session_id","value":{"int_value":"171"}}]}
{"event_timestamp":"1714521601000000","event_params":[{"key":"ga_session_id","value":{"int_value":"171"}}]}
)");
  EXPECT_EQ(r.out, "{\"s\":\"171\",\"n\":2}\n");
  EXPECT_EQ(r.err, "");
}

// As Python writes them. They are nulls, wherever they stand.
TEST(ElementsByName, ThatAreNoNumbersAreNull) {
  const Finished r = PleatRun(
      "fold -k 'k=p[n=x].v' -q 1m -t t --time-unit s --merge 's=sum(p[n=y].v)' "
      "--merge 'l=set(p[n=y].v)' --where 'p[n=z].v=null' --no-meta --no-summary",
      R"({"t":1,"p":[{"n":"x","v":NaN},{"n":"y","v":-Infinity},{"n":"z","v":Infinity}]}
{"t":2,"p":[{"n":"x","v":null},{"n":"y","v":3}]}
)");
  EXPECT_EQ(r.out, "{\"k\":null,\"s\":3,\"l\":[3]}\n");
}

constexpr std::string_view kSpans =
    R"({"t":1,"attributes":[{"key":"http.route","value":{"stringValue":"/a"}},{"key":"ms","value":{"intValue":7}}]}
{"t":2,"attributes":[{"key":"ms","value":{"intValue":9}},{"key":"http.route","value":{"stringValue":"/a"}}]}
{"t":3,"attributes":[{"key":"ms","value":{"doubleValue":0.5}}]}
)";

TEST(ElementsByName, AreKeysValuesAndConditionsOfEveryCommand) {
  const std::string route = "'route=attributes[key=http.route].value.stringValue?'";
  const std::string ms = "attributes[key=ms].value.intValue|attributes[key=ms].value.doubleValue";
  EXPECT_EQ(PleatRun("fold -k " + route +
                         " -q 1m -t t --time-unit s --no-meta --no-summary --merge "
                         "'ms=sum(" +
                         ms + ")' --where 'attributes[key=ms].value.intValue!=9'",
                     kSpans)
                .out,
            "{\"route\":\"/a\",\"ms\":7}\n{\"route\":null,\"ms\":0.5}\n");
  EXPECT_EQ(PleatRun("rollup -k " + route +
                         " --window 1m --allowed-lateness 0 -t t --time-unit s "
                         "--no-summary --value '" +
                         ms + "'",
                     kSpans)
                .out,
            "{\"route\":\"/a\",\"start\":\"1970-01-01T00:00:00.000000Z\",\"end\":"
            "\"1970-01-01T00:01:00.000000Z\",\"count\":2,\"sum\":16,\"reason\":\"end\"}\n"
            "{\"route\":null,\"start\":\"1970-01-01T00:00:00.000000Z\",\"end\":"
            "\"1970-01-01T00:01:00.000000Z\",\"count\":1,\"sum\":0.5,\"reason\":\"end\"}\n");
  EXPECT_THAT(
      PleatRun("live -k '' --member " + route + " --ttl 1m -t t --time-unit s --no-summary", kSpans)
          .out,
      HasSubstr("\"route\":null"));
  EXPECT_THAT(
      PleatRun("analyze -k " + route + " -t t --time-unit s --json --no-summary", kSpans).out,
      HasSubstr("\"events\":3,\"keys\":2"));
}

TEST(ElementsByName, AreNamedByTheHintThatTheWrongWayGives) {
  const auto hint = [](const std::string& path) {
    return PleatRun("fold -k '" + path + "' -q 1m -t t --time-unit s", kSpans).err;
  };
  const std::string meant = "did you mean \"attributes[key=http.route].value.stringValue\"?";
  EXPECT_THAT(hint("/attributes/http.route/value/stringValue"), HasSubstr(meant));
  EXPECT_THAT(hint("/attributes/http.route"), HasSubstr(meant));
  EXPECT_THAT(hint("attributes[key=http.rout].value.stringValue"), HasSubstr(meant));
  EXPECT_THAT(hint("attributes[key=zz].value"),
              HasSubstr("\"attributes\" has elements with \"key\" \"http.route\", \"ms\""));
  EXPECT_THAT(hint("attributes[name=ms].value"),
              HasSubstr("\"attributes\" is a list in which no element has \"name\""));
}

TEST(AbsentMembers, IdThatIsNullIsNoId) {
  const std::string lines =
      R"({"k":1,"id":"a","t":1}
{"k":1,"id":"a","t":1}
{"k":1,"id":null,"t":2}
{"k":1,"id":null,"t":2}
{"k":1,"t":3}
{"k":1,"t":3}
)";
  const std::string more = " -k k --id 'id?' -t t --time-unit s --allowed-lateness 1h";
  EXPECT_EQ(Fold("-q 1m --no-meta --merge 'n=count()'" + more, lines).out, "{\"k\":1,\"n\":5}\n");
  EXPECT_THAT(RunCommand("rollup", "--window 1m" + more, lines).out, HasSubstr("\"count\":5"));
  const FoldResult without = Fold(
      "-q 1m --no-meta --merge 'n=count()' -k k --id id -t t --time-unit s --allowed-lateness 1h",
      lines);
  EXPECT_EQ(without.out, "{\"k\":1,\"n\":3}\n");
  EXPECT_EQ(ParseStats(without.stats)["invalid"], 2);
}

TEST(AbsentMembers, TimeTakesAnotherMemberAndNoNull) {
  const std::string lines = "{\"k\":1,\"a\":1}\n{\"k\":1,\"b\":5}\n{\"k\":1,\"a\":null,\"b\":9}\n";
  EXPECT_EQ(Fold("-k k -q 1m -t 'a|b' --time-unit s --no-meta --merge 'd=duration()'", lines).out,
            "{\"k\":1,\"d\":8}\n");
  const Finished wrong = PleatRun("fold -k k -q 1m -t 'a?'", lines);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--time: \"a?\": an event has a time, and takes no ?"));
}

TEST(AbsentMembers, QuotesAndPointersMakeMarksLetters) {
  const std::string lines = R"({"a?":1,"b|c":2,"d[e=f]":3,"g,h":4})"
                            "\n";
  const std::string merge = " -q 1m --no-meta";
  EXPECT_EQ(Fold(R"(-k '"a?","b|c",/d[e=f],"g,h"')" + merge, lines).out,
            "{\"a?\":1,\"b|c\":2,\"d[e=f]\":3,\"g,h\":4}\n");
  EXPECT_EQ(Fold(R"(-k 'x="a?"?,y=/b|c,z=/z?,w="z?"?')" + merge, lines).out,
            "{\"x\":1,\"y\":2,\"z\":null,\"w\":null}\n");
  const Finished spec = PleatRun(R"(fold -k 'x="a?"?,y="b|c"|z' -q 1m --print-spec)", "");
  EXPECT_THAT(spec.out, HasSubstr(R"("key": ["x=\"a?\"?", "y=\"b|c\"|z"])"));
  EXPECT_THAT(PleatRun("fold -k k --id a,b --allowed-lateness 1h -q 1m", "").err,
              HasSubstr("has a comma in it: this option takes one path"));
}

// The message says how to write them; a guess would take the marks for letters.
TEST(AbsentMembers, MarksInTheWrongPlaceGetNoGuess) {
  for (const char* const key : {"'a.b?|c'", "'x.id||y'", "'a[k=x?|y].v'", "'a[k=].v'"}) {
    const Finished r = PleatRun("fold -q 1m -k " + std::string(key), "");
    EXPECT_EQ(r.code, 2) << key;
    EXPECT_THAT(r.err, Not(HasSubstr("did you mean"))) << key;
  }
  EXPECT_THAT(PleatRun("fold -q 1m -k a..b", "").err, HasSubstr("did you mean \"a.b\""));
}

TEST(AbsentMembers, BarInAValueIsToldHowToWriteAny) {
  const Finished r = PleatRun("fold -k k -q 1m --where 'a=x|y'", "");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr(R"(one of several is {"any":["a=1","a=2"]})"));
}

// --- Lines that are left out

TEST(MostInvalid, FailsBehindTheOutput) {
  const std::string two_of_three = "{\"x\":1}\n{\"k\":1,\"t\":1}\n{\"x\":2}\n";
  const std::string said =
      "exit code 1, as 2 of 3 lines were invalid; --on-invalid skip takes that "
      "as it is\n";
  for (const std::string command : {"fold --quiet 1m", "live --member m=t --ttl 1m",
                                    "rollup --window 1m --allowed-lateness 0", "analyze --json"}) {
    const std::string words = command + " -k k -t t --time-unit s";
    const Finished r = PleatRun(words, two_of_three);
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.out, "") << words;
    const std::string name = "pleat " + command.substr(0, command.find(' ')) + ": ";
    EXPECT_TRUE(r.err.ends_with(
        name +
        "2 of 3 lines were left out: key \"k\" is missing; --key 'k?' takes null there, and "
        "'k|OTHER' another member\n" +
        name + said))
        << r.err;
    EXPECT_EQ(PleatRun(words + " --on-invalid skip", two_of_three).code, 0);
    EXPECT_EQ(PleatRun(words + " --on-invalid skip", two_of_three).out, r.out);
    EXPECT_EQ(PleatRun(words + " --no-summary", two_of_three).code, 1);
  }
}

TEST(MostInvalid, HalfOfTheLinesAreNotMost) {
  const auto code = [](const std::string& lines, const std::string& words = "") {
    return PleatRun("fold -k k -q 1m --no-summary " + words, lines).code;
  };
  EXPECT_EQ(code("{\"k\":1}\n{}\n"), 0);
  EXPECT_EQ(code("{\"k\":1}\n{}\n{}\n"), 1);
  EXPECT_EQ(code("{\"k\":1}\n{\"k\":2,\"x\":1}\n{}\n{}\n{}\n", "--where x!=1"), 1);
  EXPECT_EQ(code("{\"k\":1}\n{\"k\":2,\"x\":1}\n{}\n", "--where x!=1"), 0);
  EXPECT_EQ(code("{\"k\":1}\n{\"k\":2,\"x\":1}\n{}\n{}\n", "--where x!=1"), 1);
  EXPECT_THAT(
      PleatRun("fold -k k -q 1m --where x!=1", "{\"k\":1}\n{\"k\":2,\"x\":1}\n{}\n{}\n").err,
      HasSubstr("as 2 of 3 lines that were not excluded were invalid"));
  EXPECT_EQ(code(""), 0);
  EXPECT_EQ(code("{\"k\":1}\n{}\n{}\n", "--on-invalid most"), 1);
}

TEST(MostInvalid, AFileIsWrittenAllTheSame) {
  const TemporaryDirectory dir;
  const Finished r =
      PleatRun("fold -k k -q 1m --no-meta -o " + (dir / "out"), "{}\n{}\n{\"k\":1}\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(Content(dir / "out"), "{\"k\":1}\n");
}

TEST(LeftOutLines, AreSaidWithBothWays) {
  const Finished r = PleatRun("fold -k driver --input logfmt -q 10m -t time", kDaemon);
  EXPECT_THAT(r.err, HasSubstr("2 of 3 lines were left out: key \"driver\" is missing; --key "
                               "'driver?' takes null there, and 'driver|OTHER' another member"));
  EXPECT_THAT(PleatRun("fold -k k -q 1m -t t --time-unit s", "{\"k\":1,\"t\":1}\n{\"k\":1}\n").err,
              HasSubstr("1 of 2 lines was left out: event time \"t\" is missing; --time 't|OTHER' "
                        "takes another member there"));
  EXPECT_THAT(PleatRun("fold -k /a.b -q 1m", "{\"a.b\":1}\n{\"k\":1}\n").err,
              HasSubstr(R"(--key '/a.b?' takes null there, and '"/a.b"|OTHER' another member)"));
  EXPECT_THAT(PleatRun("fold -k k -q 1m", "{\"k\":1}\n{\"k\":{}}\n").err,
              Not(HasSubstr("left out")));
}

// --- Formats without types

TEST(Untyped, WordsOfAConditionHoldForTextAsWell) {
  const auto kept = [](const std::string& words, const std::string& input) {
    return Fold("-q 1m --no-meta --merge 'n=count()' -k k " + words, input).out;
  };
  const std::string csv = "k,on\n1,true\n1,\"true\"\n1,false\n1,\n1,null\n";
  EXPECT_EQ(kept("--input csv --where on=true", csv), "{\"k\":1,\"n\":2}\n");
  EXPECT_EQ(kept("--input csv --where on!=true", csv), "{\"k\":1,\"n\":3}\n");
  EXPECT_EQ(kept("--input csv --where on=null", csv), "{\"k\":1,\"n\":2}\n");
  EXPECT_EQ(kept("--input tsv --where on=false", "k\ton\n1\tfalse\n1\ttrue\n"),
            "{\"k\":1,\"n\":1}\n");
  EXPECT_EQ(kept("--input logfmt --where on=true", "k=1 on=true\nk=1 on=\"true\"\nk=1 on\n"),
            "{\"k\":1,\"n\":3}\n");
  EXPECT_EQ(kept("--where on=true", "{\"k\":1,\"on\":\"true\"}\n{\"k\":1,\"on\":true}\n"),
            "{\"k\":1,\"n\":1}\n");
  EXPECT_EQ(kept("--input csv --end-when on=true", "k,on\n1,true\n1,true\n"),
            "{\"k\":1,\"n\":1}\n{\"k\":1,\"n\":1}\n");
}

// --- Names of columns that a header has more than once

TEST(DoubledNames, AreSaidToWhoAsksForThem) {
  const std::string csv = "Sprint,k,Sprint,Sprint,a.b,a.b\n1,2,3,4,5,6\n";
  const auto said = [&](const std::string& words) {
    return PleatRun("fold --input csv -q 1m " + words, csv).err;
  };
  EXPECT_THAT(said("-k Sprint"),
              HasSubstr("<stdin> has 3 columns named \"Sprint\"; --key takes the first, and the "
                        "others are \"Sprint_2\" and \"Sprint_3\"\n"));
  EXPECT_THAT(said("-k k --merge 'x=last(/a.b?)'"),
              HasSubstr("<stdin> has 2 columns named \"a.b\"; --merge takes the first, and the "
                        "other is \"a.b_2\"\n"));
  EXPECT_THAT(said("-k k --merge 'x=last(Sprint_2)'"), Not(HasSubstr("columns named")));
  for (const char* const key : {"'Sprint|k'", "'no|Sprint'", "'no|/Sprint?'"}) {
    EXPECT_THAT(said("-k " + std::string(key)), HasSubstr("3 columns named \"Sprint\"")) << key;
  }
  EXPECT_THAT(
      PleatRun("rollup --input tsv -k a --window 1m --allowed-lateness 0", "a\ta\n1\t2\n").err,
      HasSubstr("<stdin> has 2 columns named \"a\"; --key takes the first, and the other is "
                "\"a_2\"\n"));
}

}  // namespace
}  // namespace pleat::cli
