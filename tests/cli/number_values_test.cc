// Numbers as other programs write them: in quotes, and one number in several spellings.
#include <string>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

std::string RollupOf(const std::string& words, std::string_view input) {
  const Finished r = RunToEnd(
      Pleat("rollup --window 1m --allowed-lateness 1m --time t --no-summary " + words), input);
  EXPECT_EQ(r.code, 0) << r.err;
  return r.out;
}

std::string FoldOf(const std::string& words, std::string_view input) {
  const Finished r = RunToEnd(Pleat("fold --no-meta --no-summary " + words), input);
  EXPECT_EQ(r.code, 0) << r.err;
  return r.out;
}

// ClickHouse writes UInt64 so.
TEST(NumberValues, InQuotesAreSummed) {
  const std::string input = R"({"user":"a","t":"2024-05-01T00:00:00Z","bytes":"1200"})"
                            "\n"
                            R"({"user":"a","t":"2024-05-01T00:00:05Z","bytes":"300"})"
                            "\n";
  EXPECT_NE(RollupOf("--key user --value bytes", input).find(R"("count":2,"sum":1500,)"),
            std::string::npos);
  EXPECT_EQ(FoldOf("--key user --quiet 1m --time t --merge 's=sum(bytes)'", input),
            "{\"user\":\"a\",\"s\":1500}\n");
  EXPECT_EQ(
      FoldOf("--key user --quiet 1m --time t --where 'bytes>=1000' --merge 'm=max(bytes)'", input),
      "{\"user\":\"a\",\"m\":1200}\n");
  EXPECT_EQ(
      FoldOf("--key user --quiet 1m --time t --close-when 's>=1200' --merge 's=sum(bytes)'", input),
      "{\"user\":\"a\",\"s\":1200}\n{\"user\":\"a\",\"s\":300}\n");
}

TEST(NumberValues, OtherTextIsSaidWithItsPath) {
  const Finished r = RunToEnd(
      Pleat("rollup --window 1m --allowed-lateness 1m --time t --time-unit s -k k --value bytes"),
      "{\"k\":1,\"t\":1,\"bytes\":\"1 200\"}\n{\"k\":1,\"t\":2,\"bytes\":\"-\"}\n");
  EXPECT_NE(r.out.find(R"("count":2,"sum":null,)"), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("; 2 values of \"bytes\" are no number"), std::string::npos) << r.err;
}

// Lines with one stamp, so that groups close in the order in which they opened.
std::string Stamped(std::string lines) {
  for (size_t at = 0; (at = lines.find("}\n", at)) != std::string::npos; at += 8) {
    lines.insert(at, ",\"t\":0");
  }
  return lines;
}

TEST(NumberValues, EqualNumbersAreOneKeyPrintedAsFirstSeen) {
  EXPECT_EQ(
      FoldOf(
          "--key user --quiet 1h --merge 'n=count()' --merge 'v=sum(v)' --merge 'd=distinct(user)'",
          "{\"user\":123,\"v\":1}\n{\"user\":123.0,\"v\":2}\n{\"user\":1.23e2,\"v\":4}\n"),
      "{\"user\":123,\"n\":3,\"v\":7,\"d\":1}\n");
  const std::string merge = "--quiet 1h --time t --time-unit s --merge 'n=count()' ";
  EXPECT_EQ(FoldOf(merge + "--key k",
                   Stamped("{\"k\":19.90}\n{\"k\":19.9}\n{\"k\":\"19.9\"}\n{\"k\":1990e-2}\n")),
            "{\"k\":19.90,\"n\":3}\n{\"k\":\"19.9\",\"n\":1}\n");
  EXPECT_EQ(
      FoldOf(merge + "--key a,b",
             Stamped("{\"a\":-0,\"b\":\"x\"}\n{\"a\":0,\"b\":\"x\"}\n{\"a\":0.0,\"b\":\"y\"}\n")),
      "{\"a\":-0,\"b\":\"x\",\"n\":2}\n{\"a\":0.0,\"b\":\"y\",\"n\":1}\n");
  EXPECT_EQ(
      FoldOf(merge + "--key k", Stamped("{\"k\":9007199254740993.0}\n{\"k\":9007199254740992}\n")),
      "{\"k\":9007199254740993.0,\"n\":1}\n{\"k\":9007199254740992,\"n\":1}\n");
  EXPECT_EQ(FoldOf(merge + "--key k", Stamped("{\"k\":1e1000000000}\n{\"k\":10e999999999}\n")),
            "{\"k\":1e1000000000,\"n\":2}\n");
}

// An id, and the number that is its content.
TEST(NumberValues, EqualNumbersAreOneId) {
  const std::string input =
      "{\"k\":\"u\",\"id\":1,\"t\":0,\"v\":5}\n{\"k\":\"u\",\"id\":1.0,\"t\":1,\"v\":5}\n"
      "{\"k\":\"u\",\"id\":10e-1,\"t\":2,\"v\":5.0}\n";
  EXPECT_NE(
      RollupOf("--key k --id id --value v --time-unit s", input).find("\"count\":1,\"sum\":5,"),
      std::string::npos);
  const Finished fold =
      RunToEnd(Pleat("fold --key k --id id --quiet 1m --allowed-lateness 1m --time t --time-unit s "
                     "--merge 'n=count()' --no-meta"),
               "{\"k\":1.0,\"id\":2.50,\"t\":0,\"v\":[5.0,{\"a\":1e3}]}\n"
               "{\"k\":1,\"id\":2.5,\"t\":0,\"v\":[5,{\"a\":1000}]}\n"
               "{\"k\":1,\"id\":2.5,\"t\":0,\"v\":[5,{\"a\":1001}]}\n");
  EXPECT_EQ(fold.out, "{\"k\":1.0,\"n\":1}\n");
  EXPECT_NE(fold.err.find("1 duplicate"), std::string::npos) << fold.err;
  EXPECT_NE(fold.err.find("1 conflicting"), std::string::npos) << fold.err;
}

TEST(NumberValues, AKeyIsPrintedAsFirstSeenAfterARestart) {
  TemporaryDirectory dir;
  const std::string words = "--key k --quiet 1h --time t --time-unit s --at-end keep --state " +
                            (dir / "state") + " --merge 'n=count()' ";
  EXPECT_EQ(FoldOf(words, "{\"k\":1.50,\"t\":0}\n"), "");
  EXPECT_EQ(FoldOf(words, "{\"k\":1.5,\"t\":1}\n{\"k\":2,\"t\":36000}\n"),
            "{\"k\":1.50,\"n\":2}\n");
}

// Pino writes a member of the logger and one of the call under one name.
TEST(NumberValues, ANameThatComesTwiceSpoilsNoLineThatDoesNotAskForIt) {
  const std::string input =
      "{\"k\":\"a\",\"t\":1,\"key\":\"value\",\"key\":\"foo\"}\n{\"k\":\"a\",\"t\":2,\"key\":"
      "\"bar\"}\n";
  const std::string words = "-k k -q 10s -t t --time-unit s --merge 'n=count()' ";
  EXPECT_EQ(FoldOf(words, input), "{\"k\":\"a\",\"n\":2}\n");
  for (const char* more : {"--merge 's=set(key)'", "--raw 5", "--raw-last 1", "--rest last",
                           "--merge 'l=last(.)'", "--where 'key!=x'"}) {
    const Finished r = RunToEnd(Pleat("fold --no-meta " + words + more), input);
    EXPECT_NE(r.err.find("1: member \"key\" appears twice"), std::string::npos) << more << r.err;
    EXPECT_NE(r.out.find("\"n\":1"), std::string::npos) << more << r.out;
  }
}

// As Python's json module and JavaScript libraries write them.
TEST(NumberValues, NaNAndInfinityAreNullAndSaidOnce) {
  const Finished r = RunToEnd(
      Pleat("fold --no-meta --key k --quiet 1h --merge 's=sum(v)' --merge 'n=count(v)' --merge "
            "'e=set(a)' "
            "--merge 'l=last(.)' --stats -"),
      "{\"k\":NaN,\"v\":NaN,\"a\":[1,NaN,-Infinity]}\n{\"k\":null,\"v\":5,\"a\":[Infinity,\"NaN\"]}"
      "\n");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out,
            "{\"k\":null,\"s\":5,\"n\":1,\"e\":[1,null,\"NaN\"],"
            "\"l\":{\"k\":null,\"v\":5,\"a\":[null,\"NaN\"]}}\n");
  const std::string said =
      "5 values were NaN or Infinity, which JSON does not have: read as null\n";
  const size_t at = r.err.find(said);
  EXPECT_NE(at, std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("Infinity", at + said.size()), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("\"not_numbers\":5"), std::string::npos) << r.err;
  const Finished analyzed = RunToEnd(Pleat("analyze -k n -t t --time-unit s"),
                                     "{\"n\":NaN,\"t\":0}\n{\"n\":1,\"t\":1}\n");
  EXPECT_NE(analyzed.err.find("1 value was NaN or Infinity"), std::string::npos) << analyzed.err;
}

}  // namespace
}  // namespace pleat::cli
