// Members of a group crash, leave, fall silent and come back, commits fail, and brokers go: the receiver
// has the same messages as without any of it, each once but for repeats of one id.
//
// Real time passes while a group forms, so several episodes run side by side on one thread.
#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kafka/kafka_cluster.h"
#include "tests/kafka/kafka_process.h"
#include "tests/lanes/plain_lanes.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr int kPartitions = 3;
constexpr size_t kMembers = 2;
constexpr int kSideBySide = 4;
constexpr int kSteps = 8'000;         // of a millisecond or more
constexpr int kStepsToHeal = 90'000;  // until it has taken too long
constexpr int kSilence = 4'500;       // longer than max.poll.interval.ms
constexpr Duration kSkew = 400ms;     // of the clock that stamps records; less than the margin

struct Totals {
  uint64_t records = 0, messages = 0, repeats = 0;
  uint64_t crashes = 0, leaves = 0, silences = 0, faults = 0;
};
Totals totals;

class Episode {
 public:
  Episode(KafkaCluster& cluster, uint64_t seed)
      : seed_(seed), random_(seed), cluster_(cluster), topic_(cluster.NewTopic(kPartitions)) {
    options_ = {.brokers = cluster.brokers(),
                .topic = topic_,
                .group = cluster.NewName("group"),
                .snapshots = directory_.path() + "/snapshots",
                .properties = {"session.timeout.ms=3500", "heartbeat.interval.ms=200",
                               "max.poll.interval.ms=3600", "fetch.wait.max.ms=20"}};
    processor_options_.commit_every = Draw(2) == 0 ? 100ms : 5s;
    processor_options_.replay_limit = static_cast<uint64_t>(1 + Draw(60));
    processor_options_.messages_bytes_max = Draw(3) == 0 ? 500 : 1 << 20;
    for (size_t m = 0; m < kMembers; ++m) Restart(m);
  }

  void Step() {
    clock_ += 1ms * Draw(20);
    const int what = Draw(2'000);
    const size_t member = static_cast<size_t>(Draw(kMembers));
    if (what == 0) {
      ++totals.crashes;
      Restart(member);
    } else if (what == 1) {
      Leave(member);
    } else if (what == 2) {
      ++totals.silences;
      silent_[member] = kSilence;
    } else if (what < 6) {
      Fail();
    } else if (what < 10) {
      clock_ += 1s * Draw(60);
    } else if (what < 60) {
      for (int i = Draw(30); i > 0; --i) Append(Draw(kPartitions));
      cluster_.Flush();
    }
    for (size_t m = 0; m < kMembers; ++m) {
      if (silent_[m] > 0) {
        --silent_[m];
      } else {
        Work(m, /*healing=*/false);
      }
    }
  }

  // No trouble any more. Returns whether all is done.
  bool Heal() {
    if (expected_.empty()) {
      clock_ += 1'000s;
      expected_ = WithoutTrouble(records_, processor_options_, clock_);
      silent_ = {};
    }
    clock_ += 50ms;
    for (size_t m = 0; m < kMembers; ++m) Work(m, /*healing=*/true);
    return receiver_.all().size() >= expected_.size();
  }

  void Compare() {
    SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed_));
    EXPECT_EQ(receiver_.all(), expected_);
    for (int p = 0; p < kPartitions; ++p) plain_.ExpectAllIn(receiver_, p);
    for (const auto& [partition, lives] : receiver_.lives()) EXPECT_EQ(lives.size(), 1u);
    for (const std::unique_ptr<Process>& process : members_) {
      for (const LaneStatus& each : process->lanes()) {
        EXPECT_NE(each.phase, LanePhase::kParked) << each.why;
      }
    }
    for (const auto& [partition, records] : records_) totals.records += records.size();
    totals.messages += receiver_.all().size();
    totals.repeats += receiver_.repeats();
  }

 private:
  // Below `n`.
  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  void Restart(size_t member) {
    leaving_[member] = false;
    silent_[member] = 0;
    members_[member].reset();
    members_[member] = std::make_unique<Process>(options_, processor_options_);
  }
  // With all that it holds: it has not been stopped.
  void Leave(size_t member) {
    if (leaving_[member]) return;
    ++totals.leaves;
    leaving_[member] = true;
    members_[member]->log().Leave();
  }

  // One mock has the groups of all episodes, so others may meet these errors.
  void Fail() {
    if (!cluster_.is_mock()) return;
    ++totals.faults;
    constexpr int kFetch = 1, kOffsetCommit = 8, kOffsetFetch = 9, kHeartbeat = 12;
    switch (Draw(5)) {
      case 0: return Push(kOffsetCommit, RD_KAFKA_RESP_ERR_UNKNOWN);
      case 1: return Push(kOffsetCommit, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION);
      case 2: return Push(kOffsetFetch, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
      case 3: return Push(kHeartbeat, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
      default: return Push(kFetch, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    }
  }
  void Push(int16_t request, rd_kafka_resp_err_t error) {
    rd_kafka_mock_push_request_errors(cluster_.mock(), request, 1, error);
  }

  void Append(int partition) {
    clock_ += 1ms * Draw(500);
    const EngineTime exact = clock_ - 1ms * Draw(static_cast<int>(kSkew / 1ms));
    const EngineTime logged =
        EngineTime(std::chrono::floor<std::chrono::milliseconds>(exact.time_since_epoch()));
    const std::string key(1, static_cast<char>('a' + Draw(4)));
    const StoreRecord record = {.key = key, .payload = Draw(4) == 0 ? "!" : ""};
    cluster_.Append(topic_, partition, record, logged);
    std::vector<AppendedRecord>& records = records_[partition];
    records.push_back({.offset = records.size(),
                       .logged = logged,
                       .key = key,
                       .payload = std::string(record.payload)});
    plain_.Take(partition, records.back().AsRead());
  }

  // One round of a member, which then delivers some messages, and acks some of these.
  void Work(size_t m, bool healing) {
    Processor& processor = members_[m]->processor();
    processor.Run(clock_).status().IgnoreError();
    if (leaving_[m] && members_[m]->log().left()) return Restart(m);
    const size_t max = healing ? 1'000 : static_cast<size_t>(Draw(5));
    const Duration timeout = healing ? Duration(40s) : Duration(1ms * Draw(3'000));
    for (const Message& each : processor.Lease(max, timeout, clock_)) {
      if (!healing && Draw(8) == 0) continue;  // not delivered; lent again later
      receiver_.Take(each);
      if (healing || Draw(8) < 6) processor.Ack(each.id);
    }
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  KafkaCluster& cluster_;
  const std::string topic_;
  TemporaryDirectory directory_;
  KafkaOptions options_;
  ProcessorOptions processor_options_;
  AppendedRecords records_;
  PlainLanes plain_{Axis::kArrival};
  EngineTime clock_ = kT0;
  std::array<std::unique_ptr<Process>, kMembers> members_;
  std::array<bool, kMembers> leaving_ = {};
  std::array<int, kMembers> silent_ = {};  // steps for which it does nothing
  Receiver receiver_;
  std::map<Receiver::Name, std::string> expected_;
};

TEST(KafkaProperty, NothingIsLostAndNothingSaysTwoThings) {
  const uint64_t rounds = ShareOf({.whole = 40, .usual = 1, .sanitized = 1});
  const bool all = ForEachSeed(1, rounds, [](uint64_t seed) {
    KafkaCluster cluster;
    std::vector<std::unique_ptr<Episode>> episodes;
    for (uint64_t i = 0; i < kSideBySide; ++i)
      episodes.push_back(std::make_unique<Episode>(cluster, seed * kSideBySide + i));
    for (int step = 0; step < kSteps; ++step) {
      for (const auto& each : episodes) each->Step();
      cluster.LetWork();
    }
    if (cluster.is_mock()) {
      for (const int16_t request : std::initializer_list<int16_t>{1, 8, 9, 12})
        rd_kafka_mock_clear_request_errors(cluster.mock(), request);
    }
    bool done = false;
    for (int step = 0; step < kStepsToHeal && !done; ++step) {
      done = true;
      for (const auto& each : episodes) done &= each->Heal();
      cluster.LetWork();
    }
    for (const auto& each : episodes) each->Compare();
  });
  std::cout << totals.records << " records, " << totals.messages << " messages, " << totals.repeats
            << " repeats, " << totals.crashes << " crashes, " << totals.leaves << " leaves, "
            << totals.silences << " silences, " << totals.faults << " faults\n";
  if (!all) return;
  EXPECT_GT(totals.repeats, 0u);
  EXPECT_GT(totals.crashes, 4u);
}

}  // namespace
}  // namespace pleat::inline v0_1
