// Random lines under random options: `pleat live` and the model of tests/model write the same
// lines, have the same members live at the end, and count the same.
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/model/plain_live_set_options.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::cli {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }
  template <size_t n>
  const char* Pick(const char* const (&texts)[n]) {
    return texts[Below(n)];
  }

  std::string Options() {
    std::string out = Chance(10) ? "--key ''" : "--key s";
    out += " --member m --time t --time-unit s";
    const auto add = [&](size_t percent, const std::string& option) {
      if (Chance(percent)) out += " --" + option;
    };
    const char* const ttl = Pick({"3s", "10s", "30s", "2500ms", "inf"});
    out += std::string(" --ttl ") + ttl;
    add(20, std::string("reorder ") + Pick({"1s", "4s", "12s"}));
    add(15, "future-limit 25s");
    add(30, "ttl-path life");
    add(30, std::string("refresh ") + Pick({"latest", "first", "replace"}));
    add(60, "payload p");
    add(50, "version v");
    add(40, std::string("remove-when ") + Pick({"g=1", "p=2", "'g>1'"}));
    add(20, std::string("max-series ") + Pick({"1", "2", "3"}));
    add(20, std::string("max-members ") + Pick({"1", "2", "4"}));
    add(30, std::string("on-limit ") + Pick({"refuse", "drop"}));
    if (Chance(60)) {
      add(50, "refreshes");
    } else {
      out += std::string(" --every ") + Pick({"1s", "4s", "7s", "1500ms"});
      add(50, std::string("within ") + Pick({"1s", "2s,500ms", "2500ms"}));
      add(40, std::string("top ") + Pick({"1", "2"}));
    }
    return out;
  }

  std::string Line() {
    if (Chance(3)) return Pick({"", "invalid", "[1]", R"({"s":"a","t":1})", R"({"m":1,"t":1})"});
    std::string out =
        std::string("{\"s\":") + Pick({"\"a\"", "\"b\"", "\"c\"", "1", "\"\\u0061\""});
    out += std::string(",\"m\":") + Pick({"1", "2", "\"1\"", "null", "\"x, \\\"y\\\"\""});
    const auto add = [&](size_t percent, const std::string& member) {
      if (Chance(percent)) out += ',' + member;
    };
    add(98, "\"t\":" + Time());
    add(30, std::string("\"life\":") +
                Pick({"\"1s\"", "\"20s\"", "null", "\"inf\"", "\"0\"", "5", "\"300ms\""}));
    add(60, std::string("\"p\":") + Pick({"1", "2", "[1, 2]", "{\"a\":\"\\u0041\"}", "null"}));
    add(50, std::string("\"v\":") + Pick({"0", "1", "1", "1", "2", "null", "\"1\""}));
    add(20, std::string("\"g\":") + Pick({"1", "2", "null"}));
    return out + '}';
  }

 private:
  std::string Time() {
    static constexpr int kSteps[] = {0, 0, 0, 0, 0, 1, 1, 2, 3, 9, 40};
    seconds_ += kSteps[Below(std::size(kSteps))];
    if (Chance(1)) seconds_ += 12'000'000;  // past more multiples of --every than are counted
    const size_t behind = Chance(25) ? Below(15) : 0;
    return std::to_string(seconds_ - static_cast<int>(behind)) + Pick({"", "", ".5", ".25"});
  }

  std::mt19937_64 random_;
  int seconds_ = 600;
};

void ExpectSame(uint64_t seed, std::map<std::string, double>& seen) {
  Draw draw(seed);
  const std::string options = draw.Options();
  SCOPED_TRACE(options);
  const PlainLiveSetCall call = ReadPlainLiveSetOptions(WordsOf(options));
  ASSERT_EQ(call.unknown, "");
  LiveSetLinesModel model(call.options);
  std::string input;
  std::string expected;
  for (size_t lines = 1 + draw.Below(200); lines > 0; --lines) {
    const std::string line = draw.Line();
    input += line + '\n';
    ASSERT_TRUE(model.AddLine(line, expected));
  }
  model.End(expected);
  std::vector<size_t> jumps = model.jumps();
  const TemporaryDirectory directory;
  const std::string threads = draw.Chance(50) ? " --threads 3 " : " ";
  const RunResult result = RunCommand(
      "live",
      options + threads + "--open " + (directory / "open") + ' ' + directory.Write("in", input),
      "");
  const auto expected_stats = ParseStats(model.Stats());
  ASSERT_EQ(ParseStats(result.stats), expected_stats) << model.Stats() << result.stats;
  if (expected_stats.at("events") == 0) return;  // then no file appears
  ASSERT_EQ(result.out, expected);
  if (jumps.size() > 10) jumps.resize(10);  // that are shown
  for (const size_t number : jumps) {
    const std::string said = directory / "in:" + std::to_string(number) + ": time moves at once";
    ASSERT_TRUE(HasLine(result.err, said)) << said << '\n' << result.err;
  }
  seen["jumps"] += static_cast<double>(jumps.size());
  ASSERT_EQ(Content(directory / "open"), model.Open());
  for (const auto& [name, value] : expected_stats) {
    if (name != "released_early") seen[name] += value;  // which the memory decides
  }
}

TEST(RandomLiveSets, SayTheSameAsTheModel) {
  std::map<std::string, double> seen;
  const bool all = ForEachSeed(1000, ShareOf({.whole = 200, .usual = 100, .sanitized = 15}),
                               [&](uint64_t seed) { ExpectSame(seed, seen); });
  if (!all || kSanitized || HasFailure()) return;
  // All rounds must have come across everything, else they say less than they seem to.
  for (const auto& [name, value] : seen) EXPECT_GT(value, 0) << name;
}

}  // namespace
}  // namespace pleat::cli
