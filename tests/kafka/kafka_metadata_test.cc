// What a commit looks like to a broker, byte for byte: members of other versions read the same group.
#include "engine/kafka/kafka_metadata.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seeds.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kMetadataMax = 1'000;  // the strictest broker takes 1,024

LogCommit Of(uint64_t offset, uint64_t needed, std::string metadata) {
  return {.partition = 3, .offset = offset, .needed = needed, .metadata = std::move(metadata)};
}

TEST(KafkaMetadataTest, HasTheseBytes) {
  EXPECT_EQ(KafkaMetadata(Of(0, 0, "")), "PL1AAA");
  EXPECT_EQ(KafkaMetadata(Of(0, 0, "a")), "PL1AABh");
  EXPECT_EQ(KafkaMetadata(Of(0, 0, "ab")), "PL1AABhYg");
  EXPECT_EQ(KafkaMetadata(Of(300, 299,
                             "\xfb\xff\xfe"
                             "any bytes")),
            "PL1rAIB+//+YW55IGJ5dGVz");
}

TEST(KafkaMetadataTest, IsReadAsItWasWritten) {
  ForEachSeed(1, 20'000, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const uint64_t offset = random() >> (16 + random() % 48);
    std::string bytes(random() % (kCommitMetadataBytesMax + 1), ' ');
    for (char& each : bytes) each = static_cast<char>(random());
    const LogCommit written = Of(offset, random() % (offset + 1), bytes);
    const std::string text = KafkaMetadata(written);
    ASSERT_LE(text.size(), kMetadataMax);
    for (const char each : text) ASSERT_TRUE(each > ' ' && each <= '~') << text;
    const LogCommit read = KafkaCommit(3, offset, text);
    ASSERT_EQ(read.offset, written.offset);
    ASSERT_EQ(read.needed, written.needed);
    ASSERT_EQ(read.metadata, written.metadata);
    // Somebody has moved the group.
    EXPECT_EQ(KafkaCommit(3, offset + 1, text).metadata, "");
  });
}

TEST(KafkaMetadataTest, DamageIsHandedOnAndThatOfAnotherProgramIsNone) {
  const std::string text = KafkaMetadata(Of(0, 0, "ab"));
  const std::string but_last = text.substr(0, text.size() - 1);
  // Of these bytes, abseil alone would read all but the last one.
  for (const std::string& damaged :
       {text + "==", text + "\n", but_last + " g", but_last + "h", text + "!"}) {
    EXPECT_EQ(KafkaCommit(3, 0, damaged).metadata, damaged);
  }
  EXPECT_EQ(KafkaCommit(3, 0, "of another program").metadata, "");
  EXPECT_EQ(KafkaCommit(3, 7, "").needed, 7u);
}

}  // namespace
}  // namespace pleat::inline v0_1
