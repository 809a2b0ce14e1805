// `pleat run` on a cluster whose brokers die, for as long as you like: the lines of all workers are those
// that `pleat fold` makes of each partition, and one that came twice is the same line with the same id.
//
//   PLEAT_KAFKA_SECONDS=7200   for how long records are appended and processes killed (default 60)
//   PLEAT_SEED=17              this draw of kills
//
// `./dev check kafka SECONDS` starts three brokers, and then this. It is no test of the suite, because
// the wall clock has a part in it. A worker has a file of its own, and a new one after each kill is the
// next worker on it.
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/kafka/kafka_cluster.h"
#include "tests/support/seeds.h"
#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"

namespace pleat::cli {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr int kPartitions = 6;
constexpr int kBrokers = 3;
constexpr size_t kWorkers = 3;
constexpr auto kBetweenRecords = 10ms;
constexpr auto kBetweenBrokers = 20s;  // so that at most one is away
constexpr auto kPatience = 300s;
// By the times of the events, so that the clock of the machine has no part in the lines.
constexpr const char* kFold =
    "fold --key user --quiet 60s --time t --time-unit s --merge 'n=sum(n)'";

std::string Variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// One of the processes of the group, again and again.
class Worker {
 public:
  Worker(std::string file, Words command) : file_(std::move(file)), command_(std::move(command)) {}

  bool runs() const { return run_ != nullptr; }
  Clock::time_point starts_at() const { return starts_at_; }
  void Start() { run_ = std::make_unique<Subprocess>(command_); }
  // It starts again at `next`. A worker does not end by itself, and parks nothing. A signal ends one
  // that does not listen yet.
  void End(int signal, Clock::time_point next) {
    run_->Signal(signal);
    EXPECT_THAT(run_->Wait(), AnyOf(-signal, 128 + signal)) << run_->err();
    EXPECT_THAT(run_->err(), Not(HasSubstr("parked")));
    run_.reset();
    starts_at_ = next;
  }
  std::vector<std::string> Lines() const { return WholeLines(Content(file_)); }

 private:
  const std::string file_;
  const Words command_;
  std::unique_ptr<Subprocess> run_;
  Clock::time_point starts_at_ = Clock::now();
};

class KafkaLongRun : public testing::Test {
 protected:
  KafkaLongRun() {
    for (size_t w = 0; w < kWorkers; ++w) {
      const std::string file = scratch_.Write("out-" + std::to_string(w), "");
      workers_.emplace_back(
          file, Pleat("run --brokers " + cluster_.brokers() + " --topic " + topic_ + " --group " +
                      group_ + " --snapshots " + (scratch_ / "snapshots") +
                      " -X session.timeout.ms=6000 -X heartbeat.interval.ms=500 --idle inf"
                      " --replay-limit 500 --quiet-summary --output " +
                      file + " " + kFold));
    }
  }

  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

  // Of twenty users, with pauses in which groups close.
  void Append() {
    const int user = Draw(20);
    const std::string key = "u" + std::to_string(user);
    const int at = 1'700'000'000 + 7 * appended_;
    cluster_.Append(topic_, user % kPartitions,
                    {.key = key,
                     .payload = "{\"user\":\"" + key + "\",\"n\":" + std::to_string(appended_) +
                                ",\"t\":" + std::to_string(at) + "}"},
                    FromUnix(std::chrono::seconds(at)));
    ++appended_;
  }

  void StartWorkers() {
    for (Worker& each : workers_) {
      if (!each.runs() && Clock::now() >= each.starts_at()) each.Start();
    }
  }
  void EndWorker() {
    Worker& worker = workers_[static_cast<size_t>(Draw(kWorkers))];
    if (!worker.runs()) return;
    const bool is_killed = Draw(4) > 0;
    ++(is_killed ? kills_ : stops_);
    worker.End(is_killed ? SIGKILL : SIGTERM, Clock::now() + 1ms * Draw(8'000));
  }
  // with_broker starts it again.
  void KillBroker() {
    if (Clock::now() < broker_died_ + kBetweenBrokers) return;
    const std::string file = Variable("PLEAT_KAFKA_DIRECTORY", "") + "/node-" +
                             std::to_string(1 + Draw(kBrokers)) + ".pid";
    const pid_t broker = static_cast<pid_t>(std::strtol(Content(file).c_str(), nullptr, 10));
    ASSERT_GT(broker, 1) << "no process id in " << file << "; call ./dev check kafka SECONDS";
    kill(broker, SIGKILL);
    broker_died_ = Clock::now();
    ++broken_;
  }

  // What the topic has, by partition: brokers that are away for too long do not take all.
  std::array<std::string, kPartitions> ReadBack() {
    std::array<std::string, kPartitions> texts;
    int ended = 0;
    cluster_.ReadAll(topic_, kPartitions, [&](const rd_kafka_message_t& message) {
      if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return ++ended < kPartitions;
      ++in_topic_;
      texts[static_cast<size_t>(message.partition)].append(
          static_cast<const char*>(message.payload), message.len) += "\n";
      return true;
    });
    return texts;
  }
  static std::multiset<std::string> FoldEach(const std::array<std::string, kPartitions>& texts) {
    std::multiset<std::string> lines;
    for (const std::string& text : texts) {
      const Finished run =
          RunToEnd(Pleat(std::string(kFold) + " --at-end drop --quiet-summary"), text);
      EXPECT_EQ(run.code, 0) << run.err;
      for (const std::string& line : WholeLines(run.out)) lines.insert(line);
    }
    return lines;
  }

  // Lines by their ids. A file has each once; in two files they are the same.
  std::map<std::string, std::string> LinesById() {
    std::map<std::string, std::string> all;
    repeats_ = 0;
    for (const Worker& each : workers_) {
      std::set<std::string> ids;
      for (const std::string& line : each.Lines()) {
        const size_t end = line.find(',');
        const std::string id = line.substr(0, end);
        EXPECT_TRUE(ids.insert(id).second) << "twice in one file: " << line;
        const auto [place, is_new] = all.try_emplace(id, "{" + line.substr(end + 1));
        EXPECT_EQ(place->second, "{" + line.substr(end + 1)) << id;
        repeats_ += is_new ? 0 : 1;
      }
    }
    return all;
  }

  void Say(const char* what) const {
    std::printf(
        "%s: %d records; workers were killed %d times, stopped %d times, brokers killed %d times\n",
        what, appended_, kills_, stops_, broken_);
    std::fflush(stdout);
  }

  const uint64_t seed_ = AnySeed();
  std::mt19937_64 random_{seed_};
  pleat::KafkaCluster cluster_;
  const TemporaryDirectory scratch_;
  const std::string topic_ = cluster_.NewTopic(kPartitions);
  const std::string group_ = cluster_.NewName("group");
  std::vector<Worker> workers_;
  Clock::time_point broker_died_ = Clock::now();
  int appended_ = 0, kills_ = 0, stops_ = 0, broken_ = 0, repeats_ = 0, in_topic_ = 0;
};

TEST_F(KafkaLongRun, NothingIsLostAndRepeatsHaveTheirIds) {
  ASSERT_FALSE(cluster_.is_mock()) << "call ./dev check kafka SECONDS";
  const std::chrono::seconds duration(std::stol(Variable("PLEAT_KAFKA_SECONDS", "60")));
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed_));
  const Clock::time_point end = Clock::now() + duration;
  Clock::time_point next_trouble = Clock::now() + 10s, next_record = Clock::now();
  Clock::time_point next_said = Clock::now() + 60s;
  while (Clock::now() < end && !HasFailure()) {
    StartWorkers();
    for (; next_record <= Clock::now(); next_record += kBetweenRecords) Append();
    if (Clock::now() >= next_trouble) {
      if (Draw(3) == 0)
        KillBroker();
      else
        EndWorker();
      next_trouble = Clock::now() + 1ms * (500 + Draw(8'000));
    }
    if (Clock::now() >= next_said) {
      Say("so far");
      next_said += 60s;
    }
    cluster_.LetWork();
  }
  for (const Clock::time_point limit = Clock::now() + kPatience; cluster_.Unsent() > 0;) {
    ASSERT_LT(Clock::now(), limit) << "the brokers do not take records";
    cluster_.LetWork();
  }
  const std::multiset<std::string> expected = FoldEach(ReadBack());
  std::map<std::string, std::string> lines;
  for (const Clock::time_point limit = Clock::now() + kPatience; Clock::now() < limit;) {
    StartWorkers();
    for (int i = 0; i < 1'000; ++i) cluster_.LetWork();
    lines = LinesById();
    if (lines.size() >= expected.size() || HasFailure()) break;
  }
  for (Worker& each : workers_) {
    if (each.runs()) each.End(SIGTERM, Clock::now());
  }
  lines = LinesById();
  std::multiset<std::string> without_ids;
  for (const auto& [id, line] : lines) without_ids.insert(line);
  std::vector<std::string> lost, wrong;
  std::ranges::set_difference(expected, without_ids, std::back_inserter(lost));
  std::ranges::set_difference(without_ids, expected, std::back_inserter(wrong));
  EXPECT_THAT(lost, testing::IsEmpty());
  EXPECT_THAT(wrong, testing::IsEmpty());
  EXPECT_GT(expected.size(), 0u);
  Say("done");
  std::printf(
      "%d records in the topic, %zu lines, %zu lost, %zu wrong; %d came again, with their ids\n",
      in_topic_, expected.size(), lost.size(), wrong.size(), repeats_);
}

}  // namespace
}  // namespace pleat::cli
