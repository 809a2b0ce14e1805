// A store of lines, runs of it by `pleat run`, and what `pleat fold`, `pleat rollup` and `pleat live` make of each
// partition.
#pragma once

#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {

// By the times of the events, so that the clock of the machine has no part in it.
inline constexpr const char* kFold =
    "fold --key user --quiet 60s --time t --time-unit s --merge 'n=sum(n)'";
inline constexpr const char* kRollup =
    "rollup --key user --window 5m --allowed-lateness 30s --time t --time-unit s --value n";

inline constexpr const char* kLive =
    "live --key page --member user --ttl 60s --time t --time-unit s --remove-when act=leave "
    "--refreshes";

// Lines of users on three pages, who come again, leave, and fall silent; some bad and some late.
inline std::string VisitsFrom(int begin, int end) {
  std::string text;
  for (int n = begin; n < end; ++n) {
    const int at = 1'700'000'000 + 3 * n + n / 40 * 50 - (n % 50 == 49 ? 200 : 0);
    text += "{\"page\":\"p" + std::to_string(n % 3) + "\",\"user\":\"u" +
            std::to_string(n * n % 29) + "\"" +
            (n % 97 == 96 ? "}\n"
                          : ",\"t\":" + std::to_string(at) +
                                (n % 23 == 22 ? ",\"act\":\"leave\"}\n" : "}\n"));
  }
  return text;
}

// Lines of twenty users, with pauses in which groups close, some bad and some late.
inline std::string LinesFrom(int begin, int end) {
  std::string text;
  for (int n = begin; n < end; ++n) {
    const int at = 1'700'000'000 + 7 * n - (n % 50 == 49 ? 400 : 0);
    text += n % 97 == 96
                ? "{\"user\":\"u1\",\"n\":1}\n"
                : "{\"user\":\"u" + std::to_string(n * n % 20) + "\",\"n\":" + std::to_string(n) +
                      ",\"t\":" + std::to_string(at) + "}\n";
  }
  return text;
}

inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The lines of a file of a run by partition and collection, without their ids; each id is there once.
using LinesByLane = std::map<std::string, std::vector<std::string>>;
inline LinesByLane ByLane(const std::string& text) {
  LinesByLane lanes;
  std::map<std::string, std::map<int, std::string>> by_number;
  for (const std::string& line : LinesOf(text)) {
    std::istringstream id(line.substr(8, line.find('"', 8) - 8));
    std::string consumer, partition, life, collection, number;
    for (std::string* each : {&consumer, &partition, &life, &collection, &number}) {
      std::getline(id, *each, '/');
    }
    std::string rest = "{" + line.substr(line.find('"', 8) + 2);
    const bool is_new =
        by_number[partition + " " + collection].emplace(std::stoi(number), rest).second;
    EXPECT_TRUE(is_new) << line;
  }
  for (auto& [lane, lines] : by_number) {
    for (auto& [number, line] : lines) {
      EXPECT_EQ(static_cast<size_t>(number), lanes[lane].size());
      lanes[lane].push_back(std::move(line));
    }
  }
  return lanes;
}

// What the command makes of the records of each partition that are in the store.
inline LinesByLane OfPlainCommand(const std::string& store_path, const std::string& command,
                                  const std::string& collection,
                                  const std::string& at_end = "drop") {
  LinesByLane lanes;
  const auto store = EventStoreReader::Open(store_path);
  EXPECT_TRUE(store.ok()) << store.status();
  StorePage page;
  for (int p = 0; p < (*store)->partitions(); ++p) {
    std::string text;
    for (uint64_t next = 0; next < (*store)->Durable(p); next = page.next()) {
      EXPECT_EQ(*(*store)->Read(p, next, 1 << 20, page), ReadOutcome::kRecords);
      for (const StoredRecord& record : page.records()) text += std::string(record.payload) + "\n";
    }
    if (text.empty()) continue;
    const Finished run =
        RunToEnd(Pleat(command + " --at-end " + at_end + " --quiet-summary"), text);
    EXPECT_EQ(run.code, 0) << run.err;
    if (!run.out.empty()) lanes[std::to_string(p) + " " + collection] = LinesOf(run.out);
  }
  return lanes;
}

class LaneRunTest : public testing::Test {
 protected:
  void Append(const std::string& lines) {
    const std::string file = scratch_.Write("lines" + std::to_string(++files_), lines);
    const Finished run =
        RunToEnd(Pleat("store append " + store_ + " --key user --partitions 4 " + file));
    ASSERT_EQ(run.code, 0) << run.err;
  }
  std::string Words(const std::string& more, const std::string& command = kFold) const {
    return "run --store " + store_ + " --consumer test --at-end keep --idle inf " + more + " " +
           command;
  }
  Finished Run(const std::string& more, const std::string& command = kFold) {
    return RunToEnd(Pleat(Words(more, command)));
  }

  // Runs the command until so many of its processes were killed at drawn system calls, and one has
  // ended: whenever one ends, its file has the lines.
  void KillAndGoOn(const std::string& command, const LinesByLane& expected, uint64_t wanted,
                   const std::string& more = "") {
    const uint64_t seed = AnySeed();
    SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    uint64_t calls = UINT64_MAX;  // of a whole run
    uint64_t kills = 0, ends = 0;
    while (kills < wanted || ends == 0) {
      const std::string name = std::to_string(ends);
      const std::string out = scratch_ / ("out" + name);
      const ::pleat::Words words =
          Pleat("run --store " + store_ + " --consumer c" + name +
                " --at-end keep --idle inf --commit-every 1ms --replay-limit 700 --output " + out +
                " " + more + " " + command);
      for (bool killed = true; killed;) {
        const uint64_t call = calls == UINT64_MAX ? calls : 1 + random() % (calls + calls / 4);
        const TroubledEnd end = RunUpToCall(words, call, scratch_ / "err");
        killed = end.killed;
        kills += killed ? 1 : 0;
        if (calls == UINT64_MAX) calls = end.calls;
        ASSERT_TRUE(killed || end.code == 0) << Content(scratch_ / "err");
        ASSERT_THAT(Content(scratch_ / "err"), testing::Not(testing::HasSubstr("parked")));
      }
      ASSERT_EQ(ByLane(Content(out)), expected);
      ++ends;
    }
    std::cout << kills << " kills, " << ends << " runs to the end, " << calls << " system calls\n";
  }

  const TemporaryDirectory scratch_{PlaceForKills()};
  const std::string store_ = scratch_ / "store";
  const std::string out_ = scratch_ / "out";
  int files_ = 0;
};

}  // namespace pleat::cli
