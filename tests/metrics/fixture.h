// Metrics to be written: three folders, two live sets, two presences and two rollup counters,
// one of each with everything; two drivers, a consumer and a watcher.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/metrics.h>
#include <pleat/stats.h>

#include "engine/live/live_set_book.h"
#include "engine/live/presence_book.h"
#include "engine/outbox/outbox_book.h"
#include "engine/rollup/rollup_book.h"

namespace pleat {

class Metrics : public testing::Test {
 protected:
  Metrics() {
    full_->quiet_period = std::chrono::minutes(5);
    full_->events = 1000;
    full_->first = FromUnix(std::chrono::seconds(0));
    full_->last = FromUnix(std::chrono::seconds(1000));
    full_->gaps.Add(300'000, 400);
    full_->gaps.Add(60'000'000, 500);
    full_->fold_sizes.Add(1, 60);
    full_->fold_sizes.Add(2, 20);
    full_->fold_sizes.Add(40, 20);
    full_->spans.Add(5'000'000, 100);
    full_->open_peak = 9;
    lateness_.Add(1'000, 3);
    lateness_.Add(2'500'000);
    rows_ = {full_->WhatIf(std::chrono::seconds(30)), full_->WhatIf(std::chrono::minutes(5))};
    folders_ = {
        Listed("edits",
               StatisticsOf(Ledger{.events = 1000,
                                   .opened = 100,
                                   .folded = 900,
                                   .closed = 90,
                                   .ready = 80,
                                   .emissions = {70, 15, 0, 0, 5}},
                            Sizes{.open_groups = 10, .ready_emissions = 80, .bytes = 12'345})),
        Listed("na\"me\\of\nlines \xC3\xA9 \xFF", StatisticsOf(Ledger{}, Sizes{})),
        Listed("full", StatisticsOf(Ledger{.events = 30, .over_limit = 30, .over_byte_limit = 12},
                                    Sizes{}))};
    folders_[0].gaps = full_.get();
    folders_[0].lateness_us = &lateness_;
    folders_[0].what_if = rows_;
    LiveSetLedger live_set{
        .events = 9, .added = 7, .late = 2, .expired = 3, .live = 4, .changes = 10};
    live_set.causes[IndexOf(Cause::kAdded)] = 7;
    live_set.causes[IndexOf(Cause::kExpired)] = 3;
    live_sets_ = {
        Listed(
            "readers",
            StatisticsOf(live_set,
                         LiveSetSizes{.series = 2, .members = 5, .tombstones = 6, .bytes = 789})),
        Listed("news", StatisticsOf(LiveSetLedger{}, LiveSetSizes{}))};
    PresenceLedger presence{.events = 8, .joined = 5, .unknown = 3, .users = 5, .changes = 6};
    presence.away = 1;
    presence.connections = 7;
    presence.causes[IndexOf(Cause::kAdded)] = 5;
    presence.causes[IndexOf(Cause::kAway)] = 1;
    presences_ = {
        Listed(
            "visitors",
            StatisticsOf(presence,
                         PresenceSizes{.series = 3, .users = 5, .connections = 7, .bytes = 654})),
        Listed("callers", StatisticsOf(PresenceLedger{}, PresenceSizes{}))};
    counters_ = {Listed("plays", StatisticsOf(RollupLedger{.events = 21,
                                                           .added = 11,
                                                           .duplicate = 4,
                                                           .late = 3,
                                                           .clamped = 1,
                                                           .corrected = 2,
                                                           .late_unknown = 1,
                                                           .clears = 1,
                                                           .windows = 9,
                                                           .made_final = 5,
                                                           .ended = 1,
                                                           .open = 3,
                                                           .checkpointed = 8,
                                                           .pending = 3,
                                                           .keys_opened = 7,
                                                           .forgotten = 2,
                                                           .published = 6,
                                                           .store_errors = 12,
                                                           .store_behind = 13,
                                                           .store_conflicts = 14},
                                              RollupSizes{.keys = 5,
                                                          .open = 3,
                                                          .retained = 4,
                                                          .ids = 15,
                                                          .ready = 6,
                                                          .unpublished = 2,
                                                          .bytes = 321},
                                              std::chrono::milliseconds(70'500))),
                 Listed("views", StatisticsOf(RollupLedger{}, RollupSizes{}, std::nullopt))};
    for (std::vector<ListedCollection>* kind : {&live_sets_, &presences_, &counters_}) {
      kind->front().lateness_us = &lateness_;
      kind->front().own = {{.name = "pages_open", .help = "Open pages.", .value = 8}};
    }
    drivers_ = {{.labels = labels_,
                 .stats = {.turns = 40,
                           .unfinished = 2,
                           .timer_wakes = 30,
                           .wall_steps_back = 1,
                           .wall_steps_forward = 3,
                           .lateness_us = lateness_}},
                {}};
    WatcherStats watcher;
    watcher.delivered = 6;
    watcher.resyncs = 5;
    consumers_ = {{.labels = labels_,
                   .stats = {.waiting = 7,
                             .delivered = 50,
                             .cancelled = 4,
                             .overloaded = 9,
                             .lateness_us = lateness_}},
                  {.labels = {&labels_[1], 1}, .stats = watcher, .resyncs = watcher.resyncs}};
  }
  std::string Write(MetricsFormat format) const {
    std::vector<ListedCollection> all;
    for (const auto* kind : {&folders_, &live_sets_, &presences_, &counters_}) {
      all.insert(all.end(), kind->begin(), kind->end());
    }
    return WriteMetrics(all, format, {}, drivers_, consumers_);
  }
  static ListedCollection Listed(std::string name, std::vector<Statistic> statistics) {
    return {
        .name = std::move(name), .kind = {}, .options = {}, .statistics = std::move(statistics)};
  }

  std::unique_ptr<GapStats> full_ = std::make_unique<GapStats>();
  Histogram lateness_;
  std::vector<WhatIfRow> rows_;
  std::vector<ListedCollection> folders_;
  std::vector<ListedCollection> live_sets_;
  std::vector<ListedCollection> presences_;
  std::vector<ListedCollection> counters_;
  const std::vector<MetricLabel> labels_ = {{"service", "feeds"}, {"worker", "3 \"b\"\n\xFF"}};
  std::vector<DriverMetrics> drivers_;
  std::vector<ConsumerMetrics> consumers_;
};

}  // namespace pleat
