// What the notes of a store say of FILEs, written and read again.
#include "tools/pleat/store/file_notes.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat::cli {
namespace {

using testing::HasSubstr;

RunNote::Input InputOf(const std::string& name, uint64_t bytes) {
  RunNote::Input input;
  input.name = name;
  input.bytes = bytes;
  input.line_ends = {{bytes / 2, 5}, {bytes, 6}};
  return input;
}

// All notes of some inputs, as a store would give them.
StoreNotes NotesOf(const std::vector<RunNote::Input>& inputs) {
  FileNotes notes;
  StoreNotes stored;
  for (const RunNote::Input& input : inputs) notes.inputs().push_back(input);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const auto& text : {notes.TakeLines(i), notes.TakePlace(i)}) {
      if (text) stored[text->name] = text->value;
    }
  }
  return stored;
}

TEST(FileNotes, AreReadAsTheyWereWritten) {
  std::vector<RunNote::Input> inputs;
  for (uint64_t i = 0; i < 12; ++i) inputs.push_back(InputOf("/f" + std::to_string(i), 100 + i));
  FileNotes notes;
  ASSERT_TRUE(notes.Load(NotesOf(inputs)).ok());
  ASSERT_EQ(notes.inputs().size(), 12u);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(notes.inputs()[i].name, inputs[i].name);
    EXPECT_EQ(notes.inputs()[i].bytes, inputs[i].bytes);
    ASSERT_EQ(notes.inputs()[i].line_ends.size(), 2u);
    EXPECT_EQ(notes.inputs()[i].line_ends[1].digest, 6u);
  }
  EXPECT_EQ(notes.noted(), 12u);
}

TEST(FileNotes, AreWrittenOnceAndAgainWhenTheyHaveChanged) {
  FileNotes notes;
  ASSERT_TRUE(notes.Load(NotesOf({InputOf("/a", 100)})).ok());
  EXPECT_FALSE(notes.TakePlace(0));
  EXPECT_FALSE(notes.TakeLines(0));
  notes.inputs()[0].bytes = 150;
  EXPECT_TRUE(notes.TakePlace(0));
  EXPECT_FALSE(notes.TakePlace(0));
  EXPECT_FALSE(notes.TakeLines(0));
  notes.inputs()[0].line_ends.push_back({150, 7});
  EXPECT_FALSE(notes.TakePlace(0)) << "the list is in the other note";
  EXPECT_TRUE(notes.TakeLines(0));
}

// A kill may come between the two notes.
TEST(FileNotes, EndsOfLinesBehindThePlaceDoNotCount) {
  StoreNotes stored = NotesOf({InputOf("/a", 100)});
  ASSERT_EQ(stored.size(), 2u);
  stored["pleat.file.0"] = NotesOf({InputOf("/a", 60)})["pleat.file.0"];
  FileNotes notes;
  ASSERT_TRUE(notes.Load(stored).ok());
  ASSERT_EQ(notes.inputs()[0].line_ends.size(), 1u);
  EXPECT_EQ(notes.inputs()[0].line_ends[0].bytes, 50u);
  notes.inputs()[0].line_ends.push_back({60, 7});
  EXPECT_TRUE(notes.TakeLines(0)) << "as many, and others";
}

TEST(FileNotes, OfOtherProgramsArePassedOver) {
  FileNotes notes;
  ASSERT_TRUE(notes.Load({{"mine", "x"}, {"pleat.file.x", "y"}}).ok());
  EXPECT_TRUE(notes.inputs().empty());
}

TEST(FileNotes, ThatCannotBeReadAreRefusedByName) {
  FileNotes damaged;
  absl::Status refused = damaged.Load({{"pleat.file.0", "\x01x"}});
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the note pleat.file.0"));
  StoreNotes newer = NotesOf({InputOf("/a", 100)});
  for (auto& [name, value] : newer) value[0] = 9;
  FileNotes of_newer;
  EXPECT_TRUE(absl::IsUnimplemented(of_newer.Load(newer)));
  StoreNotes gap = NotesOf({InputOf("/a", 100), InputOf("/b", 100)});
  gap.erase("pleat.file.0");
  FileNotes with_gap;
  EXPECT_TRUE(absl::IsDataLoss(with_gap.Load(gap)));
}

}  // namespace
}  // namespace pleat::cli
