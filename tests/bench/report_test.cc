// pleat_report on small results: whose figures stand where in the text, and what is kept of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTemplate = R"({{machines}}
commit | {{context commit}}
{{end}}

{{table job slow event}}
fast | ours
slow |
{{end}}

{{goals}}
fast | >= 9 | >= 4 | job/fast / job/slow
{{end}}
)";

// Two repetitions of job/fast, of which the median is `fast`, and job/slow with a rate of 10, as Google
// Benchmark writes them.
std::string RunOn(const std::string& cpu, const std::string& commit, int fast) {
  const auto row = [](const std::string& name, const std::string& type, int rate) {
    return R"({"name": "job/)" + name + R"(/real_time", "run_type": ")" + type +
           R"(", "real_time": 1, "unasked": 1, "items_per_second": )" + std::to_string(rate) + "}";
  };
  return R"({"context": {"cpu": ")" + cpu + R"(", "commit": ")" + commit +
         R"("}, "benchmarks": [)" + row("fast", "iteration", fast - 5) + "," +
         row("fast", "iteration", fast + 5) + "," + row("fast", "aggregate", 1) + "," +
         row("slow", "iteration", 10) + "]}";
}

class Report : public testing::Test {
 protected:
  // The text after `run`, with what is kept if `keeps`.
  std::string After(const std::string& run, bool keeps = true) {
    std::vector<std::string> command = {PLEAT_REPORT, directory_.Write("run.json", run),
                                        directory_.Write("template.md", kTemplate),
                                        directory_ / "out.md", directory_ / "out.svg"};
    if (keeps) command.push_back(directory_ / "kept");
    Subprocess report(command);
    EXPECT_EQ(report.Wait(), 0) << report.err();
    return Content(directory_ / "out.md");
  }

  TemporaryDirectory directory_;
};

TEST_F(Report, OneRunHasItsFiguresAlone) {
  EXPECT_EQ(After(RunOn("AMD EPYC", "abc", 90), false),
            "| measured on | AMD EPYC |\n| --- | ---: |\n| commit | abc |\n"
            "\n"
            "| on AMD EPYC | events/s | against `slow` |\n| --- | ---: | ---: |\n"
            "| `fast`: ours | 90 | 9.00 |\n| `slow` | 10 | 1.00 |\n"
            "\n"
            "| case | goal | floor | AMD EPYC |\n| --- | ---: | ---: | ---: |\n"
            "| fast | >= 9 | >= 4 | 9.00 |\n");
}

TEST_F(Report, RunsOnTwoModelsStandInTwoColumns) {
  After(RunOn("Intel(R) Xeon(R) CPU @ 2.80GHz", "abc", 30));
  const std::string text = After(RunOn("AMD EPYC", "def", 90));
  EXPECT_THAT(TemporaryDirectory::Names(directory_ / "kept"),
              ElementsAre("amd-epyc.json", "intel-xeon.json"));
  EXPECT_THAT(text, HasSubstr("| measured on | AMD EPYC | Intel Xeon |"));
  EXPECT_THAT(text, HasSubstr("| commit | def | abc |"));
  EXPECT_THAT(text, HasSubstr("| `fast`: ours | 90 | 30 | 9.00 | 3.00 |"));
  EXPECT_THAT(text, HasSubstr("| fast | >= 9 | >= 4 | 9.00 | **3.00** |"));
}

TEST_F(Report, ALaterRunReplacesTheFiguresOfItsModelAlone) {
  After(RunOn("Intel(R) Xeon(R) CPU @ 2.80GHz", "abc", 30));
  After(RunOn("AMD EPYC", "def", 90));
  const std::string text = After(RunOn("Intel(R) Xeon(R) CPU @ 3.00GHz", "ghi", 50));
  EXPECT_THAT(text, HasSubstr("| commit | def | ghi |"));
  EXPECT_THAT(text, HasSubstr("| `fast`: ours | 90 | 50 | 9.00 | 5.00 |"));
  EXPECT_THAT(text, HasSubstr("| fast | >= 9 | >= 4 | 9.00 | 5.00 |"));
}

TEST_F(Report, WhatIsKeptIsWhatTheTextAsksForAndMakesTheSameText) {
  After(RunOn("Intel(R) Xeon(R) CPU @ 2.80GHz", "abc", 30));
  const std::string text = After(RunOn("AMD EPYC", "def", 90));
  const std::string kept = Content(directory_ / "kept/amd-epyc.json");
  EXPECT_THAT(kept, HasSubstr("{\"name\": \"job/fast\", \"items_per_second\": 90}"));
  EXPECT_EQ(After(kept), text);
  EXPECT_EQ(Content(directory_ / "kept/amd-epyc.json"), kept);
}

TEST_F(Report, WhatAModelHasNoFigureForIsADash) {
  After(RunOn("Intel(R) Xeon(R) CPU @ 2.80GHz", "abc", 30));
  const std::string text = After(R"({"context": {"cpu": "AMD EPYC"}, "benchmarks": []})");
  EXPECT_THAT(text, HasSubstr("| on Intel Xeon | events/s |"));
  EXPECT_THAT(text, HasSubstr("| fast | >= 9 | >= 4 | - | **3.00** |"));
}

}  // namespace
}  // namespace pleat::inline v0_1
