// `pleat store append`: each line of a FILE becomes a record once, in the order of the file, also when
// the command is killed at any system call, the file grows or the disk is full.
//
//   PLEAT_SEED=17         this draw of kills
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/event_store_reader.h>
#include <pleat/json_lines.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using LinesByKey = std::map<std::string, std::vector<std::string>>;

// Lines of seven users, numbered.
std::string LinesFrom(int begin, int end) {
  std::string text;
  for (int n = begin; n < end; ++n) {
    text += "{\"user\":\"u" + std::to_string(n % 7) + "\",\"n\":" + std::to_string(n) +
            ",\"t\":" + std::to_string(1'700'000'000 + n) + "}\n";
  }
  return text;
}

LinesByKey ByUser(const std::string& text) {
  LinesByKey lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines[line.substr(9, 2)].push_back(line);
  return lines;
}

class StoreAppend : public testing::Test {
 protected:
  Finished Run(const std::string& words, std::string_view input = "") {
    return RunToEnd(Pleat("store " + words), input);
  }
  // A run that succeeds. Returns what it said.
  std::string Append(const std::string& words, std::string_view input = "") {
    const Finished run = Run("append " + store_ + " " + words, input);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.out, "");
    return run.err;
  }

  // All that is in the store, each partition in the order of offsets.
  LinesByKey InStore() const {
    LinesByKey lines;
    ForEachRecord([&](const StoredRecord& record) {
      lines[std::string(record.key)].emplace_back(record.payload);
    });
    return lines;
  }
  size_t Records() const {
    size_t records = 0;
    ForEachRecord([&](const StoredRecord&) { ++records; });
    return records;
  }
  void ForEachRecord(const std::function<void(const StoredRecord&)>& use) const {
    const auto store = EventStoreReader::Open(store_);
    ASSERT_TRUE(store.ok()) << store.status();
    StorePage page;
    for (int p = 0; p < (*store)->partitions(); ++p) {
      for (uint64_t next = 0; next < (*store)->Durable(p); next = page.next()) {
        const auto read = (*store)->Read(p, next, 1 << 20, page);
        ASSERT_TRUE(read.ok()) << read.status();
        for (const StoredRecord& record : page.records()) use(record);
      }
    }
  }

  const TemporaryDirectory scratch_{PlaceForKills()};
  const std::string store_ = scratch_ / "store";
};

TEST_F(StoreAppend, EachLineIsReadBackAsItWas) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 1000));
  const std::string said =
      Append("--key user --time t --time-unit s --id n --partitions 4 " + file);
  EXPECT_THAT(said, testing::ContainsRegex("records +1,000 +appended, in 3 partitions"));
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 1000)));
  ForEachRecord([](const StoredRecord& record) {
    const int n = std::stoi(std::string(record.id));
    EXPECT_EQ(record.stamp, FromUnix(std::chrono::seconds(1'700'000'000 + n)));
    EXPECT_THAT(std::string(record.payload), HasSubstr("\"n\":" + std::string(record.id) + ","));
  });
  EXPECT_EQ((*EventStoreReader::Open(store_))->partitions(), 4);
}

// A key and an id are texts, not JSON; white space around a line is none of it.
TEST_F(StoreAppend, KeysAndIdsAreText) {
  const std::string file = scratch_.Write(
      "a.ndjson",
      "  {\"k\":\"a \\\"b\\\"\\n\\u00e9\",\"i\":\"x\\\\y\"}\t\r\n\n{\"k\":42,\"i\":true}\n");
  Append("--key k --id i " + file);
  std::vector<std::string> records;
  ForEachRecord([&](const StoredRecord& record) {
    records.push_back(std::string(record.key) + "|" + std::string(record.id) + "|" +
                      std::string(record.payload));
  });
  std::ranges::sort(records);
  EXPECT_THAT(
      records,
      ElementsAre("42|true|{\"k\":42,\"i\":true}",
                  "a \"b\"\n\xc3\xa9|x\\y|{\"k\":\"a \\\"b\\\"\\n\\u00e9\",\"i\":\"x\\\\y\"}"));
}

TEST_F(StoreAppend, SaysThatNaNIsKeptAsItCame) {
  const std::string file = scratch_.Write("a.ndjson", "{\"k\":1,\"v\":NaN}\n");
  const std::string said = Append("--key k " + file);
  EXPECT_THAT(said, HasSubstr("1 value was NaN or Infinity"));
  EXPECT_THAT(said, HasSubstr("lines with NaN or Infinity are kept as they came"));
  ForEachRecord(
      [](const StoredRecord& record) { EXPECT_EQ(record.payload, "{\"k\":1,\"v\":NaN}"); });
}

TEST_F(StoreAppend, WithoutAKeyAllLinesAreInOneOrder) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 600));
  Append(file);
  const LinesByKey lines = InStore();
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines.begin()->first, "");
  std::string text;
  for (const std::string& line : lines.begin()->second) text += line + "\n";
  EXPECT_EQ(text, LinesFrom(0, 600));
  ForEachRecord([](const StoredRecord& record) { EXPECT_EQ(record.stamp, record.appended); });
}

TEST_F(StoreAppend, TheSameCommandTwiceDoublesNothing) {
  const std::string a = scratch_.Write("a.ndjson", LinesFrom(0, 300));
  const std::string b = scratch_.Write("b.ndjson", LinesFrom(300, 500));
  Append("--key user " + a + " " + b);
  const std::string said = Append("--key user " + a + " " + b);
  EXPECT_THAT(said, HasSubstr("a.ndjson: all of it is in the store"));
  EXPECT_THAT(said, HasSubstr("b.ndjson: all of it is in the store"));
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 500)));
}

TEST_F(StoreAppend, AFileThatHasGrownGoesOn) {
  const std::string file = scratch_ / "a.ndjson";
  std::string text;
  for (int n = 0; n < 900; n += 300) {
    text += LinesFrom(n, n + 300);
    scratch_.Write("a.ndjson", text);
    const std::string said = Append("--key user " + file);
    EXPECT_THAT(said, testing::ContainsRegex("records +300 +appended"));
    if (n > 0) {
      EXPECT_THAT(said, HasSubstr("went on behind " + std::to_string(n) + " lines"));
    }
  }
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 900)));
}

// Half a line is what a program is just writing.
TEST_F(StoreAppend, ALineWithoutANewlineWaitsForTheNextRun) {
  const std::string text = LinesFrom(0, 10);
  for (const size_t cut : {text.size() - 1, text.size() - 20}) {
    const std::string file = scratch_.Write("a.ndjson", text.substr(0, cut));
    EXPECT_THAT(Append("--key user " + file),
                HasSubstr("unfinished at its end, which waits for the next run: " + file));
    EXPECT_EQ(Records(), 9u);
  }
  Append("--key user " + scratch_.Write("a.ndjson", text));
  EXPECT_EQ(InStore(), ByUser(text));
}

TEST_F(StoreAppend, AFileIsKnownByItsContent) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 300));
  Append("--key user " + file);
  // Rotated: under another name, and a new one in its place.
  std::filesystem::rename(file, file + ".1");
  scratch_.Write("a.ndjson", LinesFrom(300, 400));
  EXPECT_THAT(Append("--key user " + file + " " + file + ".1"),
              HasSubstr("new content under a known name, read from its start: " + file));
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 400)));
  std::filesystem::copy_file(file + ".1", scratch_ / "copy");
  Append("--key user " + file + ".1 " + (scratch_ / "copy"));
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 400)));
}

TEST_F(StoreAppend, AFileThatWasCutIsRefusedByName) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 300));
  Append("--key user " + file);
  scratch_.Write("a.ndjson", LinesFrom(0, 200));
  const Finished refused = Run("append " + store_ + " --key user " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr(file + ": has become shorter since it was read into the store " + store_ +
                        "; if it is another file now, give a copy"));
  EXPECT_EQ(Records(), 300u);
}

TEST_F(StoreAppend, InvalidLinesAreToldOfAndLeftOut) {
  const std::string file = scratch_.Write(
      "a.ndjson", "{\"user\":\"u1\",\"n\":1}\nno JSON\n{\"n\":2}\n{\"user\":\"u1\",\"n\":3}\n");
  const std::string words =
      "append " + store_ + " --key user --strict --invalid " + (scratch_ / "invalid") + " " + file;
  Finished run = Run(words);
  EXPECT_EQ(run.code, 1) << "because of --strict";
  EXPECT_THAT(run.err, HasSubstr(file + ":2: "));
  EXPECT_THAT(run.err, HasSubstr(file + ":3: "));
  EXPECT_THAT(run.err, testing::ContainsRegex("lines +4 +2 invalid"));
  EXPECT_EQ(Content(scratch_ / "invalid"), "no JSON\n{\"n\":2}\n");
  EXPECT_EQ(InStore()["u1"].size(), 2u);
  run = Run(words);
  EXPECT_THAT(run.err, HasSubstr("all of it is in the store"))
      << "invalid lines are behind it, too";
}

TEST_F(StoreAppend, StopsAtAnInvalidLineIfAskedAndGoesOnWhenThatIsRight) {
  const std::string good = LinesFrom(0, 300);
  const std::string more = LinesFrom(300, 600);
  const std::string file = scratch_.Write("a.ndjson", good + "no JSON\n" + more);
  for (int run = 0; run < 2; ++run) {
    const Finished stopped = Run("append " + store_ + " --key user --on-invalid fail " + file);
    EXPECT_EQ(stopped.code, 1);
    EXPECT_THAT(stopped.err, HasSubstr(file + ":301: "));
    EXPECT_EQ(InStore(), ByUser(good));
  }
  scratch_.Write("a.ndjson", good + more);
  Append("--key user --on-invalid fail " + file);
  EXPECT_EQ(InStore(), ByUser(good + more));
}

TEST_F(StoreAppend, AFileWithoutAUsableLineChangesNothing) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 10));
  const Finished wrong = Run("append " + store_ + " --key usr " + file);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("usr"));
  Append("--key user " + file);
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 10)));
}

TEST_F(StoreAppend, RecordsOfEverySizeGoIn) {
  std::string text;
  const std::string large(1'000'000, 'x');
  for (int n = 0; n < 20; ++n) {
    text += "{\"user\":\"u1\",\"n\":" + std::to_string(n) + ",\"x\":\"" + large + "\"}\n";
  }
  const std::string key(40'000, 'k');
  const std::string refused = "{\"user\":\"" + key + "\",\"x\":\"" + large + "\"}\n";
  const std::string long_line = "{\"user\":\"u1\",\"x\":\"" + large + large + "\"}\n";
  const std::string file =
      scratch_.Write("a.ndjson", text + refused + long_line + "{\"user\":\"u1\",\"n\":20}\n");
  const std::string said = Append("--key user " + file);
  EXPECT_THAT(said, HasSubstr(file + ":21: the line has more than 1 MiB together with its key"));
  EXPECT_THAT(said, HasSubstr(file + ":22: "));
  EXPECT_EQ(InStore()["u1"].size(), 21u);
  Append("--key user " + file);
  EXPECT_EQ(InStore()["u1"].size(), 21u);
}

TEST_F(StoreAppend, OtherFormatsBecomeTheObjectsThatTheReaderMakes) {
  const std::string file = scratch_.Write("a.csv", "user,n\nann,1\n\"bob, jr\",2\nann,3\n");
  Append("--input csv --key user " + file);
  EXPECT_EQ(InStore(),
            (LinesByKey{{"ann", {"{\"user\":\"ann\",\"n\":1}", "{\"user\":\"ann\",\"n\":3}"}},
                        {"bob, jr", {"{\"user\":\"bob, jr\",\"n\":2}"}}}));
  std::ofstream(file, std::ios::app) << "cat,4\n";
  Append("--input csv --key user " + file);
  EXPECT_EQ(InStore()["cat"], std::vector<std::string>{"{\"user\":\"cat\",\"n\":4}"});
  EXPECT_EQ(Records(), 4u);
}

// What was read of a pipe is in the store while the pipe is silent.
TEST_F(StoreAppend, APipeIsAppendedAsItComes) {
  Append("--key user", LinesFrom(0, 10));
  Subprocess appends(Pleat("store append " + store_ + " --key user"));
  Subprocess follows(Pleat("store read --follow " + store_));
  appends.Write(LinesFrom(10, 20) + "no JSON\n");
  ASSERT_TRUE(appends.AwaitErr("<stdin>:11: "));
  ASSERT_TRUE(follows.AwaitOut("\"n\":19,"));
  appends.CloseInput();
  EXPECT_EQ(appends.Wait(), 0) << appends.err();
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 20)));
}

TEST_F(StoreAppend, ASignalKeepsWhatWasRead) {
  Subprocess appends(Pleat("store append " + store_ + " --key user"));
  appends.Write(LinesFrom(0, 10) + "no JSON\n");
  ASSERT_TRUE(appends.AwaitErr("<stdin>:11: "));
  appends.Signal(SIGTERM);
  EXPECT_EQ(appends.Wait(), 143) << appends.err();
  EXPECT_EQ(InStore(), ByUser(LinesFrom(0, 10)));
}

TEST_F(StoreAppend, ASecondAppenderIsRefusedByName) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 10));
  const auto store = EventStore::Open(store_);
  ASSERT_TRUE(store.ok());
  const Finished refused = Run("append " + store_ + " --key user " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("is locked by process " + std::to_string(getpid())));
}

TEST_F(StoreAppend, AnotherNumberOfPartitionsIsRefused) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 10));
  Append("--partitions 4 " + file);
  const Finished refused = Run("append " + store_ + " --partitions 8 " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("has 4 partitions, not 8"));
}

TEST_F(StoreAppend, AFileInTheStoreIsNoOutput) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 10));
  const Finished refused = Run("append " + store_ + " --invalid " + store_ + "/x " + file);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--invalid: a file in the directory of the store"));
}

// The record before is of 1970, and the program has the clock of the machine.
TEST_F(StoreAppend, AClockThatIsFarAheadIsRefusedUntilItIsConfirmed) {
  {
    const auto store = *EventStore::Open(store_, {.partitions = 1});
    ASSERT_EQ(store->Append({.key = "old", .payload = "{}"}, EngineTime{}).outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store->Close().ok());
  }
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 10));
  const Finished refused = Run("append " + store_ + " --key user " + file);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("ahead of the last record in partition 0 of " + store_ +
                                     " by more than --max-forward-jump 1d"));
  EXPECT_THAT(refused.err, HasSubstr("run once with --max-forward-jump inf"));
  EXPECT_EQ(Records(), 1u);
  Append("--key user --max-forward-jump inf " + file);
  EXPECT_EQ(Records(), 11u);
}

// A call that fails for want of space: the run gets over it, or ends and says why. In both cases the
// next one goes on.
TEST_F(StoreAppend, AFullDiskIsNamedAndTheNextRunGoesOn) {
  if (!CanFailCalls()) GTEST_SKIP() << "calls cannot be made to fail here";
  if (kSanitized) GTEST_SKIP() << "a sanitizer makes calls of its own, which must not fail";
  constexpr int kLines = 45'000;  // several blocks
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, kLines));
  const Words words = Pleat("store append " + store_ + " --key user --threads 1 " + file);
  const uint64_t calls = RunUpToCall(words, UINT64_MAX, scratch_ / "err").calls;
  bool write_was_named = false;
  for (uint64_t call = calls / 3; call <= calls && !write_was_named; ++call) {
    std::filesystem::remove_all(store_);
    const TroubledEnd end = RunInTrouble(
        words, {.kind = Trouble::Kind::kError, .call = call, .error = ENOSPC}, scratch_ / "err");
    if (end.code == 1) {
      EXPECT_THAT(Content(scratch_ / "err"), HasSubstr("No space left on device"));
    }
    write_was_named = end.code == 1 && end.failed_call == "write";
    if (call % 20 != 0 && !write_was_named) continue;
    Append("--key user " + file);
    ASSERT_EQ(InStore(), ByUser(LinesFrom(0, kLines))) << "call " << call << end.failed_call;
  }
  EXPECT_TRUE(write_was_named);
}

TEST_F(StoreAppend, WhatIsReadBackIsFoldedAsTheFileIs) {
  const std::string file = scratch_.Write("a.ndjson", LinesFrom(0, 2000));
  Append("--key user --time t --time-unit s " + file);
  const std::string lines = scratch_ / "lines.ndjson";
  ASSERT_EQ(Run("read " + store_ + " --output " + lines).code, 0);
  const std::string fold =
      "fold --key user --time t --time-unit s --reorder 1h --quiet 10s --merge 'n=sum(n)' "
      "--merge 'all=count()' ";
  const Finished of_store = RunToEnd(Pleat(fold + lines));
  const Finished of_file = RunToEnd(Pleat(fold + file));
  EXPECT_EQ(of_store.code, 0) << of_store.err;
  EXPECT_EQ(of_store.out, of_file.out);
  EXPECT_THAT(of_file.out, Not(IsEmpty()));
}

// ---

struct Killed {
  std::string durability;
  int threads;
};

class StoreAppendKill : public testing::TestWithParam<Killed> {};
INSTANTIATE_TEST_SUITE_P(Modes, StoreAppendKill,
                         testing::Values(Killed{"process", 1}, Killed{"interval", 1},
                                         Killed{"group", 1}, Killed{"interval", 2}),
                         [](const auto& each) {
                           return each.param.durability + "_threads_" +
                                  std::to_string(each.param.threads);
                         });

// The records of each key are the lines of the files that have it, once and in their order.
LinesByKey StoredIn(const std::string& path) {
  LinesByKey lines;
  const auto store = EventStoreReader::Open(path);
  EXPECT_TRUE(store.ok()) << store.status();
  StorePage page;
  for (int p = 0; p < (*store)->partitions(); ++p) {
    for (uint64_t next = 0; next < (*store)->Durable(p); next = page.next()) {
      EXPECT_EQ(*(*store)->Read(p, next, 1 << 20, page), ReadOutcome::kRecords);
      for (const StoredRecord& record : page.records()) {
        lines[std::string(record.key)].emplace_back(record.payload);
      }
    }
  }
  return lines;
}

// Killed again and again, at drawn system calls, with one FILE that has nothing usable and one that is
// unfinished; and at last the FILE has grown.
TEST_P(StoreAppendKill, TakesEachLineOnceWhereverItIsKilled) {
  const uint64_t seed = AnySeed();
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const TemporaryDirectory files;
  const std::string a = files.Write("a", LinesFrom(0, 40'000));
  const std::string bad = files.Write("bad", "none\n");
  const std::string whole = LinesFrom(40'000, 70'000);
  const std::string b = files.Write("b", whole.substr(0, whole.size() / 2));
  const std::string c = files.Write("c", LinesFrom(70'000, 70'100));
  uint64_t calls = UINT64_MAX;
  uint64_t kills = 0, ends = 0;
  const uint64_t wanted = ShareOf({.whole = 200, .usual = 25, .sanitized = 5});
  while (kills < wanted || ends == 0) {
    const TemporaryDirectory dir(PlaceForKills());
    files.Write("b", whole.substr(0, whole.size() / 2));
    const Words words =
        Pleat("store append " + (dir / "store") + " --key user --partitions 5 " + "--durability " +
              GetParam().durability + " --threads " + std::to_string(GetParam().threads) + " " + a +
              " " + bad + " " + b + " " + c);
    for (bool killed = true; killed;) {
      // A run after many kills makes more calls than the first one: it has more segments to look at.
      const uint64_t call = calls == UINT64_MAX ? calls : 1 + random() % (2 * calls);
      const TroubledEnd end = RunUpToCall(words, call, dir / "err");
      killed = end.killed;
      kills += killed ? 1 : 0;
      if (calls == UINT64_MAX) calls = end.calls;
      ASSERT_TRUE(killed || end.code == 0) << Content(dir / "err");
    }
    files.Write("b", whole);
    ASSERT_EQ(RunToEnd(words).code, 0);
    LinesByKey expected = ByUser(LinesFrom(0, 40'000));
    const std::string first_half = whole.substr(0, whole.rfind('\n', whole.size() / 2) + 1);
    for (const std::string& part :
         {first_half, LinesFrom(70'000, 70'100), whole.substr(first_half.size())}) {
      for (auto& [user, lines] : ByUser(part)) {
        expected[user].insert(expected[user].end(), lines.begin(), lines.end());
      }
    }
    ASSERT_EQ(StoredIn(dir / "store"), expected);
    ++ends;
  }
  std::cout << kills << " kills, " << ends << " runs to the end, " << calls
            << " system calls each\n";
}

}  // namespace
}  // namespace pleat::cli
