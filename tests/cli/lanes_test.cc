// `pleat lanes`: what an operator sees of the runs of a store, while one runs and after one has died,
// and what is decided from outside.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/start.h"

namespace pleat::cli {
namespace {

using std::chrono_literals::operator""s;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Parks empty records, and makes a message of any other.
class Mails final : public Handler {
 public:
  Handled Handle(const LogRecord& record, Lane& lane) override {
    if (record.payload.empty()) return Handled::Park("no payload");
    lane.Emit(record.key, record.payload);
    return Handled::Done();
  }
};

// By the times of the events, so that the clock of the machine has no part in it.
constexpr const char* kFold = " --idle inf fold --key user --quiet 60s --time t --time-unit s";

class LanesCommand : public testing::Test {
 protected:
  Finished Lanes(const std::string& words = "") {
    return RunToEnd(Pleat("lanes --store " + store_ + " " + words));
  }
  // What it prints on standard output; it succeeds.
  std::string Shown(const std::string& words = "") {
    const Finished lanes = Lanes(words);
    EXPECT_EQ(lanes.code, 0) << lanes.err;
    EXPECT_EQ(lanes.err, "");
    return lanes.out;
  }
  void AppendLines(int n) {
    const std::string number = std::to_string(++files_);
    std::string lines;
    for (int i = 0; i < n; ++i) {
      lines += "{\"user\":\"u" + std::to_string(i % 9) + "\",\"file\":" + number +
               ",\"t\":" + std::to_string(1'700'000'000 + 100 * i) + "}\n";
    }
    const std::string file = scratch_.Write("lines" + number, lines);
    const Finished run =
        RunToEnd(Pleat("store append " + store_ + " --key user --partitions 4 " + file));
    ASSERT_EQ(run.code, 0) << run.err;
  }
  // A program with a handler of its own has parked the key ann, and buried a message of bob; `then`
  // is called while it has the consumer.
  void RunMails(const std::function<void()>& then = [] {}) {
    const auto store = *EventStore::Open(store_, {.partitions = 1});
    const char* const payloads[] = {"", "hello", "later"};
    const char* const keys[] = {"ann", "bob", "ann"};
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(store->Append({.key = keys[i], .payload = payloads[i]}, kT0).outcome,
                AppendOutcome::kAppended);
    }
    ASSERT_TRUE(store->Close().ok());
    const auto log = *StoreLog::Open(store_, "mails");
    Processor processor(*log, [](Lane&) { return std::make_unique<Mails>(); });
    for (int i = 1; i < 4; ++i) ASSERT_TRUE(processor.Run(kT0 + 2s * i).ok());
    const std::vector<Message> lent = processor.Lease(10, 60s, kT0 + 6s);
    ASSERT_EQ(lent.size(), 1u);
    ASSERT_TRUE(processor.Bury(lent[0].id, "no such address"));
    for (int i = 4; i < 6; ++i) ASSERT_TRUE(processor.Run(kT0 + 2s * i).ok());
    bob_ = FormatMessageId("mails", lent[0].id, lent[0].stream);
    then();
  }
  // What the program delivers when it is started again, as "key: payload".
  std::vector<std::string> MailsAgain() {
    const auto log = *StoreLog::Open(store_, "mails");
    Processor processor(*log, [](Lane&) { return std::make_unique<Mails>(); });
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(processor.Run(kT0 + 100s + 2s * i).ok());
    EXPECT_EQ(processor.lanes()[0].phase, LanePhase::kLive) << processor.lanes()[0].why;
    std::vector<std::string> texts;
    for (const Message& each : processor.Lease(10, 60s, kT0 + 110s))
      texts.push_back(each.key + ": " + each.payload);
    return texts;
  }

  const TemporaryDirectory scratch_;
  const std::string store_ = scratch_ / "store";
  std::string bob_;  // the id of the message
  int files_ = 0;
};

TEST_F(LanesCommand, AStoreWithoutConsumersHasNone) {
  AppendLines(3);
  EXPECT_EQ(Shown(), "no consumers\n");
  EXPECT_EQ(Shown("--json"), "");
  EXPECT_EQ(Lanes("--consumer bursts").code, 1);
  EXPECT_THAT(Lanes("--consumer bursts").err, HasSubstr("has no consumer bursts"));
  EXPECT_EQ(Shown(), "no consumers\n") << "looking makes none";
}

TEST_F(LanesCommand, AnEmptyStoreAndAConsumerThatNeverCommitted) {
  ASSERT_TRUE(EventStore::Open(store_, {.partitions = 4}).ok());
  ASSERT_TRUE(StoreConsumer::Open(store_, "bursts").ok());
  EXPECT_THAT(Shown(), ContainsRegex("bursts +0 +0 +0 +0  up to date, no process\n"));
  EXPECT_THAT(Shown("--consumer bursts"), HasSubstr("\n4 partitions without a record\n"));
  AppendLines(20);
  EXPECT_THAT(Shown(), ContainsRegex("bursts +20 +0 +0 +0  behind, no process\n"));
  EXPECT_THAT(Shown("--consumer bursts"), Not(HasSubstr("1970")));
}

TEST_F(LanesCommand, BesideARunAndAfterItsDeath) {
  AppendLines(100);
  Subprocess run(Pleat("run --store " + store_ + " --consumer bursts --commit-every 1ms" + kFold));
  ASSERT_TRUE(run.AwaitOut("\"user\""));
  const std::string process = std::to_string(run.pid());
  EXPECT_THAT(Shown(), HasSubstr(", process " + process + "\n"));
  EXPECT_THAT(Shown("--json"), HasSubstr("{\"consumer\":\"bursts\",\"process\":" + process + ","));
  run.Signal(SIGKILL);
  run.Wait();
  AppendLines(50);
  EXPECT_THAT(Shown(), ContainsRegex("\nbursts +[0-9]+ +[0-9]+ +0 +0  behind, no process\n"));
  const std::string shown = Shown("--consumer bursts");
  EXPECT_THAT(shown, HasSubstr("consumer     bursts: behind, no process\nlast commit  20"));
  EXPECT_THAT(shown, HasSubstr("\ntakeovers    0\n\npartition"));
  EXPECT_THAT(shown, Not(HasSubstr("annot go on")));
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

// Whatever moment it is asked at, beside a run that commits all the time.
TEST_F(LanesCommand, BesideARunThatCommitsAllTheTime) {
  AppendLines(20'000);
  Subprocess run(Pleat("run --store " + store_ +
                       " --consumer bursts --commit-every 1ms --replay-limit 500" + kFold));
  for (int i = 0; i < 10; ++i) {
    const Finished lanes = Lanes("--consumer bursts");
    if (lanes.code == 1) {
      EXPECT_THAT(lanes.err, HasSubstr("has no consumer bursts")) << "not yet";
    } else {
      EXPECT_EQ(lanes.code, 0) << lanes.out << lanes.err;
    }
  }
  ASSERT_TRUE(run.AwaitOut("\"user\""));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 143) << run.err();
}

TEST_F(LanesCommand, CountsTakeoversAndWhatIsUnread) {
  AppendLines(100);
  const std::string words =
      "run --store " + store_ + " --consumer bursts --at-end keep --output " + (scratch_ / "out");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(RunToEnd(Pleat(words + kFold)).code, 0);
    EXPECT_THAT(Shown(), ContainsRegex("\nbursts +0 +0 +0 +0  up to date, no process\n"));
    AppendLines(9);
    EXPECT_THAT(Shown(), ContainsRegex("\nbursts +9 +0 +0 +0  behind, no process\n"));
  }
  EXPECT_THAT(Shown("--consumer bursts"), HasSubstr("\ntakeovers    2, the last one 20"));
  EXPECT_THAT(Shown("--json"), HasSubstr("\"takeovers\":2,\"taken_over\":\"20"));
}

TEST_F(LanesCommand, ShowsWhatWaitsForAPerson) {
  RunMails(
      [this] { EXPECT_THAT(Shown(), ContainsRegex("mails +0 +0 +1 +1  up to date, process ")); });
  const std::string shown = Shown("--consumer mails");
  EXPECT_THAT(shown, ContainsRegex("        0 +3 +3 +0 +- +0 +1 +1  up to date\n"));
  EXPECT_THAT(shown, HasSubstr("\nHeld keys:\npartition 0: key \"ann\" is parked, 2 records from "
                               "offset 0 on, refused about 1 time: no payload\n"));
  EXPECT_THAT(shown, HasSubstr("\nBuried messages:\n" + bob_ + ": key \"bob\": no such address\n"));
  const std::string json = Shown("--json");
  EXPECT_THAT(json,
              HasSubstr("{\"partition\":0,\"next\":3,\"end\":3,\"unread\":0,\"behind_s\":null,"
                        "\"waiting\":0,\"held_keys\":1,\"buried\":1,\"takeovers\":0,"
                        "\"taken_over\":null,\"state\":\"up to date\"}"));
  EXPECT_THAT(json, HasSubstr("\"held_keys\":[{\"partition\":0,\"key\":\"ann\",\"parked\":true,"
                              "\"reason\":\"no payload\",\"offset\":0,\"records\":2,"
                              "\"attempts\":1}],\"buried\":[{\"id\":\"" +
                              bob_ +
                              "\",\"partition\":0,\"key\":\"bob\",\"revived\":false,"
                              "\"reason\":\"no such address\",\"payload\":\"hello\"}]}\n"));
  const std::string metrics = Shown("--metrics");
  EXPECT_THAT(metrics, HasSubstr("pleat_lane_held_keys{processor=\"mails\",partition=\"0\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("pleat_lane_unread{processor=\"mails\",partition=\"0\"} 0\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("pleat_lane_commits"))) << "nobody knows";
}

TEST_F(LanesCommand, ARunThatHoldsTheConsumerIsNamed) {
  RunMails([this] {
    for (const std::string& words :
         {std::string("--retry ann"), std::string("--drop ann --offset 0"), "--revive " + bob_,
          "--drop-message " + bob_}) {
      const Finished refused = Lanes("--consumer mails " + words);
      EXPECT_EQ(refused.code, 1);
      EXPECT_EQ(refused.out, "");
      EXPECT_THAT(refused.err, HasSubstr("a run holds consumer mails: stop that first, or let the "
                                         "program call Processor::"));
      EXPECT_THAT(refused.err, HasSubstr("process " + std::to_string(getpid())));
    }
  });
  EXPECT_THAT(Shown("--consumer mails"), HasSubstr("is parked"));
}

TEST_F(LanesCommand, WhatIsDecidedIsDoneByTheNextRun) {
  RunMails();
  EXPECT_THAT(MailsAgain(), testing::IsEmpty());
  EXPECT_EQ(Shown("--consumer mails --drop ann --offset 0"),
            "partition 0: key \"ann\" goes on without the record at offset 0\n");
  EXPECT_EQ(Shown("--consumer mails --revive " + bob_), bob_ + " is delivered by the next run\n");
  EXPECT_THAT(MailsAgain(), testing::UnorderedElementsAre("ann: later", "bob: hello"));
}

TEST_F(LanesCommand, AKeyThatIsRetriedMayBeRefusedAgain) {
  RunMails();
  EXPECT_EQ(Shown("--consumer mails --retry ann --partition 0"),
            "partition 0: key \"ann\" is retried by the next run\n");
  EXPECT_THAT(Shown("--consumer mails"), HasSubstr("key \"ann\" is retried, 2 records"));
  EXPECT_EQ(Shown("--consumer mails --drop-message " + bob_), bob_ + " is never delivered\n");
  EXPECT_THAT(MailsAgain(), testing::IsEmpty());
  EXPECT_THAT(Shown("--consumer mails"), HasSubstr("key \"ann\" is parked, 2 records"));
  EXPECT_THAT(Shown("--consumer mails"), Not(HasSubstr("Buried")));
}

TEST_F(LanesCommand, WhatIsNotThereIsSaidAndNothingIsChanged) {
  RunMails();
  const std::string before = Content(store_ + "/consumers/mails/CHECKPOINT");
  const auto said = [&](const std::string& words) {
    const Finished refused = Lanes(words);
    EXPECT_EQ(refused.code, 1) << words;
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(Content(store_ + "/consumers/mails/CHECKPOINT"), before);
    return refused.err;
  };
  EXPECT_THAT(said("--consumer mail --retry ann"), HasSubstr("did you mean mails?"));
  EXPECT_THAT(said("--consumer mails --retry anne"), HasSubstr("did you mean \"ann\"?"));
  EXPECT_THAT(said("--consumer mails --retry bob"), HasSubstr("holds no key \"bob\""));
  EXPECT_THAT(said("--consumer mails --retry ann --partition 1"), HasSubstr("holds no key"));
  EXPECT_THAT(said("--consumer mails --drop ann --offset 2"),
              HasSubstr("is at offset 0, not at 2"));
  EXPECT_THAT(said("--consumer mails --revive mails/0/1/emitted/0"), HasSubstr("has not buried"));
  EXPECT_THAT(RunToEnd(Pleat("lanes --store " + (scratch_ / "nowhere"))).err, HasSubstr("nowhere"));
}

TEST_F(LanesCommand, DamageIsNamedAndHidesNoOtherConsumer) {
  RunMails();
  ASSERT_TRUE(StoreConsumer::Open(store_, "other").ok());
  {
    const auto consumer = *StoreConsumer::Open(store_, "mails");
    StoreCheckpoint damaged = consumer->checkpoint(0);
    damaged.metadata.back() ^= 1;
    ASSERT_TRUE(consumer->Commit(damaged).ok());
  }
  const Finished one = Lanes("--consumer mails");
  EXPECT_EQ(one.code, 1);
  EXPECT_THAT(one.out, HasSubstr("\nCannot go on:\n" + store_ +
                                 "/consumers/mails/CHECKPOINT: partition 0: the metadata of the "
                                 "last commit is damaged"));
  EXPECT_THAT(Lanes("--consumer mails --retry ann").err, HasSubstr("CHECKPOINT: partition 0"));
  EXPECT_THAT(Lanes().out, ContainsRegex("mails .* 1 lane cannot go on, no process\n"));
  const std::string checkpoint = store_ + "/consumers/mails/CHECKPOINT";
  std::string bytes = Content(checkpoint);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(checkpoint, std::ios::binary) << bytes;
  const Finished all = Lanes();
  EXPECT_EQ(all.code, 1);
  EXPECT_THAT(all.err, HasSubstr("pleat lanes: " + checkpoint));
  EXPECT_THAT(all.out, HasSubstr("other "));
}

TEST_F(LanesCommand, WrongUsageIsSaid) {
  const auto said = [](const std::string& words) {
    const Finished lanes = RunToEnd(Pleat("lanes " + words));
    EXPECT_EQ(lanes.code, 2) << words << lanes.err;
    EXPECT_EQ(lanes.out, "");
    return lanes.err;
  };
  EXPECT_THAT(said(""), HasSubstr("--store: is required"));
  EXPECT_THAT(said("here"), HasSubstr("takes no here"));
  EXPECT_THAT(said("--store s --retry a"), HasSubstr("--retry: needs --consumer"));
  EXPECT_THAT(said("--store s --consumer c --drop a"), HasSubstr("--drop: needs --offset"));
  EXPECT_THAT(said("--store s --consumer c --offset 1"), HasSubstr("--offset: needs --drop"));
  EXPECT_THAT(said("--store s --consumer c --offset x --drop a"), HasSubstr("--offset: must be"));
  EXPECT_THAT(said("--store s --consumer c --partition 1"), HasSubstr("--partition: needs"));
  EXPECT_THAT(said("--store s --consumer c --retry a --revive b"), HasSubstr("contradicts"));
  EXPECT_THAT(said("--store s --json --metrics"), HasSubstr("contradicts"));
  EXPECT_THAT(said("--store s --consumer c --retry a --json"), HasSubstr("contradicts"));
}

}  // namespace
}  // namespace pleat::cli
