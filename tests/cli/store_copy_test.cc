// `pleat store copy` and `pleat store salvage`: another store of the same records, as the user gets it.
#include "tools/pleat/store/store_copy.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/event_store_reader.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/share.h"
#include "tests/support/source_dir.h"
#include "tests/support/start.h"
#include "tests/support/traced_process.h"
#include "tools/pleat/interrupt.h"

namespace pleat::cli {
namespace {

using std::chrono_literals::operator""s;
using testing::AnyOf;
using testing::HasSubstr;

// What `read` writes, but for offsets.
std::vector<std::string> LinesWithoutOffsets(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t begin = line.find(",\"offset\":");
    line.erase(begin, line.find(',', begin + 1) - begin);
    lines.push_back(line);
  }
  return lines;
}

// Whether these are some of the others, in their order.
bool IsPartOf(const std::vector<std::string>& part, const std::vector<std::string>& all) {
  size_t found = 0;
  for (const std::string& line : all) {
    if (found < part.size() && part[found] == line) ++found;
  }
  return found == part.size();
}

class StoreCopyCommand : public testing::Test {
 protected:
  Finished Run(const std::string& words) { return RunToEnd(Pleat("store " + words)); }

  // 300 records of seven keys in four partitions, a few to a block, and a note.
  void Fill() {
    const auto store = *EventStore::Open(store_, {.partitions = 4});
    for (int i = 0; i < 300; ++i) {
      const std::string key = "key " + std::to_string(i % 7);
      const std::string payload = "{\"n\":" + std::to_string(i) + "}";
      ASSERT_EQ(store
                    ->Append({.key = key, .stamp = kT0 - 1s * i, .id = key, .payload = payload},
                             kT0 + 1s * i)
                    .outcome,
                AppendOutcome::kAppended);
      if (i % 20 != 0) continue;
      ASSERT_TRUE(store->Commit().ok());
    }
    ASSERT_EQ(store->AppendBatch({}, kT0 + 300s, {.note = StoreNote{"file", "17"}}).outcome,
              AppendOutcome::kAppended);
    ASSERT_TRUE(store->Close().ok());
  }
  std::string Read(const std::string& directory) {
    const Finished read = Run("read " + directory);
    EXPECT_EQ(read.code, 0) << read.err;
    return read.out;
  }

  const TemporaryDirectory scratch_{PlaceForKills()};
  const std::string store_ = scratch_ / "store";
  const std::string new_ = scratch_ / "new";
};

TEST_F(StoreCopyCommand, CopiesEachRecordWithItsPlace) {
  Fill();
  const Finished copied = Run("copy " + store_ + " " + new_);
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(copied.out, "copied 300 records and 1 note into 4 partitions of " + new_ + "\n");
  EXPECT_EQ(copied.err, "");
  EXPECT_EQ(Read(new_), Read(store_));
  EXPECT_THAT(Run("check " + new_).out, HasSubstr("ok, 300 records"));
  EXPECT_EQ((*EventStoreReader::Open(new_))->Notes()->at("file"), "17");
}

TEST_F(StoreCopyCommand, GivesEachRecordToThePartitionOfItsKey) {
  Fill();
  const Finished copied = Run("copy " + store_ + " " + new_ + " --partitions 9 --json");
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(copied.out,
            "{\"partitions\":9,\"records\":300,\"notes\":1,\"times_held_back\":0,"
            "\"consumers\":[],\"left_behind\":[]}\n");
  EXPECT_THAT(Run("show " + new_ + " --json").out, HasSubstr("\"partitions\":9,\"records\":300,"));
  for (int key = 0; key < 7; ++key) {
    const std::string of_key = " --key 'key " + std::to_string(key) + "'";
    const auto reader = *EventStoreReader::Open(new_);
    const int partition = PartitionOf("key " + std::to_string(key), 9);
    StorePage page;
    std::vector<int> numbers;
    for (uint64_t next = 0; next < reader->Durable(partition); next = page.next()) {
      ASSERT_EQ(*reader->Read(partition, next, 1 << 20, page), ReadOutcome::kRecords);
      for (const StoredRecord& record : page.records()) {
        if (record.key != "key " + std::to_string(key)) continue;
        numbers.push_back(std::stoi(std::string(record.payload.substr(5))));
      }
    }
    ASSERT_EQ(numbers.size(), key < 6 ? 43u : 42u);
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(numbers[i], key + 7 * static_cast<int>(i));
    }
  }
}

TEST_F(StoreCopyCommand, TellsWhatBecomesOfConsumers) {
  Fill();
  ASSERT_TRUE(StoreConsumer::Open(store_, "mail").ok());
  EXPECT_THAT(Run("copy " + store_ + " " + new_).out, HasSubstr("\nconsumer mail went along\n"));
  const std::string other = scratch_ / "other";
  const Finished refused = Run("copy " + store_ + " " + other + " --partitions 9");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("has consumers that have not read all of it, or keep lanes: mail"));
  EXPECT_THAT(refused.err, HasSubstr("--ignore-consumers"));
  EXPECT_FALSE(std::filesystem::exists(other));
  const Finished without =
      Run("copy " + store_ + " " + other + " --partitions 9 --ignore-consumers");
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("\nconsumer mail did not go along\n"));
}

// Beside the program that appends.
TEST_F(StoreCopyCommand, TakesNoLock) {
  const auto store = *EventStore::Open(store_, {.partitions = 4});
  ASSERT_EQ(store->Append({.key = "k", .payload = "1"}, kT0).outcome, AppendOutcome::kAppended);
  ASSERT_TRUE(store->Commit().ok());
  ASSERT_EQ(store->Append({.key = "k", .payload = "2"}, kT0).outcome, AppendOutcome::kAppended);
  EXPECT_THAT(Run("copy " + store_ + " " + new_).out, HasSubstr("copied 1 record and 0 notes"));
}

TEST_F(StoreCopyCommand, WritesIntoANewDirectoryAlone) {
  Fill();
  const std::map<std::string, int> codes = {
      {"copy " + store_, 2},
      {"copy " + store_ + " a b", 2},
      {"copy " + store_ + " " + store_ + "/new", 2},
      {"copy " + store_ + " " + new_ + " --partitions 0", 2},
      {"copy " + store_ + " " + new_ + " --keep 3d", 2},
      {"copy " + scratch_ / "none" + " " + new_, 1},
      {"copy " + store_ + " " + scratch_.path(), 1},
  };
  for (const auto& [words, code] : codes) {
    const Finished run = Run(words);
    EXPECT_EQ(run.code, code) << words << ": " << run.err;
  }
  EXPECT_THAT(Run("copy " + store_).err, HasSubstr("copy: takes two directories, DIR and NEW"));
  EXPECT_THAT(Run("copy " + store_ + " " + scratch_.path()).err, HasSubstr(" has files, such as "));
  EXPECT_FALSE(std::filesystem::exists(new_));
}

TEST_F(StoreCopyCommand, OfADamagedStoreNamesTheByteAndTheRemedy) {
  Fill();
  const std::string file = store_ + "/segment-1";
  std::string bytes = Content(file);
  bytes[bytes.find("{\"n\":44}")] = 'x';
  std::ofstream(file, std::ios::binary) << bytes;
  const Finished refused = Run("copy " + store_ + " " + new_);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(file + ": at byte "));
  EXPECT_THAT(refused.err, HasSubstr("pleat store salvage"));
}

// Wherever it is killed, NEW is no store, is refused by name, or has all.
TEST_F(StoreCopyCommand, ThatIsKilledLeavesNoPartThatPassesForAStore) {
  Fill();
  ASSERT_TRUE(StoreConsumer::Open(store_, "mail").ok());
  const std::string all = Read(store_);
  const Words words = Pleat("store copy " + store_ + " " + new_);
  const TroubledEnd end = RunUpToCall(words, UINT64_MAX, scratch_ / "err");
  ASSERT_EQ(end.code, 0) << Content(scratch_ / "err");
  const uint64_t step =
      std::max<uint64_t>(1, end.calls / ShareOf({.whole = end.calls, .usual = 40, .sanitized = 8}));
  int whole = 0;
  for (uint64_t call = 1; call <= end.calls; call += step) {
    SCOPED_TRACE("call " + std::to_string(call));
    std::filesystem::remove_all(new_);
    ASSERT_TRUE(RunUpToCall(words, call, scratch_ / "err").killed);
    const Finished read = Run("read " + new_);
    if (read.code == 0) {
      EXPECT_EQ(read.out, all);
      EXPECT_EQ(StoreConsumer::Names(new_)->size(), 1u);
      ++whole;
      continue;
    }
    EXPECT_THAT(read.err, AnyOf(HasSubstr("is a copy that was not finished: remove the directory"),
                                HasSubstr("is no event store"), HasSubstr("No such file")));
    const Finished again = Run("copy " + store_ + " " + new_);
    if (again.code != 0) {
      EXPECT_THAT(again.err, AnyOf(HasSubstr("was not finished"), HasSubstr("has files")));
    }
  }
  std::cout << whole << " were whole\n";
}

// ---

void Damage(const std::string& file, size_t at) {
  std::string bytes = Content(file);
  bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(StoreCopyCommand, SalvageSaysWhatIsLostAndWhere) {
  Fill();
  ASSERT_TRUE(StoreConsumer::Open(store_, "mail").ok());
  const std::string file = store_ + "/segment-1";
  Damage(file, Content(file).find("{\"n\":45}"));
  std::filesystem::copy_file(file, store_ + "/lost-7");
  const Finished saved = Run("salvage " + store_ + " " + new_);
  EXPECT_EQ(saved.code, 1) << saved.err;
  EXPECT_EQ(saved.err, "");
  // Records 41 to 60 are in one block; those of the keys 3 and 45 % 7 share a partition.
  const int partition = PartitionOf("key 3", 4);
  EXPECT_THAT(saved.out, testing::ContainsRegex(
                             "^segment-1: at byte [0-9]+: the checksum of a section is wrong "
                             "\\([0-9]+ bytes\\)\n"
                             "lost-7: blocks behind a hole, which salvage does not read either\n"
                             "saved [0-9]+ records and 1 note in 4 partitions to "));
  EXPECT_THAT(saved.out, testing::ContainsRegex(
                             "\nlost [0-9]+ records, at these offsets of the damaged store:\n"
                             "  partition " +
                             std::to_string(partition) +
                             ": [0-9]+ to [0-9]+\n"
                             "Behind them the offsets in the copy are smaller by as many.\n"
                             "consumer mail did not go along\n$"));
  EXPECT_THAT(Run("check " + new_).out, HasSubstr("ok, "));
  const std::string left = Read(new_);
  EXPECT_THAT(left, testing::Not(HasSubstr("{\"n\":45,")));
  EXPECT_THAT(left, HasSubstr("{\"n\":61,"));
  EXPECT_THAT(Run("consumers " + new_).out, HasSubstr("no consumers"));
}

TEST_F(StoreCopyCommand, SalvageReportsAsJson) {
  Fill();
  const std::string file = store_ + "/segment-1";
  Damage(file, Content(file).find("{\"n\":0}"));
  const Finished saved = Run("salvage " + store_ + " " + new_ + " --json");
  EXPECT_EQ(saved.code, 1);
  EXPECT_EQ(
      saved.out.find("{\"partitions\":4,\"records\":299,\"notes\":1,\"lost\":[{\"partition\":" +
                     std::to_string(PartitionOf("key 0", 4)) +
                     ",\"begin\":0,\"end\":1}],\"notes_lost\":0,\"begin_unknown\":false,"
                     "\"end_unknown\":false,\"damage\":[{\"file\":\"segment-1\",\"offset\":"),
      0u)
      << saved.out;
  EXPECT_THAT(saved.out, HasSubstr("\"lost_files\":[],\"left_behind\":[]}\n"));
}

TEST_F(StoreCopyCommand, SalvageOfAStoreThatIsWholeIsACopy) {
  Fill();
  const Finished saved = Run("salvage " + store_ + " " + new_);
  EXPECT_EQ(saved.code, 0) << saved.err;
  EXPECT_EQ(saved.out, "saved 300 records and 1 note in 4 partitions to " + new_ + "\n");
  EXPECT_EQ(Read(new_), Read(store_));
}

TEST_F(StoreCopyCommand, SalvageGoesWithoutManifest) {
  Fill();
  const std::string all = Read(store_);
  for (const bool is_missing : {false, true}) {
    std::filesystem::remove_all(new_);
    is_missing ? static_cast<void>(std::filesystem::remove(store_ + "/MANIFEST"))
               : Damage(store_ + "/MANIFEST", 20);
    const Finished saved = Run("salvage " + store_ + " " + new_);
    EXPECT_EQ(saved.code, 1) << saved.err;
    EXPECT_THAT(saved.out, HasSubstr(is_missing ? "MANIFEST: at byte 0: it is missing\n"
                                                : "MANIFEST: at byte 0: it is damaged\n"));
    EXPECT_THAT(saved.out,
                HasSubstr("\nthere may have been records behind those that were saved\n"));
    EXPECT_EQ(Read(new_), all);
  }
  Damage(store_ + "/segment-1", 20);
  std::filesystem::remove_all(new_);
  const Finished nothing = Run("salvage " + store_ + " " + new_);
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.out, HasSubstr("nothing could be saved: MANIFEST and the heads of all"));
  EXPECT_FALSE(std::filesystem::exists(new_));
}

TEST_F(StoreCopyCommand, SalvageRefusesWhatIsNoStore) {
  Fill();
  EXPECT_EQ(Run("salvage " + store_).code, 2);
  EXPECT_EQ(Run("salvage " + store_ + " " + store_ + "/new").code, 2);
  EXPECT_EQ(Run("salvage " + store_ + " " + new_ + " --partitions 3").code, 2);
  EXPECT_EQ(Run("salvage " + store_ + " " + scratch_.path()).code, 1);
  const TemporaryDirectory other;
  const Finished refused = Run("salvage " + other.path() + " " + new_);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(other.path() + " is no event store"));
  EXPECT_FALSE(std::filesystem::exists(new_));
}

// Each file of the golden stores, damaged at some bytes, by the program itself: it ends with 0 or 1, and
// the records that it has saved are some of those that were there, in their order.
TEST_F(StoreCopyCommand, SalvageOfADamagedGoldenStoreInventsNothing) {
  for (const char* golden : {"closed", "killed"}) {
    const std::filesystem::path origin =
        std::filesystem::path(SourceDir()) / "tests/store/golden" / golden;
    const Finished whole = Run("read " + origin.string());
    ASSERT_EQ(whole.code, 0) << whole.err;
    for (const auto& entry : std::filesystem::directory_iterator(origin)) {
      if (!entry.is_regular_file() || entry.path().filename() == "contents.txt") continue;
      const size_t size = Content(entry.path().string()).size();
      const size_t step =
          std::max<size_t>(1, size / ShareOf({.whole = size, .usual = 12, .sanitized = 2}));
      for (size_t at = 0; at < size; at += step) {
        SCOPED_TRACE(entry.path().string() + ", byte " + std::to_string(at));
        std::filesystem::remove_all(store_);
        std::filesystem::remove_all(new_);
        std::filesystem::copy(origin, store_, std::filesystem::copy_options::recursive);
        Damage(store_ + "/" + entry.path().filename().string(), at);
        const Finished saved = Run("salvage " + store_ + " " + new_);
        ASSERT_TRUE(saved.code == 0 || saved.code == 1) << saved.code << saved.err;
        EXPECT_EQ(saved.err, "");
        const std::vector<std::string> all = LinesWithoutOffsets(whole.out);
        const std::vector<std::string> left = LinesWithoutOffsets(Read(new_));
        EXPECT_TRUE(IsPartOf(left, all));
        EXPECT_TRUE(saved.code == 1 || left.size() == all.size() ||
                    golden == std::string("killed"));
      }
    }
  }
}

// A signal asks for the end. In this process, so that it comes before the first block.
TEST_F(StoreCopyCommand, ThatIsAskedToEndSaysWhatToRemove) {
  Fill();
  const auto stopped = [&] {
    InstallSignalHandlers();
    raise(SIGTERM);
    _exit(CopyStore(store_, new_, {}));
  };
  EXPECT_EXIT(stopped(), testing::ExitedWithCode(128 + SIGTERM), "is not finished: remove it");
  EXPECT_THAT(Run("read " + new_).err, HasSubstr("is a copy that was not finished"));
}

}  // namespace
}  // namespace pleat::cli
