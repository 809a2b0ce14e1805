// The text of WriteMetrics(), read by its readers: promtool of Prometheus, and the parser of OpenMetrics in
// the Python client of Prometheus. `./dev check page` fetches both into build/peers; without them these
// tests fail.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/metrics/fixture.h"
#include "tests/support/source_dir.h"
#include "tests/support/subprocess.h"

namespace pleat {
namespace {

const std::string kPeers = SourceDir() + "/build/peers";

// What a peer says of a text; empty if it has no complaint.
std::string Complaints(std::vector<std::string> argv, const std::string& text) {
  Subprocess peer(std::move(argv), {.environment = {{"PYTHONPATH", kPeers}}});
  peer.Write(text);
  peer.CloseInput();
  const int status = peer.Wait();
  if (status == 0) return peer.out() + peer.err();
  return "status " + std::to_string(status) + ": " + peer.out() + peer.err();
}
std::string PromtoolSays(const std::string& text) {
  return Complaints({kPeers + "/promtool", "check", "metrics"}, text);
}
std::string OpenMetricsParserSays(const std::string& text) {
  return Complaints(
      {"/usr/bin/python3", "-c",
       "import sys\n"
       "from prometheus_client.openmetrics.parser import text_string_to_metric_families\n"
       "families = list(text_string_to_metric_families(sys.stdin.read()))\n"
       "if not families: print('no families')\n"},
      text);
}

using MetricsPeers = Metrics;

TEST_F(MetricsPeers, PromtoolHasNothingToComplainOf) {
  ASSERT_TRUE(std::filesystem::exists(kPeers + "/promtool")) << "./dev check page fetches it";
  EXPECT_EQ(PromtoolSays(Write(MetricsFormat::kPrometheus)), "");
  EXPECT_NE(PromtoolSays("pleat_events 1\n"), "");  // it does complain: there is no HELP
}

TEST_F(MetricsPeers, TheParserOfOpenMetricsHasNothingToComplainOf) {
  ASSERT_TRUE(std::filesystem::exists(kPeers + "/prometheus_client"))
      << "./dev check page fetches it";
  const std::string text = Write(MetricsFormat::kOpenMetrics);
  EXPECT_EQ(OpenMetricsParserSays(text), "");
  EXPECT_NE(OpenMetricsParserSays(text.substr(0, text.size() - 6)), "");  // without the end
  EXPECT_NE(OpenMetricsParserSays(Write(MetricsFormat::kPrometheus)), "");
}

}  // namespace
}  // namespace pleat
