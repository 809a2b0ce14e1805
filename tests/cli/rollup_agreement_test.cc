// `pleat rollup` against the model on real event logs: the same bytes out, the same windows open,
// the same counts, with one thread and with four.
//
// The slice of wikiticker lies in examples/data. The other logs are large and not part of the tree;
// their tests are skipped, visibly, where SharedData() does not have them. Of each log the head is
// used, and the whole in `./dev check whole`.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/model/plain_rollup_options.h"
#include "tests/support/sanitized.h"
#include "tests/support/share.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

struct RollupLog {
  std::string name;  // of the test
  std::string file;
  std::string keyed;  // the options that say where key and time are
  std::string value;
  std::string id;  // not always unique to an event, so that there are conflicts as well

  friend void PrintTo(const RollupLog& log, std::ostream* out) { *out << log.name; }
};

const std::vector<RollupLog>& RollupLogs() {
  const std::string slice = SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz";
  const std::string shared = SharedData() + "/";
  const std::string wikiticker = shared + "wikiticker-2015-09-12.ndjson.gz";
  const std::string gharchive = shared + "gharchive2015-apr.ndjson.gz";
  const std::string zeek = shared + "zeek-wrccdc.ndjson.gz";
  static const auto* const kLogs = new std::vector<RollupLog>{
      {"WikitickerSliceByChannel", slice, "--key channel --time time", "delta", "page"},
      {"WikitickerByUser", wikiticker, "--key user --time time", "delta", "page"},
      {"GharchiveByActor", gharchive, "--key actor --time dt", "commits", "id"},
      {"GharchiveByRepo", gharchive, "--key repo --time dt", "commits", "id"},
      {"HiggsByUserB", shared + "higgs-activity.ndjson.gz",
       "--key userB --time timestamp --time-unit s", "userA", "userA"},
      {"ZeekByHosts", zeek, "--key from=/id.orig_h,/id.resp_h --time ts", "duration", "uid"},
      {"ZeekByOrigin", zeek, "--key /id.orig_h --time ts", "orig_bytes", "_path"},
  };
  return *kLogs;
}

// Nothing, or where the texts part.
std::string FirstDifferenceOf(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const size_t begin = a.rfind('\n', static_cast<size_t>(at)) + 1;  // npos + 1 is 0
  const auto line = [begin](const std::string& text) {
    return begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : "(nothing)";
  };
  return "pleat: " + line(a) + "\nmodel: " + line(b);
}

// Of each log; `check whole` reads all of it, as the file is.
constexpr int kLines = kSanitized ? 6'000 : 60'000;

class RollupAgreement : public testing::TestWithParam<RollupLog> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().file)) GTEST_SKIP() << "no " << GetParam().file;
    const std::string head = IsWhole() ? "" : " | head -n " + std::to_string(kLines);
    const Finished unpacked = RunToEnd({"/bin/sh", "-c", "gzip -dc \"$0\"" + head + " > \"$1\"",
                                        GetParam().file, directory_ / "plain"});
    ASSERT_EQ(unpacked.code, 0) << unpacked.err;
  }

  void ExpectAgreement(const std::string& more) {
    const std::string options = GetParam().keyed + ' ' + more;
    SCOPED_TRACE(options);
    const PlainRollupCall call = ReadPlainRollupOptions(WordsOf(options));
    ASSERT_EQ(call.unknown, "");
    RollupLinesModel model(call.options);
    std::string expected;
    std::ifstream in(directory_ / "plain", std::ios::binary);
    for (std::string line; std::getline(in, line);) ASSERT_TRUE(model.AddLine(line, expected));
    model.EndLines(expected);
    const std::string open = model.Open();
    model.End(expected);
    ASSERT_GT(expected.size(), 1000u);
    const std::string input = IsWhole() ? GetParam().file : directory_ / "plain";
    for (const char* threads : {"1", "4"}) {
      SCOPED_TRACE(std::string("--threads ") + threads);
      const RunResult real = RunCommand(
          "rollup",
          options + " --threads " + threads + " --open " + (directory_ / "open") + ' ' + input, "");
      EXPECT_EQ(real.code, 0) << real.err.substr(0, 1000);
      EXPECT_EQ(FirstDifferenceOf(real.out, expected), "");
      EXPECT_EQ(FirstDifferenceOf(Content(directory_ / "open"), open), "");
      EXPECT_EQ(ParseStats(real.stats), ParseStats(model.Stats())) << real.stats << model.Stats();
    }
  }

 private:
  const TemporaryDirectory directory_;
};

TEST_P(RollupAgreement, CountsAndSumsAreTheSame) {
  ExpectAgreement("--window 1m --allowed-lateness 10s --value " + GetParam().value);
}

TEST_P(RollupAgreement, SeveralWindowsIdsAndAMarginAreTheSame) {
  ExpectAgreement("--window 10s,1m,1h --allowed-lateness 2s --margin 500ms --reorder 1s --id " +
                  GetParam().id + " --value " + GetParam().value);
}

TEST_P(RollupAgreement, CorrectionsAreTheSame) {
  ExpectAgreement("--window 5s --allowed-lateness 0 --on-late correct --emission-id --value " +
                  GetParam().value + " --at-end drop");
}

TEST_P(RollupAgreement, ClampedEventsAreTheSame) {
  ExpectAgreement("--window 2s --allowed-lateness 1us --on-late clamp --value " + GetParam().value +
                  " --id " + GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(Logs, RollupAgreement, testing::ValuesIn(RollupLogs()),
                         [](const auto& log) { return log.param.name; });

}  // namespace
}  // namespace pleat::cli
