// What WriteMetrics() writes, read by those it is for: promtool of Prometheus, and the parser of OpenMetrics in its
// Python client. `./dev test` fetches both into build/peers; without them these tests fail.
#include <pleat/metrics.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/subprocess.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kPeers = std::string(PLEAT_SOURCE_DIR) + "/build/peers";

// Two collections, one of them with everything.
class Metrics : public testing::Test {
 protected:
  Metrics() {
    full_->quiet_period = 5min;
    full_->events = 1000;
    full_->first = FromUnix(0s);
    full_->last = FromUnix(1000s);
    full_->gaps.Add(300'000, 400);
    full_->gaps.Add(60'000'000, 500);
    full_->fold_sizes.Add(1, 60);
    full_->fold_sizes.Add(2, 20);
    full_->fold_sizes.Add(40, 20);
    full_->spans.Add(5'000'000, 100);
    full_->open_peak = 9;
    lateness_.Add(1'000, 3);
    lateness_.Add(2'500'000);
    rows_ = {full_->WhatIf(30s), full_->WhatIf(5min)};
    collections_ = {{.collection = "edits",
                     .ledger = {.events = 1000,
                                .opened = 100,
                                .folded = 900,
                                .closed = 90,
                                .ready = 80,
                                .emissions = {70, 15, 0, 0, 5}},
                     .sizes = {.open_groups = 10, .ready_emissions = 80, .bytes = 12'345},
                     .gaps = full_.get(),
                     .lateness_us = &lateness_,
                     .what_if = rows_},
                    {.collection = "na\"me\\of\nlines \xC3\xA9 \xFF", .ledger = {}, .sizes = {}}};
  }
  std::string Write(MetricsFormat format) const { return WriteMetrics(collections_, format); }

  // What a peer says of a text; empty if it has no complaint.
  static std::string Complaints(std::vector<std::string> argv, const std::string& text) {
    Subprocess peer(std::move(argv), {.environment = {{"PYTHONPATH", kPeers}}});
    peer.Write(text);
    peer.CloseInput();
    const int status = peer.Wait();
    if (status == 0) return peer.out() + peer.err();
    return "status " + std::to_string(status) + ": " + peer.out() + peer.err();
  }
  static std::string PromtoolSays(const std::string& text) {
    return Complaints({kPeers + "/promtool", "check", "metrics"}, text);
  }
  static std::string OpenMetricsParserSays(const std::string& text) {
    return Complaints(
        {"/usr/bin/python3", "-c",
         "import sys\n"
         "from prometheus_client.openmetrics.parser import text_string_to_metric_families\n"
         "families = list(text_string_to_metric_families(sys.stdin.read()))\n"
         "if not families: print('no families')\n"},
        text);
  }

  std::unique_ptr<GapStats> full_ = std::make_unique<GapStats>();
  Histogram lateness_;
  std::vector<WhatIfRow> rows_;
  std::vector<CollectionMetrics> collections_;
};

TEST_F(Metrics, PromtoolHasNothingToComplainOf) {
  ASSERT_TRUE(std::filesystem::exists(kPeers + "/promtool")) << "./dev test fetches it";
  EXPECT_EQ(PromtoolSays(Write(MetricsFormat::kPrometheus)), "");
  EXPECT_NE(PromtoolSays("pleat_events 1\n"), "");  // it does complain: there is no HELP
}

TEST_F(Metrics, TheParserOfOpenMetricsHasNothingToComplainOf) {
  ASSERT_TRUE(std::filesystem::exists(kPeers + "/prometheus_client")) << "./dev test fetches it";
  const std::string text = Write(MetricsFormat::kOpenMetrics);
  EXPECT_EQ(OpenMetricsParserSays(text), "");
  EXPECT_NE(OpenMetricsParserSays(text.substr(0, text.size() - 6)), "");  // without the end
  EXPECT_NE(OpenMetricsParserSays(Write(MetricsFormat::kPrometheus)), "");
}

TEST_F(Metrics, EveryColumnIsWrittenForEveryCollection) {
  const std::string text = Write(MetricsFormat::kPrometheus);
  for (const char* line : {
           "# TYPE pleat_events_total counter\n",
           "pleat_events_total{collection=\"edits\",outcome=\"folded\"} 900\n",
           "pleat_emissions_total{collection=\"edits\",reason=\"max_hold\"} 15\n",
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

}  // namespace
}  // namespace pleat
