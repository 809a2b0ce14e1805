// Writes the pages that the browser test opens: page_fixtures DIRECTORY
//
// And what it expects of them, counted from the log and not read off a page.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/page/fixture.h"
#include "tools/pleat/analysis_chart.h"
#include "tools/pleat/analysis_page.h"

namespace pleat::inline v0 {
namespace {

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  return out.good();
}

// How many events of the bursty log fold at each of these quiet periods: microseconds to a count.
std::string Expected() {
  const Log log = BurstyLog(1);
  std::string json = "{";
  for (int64_t us = 1'000'000; us <= 86'400'000'000; us = us * 101 / 100) {
    // To three digits, as round as the points between the rows are.
    int64_t unit = 1;
    while (us / unit >= 1000) unit *= 10;
    const Duration quiet{us / unit * unit};
    uint64_t folded = 0;
    for (const auto& [key, stamps] : log) {
      for (size_t i = 1; i < stamps.size(); ++i)
        folded += stamps[i] - stamps[i - 1] < quiet ? uint64_t{1} : uint64_t{0};
    }
    json += "\"" + std::to_string(quiet.count()) + "\":" + std::to_string(folded) + ",";
  }
  json.back() = '}';
  return json;
}

bool WriteAll(const std::string& directory) {
  std::vector<KeyAnalysis> one(1);
  one[0] = BurstyAnalysis();
  std::vector<KeyAnalysis> hostile(1);
  hostile[0] = HostileAnalysis();
  std::vector<KeyAnalysis> several;
  for (const std::string& key : {std::string("user"), HostileTexts()[0], std::string("page")})
    several.push_back(BurstyAnalysis(key));
  several.push_back(HostileAnalysis());
  return Write(directory + "/one.html", AnalysisPage(one, "bursty.ndjson")) &&
         Write(directory + "/hostile.html", AnalysisPage(hostile, HostileTexts()[0])) &&
         Write(directory + "/several.html", AnalysisPage(several, "bursty.ndjson")) &&
         Write(directory + "/one.svg", AnalysisSvg(one)) &&
         Write(directory + "/several.svg", AnalysisSvg(several)) &&
         Write(directory + "/hostile.svg", AnalysisSvg(hostile)) &&
         Write(directory + "/expected.json", Expected());
}

}  // namespace
}  // namespace pleat::inline v0

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (pleat::WriteAll(argv[1])) return 0;
  std::fprintf(stderr, "cannot write to %s\n", argv[1]);
  return 1;
}
