// Whether a quiet period that adapts is worth having: on real logs it is held against every fixed one. What is
// compared, and what it does not promise, is in docs/quiet-period.md.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/json.h>

#include "tests/lines/real_logs.h"
#include "tests/support/sanitized.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct Tick {};
struct Nothing {
  void Fold(const Tick&) noexcept {}
};
struct Log {
  std::vector<std::string> keys;
  std::vector<KeyedEvent<Tick>> events;
};

// The keys and times of a log: each event is a group of its own, which comes out with both.
std::unique_ptr<Log> Read(const RealLog& real) {
  FoldSpec spec;
  spec.event = LogSpec(real);
  spec.folder.quiet_period = 1h;
  spec.folder.max_events = 1;
  auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  auto folder = *JsonFolder::Open(*engine, "events", spec);
  ReadLog(real, [&](std::string_view lines) {
    folder->FoldLines(lines, {}, [](const auto&) { return true; });
  });
  std::string out;
  folder->Pop(SIZE_MAX, out);

  auto log = std::make_unique<Log>();
  const std::string_view before_time = ",\"_fold\":{\"count\":1,\"first\":\"";
  std::vector<EngineTime> times;
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1) {
    const size_t key_end = out.find(before_time, at);
    const size_t time_begin = key_end + before_time.size();
    const size_t time_end = out.find('"', time_begin);
    log->keys.push_back(out.substr(at, key_end - at));
    EngineTime& time = times.emplace_back();
    EXPECT_TRUE(ParseTimestamp(out.substr(time_begin, time_end - time_begin), time));
  }
  for (size_t i = 0; i < times.size(); ++i) log->events.push_back({log->keys[i], times[i], {}});
  return log;
}

struct Outcome {
  double ratio = 0;
  double mean = 0;  // of the delays, from the opening event to the close
  Duration median{};
  Duration p99{};
};

Outcome FoldAll(const Log& log, const FolderOptions& options, int partitions = 1) {
  auto engine = *Engine::Open({.partitions = partitions, .axis = Axis::kEvent});
  Folder<Tick, Nothing> folder(*engine, "log", options);
  folder.FoldBatch(log.events);
  engine->Advance(log.events.back().at + 24h * 365);
  std::vector<Duration> delays;
  for (const Emission<Nothing>& group : folder.Pop(SIZE_MAX)) {
    delays.push_back(group.closed - group.first);
  }
  std::sort(delays.begin(), delays.end());
  Duration sum{};
  for (const Duration delay : delays) sum += delay;
  const auto groups = static_cast<double>(delays.size());
  return {.ratio = 1 - groups / static_cast<double>(log.events.size()),
          .mean = static_cast<double>(sum.count()) / groups,
          .median = delays[delays.size() / 2],
          .p99 = delays[delays.size() * 99 / 100]};
}

class AdaptiveOnRealLogs : public testing::TestWithParam<RealLog> {
 protected:
  void SetUp() override {
    // It takes whole logs: in the head of one there is too little to learn.
    if (kSanitized) GTEST_SKIP() << "a sanitizer has nothing to say about how much folds";
    if (!std::filesystem::exists(GetParam().path)) GTEST_SKIP() << "no " << GetParam().path;
    log_ = Read(GetParam());
    ASSERT_GT(log_->events.size(), 1000u);
  }

  // What fixed quiet periods from 0.1 s to an hour do.
  std::vector<Outcome> FixedOnes(Duration max_wait) const {
    std::vector<Outcome> out;
    for (double quiet = 1e5; quiet < 4e9; quiet *= 1.2) {
      const Duration period{static_cast<int64_t>(quiet)};
      out.push_back(FoldAll(*log_, {.quiet_period = period, .max_wait = max_wait}));
    }
    return out;
  }

  std::unique_ptr<Log> log_;
};

TEST_P(AdaptiveOnRealLogs, AnyFixedPeriodThatFoldsAsMuchHasALongerMeanAndMedianDelay) {
  const std::vector<Outcome> fixed_ones = FixedOnes(kForever);
  for (const int partitions : {1, 16}) {
    for (const Duration ceiling : {1min, 5min, 30min}) {
      for (const int range : {10, 30, 100}) {
        SCOPED_TRACE(testing::Message() << partitions << " partitions, " << ceiling.count() / range
                                        << " us to " << ceiling.count() << " us");
        const Outcome adaptive = FoldAll(
            *log_, {.quiet_period = ceiling, .quiet_floor = ceiling / range, .max_wait = kForever},
            partitions);
        ASSERT_LT(adaptive.ratio, fixed_ones.back().ratio);
        for (const Outcome& fixed : fixed_ones) {
          if (fixed.ratio < adaptive.ratio) continue;
          EXPECT_GT(fixed.mean, adaptive.mean);
          EXPECT_GT(fixed.median, adaptive.median);
        }
      }
    }
  }
}

TEST_P(AdaptiveOnRealLogs, UnderAMaxWaitItsP99IsNoLongerEither) {
  const std::vector<Outcome> fixed_ones = FixedOnes(10min);
  for (const Duration floor : {18s, 60s, 180s}) {
    SCOPED_TRACE(testing::Message() << floor.count() << " us to 30 min");
    const Outcome adaptive =
        FoldAll(*log_, {.quiet_period = 30min, .quiet_floor = floor, .max_wait = 10min});
    ASSERT_LT(adaptive.ratio, fixed_ones.back().ratio);
    for (const Outcome& fixed : fixed_ones) {
      if (fixed.ratio < adaptive.ratio) continue;
      EXPECT_GT(fixed.mean, adaptive.mean);
      EXPECT_GT(fixed.median, adaptive.median);
      EXPECT_GE(fixed.p99, adaptive.p99);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RealLogs, AdaptiveOnRealLogs,
                         testing::Values(kWikitickerSlice, kGharchiveByRepo),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pleat
