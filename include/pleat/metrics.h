// Metrics: the counts of collections, as text that a monitoring system scrapes.
//
//   const auto gaps = folder.gap_stats();  // null unless asked for
//   const pleat::CollectionMetrics all[] = {{.collection = "edits",
//                                            .ledger = folder.ledger(),
//                                            .sizes = folder.sizes(),
//                                            .gaps = gaps.get()}};
//   const pleat::LiveSetMetrics live_sets[] = {{.collection = "readers",
//                                               .ledger = readers.ledger(),
//                                               .sizes = readers.sizes()}};
//   const pleat::PresenceMetrics presences[] = {{.collection = "visitors",
//                                                .ledger = visitors.ledger(),
//                                                .sizes = visitors.sizes()}};
//   const pleat::CounterMetrics counters[] = {{.collection = "plays",
//                                              .ledger = plays.ledger(),
//                                              .sizes = plays.sizes()}};
//   Answer(pleat::kOpenMetricsType,
//          pleat::WriteMetrics(all, pleat::MetricsFormat::kOpenMetrics, live_sets, presences,
//                              counters));
//
// WriteMetrics() makes the text; your program serves it. The HELP line of each metric explains it.
// Names begin with pleat_, times are in seconds, sizes in bytes, and every sample has the label
// `collection`, or `directory`; those of drivers and consumers have the labels that you give.
// Thread safety: WriteMetrics() may run on any thread; it reads only its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <pleat/analysis.h>
#include <pleat/detail/export.h>
#include <pleat/live_set_options.h>
#include <pleat/presence_options.h>
#include <pleat/rollup_options.h>
#include <pleat/state_directory.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

enum class MetricsFormat : uint8_t {
  kPrometheus,   // the text format 0.0.4 of Prometheus
  kOpenMetrics,  // OpenMetrics 1.0
};

// The Content-Type of each format.
inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// A metric that a collection adds to those of its ledger and sizes, such as a collection of a kind
// that has no struct below.
struct OwnMetric {
  enum class Type : uint8_t { kCounter, kGauge };

  // Letters, digits and underscores, without "_total"; such as pages_open. Metrics of one
  // name, in several collections, are one family and have one type and help.
  std::string_view name;
  Type type = Type::kGauge;
  std::string_view help;
  double value = 0;
};

// The counts of one collection. Borrows everything that it points to.
struct CollectionMetrics {
  // The value of the label: any text, distinct for each collection. Bytes that are not UTF-8 become
  // U+FFFD.
  std::string_view collection;

  Ledger ledger = {};
  Sizes sizes = {};

  // Adds the histograms of gaps and of events per emission.
  const GapStats* gaps = nullptr;

  // Adds a histogram of lateness: lateness_us of a driver, a consumer or a watcher in asio.h.
  const Histogram* lateness_us = nullptr;

  // Adds a sample for each quiet period. REQUIRES: their quiet periods are distinct.
  std::span<const WhatIfRow> what_if = {};

  // Adds these metrics. REQUIRES: their names are distinct.
  std::span<const OwnMetric> own = {};
};

// The counts of one live set, of one presence, and of one rollup counter. The members mean what
// those of CollectionMetrics do, and all names are distinct.
struct LiveSetMetrics {
  std::string_view collection;
  LiveSetLedger ledger = {};
  LiveSetSizes sizes = {};
  const Histogram* lateness_us = nullptr;
  std::span<const OwnMetric> own = {};
};

struct PresenceMetrics {
  std::string_view collection;
  PresenceLedger ledger = {};
  PresenceSizes sizes = {};
  const Histogram* lateness_us = nullptr;
  std::span<const OwnMetric> own = {};
};

struct CounterMetrics {
  std::string_view collection;
  RollupLedger ledger = {};
  RollupSizes sizes = {};
  const Histogram* lateness_us = nullptr;

  // Adds the time by which the final windows trail the engine's time: EventualCount::lag of any
  // counter.
  std::optional<Duration> lag = std::nullopt;

  std::span<const OwnMetric> own = {};
};

// How the snapshots of one state directory stand.
struct StateDirectoryMetrics {
  // The value of the label, such as its path: as CollectionMetrics::collection.
  std::string_view directory;

  SnapshotState state = {};

  // When the newest snapshot was taken, by the wall clock. A StateDirectory reads no clock, so its
  // caller knows.
  std::optional<EngineTime> newest = std::nullopt;
};

// A label's name, which is letters, digits and underscores and no digit first, and any value.
using MetricLabel = std::pair<std::string_view, std::string_view>;

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

// The text of all metrics. The sum of a histogram is known as exactly as its values: to within a
// tenth, of gaps to within a hundredth.
PLEAT_EXPORT std::string WriteMetrics(std::span<const CollectionMetrics> collections,
                                      MetricsFormat format,
                                      std::span<const LiveSetMetrics> live_sets = {},
                                      std::span<const PresenceMetrics> presences = {},
                                      std::span<const CounterMetrics> counters = {},
                                      std::span<const StateDirectoryMetrics> directories = {},
                                      std::span<const DriverMetrics> drivers = {},
                                      std::span<const ConsumerMetrics> consumers = {});

}  // namespace pleat::inline v0_1
