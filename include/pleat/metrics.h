// Metrics: what folders count, as text that a monitoring system scrapes.
//
//   const auto gaps = folder.gap_stats();  // null unless asked for
//   const pleat::CollectionMetrics all[] = {{.collection = "edits",
//                                            .ledger = folder.ledger(),
//                                            .sizes = folder.sizes(),
//                                            .gaps = gaps.get()}};
//   Answer(pleat::kOpenMetricsType, pleat::WriteMetrics(all, pleat::MetricsFormat::kOpenMetrics));
//
// It only writes; serving it is the caller's. What each metric says stands in its HELP line. Names begin with
// pleat_, times are in seconds, sizes in bytes, and every sample has the label `collection`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <pleat/export.h>
#include <pleat/gap_stats.h>
#include <pleat/histogram.h>
#include <pleat/stats.h>
#include <pleat/what_if.h>

namespace pleat::inline v0_1 {

enum class MetricsFormat : uint8_t {
  kPrometheus,   // the text format 0.0.4 of Prometheus
  kOpenMetrics,  // OpenMetrics 1.0
};

// What to answer as Content-Type.
inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// A metric that a collection of some other kind than a Folder adds to those of its ledger and sizes.
struct OwnMetric {
  enum class Type : uint8_t { kCounter, kGauge };

  // Letters, digits and underscores, without "_total"; such as pleat_windows_closed. Metrics of one
  // name, in several collections, are one family and have one type and help.
  std::string_view name;
  Type type = Type::kGauge;
  std::string_view help;
  double value = 0;
};

// What is known of one collection. Borrows what it points to.
struct CollectionMetrics {
  std::string_view collection;  // any text, each once; what is not UTF-8 in it becomes U+FFFD
  Ledger ledger;
  Sizes sizes;
  const GapStats* gaps = nullptr;  // adds the histograms of gaps and of events per emission
  const Histogram* lateness_us =
      nullptr;  // adds one of it: lateness_us of a driver or a consumer in asio.h
  std::span<const WhatIfRow> what_if;  // adds a sample for each quiet period, which are distinct
  std::span<const OwnMetric> own;      // adds these; their names are distinct
};

// The whole exposition. The sum of a histogram is known as its values are: to within a tenth, of gaps a hundredth.
PLEAT_EXPORT std::string WriteMetrics(std::span<const CollectionMetrics> collections,
                                      MetricsFormat format);

}  // namespace pleat::inline v0_1
