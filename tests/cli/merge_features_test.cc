// Every merge on the command line, one test each, with the exact output.
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

// What one group makes of `lines`, which have the key `k` and the time `t` in seconds. Quiet for a
// minute; without "_fold".
std::string Merged(const Arguments& more, std::string_view lines) {
  Arguments arguments = {"--key", "k",           "--quiet", "1m",       "--time",
                         "t",     "--time-unit", "s",       "--no-meta"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const FoldResult r = Fold(arguments, lines);
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.err, "");
  return r.out;
}

std::string MergedBy(const std::string& merge, std::string_view lines) {
  return Merged({"--merge", "m=" + merge}, lines);
}

// Of all types, out of order, with ties.
constexpr std::string_view kEvents = R"({"k":1,"t":15,"v":2.50}
{"k":1,"t":12,"v":"x\u0020y"}
{"k":1,"t":15,"v":10}
{"k":1,"t":12,"v":[10, {"a" : 1}, null]}
{"k":1,"t":14,"v":null}
{"k":1,"t":14}
{"k":1,"t":14,"v":true}
{"k":1,"t":14,"v":{"b":1,"a":2}}
{"k":1,"t":14,"v":{"c":3,"b":4}}
)";

TEST(MergeFeaturesCli, First) {
  EXPECT_EQ(MergedBy("first(v)", kEvents), "{\"k\":1,\"m\":\"x y\"}\n");
}

TEST(MergeFeaturesCli, Last) { EXPECT_EQ(MergedBy("last(v)", kEvents), "{\"k\":1,\"m\":10}\n"); }

TEST(MergeFeaturesCli, Sum) { EXPECT_EQ(MergedBy("sum(v)", kEvents), "{\"k\":1,\"m\":12.5}\n"); }

TEST(MergeFeaturesCli, Min) { EXPECT_EQ(MergedBy("min(v)", kEvents), "{\"k\":1,\"m\":2.50}\n"); }

TEST(MergeFeaturesCli, Max) { EXPECT_EQ(MergedBy("max(v)", kEvents), "{\"k\":1,\"m\":10}\n"); }

TEST(MergeFeaturesCli, Mean) { EXPECT_EQ(MergedBy("mean(v)", kEvents), "{\"k\":1,\"m\":6.25}\n"); }

TEST(MergeFeaturesCli, Count) {
  EXPECT_EQ(MergedBy("count()", kEvents), "{\"k\":1,\"m\":9}\n");
  EXPECT_EQ(MergedBy("count(v)", kEvents), "{\"k\":1,\"m\":7}\n");
}

TEST(MergeFeaturesCli, Set) {
  EXPECT_EQ(MergedBy("set(v)", kEvents),
            R"({"k":1,"m":[2.50,"x y",10,{"a":1},null,true,{"b":1,"a":2},{"c":3,"b":4}]})"
            "\n");
  EXPECT_EQ(MergedBy("set(v,3)", kEvents), "{\"k\":1,\"m\":[2.50,\"x y\",10]}\n");
}

TEST(MergeFeaturesCli, Keys) {
  EXPECT_EQ(MergedBy("keys(v)", kEvents), "{\"k\":1,\"m\":[\"b\",\"a\",\"c\"]}\n");
  EXPECT_EQ(MergedBy("keys(v,2)", kEvents), "{\"k\":1,\"m\":[\"b\",\"a\"]}\n");
}

TEST(MergeFeaturesCli, Distinct) {
  EXPECT_EQ(MergedBy("distinct(v)", kEvents), "{\"k\":1,\"m\":8}\n");
  EXPECT_EQ(MergedBy("distinct(v,5)", kEvents), "{\"k\":1,\"m\":5}\n");
}

TEST(MergeFeaturesCli, Array) {
  EXPECT_EQ(MergedBy("array(v)", kEvents),
            R"({"k":1,"m":[2.50,"x y",10,10,{"a":1},null,true,{"b":1,"a":2},{"c":3,"b":4}]})"
            "\n");
  EXPECT_EQ(MergedBy("array(v,4)", kEvents), "{\"k\":1,\"m\":[2.50,\"x y\",10,10]}\n");
}

TEST(MergeFeaturesCli, Concat) {
  EXPECT_EQ(MergedBy("concat(v)", kEvents), "{\"k\":1,\"m\":\"2.50,x y,10,true\"}\n");
  EXPECT_EQ(MergedBy("concat(v, | )", kEvents), "{\"k\":1,\"m\":\"2.50 | x y | 10 | true\"}\n");
  EXPECT_EQ(MergedBy(R"x(concat(v,"\n"))x", kEvents), R"({"k":1,"m":"2.50\nx y\n10\ntrue"})"
                                                      "\n");
  EXPECT_EQ(MergedBy(R"x(concat(v,"",9))x", kEvents), "{\"k\":1,\"m\":\"2.50x y10\"}\n");
}

constexpr std::string_view kVisits = R"({"k":1,"t":15,"page":"a","user":{"name":"ann"}}
{"k":1,"t":12,"page":"b","ip":null}
{"k":1,"t":15,"page":"c","ip":"::1"}
{"k":1,"t":12,"page":"d"}
)";

TEST(MergeFeaturesCli, RestFirst) {
  EXPECT_EQ(Merged({"--merge", "n=count()", "--rest", "first"}, kVisits),
            "{\"k\":1,\"n\":4,\"page\":\"b\",\"user\":{\"name\":\"ann\"},\"ip\":\"::1\"}\n");
}

TEST(MergeFeaturesCli, RestLast) {
  EXPECT_EQ(Merged({"--merge", "n=count(user.name)", "--rest", "last"}, kVisits),
            "{\"k\":1,\"n\":1,\"page\":\"c\",\"ip\":\"::1\"}\n");
  EXPECT_EQ(Merged({"--rest", "drop"}, kVisits), "{\"k\":1}\n");
}

TEST(MergeFeaturesCli, Raw) {
  EXPECT_EQ(Merged({"--raw", "2", "--rest", "first", "--merge", "n=count()"},
                   " { \"k\" : 1, \"t\":15, \"x\":\"\\u0061 b\" }\r\n{\"k\":1,\"t\":16}\n"
                   "{\"k\":1,\"t\":17}\n"),
            "{\"k\":1,\"n\":3,\"x\":\"a b\",\"_raw\":[{\"k\":1,\"t\":15,\"x\":\"a b\"},"
            "{\"k\":1,\"t\":16}]}\n");
}

TEST(MergeFeaturesCli, CutIsMarked) {
  const Arguments merges = {"--key",   "k",          "--quiet", "1m",
                            "--time",  "t",          "--raw",   "2",
                            "--merge", "a=array(v)", "--merge", "b=array(v,2)",
                            "--merge", "s=sum(v)",   "--merge", "c=concat(v,-,3)",
                            "--merge", "d=set(v,1)", "--merge", "e=keys(v,1)",
                            "--merge", "f=set(v,3)", "--merge", "g=distinct(v,2)"};
  const std::string meta = "\"first\":" + Printed(0) + ",\"last\":" + Printed(2) +
                           ",\"closed\":" + Printed(2) + ",\"reason\":\"end\",";
  std::string events;
  std::string first_two;
  for (int i = 0; i < 3; ++i) {
    std::string event = At(i);
    event.insert(event.size() - 2, ",\"v\":" + std::to_string(i));
    events += event;
    if (i < 2) first_two += (i == 0 ? "" : ",") + event.substr(0, event.size() - 1);
  }
  EXPECT_EQ(Fold(merges, events).out,
            "{\"k\":\"a\",\"a\":[0,1,2],\"b\":[0,1],\"s\":3,\"c\":\"0-1\",\"d\":[0],\"e\":[],"
            "\"f\":[0,1,2],\"g\":2,\"_raw\":[" +
                first_two + "],\"_fold\":{\"count\":3," + meta +
                "\"cut\":[\"b\",\"c\",\"d\",\"g\",\"_raw\"]}}\n");
}

TEST(MergeFeaturesCli, NestedPaths) {
  EXPECT_EQ(Merged({"--merge", "a=array(deep.er.v)", "--merge", "b=concat(/x~1y/0,-)", "--merge",
                    "c=distinct(deep.er.w)", "--merge", "d=keys(/deep)", "--merge",
                    "e=array(\"a,b\",1)", "--rest", "last"},
                   "{\"k\":1,\"t\":1,\"deep\":{\"er\":{\"v\":[1,2],\"w\":3}},\"x/y\":{\"0\":4},"
                   "\"x\":{\"y\":5},\"a,b\":6,\"deep.er.v\":7}\n"
                   "{\"k\":1,\"t\":1,\"deep\":{\"er\":{\"v\":8,\"w\":9}},\"x/y\":{\"0\":true}}\n"),
            "{\"k\":1,\"a\":[1,2,8],\"b\":\"4-true\",\"c\":2,\"d\":[\"er\"],\"e\":[6],"
            "\"x\":{\"y\":5},\"deep.er.v\":7}\n");
}

TEST(MergeFeaturesCli, SpecDocumentHoldsThem) {
  TemporaryDirectory dir;
  const Finished printed = RunToEnd(
      Pleat({"fold", "--key", "k", "--quiet", "1m", "--merge", "a=array(v,5)", "--merge",
             R"x(c=concat("a,b",",",9))x", "--rest", "first", "--raw", "3", "--print-spec"}));
  EXPECT_EQ(printed.out,
            "{\n  \"key\": [\"k\"],\n  \"quiet\": \"1m\",\n  \"merge\": [\"a=array(v,5)\", "
            "\"c=concat(\\\"a,b\\\",\\\",\\\",9)\"],\n  \"rest\": \"first\",\n  \"raw\": 3\n}\n");
  const std::string path = dir.Write("spec", printed.out);
  EXPECT_EQ(RunToEnd(Pleat({"fold", "--spec", path, "--print-spec"})).out, printed.out);
}

TEST(MergeFeaturesCli, ThreadsChangeNothing) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) {
    const std::string n = std::to_string(i % 97);
    lines += "{\"k\":" + std::to_string(i % 50) + ",\"t\":" + std::to_string(i / 10) +
             ",\"v\":\"a rather long value " + n + "\",\"m" + n + "\":" + n + "}\n";
  }
  TemporaryDirectory dir;
  const Arguments one = {"--merge",
                         "a=array(v,9)",
                         "--merge",
                         "b=distinct(v)",
                         "--merge",
                         "c=concat(v)",
                         "--rest",
                         "last",
                         "--raw",
                         "2",
                         dir.Write("in", lines)};
  Arguments three = one;
  three.insert(three.end(), {"--threads", "3"});
  const std::string alone = Merged(one, "");
  EXPECT_NE(alone, "");
  EXPECT_TRUE(Merged(three, "") == alone);
}

}  // namespace
}  // namespace pleat::cli
