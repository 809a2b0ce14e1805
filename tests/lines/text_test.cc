#include "engine/lines/scan/text.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

namespace pleat {
namespace {

std::string Canonical(std::string_view text) {
  std::string out(text.size(), '?');
  const char* const end = WriteCanonical(text, out.data());
  out.resize(static_cast<size_t>(end - out.data()));
  return out;
}

std::string Unescaped(std::string_view inside) {
  std::string out(inside.size(), '?');
  const char* const end = WriteUnescaped(inside, out.data());
  out.resize(static_cast<size_t>(end - out.data()));
  return out;
}

std::string Quoted(std::string_view bytes) {
  std::string out;
  AppendJsonString(bytes, out);
  return out;
}

TEST(Text, EscapesExactlyQuotesBackslashesAndControls) {
  constexpr const char* kControls[] = {
      R"(\u0000)", R"(\u0001)", R"(\u0002)", R"(\u0003)", R"(\u0004)", R"(\u0005)", R"(\u0006)",
      R"(\u0007)", R"(\b)",     R"(\t)",     R"(\n)",     R"(\u000b)", R"(\f)",     R"(\r)",
      R"(\u000e)", R"(\u000f)", R"(\u0010)", R"(\u0011)", R"(\u0012)", R"(\u0013)", R"(\u0014)",
      R"(\u0015)", R"(\u0016)", R"(\u0017)", R"(\u0018)", R"(\u0019)", R"(\u001a)", R"(\u001b)",
      R"(\u001c)", R"(\u001d)", R"(\u001e)", R"(\u001f)"};
  for (int c = 0; c < 0x80; ++c) {
    const std::string byte(1, static_cast<char>(c));
    const std::string inside = c < 0x20    ? kControls[c]
                               : c == '"'  ? "\\\""
                               : c == '\\' ? "\\\\"
                                           : byte;
    EXPECT_EQ(Quoted(byte), "\"" + inside + "\"") << c;
    EXPECT_EQ(Unescaped(inside), byte) << c;
    EXPECT_EQ(Canonical("\"" + inside + "\""), "\"" + inside + "\"") << c;
  }
}

TEST(Text, MakesEverySpellingOfAStringTheSame) {
  EXPECT_EQ(Canonical(R"("\u0061\/\u002f\u0022\u005C\u000A\u0008\u001F\u007f")"),
            "\"a//\\\"\\\\\\n\\b\\u001f\x7f\"");
  EXPECT_EQ(Canonical(R"("\u00e9\u00E9")"), "\"\xc3\xa9\xc3\xa9\"");
  EXPECT_EQ(Canonical(R"("\u2028\uffff\u0800\u07ff")"),
            "\"\xe2\x80\xa8\xef\xbf\xbf\xe0\xa0\x80\xdf\xbf\"");
  EXPECT_EQ(Canonical(R"("\ud83d\ude00\uD800\uDC00\uDBFF\uDFFF")"),
            "\"\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"");
  EXPECT_EQ(Canonical("\"\xe2\x80\xa8/\""), "\"\xe2\x80\xa8/\"");
}

TEST(Text, CopiesContainersCompactAndNumbersAsWritten) {
  EXPECT_EQ(Canonical("{ \"a b\" :\t[ 1.0 , -0 ,1E+5\r\n, \"\\u0041 \\\"\" ] , \"c\" : { } }"),
            R"({"a b":[1.0,-0,1E+5,"A \""],"c":{}})");
}

TEST(Text, RewritesWhatItWroteToTheSame) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {"a",   "\\n",      "\\u0000",        "\\\\",    "\\\"",
                                           "\\/", "\xc3\xa9", "\\ud83d\\ude00", "\\u00e9", " "};
  for (int round = 0; round < 10'000; ++round) {
    std::string inside;
    for (size_t i = random() % 12; i > 0; --i) inside += pieces[random() % pieces.size()];
    ASSERT_EQ(CheckEscapes(inside), "");
    const std::string bytes = Unescaped(inside);
    const std::string canonical = Canonical("\"" + inside + "\"");
    ASSERT_EQ(canonical, Quoted(bytes)) << inside;
    ASSERT_EQ(Canonical(canonical), canonical) << inside;
    ASSERT_EQ(Unescaped(std::string_view(canonical).substr(1, canonical.size() - 2)), bytes);
  }
}

TEST(Text, VisitsElements) {
  std::vector<std::string> seen;
  ForEachElement(R"([ 1 , "a,]" ,[2,[3]], {"x":[4]} ,null ])",
                 [&](std::string_view element) { seen.emplace_back(element); });
  EXPECT_THAT(seen, ::testing::ElementsAre("1", R"("a,]")", "[2,[3]]", R"({"x":[4]})", "null"));
  ForEachElement("[ ]", [&](std::string_view) { FAIL(); });
}

TEST(Text, VisitsMembers) {
  std::vector<std::string> seen;
  ForEachMember(R"({ "a" : 1 ,"b\"}":{"c":[1]}, "":"\\"})",
                [&](std::string_view name, std::string_view value) {
                  seen.push_back(std::string(name) + "=" + std::string(value));
                });
  EXPECT_THAT(seen, ::testing::ElementsAre(R"("a"=1)", R"("b\"}"={"c":[1]})", R"(""="\\")"));
  ForEachMember("{ }", [&](std::string_view, std::string_view) { FAIL(); });
}

}  // namespace
}  // namespace pleat
