// What an input of which no line was usable is taken for.
#include "tools/pleat/unusable_input.h"

#include <gtest/gtest.h>

namespace pleat::cli {
namespace {

// What is said of a text that came to no event.
std::string Said(std::string_view text) {
  UnusableInput input;
  uint64_t lines = 0;
  for (; !text.empty(); text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1)) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty()) input.Add("in", line), ++lines;
  }
  return input.Sentence("fold", lines);
}

TEST(UnusableInput, ArrayWithAnElementALineIsSeenThoughItsLastLineIsAnEvent) {
  UnusableInput input;
  input.Add("in", "[");
  input.Add("in", "{\"k\":1},");
  EXPECT_EQ(input.ArraySentence("fold"), "in looks like a JSON array: pleat fold --input json ...");
  UnusableInput other;
  other.Add("in", "{\"k\":1},");
  EXPECT_EQ(other.ArraySentence("fold"), "");
}

TEST(UnusableInput, FormatIsNamedWithTheCommandThatReadsIt) {
  struct Case {
    std::string text;
    std::string kind;
    std::string command;
  };
  for (const Case& c : std::vector<Case>{
           {"user,time\nann,2015\n", "CSV", "pleat fold --input csv"},
           {"user,time\n\"a,b\",2015\n", "CSV", "pleat fold --input csv"},
           {"user;time\nann;2015\n", "CSV with semicolons",
            "pleat fold --input csv --separator ';'"},
           {"\x1e{\"a\":1,\"b\":2}\n\x1e{\"a\":1,\"b\":2}\n", "a JSON text sequence",
            "pleat fold --input json"},
           {"user\ttime\nann\t2015\n", "TSV", "pleat fold --input tsv"},
           {"level=info msg=\"user came\" user=ann\n", "logfmt", "pleat fold --input logfmt"},
           {"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326\n",
            "an access log", "pleat fold --input access"},
           {"[{\"user\":1},{\"user\":2}]\n", "a JSON array", "pleat fold --input json"},
           {"[\n  {\n    \"user\": 1\n  }\n]\n", "a JSON array", "pleat fold --input json"},
           {"{\n  \"user\": 1\n}\n", "pretty-printed JSON", "pleat fold --input json"},
           {"{ \"user\": 1,\n  \"time\": 2 }\n", "pretty-printed JSON", "pleat fold --input json"},
           {std::string("\xfd\x37\x7a\x58\x5a\x00\x00\x04", 8), "xz", "xzcat FILE | pleat fold"},
           {"BZh91AY&SY", "bzip2", "bzcat FILE | pleat fold"},
           {"\x04\x22\x4d\x18\x64", "lz4", "lz4cat FILE | pleat fold"},
           {"PK\x03\x04\x14", "a zip archive", "unzip -p FILE | pleat fold"},
           {std::string("\xff\xfe{\0\"\0", 6), "UTF-16",
            "iconv -f UTF-16 -t UTF-8 FILE | pleat fold"},
           {std::string("\xfe\xff\0{\0\"", 6), "UTF-16",
            "iconv -f UTF-16 -t UTF-8 FILE | pleat fold"},
           {std::string("{\0\"\0", 4), "UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE | pleat fold"},
           {std::string("\0{\0\"", 4), "UTF-16", "iconv -f UTF-16BE -t UTF-8 FILE | pleat fold"}}) {
    EXPECT_EQ(Said(c.text),
              "no line was usable; in looks like " + c.kind + ": " + c.command + " ...");
  }
}

// The line has no scalar at `path` of --key.
std::string Help(UnusableInput& input, std::string_view path, std::string_view line) {
  const std::string reason = "key \"" + std::string(path) + "\" is missing";
  input.Add("in", line);
  return input.AddMissing({"key", std::string(path)}, reason, line);
}

TEST(UnusableInput, PathGetsItsHintAtTheFirstLineThatLacksIt) {
  UnusableInput input;
  EXPECT_EQ(Help(input, "user", R"({"User":1,"at":2})"), R"(did you mean "User"?)");
  EXPECT_EQ(Help(input, "user", R"({"User":1,"at":3})"), "");
  EXPECT_EQ(Help(input, "zone", R"({"User":1,"at":{"t":5}})"), R"(the line has "User", "at")");
  EXPECT_EQ(Help(input, "at.zone", R"({"User":1,"at":{"t":5}})"), R"("at" has "t")");
  EXPECT_EQ(Help(input, "id.h", R"({"id.h":1})"),
            R"(did you mean "/id.h"? (a name with dots is written as a JSON Pointer))");
  EXPECT_EQ(Help(input, "user", R"({"USER":1})"), "");
}

TEST(UnusableInput, PathThatLinesLackIsNamedWithTheirNumberAndWhatTheFirstHas) {
  UnusableInput one;
  Help(one, "user", R"({"User":1,"at":2})");
  EXPECT_EQ(one.Sentence("fold", 1),
            R"(no line was usable; key "user" is missing in the one line; did you mean "User"? )"
            R"(The first has "User", "at")");
  UnusableInput input;
  for (int i = 0; i < 1'234; ++i) Help(input, "zone", R"({"User":1,"at":{}})");
  EXPECT_EQ(input.Sentence("fold", 1'234),
            R"(no line was usable; key "zone" is missing in all 1,234 lines; )"
            R"(the first has "User", "at")");
  for (int i = 0; i < 2'000; ++i) Help(input, "at.t", R"({"User":1,"at":{}})");
  EXPECT_EQ(
      input.Sentence("fold", 4'000),
      R"(no line was usable; key "at.t" is missing in 2,000 of 4,000 lines; "at" has no members. )"
      R"(key "zone" is missing in 1,234 of 4,000 lines; the first has "User", "at")");
}

TEST(UnusableInput, FormatComesBeforeWhatIsMissing) {
  UnusableInput input;
  input.Add("in", "[");
  Help(input, "user", R"({"User":1})");
  EXPECT_EQ(input.Sentence("fold", 2),
            "no line was usable; in looks like a JSON array: pleat fold --input json ...");
}

TEST(UnusableInput, AnythingElseIsLeftToTheReasons) {
  const std::string said = "no line was usable; the reasons are above";
  for (const std::string_view text :
       {"", "nonsense\nmore of it\n", "{\"name\":\"user\",\"v\":\"User\"}\n", "{\"user\":1}\n",
        "[info] came\n", "{\"line\":\"- [10/Oct/2000:13:55:36 -0700]\"}\n", "a, and b\n",
        "{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2}\n", "x=1\n", "{"}) {
    EXPECT_EQ(Said(text), said) << text;
  }
}

TEST(UnusableInput, FirstInputWithInvalidLinesIsTheOneThatIsNamed) {
  UnusableInput input;
  input.Add("a.csv", "user,time");
  input.Add("b.json", "{");
  input.Add("a.csv", "ann,1");
  EXPECT_EQ(input.Sentence("analyze", 3),
            "no line was usable; a.csv looks like CSV: pleat analyze --input csv ...");
}

}  // namespace
}  // namespace pleat::cli
