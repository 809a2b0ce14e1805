// Runs the real program. Whatever a test is about, the ledger of its run has to add up.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/words.h"

namespace pleat::cli {

// The command line of `pleat` with these words.
inline Words Pleat(const std::string& words) { return WordsOf(PleatProgram() + " " + words); }

// The last line of `err` that is a JSON object, which is where `--stats -` puts the ledger.
inline std::string StatsLine(const std::string& err) {
  std::istringstream lines(err);
  std::string stats;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("{\"lines\":", 0) == 0) stats = line;
  }
  return stats;
}

// The numbers of the ledger by name; `names` gets the names of all members in their order.
inline std::map<std::string, double> ParseStats(std::string_view text,
                                                std::vector<std::string>* names = nullptr) {
  std::map<std::string, double> members;
  while (true) {
    const size_t open = text.find('"');
    if (open == std::string_view::npos) return members;
    text.remove_prefix(open + 1);
    const size_t close = text.find("\":");
    if (close == std::string_view::npos) return members;
    const std::string name(text.substr(0, close));
    text.remove_prefix(close + 2);
    if (names != nullptr) names->push_back(name);
    if (text.front() == '"') {
      text.remove_prefix(text.find('"', 1) + 1);
    } else if (text.front() != 'n') {  // null
      members[name] = std::stod(std::string(text));
    }
  }
}

// Those that are there for some options only.
inline size_t OtherMembers(const std::map<std::string, double>& stats) {
  size_t members = 0;
  for (const char* name :
       {"excluded", "clock_behind_s", "released_early", "waiting", "not_numbers"}) {
    members += stats.count(name);
  }
  return members;
}

inline void ExpectBalanced(const std::string& stats) {
  auto s = ParseStats(stats);
  ASSERT_EQ(s.size(), 21u + OtherMembers(s)) << stats;
  EXPECT_EQ(s["lines"], s["events"] + s["invalid"] + s["excluded"] + s["waiting"]) << stats;
  EXPECT_EQ(s["events"], s["opened"] + s["folded"] + s["late"] + s["over_limit"] + s["duplicate"] +
                             s["conflict"] + s["corrected"] + s["control"])
      << stats;
  EXPECT_EQ(s["opened"], s["emissions"] - s["partial"] - s["corrected"] + s["silent"] +
                             s["cancelled"] + s["open"])
      << stats;
  const auto ratio = [&](double whole) { return whole == 0 ? 0 : s["folded"] / whole; };
  EXPECT_DOUBLE_EQ(s["folding_ratio"], ratio(s["events"])) << stats;
}

// The same for `pleat live`.
inline void ExpectLiveSetBalanced(const std::string& stats) {
  auto s = ParseStats(stats);
  ASSERT_EQ(s.size(), 19u + OtherMembers(s)) << stats;
  EXPECT_EQ(s["lines"], s["events"] + s["invalid"] + s["excluded"] + s["waiting"]) << stats;
  EXPECT_EQ(s["events"], s["added"] + s["refreshed"] + s["updated"] + s["unchanged"] +
                             s["duplicate"] + s["conflict"] + s["late"] + s["tombstoned"] +
                             s["over_limit"] + s["control"])
      << stats;
  EXPECT_EQ(s["added"], s["expired"] + s["removed"] + s["replaced"] + s["dropped"] + s["live"])
      << stats;
}

// The same for `pleat rollup`.
inline void ExpectRollupBalanced(const std::string& stats) {
  auto s = ParseStats(stats);
  ASSERT_EQ(s.size(), 15u + OtherMembers(s)) << stats;
  EXPECT_EQ(s["lines"], s["events"] + s["invalid"] + s["excluded"] + s["waiting"]) << stats;
  EXPECT_EQ(s["events"], s["added"] + s["late"] + s["duplicate"] + s["conflict"] + s["clamped"] +
                             s["corrected"] + s["over_limit"])
      << stats;
  EXPECT_EQ(s["windows"], s["final"] + s["ended"] + s["open"]) << stats;
}

// The same for the command of that name.
inline void ExpectBalancedFor(const std::string& command, const std::string& stats) {
  if (command == "fold") return ExpectBalanced(stats);
  if (command == "live") return ExpectLiveSetBalanced(stats);
  ExpectRollupBalanced(stats);
}

// Whether standard error, line by line, has one that begins so.
inline bool HasLine(std::string_view text, std::string_view beginning) {
  while (!text.empty()) {
    if (text.substr(0, beginning.size()) == beginning) return true;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return false;
}

struct RunResult {
  int code = 0;
  std::string out;
  std::string err;    // without the ledger
  std::string stats;  // the ledger, one line
};

using FoldResult = RunResult;

// The command `fold`, `live` or `rollup` with `--stats -`, which must balance if it came to that,
// and without the summary.
inline RunResult RunCommand(const std::string& command, const std::string& words,
                            std::string_view input) {
  const Finished finished = RunToEnd(Pleat(command + " --stats - --quiet-summary " + words), input);
  RunResult result{finished.code, finished.out, finished.err, StatsLine(finished.err)};
  if (!result.stats.empty()) {
    ExpectBalancedFor(command, result.stats);
    result.err.erase(result.err.find(result.stats), result.stats.size() + 1);
  }
  return result;
}

inline FoldResult Fold(const std::string& words, std::string_view input = "") {
  return RunCommand("fold", words, input);
}

// The same by the key k, and without metadata.
inline FoldResult FoldByKey(const std::string& more, std::string_view input = "{\"k\":1}\n") {
  return Fold("--key k --quiet 1m --no-meta " + more, input);
}

// The same by the key k at the times t.
inline FoldResult FoldAtTimes(const std::string& more, std::string_view input) {
  return Fold("--key k --quiet 60s --time t " + more, input);
}

inline double Stat(const RunResult& result, const std::string& name) {
  return ParseStats(result.stats)[name];
}

// An event of the key `k` at `seconds` past the hour.
inline std::string At(int seconds, std::string_view k = "a") {
  char time[64];
  std::snprintf(time, sizeof(time), "2015-09-12T%02d:%02d:%02dZ", seconds / 3600, seconds / 60 % 60,
                seconds % 60);
  return "{\"k\":\"" + std::string(k) + "\",\"t\":\"" + time + "\"}\n";
}

// How the program prints that instant.
inline std::string Printed(int seconds) {
  char time[64];
  std::snprintf(time, sizeof(time), "\"2015-09-12T%02d:%02d:%02d.000000Z\"", seconds / 3600,
                seconds / 60 % 60, seconds % 60);
  return time;
}

}  // namespace pleat::cli
