// What each collection says of itself is written as it is; what a program measures beside, and its
// drivers, consumers, state directories, event stores and processors, have their families here.
#include <pleat/metrics.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/metrics/metrics_writer.h"

namespace pleat::inline v0_1 {
namespace {

using namespace metrics_text;

constexpr std::string_view kLateness = "pleat_lateness_seconds";
// What several kinds of collection have in common comes first.
constexpr std::string_view kFirst[] = {
    "pleat_events",    "pleat_held_bytes",      kLateness,
    "pleat_emissions", "pleat_ready_emissions", "pleat_events_over_byte_limit"};

// Round values, so that the buckets are exact. In microseconds, and in events.
constexpr uint64_t kSecond = 1'000'000;
constexpr uint64_t kLatenessBounds[] = {
    100,     500,     1'000,       5'000,        10'000,       50'000,       100'000,
    500'000, kSecond, 5 * kSecond, 10 * kSecond, 60 * kSecond, 600 * kSecond};
constexpr uint64_t kGapBounds[] = {
    1'000,           10'000,          100'000,         kSecond,
    2 * kSecond,     5 * kSecond,     10 * kSecond,    30 * kSecond,
    60 * kSecond,    120 * kSecond,   300 * kSecond,   600 * kSecond,
    1'800 * kSecond, 3'600 * kSecond, 7'200 * kSecond, 21'600 * kSecond,
    86'400 * kSecond};
constexpr uint64_t kSizeBounds[] = {1,   2,   5,     10,     20,      50,       100,
                                    200, 500, 1'000, 10'000, 100'000, 1'000'000};

// --- Collections

void WriteStatistics(std::span<const Statistic> statistics, const Labels& labels, Writer& out) {
  for (const Statistic& each : statistics) {
    const bool counter = each.type == Statistic::Type::kCounter;
    out.Of(each.name, counter ? Type::kCounter : Type::kGauge, each.help, each.unit)
        .Sample(labels.With(each.label), PlainCount(each.value));
  }
}

void WriteGaps(const GapStats& stats, const Labels& labels, Writer& out) {
  out.Of("pleat_emission_events", Type::kHistogram, "How many events an emission holds.", "events")
      .Buckets(labels, stats.fold_sizes, kSizeBounds, 1);
  out.Of("pleat_gap_seconds", Type::kHistogram, "How long the key of an event had been silent.",
         "seconds")
      .Buckets(labels, stats.gaps, kGapBounds, kSecond);
}

void WriteWhatIf(const WhatIfRow& row, const Labels& collection, Writer& out) {
  const Labels labels = collection.With({"quiet_seconds", Seconds(row.quiet_period)});
  out.Of("pleat_what_if_folding_ratio", Type::kGauge,
         "The folding ratio that another quiet period would have.", "ratio")
      .Sample(labels, Plain(row.folding_ratio));
  out.Of("pleat_what_if_emissions_per_second", Type::kGauge,
         "The rate of emissions that another quiet period would have.")
      .Sample(labels, Plain(row.emissions_per_second));
  Family& delays =
      out.Of("pleat_what_if_delay_seconds", Type::kGauge,
             "The delay of an emission that another quiet period would have.", "seconds");
  delays.Sample(labels.With({"percentile", "50"}), Seconds(row.delay_p50));
  delays.Sample(labels.With({"percentile", "99"}), Seconds(row.delay_p99));
  out.Of("pleat_what_if_open_peak", Type::kGauge,
         "The most open groups at a time that another quiet period would have.")
      .Sample(labels, Plain(row.open_peak));
}

void WriteCollection(const ListedCollection& collection, const Labels& labels, Writer& out) {
  WriteStatistics(collection.statistics, labels, out);
  if (collection.lateness_us != nullptr) {
    out.Of(kLateness, Type::kHistogram, "How late it was noticed that something was due.",
           "seconds")
        .Buckets(labels, *collection.lateness_us, kLatenessBounds, kSecond);
  }
  if (collection.gaps != nullptr) WriteGaps(*collection.gaps, labels, out);
  for (const WhatIfRow& row : collection.what_if) WriteWhatIf(row, labels, out);
}

// --- State directories

void WriteStateDirectory(const StateDirectoryMetrics& directory, Writer& out) {
  const Labels labels({"directory", directory.directory});
  Family& snapshots = out.Of("pleat_snapshots", Type::kCounter,
                             "Snapshots that were taken, and attempts that failed.");
  snapshots.Sample(labels.With({"result", "taken"}), Plain(directory.state.taken));
  snapshots.Sample(labels.With({"result", "failed"}), Plain(directory.state.failed));
  out.Of("pleat_snapshot_failing", Type::kGauge,
         "1 while the last attempt at a snapshot has failed.")
      .Sample(labels, Plain(directory.state.last.ok() ? 0 : 1));
  out.Of("pleat_snapshot_bytes", Type::kGauge, "The size of the newest snapshot; 0 without one.",
         "bytes")
      .Sample(labels, Plain(directory.state.bytes));
  out.Of("pleat_snapshot_copy_bytes", Type::kGauge,
         "What the snapshot under way keeps of entries that changed before their turn.", "bytes")
      .Sample(labels, Plain(directory.state.copy_bytes));
  out.Of("pleat_snapshot_most_copy_bytes", Type::kGauge,
         "The most of these at any one time of the snapshot under way, or else of the last one.",
         "bytes")
      .Sample(labels, Plain(directory.state.most_copy_bytes));
  if (!directory.newest) return;
  out.Of("pleat_snapshot_timestamp_seconds", Type::kGauge, "When the newest was taken.", "seconds")
      .Sample(labels, Seconds(directory.newest->time_since_epoch()));
}

// --- Event stores

void WriteEventStore(const EventStoreMetrics& store, Writer& out) {
  const auto& [directory, state] = store;
  const Labels labels({"directory", directory});
  const auto gauge = [&](std::string_view name, std::string_view help, uint64_t value,
                         std::string_view unit = {}) {
    out.Of(name, Type::kGauge, help, unit).Sample(labels, Plain(value));
  };
  Family& refusing = out.Of("pleat_store_refusing", Type::kGauge,
                            "1 while appends are refused, as the disk is full or has failed.");
  // A store that was closed refuses appends as well, and nothing is wrong.
  const auto refuses = [&](AppendOutcome with) {
    return Plain(state.answers == with && !state.last_error.ok() ? 1 : 0);
  };
  refusing.Sample(labels.With({"reason", "full"}), refuses(AppendOutcome::kStoreFull));
  refusing.Sample(labels.With({"reason", "failed"}), refuses(AppendOutcome::kStoreFailed));
  gauge("pleat_store_files", "Files with records that count.", state.segments);
  gauge("pleat_store_bytes", "The size of these files, without indexes.", state.bytes, "bytes");
  gauge("pleat_store_unsynced_bytes", "Bytes that were taken and may not be on the disk.",
        state.unsynced_bytes, "bytes");
  out.Of("pleat_store_blocks", Type::kCounter, "Blocks that were written.")
      .Sample(labels, Plain(state.blocks));
  out.Of("pleat_store_times_held_back", Type::kCounter,
         "Records whose time came before the latest of their partition.")
      .Sample(labels, Plain(state.times_held_back));
  gauge("pleat_store_passed_over_bytes", "Bytes that were found behind the end at the opening.",
        state.bytes_passed_over, "bytes");
  gauge("pleat_store_passed_over_blocks", "Whole blocks among them.", state.blocks_passed_over);
}

// --- Processors

void WriteLane(const LaneStatus& lane, const Labels& labels, Writer& out) {
  const auto write = [&](Type type, std::string_view name, std::string_view help, uint64_t value) {
    out.Of(name, type, help).Sample(labels, Plain(value));
  };
  Family& phases = out.Of("pleat_lane_phase", Type::kGauge, "1 for the phase of the lane.");
  constexpr std::pair<LanePhase, std::string_view> kPhases[] = {
      {LanePhase::kReplaying, "replaying"},
      {LanePhase::kLive, "live"},
      {LanePhase::kParked, "parked"}};
  for (const auto& [phase, name] : kPhases)
    phases.Sample(labels.With({"phase", name}), Plain(lane.phase == phase ? 1 : 0));
  write(Type::kGauge, "pleat_lane_next", "The offset where the lane reads on.", lane.next);
  if (lane.end) {
    write(Type::kGauge, "pleat_lane_unread", "Records that the log has and the lane has not read.",
          std::max(*lane.end, lane.next) - lane.next);
  }
  if (lane.newest) {
    // A lane that has read all is not behind, however long the log has been silent.
    const bool has_unread = lane.end && *lane.end > lane.next && lane.now > kBeginningOfTime;
    const Duration behind = has_unread ? *lane.newest - lane.now : Duration{0};
    out.Of("pleat_lane_behind_seconds", Type::kGauge,
           "From the time of the lane to that of the log's last record.", "seconds")
        .Sample(labels, Seconds(std::max(behind, Duration{0})));
  }
  write(Type::kGauge, "pleat_lane_waiting", "Messages that wait for an ack, or to be decided.",
        lane.waiting);
  write(Type::kGauge, "pleat_lane_held_keys", "Keys whose first record waits.", lane.held_keys);
  write(Type::kGauge, "pleat_lane_buried", "Messages that were set aside.", lane.buried);
  if (lane.commits)
    write(Type::kCounter, "pleat_lane_commits", "Commits of this owner.", *lane.commits);
  if (lane.snapshots)
    write(Type::kCounter, "pleat_lane_snapshots", "Snapshots of this owner.", *lane.snapshots);
  write(Type::kCounter, "pleat_lane_takeovers", "How often another owner has gone on.",
        lane.takeovers);
  if (!lane.taken_over) return;
  out.Of("pleat_lane_takeover_timestamp_seconds", Type::kGauge, "When the last one has.", "seconds")
      .Sample(labels, Seconds(lane.taken_over->time_since_epoch()));
}

void WriteProcessor(const ProcessorMetrics& processor, Writer& out) {
  const auto& [name, lanes] = processor;
  for (const LaneStatus& each : lanes) {
    const std::string partition = Plain(each.partition);
    WriteLane(each, Labels({"processor", name}).With({"partition", partition}), out);
  }
}

// --- Drivers and consumers, which have the caller's labels

void WriteDriver(const DriverMetrics& driver, Writer& out) {
  const Labels labels(driver.labels);
  const DriverStats& stats = driver.stats;
  out.Of("pleat_driver_turns", Type::kCounter, "Turns that moved the engine's time.")
      .Sample(labels, Plain(stats.turns));
  out.Of("pleat_driver_turns_unfinished", Type::kCounter, "Turns that left work for the next one.")
      .Sample(labels, Plain(stats.unfinished));
  out.Of("pleat_driver_timer_wakes", Type::kCounter, "Turns that the timer started.")
      .Sample(labels, Plain(stats.timer_wakes));
  Family& steps = out.Of("pleat_driver_wall_steps", Type::kCounter,
                         "How often the wall clock was set by 100 ms or more.");
  steps.Sample(labels.With({"direction", "back"}), Plain(stats.wall_steps_back));
  steps.Sample(labels.With({"direction", "forward"}), Plain(stats.wall_steps_forward));
  out.Of("pleat_driver_lateness_seconds", Type::kHistogram,
         "How far behind the first deadline was at a turn with work.", "seconds")
      .Buckets(labels, stats.lateness_us, kLatenessBounds, kSecond);
}

void WriteConsumer(const ConsumerMetrics& consumer, Writer& out) {
  const Labels labels(consumer.labels);
  const ConsumerStats& stats = consumer.stats;
  out.Of("pleat_consumer_waiting", Type::kGauge, "Operations that wait now.")
      .Sample(labels, Plain(stats.waiting));
  out.Of("pleat_consumer_delivered", Type::kCounter,
         "Emissions, or a watcher's changes, handed out.")
      .Sample(labels, Plain(stats.delivered));
  out.Of("pleat_consumer_cancelled", Type::kCounter, "Operations that were cancelled.")
      .Sample(labels, Plain(stats.cancelled));
  out.Of("pleat_consumer_overloaded", Type::kCounter,
         "Operations past the limit on those that wait.")
      .Sample(labels, Plain(stats.overloaded));
  if (!consumer.resyncs) return;
  out.Of("pleat_consumer_resyncs", Type::kCounter,
         "How often changes were gone before a watcher read them.")
      .Sample(labels, Plain(*consumer.resyncs));
}

void WriteLateness(const ConsumerMetrics& consumer, Writer& out) {
  out.Of("pleat_consumer_lateness_seconds", Type::kHistogram,
         "How long after its instant an emission, or an end of a member, was taken.", "seconds")
      .Buckets(Labels(consumer.labels), consumer.stats.lateness_us, kLatenessBounds, kSecond);
}

}  // namespace

std::string WriteMetrics(std::span<const ListedCollection> collections, MetricsFormat format,
                         std::span<const StateDirectoryMetrics> directories,
                         std::span<const DriverMetrics> drivers,
                         std::span<const ConsumerMetrics> consumers,
                         std::span<const EventStoreMetrics> stores,
                         std::span<const ProcessorMetrics> processors) {
  Writer out(format, kFirst);
  const auto labels = [](const ListedCollection& of) { return Labels({"collection", of.name}); };
  for (const ListedCollection& each : collections) WriteCollection(each, labels(each), out);
  for (const ListedCollection& each : collections) WriteStatistics(each.own, labels(each), out);
  for (const StateDirectoryMetrics& each : directories) WriteStateDirectory(each, out);
  for (const EventStoreMetrics& each : stores) WriteEventStore(each, out);
  for (const ProcessorMetrics& each : processors) WriteProcessor(each, out);
  for (const DriverMetrics& each : drivers) WriteDriver(each, out);
  for (const ConsumerMetrics& each : consumers) WriteConsumer(each, out);
  for (const ConsumerMetrics& each : consumers) WriteLateness(each, out);
  return std::move(out).Finish();
}

}  // namespace pleat::inline v0_1
