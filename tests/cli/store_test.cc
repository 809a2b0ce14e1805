// `pleat store`: what it shows of a store that a program has written, and what it reads from it.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/event_store_reader.h>
#include <pleat/json_lines.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/start.h"

namespace pleat::cli {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class StoreCommand : public testing::Test {
 protected:
  Finished Run(const std::string& words) { return RunToEnd(Pleat("store " + words)); }

  std::unique_ptr<EventStore> Open() {
    auto store = EventStore::Open(path_, {.partitions = 4, .identity = 5});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static void Append(EventStore& store, std::string_view key, std::string_view payload,
                     EngineTime at, std::string_view id = {}) {
    ASSERT_EQ(
        store.Append({.key = key, .stamp = at - 1s, .id = id, .payload = payload}, at).outcome,
        AppendOutcome::kAppended);
  }
  // Ten records of two keys, a second apart.
  void Fill() {
    const auto store = Open();
    for (int i = 0; i < 10; ++i) {
      Append(*store, i % 3 == 0 ? "cat" : "ann", "{\"n\":" + std::to_string(i) + "}", kT0 + 1s * i);
    }
    ASSERT_TRUE(store->Close().ok());
  }
  // What `n` is in each line of a run that succeeds.
  std::vector<std::string> Read(const std::string& words) {
    const Finished read = Run("read " + path_ + " " + words);
    EXPECT_EQ(read.code, 0) << read.err;
    std::vector<std::string> numbers;
    for (const std::string& line : LinesOf(read.out)) numbers.push_back(line.substr(5, 1));
    return numbers;
  }

  const TemporaryDirectory scratch_;
  const std::string path_ = scratch_ / "store";
};

TEST_F(StoreCommand, ReadsRecordsInTheOrderInWhichTheyWereAppended) {
  Fill();
  EXPECT_THAT(Read(""), ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_THAT(Read("--key cat"), ElementsAre("0", "3", "6", "9"));
  EXPECT_THAT(Read("--key cat --from 1"), ElementsAre("3", "6", "9"));
  EXPECT_THAT(Read("--key nobody"), ElementsAre());
  const std::string cats = std::to_string(PartitionOf("cat", 4));
  EXPECT_THAT(Read("--partition " + cats + " --from 1 --to 3"), ElementsAre("3", "6"));
}

TEST_F(StoreCommand, ReadsBetweenTwoInstants) {
  Fill();
  const auto at = [](int i) { return FormatTimestamp(kT0 + 1s * i); };
  EXPECT_THAT(Read("--from " + at(3) + " --to " + at(6)), ElementsAre("3", "4", "5"));
  EXPECT_THAT(Read("--key ann --from " + at(3)), ElementsAre("4", "5", "7", "8"));
  EXPECT_THAT(Read("--from " + at(100)), ElementsAre());
}

TEST_F(StoreCommand, WritesThePlaceBesideThePayload) {
  {
    const auto store = Open();
    Append(*store, "k", "{\"a\":\n1}", kT0, "id 1");
    Append(*store, "k", " {} ", kT0 + 1s);
    Append(*store, "k", "text \"q\"", kT0 + 2s);
    Append(*store, "\xff", "\xff\x00\x01", kT0 + 3s);
    ASSERT_TRUE(store->Close().ok());
  }
  const std::string partition = std::to_string(PartitionOf("k", 4));
  const auto place = [&](int offset, const std::string& id) {
    return "\"_store\":{\"partition\":" + partition + ",\"offset\":" + std::to_string(offset) +
           ",\"key\":\"k\"" + id + ",\"stamp\":\"" + FormatTimestamp(kT0 + 1s * offset - 1s) +
           "\",\"appended\":\"" + FormatTimestamp(kT0 + 1s * offset) + "\"}}";
  };
  const std::vector<std::string> lines = LinesOf(Run("read " + path_).out);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "{\"a\": 1," + place(0, ",\"id\":\"id 1\""));
  EXPECT_EQ(lines[1], "{" + place(1, ""));
  EXPECT_EQ(lines[2], "{\"payload\":\"text \\\"q\\\"\"," + place(2, ""));
  EXPECT_THAT(lines[3], HasSubstr("{\"payload_base64\":\"/w=="));
  EXPECT_THAT(lines[3], HasSubstr("\"key\":\"\uFFFD\""));
}

// The lines are an input of the other commands.
TEST_F(StoreCommand, WhatItReadsIsFolded) {
  Fill();
  const std::string lines = scratch_ / "lines.ndjson";
  ASSERT_EQ(Run("read " + path_ + " --output " + lines).code, 0);
  const Finished folded = RunToEnd(
      Pleat("fold --key _store.key --time _store.appended --quiet 1m --merge 'n=sum(n)' " + lines));
  EXPECT_EQ(folded.code, 0) << folded.err;
  EXPECT_THAT(folded.out, HasSubstr("\"n\":27"));
  EXPECT_THAT(folded.out, HasSubstr("\"n\":18"));
}

// Beside the program that appends, and without its lock.
TEST_F(StoreCommand, FollowsUntilItIsAskedToEnd) {
  const auto store = Open();
  Append(*store, "k", "{\"n\":0}", kT0);
  ASSERT_TRUE(store->Commit().ok());
  Subprocess follows(Pleat("store read --follow " + path_));
  ASSERT_TRUE(follows.AwaitOut("{\"n\":0,"));
  Append(*store, "k", "{\"n\":1}", kT0);
  ASSERT_TRUE(store->Commit().ok());
  ASSERT_TRUE(follows.AwaitOut("{\"n\":1,"));
  follows.Signal(SIGTERM);
  EXPECT_EQ(follows.Wait(), 143);
  const Finished shown = Run("show " + path_);
  EXPECT_THAT(shown.out, HasSubstr("process " + std::to_string(getpid())));
}

TEST_F(StoreCommand, ShowsHowMuchThereIs) {
  Fill();
  const Finished shown = Run("show " + path_);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::ContainsRegex("partitions +4 "));
  EXPECT_THAT(shown.out, testing::ContainsRegex("records +10 "));
  EXPECT_THAT(shown.out, HasSubstr(FormatTimestamp(kT0 + 9s)));
  EXPECT_THAT(shown.out, testing::ContainsRegex("appender +none "));
  const Finished json = Run("show --json " + path_);
  EXPECT_THAT(json.out, HasSubstr("{\"identity\":\"5\",\"partitions\":4,\"records\":10,"));
  EXPECT_THAT(json.out, HasSubstr("\"segments\":1,\"lost_files\":0,\"first\":\"" +
                                  FormatTimestamp(kT0) + "\""));
}

TEST_F(StoreCommand, CheckSaysWhereTheDamageIs) {
  Fill();
  Finished checked = Run("check " + path_);
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, "ok, 10 records\n");
  const std::string file = path_ + "/segment-1";
  std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(damaged)), {});
  damaged.seekp(static_cast<std::streamoff>(bytes.find("{\"n\":4}") + 5));
  damaged.put('5');
  damaged.close();
  checked = Run("check " + path_);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.out, HasSubstr(file + ": at byte "));
  checked = Run("check --json " + path_);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.out, HasSubstr("{\"state\":\"damaged\",\"records\":4,\"damage\":[\"" + file));
}

TEST_F(StoreCommand, CheckLooksAtNotesAsWell) {
  {
    const auto store = Open();
    ASSERT_EQ(store->AppendBatch({}, kT0, {.note = StoreNote{"file", "place 17"}}).outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store->Close().ok());
  }
  EXPECT_EQ(Run("check " + path_).out, "ok, 0 records\n");
  const std::string file = path_ + "/segment-1";
  std::string bytes = Content(file);
  bytes[bytes.find("place 17")] = 'P';
  std::ofstream(file, std::ios::binary) << bytes;
  const Finished checked = Run("check " + path_);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.out, HasSubstr(file + ": at byte "));
}

TEST_F(StoreCommand, WrongUsageIsToldWithExitCode2) {
  Fill();
  const std::map<std::string, std::string> said = {
      {"", "say what to do: show, check, read, append, consumers, trim, copy or salvage"},
      {"raed d", "did you mean \"read\"?"},
      {"read", "read: takes one directory"},
      {"show " + path_ + " --key k", "--key: is for read and append, not for show"},
      {"show " + path_ + " --follow", "--follow: is for read, not for show"},
      {"read " + path_ + " --time t", "--time: is for append, not for read"},
      {"read " + path_ + " f.ndjson", "read: takes one directory"},
      {"append", "append: takes one directory, and FILEs"},
      {"append " + path_ + " --key a,b", "--key: append takes one PATH"},
      {"append " + path_ + " --time-unit s", "--time-unit: needs --time"},
      {"append " + path_ + " --partitions 4097",
       "--partitions: must be a whole number from 1 to 4096"},
      {"read " + path_ + " --json", "--json: read writes JSON anyway"},
      {"read " + path_ + " --from 3", "--from: an offset needs --partition or --key"},
      {"read " + path_ + " --from noon", "--from: must be an offset, or a time such as"},
      {"read " + path_ + " --follow --to 2026-11-28T12:00:00Z", "--follow: contradicts --to"},
      {"read " + path_ + " --partition 4", "--partition: the store has partitions 0 to 3"},
      {"read " + path_ + " --partition 1 --key k", "--partition: a key has a partition"},
  };
  for (const auto& [words, message] : said) {
    const Finished run = Run(words);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_THAT(run.err, HasSubstr(message)) << words;
  }
}

TEST_F(StoreCommand, CheckReadsTheCheckpointsOfConsumers) {
  Fill();
  ASSERT_TRUE(StoreConsumer::Open(path_, "mail").ok());
  EXPECT_EQ(Run("check " + path_).code, 0);
  const std::string file = path_ + "/consumers/mail/CHECKPOINT";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const Finished check = Run("check " + path_);
  EXPECT_EQ(check.code, 1);
  EXPECT_THAT(check.out, HasSubstr("consumers/mail/CHECKPOINT"));
}

TEST_F(StoreCommand, ADirectoryThatIsNoStoreIsRefused) {
  for (const std::string action : {"show ", "check ", "read "}) {
    const Finished refused = Run(action + scratch_.path());
    EXPECT_EQ(refused.code, 1) << action;
    EXPECT_THAT(refused.err, HasSubstr(scratch_.path() + " is no event store")) << action;
  }
}

TEST_F(StoreCommand, APlaceThatAPartitionNeverReachedIsSaid) {
  Fill();
  const Finished read = Run("read " + path_ + " --key cat --from 100");
  EXPECT_EQ(read.code, 1);
  EXPECT_THAT(read.err, HasSubstr("never came to offset 100"));
}

TEST_F(StoreCommand, ListsMovesAndRemovesConsumers) {
  Fill();
  EXPECT_EQ(Run("consumers " + path_).out, "no consumers\n");
  const int ann = PartitionOf("ann", 4);
  {
    const auto mail = *StoreConsumer::Open(path_, "mail");
    const auto bills = *StoreConsumer::Open(path_, "bills");
    ASSERT_TRUE(mail->Commit({.partition = ann, .position = 4, .metadata = "kept"}).ok());
    ASSERT_TRUE(bills->Commit({.partition = ann, .position = 6}).ok());
    const Finished open = Run("consumers " + path_ + " --move mail");
    EXPECT_EQ(open.code, 1);
    EXPECT_THAT(open.err, HasSubstr("consumers/mail is locked by process"));
  }
  EXPECT_EQ(Run("consumers " + path_).out, "bills          4  unread\nmail           6  unread\n");
  const Finished moved =
      Run("consumers " + path_ + " --move mail --from " + FormatTimestamp(kT0 + 7s) + " --json");
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("{\"name\":\"mail\",\"unread\":3,\"removed_unread\":false"));
  EXPECT_EQ((*StoreConsumer::Look(path_, "mail"))[static_cast<size_t>(ann)].metadata, "kept");
  EXPECT_THAT(Run("consumers " + path_ + " --move mail --from 2023-11-15 --json").out,
              HasSubstr("\"unread\":0"));
  const Finished one = Run("consumers " + path_ + " --move mail --from 99 --partition 0");
  EXPECT_EQ(one.code, 1);
  EXPECT_THAT(one.err, HasSubstr("partition 0 never came to offset 99"));
  EXPECT_EQ(Run("consumers " + path_ + " --remove mail").code, 0);
  EXPECT_EQ(Run("consumers " + path_).out, "bills          4  unread\n");
  for (const std::string action : {" --remove ", " --move "}) {
    const Finished absent = Run("consumers " + path_ + action + "bils");
    EXPECT_EQ(absent.code, 1);
    EXPECT_THAT(absent.err, HasSubstr(path_ + " has no consumer bils; did you mean bills?"));
  }
  EXPECT_EQ(Run("consumers " + path_).out, "bills          4  unread\n") << "none was made";
  // A removal that was killed behind its first step.
  const std::string bills = path_ + "/consumers/bills/";
  std::filesystem::rename(bills + "CHECKPOINT", bills + "lane-0-1");
  EXPECT_EQ(Run("consumers " + path_ + " --remove bills").code, 0);
  EXPECT_FALSE(std::filesystem::exists(bills + "lane-0-1"));
  EXPECT_EQ(Run("consumers " + path_ + " --remove bills").code, 1);
  EXPECT_EQ(Run("consumers " + path_ + " --from 3 --partition 0").code, 2);
  EXPECT_EQ(Run("show " + path_ + " --move mail").code, 2);
}

TEST_F(StoreCommand, TrimsByAgeByBytesAndForConsumers) {
  {
    const auto store = *EventStore::Open(
        path_, {.partitions = 1, .block_bytes = 4096, .segment_bytes = 4096, .identity = 5});
    for (int i = 0; i < 4; ++i) {
      Append(*store, "ann", "{\"n\":\"" + std::string(5000, 'x') + "\"}", kT0 + 1s * i);
      ASSERT_TRUE(store->Commit().ok());
    }
    const Finished open = Run("trim " + path_ + " --keep 1s");
    EXPECT_EQ(open.code, 1) << "another one appends";
    ASSERT_TRUE(store->Close().ok());
  }
  EXPECT_THAT(Run("trim " + path_).out, HasSubstr("removed 0 files"));
  EXPECT_THAT(Run("trim " + path_ + " --keep 100000d").out, HasSubstr("removed 0 files"));
  ASSERT_TRUE((*StoreConsumer::Open(path_, "mail"))->Commit({.position = 1}).ok());
  EXPECT_THAT(Run("trim " + path_ + " --keep 1s").out, HasSubstr("removed 1 file of"));
  EXPECT_EQ(Run("read " + path_ + " --partition 0 --from 0").code, 1);
  EXPECT_THAT(Run("read " + path_ + " --partition 0 --from 0").err,
              HasSubstr("partition 0 begins at offset 1: what came before was removed"));
  EXPECT_EQ(LinesOf(Run("read " + path_).out).size(), 3u);
  EXPECT_THAT(Run("check " + path_).out, HasSubstr("ok, 3 records"));
  EXPECT_THAT(Run("show " + path_ + " --json").out, HasSubstr("\"begin\":[1],\"next\":[4]"));
  const Finished bounded = Run("trim " + path_ + " --keep-bytes 6000 --json");
  EXPECT_THAT(bounded.out, HasSubstr("{\"files\":2,"));
  EXPECT_THAT(bounded.err, HasSubstr("consumer mail had not read all that was removed"));
  EXPECT_THAT(Run("consumers " + path_).out,
              HasSubstr("1  unread; others that it had not read were removed"));
  EXPECT_EQ(Run("trim " + path_ + " --keep-bytes many").code, 2);
  EXPECT_EQ(Run("trim " + path_ + "-that-is-not-there").code, 1);
  EXPECT_EQ(Run("show " + path_ + "-that-is-not-there").code, 1) << "it was not made";
}

}  // namespace
}  // namespace pleat::cli
