// The collections of an engine, of every kind: their names, options and statistics. For a page that
// shows what a program holds, and for metrics without a list of one's own.
//
//   for (const pleat::ListedCollection& each : pleat::ListCollections(*engine)) {
//     std::printf("%s, a %s\n", each.name.c_str(), each.kind.c_str());
//   }
//
//   std::vector<pleat::ListedCollection> all = pleat::ListCollections(*engine);
//   Answer(pleat::WriteMetrics(all, pleat::MetricsFormat::kPrometheus));  // see metrics.h
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/stats.h>

namespace pleat::inline v0_1 {

// A label's name, which is letters, digits and underscores and no digit first, and any value.
using MetricLabel = std::pair<std::string_view, std::string_view>;

// A number that a collection tells, such as how many groups are open. Borrows its texts; those that
// a collection tells last as long as the program.
struct Statistic {
  enum class Type : uint8_t { kCounter, kGauge };

  // Letters, digits and underscores, without "_total"; such as pages_open. Statistics of one name
  // have one type, help and unit, in whatever collections, and differ in `label`.
  std::string_view name;
  Type type = Type::kGauge;
  std::string_view help;
  double value = 0;  // counts are exact up to 2^53

  std::string_view unit = {};  // "bytes", "seconds", ...: the last part of the name
  MetricLabel label = {};      // {"outcome", "late"}; none if the name is empty
};

struct ListedCollection {
  std::string name;
  std::string kind;  // "folder", "live_set", "presence", "rollup"

  // Those that have a part in the results, so no limits. An option with several values stands there
  // as often.
  std::vector<std::pair<std::string, std::string>> options;

  // What the ledger and the sizes say.
  std::vector<Statistic> statistics;

  // What you may add for WriteMetrics(): statistics; the histograms of gaps and of events per
  // emission; a histogram of lateness, which is lateness_us of a driver, a consumer or a watcher in
  // asio.h; and samples for each quiet period, which are distinct.
  std::vector<Statistic> own = {};
  const GapStats* gaps = nullptr;
  const Histogram* lateness_us = nullptr;
  std::span<const WhatIfRow> what_if = {};
};

// Those that are open, by kind and then by name. No collection is opened or closed meanwhile.
// Thread safety: any thread, any time. From inside a fold function the list is empty.
// Cost: the lock of each partition, one after the other, twice for each collection.
PLEAT_EXPORT std::vector<ListedCollection> ListCollections(Engine& engine);

}  // namespace pleat::inline v0_1
