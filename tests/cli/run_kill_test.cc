// `pleat fold`, `live` and `rollup` with --state, killed at drawn system calls and started again
// by the same command: all files have the bytes of a run that nobody killed.
//
//   PLEAT_RUN_KILLS=100   kills of each command; 5 by default, of large logs 1
//   PLEAT_SEED=17         this draw
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/source_dir.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {
namespace {

struct Job {
  std::string name;   // of the test
  std::string input;  // in the logs of the project, or in those beside it
  std::string words;
  bool is_large = false;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

const std::string kLogs = SourceDir() + "/examples/data";
const std::string kMoreLogs = SharedData();  // not everywhere

const Job kJobs[] = {
    {"fold", kLogs + "/wikiticker-2015-09-12-sample.ndjson.gz",
     "fold --key user --quiet 90s --time time --reorder 5s --allowed-lateness 10s --merge "
     "'n=count()' "
     "--merge 'added=sum(added)' --merge 'pages=set(page)' --merge 'd=distinct(channel)' "
     "--edge both --emission-id"},
    {"live", kLogs + "/wikiticker-2015-09-12-sample.ndjson.gz",
     "live --key channel --member user --ttl 3m --time time --reorder 5s --payload page"},
    {"counts", kLogs + "/wikiticker-2015-09-12-sample.ndjson.gz",
     "live --key channel --member user --ttl 3m --time time --every 1m --top 5"},
    {"rollup", kLogs + "/wikiticker-2015-09-12-sample.ndjson.gz",
     "rollup --key channel --value delta --time time --window 1m,1h --allowed-lateness 5s "
     "--emission-id"},
    {"github", kMoreLogs + "/gharchive2015-apr.ndjson.gz",
     "fold --key actor --quiet 2m --time dt --merge 'repos=set(repo)' --id id --allowed-lateness "
     "1m"},
    {"wikipedia", kMoreLogs + "/wikiticker-2015-09-12.ndjson.gz",
     "fold --key user --quiet 90s --time time --reorder 5s --allowed-lateness 10s --merge "
     "'n=count()' "
     "--merge 'added=sum(added)' --merge 'pages=set(page)' --emission-id",
     /*is_large=*/true},
    {"higgs", kMoreLogs + "/higgs-activity.ndjson.gz",
     "fold --key userB --quiet 1h --time timestamp --time-unit s --merge 'who=distinct(userA)' "
     "--allowed-lateness 0s",
     /*is_large=*/true},
    {"zeek", kMoreLogs + "/zeek-wrccdc.ndjson.gz",
     "fold --key h=/id.orig_h --quiet 10s --time ts --allowed-lateness 1s --merge "
     "'kinds=set(_path)'",
     /*is_large=*/true},
};

// Few where a run takes seconds.
uint64_t ChosenKills(const Job& job) {
  const char* const text = std::getenv("PLEAT_RUN_KILLS");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
         : job.is_large  ? 1
                         : ShareOf({.whole = 5, .usual = 3, .sanitized = 1});
}

class RunKill : public testing::TestWithParam<std::tuple<Job, int>> {};

// The outputs of a run, by name.
std::map<std::string, std::string> OutputsIn(const TemporaryDirectory& dir) {
  std::map<std::string, std::string> outputs;
  for (const char* const name : {"output", "late", "invalid", "open", "stats"}) {
    if (std::filesystem::exists(dir / name)) outputs[name] = Content(dir / name);
  }
  return outputs;
}

Words WordsIn(const TemporaryDirectory& dir, const Job& job, int threads) {
  return WordsOf(PleatProgram() + " " + job.words + " --quiet-summary --threads " +
                 std::to_string(threads) + " --output " + (dir / "output") + " --late " +
                 (dir / "late") + " --invalid " + (dir / "invalid") + " --open " + (dir / "open") +
                 " --stats " + (dir / "stats") + " " + job.input);
}

TEST_P(RunKill, TheSameCommandEndsWithTheSameBytes) {
  const auto& [job, threads] = GetParam();
  if (!std::filesystem::exists(job.input)) GTEST_SKIP() << job.input << " is not here";
  if (job.is_large && !IsWhole()) {
    GTEST_SKIP() << "./dev check whole has it: takes long, and the small logs do all of it";
  }
  TemporaryDirectory whole;
  const Finished never_killed = RunToEnd(WordsIn(whole, job, 1));
  ASSERT_EQ(never_killed.code, 0) << never_killed.err;
  const std::map<std::string, std::string> expected = OutputsIn(whole);
  ASSERT_EQ(expected.size(), 5u);

  const uint64_t seed = AnySeed();
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  uint64_t calls = UINT64_MAX;  // of a run from the beginning to the end
  uint64_t ends = 0;
  for (uint64_t kills = 0; kills < ChosenKills(job) || ends == 0;) {
    TemporaryDirectory dir;
    Words words = WordsIn(dir, job, threads);
    for (const std::string& word : WordsOf("--state " + (dir / "j") + " --snapshot-every 1500")) {
      words.push_back(word);
    }
    for (bool killed = true; killed;) {
      const uint64_t call = calls == UINT64_MAX ? calls : 1 + random() % calls;
      const TroubledEnd end = RunUpToCall(words, call, dir / "err");
      killed = end.killed;
      kills += killed ? 1 : 0;
      if (calls == UINT64_MAX) calls = end.calls;
      ASSERT_TRUE(killed || end.code == 0) << Content(dir / "err");
    }
    ++ends;
    for (const auto& [name, bytes] : OutputsIn(dir)) {
      ASSERT_TRUE(bytes == expected.at(name)) << name << " differs";
    }
    ASSERT_EQ(OutputsIn(dir).size(), expected.size());
  }
  std::cout << ChosenKills(job) << " kills, " << ends << " runs to the end, " << calls
            << " system calls each\n";
}

INSTANTIATE_TEST_SUITE_P(Jobs, RunKill,
                         testing::Combine(testing::ValuesIn(kJobs), testing::Values(1, 2)),
                         [](const auto& each) {
                           return std::get<0>(each.param).name + "_threads_" +
                                  std::to_string(std::get<1>(each.param));
                         });

}  // namespace
}  // namespace pleat::cli
