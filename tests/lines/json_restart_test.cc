// Live sets, counters and folders that are fed by lines, ended and begun again from a snapshot
// behind every single line of a log: what comes out, and all that is counted, is as without a
// restart.
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_live_set.h>
#include <pleat/json_rollup.h>
#include <pleat/snapshot.h>
#include <pleat/untyped/companion.h>

#include "tests/lines/drawn_events.h"
#include "tests/lines/json_harness.h"
#include "tests/lines/real_logs.h"
#include "tests/support/bytes.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

template <class Spec>
Spec OptionsFor(const std::string& text) {
  const auto spec = SpecFrom<Spec>(text);
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec).message();
  return spec;
}

// How each kind takes lines, and the lines that it has written since the last look.
struct LiveSets {
  using Spec = LiveSetSpec;
  using Collection = JsonLiveSet;
  static constexpr Duration kEvery = 20ms;

  static void Begin(Engine& engine, JsonLiveSet& live_set, EngineTime& next, std::string& out) {
    live_set.WatchChanges();
    live_set.SetOnTime([&](EngineTime now, size_t) {
      for (; next <= now; next += kEvery) {
        engine.Advance(next);
        WriteCounts(live_set, next, out);
      }
      return next;
    });
  }
  static size_t Add(JsonLiveSet& live_set, JsonLines& lines, EngineTime at, OnUnusualLine unusual) {
    return live_set.Add(lines, SIZE_MAX, at, unusual);
  }
  static void Take(Engine& engine, JsonLiveSet& live_set, std::string& out) {
    const auto write = [&](std::string_view lines) { out += lines; };
    EXPECT_TRUE(live_set.TakeChanges(/*refreshes=*/true, write).ok());
    WriteCounts(live_set, engine.now(), out);
    live_set.WriteLive(write);
  }
  static void End(Engine& engine, JsonLiveSet& live_set, std::string& out) {
    Take(engine, live_set, out);
  }
  static void WriteCounts(const JsonLiveSet& live_set, EngineTime at, std::string& out) {
    const auto write = [&](std::string_view lines) { out += lines; };
    live_set.WriteCounts(at, {.top = SIZE_MAX, .within = {{"5ms", 5ms}}}, write);
    live_set.WriteCounts(at, {.top = 2, .within = {}}, write);
  }
};

struct Counters {
  using Spec = RollupSpec;
  using Collection = JsonRollup;

  static void Begin(Engine&, JsonRollup&, EngineTime&, std::string&) {}
  static size_t Add(JsonRollup& rollup, JsonLines& lines, EngineTime at, OnUnusualLine unusual) {
    return rollup.Add(lines, SIZE_MAX, at, unusual);
  }
  // All but one, so that emissions wait at the restart.
  static void Take(Engine&, JsonRollup& rollup, std::string& out) {
    const auto write = [&](std::string_view lines) { out += lines; };
    rollup.Pop(1, write);
    rollup.Scan(write);
  }
  static void End(Engine&, JsonRollup& rollup, std::string& out) {
    rollup.CloseAll();
    rollup.Pop(SIZE_MAX, [&](std::string_view lines) { out += lines; });
  }
};

struct Folders {
  using Spec = FoldSpec;
  using Collection = JsonFolder;

  static void Begin(Engine&, JsonFolder&, EngineTime&, std::string&) {}
  static size_t Add(JsonFolder& folder, JsonLines& lines, EngineTime at, OnUnusualLine unusual) {
    return folder.Fold(lines, SIZE_MAX, at, unusual);
  }
  static void Take(Engine&, JsonFolder& folder, std::string& out) { folder.Pop(1, out); }
  static void End(Engine&, JsonFolder& folder, std::string& out) {
    folder.CloseAll();
    folder.Pop(SIZE_MAX, out);
  }
};

template <class Kind>
class Service {
 public:
  explicit Service(const typename Kind::Spec& spec, bool begun = true) : spec_(spec) {
    Start();
    if (begun) Begin();
  }

  void Restart() {
    const std::string bytes = Snapshot();
    Start();
    const absl::Status restored = Restore(bytes);
    ASSERT_TRUE(restored.ok()) << restored.message();
    ASSERT_TRUE(Snapshot() == bytes);
    Begin();
  }
  std::string Snapshot() {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine_, sink).ok());
    return sink.bytes;
  }
  absl::Status Restore(std::string_view bytes) {
    StringSource source(bytes);
    return RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
  }

  void Add(std::string_view text, EngineTime arrival) {
    const std::string padded = std::string(text) + std::string(kLinePaddingBytes, ' ');
    JsonLines lines(lines_->plan());
    lines.Read(std::string_view(padded).substr(0, text.size()));
    Kind::Add(*lines_, lines, arrival, [&](const UnusualLine& line) {
      out_ += std::string(line.result.reason) + " <- " + std::string(line.text) + "\n";
      return true;
    });
  }
  void Take() { Kind::Take(*engine_, *lines_, out_); }
  void End() { Kind::End(*engine_, *lines_, out_); }

  Engine& engine() { return *engine_; }
  typename Kind::Collection& lines() { return *lines_; }
  const std::string& out() const { return out_; }

 private:
  void Start() {
    lines_.reset();
    EngineOptions options = EngineOptionsFor(spec_.event);
    options.partitions = 3;
    engine_ = *Engine::Open(options);
    lines_ = *Kind::Collection::Open(*engine_, "lines", spec_);
  }
  void Begin() { Kind::Begin(*engine_, *lines_, next_, out_); }

  const typename Kind::Spec spec_;
  EngineTime next_ = FromUnix(1'000ms);  // of counts
  std::string out_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<typename Kind::Collection> lines_;
};

template <class Kind>
void ExpectSame(Service<Kind>& restarted, Service<Kind>& lasting) {
  ASSERT_EQ(restarted.out(), lasting.out());
  EXPECT_EQ(restarted.lines().counts(), lasting.lines().counts());
  EXPECT_EQ(restarted.lines().stamps(), lasting.lines().stamps());
  EXPECT_EQ(restarted.lines().absent_paths(), lasting.lines().absent_paths());
  EXPECT_TRUE(restarted.lines().ledger() == lasting.lines().ledger());
  EXPECT_EQ(restarted.engine().now(), lasting.engine().now());
}

struct Line {
  std::string text;
  EngineTime arrival;
};

// Restarts behind each of the lines, each in a run of its own.
template <class Kind>
void ExpectARestartBehindAnyLineChangesNothing(const typename Kind::Spec& spec,
                                               const std::vector<Line>& lines) {
  for (size_t i = 0; i < lines.size() && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("restarted behind line " + std::to_string(i + 1));
    Service<Kind> lasting(spec);
    Service<Kind> restarted(spec);
    // The same looks in both.
    for (size_t j = 0; j < lines.size(); ++j) {
      for (Service<Kind>* each : {&lasting, &restarted}) {
        each->Add(lines[j].text, lines[j].arrival);
        if (j % 4 == 0 || j == i) each->Take();
      }
      if (i == j) restarted.Restart();
    }
    lasting.End();
    restarted.End();
    ExpectSame(restarted, lasting);
  }
}

std::vector<Line> DrawnLog(uint64_t seed, size_t lines) {
  DrawnEvents events(seed);
  std::vector<Line> log;
  int64_t time = 1'000'000;
  for (size_t i = 0; i < lines; ++i) {
    time += static_cast<int64_t>(events.Draw(4'000));
    const int64_t stamp =
        time - static_cast<int64_t>(events.Draw(12) == 0 ? events.Draw(60'000) : 0);
    const auto number = [&](size_t below) { return std::to_string(events.Draw(below)); };
    std::string text = "{\"k\":" + number(4) + ",\"t\":" + std::to_string(stamp) +
                       ",\"m\":{\"a\":" + number(3) + ",\"b\":\"x" + number(2) +
                       "\"},\"id\":" + number(60) + ",\"ver\":" + number(6) + ",\"ttl\":\"" +
                       number(30) + "ms\",\"n\":" + number(1000) + ",\"g\":" + number(9) +
                       events.Members() + "}\n";
    if (events.Draw(15) == 0) text = events.Draw(2) == 0 ? "no line\n" : "{\"k\":1}\n";
    log.push_back({std::move(text), FromUnix(Duration(time))});
  }
  return log;
}

template <class Kind>
void ExpectNoChangeInDrawnLogs(const std::vector<std::string>& options) {
  const size_t all = options.size();
  ForEachSeed(1, ShareOf({.whole = 20 * all, .usual = 2 * all, .sanitized = all}),
              [&](uint64_t seed) {
                const std::string& text = options[seed % options.size()];
                SCOPED_TRACE(text);
                ExpectARestartBehindAnyLineChangesNothing<Kind>(
                    OptionsFor<typename Kind::Spec>(text), DrawnLog(seed, 50));
              });
}

const std::string kTime = " --time t --time-unit us ";

TEST(JsonRestart, OfALiveSetChangesNothingBehindAnyLine) {
  ExpectNoChangeInDrawnLogs<LiveSets>({
      "--key k --member m.a --ttl 30ms",
      "--key k --member m.a --member m.b --ttl 30ms --payload v" + kTime,
      "--key k --member m.a --member m.b --ttl 20ms --payload o --version ver --ttl-path ttl "
      "--refresh replace --remove-when g=0 --reorder 5ms" +
          kTime,
      "--key k --key m.b --member id --ttl 40ms --refresh first --payload s --remove-when g=0 "
      "--future-limit 1h --max-members 12 --on-limit drop --where 'n>=200'" +
          kTime,
      "--key k --member id --ttl 40ms --payload n --max-members 12" + kTime,
  });
}

TEST(JsonRestart, OfACounterChangesNothingBehindAnyLine) {
  ExpectNoChangeInDrawnLogs<Counters>({
      "--key k --window 10ms --allowed-lateness 5ms",
      "--key k --key m.a --window 10ms,20ms,60ms --allowed-lateness 30ms --margin 2ms --value n "
      "--id id --on-late correct --emission-id" +
          kTime,
      "--key k --window 5ms --allowed-lateness 20ms --value n --id id --on-late clamp --reorder "
      "5ms "
      "--from 1970-01-01T00:00:01.02Z --to 1970-01-01T00:00:01.07Z" +
          kTime,
      "--key key=id --window 5ms --allowed-lateness 10ms --value i --future-limit 1h --max-keys 9 "
      "--emission-id" +
          kTime,
      // Almost each event makes room in the engine before it.
      "--key key=id --window 3ms --allowed-lateness 1ms --value n --max-memory 12000 --on-late "
      "correct "
      "--emission-id" +
          kTime,
  });
}

TEST(JsonRestart, OfAFolderChangesNothingBehindAnyLine) {
  ExpectNoChangeInDrawnLogs<Folders>({
      "--key k --quiet 15ms --rest last --raw 2 --raw-last 2 --where g!=4",
      "--key k --key m.a --quiet 10ms --rest first --merge 'd=distinct(v)' --merge "
      "'all=array(o,9)' "
      "--emission-id --id id --allowed-lateness 30ms --on-late reject --reorder 5ms" +
          kTime,
      "--key k --quiet 10ms --edge both --partial-every 6ms --on-late correct --allowed-lateness "
      "30ms "
      "--merge 's=sum(n)' --flush-when g=0 --cancel-when g=1 --start-when g=2 --end-when g=3" +
          kTime,
  });
}

// --- What a counter has taken out of the engine

TEST(JsonRestart, OfACounterKeepsWhatItHasMovedOutOfTheEngine) {
  const auto spec = OptionsFor<RollupSpec>(
      "--key key=id --window 1ms --allowed-lateness 1ms --max-memory 6000 --emission-id" + kTime);
  Service<Counters> program(spec);
  for (const Line& line : DrawnLog(1, 70)) program.Add(line.text, line.arrival);
  Service<Counters> lasting(spec);
  for (const Line& line : DrawnLog(1, 70)) lasting.Add(line.text, line.arrival);
  // Nobody has taken any, and yet they are no longer in the engine.
  EXPECT_GT(program.lines().ledger().made_final, program.lines().sizes().ready);
  program.Restart();
  program.End();
  lasting.End();
  EXPECT_THAT(program.out(), HasSubstr("\"reason\":\"final\""));
  ExpectSame(program, lasting);
}

// --- Real logs

template <class Kind>
void ExpectNoChangeInARealLog(const RealLog& log, const std::string& options) {
  if (!std::ifstream(log.path).good()) return;
  SCOPED_TRACE(log.name);
  auto spec = OptionsFor<typename Kind::Spec>(options);
  spec.event = LogSpec(log);
  Service<Kind> lasting(spec);
  Service<Kind> restarted(spec);
  DrawnEvents drawn(3);
  size_t pieces = 0;
  ReadLog(log, [&](std::string_view text) {
    while (!text.empty() && pieces < 80) {
      const size_t about = 20'000 + drawn.Draw(60'000);
      const std::string piece(text.substr(0, text.find('\n', about)));
      text.remove_prefix(std::min(piece.size() + 1, text.size()));
      for (Service<Kind>* each : {&lasting, &restarted}) {
        each->Add(piece, {});
        each->Take();
      }
      if (++pieces % 9 == 5) restarted.Restart();
    }
  });
  lasting.End();
  restarted.End();
  EXPECT_GT(pieces, 3u);
  EXPECT_TRUE(restarted.out() == lasting.out());
  if (restarted.out() == lasting.out()) ExpectSame(restarted, lasting);
}

TEST(JsonRestart, ChangesNothingInRealLogs) {
  for (const RealLog* log : {&kWikitickerSlice, &kZeekByHost}) {
    ExpectNoChangeInARealLog<Counters>(*log, "--key k --window 1m,5m --allowed-lateness 10s");
  }
  ExpectNoChangeInARealLog<Folders>(kWikitickerSlice, "--key k --quiet 5m --rest last");
}

// --- Another spec

template <class Kind>
std::string Refusal(const std::string& then, const std::string& now) {
  Service<Kind> before(OptionsFor<typename Kind::Spec>(then));
  before.Add("{\"k\":1,\"m\":2,\"t\":3}\n", FromUnix(1ms));
  Service<Kind> after(OptionsFor<typename Kind::Spec>(now), /*begun=*/false);
  const absl::Status status = after.Restore(before.Snapshot());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(after.lines().counts(), LineCounts{});
  return std::string(status.message());
}

TEST(JsonRestart, IsRefusedToALiveSetOfAnotherSpecWhichTheMessageNames) {
  const std::string usual = "--key k --member m --ttl 1s";
  EXPECT_EQ(Refusal<LiveSets>(usual, "--key l --member m --ttl 1s"),
            "\"lines\": key is l, and k in the snapshot");
  EXPECT_EQ(Refusal<LiveSets>(usual, "--key k --key l --member m --ttl 1s"),
            "\"lines\": key is k; l, and k in the snapshot");
  EXPECT_EQ(Refusal<LiveSets>(usual, "--key k --member n --ttl 1s"),
            "\"lines\": member is n, and m in the snapshot");
  EXPECT_EQ(Refusal<LiveSets>(usual, usual + " --remove-when g=1"),
            "\"lines\": remove-when is g=1, and absent in the snapshot");
  EXPECT_EQ(Refusal<LiveSets>(usual + " --payload p", usual),
            "\"lines\": payload is absent, and p in the snapshot");
  EXPECT_EQ(Refusal<LiveSets>(usual + " --payload p", usual + " --payload q"),
            "\"lines\": payload is q, and p in the snapshot");
}

TEST(JsonRestart, IsRefusedToACounterOfAnotherSpecWhichTheMessageNames) {
  const std::string usual = "--key k --window 1s --allowed-lateness 1s";
  EXPECT_EQ(Refusal<Counters>(usual, "--key l --window 1s --allowed-lateness 1s"),
            "\"lines\": key is l, and k in the snapshot");
  EXPECT_EQ(Refusal<Counters>(usual, usual + " --value v"),
            "\"lines\": value is v, and absent in the snapshot");
  EXPECT_EQ(Refusal<Counters>(usual + " --id i", usual + " --id j"),
            "\"lines\": id is j, and i in the snapshot");
  EXPECT_EQ(Refusal<Counters>(usual, "--key k --window 1s,2s --allowed-lateness 1s"),
            "\"lines\": windows is 1s; 2s, and 1s in the snapshot");
}

// --- Companions

TEST(Companion, BelongsToOneCollection) {
  class None final : public Companion {
   public:
    NamedTexts Options() const override { return {}; }
    void Save(FieldWriter&) const override {}
    void Load(FieldReader&) override {}
  };
  Service<LiveSets> program(OptionsFor<LiveSetSpec>("--key k --member m --ttl 1s"));
  EXPECT_EQ(SetCompanion(program.engine(), "words", std::make_shared<None>()).message(),
            "there is no collection \"words\"");
  EXPECT_EQ(SetCompanion(program.engine(), "lines", std::make_shared<None>()).message(),
            "\"lines\" has a companion");
}

}  // namespace
}  // namespace pleat::inline v0_1
