// What is said of a path that leads to no member of a line.
#include "engine/lines/spec/path_hint.h"

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json_lines.h>

#include "engine/lines/scan/scanner.h"
#include "tests/lines/lines.h"

namespace pleat {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kLine =
    R"( {"Actor":{"login":"ann","id":5},"created_at":"2015","id.orig_h":"1","a":{"b.c":{"d":1}},)"
    R"("tags":[{"name":"x"},{"k":2}],"n":[1,2],"\u00e9":[], "price":1.5,"no":null,"o":{}} )";

std::string MeantBy(std::string_view path, std::string_view line = kLine) {
  return HintFor(line, path).meant;
}

// Where the path ends, and what is there.
std::string FoundBy(std::string_view path, std::string_view line = kLine) {
  const PathHint hint = HintFor(line, path);
  return (hint.place.empty() ? "line" : hint.place) + " " + hint.has;
}

TEST(PathHint, NameInAnotherSpelling) {
  EXPECT_EQ(MeantBy("actor.login"), "Actor.login");
  EXPECT_EQ(MeantBy("/Actor/LOGIN"), "Actor.login");
  EXPECT_EQ(MeantBy("createdAt"), "created_at");
  EXPECT_EQ(MeantBy("created-at"), "created_at");
  EXPECT_EQ(MeantBy("ACTOR"), "Actor");
}

TEST(PathHint, PathAsOtherToolsWriteIt) {
  EXPECT_EQ(MeantBy("$.Actor.login"), "Actor.login");
  EXPECT_EQ(MeantBy("$.actor.id"), "Actor.id");
  EXPECT_EQ(MeantBy("$['Actor']['id']"), "Actor.id");
  EXPECT_EQ(MeantBy("tags[1].k"), "tags.1.k");
  EXPECT_EQ(MeantBy("tags[0].name"), "tags.0.name");
  EXPECT_EQ(MeantBy("n[]"), "n.0");
  EXPECT_EQ(MeantBy("Actor/login"), "Actor.login");
  EXPECT_THAT(StepsMeant(".user"), ElementsAre("user"));
  EXPECT_THAT(StepsMeant(".a[0].b"), ElementsAre("a", "0", "b"));
  EXPECT_THAT(StepsMeant("$"), IsEmpty());
  EXPECT_THAT(StepsMeant("..//"), IsEmpty());
  EXPECT_THAT(StepsMeant("a[0"), ElementsAre("a[0"));
}

TEST(PathHint, NameWithDots) {
  EXPECT_EQ(MeantBy("id.orig_h"), "/id.orig_h");
  EXPECT_EQ(MeantBy("a.b.c.d"), "/a/b.c/d");
  EXPECT_EQ(MeantBy("a/b~c.d", R"({"a/b~c.d":1})"), "/a~1b~0c.d");
}

TEST(PathHint, ArrayThatWasNotThoughtOf) {
  EXPECT_EQ(MeantBy("n"), "n.0");
  EXPECT_EQ(MeantBy("x.y", R"({"x":[[[1,2]]],"z":[{"Y":1}]})"), "");
}

// A path with an index in it would fold one element of a list and lose the others.
TEST(PathHint, ListOfObjectsIsToBecomeLines) {
  constexpr std::string_view kRecords = R"({"Records":[{"u":"a"},{"u":"b"}]})";
  for (const char* path : {"u", "U", "Records.u", "records[].u", "$.Records[*].u", "Records.7.u"}) {
    EXPECT_EQ(MeantBy(path, kRecords), "") << path;
    EXPECT_EQ(FoundBy(path, kRecords),
              R"("Records" is a list of 2: make a line of each element first, )"
              R"(jq -c '.Records[]')")
        << path;
  }
  EXPECT_EQ(MeantBy("Records[1].U", kRecords), "Records.1.u");
  EXPECT_EQ(MeantBy("records.0.u", kRecords), "Records.0.u");
  EXPECT_EQ(FoundBy("x.y", R"({"x":[[[{"Y":1}]]]})"),
            R"("x.0.0" is a list of 1: make a line of each element first, )"
            R"(jq -c '.x[][][]')");
  EXPECT_EQ(FoundBy("z", R"({"a-b":{"c 2":[{"z":{"w":[{"v":1}]}}]}})"),
            R"("a-b.c 2" is a list of 1: make a line of each element first, )"
            R"(jq -c '.["a-b"]["c 2"][]')");
  EXPECT_EQ(FoundBy("z", R"({"it's":[{"z":1}]})"),
            R"("it's" is a list of 1: make a line of each element first)");
}

TEST(PathHint, SameNameElsewhereAsNearToTheTopAsThereIsOne) {
  EXPECT_EQ(MeantBy("login"), "Actor.login");
  EXPECT_EQ(MeantBy("user.login"), "Actor.login");
  EXPECT_EQ(MeantBy("Actor.price"), "price");
  EXPECT_EQ(MeantBy("x", R"({"a":{"b":{"x":1}},"c":{"x":2}})"), "c.x");
}

TEST(PathHint, NearName) {
  EXPECT_EQ(MeantBy("prcie"), "price");
  EXPECT_EQ(MeantBy("prices"), "price");
  EXPECT_EQ(MeantBy("Actr.login"), "Actor.login");
  EXPECT_EQ(MeantBy("time", R"({"tim":1,"timestamp":2})"), "tim");
  EXPECT_EQ(MeantBy("time", R"({"a":1,"timestamp":2})"), "timestamp");
  EXPECT_EQ(MeantBy("name", R"({"page":1})"), "");
  EXPECT_EQ(MeantBy("k", R"({"v":1})"), "");
  EXPECT_EQ(MeantBy("zzz"), "");
}

TEST(PathHint, WhatThereIs) {
  EXPECT_EQ(
      FoundBy("zzz"),
      R"(line has "Actor", "created_at", "id.orig_h", "a", "tags", "n", "é", "price", "no", "o")");
  EXPECT_EQ(FoundBy("Actor.zzz"), R"("Actor" has "login", "id")");
  EXPECT_EQ(FoundBy("Actor"), R"("Actor" has "login", "id")");
  EXPECT_EQ(FoundBy("Actor.login.x"), R"("Actor.login" is text)");
  EXPECT_EQ(FoundBy("/a/b.c/x"), R"("/a/b.c" has "d")");
  EXPECT_EQ(FoundBy("price.x"), R"("price" is a number)");
  EXPECT_EQ(FoundBy("no.x"), R"("no" is null)");
  EXPECT_EQ(FoundBy("tags.2"), R"("tags" is an array of 2)");
  EXPECT_EQ(FoundBy("tags.0.x"), R"("tags.0" has "name")");
  EXPECT_EQ(FoundBy("o"), R"("o" has no members)");
  EXPECT_EQ(FoundBy("x", "{}"), "line has no members");
}

TEST(TypeHint, NamesComparisonsOfAnotherType) {
  const auto hint = [](std::string_view condition, std::string_view line = kLine) {
    return TypeHintFor(line, *ParseCondition(condition));
  };
  EXPECT_EQ(hint("price=5xx"), R"("price" is a number, "5xx" is text)");
  EXPECT_EQ(hint(R"(price>="500")"), R"("price" is a number, "500" is text)");
  EXPECT_EQ(hint("Actor.login<=5"), R"("Actor.login" is text, 5 is a number)");
  EXPECT_EQ(hint("Actor=5"), R"("Actor" is an object, 5 is a number)");
  EXPECT_EQ(hint(R"({"any":["n=true",{"all":["price=1","price=x"]}]})"),
            R"("n" is an array, true is a boolean; "price" is a number, "x" is text)");
  for (const std::string_view fine :
       {"price=5", "price!=x", "price=null", "no=x", "zzz=x", R"({"not":"price=x"})"}) {
    EXPECT_EQ(hint(fine), "") << fine;
  }
  for (const std::string_view line : {"", "nonsense", "[1]", R"({"price":1,)"}) {
    EXPECT_EQ(hint("price=x", line), "") << line;
  }
}

TEST(PathHint, NothingIsSaidOfAScalarOrOfWhatIsNoObject) {
  for (const char* path : {"Actor.login", "price", "n.1", "no"}) {
    const PathHint hint = HintFor(kLine, path);
    EXPECT_EQ(hint.meant + hint.place + hint.has, "") << path;
  }
  for (const std::string_view line :
       {"", " ", "nonsense", "[{\"a\":1}]", "{\"a\":1", "{\"a\":1,\"a\":2}"}) {
    const PathHint hint = HintFor(line, "A");
    EXPECT_EQ(hint.meant + hint.place + hint.has, "") << line;
  }
}

TEST(PathHint, LongNamesAndManyAreCut) {
  std::string line = "{\"" + std::string(1000, 'n') + "\":{\"\\u001b[31m\":1}";
  for (int i = 0; i < 30; ++i) line += ",\"" + std::to_string(i) + "\":0";
  const std::string found = FoundBy("zzz", line + "}");
  EXPECT_THAT(found, StartsWith("line has \"" + std::string(60, 'n') + "...\", \"0\", \"1\", "));
  EXPECT_THAT(found, testing::EndsWith("\"18\" and 11 more"));
  EXPECT_EQ(FoundBy(std::string(1000, 'n') + ".x", line + "}"),
            "\"" + std::string(60, 'n') + "...\" has \"\\u001b[31m\"");
}

// The path that is meant leads somewhere, whatever the line; and a line as large as one may be takes no
// longer than a person waits.
TEST(PathHint, IsAPathOfTheLineWhateverTheLine) {
  std::mt19937_64 random(5);
  const auto pick = [&](const std::vector<std::string>& texts) {
    return texts[random() % texts.size()];
  };
  const std::function<std::string(int)> value = [&](int depth) -> std::string {
    const size_t kind = random() % (depth < 4 ? 6 : 3);
    if (kind < 3) return pick({"1", "\"x\\\"}]\"", "null", "-2.5e3"});
    std::string out;
    for (size_t i = random() % 4; i > 0; --i) {
      const std::string name = std::vector<std::string>{"a", "A", "b.c", "a_b"}[i - 1];
      out += (out.empty() ? "" : pick({",", " ,\t"})) + (kind == 3 ? "" : "\"" + name + "\" :") +
             value(depth + 1);
    }
    return kind == 3 ? "[ " + out + " ]" : "{" + out + "}";
  };
  size_t found = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string line = R"({"a":)" + value(1) + R"(,"ab":)" + value(1) + "}";
    std::string path = pick({"a", "A", "aB", "$", "b"});
    for (size_t i = random() % 4; i > 0; --i)
      path += pick({".a", ".b", ".c", ".0", "[0]", ".a_b", "/a"});
    const PathHint hint = HintFor(line, path);
    if (hint.meant.empty()) continue;
    ++found;
    PathTree paths;
    const int slot = paths.Add(*ParsePath(hint.meant));
    Scanner scanner(paths);
    const PaddedLine padded(line);
    ASSERT_EQ(scanner.Scan(padded.view()), "") << line;
    EXPECT_NE(scanner.value(slot).kind, Value::Kind::kAbsent)
        << path << " " << hint.meant << " " << line;
  }
  EXPECT_GT(found, 5'000u);
}

TEST(PathHint, LineMayBeAsLargeAsOneMayBe) {
  const auto filled = [](std::string_view begin, std::string_view piece, std::string_view end) {
    std::string line(begin);
    while (line.size() + piece.size() + end.size() + 1 < kLineBytesMax) line += piece;
    line.back() == ',' ? void(line.pop_back()) : void();
    return line += end;
  };
  EXPECT_EQ(FoundBy("a.x", filled(R"({"a":[)", "0,", "]}")), R"("a" is an array of 1000 or more)");
  EXPECT_EQ(MeantBy("a.x", filled(R"({"a":[)", R"({"y":0},)", "]}")), "");
  EXPECT_EQ(MeantBy("X", filled(R"({"x":")", "y", "\"}")), "x");
  std::string deep;
  for (int i = 0; i < 62; ++i) deep += "{\"a\":[";
  EXPECT_EQ(MeantBy("zzz", deep), "");  // no good line
}

}  // namespace
}  // namespace pleat
