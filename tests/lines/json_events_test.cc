// JsonEvents: what it hands on of each line, and in which order.
#include <pleat/untyped/json_events.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const EngineTime kNow = FromUnix(std::chrono::seconds(1'700'000'000));

EventSpec EventsSpec(std::string_view key, std::string_view time = "") {
  EventSpec spec;
  EXPECT_TRUE(SetOption(spec, "key", key).ok());
  if (!time.empty()) {
    EXPECT_TRUE(SetOption(spec, "time", time).ok());
    spec.time_unit = TimeUnit::kSeconds;
  }
  return spec;
}

// What is handed on, "index key|id|line", and "index: reason" of each unusual line. Lines with "no"
// in them are refused.
struct Taken {
  std::vector<std::string> all;
  std::vector<EngineTime> stamps;
  LineCounts counts;
};

Taken TakeAll(JsonEvents& events, std::string text, bool stops = false) {
  const size_t size = text.size();
  text.resize(size + kLinePaddingBytes);
  JsonLines lines(events.plan());
  lines.Read(std::string_view(text).substr(0, size));
  Taken taken;
  events.Take(
      lines, kNow,
      [&](const JsonEvent& event) -> std::string_view {
        if (event.line.find("\"no\"") != event.line.npos) return "is not wanted";
        taken.stamps.push_back(event.at);
        taken.all.push_back(std::to_string(event.index) + " " + std::string(event.key) + "|" +
                            std::string(event.id) + "|" + std::string(event.line));
        return {};
      },
      [&](const UnusualLine& line) {
        taken.all.push_back(std::to_string(line.index) + ": " + std::string(line.result.reason));
        return !stops;
      });
  taken.counts = events.counts();
  return taken;
}

// Of numbers in the form by which equal ones are one.
TEST(JsonEvents, KeysAndIdsAreTheTextsOfScalars) {
  const auto events = *JsonEvents::Open(EventsSpec("k"), "i");
  EXPECT_THAT(
      TakeAll(*events, "{\"k\":\"a\\\"b\\\\\",\"i\":1.50}\n {\"k\":null,\"i\":\"\"} \r\n").all,
      ElementsAre("0 a\"b\\|1.5|{\"k\":\"a\\\"b\\\\\",\"i\":1.50}",
                  "1 null||{\"k\":null,\"i\":\"\"}"));
}

TEST(JsonEvents, AKeyOfSeveralFieldsIsCanonical) {
  const auto events = *JsonEvents::Open(EventsSpec("a,b"));
  EXPECT_THAT(TakeAll(*events, "{\"a\":\"x\",\"b\":4}").all,
              ElementsAre("0 \"x\",4||{\"a\":\"x\",\"b\":4}"));
}

TEST(JsonEvents, AreStampedByTheLineOrElseByTheCall) {
  const std::string line = "{\"k\":1,\"t\":100}";
  EXPECT_THAT(TakeAll(**JsonEvents::Open(EventsSpec("k", "t")), line).stamps,
              ElementsAre(FromUnix(std::chrono::seconds(100))));
  EXPECT_THAT(TakeAll(**JsonEvents::Open(EventsSpec("k")), line).stamps, ElementsAre(kNow));
}

TEST(JsonEvents, ComeInTheOrderOfLinesBetweenInvalidOnes) {
  const auto events = *JsonEvents::Open(EventsSpec("k"));
  const std::string text = "{\"k\":1}\n\nx\n{\"k\":2,\"no\":1}\n{\"j\":1}\n{\"k\":3}\n";
  const Taken taken = TakeAll(*events, text);
  ASSERT_EQ(taken.all.size(), 5u);
  EXPECT_EQ(taken.all[0], "0 1||{\"k\":1}");
  EXPECT_THAT(taken.all[1], HasSubstr("2: "));
  EXPECT_EQ(taken.all[2], "3: is not wanted");
  EXPECT_THAT(taken.all[3], HasSubstr("4: "));
  EXPECT_EQ(taken.all[4], "5 3||{\"k\":3}");
  EXPECT_EQ(taken.counts.lines, 5u);
  EXPECT_EQ(taken.counts.events, 2u);
  EXPECT_EQ(taken.counts.invalid, 3u);
}

TEST(JsonEvents, EndAtAnUnusualLineIfThatIsWanted) {
  for (const char* const bad : {"x", "{\"k\":2,\"no\":1}"}) {
    const auto events = *JsonEvents::Open(EventsSpec("k"));
    const Taken taken =
        TakeAll(*events, "{\"k\":1}\n" + std::string(bad) + "\n{\"k\":3}\n", /*stops=*/true);
    EXPECT_EQ(taken.all.size(), 2u) << bad;
    EXPECT_EQ(taken.counts.lines, 2u) << bad;
  }
}

TEST(JsonEvents, NameTheOptionThatIsWrong) {
  EXPECT_THAT(std::string(JsonEvents::Open({}).status().message()), HasSubstr("--key: "));
  EXPECT_THAT(std::string(JsonEvents::Open(EventsSpec("k"), "/a~2").status().message()),
              HasSubstr("--id: "));
}

}  // namespace
}  // namespace pleat
