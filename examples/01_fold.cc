// The first program: fold a burst of updates into one emission per account.
//
// A post's metrics change many times in a minute. The service that recomputes an account wants one
// message, when the changes have stopped, and wants to know which metrics changed.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include <pleat/engine.h>
#include <pleat/folder.h>

using namespace std::chrono_literals;

// An event. Events are not kept, so views are enough.
struct MetricsUpdated {
  std::vector<std::string_view> metrics;
};

// The state of an open group. Fold runs under a lock: it is noexcept and short, and calls no
// engine.
struct ChangedMetrics {
  std::vector<std::string> names;

  void Fold(const MetricsUpdated& event) noexcept {
    for (std::string_view metric : event.metrics) {
      if (std::find(names.begin(), names.end(), metric) == names.end()) names.emplace_back(metric);
    }
  }
};

int main() {
  // An engine starts no thread and reads no clock; in this program its time is a number of ours.
  auto engine = *pleat::Engine::Open({.partitions = 4});
  pleat::Folder<MetricsUpdated, ChangedMetrics> accounts(*engine, "accounts",
                                                         {.quiet_period = 5min, .max_wait = 1h});

  const pleat::EngineTime noon = pleat::FromUnix(1'700'000'000s);
  accounts.Fold("account_1", {{"likes", "shares"}}, noon);
  accounts.Fold("account_1", {{"comments", "impressions"}}, noon + 1s);
  accounts.Fold("account_2", {{"likes"}}, noon + 2s);
  accounts.Fold("account_1", {{"likes", "shares"}}, noon + 3s);

  // Nothing is due yet. A service would sleep until NextDeadline(); this program just moves time.
  std::cout << "next deadline after " << (*engine->NextDeadline() - noon) / 1s << " s\n";
  engine->Advance(noon + 6min);

  for (const auto& emission : accounts.Pop(100)) {
    std::cout << emission.key << ": " << emission.count << " events, "
              << ReasonName(emission.reason) << " at +" << (emission.closed - noon) / 1s
              << " s, changed:";
    for (const std::string& name : emission.state.names) std::cout << ' ' << name;
    std::cout << '\n';
  }

  const pleat::Ledger ledger = accounts.ledger();
  std::cout << ledger.events << " events became " << ledger.popped << " emissions; folding ratio "
            << ledger.FoldingRatio() << '\n';
}
