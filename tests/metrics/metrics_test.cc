// What WriteMetrics() writes. Whether Prometheus can read it is tested in metrics_peers_test.cc.
#include <pleat/metrics.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
           "pleat_events_total{collection=\"full\",outcome=\"refused\"} 30\n",
           "pleat_events_refused_for_bytes_total{collection=\"full\"} 12\n",
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
