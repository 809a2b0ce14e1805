// The metadata of a commit: what is read is what was written, any damage is seen, and there is room.
#include "engine/lanes/lane_checkpoint.h"

#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>
#include <pleat/stored.h>
#include <pleat/untyped/partitioned_log.h>

#include "engine/lanes/store_commit.h"
#include "tests/support/seeds.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

LaneCheckpoint Drawn(std::mt19937_64& random) {
  const auto draw = [&](uint64_t n) { return random() % n; };
  LaneCheckpoint checkpoint{.life = random(),
                            .version = random(),
                            .origin = draw(2) == 0 ? 0 : random() >> draw(64),
                            .now = Clamp(EngineTime(Duration(static_cast<int64_t>(random()))))};
  if (draw(2) == 0) {
    checkpoint.takeovers = 1 + (random() >> draw(64)) / 2;
    checkpoint.taken_over = kT0 + Duration(draw(1'000'000));
  }
  if (draw(2) == 0) checkpoint.snapshot = {.number = random(), .offset = random()};
  if (draw(2) == 0) checkpoint.held = random();
  if (draw(2) == 0) checkpoint.buried = random();
  for (uint64_t i = draw(kLaneTicksMax + 1); i > 0; --i) {
    checkpoint.ticks.push_back({.offset = random(), .time = kT0 + Duration(draw(1'000'000))});
  }
  for (uint64_t i = draw(kLaneStreamsMax + 1); i > 0; --i) {
    StreamCheckpoint stream{
        .digest = random(), .confirmed = random() >> (1 + draw(63)), .ranges = {}};
    uint64_t at = stream.confirmed;
    for (uint64_t ranges = draw(3); ranges > 0; --ranges) {
      const uint64_t begin = at + 1 + draw(10);
      at = begin + 1 + draw(10);
      stream.ranges.push_back({.begin = begin, .end = at});
    }
    stream.decided = at + draw(10);
    checkpoint.streams.push_back(stream);
  }
  return checkpoint;
}

TEST(LaneCheckpointTest, IsReadAsItWasWritten) {
  ForEachSeed(1, 20'000, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    LaneCheckpoint written = Drawn(random);
    const std::string bytes = BytesOf(written);
    EXPECT_LE(bytes.size(), kCommitMetadataBytesMax);
    const std::optional<LaneCheckpoint> read = CheckpointIn(bytes);
    ASSERT_TRUE(read);
    // Ranges without room are left out.
    for (size_t i = 0; i < written.streams.size(); ++i) {
      ASSERT_LE(read->streams[i].ranges.size(), written.streams[i].ranges.size());
      written.streams[i].ranges.resize(read->streams[i].ranges.size());
    }
    EXPECT_EQ(*read, written);
  });
}

TEST(LaneCheckpointTest, IsNotReadIfAnyBitIsWrong) {
  std::mt19937_64 random(1);
  const std::string bytes = BytesOf(Drawn(random));
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << (i % 8)));
    EXPECT_FALSE(CheckpointIn(damaged)) << "bit " << i;
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(CheckpointIn(std::string_view(bytes).substr(0, size))) << size << " bytes";
  }
  EXPECT_FALSE(CheckpointIn(bytes + "x"));
}

// The first format had no books, and both formats before had no takeovers.
TEST(LaneCheckpointTest, ReadsTheFormatsBefore) {
  std::mt19937_64 random(1);
  LaneCheckpoint written = Drawn(random);
  written.snapshot = {.number = 3, .offset = 17};
  written.takeovers = 0;
  written.taken_over = {};
  const auto of_format = [&](char format) {
    FieldWriter before_takeovers;
    before_takeovers.PutNumber(written.origin);
    before_takeovers.PutNumber(static_cast<uint64_t>((written.now - kBeginningOfTime).count()));
    std::string bytes = BytesOf(written);
    bytes.resize(bytes.size() - 8);
    bytes.erase(1 + 2 * 8 + before_takeovers.size(), 1);
    bytes[0] = format;
    FieldWriter checksum;
    checksum.PutWord(StablePartitionHash(bytes));
    return bytes + std::string(checksum.bytes());
  };
  written.held = 7;
  EXPECT_FALSE(CheckpointIn(of_format(1)));
  EXPECT_EQ(CheckpointIn(of_format(2)), written);
  EXPECT_FALSE(CheckpointIn(of_format(4)));
  written.held.reset();
  written.buried.reset();
  EXPECT_EQ(CheckpointIn(of_format(1)), written);
}

TEST(LaneCheckpointTest, HasRoomForTheMostOfEverything) {
  LaneCheckpoint most{.life = UINT64_MAX,
                      .version = UINT64_MAX,
                      .origin = UINT64_MAX,
                      .now = kEndOfTime,
                      .takeovers = UINT64_MAX,
                      .taken_over = kEndOfTime,
                      .snapshot = LaneSnapshotPlace{UINT64_MAX, UINT64_MAX},
                      .held = UINT64_MAX,
                      .buried = UINT64_MAX};
  most.ticks.assign(kLaneTicksMax, {.offset = UINT64_MAX, .time = kEndOfTime});
  most.streams.assign(kLaneStreamsMax, {.decided = UINT64_MAX, .digest = UINT64_MAX});
  const std::string bytes = BytesOf(most);
  EXPECT_LE(bytes.size(), kCommitMetadataBytesMax);
  EXPECT_EQ(CheckpointIn(bytes), most);
}

TEST(StoreCommitTest, AConsumerThatWasMovedHasACommitAlsoAtTheBeginning) {
  EXPECT_FALSE(CommitIn({.partition = 0, .position = 0, .metadata = {}}));
  const std::optional<LogCommit> moved =
      CommitIn({.partition = 0, .position = 0, .metadata = std::string(kLaneMetadata)});
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->offset, 0u);
  EXPECT_TRUE(moved->metadata.empty());
}

}  // namespace
}  // namespace pleat::inline v0_1
