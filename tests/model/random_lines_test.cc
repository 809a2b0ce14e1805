// JsonFolder against the model on made-up lines: odd spellings, odd types, odd orders, and some damage.
//
// The real logs of data_agreement_test are tame; here strings come escaped and not, numbers in every
// spelling, members shuffled, repeated or missing, times back and forth, and some bytes are wrong.
// Left out are the few things on which the model is coarser than the promise: sums beyond the doubles,
// and the order of integers beyond 64 bits.
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/model/ndjson_model.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0 {
namespace {

using namespace std::chrono_literals;

class LineMaker {
 public:
  explicit LineMaker(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }

  template <size_t n>
  std::string Pick(const char* const (&choices)[n]) {
    return choices[Below(n)];
  }

  std::string Line() {
    static constexpr const char* kOdd[] = {"",
                                           " \t",
                                           "null",
                                           "[]",
                                           "{}",
                                           "{\"k\":\"a\",\"t\":1}}",
                                           "{\"k\":\"a\",\"t\":1} x",
                                           "\xef\xbb\xbf{}"};
    if (Chance(1)) return Pick(kOdd);
    std::vector<std::string> members;
    if (Chance(98)) members.push_back("\"k\"" + Colon() + Key());
    if (Chance(98)) members.push_back("\"t\"" + Colon() + Time());
    for (const char* name : {"\"v\"", "\"w\"", "\"\\u0073\""}) {
      if (Chance(80)) members.push_back(name + Colon() + Value(0));
    }
    std::shuffle(members.begin(), members.end(), random_);
    if (Chance(2) && !members.empty()) members.push_back(members.front());
    std::string line = "{" + Join(members) + "}";
    if (Chance(3)) Damage(line);
    return line;
  }

 private:
  std::string Colon() {
    static constexpr const char* kColons[] = {":", ":", ": ", " :\t"};
    return Pick(kColons);
  }

  std::string Join(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts)
      out += (out.empty() ? "" : Chance(50) ? "," : " , ") + part;
    return out;
  }

  std::string String() {
    static constexpr const char* kStrings[] = {R"("a")",
                                               R"("b")",
                                               R"("\u0061")",
                                               R"("é")",
                                               R"("\u00e9")",
                                               R"("")",
                                               R"("\n")",
                                               R"("\u0000")",
                                               R"("😀")",
                                               R"("\ud83d\ude00")",
                                               R"("\/")",
                                               R"("/")",
                                               R"("a,b")",
                                               R"("\"")",
                                               R"("\\")",
                                               R"("\u007f")",
                                               R"("a key that is too long to lie inline")"};
    return Pick(kStrings);
  }

  std::string Number() {
    static constexpr const char* kNumbers[] = {"0",
                                               "-0",
                                               "1",
                                               "1.0",
                                               "1e0",
                                               "10E-1",
                                               "-1",
                                               "9223372036854775807",
                                               "-9223372036854775808",
                                               "1e300",
                                               "1e309",
                                               "0.1",
                                               "0.2",
                                               "0.30000000000000004",
                                               "1E+2",
                                               "99.99",
                                               "-5.5"};
    return Chance(30) ? std::to_string(static_cast<int>(Below(2000)) - 1000) : Pick(kNumbers);
  }

  std::string Value(int depth) {
    static constexpr const char* kWords[] = {"true", "false", "null", "null"};
    const size_t kind = Below(depth < 3 ? 100 : 60);
    if (kind < 25) return String();
    if (kind < 50) return Number();
    if (kind < 60) return Pick(kWords);
    std::vector<std::string> parts;
    static constexpr const char* kNames[] = {"\"x\"", "\"y\"", "\"longer_name\"", "\"é\"", "\"\""};
    for (size_t i = Below(5); i > 0; --i) {
      parts.push_back((kind < 80 ? "" : kNames[i - 1] + Colon()) + Value(depth + 1));
    }
    return kind < 80 ? "[" + Join(parts) + "]" : "{" + Join(parts) + "}";
  }

  std::string Key() {
    if (Chance(2)) return Value(2);
    return Chance(70)   ? std::string("\"") + static_cast<char>('a' + Below(4)) + "\""
           : Chance(50) ? String()
                        : Number();
  }

  std::string Time() {
    static constexpr const char* kOdd[] = {"null",
                                           "\"x\"",
                                           "1e30",
                                           "[]",
                                           "\"1970-01-01T00:10:00Z\"",
                                           "\"1970-01-01t00:10:00.5+00:30\"",
                                           "\"1970-13-01T00:00:00Z\"",
                                           "\"1970-01-01T23:59:60Z\""};
    if (Chance(3)) return Pick(kOdd);
    static constexpr int kSteps[] = {0, 0, 0, 1, 1, 2, 5, 20, -3, -10};
    seconds_ += kSteps[Below(std::size(kSteps))];
    static constexpr const char* kTails[] = {"", "", ".5", ".1234567", "e0"};
    return std::to_string(seconds_) + Pick(kTails);
  }

  void Damage(std::string& line) {
    static constexpr std::string_view kBytes("{}[]\",:\\ 0-.e\x00\x01\xff\xc3\xe2", 18);
    const size_t at = Below(line.size());
    switch (Below(4)) {
      case 0: line.erase(at, 1); break;
      case 1: line[at] = kBytes[Below(kBytes.size())]; break;
      case 2: line.insert(at, 1, kBytes[Below(kBytes.size())]); break;
      default: line.resize(at); break;
    }
  }

  std::mt19937_64 random_;
  int seconds_ = 600;
};

// One specification in the words of both sides.
struct Drawn {
  FoldSpec spec;
  NdjsonOptions model;
};

Drawn Draw(LineMaker& draw) {
  Drawn out;
  FoldSpec& spec = out.spec;
  const auto add_key = [&](const char* name, const char* path, PlainPath steps) {
    spec.key.push_back({name, path});
    out.model.key.push_back({name, std::move(steps)});
  };
  add_key("k", "k", {"k"});
  if (draw.Chance(20)) add_key("second", "/s", {"s"});
  if (draw.Chance(10)) add_key("inner", "v.x", {"v", "x"});
  spec.time = "t";
  spec.time_unit = TimeUnit::kSeconds;
  static constexpr Duration kQuiet[] = {1s, 5s, 30s, 2500ms, kForever};
  static constexpr Duration kLimits[] = {0s, 3s, 10s, kForever};
  spec.quiet = kQuiet[draw.Below(std::size(kQuiet))];
  spec.lateness = kLimits[draw.Below(3)];
  if (draw.Chance(40)) spec.max_hold = kQuiet[draw.Below(std::size(kQuiet))];
  if (draw.Chance(40)) spec.max_events = 1 + draw.Below(5);
  spec.accept_limit = kLimits[draw.Below(std::size(kLimits))];
  if (draw.Chance(30)) spec.future_limit = 15s;
  spec.meta = draw.Chance(80);
  using enum Reducer;
  static constexpr std::pair<Reducer, const char*> kReducers[] = {
      {kKeys, "keys"}, {kSet, "set"},     {kSum, "sum"},     {kMin, "min"},  {kMax, "max"},
      {kMean, "mean"}, {kCount, "count"}, {kFirst, "first"}, {kLast, "last"}};
  static const std::pair<const char*, PlainPath> kPaths[] = {
      {"v", {"v"}}, {"w", {"w"}}, {"s", {"s"}}, {"v.x", {"v", "x"}}, {"nowhere", {"nowhere"}}};
  for (size_t i = draw.Below(8); i > 0; --i) {
    const auto& [reducer, name] = kReducers[draw.Below(std::size(kReducers))];
    const auto& [path, steps] = kPaths[draw.Below(std::size(kPaths))];
    const std::string merge = "merge" + std::to_string(i);
    spec.merges.push_back({merge, reducer, path});
    out.model.merges.push_back({merge, name, steps});
  }
  out.model.time = {"t"};
  out.model.time_unit = "s";
  out.model.engine.lateness = spec.lateness;
  out.model.engine.future_limit = spec.future_limit;
  out.model.folder.quiet_period = spec.quiet;
  out.model.folder.max_hold = spec.max_hold;
  out.model.folder.max_events = spec.max_events;
  out.model.folder.accept_limit = spec.accept_limit;
  out.model.meta = spec.meta;
  return out;
}

TEST(RandomLines, FoldToTheSameBytesAsInTheModel) {
  const int rounds = kSanitized ? 150 : 1500;
  const char* const only = std::getenv("PLEAT_SEED");
  for (int round = 0; round < (only != nullptr ? 1 : rounds); ++round) {
    const uint64_t seed = only != nullptr ? std::strtoull(only, nullptr, 10) : 1000u + round;
    SCOPED_TRACE(testing::Message() << "PLEAT_SEED=" << seed);
    LineMaker make(seed);
    const Drawn drawn = Draw(make);
    auto engine = *Engine::Open(EngineOptionsFor(drawn.spec));
    auto folder = *JsonFolder::Open(*engine, "lines", drawn.spec);
    NdjsonModel model(drawn.model);
    std::string out;
    std::string expected;
    for (size_t lines = 1 + make.Below(300); lines > 0; --lines) {
      const std::string line = make.Line();
      std::string padded = line;
      padded.resize(line.size() + kLinePaddingBytes);
      folder->FoldLine(std::string_view(padded).substr(0, line.size()), kBeginningOfTime);
      ASSERT_TRUE(model.AddLine(line, expected));
      if (make.Chance(10)) folder->Pop(SIZE_MAX, out);
    }
    folder->CloseAll();
    folder->Pop(SIZE_MAX, out);
    model.End(expected);
    ASSERT_EQ(out, expected);
    const LineCounts counts = folder->counts();
    const std::string stats = "{\"lines\":" + std::to_string(counts.lines) +
                              ",\"events\":" + std::to_string(counts.events) +
                              ",\"bad\":" + std::to_string(counts.bad) + ",";
    ASSERT_EQ(model.Stats().substr(0, stats.size()), stats);
    const std::string mismatched = "\"mismatched\":" + std::to_string(counts.mismatched) + ",";
    ASSERT_NE(model.Stats().find(mismatched), std::string::npos) << model.Stats() << mismatched;
  }
}

}  // namespace
}  // namespace pleat::inline v0
