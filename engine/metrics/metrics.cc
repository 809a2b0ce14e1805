// Each family is written once, with the samples of every collection behind its HELP and TYPE. The
// two formats differ: in OpenMetrics a counter's family lacks the _total of its samples, units are
// named, and the end is marked. Numbers are written such that both take them, le as the canonical
// numbers of OpenMetrics.
#include <pleat/metrics.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <pleat/outcome.h>

#include "engine/metrics/metrics_writer.h"

namespace pleat::inline v0_1 {
namespace {

using namespace metrics_text;

using Folders = std::span<const CollectionMetrics>;
using LiveSets = std::span<const LiveSetMetrics>;
using Presences = std::span<const PresenceMetrics>;
using Counters = std::span<const CounterMetrics>;

// All collections, by kind.
struct All {
  Folders folders;
  LiveSets live_sets;
  Presences presences;
  Counters counters;

  bool empty() const {
    return folders.empty() && live_sets.empty() && presences.empty() && counters.empty();
  }
  // Those that tell of changes.
  template <class See>
  void ForEachFeed(const See& see) const {
    for (const LiveSetMetrics& each : live_sets) see(each);
    for (const PresenceMetrics& each : presences) see(each);
  }
  template <class See>
  void ForEach(const See& see) const {
    for (const CollectionMetrics& each : folders) see(each);
    ForEachFeed(see);
    for (const CounterMetrics& each : counters) see(each);
  }
  // Those that emit.
  template <class See>
  void ForEachSource(const See& see) const {
    for (const CollectionMetrics& each : folders) see(each);
    for (const CounterMetrics& each : counters) see(each);
  }
};

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

template <class Ledger>
struct Column {
  std::string_view name;
  uint64_t Ledger::* count;
};

// What an event can have become.
constexpr Column<Ledger> kEventsOfFolders[] = {
    {"opened", &Ledger::opened},
    {"folded", &Ledger::folded},
    {"late", &Ledger::late},
    {"future", &Ledger::future},
    {"over_limit", &Ledger::over_limit},
    {"overloaded", &Ledger::overloaded},
    {"duplicate", &Ledger::duplicate},
    {"conflict", &Ledger::conflict},
    {"corrected", &Ledger::corrected},
};
constexpr Column<LiveSetLedger> kEventsOfLiveSets[] = {
    {"added", &LiveSetLedger::added},
    {"refreshed", &LiveSetLedger::refreshed},
    {"updated", &LiveSetLedger::updated},
    {"unchanged", &LiveSetLedger::unchanged},
    {"duplicate", &LiveSetLedger::duplicate},
    {"conflict", &LiveSetLedger::conflict},
    {"late", &LiveSetLedger::late},
    {"future", &LiveSetLedger::future},
    {"tombstoned", &LiveSetLedger::tombstoned},
    {"over_limit", &LiveSetLedger::over_limit},
};
constexpr Column<PresenceLedger> kEventsOfPresences[] = {
    {"joined", &PresenceLedger::joined},
    {"returned", &PresenceLedger::returned},
    {"connected", &PresenceLedger::connected},
    {"reconnected", &PresenceLedger::reconnected},
    {"refreshed", &PresenceLedger::refreshed},
    {"updated", &PresenceLedger::updated},
    {"unchanged", &PresenceLedger::unchanged},
    {"disconnected", &PresenceLedger::disconnected},
    {"left", &PresenceLedger::left},
    {"unknown", &PresenceLedger::unknown},
    {"superseded", &PresenceLedger::superseded},
    {"late", &PresenceLedger::late},
    {"future", &PresenceLedger::future},
    {"over_limit", &PresenceLedger::over_limit},
};

constexpr Column<RollupLedger> kEventsOfCounters[] = {
    {"added", &RollupLedger::added},       {"duplicate", &RollupLedger::duplicate},
    {"conflict", &RollupLedger::conflict}, {"late", &RollupLedger::late},
    {"clamped", &RollupLedger::clamped},   {"corrected", &RollupLedger::corrected},
    {"future", &RollupLedger::future},     {"over_limit", &RollupLedger::over_limit},
};

// --- What collections of several kinds have

void WriteEvents(const All& all, Writer& out) {
  out.Family("pleat_events", Type::kCounter, "Events offered, by what became of them.");
  for (const auto& each : all.folders)
    out.ByColumn(each.collection, each.ledger, "outcome", kEventsOfFolders);
  for (const auto& each : all.live_sets)
    out.ByColumn(each.collection, each.ledger, "outcome", kEventsOfLiveSets);
  for (const auto& each : all.presences)
    out.ByColumn(each.collection, each.ledger, "outcome", kEventsOfPresences);
  for (const auto& each : all.counters)
    out.ByColumn(each.collection, each.ledger, "outcome", kEventsOfCounters);
}

void WriteBytes(const All& all, Writer& out) {
  out.Family("pleat_held_bytes", Type::kGauge, "What counts against the limit on bytes.", "bytes");
  all.ForEach([&](const auto& each) { out.Sample(each.collection, {}, Plain(each.sizes.bytes)); });
}

void WriteLateness(const All& all, Writer& out) {
  bool any = false;
  all.ForEach([&](const auto& each) { any |= each.lateness_us != nullptr; });
  if (!any) return;
  out.Family("pleat_lateness_seconds", Type::kHistogram,
             "How late it was noticed that something was due.", "seconds");
  all.ForEach([&](const auto& each) {
    if (each.lateness_us == nullptr) return;
    out.Buckets(each.collection, *each.lateness_us, kLatenessBounds, kSecond);
  });
}

void WriteSeries(const All& all, Writer& out) {
  out.Family("pleat_series", Type::kGauge,
             "Series with members or users, or with a TTL of their own.");
  all.ForEachFeed(
      [&](const auto& each) { out.Sample(each.collection, {}, Plain(each.sizes.series)); });
}

void WriteChanges(const All& all, Writer& out) {
  out.Family("pleat_changes", Type::kCounter, "Changes of members or users, by cause.");
  all.ForEachFeed([&](const auto& each) {
    for (size_t c = 0; c < kCauses; ++c) {
      const auto cause = static_cast<Cause>(c + 1);
      out.Sample(each.collection, {{"cause", std::string(CauseName(cause))}},
                 Plain(each.ledger.causes[IndexOf(cause)]));
    }
  });
}

// Each family comes where its name stands first, with the samples of all collections that have it.
void WriteOwn(const All& all, Writer& out) {
  struct Owner {
    std::string_view collection;
    std::span<const OwnMetric> own;
  };
  std::vector<Owner> owners;
  all.ForEach([&](const auto& each) { owners.push_back({each.collection, each.own}); });
  std::vector<std::string_view> written;
  for (const Owner& owner : owners) {
    for (const OwnMetric& metric : owner.own) {
      if (std::ranges::count(written, metric.name) > 0) continue;
      written.push_back(metric.name);
      const bool counter = metric.type == OwnMetric::Type::kCounter;
      out.Family(metric.name, counter ? Type::kCounter : Type::kGauge, metric.help);
      for (const Owner& other : owners) {
        const auto found = std::ranges::find(other.own, metric.name, &OwnMetric::name);
        if (found != other.own.end()) out.Sample(other.collection, {}, Plain(found->value));
      }
    }
  }
}

void WriteEmissions(const All& all, Writer& out) {
  out.Family("pleat_emissions", Type::kCounter, "Emissions, by the reason they came for.");
  for (const CollectionMetrics& each : all.folders) {
    for (size_t r = 0; r < kReasons; ++r) {
      const auto reason = static_cast<Reason>(r + 1);
      out.Sample(each.collection, {{"reason", std::string(ReasonName(reason))}},
                 Plain(each.ledger.emissions[IndexOf(reason)]));
    }
  }
  static constexpr Column<RollupLedger> kReasonsOfCounters[] = {
      {"final", &RollupLedger::made_final},
      {"end", &RollupLedger::ended},
      {"correction", &RollupLedger::corrected}};
  for (const CounterMetrics& each : all.counters)
    out.ByColumn(each.collection, each.ledger, "reason", kReasonsOfCounters);
  out.Family("pleat_ready_emissions", Type::kGauge,
             "Emissions that wait to be handed out for the first time.");
  for (const CollectionMetrics& each : all.folders)
    out.Sample(each.collection, {}, Plain(each.sizes.ready_emissions));
  for (const CounterMetrics& each : all.counters)
    out.Sample(each.collection, {}, Plain(each.sizes.ready));
}

void WriteRefusedForBytes(const All& all, Writer& out) {
  out.Family("pleat_events_over_byte_limit", Type::kCounter,
             "Refused events that met the limit on bytes.");
  all.ForEachSource([&](const auto& each) {
    out.Sample(each.collection, {}, Plain(each.ledger.over_byte_limit));
  });
}

// --- Folders

void WriteEmissionsGone(Folders all, Writer& out) {
  static constexpr Column<Ledger> kGone[] = {
      {"popped", &Ledger::popped}, {"acked", &Ledger::acked}, {"dropped", &Ledger::dropped}};
  out.Family("pleat_emissions_gone", Type::kCounter,
             "Emissions that are over: given away, acked, or dropped.");
  for (const CollectionMetrics& each : all) {
    out.ByColumn(each.collection, each.ledger, "as", kGone);
  }
}

void WriteLedger(Folders all, Writer& out) {
  struct Counter {
    std::string_view name;
    std::string_view help;
    uint64_t Ledger::* count;
  };
  static constexpr Counter kCounters[] = {
      {"pleat_groups_closed", "Groups that closed.", &Ledger::closed},
      {"pleat_groups_cancelled", "Groups that were cancelled.", &Ledger::cancelled},
      {"pleat_groups_silent", "Groups that closed without an emission: their leading one said it.",
       &Ledger::silent},
      {"pleat_events_late_folded", "Late events that were folded all the same.",
       &Ledger::late_folded},
      {"pleat_deliveries", "Leases given.", &Ledger::deliveries},
      {"pleat_deliveries_nacked", "Leases given back.", &Ledger::nacked},
      {"pleat_deliveries_ran_out", "Leases neither acked nor given back in time.",
       &Ledger::ran_out},
  };
  for (const Counter& each : kCounters) {
    out.Family(each.name, Type::kCounter, each.help);
    out.Samples(all, [&](const CollectionMetrics& c) { return c.ledger.*each.count; });
  }
  out.Family("pleat_folding_ratio", Type::kGauge, "Of the events, those that folded.", "ratio");
  out.Samples(all, [](const CollectionMetrics& c) { return c.ledger.FoldingRatio(); });
}

void WriteSizes(Folders all, Writer& out) {
  struct Gauge {
    std::string_view name;
    std::string_view help;
    size_t Sizes::* count;
  };
  static constexpr Gauge kGauges[] = {
      {"pleat_open_groups", "Groups open now.", &Sizes::open_groups},
      {"pleat_unacked_emissions", "Emissions that are lent, or wait to be lent again.",
       &Sizes::unacked_emissions},
      {"pleat_dead_letters", "Emissions delivered too often without an ack.", &Sizes::dead_letters},
  };
  for (const Gauge& each : kGauges) {
    out.Gauge(each.name, each.help, all,
              [&](const CollectionMetrics& c) { return c.sizes.*each.count; });
  }
}

void WriteGaps(Folders all, Writer& out) {
  if (std::ranges::none_of(all, [](const auto& each) { return each.gaps != nullptr; })) return;
  out.Family("pleat_emission_events", Type::kHistogram, "How many events an emission holds.",
             "events");
  for (const CollectionMetrics& each : all) {
    if (each.gaps != nullptr) out.Buckets(each.collection, each.gaps->fold_sizes, kSizeBounds, 1);
  }
  out.Family("pleat_gap_seconds", Type::kHistogram, "How long the key of an event had been silent.",
             "seconds");
  for (const CollectionMetrics& each : all) {
    if (each.gaps != nullptr) out.Buckets(each.collection, each.gaps->gaps, kGapBounds, kSecond);
  }
}

void WriteWhatIf(Folders all, Writer& out) {
  if (std::ranges::all_of(all, [](const auto& each) { return each.what_if.empty(); })) return;
  const auto each_row = [&](const auto& see) {
    for (const CollectionMetrics& each : all) {
      for (const WhatIfRow& row : each.what_if)
        see(each.collection, row, Label("quiet_seconds", Seconds(row.quiet_period)));
    }
  };
  using Name = std::string_view;
  out.Family("pleat_what_if_folding_ratio", Type::kGauge,
             "The folding ratio that another quiet period would have.", "ratio");
  each_row([&](Name name, const WhatIfRow& row, const Label& quiet) {
    out.Sample(name, {quiet}, Plain(row.folding_ratio));
  });
  out.Family("pleat_what_if_emissions_per_second", Type::kGauge,
             "The rate of emissions that another quiet period would have.");
  each_row([&](Name name, const WhatIfRow& row, const Label& quiet) {
    out.Sample(name, {quiet}, Plain(row.emissions_per_second));
  });
  out.Family("pleat_what_if_delay_seconds", Type::kGauge,
             "The delay of an emission that another quiet period would have.", "seconds");
  each_row([&](Name name, const WhatIfRow& row, const Label& quiet) {
    out.Sample(name, {quiet, {"percentile", "50"}}, Seconds(row.delay_p50));
    out.Sample(name, {quiet, {"percentile", "99"}}, Seconds(row.delay_p99));
  });
  out.Family("pleat_what_if_open_peak", Type::kGauge,
             "The most open groups at a time that another quiet period would have.");
  each_row([&](Name name, const WhatIfRow& row, const Label& quiet) {
    out.Sample(name, {quiet}, Plain(row.open_peak));
  });
}

// --- Live sets, and presences

void WriteMembers(LiveSets all, Writer& out) {
  out.Gauge("pleat_members", "Members that are live.", all,
            [](const auto& w) { return w.ledger.live; });
  out.Gauge("pleat_members_held", "Members that are live, or may come back with a longer TTL.", all,
            [](const auto& w) { return w.sizes.members; });
  out.Gauge("pleat_tombstones", "Removed members whose late events are refused.", all,
            [](const auto& w) { return w.sizes.tombstones; });
  out.Family("pleat_tombstones_refused", Type::kCounter,
             "Removals that left no tombstone: the limit on bytes was met.");
  out.Samples(all, [](const auto& w) { return w.ledger.tombstones_refused; });
}

void WriteUsers(Presences all, Writer& out) {
  out.Gauge("pleat_users", "Users who are here or away.", all,
            [](const auto& p) { return p.ledger.users; });
  out.Gauge("pleat_users_away", "Users who are away.", all,
            [](const auto& p) { return p.ledger.away; });
  out.Gauge("pleat_connections", "Connections that are live or overdue.", all,
            [](const auto& p) { return p.ledger.connections; });
}

// --- Rollup counters

void WriteCounters(Counters all, Writer& out) {
  struct Count {
    std::string_view name;
    Type type;
    std::string_view help;
    uint64_t RollupLedger::* count;
  };
  static constexpr Count kCounts[] = {
      {"pleat_counters_opened", Type::kCounter, "Counters that began.", &RollupLedger::keys_opened},
      {"pleat_counters_forgotten", Type::kCounter, "Counters that were forgotten.",
       &RollupLedger::forgotten},
      {"pleat_clears", Type::kCounter, "Events that set a counter to zero.", &RollupLedger::clears},
      {"pleat_events_late_unknown", Type::kCounter, "Late events beyond the deduplication window.",
       &RollupLedger::late_unknown},
      {"pleat_windows_opened", Type::kCounter, "Windows that an event opened.",
       &RollupLedger::windows},
      {"pleat_open_windows", Type::kGauge, "Windows open now.", &RollupLedger::open},
      {"pleat_events_checkpointed", Type::kCounter, "Counted events in final windows.",
       &RollupLedger::checkpointed},
      {"pleat_events_pending", Type::kGauge, "Counted events in windows that are not final.",
       &RollupLedger::pending},
      {"pleat_checkpoints_published", Type::kCounter, "Checkpoints that the store kept.",
       &RollupLedger::published},
  };
  for (const Count& each : kCounts) {
    out.Family(each.name, each.type, each.help);
    out.Samples(all, [&](const CounterMetrics& c) { return c.ledger.*each.count; });
  }
  static constexpr Column<RollupLedger> kFailures[] = {
      {"error", &RollupLedger::store_errors},
      {"behind", &RollupLedger::store_behind},
      {"conflict", &RollupLedger::store_conflicts}};
  out.Family("pleat_store_failures", Type::kCounter,
             "Answers of the store that kept a counter where it was.");
  for (const CounterMetrics& each : all)
    out.ByColumn(each.collection, each.ledger, "answer", kFailures);

  out.Gauge("pleat_counters", "Counters held.", all, [](const auto& c) { return c.sizes.keys; });
  out.Gauge("pleat_final_windows_kept", "Final windows that can still be read.", all,
            [](const auto& c) { return c.sizes.retained; });
  out.Gauge("pleat_ids", "Ids of events that are remembered.", all,
            [](const auto& c) { return c.sizes.ids; });
  out.Gauge("pleat_counters_unpublished", "Counters that the store has to hear of.", all,
            [](const auto& c) { return c.sizes.unpublished; });
}

void WriteLag(Counters all, Writer& out) {
  if (std::ranges::none_of(all, [](const auto& each) { return each.lag.has_value(); })) return;
  out.Family("pleat_final_lag_seconds", Type::kGauge,
             "How far the final part trails the engine's time.", "seconds");
  for (const CounterMetrics& each : all) {
    if (each.lag) out.Sample(each.collection, {}, Seconds(*each.lag));
  }
}

void WriteStateDirectories(std::span<const StateDirectoryMetrics> all, Writer& out) {
  out.SetLabel("directory");
  out.Family("pleat_snapshots", Type::kCounter,
             "Snapshots that were taken, and attempts that failed.");
  for (const StateDirectoryMetrics& each : all) {
    out.Sample(each.directory, {{"result", "taken"}}, Plain(each.state.taken));
    out.Sample(each.directory, {{"result", "failed"}}, Plain(each.state.failed));
  }
  const auto gauge = [&](auto name, auto help, auto unit, const auto& get) {
    out.Family(name, Type::kGauge, help, unit);
    for (const StateDirectoryMetrics& each : all) out.Sample(each.directory, {}, get(each));
  };
  gauge("pleat_snapshot_failing", "1 while the last attempt at a snapshot has failed.", "",
        [](const StateDirectoryMetrics& each) { return Plain(each.state.last.ok() ? 0 : 1); });
  gauge("pleat_snapshot_bytes", "The size of the newest snapshot; 0 without one.", "bytes",
        [](const StateDirectoryMetrics& each) { return Plain(each.state.bytes); });
  if (std::ranges::none_of(all, [](const auto& each) { return each.newest.has_value(); })) return;
  out.Family("pleat_snapshot_timestamp_seconds", Type::kGauge, "When the newest was taken.",
             "seconds");
  for (const StateDirectoryMetrics& each : all)
    if (each.newest) out.Sample(each.directory, {}, Seconds(each.newest->time_since_epoch()));
}

// --- Drivers and consumers, which have the caller's labels

template <class Metrics>
struct Count {
  std::string_view name;
  Type type;
  std::string_view help;
  uint64_t (*get)(const Metrics& metrics);
};

template <class Metrics, size_t kSize>
void WriteStats(std::span<const Metrics> all, const Count<Metrics> (&counts)[kSize], Writer& out) {
  out.SetLabel("");
  for (const Count<Metrics>& count : counts) {
    out.Family(count.name, count.type, count.help);
    for (const Metrics& each : all)
      out.Sample(Writer::LabelText(each.labels), {}, Plain(count.get(each)));
  }
}

template <class Metrics>
void WriteLatenessOf(std::span<const Metrics> all, std::string_view name, std::string_view help,
                     Writer& out) {
  out.Family(name, Type::kHistogram, help, "seconds");
  for (const Metrics& each : all) {
    out.Buckets(Writer::LabelText(each.labels), each.stats.lateness_us, kLatenessBounds, kSecond);
  }
}

void WriteDrivers(std::span<const DriverMetrics> all, Writer& out) {
  static constexpr Count<DriverMetrics> kCounts[] = {
      {"pleat_driver_turns", Type::kCounter, "Turns that moved the engine's time.",
       [](const DriverMetrics& d) { return d.stats.turns; }},
      {"pleat_driver_turns_unfinished", Type::kCounter, "Turns that left work for the next one.",
       [](const DriverMetrics& d) { return d.stats.unfinished; }},
      {"pleat_driver_timer_wakes", Type::kCounter, "Turns that the timer started.",
       [](const DriverMetrics& d) { return d.stats.timer_wakes; }},
  };
  WriteStats(all, kCounts, out);
  out.Family("pleat_driver_wall_steps", Type::kCounter,
             "How often the wall clock was set by 100 ms or more.");
  for (const DriverMetrics& each : all) {
    const std::string labels = Writer::LabelText(each.labels);
    out.Sample(labels, {{"direction", "back"}}, Plain(each.stats.wall_steps_back));
    out.Sample(labels, {{"direction", "forward"}}, Plain(each.stats.wall_steps_forward));
  }
  WriteLatenessOf(all, "pleat_driver_lateness_seconds",
                  "How far behind the first deadline was at a turn with work.", out);
}

void WriteConsumers(std::span<const ConsumerMetrics> all, Writer& out) {
  static constexpr Count<ConsumerMetrics> kCounts[] = {
      {"pleat_consumer_waiting", Type::kGauge, "Operations that wait now.",
       [](const ConsumerMetrics& c) { return uint64_t{c.stats.waiting}; }},
      {"pleat_consumer_delivered", Type::kCounter, "Emissions, or a watcher's changes, handed out.",
       [](const ConsumerMetrics& c) { return c.stats.delivered; }},
      {"pleat_consumer_cancelled", Type::kCounter, "Operations that were cancelled.",
       [](const ConsumerMetrics& c) { return c.stats.cancelled; }},
      {"pleat_consumer_overloaded", Type::kCounter, "Operations past the limit on those that wait.",
       [](const ConsumerMetrics& c) { return c.stats.overloaded; }},
  };
  WriteStats(all, kCounts, out);
  if (std::ranges::any_of(all, [](const auto& each) { return each.resyncs.has_value(); })) {
    out.Family("pleat_consumer_resyncs", Type::kCounter,
               "How often changes were gone before a watcher read them.");
    for (const ConsumerMetrics& each : all) {
      if (each.resyncs) out.Sample(Writer::LabelText(each.labels), {}, Plain(*each.resyncs));
    }
  }
  WriteLatenessOf(all, "pleat_consumer_lateness_seconds",
                  "How long after its instant an emission, or an end of a member, was taken.", out);
}

}  // namespace

std::string WriteMetrics(std::span<const CollectionMetrics> collections, MetricsFormat format,
                         std::span<const LiveSetMetrics> live_sets,
                         std::span<const PresenceMetrics> presences,
                         std::span<const CounterMetrics> counters,
                         std::span<const StateDirectoryMetrics> directories,
                         std::span<const DriverMetrics> drivers,
                         std::span<const ConsumerMetrics> consumers) {
  const All all{collections, live_sets, presences, counters};
  Writer out(format);
  if (!all.empty()) {
    WriteEvents(all, out);
    WriteBytes(all, out);
    WriteLateness(all, out);
  }
  if (!collections.empty() || !counters.empty()) {
    WriteEmissions(all, out);
    WriteRefusedForBytes(all, out);
  }
  if (!collections.empty()) {
    WriteEmissionsGone(collections, out);
    WriteLedger(collections, out);
    WriteSizes(collections, out);
    WriteGaps(collections, out);
    WriteWhatIf(collections, out);
  }
  if (!live_sets.empty() || !presences.empty()) {
    WriteSeries(all, out);
    WriteChanges(all, out);
  }
  if (!live_sets.empty()) WriteMembers(live_sets, out);
  if (!presences.empty()) WriteUsers(presences, out);
  if (!counters.empty()) {
    WriteCounters(counters, out);
    WriteLag(counters, out);
  }
  WriteOwn(all, out);
  if (!directories.empty()) WriteStateDirectories(directories, out);
  if (!drivers.empty()) WriteDrivers(drivers, out);
  if (!consumers.empty()) WriteConsumers(consumers, out);
  return std::move(out).Finish();
}

}  // namespace pleat::inline v0_1
