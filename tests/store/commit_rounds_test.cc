#include "engine/store/commit_rounds.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kForEver = INT32_MAX;

// What threads append and commit: numbers, of which those up to `committed` are.
struct Numbers {
  std::atomic<int> appended = 0;
  std::atomic<int> committed = 0;

  void Commit() { committed = appended.load(); }
};

// A round whose commit is under way until Finish().
class RoundUnderWay {
 public:
  explicit RoundUnderWay(CommitRounds& rounds, absl::Status status = absl::OkStatus())
      : leader_([&rounds, status, this] {
          told_ = rounds.Join([&] {
            begun_.count_down();
            may_end_.wait();
            return status;
          });
        }) {
    begun_.wait();
  }
  // What its leader was told.
  absl::Status Finish() {
    may_end_.count_down();
    leader_.join();
    return told_;
  }

 private:
  std::latch begun_{1}, may_end_{1};
  absl::Status told_;
  std::thread leader_;
};

// Threads that have joined the round that is open, and what they were told.
class Joined {
 public:
  Joined(CommitRounds& rounds, size_t count, std::function<absl::Status()> commit) : told(count) {
    for (absl::Status& each : told) {
      threads_.emplace_back([&rounds, &each, commit] { each = rounds.Join(commit); });
    }
    while (rounds.joined() < count) std::this_thread::yield();
  }
  void Wait() {
    for (std::thread& thread : threads_) thread.join();
  }

  std::vector<absl::Status> told;

 private:
  std::vector<std::thread> threads_;
};

TEST(CommitRounds, OneCommitServesAllWhoJoinedWhileTheLastOneWasUnderWay) {
  CommitRounds rounds(0);
  RoundUnderWay first(rounds);
  std::atomic<int> commits = 0;
  Joined others(rounds, 3, [&] {
    ++commits;
    return absl::OkStatus();
  });
  EXPECT_EQ(commits, 0);
  EXPECT_TRUE(first.Finish().ok());
  others.Wait();
  EXPECT_EQ(commits, 1);
  for (const absl::Status& told : others.told) EXPECT_TRUE(told.ok()) << told;
}

TEST(CommitRounds, WhoJoinsWhileACommitIsUnderWayIsInTheNextOne) {
  CommitRounds rounds(0);
  Numbers numbers;
  RoundUnderWay first(rounds);
  ++numbers.appended;
  Joined other(rounds, 1, [&] {
    numbers.Commit();
    return absl::OkStatus();
  });
  first.Finish().IgnoreError();
  other.Wait();
  EXPECT_EQ(numbers.committed, 1);
}

TEST(CommitRounds, AllWhomACommitWasForAreToldThatItFailed) {
  CommitRounds rounds(0);
  const absl::Status full = absl::ResourceExhaustedError("the disk is full");
  RoundUnderWay first(rounds);
  Joined others(rounds, 3, [&] { return full; });
  EXPECT_TRUE(first.Finish().ok());
  others.Wait();
  for (const absl::Status& told : others.told) EXPECT_EQ(told, full);
  EXPECT_TRUE(rounds.Join([] { return absl::OkStatus(); }).ok());
}

TEST(CommitRounds, WhoWaitsForTheNextCommitHearsNothingOfTheOneThatFailed) {
  CommitRounds rounds(0);
  const absl::Status failed = absl::InternalError("the device has failed");
  RoundUnderWay first(rounds, failed);
  Joined others(rounds, 3, [] { return absl::OkStatus(); });
  EXPECT_EQ(first.Finish(), failed);
  others.Wait();
  for (const absl::Status& told : others.told) EXPECT_TRUE(told.ok()) << told;
}

// Each comes back at once, and each time some of them come first. A leader that has patience waits for
// those who were served by the round before.
TEST(CommitRounds, EachServesAllWhoComeBack) {
  constexpr int kOthers = 3;
  constexpr int kRounds = 200;
  CommitRounds rounds(kForEver);
  std::atomic<int> commits = 0;
  std::atomic<int> joins = 0;
  const auto commit = [&] {
    ++commits;
    return absl::OkStatus();
  };
  const auto come_back = [&] {
    while (commits < kRounds) {
      ++joins;
      EXPECT_TRUE(rounds.Join(commit).ok());
    }
  };
  RoundUnderWay first(rounds);
  Joined others(rounds, kOthers, commit);
  // The one of the first round is expected as well, in all that follow.
  EXPECT_TRUE(first.Finish().ok());
  EXPECT_TRUE(rounds.Join(commit).ok());
  others.Wait();
  EXPECT_EQ(commits, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kOthers; ++i) threads.emplace_back(come_back);
  come_back();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(commits, kRounds);
  EXPECT_EQ(joins, (kRounds - 1) * (kOthers + 1));
}

// Whoever is missing is not waited for, and after that not even looked for.
TEST(CommitRounds, OneThatIsLeftAloneCommitsAlone) {
  CommitRounds rounds(CommitRounds::kLooks);
  RoundUnderWay first(rounds);
  Joined others(rounds, 3, [] { return absl::OkStatus(); });
  EXPECT_TRUE(first.Finish().ok());
  others.Wait();
  int commits = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(rounds
                    .Join([&] {
                      ++commits;
                      return absl::OkStatus();
                    })
                    .ok());
  }
  EXPECT_EQ(commits, 50);
}

// What was appended before is committed where it says so, and else a commit that had it has failed. Commits
// come one at a time.
TEST(CommitRounds, SayWhatHasBecomeOfWhatWasAppendedBefore) {
  constexpr int kThreads = 6;
  const auto each =
      static_cast<int>(ShareOf({.whole = 200'000, .usual = 20'000, .sanitized = 2'000}));
  for (const int looks : {0, CommitRounds::kLooks}) {
    CommitRounds rounds(looks);
    std::atomic<int> appended = 0, committed = 0, failed = 0, under_way = 0;
    int commits = 0;  // guarded by the rounds
    const auto commit = [&] {
      EXPECT_EQ(++under_way, 1);
      const bool fails = ++commits % 3 == 0;
      (fails ? failed : committed) = appended.load();
      if (commits % 5 == 0) std::this_thread::yield();  // so that others join meanwhile
      --under_way;
      return fails ? absl::InternalError("the device has failed") : absl::OkStatus();
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < each; ++n) {
          const int number = ++appended;
          const absl::Status told = rounds.Join(commit);
          ASSERT_GE(told.ok() ? committed : failed, number);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(rounds.joined(), 0u);
    EXPECT_EQ(appended, kThreads * each);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
