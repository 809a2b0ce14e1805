// Metrics: the collections of an engine, of every kind, with their options and statistics; and the
// statistics as text that a monitoring system scrapes.
//
//   std::vector<pleat::ListedCollection> all = pleat::ListCollections(*engine);
//   for (const auto& each : all) std::printf("%s, a %s\n", each.name.c_str(), each.kind.c_str());
//   Answer(pleat::kOpenMetricsType,
//          pleat::WriteMetrics(all, pleat::MetricsFormat::kOpenMetrics));
//
// What is measured beside, you add before:
//
//   const auto gaps = folder.gap_stats();  // null unless asked for
//   for (pleat::ListedCollection& each : all) {
//     if (each.name == "edits") each.gaps = gaps.get();
//   }
//
// WriteMetrics() makes the text; your program serves it. The HELP line of each metric explains it.
// Names begin with pleat_, times are in seconds, sizes in bytes, and every sample has the label
// `collection`, `directory` or `processor`; drivers and consumers have the labels that you give.
// Thread safety: WriteMetrics() may run on any thread; it reads only its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/event_store.h>
#include <pleat/processor.h>
#include <pleat/state_directory.h>
#include <pleat/stats.h>
#include <pleat/time.h>

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

// --- As text

enum class MetricsFormat : uint8_t {
  kPrometheus,   // the text format 0.0.4 of Prometheus
  kOpenMetrics,  // OpenMetrics 1.0
};

// The Content-Type of each format.
inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// How the snapshots of one state directory stand.
struct StateDirectoryMetrics {
  // The value of the label, such as its path: as the name of a collection.
  std::string_view directory;

  SnapshotState state = {};

  // When the newest snapshot was taken, by the wall clock. A StateDirectory reads no clock, so its
  // caller knows.
  std::optional<EngineTime> newest = std::nullopt;
};

// What a driver, and a consumer or a watcher of asio.h, have done: driver.stats() and
// consumer.stats(). Borrows the labels.
// REQUIRES: no label is named direction or le, and no two of a kind have the same labels.
struct DriverMetrics {
  std::span<const MetricLabel> labels = {};
  DriverStats stats = {};
};

struct ConsumerMetrics {
  std::span<const MetricLabel> labels = {};
  ConsumerStats stats = {};

  // Of a watcher: WatcherStats::resyncs.
  std::optional<uint64_t> resyncs = std::nullopt;
};

// The path of an event store, as above, and how the store stands.
using EventStoreMetrics = std::pair<std::string_view, EventStoreState>;

// What you call a processor, such as its consumer; and processor.lanes(), or StoreLog::Look() where
// another process has it. Set `end` and `newest` of a lane if you know them.
using ProcessorMetrics = std::pair<std::string_view, std::span<const LaneStatus>>;

// The text of all metrics. The label `collection` has the name, which may be any text; bytes that
// are not UTF-8 become U+FFFD. The sum of a histogram is known as exactly as its values: to within
// a tenth, of gaps to within a hundredth.
// REQUIRES: no two collections have the same name.
PLEAT_EXPORT std::string WriteMetrics(std::span<const ListedCollection> collections,
                                      MetricsFormat format,
                                      std::span<const StateDirectoryMetrics> directories = {},
                                      std::span<const DriverMetrics> drivers = {},
                                      std::span<const ConsumerMetrics> consumers = {},
                                      std::span<const EventStoreMetrics> stores = {},
                                      std::span<const ProcessorMetrics> processors = {});

}  // namespace pleat::inline v0_1
