#include "tests/page/fixture.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>

namespace pleat::cli {
namespace {

using namespace std::chrono_literals;

constexpr EngineTime kMidnight = FromUnix(1'442'016'000s);  // 2015-09-12

struct Group {
  EngineTime opened;
  EngineTime last;
  uint64_t events = 0;
};

std::vector<Group> GroupsOf(const std::vector<EngineTime>& stamps, Duration quiet) {
  std::vector<Group> groups;
  for (const EngineTime stamp : stamps) {
    if (groups.empty() || stamp - groups.back().last >= quiet) groups.push_back({stamp, stamp, 0});
    groups.back().last = stamp;
    ++groups.back().events;
  }
  return groups;
}

Duration Quantile(std::vector<Duration>& values, double quantile) {
  if (values.empty()) return Duration{0};
  std::ranges::sort(values);
  const double rank = std::ceil(quantile * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

uint64_t Peak(std::vector<std::pair<EngineTime, int>>& changes) {
  std::ranges::sort(changes);
  int64_t open = 0;
  int64_t peak = 0;
  for (const auto& [at, change] : changes) peak = std::max(peak, open += change);
  return static_cast<uint64_t>(peak);
}

AnalysisRow RowAt(const Log& log, Duration quiet, const Analysis& analysis) {
  AnalysisRow row;
  row.quiet_period = quiet;
  std::vector<Duration> delays;
  std::vector<std::pair<EngineTime, int>> changes;
  for (const auto& [key, stamps] : log) {
    const std::vector<Group> groups = GroupsOf(stamps, quiet);
    row.emissions += groups.size();
    for (const Group& group : groups) {
      delays.push_back(group.last + quiet - group.opened);
      changes.push_back({group.opened, 1});
      changes.push_back({group.last + quiet, -1});
    }
    const Group& biggest = *std::ranges::max_element(groups, {}, &Group::events);
    row.biggest.push_back({key, biggest.events, biggest.opened, biggest.last - biggest.opened});
  }
  row.folding_ratio = 1 - static_cast<double>(row.emissions) / static_cast<double>(analysis.events);
  row.emissions_per_second =
      static_cast<double>(row.emissions) / (static_cast<double>(analysis.span().count()) / 1e6);
  row.delay_p50 = Quantile(delays, 0.5);
  row.delay_p99 = Quantile(delays, 0.99);
  row.open_peak = Peak(changes);
  row.longest = row.biggest;
  std::ranges::sort(row.biggest, [](const Burst& a, const Burst& b) {
    return std::tie(b.events, a.key) < std::tie(a.events, b.key);
  });
  std::ranges::sort(row.longest, [](const Burst& a, const Burst& b) {
    return std::tie(b.lasted, a.key) < std::tie(a.lasted, b.key);
  });
  row.biggest.resize(std::min(row.biggest.size(), kBurstsKept));
  row.longest.resize(std::min(row.longest.size(), kBurstsKept));
  return row;
}

}  // namespace

Log BurstyLog(uint64_t seed) {
  std::mt19937_64 random(seed);
  // Never exactly 0 or 1. The distributions of the standard library are not the same everywhere.
  const auto uniform = [&random] {
    return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
  };
  const auto about = [&uniform](Duration mean) {
    return Duration{static_cast<int64_t>(-std::log(uniform()) * static_cast<double>(mean.count()))};
  };
  Log log;
  for (int key = 0; key < 100; ++key) {
    std::vector<EngineTime>& stamps = log["user_" + std::to_string(key)];
    const Duration pause = about(90min) + 4min;
    for (EngineTime at = kMidnight + about(pause); at < kMidnight + 24h; at += about(pause)) {
      do {
        stamps.push_back(at);
        at += about(uniform() < 0.2 ? 60s : 4s);
      } while (uniform() < 0.8);
    }
    if (stamps.empty()) stamps.push_back(kMidnight);
  }
  for (EngineTime at = kMidnight; at < kMidnight + 24h; at += about(10s) + 10s)
    log["bot that never rests"].push_back(at);
  return log;
}

uint64_t FoldedAt(const Log& log, Duration quiet) {
  uint64_t folded = 0;
  for (const auto& [key, stamps] : log) {
    for (size_t i = 1; i < stamps.size(); ++i)
      folded += stamps[i] - stamps[i - 1] < quiet ? uint64_t{1} : uint64_t{0};
  }
  return folded;
}

std::unique_ptr<Analysis> Analyze(const Log& log, const std::vector<Duration>& grid) {
  auto analysis = std::make_unique<Analysis>();
  analysis->keys = log.size();
  analysis->first = kEndOfTime;
  analysis->last = kBeginningOfTime;
  for (const auto& [key, stamps] : log) {
    analysis->events += stamps.size();
    analysis->first = std::min(analysis->first, stamps.front());
    analysis->last = std::max(analysis->last, stamps.back());
    for (size_t i = 1; i < stamps.size(); ++i)
      analysis->gaps.Add(static_cast<uint64_t>((stamps[i] - stamps[i - 1]).count()));
  }
  for (const Duration quiet : grid) analysis->rows.push_back(RowAt(log, quiet, *analysis));
  return analysis;
}

const std::vector<Duration>& RoundGrid() {
  static const std::vector<Duration> grid = {1s,    1500ms, 2s,    4s,   6s,   10s,  15s,   25s,
                                             40s,   60s,    100s,  150s, 5min, 7min, 12min, 20min,
                                             30min, 45min,  80min, 2h,   4h,   6h,   12h,   24h};
  return grid;
}

KeyAnalysis BurstyAnalysis(std::string key) {
  KeyAnalysis result;
  result.key = std::move(key);
  result.analysis = Analyze(BurstyLog(1), RoundGrid());
  result.recommended.kind = Recommendation::Kind::kKnee;
  result.recommended.row = 12;
  result.recommended.why =
      "5 min: beyond it a longer delay folds little more. Half of the emissions then come within 6 "
      "min, "
      "99 % within 30 min.";
  const std::vector<Burst>& longest = result.analysis->rows[12].longest;
  result.recommended.never_quiet = {longest.front()};
  return result;
}

KeyAnalysis HeldAnalysis() {
  KeyAnalysis result = BurstyAnalysis();
  auto held = std::make_unique<Analysis>(*result.analysis);
  held->max_wait = 1h;
  result.analysis = std::move(held);
  return result;
}

KeyAnalysis EmptyAnalysis() {
  return {"user", std::make_unique<Analysis>(), {.why = "There are no events."}};
}

const std::vector<std::string>& HostileTexts() {
  using namespace std::string_literals;
  static const std::vector<std::string> texts = {
      "</script><script>document.title='broken'</script>",
      "</title></style></svg><img src=x onerror=\"document.title='broken'\">",
      "\"><script>document.title='broken'</script>",
      "'onmouseover='x",
      "]]>--><!--<![CDATA[",
      "&amp;&lt;&#x3c;script>",
      "nul \0 bell \a escape \x1b[31m newline \n"s,
      "right \u202Eto left\u202C \u2066isolate",
      "שלום עולם",
      "not utf-8 \xff\xc0\xaf\xed\xa0\x80\xf8",
      "separator \u2028 end \uFFFE",
      "{{x}} ${x} `x` %s %n",
      std::string(5000, 'w'),
  };
  return texts;
}

KeyAnalysis HostileAnalysis() {
  Log log;
  for (size_t i = 0; i < HostileTexts().size(); ++i) {
    for (size_t j = 0; j <= 40 - i; ++j)
      log[HostileTexts()[i]].push_back(kMidnight + (j + i * 100) * 1s);
  }
  KeyAnalysis result;
  result.key = "/" + HostileTexts()[0] + "," + HostileTexts()[1];
  auto analysis = Analyze(log, RoundGrid());
  for (AnalysisRow& row : analysis->rows) {
    row.biggest.clear();
    for (const auto& [key, stamps] : log)
      row.biggest.push_back({key, stamps.size(), stamps.front(), stamps.back() - stamps.front()});
  }
  result.recommended = {Recommendation::Kind::kKnee, 5, "5 s for " + HostileTexts()[1],
                        analysis->rows[5].biggest};
  result.analysis = std::move(analysis);
  return result;
}

testing::AssertionResult Has(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos)
    return testing::AssertionSuccess() << "has " << part;
  return testing::AssertionFailure() << "has no " << part;
}

}  // namespace pleat::cli
