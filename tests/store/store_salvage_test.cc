// Salvage: whatever byte of a store is damaged, wherever a file is cut short, and whichever is missing,
// what is copied is what the store had, in its order; what is missing is told; and one damaged byte takes
// one block at most.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/detail/store_copy.h>
#include <pleat/event_store_reader.h>

#include "tests/store/store_life.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSavedPath[] = "/saved";
using Records = std::map<int, std::vector<ModelRecord>>;

struct Life {
  const char* name;
  StoreDurability mode;
  std::string_view word;

  bool is_closed() const { return word.ends_with('x'); }
};
// Closed ones have said in MANIFEST how far they came. The second one is the golden store "closed", with
// files removed at its beginning.
constexpr Life kLives[] = {
    {"closed", StoreDurability::kGroup, "oacfcfcbcacbcx"},
    {"golden", StoreDurability::kGroup, "oacfcfcatcbcx"},
    {"killed", StoreDurability::kInterval, "oacfcbcracfcac"},
    {"process", StoreDurability::kProcess, "oabcracffacfc"},
};

struct Origin {
  FaultyStorage storage;
  StoreModel model;
  Records all;  // behind as many kRemoved as are gone
  StoreModel::Cut first;
  StoreNotes notes;
  size_t largest = 0;  // records of a block

  explicit Origin(const Life& life_to_live) {
    StoreLife life(storage, life_to_live.mode);
    for (const char operation : life_to_live.word) {
      life.Do(operation);
      EXPECT_TRUE(life.ok()) << life.last << ", " << life.closed;
    }
    const auto before = life.closed.ok() && life.store != nullptr;
    EXPECT_TRUE(before);
    all = *ReadAll(*life.store);
    first = FirstOf(*life.store);
    notes = NotesOf(*life.store);
    model = life.model;
    life.store.reset();
    size_t last = 0;
    for (const StoreModel::Cut& cut : model.cuts) {
      const size_t records = std::accumulate(cut.begin(), cut.end(), size_t{0});
      largest = std::max(largest, records - std::min(records, last));
      last = records;
    }
  }
  size_t records() const {
    size_t records = 0;
    for (const auto& [partition, each] : all) {
      records += each.size() - first[static_cast<size_t>(partition)];
    }
    return records;
  }
};

struct Saved {
  absl::StatusOr<StoreSalvageReport> report = absl::UnknownError("");
  Records all;
  StoreModel::Cut first;
  StoreNotes notes;
};

Saved Salvage(FaultyStorage& storage) {
  Saved saved;
  saved.report = SalvageEventStore(kStorePath, kSavedPath, &storage);
  if (!saved.report.ok() || saved.report->partitions == 0) return saved;
  const auto store = EventStore::Open(kSavedPath, {.storage = &storage});
  EXPECT_TRUE(store.ok()) << store.status();
  if (!store.ok()) return saved;
  const auto all = ReadAll(**store);
  EXPECT_TRUE(all.ok()) << all.status();
  if (all.ok()) saved.all = *all;
  saved.first = FirstOf(**store);
  saved.notes = NotesOf(**store);
  return saved;
}

std::string Text(const StoreSalvageReport& report) {
  std::string text = std::to_string(report.records) + " records";
  for (const UnusableBytes& each : report.damage) {
    text += "\n" + each.file + ", byte " + std::to_string(each.offset) + ", " +
            std::to_string(each.bytes) + " bytes: " + each.why;
  }
  for (const LostRecords& each : report.lost) {
    text += "\nlost of " + std::to_string(each.partition) + ": " + std::to_string(each.begin) +
            " to " + std::to_string(each.end);
  }
  if (report.begin_is_unknown) text += "\nthe beginning is unknown";
  return text + (report.end_is_unknown ? "\nthe end is unknown" : "");
}

// What is saved has to be what the origin had, but for what the report says. Returns how many records
// are missing.
// `is_end_told`: also of the end.
size_t Check(const Origin& origin, const Saved& saved, bool is_end_told = true) {
  const StoreSalvageReport& report = *saved.report;
  SCOPED_TRACE(Text(report));
  size_t missing = 0;
  size_t found = 0;
  for (int p = 0; p < kStorePartitions; ++p) {
    const auto number = static_cast<size_t>(p);
    const std::vector<ModelRecord>& had = origin.all.at(p);
    EXPECT_TRUE(report.records == 0 || saved.first[number] >= origin.first[number]);
    std::vector<ModelRecord> expected(saved.first[number], kRemoved);
    for (uint64_t offset = saved.first[number]; offset < had.size(); ++offset) {
      const bool is_lost = std::ranges::any_of(report.lost, [&](const LostRecords& lost) {
        return lost.partition == p && lost.begin <= offset && offset < lost.end;
      });
      if (!is_lost) expected.push_back(had[offset]);
    }
    const std::vector<ModelRecord>& has = saved.all.at(p);
    EXPECT_TRUE(saved.first[number] == origin.first[number] || report.begin_is_unknown ||
                report.records == 0);
    EXPECT_LE(has.size(), expected.size()) << "invented records in partition " << p;
    if (has.size() > expected.size()) return SIZE_MAX;
    EXPECT_TRUE(std::equal(has.begin(), has.end(), expected.begin())) << "in partition " << p;
    EXPECT_TRUE(!is_end_told || has.size() == expected.size() || report.end_is_unknown ||
                report.whole())
        << "what is missing at the end of partition " << p << " is not told";
    missing += had.size() - origin.first[number] - (has.size() - saved.first[number]);
    found += has.size() - saved.first[number];
  }
  EXPECT_EQ(found, report.records);
  return missing;
}

// Whether a start finds and reads all of the store.
bool CanBeRead(FaultyStorage storage, Records& all) {
  const auto store = EventStore::Open(kStorePath, {.storage = &storage});
  if (!store.ok()) return false;
  absl::StatusOr<Records> read = ReadAll(**store);
  if (!read.ok() || !(*store)->Notes().ok()) return false;
  all = *std::move(read);
  return true;
}

class StoreSalvage : public testing::TestWithParam<Life> {
 protected:
  const Origin origin_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Lives, StoreSalvage, testing::ValuesIn(kLives),
                         [](const auto& life) { return life.param.name; });

TEST_P(StoreSalvage, OfAStoreThatIsNotDamagedIsACopy) {
  FaultyStorage storage = origin_.storage;
  const Saved saved = Salvage(storage);
  ASSERT_TRUE(saved.report.ok()) << saved.report.status();
  EXPECT_TRUE(saved.report->whole()) << Text(*saved.report);
  EXPECT_FALSE(saved.report->end_is_unknown);
  EXPECT_EQ(saved.all, origin_.all);
  EXPECT_EQ(saved.first, origin_.first);
  EXPECT_EQ(saved.notes, origin_.notes);
}

TEST_P(StoreSalvage, OfAnyDamagedByteLosesOneBlockAtMostAndSaysWhich) {
  const bool is_golden = GetParam().name == std::string_view("golden");
  const size_t step = ShareOf({.whole = 1, .usual = is_golden ? 1u : 7u, .sanitized = 37});
  size_t damaged = 0, lossless = 0;
  for (const std::string& path : origin_.storage.Paths()) {
    const std::string content = origin_.storage.Content(path);
    for (size_t i = 0; i < content.size(); i += step) {
      SCOPED_TRACE(path + ", byte " + std::to_string(i));
      std::string bytes = content;
      bytes[i] = static_cast<char>(bytes[i] ^ (i % 2 == 0 ? 0x01 : 0x80));
      FaultyStorage storage = origin_.storage;
      storage.SetContent(path, bytes);
      const Saved saved = Salvage(storage);
      ASSERT_TRUE(saved.report.ok()) << saved.report.status();
      const size_t missing = Check(origin_, saved);
      EXPECT_LE(missing, origin_.largest) << Text(*saved.report);
      EXPECT_LE(saved.report->damage.size(), 1u) << Text(*saved.report);
      Records readable;
      if (CanBeRead(storage, readable)) {
        EXPECT_TRUE(saved.report->whole()) << Text(*saved.report);
        EXPECT_EQ(saved.all, readable);
      } else {
        EXPECT_FALSE(saved.report->damage.empty());
        EXPECT_TRUE(saved.report->whole() ? missing == 0 && saved.notes == origin_.notes : true);
        ++damaged;
        lossless += missing == 0 ? 1 : 0;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(damaged, 0u);
  std::cout << damaged << " damaged, " << lossless << " of them without a loss of records\n";
}

TEST_P(StoreSalvage, OfAFileThatIsCutShortHasWhatIsLeft) {
  const size_t step = ShareOf({.whole = 1, .usual = 7, .sanitized = 61});
  for (const std::string& path : origin_.storage.Paths()) {
    const std::string content = origin_.storage.Content(path);
    for (size_t size = 0; size < content.size(); size += step) {
      SCOPED_TRACE(path + ", size " + std::to_string(size));
      FaultyStorage storage = origin_.storage;
      storage.SetContent(path, content.substr(0, size));
      const Saved saved = Salvage(storage);
      ASSERT_TRUE(saved.report.ok()) << saved.report.status();
      const size_t missing = Check(origin_, saved);
      Records readable;
      if (CanBeRead(storage, readable)) {
        EXPECT_EQ(saved.all, readable);
      } else {
        EXPECT_FALSE(saved.report->damage.empty());
        EXPECT_TRUE(!saved.report->whole() || missing == 0);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(StoreSalvage, WithoutAFileHasTheOthers) {
  for (const std::string& path : origin_.storage.Paths()) {
    if (path.ends_with("/END") || path.ends_with("/LOCK")) continue;
    SCOPED_TRACE(path);
    FaultyStorage storage = origin_.storage;
    const auto directory = *storage.OpenDirectory(kStorePath, IfMissing::kFail);
    ASSERT_TRUE(directory->Remove(path.substr(sizeof(kStorePath))).ok());
    const Saved saved = Salvage(storage);
    ASSERT_TRUE(saved.report.ok()) << saved.report.status();
    const size_t missing = Check(origin_, saved);
    Records readable;
    if (CanBeRead(storage, readable)) {
      EXPECT_EQ(saved.all, readable);
      continue;
    }
    EXPECT_FALSE(saved.report->whole());
    EXPECT_THAT(Text(*saved.report),
                HasSubstr(path.substr(sizeof(kStorePath)) + ", byte 0, 0 bytes: it is missing"));
    if (path.ends_with("/MANIFEST")) {
      EXPECT_EQ(missing, 0u);
      EXPECT_EQ(saved.notes, origin_.notes);
    } else {
      EXPECT_GT(missing, 0u);
    }
  }
}

// A segment of a backup lies among newer ones. Records are numbered, and no number comes twice.
TEST(StoreSalvageOfTwoTimes, TakesNoOffsetTwice) {
  FaultyStorage storage, other;
  const auto live = [](FaultyStorage& with, std::string_view word) {
    StoreLife life(with, StoreDurability::kGroup);
    for (const char operation : word) life.Do(operation);
    EXPECT_TRUE(life.ok()) << life.last;
  };
  live(storage, "oacfcrbcbcbcbcracbcacbcbc");
  live(other, "oacfcracbcacbcrbcacbcacbcacbc");
  size_t mixed = 0;
  for (const std::string& path : other.Paths()) {
    const std::vector<std::string> own = storage.Paths();
    if (path.find("segment-") == path.npos) continue;
    if (std::ranges::find(own, path) == own.end()) continue;
    if (storage.Content(path) == other.Content(path)) continue;
    FaultyStorage mixture = storage;
    mixture.SetContent(path, other.Content(path));
    const Saved saved = Salvage(mixture);
    ASSERT_TRUE(saved.report.ok()) << saved.report.status();
    SCOPED_TRACE(path + "\n" + Text(*saved.report));
    for (const auto& [partition, records] : saved.all) {
      uint64_t last = 0;
      for (const ModelRecord& record : records) {
        const uint64_t number = std::stoull(record.payload);
        EXPECT_GT(number, last) << "in partition " << partition;
        last = number;
      }
    }
    ++mixed;
  }
  EXPECT_GT(mixed, 0u);
}

// Several bytes, files cut short and others missing.
TEST_P(StoreSalvage, OfMuchDamageInventsNothing) {
  ForEachSeed(1, ShareOf({.whole = 20'000, .usual = 800, .sanitized = 40}), [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    FaultyStorage storage = origin_.storage;
    const std::vector<std::string> paths = storage.Paths();
    const auto directory = *storage.OpenDirectory(kStorePath, IfMissing::kFail);
    for (size_t wounds = 1 + random() % 6; wounds > 0; --wounds) {
      const std::string path = paths[random() % paths.size()];
      if (path.ends_with("/LOCK")) continue;
      const std::vector<std::string> left = storage.Paths();
      if (std::ranges::find(left, path) == left.end()) continue;
      std::string bytes = storage.Content(path);
      if (bytes.empty()) continue;
      const size_t at = random() % bytes.size();
      switch (random() % 6) {
        case 0: ASSERT_TRUE(directory->Remove(path.substr(sizeof(kStorePath))).ok()); continue;
        case 1: bytes.resize(at); break;
        case 2: bytes.replace(at, random() % 300, std::string(random() % 300, '\0')); break;
        default: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      }
      storage.SetContent(path, bytes);
    }
    const Saved saved = Salvage(storage);
    if (!saved.report.ok()) {
      EXPECT_TRUE(absl::IsNotFound(saved.report.status()) ||
                  absl::IsFailedPrecondition(saved.report.status()) ||
                  absl::IsUnimplemented(saved.report.status()))
          << saved.report.status();
      return;
    }
    // With MANIFEST or the newest file gone, too, nobody may know where the end was.
    if (saved.report->partitions > 0) Check(origin_, saved, /*is_end_told=*/false);
  });
}

}  // namespace
}  // namespace pleat::inline v0_1
