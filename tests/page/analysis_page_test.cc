#include "tools/pleat/analysis_page.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/fixture.h"
#include "tools/pleat/analysis_chart.h"
#include "tools/pleat/analyze_output.h"
#include "tools/pleat/summary.h"

namespace pleat::inline v0 {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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
      EXPECT_THAT(rest, Not(HasSubstr(reference)));
  }
  EXPECT_THAT(AnalysisPage(keys, ""),
              HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
}

TEST(AnalysisPage, BeginsWithTheAnswerAndWhy) {
  const std::string page = PageOf(BurstyAnalysis());
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<h1>Quiet period: <bdi>5 min</bdi></h1>"));
  EXPECT_THAT(page, HasSubstr("<p class=\"why\">5 min: beyond it a longer delay folds little"));
  EXPECT_THAT(page, HasSubstr("<bdi>log.ndjson</bdi>, by <bdi>user</bdi>"));
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
    EXPECT_THAT(page, HasSubstr(cells));
  }
}

TEST(AnalysisPage, ListsBurstyAndRestlessKeys) {
  const std::string page = PageOf(BurstyAnalysis());
  EXPECT_THAT(page, HasSubstr("The biggest group of each, at a quiet period of 5 min"));
  EXPECT_THAT(
      page,
      HasSubstr("<bdi>user_225</bdi></th><td>84</td><td>51.5 min</td><td>2015-09-12 21:02:04"));
  EXPECT_THAT(page, HasSubstr("Keys that never go quiet"));
}

TEST(AnalysisPage, GapTableAddsUpToAllEvents) {
  const std::string page = PageOf(BurstyAnalysis());
  EXPECT_THAT(page, HasSubstr("1 min to 5 min</th><td>4,795</td><td>8.5 %</td><td>85.4 %"));
  EXPECT_THAT(page,
              HasSubstr("none: the first of their key</th><td>301</td><td>0.5 %</td><td>100 %"));
}

TEST(AnalysisPage, SaysWhatWasLeftOutAndWhatWasHeld) {
  KeyAnalysis key = HeldAnalysis();
  auto analysis = std::make_unique<Analysis>(*key.analysis);
  analysis->left_out = 1234;
  analysis->out_of_order = 56;
  key.analysis = std::move(analysis);
  const std::string page = PageOf(std::move(key));
  EXPECT_THAT(page, HasSubstr("<dt>Max hold</dt><dd>1 h</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Left out, for lack of memory</dt><dd>1,234</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>Out of order</dt><dd>56</dd>"));
}

TEST(AnalysisPage, SeveralKeysAreComparedAndThenToldOneByOne) {
  std::vector<KeyAnalysis> keys;
  keys.push_back(BurstyAnalysis());
  keys.push_back(EmptyAnalysis());
  keys[1].key = "page";
  const std::string page = AnalysisPage(keys, "log.ndjson");
  EXPECT_THAT(page,
              HasSubstr("<a href=\"#k0\"><bdi>user</bdi></a></th><td>301</td><td>5 min</td>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#k1\"><bdi>page</bdi></a></th><td>0</td><td>none</td>"));
  EXPECT_THAT(page, HasSubstr("<section id=\"k1\" aria-labelledby=\"k1-name\">"));
}

TEST(AnalysisPage, AnswersAlsoWhereThereIsNoneToGive) {
  EXPECT_THAT(PageOf(EmptyAnalysis()), HasSubstr("<h1>There are no events</h1>"));

  KeyAnalysis flat = BurstyAnalysis();
  flat.recommended = {Recommendation::Kind::kDoesNotFold, {}, "This log does not fold.", {}};
  const std::string page = PageOf(std::move(flat));
  EXPECT_THAT(page, HasSubstr("<h1>This log hardly folds</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("Keys that never go quiet")));

  KeyAnalysis far = BurstyAnalysis();
  far.recommended.kind = Recommendation::Kind::kOutOfReach;
  EXPECT_THAT(PageOf(std::move(far)), HasSubstr("<h1>Out of reach; nearest is 5 min</h1>"));
}

TEST(AnalysisPage, HostileTextsAreEscapedWhereverTheyAre) {
  const std::string page = PageOf(HostileAnalysis(), HostileTexts()[0]);
  for (const char* broken : {"<img", "document.title='", "<script>document", "<![CDATA["})
    EXPECT_THAT(page, Not(HasSubstr(broken)));
  for (const char byte : {'\0', '\a', '\x1b'}) EXPECT_EQ(page.find(byte), std::string::npos);
}

TEST(AnalysisPage, SameAnalysisGivesTheSameBytes) {
  EXPECT_EQ(PageOf(BurstyAnalysis()), PageOf(BurstyAnalysis()));
}

}  // namespace
}  // namespace pleat::inline v0
