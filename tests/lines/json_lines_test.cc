// Lines folded many at a time, held against the same lines folded one by one.
//
// The texts are as hostile as can be: every kind of invalid line, blank lines, CRLF, strings with escaped
// newlines, raw newlines where none may be, objects over several lines, bytes that are not UTF-8 at the
// edges of lines and pieces, long lines; cut into blocks anywhere.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/lines/json_harness.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

// All that can be seen of a run.
struct Seen {
  std::string unusual;  // a line for each: where, its text's size, what became of it, why
  std::string out;
  LineCounts counts;
  Ledger ledger;
};

void Note(size_t index, std::string_view text, const LineResult& result, std::string& out) {
  out += std::to_string(index) + "+" + std::to_string(text.size()) + " kind " +
         std::to_string(static_cast<int>(result.kind)) + " outcome " +
         std::to_string(static_cast<int>(result.fold)) + " " + std::string(result.reason) + "\n";
}

bool IsUnusual(const LineResult& result) {
  return result.kind == LineResult::Kind::kInvalid || result.kind == LineResult::Kind::kNoUnit ||
         result.kind == LineResult::Kind::kControl ||
         (result.kind == LineResult::Kind::kEvent && result.fold != FoldOutcome::kOpened &&
          result.fold != FoldOutcome::kFolded);
}

void End(JsonHarness& harness, Seen& seen) {
  seen.out += harness.CloseAndPop();
  seen.counts = harness.folder().counts();
  seen.ledger = harness.folder().ledger();
}

// One by one, up to the first unusual line if `stop` says so.
Seen FoldOneByOne(const FoldSpec& spec, std::string_view text, bool stop) {
  JsonHarness harness(spec);
  Seen seen;
  for (size_t index = 0; !text.empty(); ++index) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const PaddedLine padded(line);
    const LineResult result = harness.folder().FoldLine(padded.view(), kBeginningOfTime + 5s);
    if (IsUnusual(result)) {
      Note(index, line, result, seen.unusual);
      if (stop) break;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  End(harness, seen);
  return seen;
}

Seen FoldAtOnce(const FoldSpec& spec, std::string_view text, bool stop) {
  JsonHarness harness(spec);
  Seen seen;
  const PaddedLine padded(text);
  harness.folder().FoldLines(padded.view(), kBeginningOfTime + 5s, [&](const UnusualLine& line) {
    Note(line.index, line.text, line.result, seen.unusual);
    return !stop;
  });
  End(harness, seen);
  return seen;
}

// In blocks of random sizes, several read before the first is folded, folded some lines at a time. Between them
// somebody looks, and pops.
Seen FoldInBlocks(const FoldSpec& spec, std::string_view text, bool stop, std::mt19937_64& random) {
  JsonHarness harness(spec);
  Seen seen;
  JsonLines first(harness.folder().plan());
  JsonLines second(harness.folder().plan());
  size_t lines_before = 0;
  bool go_on = true;
  while (go_on && !text.empty()) {
    std::vector<PaddedLine> blocks;
    for (JsonLines* lines : {&first, &second}) {
      size_t size = text.find('\n', std::min(text.size(), random() % 3000));
      size = std::min(size, text.size() - (text.empty() ? 0 : 1)) + (text.empty() ? 0 : 1);
      blocks.emplace_back(text.substr(0, size));
      text.remove_prefix(size);
      lines->Read(blocks.back().view());
    }
    for (JsonLines* lines : {&first, &second}) {
      const size_t all = lines->left();
      while (go_on && lines->left() > 0) {
        const size_t left = lines->left();
        const size_t max = 1 + random() % 50;
        const size_t went =
            harness.folder().Fold(*lines, max, kBeginningOfTime + 5s, [&](const UnusualLine& line) {
              Note(lines_before + line.index, line.text, line.result, seen.unusual);
              return go_on = !stop;
            });
        EXPECT_EQ(lines->left(), left - went);
        if (go_on) {
          EXPECT_EQ(went, std::min(max, left));
        }
        if (random() % 3 == 0) harness.engine().Advance(harness.engine().now());
        if (random() % 3 == 0) seen.out += harness.Pop(1 + random() % 100);
      }
      lines_before += all;
    }
  }
  End(harness, seen);
  return seen;
}

// They can be long, so that only the first line that differs is shown.
void ExpectSameText(std::string_view seen, std::string_view expected) {
  const auto [differ, other] =
      std::mismatch(seen.begin(), seen.end(), expected.begin(), expected.end());
  const auto size = static_cast<size_t>(differ - seen.begin());
  const size_t begin = seen.substr(0, size).rfind('\n') + 1;
  EXPECT_EQ(seen.substr(begin, seen.find('\n', begin) - begin),
            expected.substr(begin, expected.find('\n', begin) - begin));
}

void ExpectSame(const Seen& seen, const Seen& expected) {
  ExpectSameText(seen.unusual, expected.unusual);
  ExpectSameText(seen.out, expected.out);
  EXPECT_EQ(seen.counts, expected.counts);
  EXPECT_TRUE(seen.ledger == expected.ledger);
  EXPECT_TRUE(seen.ledger.Balances());
}

// Where to stop, only after lines that are invalid, since a few events behind one that is late or refused may be
// folded. Returns the ledger of a run that does not stop.
Ledger ExpectAllWaysAgree(const FoldSpec& spec, std::string_view text, std::mt19937_64& random) {
  Ledger ledger;
  for (const bool stop : {true, false}) {
    const bool has_limits = spec.folder.limits.max_bytes != FolderOptions().limits.max_bytes;
    if (stop && (has_limits || spec.folder.late.allowed_lateness != kForever)) continue;
    SCOPED_TRACE(testing::Message() << "stop: " << stop);
    const Seen expected = FoldOneByOne(spec, text, stop);
    ExpectSame(FoldAtOnce(spec, text, stop), expected);
    ExpectSame(FoldInBlocks(spec, text, stop, random), expected);
    ledger = expected.ledger;
  }
  return ledger;
}

class TextMaker {
 public:
  explicit TextMaker(uint64_t seed) : random_(seed) {}

  std::mt19937_64& random() { return random_; }
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }

  std::string Text(size_t lines) {
    const size_t invalid_percent = Chance(50) ? Below(3) : Below(40);
    std::string text;
    while (lines-- > 0) {
      text += Chance(invalid_percent) ? Invalid() : Good();
      text += Chance(4) ? "\r\n" : "\n";
      if (Chance(3)) text += Chance(50) ? "\n" : " \t\r\n";
    }
    if (Chance(30)) text.pop_back();
    if (Chance(10)) text[Below(text.size())] = "\"\\{}\n\x80\x00,"[Below(8)];
    return text;
  }

 private:
  std::string Good() {
    const std::string key = std::to_string(Below(30));
    seconds_ += Chance(2) ? 100 : Below(2);
    const std::string at = std::to_string(seconds_ - (Chance(3) ? Below(40) : 0));
    switch (Below(12)) {
      case 0: return R"({"t":)" + at + R"(,"k":")" + key + R"(","v":[1,2,{"k":1}]})";
      case 1: return R"({"k":"a\n)" + key + R"(","t":)" + at + R"(,"v":"\\","w":"\"}{\""})";
      case 2: return R"( { "k" : ")" + key + R"(" , "t" :)" + at + R"( , "v" : {"k":{"k":2}} } )";
      case 3: return R"({"k":")" + key + R"(","t":)" + at + R"(,"v":"é😀","o":{"v":1,"x":null}})";
      case 4: return R"({"\u006b":)" + key + R"(,"t":)" + at + R"(,"o":{"v":[],"\u0076w":1}})";
      case 5: return R"({"k":")" + key + R"(","t":)" + at + ",\"v\":\"" + Long() + "\"}";
      case 6: return R"({"k":")" + key + R"(","t":)" + at + ",\"o\":{" + Names() + "}}";
      default: return R"({"k":")" + key + R"(","t":)" + at + R"(,"v":-1.5e3,"w":true,"o":{"v":1}})";
    }
  }

  std::string Long() { return std::string(Chance(5) ? 20'000 : Below(300), 'x'); }

  // Sometimes more than are remembered, sometimes one twice.
  std::string Names() {
    std::string names;
    for (size_t i = 0, n = 1 + Below(50); i < n; ++i) {
      const size_t name = Chance(1) ? Below(n) : i + (Chance(10) ? 1000 * Below(100) : 0);
      names += (i == 0 ? "\"n" : ",\"n") + std::to_string(name) + "\":" + std::to_string(i);
    }
    return names;
  }

  std::string Invalid() {
    static constexpr std::string_view kInvalid[] = {
        "{\"k\":\"open", "\"", "\\", "{\"k\":\"a\\", "{", "}", "[]", "null", "x", "{}{}", "{} {}",
        "{\"k\":1,\"t\":2}}", "{\"k\":1,\"t\":2},", "{\"k\":1,\"t\":2", "\"k\":1,\"t\":2}",
        "{\"k\":1,\"k\":1,\"t\":2}", "{\"k\":1,\"\\u006b\":1,\"t\":2}", "{\"k\" 1}", "{k:1}",
        "{\"k\":1,}", "{\"k\":01,\"t\":2}", "{\"k\":tru,\"t\":2}", "{\"k\":\"\\ud800\",\"t\":2}",
        "{\"k\":\"\xc3\",\"t\":2}", "\x80", "{\"k\":\"\xe2\x82", "\xac\",\"t\":2}",
        "\xef\xbb\xbf{}", "{\"k\":\"\x01\",\"t\":2}", "{\"t\":2}", "{\"k\":[],\"t\":2}",
        "{\"k\":1}", "{\"k\":1,\"t\":\"x\"}", "{\"k\":1,\"t\":true}", "{\"k\":1,\"t\":1e99}",
        "{\"k\":1,\"t\":99999999}",  // ahead of the future limit, if there is one
        "{\"k\":1,\"t\":2\x0b}", std::string_view("{\"k\":1,\0\"t\":2}", 14),
        // One object over several lines, of which none is good.
        "{\n\"k\":1,\"t\":2\n}", "{\"k\":\n1,\"t\":2}", "{\"k\":1,\"t\":2,\"o\":{\n}}",
        "{\"k\":1,\"t\":2,\"o\":[\n]}", "{\"k\":\"a\nb\",\"t\":2}",
        "{\"k\":1,\"t\":2,\"v\":{\"v\":1,\n\"v\":1}}",
        "{\"k\":1,\"t\":2,\"o\":{\"v\":1,\"x\":1,\"v\":2}}"};
    std::string invalid(kInvalid[Below(std::size(kInvalid))]);
    if (Chance(5)) invalid = Good().substr(Below(10));
    if (Chance(5)) invalid.resize(Below(invalid.size()) + 1);
    return invalid;
  }

  std::mt19937_64 random_;
  uint64_t seconds_ = 1000;
};

// Conditions that hold for some of the lines that Good() makes.
void DrawClosings(TextMaker& make, FoldSpec& spec) {
  const auto maybe = [&](const char* name, const char* text) {
    if (!make.Chance(30)) return;
    const absl::Status set = SetOption(spec, name, text);
    ASSERT_TRUE(set.ok()) << set.message();
  };
  maybe("start-when", "v={");
  maybe("start-when", R"({"all":["v=\"\\\\\"","w>=\"\\\"\""]})");
  maybe("end-when", "o.v<1");
  maybe("close-when", R"({"any":["sum>=5",{"not":"latest!=true"}]})");
  maybe("flush-when", "o.vw=1.0");
  maybe("cancel-when", R"({"any":["o.n3=3","k>=\"a\""]})");
  maybe("max-bytes", "400");
  maybe("max-events", "3");
  maybe("partial-every", "7s");
  maybe("edge", "both");
  maybe("emission-id", "true");
  if (spec.folder.late.allowed_lateness == kForever) return;
  if (make.Chance(50)) {
    maybe("id", "t");
  } else {
    maybe("on-late", make.Chance(50) ? "fold" : "correct");
  }
}

// What waits to be popped takes no room, so that pops do not show.
void DrawLimits(TextMaker& make, FoldSpec& spec) {
  spec.folder.limits.count_ready = false;
  spec.folder.limits.max_bytes = 2'000u << make.Below(6);
  if (make.Chance(50)) spec.folder.limits.on_limit = OnLimit::kEmitOldest;
  if (make.Chance(30)) spec.folder.limits.max_groups = 1 + make.Below(20);
  if (make.Chance(30)) spec.folder.quiet_floor = 2s;
  if (make.Chance(30)) spec.folder.max_wait = 25s;
  if (make.Chance(50)) spec.raw = 1 + make.Below(50);
}

FoldSpec DrawSpec(TextMaker& make) {
  FoldSpec spec = SpecOf(
      "--merge 'all=set(v)' --merge 'names=keys(o)' --merge 'latest=last(w)'"
      " --merge 'sum=sum(o.v)' --key " +
      std::string(make.Chance(50) ? "k" : "k,other=v.k"));
  if (spec.event.key.size() == 2) spec.event.key.pop_back();
  spec.folder.quiet_period = 20s;
  if (make.Chance(90)) SetOption(spec, "time", "t").IgnoreError();
  if (make.Chance(90)) spec.event.time_unit = TimeUnit::kSeconds;
  if (make.Chance(30) && !spec.event.time.empty()) spec.folder.late.allowed_lateness = 10s;
  if (make.Chance(20) && !spec.event.time.empty()) spec.event.future_limit = 500s;
  if (make.Chance(50)) DrawClosings(make, spec);
  if (make.Chance(30)) DrawLimits(make, spec);
  return spec;
}

TEST(JsonLines, FoldAsTheyDoOneByOne) {
  uint64_t refused = 0;
  uint64_t emitted = 0;
  const uint64_t seeds = ShareOf({.whole = 600, .usual = 600, .sanitized = 30});
  const bool all = ForEachSeed(1, seeds, [&](uint64_t seed) {
    TextMaker make(seed);
    const FoldSpec spec = DrawSpec(make);
    const std::string text = make.Text(1 + make.Below(make.Chance(10) ? 3000 : 200));
    const Ledger ledger = ExpectAllWaysAgree(spec, text, make.random());
    refused += ledger.over_byte_limit;
    emitted += ledger.emissions[IndexOf(Reason::kLimit)];
    if (spec.folder.limits.on_limit == OnLimit::kEmitOldest && spec.marks.id.empty()) {
      EXPECT_EQ(ledger.over_limit, 0u);
    }
  });
  if (!all || kSanitized) return;
  EXPECT_GT(refused, 500u);
  EXPECT_GT(emitted, 500u);
}

TEST(JsonLines, TellWhetherAnyIsOfUse) {
  FoldSpec spec;
  const std::pair<std::string, std::string> options[] = {
      {"key", "k"}, {"quiet", "1m"}, {"where", "k!=9"}, {"flush-when", "gone=yes"}};
  for (const auto& [name, text] : options) ASSERT_TRUE(SetOption(spec, name, text).ok()) << name;
  JsonHarness harness(spec);
  JsonLines lines(harness.folder().plan());
  const auto tells = [&lines](std::string_view text) {
    const PaddedLine padded(text);
    lines.Read(padded.view());
    return lines.any_usable();
  };
  for (const std::string invalid : {"", "\n \n", "nonsense\n{\"x\":1}\n"}) {
    EXPECT_FALSE(tells(invalid)) << invalid;
    for (const std::string usable :
         {"{\"k\":1}\n", "{\"k\":9}\n", "{\"k\":1,\"gone\":\"yes\"}\n"}) {
      EXPECT_TRUE(tells(invalid + usable + invalid)) << invalid << usable;
    }
  }
}

TEST(JsonLines, EveryCutOfALineLeavesItsNeighboursAlone) {
  const std::string good = "{\"k\":\"a\",\"v\":\"\\\"\\u00e9\xc3\xa9\",\"o\":{\"v\":[1,{}]}}";
  const FoldSpec spec = SpecOf("--key k --merge 'n=count()'");
  std::mt19937_64 random(1);
  std::string text;
  for (size_t cut = 0; cut <= good.size(); ++cut) {
    text += good + "\n" + good.substr(0, cut) + "\n" + good.substr(cut) + "\n";
    ExpectAllWaysAgree(spec, good + "\n" + good.substr(0, cut) + "\n" + good.substr(cut), random);
  }
  ExpectAllWaysAgree(spec, text, random);
  EXPECT_EQ(FoldAtOnce(spec, text, false).counts.events, 2 * (good.size() + 1) - good.size() + 1);
}

TEST(JsonLines, TakeLinesAroundTheLimit) {
  const FoldSpec spec = SpecOf("--key k --merge 'n=count()'");
  std::mt19937_64 random(1);
  const std::string small = "{\"k\":1}\n";
  for (const size_t size : {kLineBytesMax - 1, kLineBytesMax, kLineBytesMax + 1}) {
    const std::string line = "{\"k\":\"" + std::string(100, 'k') + "\",\"v\":\"";
    const std::string large = line + std::string(size - line.size() - 2, 'x') + "\"}\n";
    const std::string blank = std::string(size, ' ') + "\n";
    ExpectAllWaysAgree(spec, small + large + small + blank + small + large, random);
  }
}

TEST(JsonLines, ReadAgainForgetWhatTheyHeld) {
  JsonHarness harness("--key k --merge 'n=count()'");
  JsonLines lines(harness.folder().plan());
  const PaddedLine first("{\"k\":1}\n\n{\"k\":\n");
  const PaddedLine second("{\"k\":2}");
  lines.Read(first.view());
  EXPECT_EQ(lines.left(), 3u);
  lines.Read(second.view());
  EXPECT_EQ(lines.left(), 1u);
  const auto never = [](const UnusualLine&) { return ADD_FAILURE(), false; };
  EXPECT_EQ(harness.folder().Fold(lines, SIZE_MAX, kBeginningOfTime, never), 1u);
  EXPECT_EQ(lines.left(), 0u);
  EXPECT_EQ(harness.folder().Fold(lines, SIZE_MAX, kBeginningOfTime, never), 0u);
  EXPECT_EQ(harness.folder().counts().events, 1u);
}

TEST(JsonLines, NothingBehindAnInvalidLineIsFoldedIfThatStops) {
  JsonHarness harness("--key k");
  const PaddedLine text("{\"k\":1}\n{}\n{\"k\":1}\n{}\n");
  size_t calls = 0;
  harness.folder().FoldLines(text.view(), kBeginningOfTime, [&](const UnusualLine& line) {
    EXPECT_EQ(line.index, 1u);
    return ++calls, false;
  });
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(harness.folder().counts(), (LineCounts{.lines = 2, .events = 1, .invalid = 1}));
}

TEST(JsonLines, SizesTellWhyAnEventWasRefused) {
  FoldSpec spec = SpecOf("--key k --time t --time-unit s");
  spec.folder.limits.max_groups = 2;
  JsonHarness harness(spec);
  std::string text;
  for (const char* key : {"1", "2", "3"}) text += "{\"k\":" + std::string(key) + ",\"t\":1}\n";
  text += "{\"k\":1,\"t\":1000}\n";
  const PaddedLine padded(text);
  size_t refused = 0;
  harness.folder().FoldLines(padded.view(), kBeginningOfTime, [&](const UnusualLine& line) {
    EXPECT_EQ(line.result.fold, FoldOutcome::kOverLimit);
    EXPECT_EQ(harness.folder().sizes().open_groups, 2u);
    return ++refused, true;
  });
  EXPECT_EQ(refused, 1u);
}

}  // namespace
}  // namespace pleat
