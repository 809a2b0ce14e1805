// `pleat run`, killed wherever it is: a file has each line once, and a stream loses none.
//
//   PLEAT_SEED=17         this draw of kills
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/cli/lane_run.h"
#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(LaneRunTest, AFileHasEachLineOnceWhereverTheThreadsAreKilled) {
  Append(LinesFrom(0, 20'000));
  KillAndGoOn(kFold, OfPlainCommand(store_, kFold, "fold"),
              ShareOf({.whole = 300, .usual = 20, .sanitized = 5}), "--threads 4");
}

TEST_F(LaneRunTest, AStreamOfThreadsThatAreKilledLosesNoLineAndRepeatsSomeWithTheirIds) {
  Append(LinesFrom(0, 5'000));
  const uint64_t seed = AnySeed();
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::set<std::string> lines;  // of all runs
  uint64_t kills = 0;
  for (bool killed = true; killed;) {
    const ::pleat::Words words =
        Pleat(Words("--commit-every 1ms --replay-limit 300 --threads 4 --quiet-summary"));
    const uint64_t call = kills == 10 ? UINT64_MAX : 100 + random() % 400;
    const TroubledEnd end = RunUpToCall(words, call, scratch_ / "err", out_);
    killed = end.killed;
    kills += killed ? 1 : 0;
    ASSERT_TRUE(killed || end.code == 0) << Content(scratch_ / "err");
    const std::string text = Content(out_);
    for (const std::string& line : LinesOf(text.substr(0, text.rfind('\n') + 1)))
      lines.insert(line);
  }
  // Two lines of one id that are not the same would be told by ByLane().
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  EXPECT_EQ(ByLane(all), OfPlainCommand(store_, kFold, "fold"));
}

TEST_F(LaneRunTest, AFileHasEachLineOnceWhereverTheRunIsKilled) {
  Append(LinesFrom(0, 20'000));
  KillAndGoOn(kFold, OfPlainCommand(store_, kFold, "fold"),
              ShareOf({.whole = 300, .usual = 30, .sanitized = 5}));
}

// A process that appends lines, some at a time, until it is killed.
class Appender {
 public:
  explicit Appender(const std::string& store) : store_(store) {}
  ~Appender() {
    if (child_ > 0) Kill();
  }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  bool is_alive() const { return child_ > 0; }
  void Start(int begin) {
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) Live(begin);
  }
  void Kill() {
    EXPECT_EQ(kill(child_, SIGKILL), 0);
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it could not append";
    child_ = 0;
  }

 private:
  static constexpr int kLinesMax = 400;

  [[noreturn]] void Live(int begin) const {
    const auto store =
        EventStore::Open(store_, {.partitions = 4, .durability = StoreDurability::kGroup});
    if (!store.ok()) _exit(1);
    for (int n = begin; n < begin + kLinesMax; n += 10) {
      const std::vector<std::string> lines = LinesOf(LinesFrom(n, n + 10));
      std::vector<StoreRecord> records;
      std::vector<AppendPlace> places(lines.size());
      for (const std::string& each : lines) {
        const std::string_view from_key = std::string_view(each).substr(9);  // behind {"user":"
        records.push_back({.key = from_key.substr(0, from_key.find('"')), .payload = each});
      }
      if ((*store)->AppendBatch(records, kT0, {}, places).taken != lines.size()) _exit(1);
      if (!(*store)->Commit().ok()) _exit(1);
    }
    for (;;) pause();
  }

  const std::string store_;
  pid_t child_ = 0;
};

// Each is killed at any instant, and the other one goes on meanwhile.
TEST_F(LaneRunTest, AFileHasEachLineOnceWhereverTheRunAndTheAppenderAreKilled) {
  const uint64_t wanted = ShareOf({.whole = 500, .usual = 40, .sanitized = 10});
  const uint64_t seed = AnySeed();
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string follows =
      Words("--at-end follow --commit-every 1ms --replay-limit 300 --output " + out_);
  Appender appender(store_);
  Append(LinesFrom(0, 10));
  uint64_t kills = 0, appender_kills = 0;
  for (int begin = 10; kills + appender_kills < wanted && !HasFailure();) {
    if (!appender.is_alive()) appender.Start(std::exchange(begin, begin + 400));
    const Trouble trouble{.kind = Trouble::Kind::kKillAtInstant,
                          .instant = std::chrono::microseconds(random() % 100'000)};
    const TroubledEnd end = RunInTrouble(Pleat(follows), trouble, scratch_ / "err");
    ASSERT_TRUE(end.killed) << Content(scratch_ / "err");
    ASSERT_THAT(Content(scratch_ / "err"), Not(HasSubstr("parked")));
    ++kills;
    if (random() % 2 == 0) continue;
    appender.Kill();
    ++appender_kills;
  }
  if (appender.is_alive()) appender.Kill();
  const Finished last = Run("--quiet-summary --output " + out_);
  EXPECT_EQ(last.code, 0) << last.err;
  const LinesByLane expected = OfPlainCommand(store_, kFold, "fold");
  EXPECT_EQ(ByLane(Content(out_)), expected);
  size_t lines = 0;
  for (const auto& [lane, all] : expected) lines += all.size();
  EXPECT_GT(lines, 10u * appender_kills);
  std::cout << kills << " kills of the run, " << appender_kills << " of the appender, " << lines
            << " lines\n";
}

}  // namespace
}  // namespace pleat::cli
