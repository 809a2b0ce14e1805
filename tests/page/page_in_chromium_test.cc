// The page as a browser shows it: opened from disk, where it may ask for nothing. What is looked at is in
// page_in_chromium.mjs; without Chromium these tests fail.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/page/fixture.h"
#include "tests/support/source_dir.h"
#include "tests/support/subprocess.h"
#include "tools/pleat/analyze/analysis_chart.h"
#include "tools/pleat/analyze/analysis_page.h"
#include "tools/pleat/analyze/what_if_curve.h"

namespace pleat::cli {
namespace {

class PageInChromium : public testing::Test {
 protected:
  PageInChromium() { std::filesystem::create_directories(directory_); }
  ~PageInChromium() override { std::filesystem::remove_all(directory_); }

  // One start of Chromium for all of them: it takes a second.
  void Check(const std::vector<std::string>& names) {
    WritePages();
    std::vector<std::string> command = {"/usr/bin/env", "node",
                                        SourceDir() + "/tests/page/page_in_chromium.mjs",
                                        PLEAT_BROWSER_MODULES, directory_.string()};
    command.insert(command.end(), names.begin(), names.end());
    const Finished node = RunToEnd(command);
    EXPECT_EQ(node.code, 0) << node.out << node.err;
    std::cout << node.out;
  }

 private:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }

  void WriteBoth(const std::string& name, const std::vector<KeyAnalysis>& keys,
                 std::string_view source) const {
    Write(name + ".html", AnalysisPage(keys, source));
    Write(name + ".svg", AnalysisSvg(keys));
  }

  void WritePages() const {
    std::vector<KeyAnalysis> keys(1);
    keys[0] = BurstyAnalysis();
    WriteBoth("one", keys, "bursty.ndjson");
    WriteExpected(*keys[0].analysis);
    WriteSpoilt(AnalysisPage(keys, "bursty.ndjson"));

    keys[0] = HeldAnalysis();
    WriteBoth("held", keys, "bursty.ndjson");
    keys[0] = EmptyAnalysis();
    WriteBoth("empty", keys, "bursty.ndjson");
    keys[0] = HostileAnalysis();
    WriteBoth("hostile", keys, HostileTexts()[0]);
    WriteHostileTexts();

    for (const std::string& key : {std::string("user"), HostileTexts()[0], std::string("page")})
      keys.push_back(BurstyAnalysis(key));
    WriteBoth("several", keys, "bursty.ndjson");
  }

  // How many events fold at each place of the slider, counted one by one.
  void WriteExpected(const Analysis& analysis) const {
    const Log log = BurstyLog(1);
    std::string folded;
    for (const CurvePoint& point : CurveOf(analysis, 12)) {
      const Duration quiet = point.figures.quiet_period;
      folded += (folded.empty() ? "\"" : ",\"") + std::to_string(quiet.count()) +
                "\":" + std::to_string(FoldedAt(log, quiet));
    }
    Write("expected.json",
          "{\"events\":" + std::to_string(analysis.events) + ",\"folded\":{" + folded + "}}");
  }

  // The page with a script and a picture from elsewhere; and the same without its policy.
  void WriteSpoilt(std::string page) const {
    page.insert(page.find("<main>"),
                "<script>1</script><img alt=\"\" src=\"http://127.0.0.1:9/x.png\">");
    Write("spoilt.html", page);
    const size_t policy = page.find("<meta http-equiv");
    page.erase(policy, page.find('\n', policy) - policy);
    Write("lax.html", page);
  }

  // As they are to be seen, in JSON.
  void WriteHostileTexts() const {
    Write("hostile.json", R"x([
      "</script><script>document.title='broken'</script>",
      "</title></style></svg><img src=x onerror=\"document.title='broken'\">",
      "\"><script>document.title='broken'</script>",
      "'onmouseover='x",
      "]]>--><!--<![CDATA[",
      "&amp;&lt;&#x3c;script>",
      "nul [U+0000] bell [U+0007] escape [U+001B][31m newline [U+000A]",
      "right [U+202E]to left[U+202C] [U+2066]isolate",
      "separator [U+2028] end [U+FFFE]",
      "{{x}} ${x} `x` %s %n"
    ])x");
  }

  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / ("pleat_page_" + std::to_string(getpid()));
};

TEST_F(PageInChromium, AsksForNothingAndRunsNothingForeign) {
  Check({"asksForNothing", "noticesRequestsAndForeignScript", "hostileTextsStayTexts",
         "chartsAreXmlAndAskForNothing"});
}

TEST_F(PageInChromium, SliderTellsWhatWasCounted) {
  Check({"sliderTellsWhatWasCounted", "cursorFollowsSliderAndPointer", "sliderIsAsLongAsThePlot",
         "eachSectionHasASliderOfItsOwn"});
}

TEST_F(PageInChromium, ReadsWithoutScriptInTheDarkOnNarrowScreensAndAloud) {
  Check({"readsWithoutScript", "isLegibleInLightAndDarkAndPrintsLight", "fitsNarrowScreens",
         "hasNamesForAll"});
}

}  // namespace
}  // namespace pleat::cli
