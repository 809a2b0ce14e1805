// Damage: each byte of a small store changed, each file cut short at each length, each file missing.
// What was durable is refused with the file and the byte, or is read as it was; never as something
// else.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/store/block.h"
#include "engine/store/frame.h"
#include "tests/store/store_life.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSegmentBytes = 4096;  // as StoreLife has it

struct SmallStore {
  explicit SmallStore(std::string_view word, StoreDurability in = StoreDurability::kGroup)
      : mode(in) {
    StoreLife life(storage, in);
    for (const char operation : word) {
      life.Do(operation);
      EXPECT_TRUE(life.ok()) << life.last << ", " << life.closed;
    }
    life.store.reset();
    model = life.model;
    durable = life.durable;
  }

  StoreDurability mode;
  FaultyStorage storage;
  StoreModel model;
  StoreModel::Cut durable;
};

struct Verdict {
  absl::Status refused;  // by Open() or Read()
  StoreModel::Cut end;
};

// Opens and reads all. What is read has to be the small store's.
Verdict Judge(FaultyStorage& storage, const SmallStore& small) {
  const StoreLife life(storage, small.mode);
  const absl::StatusOr<std::unique_ptr<EventStore>> store =
      EventStore::Open(kStorePath, life.options());
  if (!store.ok()) return {store.status(), {}};
  const auto all = ReadAll(**store);
  if (!all.ok()) return {all.status(), {}};
  const auto notes = (*store)->Notes();
  if (!notes.ok()) return {notes.status(), {}};
  EXPECT_EQ(NotesOf(**store), small.model.NotesAt(DurableOf(**store)));
  for (int p = 0; p < kStorePartitions; ++p) {
    const std::vector<ModelRecord>& found = all->at(p);
    const auto own = small.model.records.find(p);
    if (found.empty()) continue;
    EXPECT_NE(own, small.model.records.end());
    if (testing::Test::HasFailure()) break;
    EXPECT_LE(found.size(), own->second.size());
    EXPECT_TRUE(std::equal(found.begin(), found.end(), own->second.begin()));
  }
  return {absl::OkStatus(), DurableOf(**store)};
}

void ExpectRefusedInFile(const absl::Status& status, const std::string& path) {
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": at byte "));
}

class StoreDamage : public testing::TestWithParam<StoreDurability> {};
INSTANTIATE_TEST_SUITE_P(Modes, StoreDamage,
                         testing::Values(StoreDurability::kProcess, StoreDurability::kInterval,
                                         StoreDurability::kGroup));

// Each byte in one mode, and in the others so many that each kind of byte is among them.
size_t StepOf(StoreDurability mode) {
  return ShareOf({.whole = 1, .usual = mode == StoreDurability::kGroup ? 1u : 3u, .sanitized = 17});
}

// A store that was closed has said in MANIFEST how far it came.
TEST_P(StoreDamage, OfAnyByteOfAClosedStoreIsRefusedWithItsPlace) {
  SmallStore small("oacbcacbcx", GetParam());
  size_t refused = 0, whole = 0;
  for (const std::string& path : small.storage.Paths()) {
    const std::string content = small.storage.Content(path);
    for (size_t i = 0; i < content.size(); i += StepOf(GetParam())) {
      SCOPED_TRACE(path + ", byte " + std::to_string(i));
      std::string damaged = content;
      damaged[i] = static_cast<char>(damaged[i] ^ (i % 2 == 0 ? 0x01 : 0x80));
      FaultyStorage storage = small.storage;
      storage.SetContent(path, damaged);
      const Verdict verdict = Judge(storage, small);
      if (verdict.refused.ok()) {
        // An index: the heads of the blocks say the same.
        EXPECT_EQ(verdict.end, small.durable);
        ++whole;
      } else {
        ExpectRefusedInFile(verdict.refused, path);
        ++refused;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 3 * whole);
  std::cout << "refused " << refused << ", of an index " << whole << "\n";
}

TEST_P(StoreDamage, ThatCutsAClosedStoreShortIsRefused) {
  SmallStore small("oacbcacbcx", GetParam());
  for (const std::string& path : small.storage.Paths()) {
    const std::string content = small.storage.Content(path);
    for (size_t size = 0; size < content.size(); ++size) {
      SCOPED_TRACE(path + ", size " + std::to_string(size));
      FaultyStorage storage = small.storage;
      storage.SetContent(path, content.substr(0, size));
      const Verdict verdict = Judge(storage, small);
      if (verdict.refused.ok()) {
        EXPECT_EQ(verdict.end, small.durable);
      } else {
        ExpectRefusedInFile(verdict.refused, path);
      }
      if (HasFailure()) return;
    }
  }
}

// Of a store that was not closed only the last block may be one that was never whole. In kProcess
// that is true of all blocks behind the last segment that is full.
TEST_P(StoreDamage, OfAnyByteOfAStoreThatWasKilledLosesItsLastBlockAtMost) {
  const bool is_process = GetParam() == StoreDurability::kProcess;
  for (const std::string_view word : {"oacbcac", "oacbcbcacbcac", "oacfcac"}) {
    SmallStore small(word, GetParam());
    const bool has_full = word.find('f') != word.npos;
    const StoreModel::Cut least = is_process && !has_full
                                      ? StoreModel::Cut(kStorePartitions, 0)
                                      : small.model.cuts[small.model.cuts.size() - 2];
    size_t shorter = 0;
    for (const std::string& path : small.storage.Paths()) {
      const std::string content = small.storage.Content(path);
      for (size_t i = 0; i < content.size(); i += StepOf(GetParam())) {
        SCOPED_TRACE(std::string(word) + ", " + path + ", byte " + std::to_string(i));
        std::string damaged = content;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        FaultyStorage storage = small.storage;
        storage.SetContent(path, damaged);
        const Verdict verdict = Judge(storage, small);
        if (!verdict.refused.ok()) {
          ExpectRefusedInFile(verdict.refused, path);
        } else if (verdict.end != small.durable) {
          EXPECT_TRUE(StoreModel::IsNotBefore(verdict.end, least))
              << testing::PrintToString(verdict.end);
          EXPECT_NE(std::ranges::find(small.model.cuts, verdict.end), small.model.cuts.end());
          ++shorter;
        }
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(shorter, 0u);
  }
}

// What a start has written again may be nowhere else that counts.
TEST(StoreDamaged, OfABlockThatAStartHasCopiedIsRefused) {
  SmallStore small("oacbcr");
  const std::string path = "/d/segment-2";
  const std::string content = small.storage.Content(path);
  for (size_t i = 0; i < content.size(); ++i) {
    SCOPED_TRACE(i);
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    FaultyStorage storage = small.storage;
    storage.SetContent(path, damaged);
    ExpectRefusedInFile(Judge(storage, small).refused, path);
    if (HasFailure()) return;
  }
}

// Also where MANIFEST could not be told of them: the head says how many there are.
TEST(StoreDamaged, OfABlockThatAStartHasCopiedIsRefusedWithAnOlderManifest) {
  SmallStore small("oacbcr");
  const SmallStore before("oacbc");
  const std::string path = "/d/segment-2";
  const std::string content = small.storage.Content(path);
  for (size_t i = FixedAt<uint32_t>(&content[4]) + kFrameBytes; i < content.size(); ++i) {
    SCOPED_TRACE(i);
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    FaultyStorage storage = small.storage;
    storage.SetContent(path, damaged);
    storage.SetContent("/d/MANIFEST", before.storage.Content("/d/MANIFEST"));
    ExpectRefusedInFile(Judge(storage, small).refused, path);
    if (HasFailure()) return;
  }
}

void Remove(FaultyStorage& storage, const std::string& path) {
  const auto directory = *storage.OpenDirectory(kStorePath, IfMissing::kFail);
  ASSERT_TRUE(directory->Remove(path.substr(path.rfind('/') + 1)).ok());
}

TEST_P(StoreDamage, AFileThatIsMissingIsNamed) {
  SmallStore small("oacbcacbcxacx", GetParam());
  size_t segments = 0;
  for (const std::string& path : small.storage.Paths()) {
    if (path == "/d/END") continue;  // a help for readers
    FaultyStorage storage = small.storage;
    Remove(storage, path);
    const Verdict verdict = Judge(storage, small);
    EXPECT_TRUE(absl::IsDataLoss(verdict.refused)) << path << ": " << verdict.refused;
    EXPECT_THAT(std::string(verdict.refused.message()), HasSubstr(path + ": it is missing"));
    ++segments;
  }
  EXPECT_GE(segments, 3u);
}

// As a backup leaves it that was not of one moment, or somebody who made space. MANIFEST is told of
// each segment that is full: only the newest one, which is not, may be missed by nobody.
TEST_P(StoreDamage, ASegmentThatIsMissingFromAStoreThatWasKilledIsNamed) {
  for (const std::string_view word :
       {"ofc", "ofcfcfc", "ofcfcfcac", "oacbcbcbcbcac", "ofcfcxfcfc", "ofcfcxfcfcac"}) {
    const SmallStore small(word, GetParam());
    std::vector<std::string> full, others;
    for (const std::string& path : small.storage.Paths()) {
      if (path.find("segment") == path.npos) continue;
      (small.storage.Content(path).size() >= kSegmentBytes ? full : others).push_back(path);
    }
    ASSERT_FALSE(full.empty());
    ASSERT_LE(others.size(), 1u);
    for (size_t first = 0; first < full.size(); ++first) {
      for (size_t behind = first + 1; behind <= full.size(); ++behind) {
        for (const bool others_too : {false, true}) {
          std::vector<std::string> gone(full.begin() + static_cast<ptrdiff_t>(first),
                                        full.begin() + static_cast<ptrdiff_t>(behind));
          if (others_too) gone.insert(gone.end(), others.begin(), others.end());
          SCOPED_TRACE(std::string(word) + ", without " + testing::PrintToString(gone));
          FaultyStorage storage = small.storage;
          for (const std::string& path : gone) Remove(storage, path);
          const absl::Status refused = Judge(storage, small).refused;
          EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
          EXPECT_TRUE(std::ranges::any_of(gone, [&](const std::string& path) {
            return refused.message().find(path + ": it is missing") != std::string_view::npos;
          })) << refused;
          if (HasFailure()) return;
        }
      }
    }
  }
}

// A section is bound to its place: the same bytes elsewhere are damage.
TEST(StoreDamaged, ASegmentUnderAnothersNameIsRefused) {
  SmallStore small("oacbcbcbcx");
  FaultyStorage storage = small.storage;
  storage.SetContent("/d/segment-2", storage.Content("/d/segment-1"));
  ExpectRefusedInFile(Judge(storage, small).refused, "/d/segment-2");
}

// The checksum of a section, and not only that of the table, says whose it is.
TEST(StoreDamaged, ASectionIsNotWholeAsAnotherPartitionsOrOffsets) {
  SectionBuffer buffers[2];
  buffers[1].Add({.key = "k", .payload = "p"}, kT0, 5);
  SectionBuffer* const all[] = {&buffers[0], &buffers[1]};
  FieldWriter scratch;
  PendingBlock block;
  block.Fill(all, scratch);
  const Binding binding{.identity = 1, .segment = 2, .place = 300};
  block.Seal(binding, {});
  const SectionEntry section = block.sections()[0];
  const std::string_view bytes = block.bytes().substr(section.at, section.bytes);
  EXPECT_TRUE(IsWhole(section, bytes, binding));
  SectionEntry other = section;
  other.partition = 0;
  EXPECT_FALSE(IsWhole(other, bytes, binding));
  other = section;
  other.first_offset = 6;
  EXPECT_FALSE(IsWhole(other, bytes, binding));
  EXPECT_FALSE(IsWhole(section, bytes, binding.Behind(1)));
  EXPECT_FALSE(IsWhole(section, bytes, {.identity = 1, .segment = 3, .place = 300}));
  EXPECT_FALSE(IsWhole(section, bytes, {.identity = 2, .segment = 2, .place = 300}));
}

TEST(StoreDamaged, ASegmentOfAnotherStoreIsRefusedByName) {
  SmallStore small("oacx");
  FaultyStorage other;
  StoreLife life(other, StoreDurability::kGroup);
  life.options_to_change().identity = 8;
  for (const char operation : std::string("oac")) life.Do(operation);
  FaultyStorage storage = small.storage;
  storage.SetContent("/d/segment-1", other.Content("/d/segment-1"));
  const absl::Status refused = Judge(storage, small).refused;
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("/d/segment-1: it is of another event store"));
}

}  // namespace
}  // namespace pleat::inline v0_1
