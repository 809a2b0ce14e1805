// `pleat run` on a topic: the lines are those that `pleat fold` makes of each partition, and a file has
// each once, whenever the process is killed.
//
//   PLEAT_SEED=17         this draw of kills
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <set>
#include <sstream>
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

  Words Command(const std::string& more) const {
    return Pleat("run --brokers " + cluster_.brokers() + " --topic " + topic_ + " --group " +
                 group_ + " --snapshots " + (scratch_ / "snapshots") +
                 " -X session.timeout.ms=3500 -X heartbeat.interval.ms=200 --idle inf"
                 " --replay-limit 100 --output " +
                 out_ + " " + more + " " + kFold);
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
  EXPECT_THAT(run.out, HasSubstr("each line once"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace pleat::cli
