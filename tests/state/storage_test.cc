// What a Storage does, on the files of the system and on those in memory alike. What only the
// system has (modes, links, processes) is in posix_storage_test.cc.
#include <pleat/untyped/storage.h>

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/faulty_storage.h"
#include "tests/support/storage_files.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct StorageSide {
  const char* name;
  std::function<Storage*(FaultyStorage&)> storage;
};

class StorageTest : public testing::TestWithParam<StorageSide> {
 protected:
  absl::StatusOr<std::unique_ptr<StorageDirectory>> Open(
      std::string_view name, IfMissing if_missing = IfMissing::kCreate) {
    return storage_.OpenDirectory(above_ / name, if_missing);
  }

  TemporaryDirectory above_;
  FaultyStorage faulty_;
  Storage& storage_ = *GetParam().storage(faulty_);
  std::unique_ptr<StorageDirectory> directory_ = *Open("files");
};

INSTANTIATE_TEST_SUITE_P(
    Storages, StorageTest,
    testing::Values(StorageSide{"Posix", [](FaultyStorage&) { return &PosixStorage(); }},
                    StorageSide{"Faulty", [](FaultyStorage& faulty) { return &faulty; }}),
    [](const auto& side) { return side.param.name; });

TEST_P(StorageTest, ADirectoryThatIsMissingIsMadeOnlyIfAsked) {
  const absl::Status missing = Open("other", IfMissing::kFail).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "cannot open " + above_ / "other" + ": No such file or directory");
  EXPECT_TRUE(Open("other", IfMissing::kCreate).ok());
  EXPECT_TRUE(Open("other", IfMissing::kCreate).ok());
  EXPECT_TRUE(Open("other", IfMissing::kFail).ok());
}

TEST_P(StorageTest, APathMayEndWithSlashes) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  const auto same = Open("files//");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ((*same)->path(), above_ / "files//");
  EXPECT_EQ(ReadWhole(**same, "a").value(), "text");
}

TEST_P(StorageTest, WhatWasAppendedIsReadFromAnyPlace) {
  auto writer = directory_->CreateFile("a");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("some ").ok());
  ASSERT_TRUE((*writer)->Append("").ok());
  ASSERT_TRUE((*writer)->Append(std::string_view("by\0es", 5)).ok());
  ASSERT_TRUE((*writer)->Sync().ok());
  ASSERT_TRUE((*writer)->Append("!").ok());
  ASSERT_TRUE((*writer)->Close().ok());

  const auto reader = directory_->OpenFile("a");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->Size().value(), 11u);
  EXPECT_EQ(ReadSome(**reader, 0, 100), std::string_view("some by\0es!", 11));
  EXPECT_EQ(ReadSome(**reader, 5, 2), "by");
  EXPECT_EQ(ReadSome(**reader, 10, 2), "!");
  EXPECT_EQ(ReadSome(**reader, 11, 2), "");
  EXPECT_EQ(ReadSome(**reader, 1000, 2), "");
  EXPECT_EQ(ReadSome(**reader, 3, 0), "");
}

TEST_P(StorageTest, AFileOfSomeMegabytesIsReadAsItWasWritten) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += std::to_string(i) + ' ';
  ASSERT_TRUE(WriteFile(*directory_, "a", bytes).ok());
  EXPECT_TRUE(ReadWhole(*directory_, "a").value() == bytes);
}

TEST_P(StorageTest, AFileIsReadWhileItIsWritten) {
  const auto writer = directory_->CreateFile("a");
  const auto reader = directory_->OpenFile("a");
  ASSERT_TRUE(writer.ok() && reader.ok());
  EXPECT_EQ((*reader)->Size().value(), 0u);
  ASSERT_TRUE((*writer)->Append("abc").ok());
  EXPECT_EQ(ReadSome(**reader, 1, 9), "bc");
}

TEST_P(StorageTest, AFileIsMadeOnce) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "first").ok());
  const absl::Status again = directory_->CreateFile("a").status();
  EXPECT_EQ(again.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(again.message(), "cannot create " + above_ / "files/a" + ": File exists");
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "first");
}

TEST_P(StorageTest, WhatIsNotThereIsNotFound) {
  const absl::Status opened = directory_->OpenFile("a").status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(opened.message(), HasSubstr("cannot open " + above_ / "files/a"));
  const absl::Status removed = directory_->Remove("a");
  EXPECT_EQ(removed.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(removed.message(), HasSubstr("cannot remove " + above_ / "files/a"));
  const absl::Status renamed = directory_->Rename("a", "b");
  EXPECT_EQ(renamed.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(renamed.message(), HasSubstr("cannot rename to b " + above_ / "files/a"));
}

TEST_P(StorageTest, ARenamedFileTakesThePlaceOfAnother) {
  ASSERT_TRUE(WriteFile(*directory_, "old", "old text").ok());
  ASSERT_TRUE(WriteFile(*directory_, "new", "new text").ok());
  const auto reader = directory_->OpenFile("old");
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(directory_->Rename("new", "old").ok());
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  EXPECT_EQ(ReadWhole(*directory_, "old").value(), "new text");
  EXPECT_THAT(directory_->List().value(), ElementsAre("old"));
  EXPECT_EQ(ReadSome(**reader, 0, 100), "old text");

  ASSERT_TRUE(directory_->Rename("old", "old").ok());
  EXPECT_EQ(ReadWhole(*directory_, "old").value(), "new text");
}

TEST_P(StorageTest, ARemovedFileCanBeReadToItsEnd) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  const auto reader = directory_->OpenFile("a");
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(directory_->Remove("a").ok());
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  EXPECT_THAT(directory_->List().value(), IsEmpty());
  EXPECT_EQ(ReadSome(**reader, 0, 100), "text");
  ASSERT_TRUE(WriteFile(*directory_, "a", "other").ok());
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "other");
}

TEST_P(StorageTest, NamesAreSortedAndTheLockIsNotAmongThem) {
  ASSERT_TRUE(directory_->Lock().ok());
  for (const char* name : {"b", "a10", "a9", ".hidden", "B"}) {
    ASSERT_TRUE(WriteFile(*directory_, name, "").ok());
  }
  EXPECT_THAT(directory_->List().value(), ElementsAre(".hidden", "B", "a10", "a9", "b"));
  EXPECT_THAT(directory_->List().value(), testing::SizeIs(5));
}

TEST_P(StorageTest, ANameIsThatOfAFileRightInside) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  for (const std::string_view name :
       {std::string_view(""), std::string_view("."), std::string_view(".."),
        std::string_view("LOCK"), std::string_view("a/b"), std::string_view("/a"),
        std::string_view("a/"), std::string_view("a\0b", 3)}) {
    const absl::Status created = directory_->CreateFile(name).status();
    EXPECT_EQ(created.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(created.message(), HasSubstr("cannot be the name of a file in " + above_.path()));
    EXPECT_EQ(directory_->OpenFile(name).status(), created);
    EXPECT_EQ(directory_->Rename(name, "b"), created);
    EXPECT_EQ(directory_->Rename("a", name), created);
    EXPECT_EQ(directory_->Remove(name), created);
  }
  EXPECT_THAT(directory_->List().value(), ElementsAre("a"));
}

TEST_P(StorageTest, AClosedWriterIsOfNoUse) {
  auto writer = directory_->CreateFile("a");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("abc").ok());
  ASSERT_TRUE((*writer)->Close().ok());
  for (const absl::Status& late : {(*writer)->Append("d"), (*writer)->Sync(), (*writer)->Close()}) {
    EXPECT_EQ(late.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(late.message(), above_ / "files/a" + " is closed");
  }
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "abc");
}

TEST_P(StorageTest, WritersAndReadersOutliveTheDirectory) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  const auto reader = directory_->OpenFile("a");
  const auto writer = directory_->CreateFile("b");
  directory_ = nullptr;
  EXPECT_EQ(ReadSome(**reader, 0, 100), "text");
  EXPECT_TRUE((*writer)->Append("more").ok());
  EXPECT_TRUE((*writer)->Sync().ok());
  directory_ = *Open("files");
  EXPECT_EQ(ReadWhole(*directory_, "b").value(), "more");
}

TEST_P(StorageTest, TheLockIsOfOneHandle) {
  ASSERT_TRUE(directory_->Lock().ok());
  EXPECT_TRUE(directory_->Lock().ok());
  auto other = *Open("files");
  const absl::Status locked = other->Lock();
  EXPECT_EQ(locked.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(locked.message(),
            above_ / "files" + " is locked by process " + std::to_string(getpid()));
  directory_ = nullptr;
  EXPECT_TRUE(other->Lock().ok());
  EXPECT_FALSE((*Open("files"))->Lock().ok());
  EXPECT_TRUE((*Open("others"))->Lock().ok());
}

TEST_P(StorageTest, OnlyTheLockHeedsTheLock) {
  ASSERT_TRUE(directory_->Lock().ok());
  const auto other = *Open("files");
  EXPECT_TRUE(WriteFile(*other, "a", "text").ok());
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "text");
}

}  // namespace
}  // namespace pleat::inline v0_1
