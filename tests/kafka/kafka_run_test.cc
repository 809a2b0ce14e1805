// `pleat run` on a topic: the lines are those that `pleat fold` makes of each partition, and a file has
// each once, whenever the process is killed.
//
//   PLEAT_SEED=17         this draw of kills
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/kafka_log.h>

#include "engine/kafka/kafka_keys.h"
#include "tests/cli/run_pleat.h"
#include "tests/kafka/kafka_cluster.h"
#include "tests/support/seeds.h"
#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"

namespace pleat::cli {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

constexpr int kPartitions = 3;
constexpr int kRounds = 60'000;  // of a millisecond or more, until a test has waited for too long
// By the times of the events, so that the clock of the machine has no part in it.
constexpr const char* kFold =
    "fold --key user --quiet 60s --time t --time-unit s --merge 'n=sum(n)'";

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class KafkaRunTest : public testing::Test {
 protected:
  void SetUp() override {
    topic_ = cluster_.NewTopic(kPartitions);
    group_ = cluster_.NewName("group");
  }

  // Of twenty users, with pauses in which groups close.
  void Append(int begin, int end) {
    for (int n = begin; n < end; ++n) {
      const int user = n * n % 20;
      const int partition = user % kPartitions;
      const int at = 1'700'000'000 + 7 * n;
      const std::string line = "{\"user\":\"u" + std::to_string(user) +
                               "\",\"n\":" + std::to_string(n) + ",\"t\":" + std::to_string(at) +
                               "}";
      const std::string key = "u" + std::to_string(user);
      cluster_.Append(topic_, partition, {.key = key, .payload = line},
                      FromUnix(std::chrono::seconds(at)));
      texts_[partition] += line + "\n";
    }
    cluster_.Flush();
  }
  // As `pleat fold` makes them.
  std::multiset<std::string> Expected() const {
    std::multiset<std::string> lines;
    for (const std::string& text : texts_) {
      const Finished run =
          RunToEnd(Pleat(std::string(kFold) + " --at-end drop --quiet-summary"), text);
      EXPECT_EQ(run.code, 0) << run.err;
      for (const std::string& line : LinesOf(run.out)) lines.insert(line);
    }
    return lines;
  }

  Words CommandTo(const std::string& output) const {
    return Pleat("run --brokers " + cluster_.brokers() + " --topic " + topic_ + " --group " +
                 group_ + " --snapshots " + (scratch_ / "snapshots") +
                 " -X session.timeout.ms=3500 -X heartbeat.interval.ms=200"
                 " -X statistics.interval.ms=100 --idle inf --replay-limit 100 " +
                 output + " " + kFold);
  }
  Words Command(const std::string& more) const {
    return CommandTo("--output " + out_ + " " + more);
  }

  // Waits for so many whole lines of the file.
  void Await(size_t lines) {
    size_t has = 0;
    for (int round = 0; round < kRounds; ++round) {
      const std::string text = Content(out_);
      has = static_cast<size_t>(std::ranges::count(text, '\n'));
      if (has >= lines) return;
      cluster_.LetWork();
    }
    FAIL() << "waited for too long for " << lines << " lines; there are " << has;
  }

  pleat::KafkaCluster cluster_;
  const TemporaryDirectory scratch_;
  const std::string out_ = scratch_.Write("out", "");
  std::string topic_, group_;
  std::array<std::string, kPartitions> texts_;
};

TEST_F(KafkaRunTest, AFileHasEachLineOnceWheneverTheProcessIsKilled) {
  std::mt19937_64 random(AnySeed());
  Append(0, 1'000);
  for (int kills = 1; kills <= 3; ++kills) {
    Subprocess run(Command(kills == 3 ? "--worker 1/2" : ""));
    Await(static_cast<size_t>(kills) * 40 + random() % 40);
    run.Signal(SIGKILL);
    run.Wait();
    Append(1'000 * kills, 1'000 * (kills + 1));
  }
  const std::multiset<std::string> expected = Expected();
  ASSERT_GT(expected.size(), 200u);
  Subprocess run(Command(""));
  Await(expected.size());
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 128 + SIGTERM) << run.err();
  std::multiset<std::string> lines;
  std::set<std::string> ids;
  for (const std::string& line : LinesOf(Content(out_))) {
    const size_t end = line.find(',');
    EXPECT_TRUE(ids.insert(line.substr(0, end)).second) << line;
    EXPECT_TRUE(line.starts_with("{\"_id\":\"" + group_ + "/")) << line;
    lines.insert("{" + line.substr(end + 1));
  }
  EXPECT_EQ(lines, expected);
}

// Reads a topic from its first records on.
class TopicReader final : public LogListener {
 public:
  TopicReader(KafkaCluster& cluster, const std::string& topic, const std::string& snapshots)
      : cluster_(cluster),
        topic_(topic),
        log_(*KafkaLog::Open({.brokers = cluster.brokers(),
                              .topic = topic,
                              .group = cluster.NewName("reader"),
                              .snapshots = snapshots,
                              .id_header = "pleat-id",
                              .properties = {"session.timeout.ms=3500"}})) {}

  // Waits for records of so many ids.
  void Await(size_t ids) {
    for (int round = 0; round < kRounds && lines.size() < ids; ++round) {
      EXPECT_TRUE(log_->Poll(*this).ok());
      cluster_.LetWork();
    }
    EXPECT_GE(lines.size(), ids) << topic_;
  }

  std::map<std::string, std::string> lines;         // by their ids
  std::map<std::string, std::set<int>> partitions;  // by the keys

 private:
  void OnAssigned(int partition, const LogCommit*, uint64_t first) override {
    log_->Read(partition, first);
  }
  void OnRevoked(int) override {}
  void OnRecords(int partition, std::span<const LogRecord> records) override {
    for (const LogRecord& each : records) {
      const auto [place, is_new] = lines.try_emplace(std::string(each.id), each.payload);
      EXPECT_EQ(place->second, each.payload) << "one id, two lines";
      partitions[std::string(each.key)].insert(partition);
    }
  }
  void OnPositionLost(int, uint64_t) override {}
  void OnEnd(int) override {}
  void OnCommitted(int, CommitOutcome) override {}

  KafkaCluster& cluster_;
  const std::string topic_;
  const std::unique_ptr<KafkaLog> log_;
};

TEST_F(KafkaRunTest, ATopicHasEachLineByItsIdWheneverTheProcessIsKilled) {
  std::mt19937_64 random(AnySeed());
  const std::string results = cluster_.NewTopic(4);
  const std::string refused = cluster_.NewTopic(1);
  const std::string options = "--output-topic " + results + " --invalid-topic " + refused;
  TopicReader reader(cluster_, results, scratch_ / "reader");
  Append(0, 1'000);
  cluster_.Append(topic_, 0, {.key = "u0", .payload = "no line"}, FromUnix(1'700'007'000s));
  size_t seen = 0;
  for (int kills = 1; kills <= 2; ++kills) {
    Subprocess run(CommandTo(options));
    reader.Await(seen + 20 + random() % 40);
    seen = reader.lines.size();
    run.Signal(SIGKILL);
    run.Wait();
    Append(1'000 * kills, 1'000 * (kills + 1));
  }
  const std::multiset<std::string> expected = Expected();
  Subprocess run(CommandTo(options));
  reader.Await(expected.size());
  TopicReader of_refused(cluster_, refused, scratch_ / "refused");
  of_refused.Await(1);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 128 + SIGTERM) << run.err();
  std::multiset<std::string> lines;
  for (const auto& [id, line] : reader.lines) {
    EXPECT_TRUE(id.starts_with(group_ + "/")) << id;
    lines.insert(line);
  }
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(reader.partitions.size(), 2u) << "the users that pause: u0 and u5";
  for (const auto& [key, partitions] : reader.partitions) {
    EXPECT_THAT(partitions, testing::ElementsAre(JavaPartition(key, 4)));
  }
  EXPECT_EQ(of_refused.lines.size(), 1u);
  EXPECT_THAT(of_refused.lines.begin()->second, HasSubstr(R"("payload":"no line"})"));
  // Append() puts users into partitions in a way of its own, and the fold's key tells.
  EXPECT_THAT(run.err(), HasSubstr("where no producer puts records with that key"));
}

TEST_F(KafkaRunTest, AStoreIsReadIntoATopic) {
  const std::string results = cluster_.NewTopic(2);
  const std::string store = scratch_ / "store";
  std::string text;
  for (int n = 0; n < 50; ++n) {
    text += "{\"user\":\"u" + std::to_string(n % 5) + "\",\"n\":1,\"t\":1700000000}\n";
  }
  ASSERT_EQ(RunToEnd(Pleat("store append " + store + " --key user"), text).code, 0);
  const Finished run =
      RunToEnd(Pleat("run --store " + store + " --consumer c --at-end flush" + " --output-topic " +
                     results + " --output-brokers " + cluster_.brokers() + " " + kFold));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("messages +5 +written"));
  TopicReader reader(cluster_, results, scratch_ / "reader");
  reader.Await(5);
  EXPECT_THAT(reader.partitions, testing::UnorderedElementsAre(
                                     testing::Key("u0"), testing::Key("u1"), testing::Key("u2"),
                                     testing::Key("u3"), testing::Key("u4")));
}

TEST_F(KafkaRunTest, SaysWhatIsWrongAndNoSecret) {
  const auto error_of = [&](const std::string& options) {
    const Finished run = RunToEnd(Pleat("run " + options + " " + kFold));
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_THAT(run.err, testing::Not(HasSubstr("hush"))) << options;
    return run.err;
  };
  const std::string all =
      "--brokers localhost:1 --topic t --group g --snapshots " + (scratch_ / "s");
  EXPECT_THAT(error_of("--topic t"), HasSubstr("--topic: says nothing without --brokers"));
  EXPECT_THAT(error_of("--brokers b"), HasSubstr("--topic: is required with --brokers"));
  EXPECT_THAT(error_of(all + " --store s"), HasSubstr("--brokers: contradicts --store"));
  EXPECT_THAT(error_of(all + " --worker 3/2"), HasSubstr("--worker"));
  EXPECT_THAT(error_of(all + " --worker 2"), HasSubstr("is written I/N"));
  EXPECT_THAT(error_of(all + " --at-end keep"), HasSubstr("a topic has no end"));
  EXPECT_THAT(error_of(all + " --output-topic t"), HasSubstr("t is written, too"));
  EXPECT_THAT(error_of(all + " --output-topic o --output out"), HasSubstr("contradicts --output"));
  EXPECT_THAT(error_of(all + " --output-brokers b"), HasSubstr("nothing without --output-topic"));
  EXPECT_THAT(error_of(all + " --late-topic l --late late"), HasSubstr("contradicts --late"));
  EXPECT_THAT(error_of(all + " --profile pulsar"), HasSubstr("--profile"));
  EXPECT_THAT(error_of("--store s --consumer c --output-topic o"),
              HasSubstr("says nothing without --brokers or --output-brokers"));
  EXPECT_THAT(error_of("--store s --consumer c --output-brokers b --output-topic o --group g"),
              HasSubstr("--group: says nothing without --brokers"));
  EXPECT_THAT(error_of(all + " -X hush"), HasSubstr("is written NAME=VALUE"));
  EXPECT_THAT(error_of(all + " -X no.such=hush"), HasSubstr("no.such"));
  const std::string secret = scratch_.Write("secret", "hush\n");
  EXPECT_THAT(error_of(all + " -X session.timeout.ms=@" + secret),
              HasSubstr("session.timeout.ms does not take its value"));
  EXPECT_THAT(error_of(all + " -X sasl.password=@" + (scratch_ / "none")),
              HasSubstr("cannot read a value from"));
}

TEST_F(KafkaRunTest, SaysWhatWouldBeGuaranteed) {
  const Finished run = RunToEnd(Command("--check --worker 2/3 -X sasl.password=hush"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("topic       " + topic_ + " at " + cluster_.brokers() + "\n"));
  EXPECT_THAT(run.out, HasSubstr("group       " + group_ + "; worker 2 of 3"));
  EXPECT_THAT(run.out, HasSubstr("each once"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace pleat::cli
