// Random lines under random options: `pleat rollup` and the model of tests/model write the same
// lines, have the same windows open at the end, and count the same, with one thread and with four.
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/model/plain_rollup_options.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::cli {
namespace {

class RollupDraw {
 public:
  explicit RollupDraw(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }
  template <size_t n>
  const char* Pick(const char* const (&texts)[n]) {
    return texts[Below(n)];
  }

  std::string Options() {
    std::string out = std::string("--key ") + Pick({"k", "k", "who=k,s", "k,x.y", "''"}) +
                      " --time t --time-unit s";
    const auto add = [&](size_t percent, const std::string& option) {
      if (Chance(percent)) out += " --" + option;
    };
    out +=
        std::string(" --window ") + Pick({"1s", "4s", "10s", "2500ms", "7s", "1s,2s", "2s,10s,60s",
                                          "1d", "1000000d", "500ms,3s", "4s,8s,12s", "1us"});
    out += std::string(" --allowed-lateness ") +
           Pick({"0", "1s", "4s", "9s", "2500ms", "20s", "2000000d", "100000000d"});
    add(30, std::string("margin ") + Pick({"0", "1s", "5s", "1us", "100000000d"}));
    add(60, "value v");
    add(50, "id i");
    add(60, std::string("on-late ") + Pick({"reject", "clamp", "correct"}));
    add(20, std::string("reorder ") + Pick({"1s", "4s", "12s"}));
    add(15, "future-limit 25s");
    add(30, "emission-id");
    add(20, "at-end drop");
    add(15, std::string("max-keys ") + Pick({"1", "2", "3"}));
    far_ = Chance(10);
    return out;
  }

  std::string Line() {
    if (Chance(3)) {
      return Pick({"", " \t", "invalid", "[1]", "{}", R"({"k":"a","t":1}})", R"({"t":1})",
                   R"({"k":[],"t":1})", R"({"k":"a","k":"a","t":1})", "\xef\xbb\xbf{}"});
    }
    std::string out =
        std::string("{\"k\":") + Pick({"\"a\"", "\"b\"", "\"c\"", "1", "\"\\u0061\"", "null"});
    const auto add = [&](size_t percent, const std::string& member) {
      if (Chance(percent)) out += Pick({",", ", "}) + member;
    };
    add(90, std::string("\"s\":") + Pick({"1", "1.5", "\"x, \\\"y\\\"\"", "true"}));
    add(95, std::string("\"x\":") + Pick({"{\"y\":1}", "{\"y\":\"\\/\"}", "{}"}));
    add(98, "\"t\":" + Time());
    add(97, "\"i\":" + Id());
    add(80, "\"v\":" + Value());
    return out + '}';
  }

 private:
  std::string Id() {
    if (Chance(3)) return Pick({"[]", "{}", "null", "\"\""});
    if (Chance(30)) return Pick({"1", "2", "\"1\"", "1.0", "\"\\u0031\""});
    return std::to_string(Below(40));
  }

  std::string Value() {
    if (Chance(60)) return std::to_string(static_cast<int>(Below(7)) - 2);
    return Pick({"0.1",
                 "0.2",
                 "1e0",
                 "1.0",
                 "-0",
                 "-0.0",
                 "1e300",
                 "-1e300",
                 "1e-400",
                 "1e400",
                 "-1e400",
                 "1.7e308",
                 "-1.7e308",
                 "9223372036854775807",
                 "-9223372036854775808",
                 "9223372036854775808",
                 "-99999999999999999999",
                 "null",
                 "\"1\"",
                 "[1]",
                 "true",
                 "99.99",
                 "-5.5",
                 "9007199254740993"});
  }

  std::string Time() {
    if (Chance(2)) {
      return Pick({"null", "\"x\"", "1e30", "[]", "\"1970-01-01T00:10:00Z\"",
                   "\"1970-13-01T00:00:00Z\"", "\"1970-01-01T23:59:60Z\""});
    }
    if (far_ && Chance(4)) {
      return Pick({"\"0001-01-01T00:00:00Z\"", "\"0001-01-01T00:00:09Z\"", "0", "-1", "-0.5",
                   "\"9999-12-31T23:59:59.999999Z\"", "\"9999-12-31T23:59:50Z\"",
                   "\"2026-01-01T00:00:00Z\""});
    }
    static constexpr int kSteps[] = {0, 0, 0, 0, 0, 1, 1, 2, 3, 9, 40};
    seconds_ += kSteps[Below(std::size(kSteps))];
    const size_t behind = Chance(30) ? Below(Chance(20) ? 150 : 15) : 0;
    return std::to_string(seconds_ - static_cast<int>(behind)) +
           Pick({"", "", ".5", ".25", ".999999"});
  }

  std::mt19937_64 random_;
  int seconds_ = 600;
  bool far_ = false;  // some stamps are centuries away
};

void ExpectSameRollup(uint64_t seed, std::map<std::string, double>& seen) {
  RollupDraw draw(seed);
  const std::string options = draw.Options();
  SCOPED_TRACE(options);
  const PlainRollupCall call = ReadPlainRollupOptions(WordsOf(options));
  ASSERT_EQ(call.unknown, "");
  RollupLinesModel model(call.options);
  std::string input;
  std::string expected;
  for (size_t lines = 1 + draw.Below(200); lines > 0; --lines) {
    const std::string line = draw.Line();
    input += line + '\n';
    ASSERT_TRUE(model.AddLine(line, expected));
  }
  model.EndLines(expected);
  const std::string open = model.Open();
  model.End(expected);
  const auto expected_stats = ParseStats(model.Stats());
  for (const char* threads : {"1", "4"}) {
    SCOPED_TRACE(std::string("--threads ") + threads);
    const TemporaryDirectory directory;
    const RunResult result =
        RunCommand("rollup",
                   options + " --threads " + threads + " --open " + (directory / "open") + ' ' +
                       directory.Write("in", input),
                   "");
    ASSERT_EQ(ParseStats(result.stats), expected_stats) << model.Stats() << result.stats;
    if (expected_stats.at("events") == 0) return;  // then no file appears
    ASSERT_EQ(result.out, expected);
    ASSERT_EQ(Content(directory / "open"), open);
  }
  for (const auto& [name, value] : expected_stats) {
    if (name != "released_early") seen[name] += value;  // which the memory decides
  }
  seen["saturated"] += expected.find("saturated") != std::string::npos;
  seen["corrects"] += expected.find("\"corrects\":\"") != std::string::npos;
}

TEST(RandomRollups, SayTheSameAsTheModel) {
  std::map<std::string, double> seen;
  const bool all = ForEachSeed(1000, ShareOf({.whole = 300, .usual = 100, .sanitized = 15}),
                               [&](uint64_t seed) { ExpectSameRollup(seed, seen); });
  if (!all || kSanitized || HasFailure()) return;
  // All rounds must have come across everything, else they say less than they seem to.
  for (const auto& [name, value] : seen) EXPECT_GT(value, 0) << name;
}

}  // namespace
}  // namespace pleat::cli
