// Which quiet period? A running service can give the results of other quiet periods for its events.
//
// A thousand people edit pages in bursts: some twenty seconds from one edit to the next, and then
// nothing for minutes. The service folds the edits with a quiet period of a minute. Was that a good
// choice?
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <queue>
#include <string>

#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/metrics.h>
#include <pleat/stats.h>

using namespace std::chrono_literals;

struct Edit {};
struct Edits {
  uint64_t count = 0;
  void Fold(const Edit&) noexcept { ++count; }
};

// The next edit of one person, by time.
struct Next {
  pleat::EngineTime at;
  int person;
  bool operator<(const Next& other) const { return at > other.at; }
};

int main() {
  auto engine = *pleat::Engine::Open({.partitions = 4});
  pleat::Folder<Edit, Edits> edits(
      *engine, "edits", {.quiet_period = 1min, .max_wait = 1h, .measure = {.gap_stats = true}});

  uint64_t random = 1;
  const auto below = [&](pleat::Duration limit) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return pleat::Duration(static_cast<int64_t>(random >> 33) % limit.count());
  };
  const pleat::EngineTime noon = pleat::FromUnix(1'700'000'000s);
  std::priority_queue<Next> people;
  for (int person = 0; person < 1000; ++person) people.push({noon + below(10min), person});
  size_t written = 0;  // emissions
  for (int i = 0; i < 200'000; ++i) {
    const auto [at, person] = people.top();
    people.pop();
    edits.Fold("person " + std::to_string(person), {}, at);
    if (i % 100 == 0) written += edits.PopExpired(at, 10'000).size();
    const bool pauses = below(100us) < 15us;
    people.push({at + (pauses ? 2min + below(20min) : 1s + below(40s)), person});
  }

  const auto stats = edits.gap_stats();
  std::cout << "200000 edits, " << written << " emissions. What if?\n";
  std::cout << "    quiet  folded  emissions/s  p50 delay  p99 delay  open at most\n";
  for (const pleat::Duration quiet : {5s, 15s, 30s, 60s, 120s, 300s, 900s}) {
    const pleat::WhatIfRow row = stats->WhatIf(quiet, /*max_wait=*/1h);
    std::printf("%7.0f s  %5.1f%%  %11.2f  %7.0f s  %7.0f s  %12llu\n",
                std::chrono::duration<double>(row.quiet_period).count(), 100 * row.folding_ratio,
                row.emissions_per_second, std::chrono::duration<double>(row.delay_p50).count(),
                std::chrono::duration<double>(row.delay_p99).count(),
                static_cast<unsigned long long>(row.open_peak));
  }
  std::cout << std::flush;

  // A part of the answer to /metrics.
  std::vector<pleat::ListedCollection> all = pleat::ListCollections(*engine);
  all[0].gaps = stats.get();
  const std::string text = WriteMetrics(all, pleat::MetricsFormat::kPrometheus);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.find("folding_ratio") != line.npos) std::cout << line << '\n';
    begin = end + 1;
  }
}
