// JsonFolder against the model on made-up lines: odd spellings, odd types, odd orders, and some damage,
// under every option of a FoldSpec alone and together with others.
//
// The real logs of data_agreement_test are tame; here strings come escaped and not, numbers in every
// spelling, members shuffled, repeated or missing, times back and forth, and some bytes are wrong.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/model/ndjson_model.h"
#include "tests/support/share.h"
#include "tests/support/show.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

class LineMaker {
 public:
  explicit LineMaker(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }

  template <class Choice, size_t n>
  Choice Pick(const Choice (&choices)[n]) {
    return choices[Below(n)];
  }

  // Some lines come twice, some with more white space than before.
  std::string Line() {
    if (Chance(6) && !lines_.empty()) {
      const std::string again =
          lines_[lines_.size() - 1 - Below(std::min<size_t>(lines_.size(), 8))];
      return Chance(70) ? again : " " + again + "\t";
    }
    return lines_.emplace_back(NewLine());
  }

 private:
  std::string NewLine() {
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
    static constexpr const char* kStatus[] = {"\"open\"", "\"open\"", "\"d\\u006fne\"", "\"new\"",
                                              "\"stop\"", "null",     "[\"done\"]"};
    static constexpr const char* kMarks[] = {"0", "1", "1.0", "2", "3", "30e-1", "\"3\"", "true"};
    static constexpr const char* kIds[] = {"1", "2", "3", "4", "\"1\"", "1.0", "null"};
    static constexpr const char* kQuiets[] = {"null", "\"2s\"", "\"500ms\"", "\"1.5m\"", "\"inf\""};
    if (Chance(70)) members.push_back("\"status\"" + Colon() + Pick(kStatus));
    if (Chance(70)) members.push_back("\"mark\"" + Colon() + Pick(kMarks));
    if (Chance(98)) members.push_back("\"id\"" + Colon() + (Chance(2) ? Value(2) : Pick(kIds)));
    if (Chance(20)) {
      members.push_back("\"quiet\"" + Colon() + (Chance(10) ? Value(2) : Pick(kQuiets)));
    }
    if (Chance(30)) members.push_back("\"close\"" + Colon() + ClosingTime());
    std::shuffle(members.begin(), members.end(), random_);
    if (Chance(2) && !members.empty()) members.push_back(members.front());
    std::string line = "{" + Join(members) + "}";
    if (Chance(3)) Damage(line);
    return line;
  }

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
    static constexpr const char* kStrings[] = {
        R"("a")",      R"("b")",
        R"("\u0061")", R"("é")",
        R"("\u00e9")", R"("")",
        R"("\n")",     R"("\u0000")",
        R"("😀")",     R"("\ud83d\ude00")",
        R"("\/")",     R"("/")",
        R"("a,b")",    R"("\"")",
        R"("\\")",     R"("\u007f")",
        R"("12.5")",   R"("-1e2")",
        R"("\u0031")", R"("a key that is too long to lie inline")"};
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
                                               "170141183460469231731687303715884105727",
                                               "-170141183460469231731687303715884105728",
                                               "99999999999999999999",
                                               "9007199254740993",
                                               "9007199254740992",
                                               "1e300",
                                               "1.7e308",
                                               "-1.7e308",
                                               "1e309",
                                               "1e400",
                                               "-1e400",
                                               "1e401",
                                               "0.1",
                                               "0.2",
                                               "0.30000000000000004",
                                               "1E+2",
                                               "99.99",
                                               "-5.5"};
    return Chance(30) ? std::to_string(static_cast<int>(Below(2000)) - 1000) : Pick(kNumbers);
  }

  std::string Value(int depth) {
    static constexpr const char* kWords[] = {"true", "false", "null", "null", "NaN", "-Infinity"};
    const size_t kind = Below(depth < 3 ? 100 : 60);
    if (kind < 25) return String();
    if (kind < 50) return Number();
    if (kind < 60) return Pick(kWords);
    std::vector<std::string> parts;
    static constexpr const char* kNames[] = {"\"x\"", "\"y\"", "\"longer_name\"", "\"é\"", "\"\""};
    for (size_t i = Below(5); i > 0; --i) {
      const char* const name = kNames[Chance(2) ? 0 : i - 1];
      parts.push_back((kind < 80 ? "" : name + Colon()) + Value(depth + 1));
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
    seconds_ += Pick(kSteps);
    static constexpr const char* kTails[] = {"", "", ".5", ".1234567", "e0"};
    const size_t behind = Chance(10) ? Below(40) : 0;
    return std::to_string(seconds_ - static_cast<int>(behind)) + Pick(kTails);
  }

  // Mostly a little ahead of the stamps, sometimes behind them.
  std::string ClosingTime() {
    static constexpr const char* kOdd[] = {
        "null", "\"x\"", "1e30", "[]", "true", "\"1970-01-01T00:11:00Z\"", "\"700\""};
    if (Chance(15)) return Pick(kOdd);
    return std::to_string(seconds_ - 5 + static_cast<int>(Below(40)));
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
  std::vector<std::string> lines_;
  int seconds_ = 600;
};

// One specification in the words of both sides.
struct Drawn {
  FoldSpec spec;
  NdjsonOptions model;
};

bool IsScalar(Reducer reducer) {
  using enum Reducer;
  return reducer != kKeys && reducer != kSet && reducer != kArray && reducer != kTop;
}

void DrawKey(LineMaker& draw, Drawn& out) {
  const auto add_key = [&](const char* name, const char* path) {
    out.spec.event.key.push_back({name, path});
    out.model.key.push_back({name, ReadPlainPath(path)});
  };
  if (draw.Chance(5)) {
    out.spec.event.key.emplace_back();  // all events are one group
    return;
  }
  static constexpr const char* kKeys[] = {"k", "k", "k", "k?", "k|s", "nowhere|k?", "v[x=1].y|k"};
  add_key("k", draw.Pick(kKeys));
  if (draw.Chance(20)) add_key("second", draw.Chance(50) ? "/s" : "/s?");
  if (draw.Chance(10)) add_key("found", "w[x=a].y|v[y=true].x?");
  if (draw.Chance(10)) add_key("inner", "v.x");
  if (draw.Chance(10)) add_key("element", "/w/1");
}

void DrawKeyAndTime(LineMaker& draw, Drawn& out) {
  DrawKey(draw, out);
  out.spec.event.time = "t";
  out.spec.event.time_unit = TimeUnit::kSeconds;
  out.model.time = ReadPlainPath("t");
  out.model.time_unit = "s";
}

void DrawMerges(LineMaker& draw, Drawn& out) {
  using enum Reducer;
  static constexpr std::pair<Reducer, const char*> kReducers[] = {{kKeys, "keys"},
                                                                  {kSet, "set"},
                                                                  {kSum, "sum"},
                                                                  {kMin, "min"},
                                                                  {kMax, "max"},
                                                                  {kMean, "mean"},
                                                                  {kCount, "count"},
                                                                  {kFirst, "first"},
                                                                  {kLast, "last"},
                                                                  {kArray, "array"},
                                                                  {kDistinct, "distinct"},
                                                                  {kConcat, "concat"},
                                                                  {kDuration, "duration"},
                                                                  {kP50, "p50"},
                                                                  {kP90, "p90"},
                                                                  {kP95, "p95"},
                                                                  {kP99, "p99"},
                                                                  {kP999, "p999"},
                                                                  {kTop, "top"}};
  static constexpr const char* kPaths[] = {
      "v",     "w",     "s",       "v.x", "mark",   "v.0",           "w.2",
      "v.1.0", "w.x.0", "nowhere", "v|w", "v.x|w?", "v[x=a].y|mark", "w[y=1].x"};
  static constexpr const char* kSeparators[] = {",", "", " - ", "é\""};
  for (size_t i = draw.Below(8); i > 0; --i) {
    const auto [reducer, name] = draw.Pick(kReducers);
    Merge merge{.name = "merge" + std::to_string(i), .reducer = reducer, .path = draw.Pick(kPaths)};
    const bool whole = (reducer == kFirst || reducer == kLast) && draw.Chance(30);
    if (whole) merge.path = ".";
    if (reducer == kDuration) merge.path.clear();
    const bool boundable = reducer == kArray || reducer == kSet || reducer == kKeys ||
                           reducer == kDistinct || reducer == kConcat || reducer == kTop;
    if (boundable && draw.Chance(50)) merge.bound = 1 + draw.Below(6);
    merge.separator = reducer == kConcat ? draw.Pick(kSeparators) : "";
    out.model.merges.push_back(
        {merge.name, name, whole || merge.path.empty() ? PlainPath{} : ReadPlainPath(merge.path),
         merge.bound, merge.separator});
    out.spec.merges.push_back(std::move(merge));
  }
  static constexpr std::pair<Rest, const char*> kRest[] = {{Rest::kFirst, "first"},
                                                           {Rest::kLast, "last"}};
  if (draw.Chance(25)) std::tie(out.spec.rest, out.model.rest) = draw.Pick(kRest);
  if (draw.Chance(25)) out.spec.raw = out.model.raw = 1 + draw.Below(4);
  if (draw.Chance(25)) out.spec.raw_last = out.model.raw_last = 1 + draw.Below(4);
  out.spec.meta = out.model.meta = draw.Chance(80);
  out.spec.emission_id = out.model.emission_id = draw.Chance(25);
}

void DrawConditions(LineMaker& draw, Drawn& out) {
  const auto set = [](Condition& condition, PlainCondition& plain, const std::string& text) {
    const absl::StatusOr<Condition> parsed = ParseCondition(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    condition = *parsed;
    plain = ReadPlainCondition(text);
  };
  static constexpr const char* kOfEvents[] = {
      "status=done",
      "status = \"new\"",
      "status!=open",
      "status>n",
      "mark>=3",
      "mark=1e0",
      "mark<1",
      "id = 3",
      "v.x=1",
      "w.0=1",
      "/s<=a",
      "w>9007199254740993",
      R"({"any":["status=new","mark=2"]})",
      R"({"all":["status=done",{"not":"mark=0"}]})",
      R"({"not":{"any":["status=open","status=null","mark<=3"]}})"};
  FoldSpec& spec = out.spec;
  NdjsonOptions& model = out.model;
  if (draw.Chance(15)) set(spec.event.where, model.where, draw.Pick(kOfEvents));
  if (draw.Chance(15)) spec.event.from = FromUnix(std::chrono::seconds(600 + draw.Below(60)));
  if (draw.Chance(15)) spec.event.to = FromUnix(std::chrono::seconds(670 + draw.Below(200)));
  model.from = spec.event.from;
  model.to = spec.event.to;
  if (draw.Chance(25)) set(spec.marks.start_when, model.start_when, draw.Pick(kOfEvents));
  if (draw.Chance(25)) set(spec.marks.end_when, model.end_when, draw.Pick(kOfEvents));
  if (draw.Chance(25)) set(spec.marks.flush_when, model.flush_when, draw.Pick(kOfEvents));
  if (draw.Chance(25)) set(spec.marks.cancel_when, model.cancel_when, draw.Pick(kOfEvents));

  static constexpr const char* kOfMerges[] = {"=1", "!=null", ">=3", ">a", "<0", "<=a", "=a"};
  std::vector<std::string> texts;
  for (const Merge& merge : spec.merges) {
    if (IsScalar(merge.reducer) && merge.path != ".")
      texts.push_back(merge.name + draw.Pick(kOfMerges));
  }
  if (texts.empty() || !draw.Chance(25)) return;
  const std::string& one = texts[draw.Below(texts.size())];
  const std::string& other = texts[draw.Below(texts.size())];
  set(spec.close_when, model.close_when,
      draw.Chance(50) ? one : R"({"all":[")" + one + R"(",{"not":")" + other + R"("}]})");
}

// When groups are handed out, and what of events that come late, come twice, or come to a full folder.
void DrawClosings(LineMaker& draw, Drawn& out) {
  FoldSpec& spec = out.spec;
  static constexpr Duration kQuiet[] = {1s, 5s, 30s, 2500ms, kForever};
  static constexpr Duration kLimits[] = {0s, 3s, 10s, kForever};
  spec.folder.quiet_period = draw.Pick(kQuiet);
  static constexpr ClosingOptions kClosing[] = {
      {.every = 7s}, {.every = 60s, .phase = 59s}, {.every = 24h, .phase = 10min + 30s}};
  if (draw.Chance(25)) spec.folder.closing = draw.Pick(kClosing);
  if (draw.Chance(25)) {
    spec.marks.close_at = "close";
    out.model.close_at = ReadPlainPath("close");
  }
  spec.event.reorder = kLimits[draw.Below(3)];
  if (draw.Chance(40)) spec.folder.max_wait = draw.Pick(kQuiet);
  if (draw.Chance(40)) spec.folder.max_events = 1 + draw.Below(5);
  if (draw.Chance(25)) spec.folder.max_group_bytes = 1 + draw.Below(600);
  if (draw.Chance(25)) {
    spec.marks.quiet_path = "quiet";
    out.model.quiet = ReadPlainPath("quiet");
  } else if (spec.folder.quiet_period != kForever && draw.Chance(40)) {
    static constexpr Duration kFloors[] = {1us, 300ms, 999ms};
    spec.folder.quiet_floor = draw.Pick(kFloors);
    static constexpr const char* kClasses[] = {"", "status", "mark", "v"};
    spec.marks.key_class = draw.Pick(kClasses);
    if (!spec.marks.key_class.empty()) out.model.key_class = ReadPlainPath(spec.marks.key_class);
  }
  if (draw.Chance(25)) {
    spec.folder.edge = draw.Chance(50) ? Edge::kLeading : Edge::kBoth;
    if (draw.Chance(50)) spec.folder.leading_events = draw.Chance(50) ? 2 : 3;
  }
  static constexpr Duration kEvery[] = {1s, 3s, 7500ms};
  if (draw.Chance(25) && spec.folder.edge != Edge::kLeading)
    spec.folder.partial_every = draw.Pick(kEvery);

  spec.folder.late.allowed_lateness = draw.Pick(kLimits);
  if (draw.Chance(25)) spec.event.future_limit = 25s;
  const bool limited = spec.folder.late.allowed_lateness != kForever;
  if (limited && draw.Chance(25)) {
    spec.marks.id = draw.Chance(50) ? "id" : "id?";
    out.model.id = ReadPlainPath(spec.marks.id);
  } else if (limited && draw.Chance(50)) {
    spec.folder.late.on_late = draw.Chance(50) ? OnLate::kFold : OnLate::kCorrect;
  }
  if (draw.Chance(25)) {
    spec.folder.limits.max_groups = 1 + draw.Below(4);
    spec.folder.limits.on_limit = draw.Chance(50) ? OnLimit::kEmitOldest : OnLimit::kRefuse;
  }
  out.model.reorder = spec.event.reorder;
  out.model.engine.future_limit = spec.event.future_limit;
  out.model.folder = spec.folder;
  out.model.drop_at_end = draw.Chance(20);
}

Drawn Draw(LineMaker& draw) {
  Drawn out;
  DrawKeyAndTime(draw, out);
  DrawMerges(draw, out);
  DrawConditions(draw, out);
  DrawClosings(draw, out);
  return out;
}

// As flags, to repeat a case with the program.
std::string Flags(const FoldSpec& spec) {
  std::string out;
  for (const auto& [name, text] : OptionsOf(spec)) out += "--" + name + " '" + text + "' ";
  return out;
}

// Some lines are folded one by one, others many at a time.
void FoldText(JsonFolder& folder, bool by_line, const std::string& lines) {
  std::string padded = lines;
  padded.resize(lines.size() + kLinePaddingBytes);
  const std::string_view text = std::string_view(padded).substr(0, lines.size());
  if (by_line) {
    folder.FoldLine(text, kBeginningOfTime);
  } else {
    folder.FoldLines(text, kBeginningOfTime, [](const UnusualLine&) { return true; });
  }
}

// What all rounds together must have come across, else they say less than they seem to.
class Seen {
 public:
  void Add(const std::string& out, const Ledger& ledger, const LineCounts& counts) {
    for (size_t reason = 1; reason <= kReasons; ++reason) {
      const std::string name(ReasonName(static_cast<Reason>(reason)));
      if (name == "final") continue;  // what counters' windows are
      Look(out, "\"reason\":\"" + name + '"');
    }
    for (const char* member :
         {"corrects\":\"", "corrects\":null", "revision\":3", "id\":\"0-", "saturated",
          "cut\":[\"merge", "cut\":[\"_raw\"", "cut\":[\"_raw_last", "status"}) {
      Look(out, std::string("\"") + member);
    }
    ledger_ += ledger;
    control_ += counts.control;
    excluded_ += counts.excluded;
    mismatched_ += counts.mismatched;
  }

  void ExpectEverything() const {
    for (const auto& [text, times] : times_) EXPECT_GT(times, 0u) << text;
    const Ledger& all = ledger_;
    for (const uint64_t column : {all.late, all.future, all.over_limit, all.duplicate, all.conflict,
                                  all.corrected, all.cancelled, all.silent, all.partial, all.open,
                                  all.late_folded, control_, excluded_, mismatched_}) {
      EXPECT_GT(column, 0u) << ShowColumns(all);
    }
  }

 private:
  void Look(const std::string& out, const std::string& text) {
    times_[text] += out.find(text) != std::string::npos;
  }

  std::map<std::string, size_t> times_;  // in how many rounds
  Ledger ledger_;
  uint64_t control_ = 0;
  uint64_t excluded_ = 0;
  uint64_t mismatched_ = 0;
};

TEST(RandomLines, FoldToTheSameBytesAsInTheModel) {
  const int rounds = static_cast<int>(ShareOf({.whole = 2000, .usual = 1000, .sanitized = 100}));
  const char* const only = std::getenv("PLEAT_SEED");
  Seen seen;
  for (int round = 0; round < (only != nullptr ? 1 : rounds); ++round) {
    const uint64_t seed = only != nullptr ? std::strtoull(only, nullptr, 10) : 1000u + round;
    LineMaker make(seed);
    const Drawn drawn = Draw(make);
    SCOPED_TRACE(testing::Message() << "PLEAT_SEED=" << seed << ' ' << Flags(drawn.spec));
    auto engine = *Engine::Open(EngineOptionsFor(drawn.spec.event));
    const auto opened = JsonFolder::Open(*engine, "lines", drawn.spec);
    ASSERT_TRUE(opened.ok()) << opened.status();
    JsonFolder& folder = **opened;
    NdjsonModel model(drawn.model);
    std::string out;
    std::string expected;
    for (size_t texts = 1 + make.Below(60); texts > 0; --texts) {
      const bool by_line = make.Chance(50);
      std::string text;
      for (size_t lines = by_line ? 1 : make.Below(10); lines > 0; --lines) {
        const std::string line = make.Line();
        text += (text.empty() ? "" : "\n") + line;
        ASSERT_TRUE(model.AddLine(line, expected));
      }
      FoldText(folder, by_line, text);
      if (make.Chance(10)) folder.Pop(SIZE_MAX, out);
    }
    folder.TakeWaiting(PassUnusualLine);
    if (!drawn.model.drop_at_end) folder.CloseAll();
    folder.Pop(SIZE_MAX, out);
    model.End(expected);
    ASSERT_EQ(out, expected);
    ASSERT_EQ(ShowColumns(folder.ledger()), ShowColumns(model.ledger()));
    ASSERT_TRUE(model.ledger().Balances());
    const LineCounts counts = folder.counts();
    const PlainJson stats = ParsePlainJson(model.Stats()).value();
    ASSERT_EQ(std::to_string(counts.lines), stats.Member("lines")->text);
    ASSERT_EQ(std::to_string(counts.events), stats.Member("events")->text);
    ASSERT_EQ(std::to_string(counts.invalid), stats.Member("invalid")->text);
    const PlainJson* const excluded = stats.Member("excluded");
    ASSERT_EQ(counts.excluded, excluded == nullptr ? 0 : std::stoull(excluded->text));
    ASSERT_EQ(std::to_string(counts.mismatched), stats.Member("mismatched")->text);
    ASSERT_EQ(std::to_string(counts.control), stats.Member("control")->text);
    seen.Add(out, model.ledger(), counts);
  }
  if (only == nullptr && !kSanitized) seen.ExpectEverything();
}

}  // namespace
}  // namespace pleat::inline v0_1
