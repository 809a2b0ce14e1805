#include "tools/pleat/analyze/analysis_page.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/fixture.h"
#include "tools/pleat/analyze/analysis_chart.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

std::string PageOf(KeyAnalysis key, std::string_view source = "log.ndjson") {
  std::vector<KeyAnalysis> keys(1);
  keys[0] = std::move(key);
  return AnalysisPage(keys, source);
}

// Without what an SVG is recognised by, which is a name and not an address.
std::string WithoutNamespace(std::string text) {
  static const std::string name = "http://www.w3.org/2000/svg";
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name))
    text.erase(at, name.size());
  return text;
}

TEST(AnalysisPage, RefersToNothingOutsideOfItself) {
  std::vector<KeyAnalysis> keys;
  keys.push_back(BurstyAnalysis());
  keys.push_back(BurstyAnalysis("page"));
  for (const std::string& text : {AnalysisPage(keys, "log.ndjson"), AnalysisSvg(keys)}) {
    const std::string rest = WithoutNamespace(text);
    for (const char* reference : {"://", "src=", "@import", "<link", "url(h", "url('", "url(\""})
      EXPECT_FALSE(Has(rest, reference));
  }
  EXPECT_TRUE(Has(AnalysisPage(keys, ""), "content=\"default-src 'none'; script-src 'sha256-"));
}

TEST(AnalysisPage, BeginsWithTheAnswerAndWhy) {
  const std::string page = PageOf(BurstyAnalysis());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(Has(page, "<h1>Quiet period: <bdi>5 min</bdi></h1>"));
  EXPECT_TRUE(Has(page, "<p class=\"why\">5 min: beyond it a longer delay folds little"));
  EXPECT_TRUE(Has(page, "<bdi>log.ndjson</bdi>, by <bdi>user</bdi>"));
}

TEST(AnalysisPage, TableHasEveryRow) {
  const KeyAnalysis key = BurstyAnalysis();
  const std::string page = PageOf(BurstyAnalysis());
  for (const AnalysisRow& row : key.analysis->rows) {
    const bool marked = &row == MarkedRow(key);
    const std::string cells =
        std::string("<th scope=\"row\">") + DurationText(row.quiet_period) +
        (marked ? "<span class=\"tag\">recommended</span>" : "") + "</th><td>" +
        PercentText(row.folding_ratio) + "</td><td>" + Grouped(row.emissions) + "</td><td>" +
        RateText(row.emissions_per_second) + "</td><td>" + RoundedDuration(row.delay_p50) +
        "</td><td>" + RoundedDuration(row.delay_p99) + "</td><td>" + Grouped(row.open_peak) +
        "</td>";
    EXPECT_TRUE(Has(page, cells));
  }
}

TEST(AnalysisPage, ListsBurstyAndNeverQuietKeys) {
  const KeyAnalysis key = BurstyAnalysis();
  const std::string page = PageOf(BurstyAnalysis());
  EXPECT_TRUE(Has(page, "The biggest group of each, at a quiet period of 5 min"));
  EXPECT_EQ(MarkedRow(key)->biggest.size(), kBurstsKept);
  for (const Burst& burst : MarkedRow(key)->biggest) {
    EXPECT_TRUE(Has(page, "<bdi>" + burst.key + "</bdi></th><td>" + Grouped(burst.events) +
                              "</td><td>" + RoundedDuration(burst.lasted) + "</td><td>2015-09-1"));
  }
  const size_t never_quiet = page.find("Keys that never go quiet");
  ASSERT_NE(never_quiet, std::string::npos);
  EXPECT_TRUE(Has(page.substr(never_quiet), "<bdi>bot that never rests</bdi>"));
}

TEST(AnalysisPage, GapTableAddsUpToAllEvents) {
  const KeyAnalysis key = BurstyAnalysis();
  const std::string page = PageOf(BurstyAnalysis());
  const Log log = BurstyLog(1);
  const uint64_t below = FoldedAt(log, std::chrono::minutes(1));
  const uint64_t within = FoldedAt(log, std::chrono::minutes(5));
  const auto share = [&](uint64_t count) {
    return PercentText(static_cast<double>(count) / static_cast<double>(key.analysis->events));
  };
  EXPECT_TRUE(Has(page, "1 min to 5 min</th><td>" + Grouped(within - below) + "</td><td>" +
                            share(within - below) + "</td><td>" + share(within) + "</td>"));
  EXPECT_TRUE(Has(
      page, "none: the first of their key</th><td>101</td><td>" + share(101) + "</td><td>100 %"));
}

TEST(AnalysisPage, SaysWhatWasLeftOutAndWhatWasHeld) {
  KeyAnalysis key = HeldAnalysis();
  auto analysis = std::make_unique<Analysis>(*key.analysis);
  analysis->left_out = 1234;
  key.out_of_order = 56;
  key.analysis = std::move(analysis);
  const std::string page = PageOf(std::move(key));
  EXPECT_TRUE(Has(page, "<dt>Max wait</dt><dd>1 h</dd>"));
  EXPECT_TRUE(Has(page, "first event after the max wait has closed one"));
  EXPECT_TRUE(Has(page, "<dt>Left out, for lack of memory</dt><dd>1,234</dd>"));
  EXPECT_TRUE(Has(page, "<dt>Out of order</dt><dd>56</dd>"));
}

TEST(AnalysisPage, SeveralKeysAreComparedAndThenToldOneByOne) {
  std::vector<KeyAnalysis> keys;
  keys.push_back(BurstyAnalysis());
  keys.push_back(EmptyAnalysis());
  keys[1].key = "page";
  const std::string page = AnalysisPage(keys, "log.ndjson");
  EXPECT_TRUE(Has(page, "<a href=\"#k0\"><bdi>user</bdi></a></th><td>101</td><td>5 min</td>"));
  EXPECT_TRUE(Has(page, "<a href=\"#k1\"><bdi>page</bdi></a></th><td>0</td><td>none</td>"));
  EXPECT_TRUE(Has(page, "<section id=\"k1\" aria-labelledby=\"k1-name\">"));
}

TEST(AnalysisPage, AnswersAlsoWhereThereIsNoneToGive) {
  EXPECT_TRUE(Has(PageOf(EmptyAnalysis()), "<h1>There are no events</h1>"));

  KeyAnalysis flat = BurstyAnalysis();
  flat.recommended = {Recommendation::Kind::kDoesNotFold, {}, "This log does not fold.", {}};
  const std::string page = PageOf(std::move(flat));
  EXPECT_TRUE(Has(page, "<h1>This log hardly folds</h1>"));
  EXPECT_FALSE(Has(page, "Keys that never go quiet"));

  KeyAnalysis far = BurstyAnalysis();
  far.recommended.kind = Recommendation::Kind::kOutOfReach;
  EXPECT_TRUE(Has(PageOf(std::move(far)), "<h1>Out of reach; nearest is 5 min</h1>"));
}

TEST(AnalysisPage, HostileTextsAreEscapedWhereverTheyAre) {
  const std::string page = PageOf(HostileAnalysis(), HostileTexts()[0]);
  for (const char* broken : {"<img", "document.title='", "<script>document", "<![CDATA["})
    EXPECT_FALSE(Has(page, broken));
  for (const char byte : {'\0', '\a', '\x1b'}) EXPECT_EQ(page.find(byte), std::string::npos);
}

TEST(AnalysisPage, SameAnalysisGivesTheSameBytes) {
  EXPECT_EQ(PageOf(BurstyAnalysis()), PageOf(BurstyAnalysis()));
}

}  // namespace
}  // namespace pleat::cli
