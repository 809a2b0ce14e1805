// A snapshot is restored block by block: few bytes are in memory that are not used yet, and wherever
// blocks end, the same engine comes of them.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>

#include "engine/state/blocks.h"
#include "tests/support/bytes.h"
#include "tests/support/every_collection.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::HasSubstr;

constexpr uint64_t kIdentity = 5;
constexpr size_t kMiB = size_t{1} << 20;

std::vector<Block> BlocksOf(std::string_view snapshot) {
  StringSource source(snapshot);
  BlockReader reader(source);
  reader.set_identity(kIdentity);
  std::vector<Block> blocks;
  do {
    blocks.push_back(reader.Next().value());
  } while (blocks.back().kind != BlockKind::kEnd);
  return blocks;
}

std::string BytesOf(const std::vector<Block>& blocks) {
  StringSink sink;
  BlockWriter writer(sink, kIdentity, /*compresses=*/false);
  for (const Block& block : blocks) {
    EXPECT_TRUE(writer.Write(block.kind, block.owner, block.bytes).ok());
  }
  return sink.bytes;
}

// The same snapshot, its parts in blocks of at most so many bytes.
std::string CutInto(size_t bytes, std::string_view snapshot) {
  std::vector<Block> cut;
  for (Block& block : BlocksOf(snapshot)) {
    if (!IsOfPart(block.kind)) {
      cut.push_back(std::move(block));
      continue;
    }
    for (size_t at = 0; at == 0 || at < block.bytes.size(); at += bytes) {
      cut.push_back({.kind = at == 0 ? block.kind : BlockKind::kMore,
                     .owner = block.owner,
                     .offset = 0,
                     .end = 0,
                     .bytes = block.bytes.substr(at, bytes)});
    }
  }
  return BytesOf(cut);
}

// Names that the tables do not keep in place.
void AddLongNames(EveryCollection& all) {
  const EngineTime at = all.engine().now();
  for (int i = 0; i < 3; ++i) {
    const std::string name(100 + static_cast<size_t>(i), 'n');
    all.sales().Fold(name, {.amount = i, .page = name}, at);
    all.pages().Add(name, {.id = name, .payload = name}, at);
    all.readers().Enter(name, name, name, name, at);
    all.plays().Add(name, i, at);
  }
}

class StreamedRestore : public testing::TestWithParam<LifeChoice> {};

TEST_P(StreamedRestore, BlocksMayEndAnywhere) {
  for (int steps = 1; steps <= 4; ++steps) {
    EveryCollection lived(GetParam());
    lived.Live(steps);
    AddLongNames(lived);
    const std::string snapshot = lived.Snapshot(kIdentity);
    for (const size_t bytes : {1, 2, 3, 7, 64, 1000}) {
      SCOPED_TRACE(std::to_string(steps) + " steps, blocks of " + std::to_string(bytes));
      EveryCollection restored(GetParam());
      const absl::Status status = restored.Restore(CutInto(bytes, snapshot));
      ASSERT_TRUE(status.ok()) << status.message();
      restored.CheckAll();
      ASSERT_TRUE(restored.Snapshot(kIdentity) == snapshot);
    }
  }
}

// A byte that is lacking or too many in any book, with checksums that are right.
TEST_P(StreamedRestore, ABookEndsWhereItSays) {
  EveryCollection lived(GetParam());
  lived.Live(3);
  const std::vector<Block> blocks = BlocksOf(CutInto(64, lived.Snapshot(kIdentity)));
  EveryCollection restored(GetParam());
  const std::string before = restored.Snapshot(kIdentity);
  for (size_t i = 2; i + 1 < blocks.size(); ++i) {
    if (blocks[i + 1].kind == BlockKind::kMore || blocks[i].bytes.empty()) continue;
    std::vector<Block> shorter = blocks;
    shorter[i].bytes.pop_back();
    EXPECT_FALSE(restored.Restore(BytesOf(shorter)).ok()) << i;
    std::vector<Block> longer = blocks;
    longer[i].bytes += '\0';
    EXPECT_FALSE(restored.Restore(BytesOf(longer)).ok()) << i;
  }
  EXPECT_TRUE(restored.Snapshot(kIdentity) == before);
  EXPECT_TRUE(restored.Restore(BytesOf(blocks)).ok());
}

INSTANTIATE_TEST_SUITE_P(Engines, StreamedRestore,
                         testing::Values(LifeChoice{.axis = Axis::kArrival, .rich = false},
                                         LifeChoice{.axis = Axis::kEvent, .rich = true}),
                         [](const auto& each) { return each.param.rich ? "Rich" : "Plain"; });

// --- Large ones

// What a restore has read, and how many bytes of states it has made of that.
struct Progress {
  size_t read = 0;
  size_t used = 0;
  size_t most_unused = 0;
};
Progress progress;

class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(std::string_view bytes) : source_(bytes) { progress = {}; }
  absl::StatusOr<size_t> Read(std::span<char> room) override {
    absl::StatusOr<size_t> read = source_.Read(room);
    progress.read += read.value();
    return read;
  }

 private:
  StringSource source_;
};

struct Text {
  std::string text;

  void Fold(const std::string& more) noexcept { text += more; }
  size_t HeapBytes() const noexcept { return text.capacity(); }
  template <class F>
  void Stored(F& f) {
    f(text);
    if constexpr (std::is_same_v<F, FieldReader>) {
      progress.used += text.size();
      progress.most_unused = std::max(progress.most_unused, progress.read - progress.used);
    }
  }
};

struct Texts {
  explicit Texts(int partitions = 1)
      : engine(Engine::Open({.partitions = partitions}).value()),
        texts(*engine, "texts", {.quiet_period = 60s, .max_wait = 3600s}) {}

  std::string Snapshot() const {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*engine, sink, {.identity = kIdentity, .compress = false}).ok());
    return sink.bytes;
  }

  std::unique_ptr<Engine> engine;
  Folder<std::string, Text> texts;
};

TEST(StreamedRestoreTest, FewBytesOfAPartitionAreInMemoryAtATime) {
  Texts before;
  for (int i = 0; i < 12'000; ++i) {
    before.texts.Fold("key " + std::to_string(i), std::string(1000, 'x'), kT0);
  }
  const std::string snapshot = before.Snapshot();
  ASSERT_GT(snapshot.size(), 11 * kMiB);
  Texts after;
  CountingSource source(snapshot);
  ASSERT_TRUE(RestoreSnapshot(*after.engine, source, {.skip_numbers = 0}).ok());
  EXPECT_EQ(progress.used, size_t{12'000'000});
  // Names and counts are not counted as used.
  EXPECT_LT(progress.most_unused, 2 * kMiB + 12'000 * 50);
  EXPECT_TRUE(after.Snapshot() == snapshot);
}

TEST(StreamedRestoreTest, AStateMayBeLargerThanABlock) {
  Texts before;
  for (int i = 0; i < 3; ++i) {
    before.texts.Fold("key " + std::to_string(i), std::string(5 * kMiB + 7, 'x'), kT0);
  }
  const std::string snapshot = before.Snapshot();
  Texts after;
  StringSource source(snapshot);
  ASSERT_TRUE(RestoreSnapshot(*after.engine, source, {.skip_numbers = 0}).ok());
  EXPECT_TRUE(after.Snapshot() == snapshot);
}

// The books of one collection are passed over, those behind them are not.
TEST(StreamedRestoreTest, ACollectionOfManyBlocksCanBeDropped) {
  Texts before(2);
  Folder<std::string, Text> others(*before.engine, "others",
                                   {.quiet_period = 60s, .max_wait = 3600s});
  for (int i = 0; i < 100; ++i) {
    others.Fold("key " + std::to_string(i), std::string(100'000, 'x'), kT0);
    before.texts.Fold("key " + std::to_string(i), "text", kT0);
  }
  Texts after(2);
  const std::string snapshot = before.Snapshot();
  StringSource source(snapshot);
  const std::vector<std::string> drop = {"others"};
  const absl::Status restored = RestoreSnapshot(*after.engine, source, {.drop = drop});
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_EQ(after.texts.sizes().open_groups, 100u);
}

TEST(StreamedRestoreTest, ABlockOutOfPlaceIsRefusedWhereItIs) {
  Texts before(2);
  for (int i = 0; i < 8; ++i) before.texts.Fold("key " + std::to_string(i), "text", kT0);
  const std::vector<Block> blocks = BlocksOf(before.Snapshot());
  ASSERT_EQ(blocks.size(), 5u) << "two of the head, two partitions, the end";
  const auto refused = [](const std::vector<Block>& changed, std::string_view why) {
    Texts after(2);
    const std::string bytes = BytesOf(changed);
    StringSource source(bytes);
    const absl::Status restored = RestoreSnapshot(*after.engine, source);
    EXPECT_TRUE(absl::IsDataLoss(restored));
    EXPECT_THAT(std::string(restored.message()), HasSubstr(why));
  };
  const std::string second = "at byte " + std::to_string(blocks[3].offset) + ": ";
  for (const BlockKind kind : {BlockKind::kBook, BlockKind::kMore}) {
    std::vector<Block> changed = blocks;
    changed[3].kind = kind;
    refused(changed, second + "the block is out of place");
  }
  std::vector<Block> twice = blocks;
  twice[3].owner = twice[2].owner;
  refused(twice, second + "the block is out of place");
  // An empty part has no book behind it, and no collection has two.
  std::vector<Block> empty = blocks;
  empty[2].bytes.clear();
  empty.insert(empty.begin() + 3, blocks[2]);
  empty[3].kind = BlockKind::kBook;
  refused(empty, "says something impossible");
  empty[2].bytes = blocks[2].bytes;
  refused(empty, second + "partition");
}

}  // namespace
}  // namespace pleat::inline v0_1
