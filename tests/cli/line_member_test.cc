// What the first line of an input holds, and the advice on a --time that names days alone.
#include "tools/pleat/line_member.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Shown(std::string_view line) {
  std::vector<std::string> shown;
  for (const LineMember& each : MembersOf(line)) {
    shown.push_back(each.name + (each.is_text ? "~" : "=") + each.value);
  }
  return shown;
}

TEST(LineMember, EachIsNamedWithItsValue) {
  EXPECT_THAT(Shown(R"({"a":1,"b":"x,\"}y","c":{"d":"}","e":[1,"]"]},"f":null})"),
              ElementsAre("a=1", R"(b~x,\"}y)", R"(c={"d":"}","e":[1,"]"]})", "f=null"));
  EXPECT_THAT(Shown(" { \"a\" : true , \"b\" : [ ] } "), IsEmpty());
  EXPECT_THAT(Shown("{ \"a\" : true , \"b\" : [ ] }"), ElementsAre("a=true", "b=[ ]"));
}

TEST(LineMember, WhatIsNoObjectOrIsCutHasTheMembersBefore) {
  for (const char* line : {"", "x", "[1]", "{", "{}", "{\"", "{\"a", "{\"a\"", "{\"a\":",
                           "{\"a\":\"", "{\"a\":[", "{\"a\":{\"b\":1", "{\"a\":\"\\", "{\"a\\"}) {
    EXPECT_THAT(Shown(line), IsEmpty()) << line;
  }
  EXPECT_THAT(Shown("{\"a\":1,\"b\":["), ElementsAre("a=1"));
}

TEST(LineMember, DaysBesideATimeOfDayAreJoined) {
  EXPECT_EQ(AdviceOnDays(R"({"date":"2024-05-01","time":"06:06:53"})", "date"),
            "\"date\" is a day, so every event is at midnight; --time date,time joins the time of "
            "day in \"time\"");
  EXPECT_THAT(AdviceOnDays(R"({"n":1,"Day":"2024/05/01","eventTime":"16:06"})", "Day"),
              testing::HasSubstr("--time Day,eventTime joins"));
}

TEST(LineMember, OtherTimesAreNot) {
  for (const char* line :
       {R"({"date":"2024-05-01","v":1})", R"({"date":"2024-05-01","duration":"00:45:12"})",
        R"({"date":"2024-05-01","ratio":"1:1000000"})", R"({"date":"2024-05-01","time":"9:58"})",
        R"({"date":"2024-05-01","time":"09:58 PM"})", R"({"date":"1.5.2024","time":"09:58"})",
        R"({"date":"2024-05-01","time":"24:00"})", R"({"date":"2024-05-01","it's time":"06:06"})",
        R"x({"date":"2024-05-01","time(UTC)":"06:06"})x",
        R"({"date":"2024-05-01","a.time":"06:06"})",
        R"({"date":"2024-05-01 06:06:53","time":"06:06:53"})",
        R"({"date":20240501,"time":"06:06:53"})", R"({"date":"1714521600","time":"06:06:53"})",
        R"({"date":"2024-05-01","mac":"00:11:22:33:44:55"})",
        R"({"date":"2024-05-01","ip":"10.0.0.1"})", R"({"other":"2024-05-01","time":"06:06:53"})",
        "{\"date\":\"2024-05-01\",\"ti"}) {
    EXPECT_EQ(AdviceOnDays(line, "date"), "") << line;
  }
}

}  // namespace
}  // namespace pleat::cli
