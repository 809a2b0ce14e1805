// JSON folders in snapshots: a restart at any time changes no byte of what comes out, and no count.
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/snapshot.h>
#include <pleat/untyped/companion.h>

#include "tests/lines/drawn_events.h"
#include "tests/lines/json_harness.h"
#include "tests/lines/real_logs.h"
#include "tests/support/bytes.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/show.h"

namespace pleat::inline v0_1 {
namespace {

using testing::HasSubstr;

// Folds lines until the program ends, and starts again from a snapshot.
class Program {
 public:
  explicit Program(FoldSpec spec, int partitions = 4)
      : spec_(std::move(spec)), partitions_(partitions) {
    Start();
  }

  void Restart() {
    const std::string bytes = Snapshot();
    const size_t held = folder_->sizes().bytes;
    Start();
    const absl::Status restored = Restore(bytes);
    ASSERT_TRUE(restored.ok()) << restored.message();
    EXPECT_TRUE(Snapshot() == bytes);
    EXPECT_EQ(folder_->sizes().bytes, held);
  }

  std::string Snapshot() const {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine_, sink).ok());
    return sink.bytes;
  }
  // Every number means what it would have meant.
  absl::Status Restore(std::string_view bytes) const {
    StringSource source(bytes);
    return RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
  }

  // Returns what was unusual, a line each.
  std::string Fold(std::string_view text, EngineTime arrival) {
    const std::string padded = std::string(text) + std::string(kLinePaddingBytes, ' ');
    std::string unusual;
    folder_->FoldLines(
        std::string_view(padded).substr(0, text.size()), arrival, [&](const UnusualLine& line) {
          unusual += std::to_string(static_cast<int>(line.result.fold)) + " " +
                     std::string(line.result.reason) + " " + std::string(line.text) + "\n";
          return true;
        });
    return unusual;
  }
  std::string Pop(size_t max = SIZE_MAX) {
    std::string out;
    folder_->Pop(max, out);
    return out;
  }
  // The open groups, in the order in which they would close.
  std::string Open() {
    std::string out;
    folder_->Scan([&](std::string_view lines) { out += lines; });
    return out;
  }

  Engine& engine() { return *engine_; }
  JsonFolder& folder() { return *folder_; }

 private:
  void Start() {
    folder_.reset();
    EngineOptions options = EngineOptionsFor(spec_.event);
    options.partitions = partitions_;
    engine_ = *Engine::Open(options);
    folder_ = *JsonFolder::Open(*engine_, "lines", spec_);
  }

  const FoldSpec spec_;
  const int partitions_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonFolder> folder_;
};

void ExpectSame(Program& restarted, Program& other) {
  // Groups that are due close with the next call on their partition, and count as open until then.
  for (Program* each : {&restarted, &other}) each->engine().Advance(each->engine().now());
  EXPECT_TRUE(restarted.Open() == other.Open());
  EXPECT_EQ(restarted.folder().counts(), other.folder().counts());
  EXPECT_EQ(restarted.folder().stamps(), other.folder().stamps());
  EXPECT_EQ(ShowColumns(restarted.folder().ledger()), ShowColumns(other.folder().ledger()));
  EXPECT_EQ(restarted.folder().ledger(), other.folder().ledger());
  EXPECT_EQ(restarted.folder().absent_paths(), other.folder().absent_paths());
}

constexpr const char* kSpecs[] = {
    "--rest last --raw 3 --raw-last 2 --where k!=7",
    "--time t --time-unit us --reorder 20ms --max-bytes 4Ki --close-when events=9 --emission-id",
    "--time t --time-unit us --id id --quiet-path q --allowed-lateness 40ms --on-late reject "
    "--edge "
    "both",
    "--time t --time-unit us --partial-every 30ms --rest first --quiet adaptive:5ms..60ms --class "
    "s "
    "--start-when v=true --end-when s=false --flush-when 'n<-1000' --cancel-when "
    "'n>1e300'",
};

std::string DrawnText(DrawnEvents& events, int64_t& time) {
  std::string text;
  for (size_t left = events.Draw(60); left > 0; --left) {
    time += static_cast<int64_t>(events.Draw(4'000));
    const int64_t stamp =
        time - static_cast<int64_t>(events.Draw(50) == 0 ? events.Draw(90'000) : 0);
    text += "{\"k\":" + std::to_string(events.Draw(12)) + ",\"t\":" + std::to_string(stamp) +
            ",\"id\":" + std::to_string(events.Draw(500)) + events.Members() + "}\n";
    if (events.Draw(40) == 0) text += events.Draw(2) == 0 ? "no line\n" : "\n";
  }
  return text;
}

TEST(JsonSnapshot, ARestartAtAnyTimeChangesNoByte) {
  const uint64_t seeds = ShareOf({.whole = 60, .usual = 24, .sanitized = 8});
  ForEachSeed(1, seeds, [&](uint64_t seed) {
    DrawnEvents events(seed);
    const std::string options = kSpecs[seed % std::size(kSpecs)];
    const FoldSpec spec = SpecOf("--key k --quiet 25ms " + options + " " + EveryReducer());
    ASSERT_TRUE(Validate(spec).ok()) << Validate(spec).message();
    Program lasting(spec);
    Program restarted(spec);
    int64_t time = 1'000'000;
    for (int step = 0; step < 30; ++step) {
      if (events.Draw(10) == 0) {
        lasting.folder().StartInput();
        restarted.folder().StartInput();
      }
      const std::string text = DrawnText(events, time);
      const EngineTime arrival = FromUnix(Duration(time));
      ASSERT_EQ(restarted.Fold(text, arrival), lasting.Fold(text, arrival));
      const size_t popped = events.Draw(8);
      ASSERT_EQ(restarted.Pop(popped), lasting.Pop(popped));
      if (events.Draw(4) == 0) restarted.Restart();
      if (events.Draw(3) == 0) ExpectSame(restarted, lasting);
      // Names that ids and a learned quiet period remember are forgotten when there is time for it.
      if (!spec.marks.id.empty() || spec.folder.quiet_floor != Duration{0}) continue;
      EXPECT_EQ(restarted.folder().sizes().bytes, lasting.folder().sizes().bytes);
    }
    restarted.folder().CloseAll();
    lasting.folder().CloseAll();
    restarted.Restart();
    EXPECT_EQ(restarted.Pop(), lasting.Pop());
    ExpectSame(restarted, lasting);
  });
}

TEST(JsonSnapshot, RealLogsComeOutAsIfNothingHadHappened) {
  for (const RealLog* log : {&kWikitickerSlice, &kZeekByHost}) {
    if (!std::ifstream(log->path).good()) continue;
    FoldSpec spec = SpecOf(
        "--key k --quiet 10m --rest last --merge 'events=count()' "
        "--merge 'pages=distinct(page)' --merge 'ports=set(/id.resp_p)' "
        "--merge 'added=mean(added)' --merge 'users=array(user,5)'");
    spec.event = LogSpec(*log);
    Program lasting(spec);
    Program restarted(spec);
    size_t pieces = 0;
    ReadLog(*log, [&](std::string_view text) {
      while (!text.empty() && pieces < 60) {
        const std::string_view piece = text.substr(0, text.find('\n', 200'000));
        text.remove_prefix(std::min(piece.size() + 1, text.size()));
        ASSERT_TRUE(restarted.Fold(piece, {}) == lasting.Fold(piece, {}));
        ASSERT_TRUE(restarted.Pop() == lasting.Pop());
        if (++pieces % 10 == 5) restarted.Restart();
      }
    });
    restarted.folder().CloseAll();
    lasting.folder().CloseAll();
    EXPECT_EQ(restarted.Pop(), lasting.Pop());
    ExpectSame(restarted, lasting);
  }
}

// --- What belongs to a folder beside its groups

constexpr const char* kLines =
    "{\"k\":1,\"v\":\"a long text that is kept as a mark\"}\n"
    "{\"k\":1,\"v\":{}}\n"
    "no line\n"
    "{\"k\":2,\"w\":1}\n";

TEST(JsonSnapshot, TellsAValueThatItHasSeenBefore) {
  Program program(SpecOf("--key k --merge 'n=distinct(v)'"));
  program.Fold(kLines, {});
  program.Restart();
  program.Fold(kLines, {});
  program.folder().CloseAll();
  EXPECT_THAT(program.Pop(), HasSubstr("{\"k\":1,\"n\":2,"));
}

TEST(JsonSnapshot, CountsSinceTheFirstLine) {
  Program program(SpecOf("--key k --merge 's=sum(v)' --merge 'x=sum(x)' --merge 'y=sum(x.y)'"));
  program.Fold(kLines, FromUnix(Duration(9)));
  program.Restart();
  const LineCounts before{.lines = 4, .events = 3, .invalid = 1, .mismatched = 2};
  EXPECT_EQ(program.folder().counts(), before);
  EXPECT_EQ(program.folder().mismatch(), std::nullopt);  // types are not kept
  EXPECT_EQ(program.folder().absent_paths(),
            (std::vector<OptionPath>{{"merge", "x"}, {"merge", "x.y"}}));
  program.Fold("{\"k\":3,\"x\":1}\n", FromUnix(Duration(5)));
  program.Restart();
  const LineCounts after{.lines = 5, .events = 4, .invalid = 1, .mismatched = 2};
  EXPECT_EQ(program.folder().counts(), after);
  EXPECT_EQ(program.folder().stamps().out_of_order, 1u);
  EXPECT_EQ(program.folder().stamps().most_behind, Duration(4));
  program.Fold("{\"k\":3,\"v\":\"1\"}\n", FromUnix(Duration(5)));
  EXPECT_FALSE(program.folder().mismatch()->only);
  EXPECT_EQ(program.folder().absent_paths(), (std::vector<OptionPath>{{"merge", "x.y"}}));
}

TEST(JsonSnapshot, HasTheCountsOfAFolderObjectThatIsGone) {
  const FoldSpec spec = SpecOf("--key k");
  auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  auto folder = *JsonFolder::Open(*engine, "lines", spec);
  const PaddedLine line("{\"k\":1}");
  folder->FoldLine(line.view(), {});
  folder.reset();
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(*engine, sink).ok());
  Program program(spec, 1);
  const absl::Status restored = program.Restore(sink.bytes);
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_EQ(program.folder().counts().events, 1u);
}

// Finds its bytes wrong, whatever they are.
class FailingCompanion final : public Companion {
 public:
  NamedTexts Options() const override { return {}; }
  void Save(FieldWriter&) const override {}
  void Load(FieldReader& in) override { in.Fail(); }
};

// The collection that fails is loaded after the folder.
TEST(JsonSnapshot, ARestoringThatFailsLeavesCountsAsTheyWere) {
  StateOps ops;
  ops.size = 1;
  ops.open = [](void*, void*) {};
  ops.fold = [](void*, void*, const void*) -> int64_t { return 0; };
  ops.destroy = [](void*, void*) {};
  ops.save = [](void*, const void*, FieldWriter&) {};
  ops.load = [](void*, void*, FieldReader&) {};
  ops.shape = [](void*, uint32_t) { return std::string(); };
  const auto open = [&](Program& program) {
    const FolderOptions options{.quiet_period = std::chrono::seconds(1), .max_wait = kForever};
    const auto opened = AnyFolder::Open(program.engine(), "more", options, ops);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const auto companion = std::make_shared<FailingCompanion>();
    ASSERT_TRUE(SetCompanion(program.engine(), "more", companion).ok());
  };
  const FoldSpec spec = SpecOf("--key k --merge 'n=distinct(v)'");
  Program before(spec);
  open(before);
  before.Fold(kLines, {});
  Program program(spec);
  open(program);
  const std::string empty = program.Snapshot();
  EXPECT_EQ(program.Restore(before.Snapshot()).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(program.folder().counts(), LineCounts{});
  EXPECT_EQ(program.folder().absent_paths(), std::vector<OptionPath>{});
  EXPECT_TRUE(program.Snapshot() == empty);
}

// --- Another spec

std::string Refusal(const std::string& then, const std::string& now) {
  Program before(SpecOf("--key k " + then));
  before.Fold(kLines, {});
  Program after(SpecOf(now));
  const absl::Status status = after.Restore(before.Snapshot());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(after.folder().counts(), LineCounts{});
  return std::string(status.message());
}

TEST(JsonSnapshot, IsRefusedByAFolderOfAnotherSpecWhichTheMessageNames) {
  EXPECT_EQ(Refusal("--merge 'n=sum(v)'", "--key k --merge 'n=max(v)'"),
            "\"lines\": merge is n=max(v), and n=sum(v) in the snapshot");
  EXPECT_EQ(Refusal("--merge 'n=sum(v)'", "--key k --merge 'n=sum(v)' --merge 'm=sum(w)'"),
            "\"lines\": merge is n=sum(v); m=sum(w), and n=sum(v) in the snapshot");
  EXPECT_EQ(Refusal("--merge 'n=sum(v)'", "--key k"),
            "\"lines\": merge is absent, and n=sum(v) in the snapshot");
  EXPECT_EQ(Refusal("", "--key k --key v"), "\"lines\": key is k; v, and k in the snapshot");
  EXPECT_EQ(Refusal("--rest last", "--key k --rest first"),
            "\"lines\": rest is first, and last in the snapshot");
  EXPECT_EQ(Refusal("--raw 2", "--key k --raw 3"), "\"lines\": raw is 3, and 2 in the snapshot");
  EXPECT_EQ(Refusal("--where v=1", "--key k"),
            "\"lines\": where is absent, and v=1 in the snapshot");
  EXPECT_EQ(Refusal("--end-when v=1", "--key k --end-when w=1"),
            "\"lines\": end-when is w=1, and v=1 in the snapshot");
  EXPECT_EQ(Refusal("", "--key k --partial-every 2m"),
            "\"lines\": partial_every is 120s, and forever in the snapshot");
}

TEST(JsonSnapshot, IsTakenByAFolderThatOnlyPrintsAnotherWayOrHasOtherLimits) {
  Program before(SpecOf("--key k --merge 'n=count()'"));
  before.Fold(kLines, {});
  Program after(SpecOf("--key k --merge 'n=count()' --no-meta --max-groups 7"));
  const absl::Status restored = after.Restore(before.Snapshot());
  ASSERT_TRUE(restored.ok()) << restored.message();
  after.folder().CloseAll();
  EXPECT_THAT(after.Pop(), HasSubstr("{\"k\":1,\"n\":2}\n"));
}

// --- Beside the thread that folds

TEST(JsonSnapshot, IsTakenWhileAnotherThreadFolds) {
  const FoldSpec spec = SpecOf("--key k --rest last " + EveryReducer());
  Program program(spec);
  std::atomic<bool> goes_on = true;
  std::thread folds([&] {
    DrawnEvents events(1);
    int64_t time = 0;
    for (; goes_on; ++time) {
      program.Fold(DrawnText(events, time), FromUnix(Duration(time)));
      program.folder().StartInput();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const std::string bytes = program.Snapshot();
    Program restored(spec);
    const absl::Status status = restored.Restore(bytes);
    EXPECT_TRUE(status.ok()) << status.message();
    const LineCounts counts = restored.folder().counts();
    // What the folder has folded in a batch under way may not be among its lines yet.
    EXPECT_LE(counts.events, restored.folder().ledger().events);
    EXPECT_LE(restored.folder().ledger().events, counts.events + 256);
  }
  goes_on = false;
  folds.join();
}

}  // namespace
}  // namespace pleat::inline v0_1
