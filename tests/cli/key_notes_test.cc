#include "tools/pleat/run/key_notes.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Message> MessagesOf(const std::vector<std::string>& keys) {
  std::vector<Message> messages;
  for (const std::string& each : keys) {
    messages.push_back({.id = {.partition = 3}, .stream = "fold", .key = each});
  }
  return messages;
}

bool BelongsAnywhere(int, std::string_view) { return true; }
bool BelongsNowhere(int, std::string_view) { return false; }

TEST(KeyNotesTest, TellsOnceOfAKeyThatIsElsewhere) {
  KeyNotes notes;
  const auto may_hold = [](int partition, std::string_view key) {
    EXPECT_EQ(partition, 3);
    return key != "ann";
  };
  EXPECT_THAT(notes.Look(MessagesOf({R"("ann")"}), 0, may_hold), IsEmpty()) << "not known yet";
  EXPECT_THAT(notes.Look(MessagesOf({R"("bob")", "17"}), 8, may_hold), IsEmpty());
  EXPECT_THAT(notes.Look(MessagesOf({R"("bob")", R"("ann")"}), 8, may_hold),
              HasSubstr("the key ann was in partition 3 of 8, where no producer puts"));
  EXPECT_THAT(notes.Look(MessagesOf({R"("ann")"}), 8, may_hold), IsEmpty());
}

TEST(KeyNotesTest, LooksAtNoKeyThatIsWrittenInManyWays) {
  KeyNotes notes;
  EXPECT_THAT(
      notes.Look(MessagesOf({R"(["a",1])", R"({"a":1})", R"("a\"b")", ""}), 8, BelongsNowhere),
      IsEmpty());
  std::vector<Message> emitted = MessagesOf({"ann"});
  emitted[0].stream = "emitted";
  EXPECT_THAT(notes.Look(emitted, 8, BelongsNowhere), IsEmpty()) << "it has the record's key";
}

TEST(KeyNotesTest, TellsOfPartitionsThatWereAdded) {
  KeyNotes notes;
  EXPECT_THAT(notes.Look({}, 4, BelongsAnywhere), IsEmpty());
  EXPECT_THAT(notes.Look({}, 6, BelongsAnywhere),
              HasSubstr("the topic has 6 partitions, and had 4"));
  EXPECT_THAT(notes.Look({}, 6, BelongsAnywhere), IsEmpty());
}

}  // namespace
}  // namespace pleat::cli
