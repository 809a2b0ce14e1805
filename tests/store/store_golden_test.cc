// Golden stores, in tests/store/golden: made once, with everything that a store has. They are read as
// they were, and the same calls make the same bytes: so a change of the format is noticed. contents.txt
// is what they say, as text.
//
//   PLEAT_WRITE_GOLDEN=1 store_golden_test    writes them anew, for a change that is meant; say in
//                                               docs/formats.md what becomes of older stores
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/store/store_life.h"
#include "tests/support/source_dir.h"

namespace pleat::inline v0_1 {
namespace {

// A life (store_life.h) that ends by a kill or, with a last 'x', by Close().
struct Golden {
  const char* name;
  StoreDurability mode;
  std::string_view life;
};
constexpr Golden kGoldens[] = {
    // Full segments with an index, old ones removed, and one that was closed.
    {"closed", StoreDurability::kGroup, "oacfcfcatcbcx"},
    // Full segments that are not synced, and what a start has copied from another one.
    {"killed", StoreDurability::kProcess, "oabcracffac"},
};

using Files = std::map<std::string, std::string>;  // by "<directory>/<name>"

std::filesystem::path FolderOf(const Golden& golden) {
  return std::filesystem::path(SourceDir()) / "tests/store/golden" / golden.name;
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// END is a help that another machine does not believe; LOCK has the number of a process.
bool IsKept(std::string_view path) { return !path.ends_with("/END") && !path.ends_with("/LOCK"); }

Files MadeAnew(const Golden& golden) {
  FaultyStorage storage;
  StoreLife life(storage, golden.mode);
  for (const char operation : golden.life) {
    life.Do(operation);
    EXPECT_TRUE(life.ok()) << life.last << ", " << life.closed;
  }
  life.store.reset();
  const auto mail = *StoreConsumer::Open(kStorePath, "mail", &storage);
  EXPECT_TRUE(mail->Commit({.partition = 1, .position = {7, 8}, .metadata = "of mail"}).ok());
  Files files;
  for (const std::string& path : storage.Paths()) {
    if (IsKept(path)) files[path] = storage.Content(path);
  }
  return files;
}

// All that can be read, a line each.
std::string ContentsOf(FaultyStorage& storage) {
  const auto store = *EventStoreReader::Open(kStorePath, &storage);
  std::string text = "identity " + std::to_string(store->identity()) + "\n";
  const auto micros = [](EngineTime at) { return std::to_string((at - kT0).count()) + " us"; };
  StorePage page;
  for (int p = 0; p < store->partitions(); ++p) {
    for (uint64_t next = store->First(p);; next = page.next()) {
      const absl::StatusOr<ReadOutcome> read = store->Read(p, next, 1000, page);
      EXPECT_TRUE(read.ok()) << read.status();
      if (!read.ok() || *read != ReadOutcome::kRecords) break;
      for (const StoredRecord& record : page.records()) {
        text += std::to_string(p) + " " + std::to_string(record.offset) + ": " +
                std::string(record.key) + ", " + std::string(record.id) + ", " +
                std::string(record.payload.substr(0, 12)) + ", " + micros(record.stamp) + ", " +
                micros(record.appended) + "\n";
      }
    }
  }
  const StoreNotes notes = *store->Notes();
  for (const auto& [name, value] : notes) text += name + " = " + value + "\n";
  const StoreCheckpoint mail = (*StoreConsumer::Look(kStorePath, "mail", &storage))[1];
  return text + "mail at " + std::to_string(mail.position.offset) + ", mark " +
         std::to_string(mail.position.mark) + ", " + mail.metadata + "\n";
}

FaultyStorage StorageOf(const Files& files) {
  FaultyStorage storage;
  for (const auto& [path, bytes] : files) {
    for (size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1)) {
      EXPECT_TRUE(storage.OpenDirectory(path.substr(0, end), IfMissing::kCreate).ok());
    }
    storage.SetContent(path, bytes);
  }
  return storage;
}

Files Stored(const Golden& golden) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(FolderOf(golden))) {
    const std::string name = std::filesystem::relative(entry.path(), FolderOf(golden)).string();
    if (entry.is_regular_file() && name != "contents.txt") {
      files[std::string(kStorePath) + "/" + name] = ContentOf(entry.path());
    }
  }
  return files;
}

void Write(const Golden& golden, const Files& files) {
  std::filesystem::remove_all(FolderOf(golden));
  const auto write = [&](const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = FolderOf(golden) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  };
  for (const auto& [path, bytes] : files) write(path.substr(sizeof(kStorePath)), bytes);
  FaultyStorage storage = StorageOf(files);
  write("contents.txt", ContentsOf(storage));
}

class StoreGolden : public testing::TestWithParam<Golden> {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("PLEAT_WRITE_GOLDEN") == nullptr) return;
    for (const Golden& golden : kGoldens) Write(golden, MadeAnew(golden));
    std::cout << "written anew\n";
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, StoreGolden, testing::ValuesIn(kGoldens),
                         [](const auto& golden) { return golden.param.name; });

TEST_P(StoreGolden, SaysWhatItSaid) {
  FaultyStorage storage = StorageOf(Stored(GetParam()));
  const std::string contents = ContentOf(FolderOf(GetParam()) / "contents.txt");
  ASSERT_FALSE(contents.empty());
  EXPECT_EQ(ContentsOf(storage), contents);
}

TEST_P(StoreGolden, IsMadeAgainByTheSameCalls) {
  const Files made = MadeAnew(GetParam());
  const Files stored = Stored(GetParam());
  EXPECT_EQ(std::size(made), std::size(stored));
  for (const auto& [path, bytes] : stored) {
    const auto found = made.find(path);
    ASSERT_NE(found, made.end()) << path;
    EXPECT_TRUE(found->second == bytes) << path << " has other bytes";
  }
}

TEST_P(StoreGolden, CanBeAppendedTo) {
  FaultyStorage storage = StorageOf(Stored(GetParam()));
  StoreLife options(storage, GetParam().mode);
  absl::StatusOr<std::unique_ptr<EventStore>> store =
      EventStore::Open(kStorePath, options.options());
  ASSERT_TRUE(store.ok()) << store.status();
  const AppendAnswer placed =
      (*store)->Append({.key = "k", .payload = "more"}, kEndOfTime, {.confirm_time = true});
  ASSERT_TRUE((*store)->Close().ok());
  EXPECT_EQ((*store)->Durable(placed.partition), placed.offset + 1);
}

}  // namespace
}  // namespace pleat::inline v0_1
