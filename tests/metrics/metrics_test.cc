// What WriteMetrics() writes. Whether Prometheus can read it is tested in metrics_peers_test.cc.
#include <pleat/metrics.h>

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/engine.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>
#include <pleat/rollup.h>
#include <pleat/rollup_values.h>

#include "tests/metrics/fixture.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Metrics, EveryColumnIsWrittenForEveryCollection) {
  const std::string text = Write(MetricsFormat::kPrometheus);
  for (const char* line : {
           "# TYPE pleat_events_total counter\n",
           "pleat_events_total{collection=\"edits\",outcome=\"folded\"} 900\n",
           "pleat_events_total{collection=\"full\",outcome=\"over_limit\"} 30\n",
           "pleat_events_over_byte_limit_total{collection=\"full\"} 12\n",
           "pleat_emissions_total{collection=\"edits\",reason=\"max_wait\"} 15\n",
           "pleat_emissions_total{collection=\"edits\",reason=\"end\"} 5\n",
           "pleat_groups_closed_total{collection=\"edits\"} 90\n",
           "pleat_open_groups{collection=\"edits\"} 10\n",
           "pleat_held_bytes{collection=\"edits\"} 12345\n",
           "pleat_folding_ratio{collection=\"edits\"} 0.9\n",
           "pleat_lateness_seconds_bucket{collection=\"edits\",le=\"0.0005\"} 0\n",
           "pleat_lateness_seconds_bucket{collection=\"edits\",le=\"0.001\"} 3\n",
           "pleat_lateness_seconds_bucket{collection=\"edits\",le=\"5.0\"} 4\n",
           "pleat_lateness_seconds_count{collection=\"edits\"} 4\n",
           "pleat_emission_events_bucket{collection=\"edits\",le=\"1.0\"} 60\n",
           "pleat_emission_events_bucket{collection=\"edits\",le=\"2.0\"} 80\n",
           "pleat_emission_events_bucket{collection=\"edits\",le=\"1e+06\"} 100\n",
           "pleat_emission_events_sum{collection=\"edits\"} 900\n",
           "pleat_gap_seconds_bucket{collection=\"edits\",le=\"60.0\"} 900\n",
           "pleat_what_if_folding_ratio{collection=\"edits\",quiet_seconds=\"30\"} 0.4\n",
           "pleat_what_if_folding_ratio{collection=\"edits\",quiet_seconds=\"300\"} 0.9\n",
           "pleat_events_total{collection=\"readers\",outcome=\"added\"} 7\n",
           "pleat_events_total{collection=\"readers\",outcome=\"late\"} 2\n",
           "pleat_events_total{collection=\"news\",outcome=\"tombstoned\"} 0\n",
           "pleat_held_bytes{collection=\"readers\"} 789\n",
           "pleat_lateness_seconds_count{collection=\"readers\"} 4\n",
           "# TYPE pleat_members gauge\n",
           "pleat_members{collection=\"readers\"} 4\n",
           "pleat_members_held{collection=\"readers\"} 5\n",
           "pleat_series{collection=\"readers\"} 2\n",
           "pleat_tombstones{collection=\"readers\"} 6\n",
           "# TYPE pleat_changes_total counter\n",
           "pleat_changes_total{collection=\"readers\",cause=\"added\"} 7\n",
           "pleat_changes_total{collection=\"readers\",cause=\"expired\"} 3\n",
           "pleat_changes_total{collection=\"news\",cause=\"left\"} 0\n",
           "pleat_events_total{collection=\"visitors\",outcome=\"joined\"} 5\n",
           "pleat_events_total{collection=\"visitors\",outcome=\"unknown\"} 3\n",
           "pleat_events_total{collection=\"callers\",outcome=\"over_limit\"} 0\n",
           "pleat_held_bytes{collection=\"visitors\"} 654\n",
           "pleat_lateness_seconds_count{collection=\"visitors\"} 4\n",
           "pleat_series{collection=\"visitors\"} 3\n",
           "pleat_users{collection=\"visitors\"} 5\n",
           "pleat_users_away{collection=\"visitors\"} 1\n",
           "pleat_connections{collection=\"visitors\"} 7\n",
           "pleat_changes_total{collection=\"visitors\",cause=\"away\"} 1\n",
           "pages_open{collection=\"readers\"} 8\n",
           "pages_open{collection=\"visitors\"} 8\n",
           "pleat_events_total{collection=\"plays\",outcome=\"added\"} 11\n",
           "pleat_events_total{collection=\"plays\",outcome=\"duplicate\"} 4\n",
           "pleat_events_total{collection=\"plays\",outcome=\"clamped\"} 1\n",
           "pleat_events_total{collection=\"views\",outcome=\"over_limit\"} 0\n",
           "pleat_held_bytes{collection=\"plays\"} 321\n",
           "pleat_lateness_seconds_count{collection=\"plays\"} 4\n",
           "pleat_emissions_total{collection=\"plays\",reason=\"final\"} 5\n",
           "pleat_emissions_total{collection=\"plays\",reason=\"end\"} 1\n",
           "pleat_emissions_total{collection=\"plays\",reason=\"correction\"} 2\n",
           "pleat_ready_emissions{collection=\"edits\"} 80\n",
           "pleat_ready_emissions{collection=\"plays\"} 6\n",
           "pleat_events_over_byte_limit_total{collection=\"plays\"} 0\n",
           "pleat_events_late_unknown_total{collection=\"plays\"} 1\n",
           "pleat_clears_total{collection=\"plays\"} 1\n",
           "pleat_counters{collection=\"plays\"} 5\n",
           "pleat_counters_opened_total{collection=\"plays\"} 7\n",
           "pleat_counters_forgotten_total{collection=\"plays\"} 2\n",
           "pleat_windows_opened_total{collection=\"plays\"} 9\n",
           "pleat_open_windows{collection=\"plays\"} 3\n",
           "pleat_final_windows_kept{collection=\"plays\"} 4\n",
           "pleat_ids{collection=\"plays\"} 15\n",
           "pleat_events_checkpointed_total{collection=\"plays\"} 8\n",
           "pleat_events_pending{collection=\"plays\"} 3\n",
           "pleat_checkpoints_published_total{collection=\"plays\"} 6\n",
           "pleat_store_failures_total{collection=\"plays\",answer=\"error\"} 12\n",
           "pleat_store_failures_total{collection=\"plays\",answer=\"behind\"} 13\n",
           "pleat_store_failures_total{collection=\"plays\",answer=\"conflict\"} 14\n",
           "pleat_counters_unpublished{collection=\"plays\"} 2\n",
           "pleat_final_lag_seconds{collection=\"plays\"} 70.5\n",
           "pages_open{collection=\"plays\"} 8\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("# EOF")));
  EXPECT_THAT(text, Not(HasSubstr("# UNIT")));
}

TEST_F(Metrics, NamesAreEscapedAndMadeUtf8) {
  EXPECT_THAT(
      Write(MetricsFormat::kPrometheus),
      HasSubstr(
          "pleat_open_groups{collection=\"na\\\"me\\\\of\\nlines \xC3\xA9 \xEF\xBF\xBD\"} 0\n"));
}

TEST_F(Metrics, AFamilyIsWrittenOnce) {
  for (const MetricsFormat format : {MetricsFormat::kPrometheus, MetricsFormat::kOpenMetrics}) {
    const std::string text = Write(format);
    std::vector<std::string> types;
    for (size_t at = text.find("# TYPE "); at != std::string::npos;
         at = text.find("# TYPE ", at + 1))
      types.push_back(text.substr(at, text.find(' ', at + 7) - at));
    std::ranges::sort(types);
    EXPECT_GT(types.size(), 20u);
    EXPECT_EQ(std::ranges::adjacent_find(types), types.end());
  }
}

TEST_F(Metrics, WhatKindsHaveInCommonComesFirst) {
  std::vector<ListedCollection> all = live_sets_;
  all.insert(all.end(), counters_.begin(), counters_.end());
  const std::string text = WriteMetrics(all, MetricsFormat::kPrometheus);
  EXPECT_LT(text.find("# TYPE pleat_events_over_byte_limit_total"),
            text.find("# TYPE pleat_series"));
  EXPECT_TRUE(text.starts_with("# HELP pleat_events_total "));
}

TEST_F(Metrics, AStatisticOfYourOwnMayHaveALabelAndAUnit) {
  live_sets_[0].own = {{.name = "sent_bytes",
                        .type = Statistic::Type::kCounter,
                        .help = "Bytes that were sent.",
                        .value = 1'000'000,
                        .unit = "bytes",
                        .label = {"to", "a \"b\""}}};
  EXPECT_THAT(WriteMetrics(live_sets_, MetricsFormat::kOpenMetrics),
              HasSubstr("# HELP sent_bytes Bytes that were sent.\n"
                        "# TYPE sent_bytes counter\n"
                        "# UNIT sent_bytes bytes\n"
                        "sent_bytes_total{collection=\"readers\",to=\"a \\\"b\\\"\"} 1000000\n"));
}

TEST_F(Metrics, OpenMetricsNamesUnitsAndTheEnd) {
  const std::string text = Write(MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE pleat_events counter\n"));
  EXPECT_THAT(text, HasSubstr("# UNIT pleat_held_bytes bytes\n"));
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST_F(Metrics, OfNoCollectionThereIsNothingButTheEnd) {
  EXPECT_EQ(WriteMetrics({}, MetricsFormat::kPrometheus), "");
  EXPECT_EQ(WriteMetrics({}, MetricsFormat::kOpenMetrics), "# EOF\n");
}

TEST_F(Metrics, OfLiveSetsAloneThereAreNoFamiliesOfFolders) {
  const std::string text = WriteMetrics(live_sets_, MetricsFormat::kPrometheus);
  EXPECT_THAT(text, HasSubstr("pleat_members{"));
  EXPECT_THAT(text, Not(HasSubstr("pleat_open_groups")));
  EXPECT_THAT(text, Not(HasSubstr("pleat_users")));
  EXPECT_THAT(WriteMetrics(folders_, MetricsFormat::kPrometheus), Not(HasSubstr("pleat_members")));
}

TEST_F(Metrics, AnEndIsCountedByItsCause) {
  const EngineTime noon = FromUnix(12h);
  const auto engine = *Engine::Open({.partitions = 4});
  LiveSet<> readers(*engine, "readers", {.ttl = 30s});
  readers.Add("page", {.id = "ann"}, noon);
  readers.Add("page", {.id = "ben"}, noon + 10s);
  readers.Add("page", {.id = "ben"}, noon + 20s);
  engine->Advance(noon + 20s);
  readers.Remove("page", "nobody");
  engine->Advance(noon + 35s);
  const std::string text = WriteMetrics(ListCollections(*engine), MetricsFormat::kPrometheus);
  for (const char* line : {
           "pleat_events_total{collection=\"readers\",outcome=\"refreshed\"} 1\n",
           "pleat_changes_total{collection=\"readers\",cause=\"added\"} 2\n",
           "pleat_changes_total{collection=\"readers\",cause=\"refreshed\"} 1\n",
           "pleat_changes_total{collection=\"readers\",cause=\"expired\"} 1\n",
           "pleat_members{collection=\"readers\"} 1\n",
           "pleat_series{collection=\"readers\"} 1\n",
           "pleat_tombstones{collection=\"readers\"} 1\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(Metrics, OfPresencesAloneThereAreNoFamiliesOfOthers) {
  const std::string text = WriteMetrics(presences_, MetricsFormat::kPrometheus);
  EXPECT_THAT(text, HasSubstr("pleat_users{"));
  EXPECT_THAT(text, Not(HasSubstr("pleat_open_groups")));
  EXPECT_THAT(text, Not(HasSubstr("pleat_members")));
}

TEST_F(Metrics, AUserIsCountedWithConnectionsAndChanges) {
  const EngineTime noon = FromUnix(12h);
  const auto engine = *Engine::Open({.partitions = 4});
  Presence<> visitors(*engine, "visitors", {.ttl = 60s, .grace = 30s});
  visitors.Enter("page", "ann", "tab 1", noon);
  visitors.Enter("page", "ann", "tab 2", noon);
  visitors.Enter("page", "ben", "tab 3", noon + 50s);
  visitors.Enter("page", "cy", "tab 4", noon);
  engine->Advance(noon + 60s);
  visitors.Enter("page", "cy", "tab 4", noon + 61s);
  engine->Advance(noon + 62s);
  const std::string text = WriteMetrics(ListCollections(*engine), MetricsFormat::kPrometheus);
  for (const char* line : {
           "pleat_events_total{collection=\"visitors\",outcome=\"joined\"} 3\n",
           "pleat_events_total{collection=\"visitors\",outcome=\"connected\"} 1\n",
           "pleat_events_total{collection=\"visitors\",outcome=\"returned\"} 1\n",
           "pleat_changes_total{collection=\"visitors\",cause=\"added\"} 3\n",
           "pleat_changes_total{collection=\"visitors\",cause=\"away\"} 2\n",
           "pleat_changes_total{collection=\"visitors\",cause=\"restored\"} 1\n",
           "pleat_users{collection=\"visitors\"} 3\n",
           "pleat_users_away{collection=\"visitors\"} 1\n",
           "pleat_connections{collection=\"visitors\"} 4\n",
           "pleat_series{collection=\"visitors\"} 1\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(Metrics, CountersTellOfWindowsIdsAndCheckpoints) {
  const EngineTime noon = FromUnix(12h);
  const auto engine = *Engine::Open({.partitions = 4});
  engine->Advance(noon);
  RollupCounter plays(*engine, "plays",
                      {.windows = {1min},
                       .allowed_lateness = 10s,
                       .store = std::make_shared<MemoryCheckpointStore>()});
  plays.Add("a", 1, noon, "1");
  plays.Add("a", 1, noon, "1");
  plays.Add("b", 1, noon + 1s, "1");
  plays.Add("b", 1, noon + 61s);
  engine->Advance(noon + 72s);
  plays.Add("b", 1, noon + 61s);
  plays.Publish();
  const std::string text = WriteMetrics(ListCollections(*engine), MetricsFormat::kPrometheus);
  for (const char* line : {
           "pleat_events_total{collection=\"plays\",outcome=\"added\"} 3\n",
           "pleat_events_total{collection=\"plays\",outcome=\"duplicate\"} 1\n",
           "pleat_events_total{collection=\"plays\",outcome=\"late\"} 1\n",
           "pleat_emissions_total{collection=\"plays\",reason=\"final\"} 2\n",
           "pleat_ready_emissions{collection=\"plays\"} 2\n",
           "pleat_counters{collection=\"plays\"} 2\n",
           "pleat_open_windows{collection=\"plays\"} 1\n",
           "pleat_ids{collection=\"plays\"} 2\n",
           "pleat_events_checkpointed_total{collection=\"plays\"} 2\n",
           "pleat_events_pending{collection=\"plays\"} 1\n",
           "pleat_checkpoints_published_total{collection=\"plays\"} 2\n",
           "pleat_counters_unpublished{collection=\"plays\"} 0\n",
           "pleat_final_lag_seconds{collection=\"plays\"} 12\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(Metrics, OfCountersAloneThereAreNoFamiliesOfOthers) {
  const std::string text = WriteMetrics(counters_, MetricsFormat::kPrometheus);
  EXPECT_THAT(text, HasSubstr("pleat_counters{"));
  EXPECT_THAT(text, Not(HasSubstr("pleat_open_groups")));
  EXPECT_THAT(text, Not(HasSubstr("pleat_emissions_gone")));
  EXPECT_THAT(text, Not(HasSubstr("pleat_series")));
  EXPECT_THAT(text, Not(HasSubstr("pleat_final_lag_seconds{collection=\"views\"}")));
  EXPECT_THAT(WriteMetrics(folders_, MetricsFormat::kPrometheus), Not(HasSubstr("pleat_counters")));
}

TEST_F(Metrics, DriversAndConsumersHaveTheLabelsOfTheCaller) {
  const std::string all = "service=\"feeds\",worker=\"3 \\\"b\\\"\\n\xEF\xBF\xBD\"";
  const std::string worker = "worker=\"3 \\\"b\\\"\\n\xEF\xBF\xBD\"";
  const std::string text = Write(MetricsFormat::kPrometheus);
  for (const std::string& line : {
           std::string("# TYPE pleat_driver_turns_total counter\n"),
           "pleat_driver_turns_total{" + all + "} 40\n",
           std::string("\npleat_driver_turns_total 0\n"),  // of one without labels
           "pleat_driver_turns_unfinished_total{" + all + "} 2\n",
           "pleat_driver_timer_wakes_total{" + all + "} 30\n",
           "pleat_driver_wall_steps_total{" + all + ",direction=\"back\"} 1\n",
           "pleat_driver_wall_steps_total{" + all + ",direction=\"forward\"} 3\n",
           std::string("pleat_driver_wall_steps_total{direction=\"back\"} 0\n"),
           "pleat_driver_lateness_seconds_bucket{" + all + ",le=\"0.001\"} 3\n",
           "pleat_driver_lateness_seconds_count{" + all + "} 4\n",
           std::string("# TYPE pleat_consumer_waiting gauge\n"),
           "pleat_consumer_waiting{" + all + "} 7\n",
           "pleat_consumer_delivered_total{" + all + "} 50\n",
           "pleat_consumer_delivered_total{" + worker + "} 6\n",
           "pleat_consumer_cancelled_total{" + all + "} 4\n",
           "pleat_consumer_overloaded_total{" + all + "} 9\n",
           "pleat_consumer_resyncs_total{" + worker + "} 5\n",
           "pleat_consumer_lateness_seconds_count{" + all + "} 4\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("pleat_consumer_resyncs_total{service")));
}

TEST_F(Metrics, WithoutDriversAndConsumersThereAreNoFamiliesOfThem) {
  const std::string text = WriteMetrics(folders_, MetricsFormat::kPrometheus);
  EXPECT_THAT(text, Not(HasSubstr("pleat_driver")));
  EXPECT_THAT(text, Not(HasSubstr("pleat_consumer")));
}

TEST(MetricsOfStateDirectories, TellWhetherSnapshotsAreTaken) {
  const StateDirectoryMetrics directories[] = {{.directory = "/var/lib/orders",
                                                .state = {.taken = 7,
                                                          .failed = 2,
                                                          .bytes = 4096,
                                                          .copy_bytes = 512,
                                                          .most_copy_bytes = 1024,
                                                          .last = absl::ResourceExhaustedError("")},
                                                .newest = FromUnix(1'700'000'000s)},
                                               {.directory = "new"}};
  const std::string text = WriteMetrics({}, MetricsFormat::kOpenMetrics, directories);
  for (const char* line : {
           "# TYPE pleat_snapshots counter\n",
           "pleat_snapshots_total{directory=\"/var/lib/orders\",result=\"taken\"} 7\n",
           "pleat_snapshots_total{directory=\"/var/lib/orders\",result=\"failed\"} 2\n",
           "pleat_snapshots_total{directory=\"new\",result=\"taken\"} 0\n",
           "pleat_snapshot_failing{directory=\"/var/lib/orders\"} 1\n",
           "pleat_snapshot_failing{directory=\"new\"} 0\n",
           "# UNIT pleat_snapshot_bytes bytes\n",
           "pleat_snapshot_bytes{directory=\"/var/lib/orders\"} 4096\n",
           "pleat_snapshot_bytes{directory=\"new\"} 0\n",
           "pleat_snapshot_copy_bytes{directory=\"/var/lib/orders\"} 512\n",
           "pleat_snapshot_most_copy_bytes{directory=\"/var/lib/orders\"} 1024\n",
           "pleat_snapshot_timestamp_seconds{directory=\"/var/lib/orders\"} ",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("pleat_snapshot_timestamp_seconds{directory=\"new\"}")));
  EXPECT_THAT(text, Not(HasSubstr("collection=")));
}

TEST(MetricsOfEventStores, TellWhetherAppendsAreRefusedAndWhatIsOnTheDisk) {
  const EventStoreMetrics stores[] = {
      {"/var/lib/orders",
       {.segments = 3,
        .bytes = 200'000'000,
        .unsynced_bytes = 4096,
        .blocks = 17,
        .times_held_back = 5,
        .bytes_passed_over = 100,
        .blocks_passed_over = 2,
        .answers = AppendOutcome::kStoreFull,
        .last_error = absl::ResourceExhaustedError("")}},
      {"other", {.answers = AppendOutcome::kStoreFailed, .last_error = absl::DataLossError("")}},
      {"closed", {.answers = AppendOutcome::kStoreFailed}},
      {"new", {}}};
  const std::string text = WriteMetrics({}, MetricsFormat::kOpenMetrics, {}, {}, {}, stores);
  for (const char* line : {
           "# TYPE pleat_store_refusing gauge\n",
           "pleat_store_refusing{directory=\"/var/lib/orders\",reason=\"full\"} 1\n",
           "pleat_store_refusing{directory=\"/var/lib/orders\",reason=\"failed\"} 0\n",
           "pleat_store_refusing{directory=\"other\",reason=\"failed\"} 1\n",
           "pleat_store_refusing{directory=\"closed\",reason=\"failed\"} 0\n",
           "pleat_store_refusing{directory=\"new\",reason=\"full\"} 0\n",
           "pleat_store_files{directory=\"/var/lib/orders\"} 3\n",
           "# UNIT pleat_store_bytes bytes\n",
           "pleat_store_bytes{directory=\"/var/lib/orders\"} 200000000\n",
           "pleat_store_unsynced_bytes{directory=\"/var/lib/orders\"} 4096\n",
           "# TYPE pleat_store_blocks counter\n",
           "pleat_store_blocks_total{directory=\"/var/lib/orders\"} 17\n",
           "pleat_store_times_held_back_total{directory=\"/var/lib/orders\"} 5\n",
           "pleat_store_passed_over_bytes{directory=\"/var/lib/orders\"} 100\n",
           "pleat_store_passed_over_blocks{directory=\"/var/lib/orders\"} 2\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsOfProcessors, SayHowEachLaneStands) {
  constexpr EngineTime kT0 = FromUnix(1'700'000'000s);
  const LaneStatus lanes[] = {{.partition = 3,
                               .phase = LanePhase::kParked,
                               .next = 17,
                               .waiting = 5,
                               .held_keys = 2,
                               .buried = 1,
                               .now = kT0,
                               .takeovers = 4,
                               .taken_over = kT0 + 1s,
                               .commits = 7,
                               .snapshots = 6,
                               .end = 20,
                               .newest = kT0 + 2500ms},
                              {.partition = 4, .next = 9, .now = kT0, .end = 9, .newest = kT0},
                              {.partition = 5, .phase = LanePhase::kLive}};
  const ProcessorMetrics processors[] = {{"totals", lanes}};
  const std::string text =
      WriteMetrics({}, MetricsFormat::kOpenMetrics, {}, {}, {}, {}, processors);
  const auto of = [](int partition) {
    return "{processor=\"totals\",partition=\"" + std::to_string(partition) + "\"";
  };
  for (const std::string& line : {
           std::string("# TYPE pleat_lane_phase gauge\n"),
           "pleat_lane_phase" + of(3) + ",phase=\"parked\"} 1\n",
           "pleat_lane_phase" + of(3) + ",phase=\"live\"} 0\n",
           "pleat_lane_phase" + of(4) + ",phase=\"replaying\"} 1\n",
           "pleat_lane_phase" + of(5) + ",phase=\"live\"} 1\n",
           "pleat_lane_next" + of(3) + "} 17\n",
           "pleat_lane_unread" + of(3) + "} 3\n",
           "pleat_lane_unread" + of(4) + "} 0\n",
           std::string("# UNIT pleat_lane_behind_seconds seconds\n"),
           "pleat_lane_behind_seconds" + of(3) + "} 2.5\n",
           "pleat_lane_behind_seconds" + of(4) + "} 0\n",
           "pleat_lane_waiting" + of(3) + "} 5\n",
           "pleat_lane_held_keys" + of(3) + "} 2\n",
           "pleat_lane_buried" + of(3) + "} 1\n",
           std::string("# TYPE pleat_lane_commits counter\n"),
           "pleat_lane_commits_total" + of(3) + "} 7\n",
           "pleat_lane_snapshots_total" + of(3) + "} 6\n",
           "pleat_lane_takeovers_total" + of(3) + "} 4\n",
           "pleat_lane_takeover_timestamp_seconds" + of(3) + "} 1700000001\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  for (const std::string name : {"unread", "behind_seconds", "commits_total", "snapshots_total",
                                 "takeover_timestamp_seconds"}) {
    EXPECT_THAT(text, Not(HasSubstr("pleat_lane_" + name + of(5)))) << "nobody knows";
  }
}

}  // namespace
}  // namespace pleat
