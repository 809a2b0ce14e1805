// The disk in memory fails as a real one may: what a power loss leaves, and what faults do. A test
// that relies on it is worth as much as this one.
#include "tests/support/faulty_storage.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/storage_files.h"

namespace pleat::inline v0_1 {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr uint64_t kMost = 1 << 12;
using Kind = StorageCall::Kind;

std::unique_ptr<StorageDirectory> OpenD(FaultyStorage& storage) {
  return *storage.OpenDirectory("/d", IfMissing::kCreate);
}

// The files of a machine, each as "name=content".
std::string Image(const FaultyStorage& storage) {
  std::string image;
  for (const std::string& path : storage.Paths()) {
    image += path.substr(path.rfind('/') + 1) + "=" + storage.Content(path) + " ";
  }
  return image;
}

// After any power loss.
std::set<std::string> Images(const FaultyStorage& storage) {
  std::set<std::string> images;
  EXPECT_LE(ForEachPowerLoss(storage, kMost, 1,
                             [&](const FaultyStorage& left) {
                               images.insert(Image(left));
                               EXPECT_EQ(left.PowerLosses(), 1u);
                             }),
            kMost);
  return images;
}

// A long text without zeros, in which no two sectors are alike.
std::string Text(size_t size) {
  std::string text;
  for (int i = 1'000'000; text.size() < size; ++i) text += std::to_string(i) + ' ';
  return text.substr(0, size);
}

class FaultyStorageTest : public testing::Test {
 protected:
  void Write(std::string_view name, std::string_view bytes) {
    ASSERT_TRUE(WriteFile(*directory_, name, bytes).ok());
  }
  void Keep(std::string_view name, std::string_view bytes) {
    Write(name, bytes);
    ASSERT_TRUE(directory_->SyncDirectory().ok());
  }

  FaultyStorage storage_;
  std::unique_ptr<StorageDirectory> directory_ = OpenD(storage_);
};

TEST_F(FaultyStorageTest, WhatWasSyncedSurvives) {
  Keep("a", Text(3000));
  EXPECT_EQ(storage_.PowerLosses(), 1u);
  EXPECT_THAT(Images(storage_), ElementsAre("a=" + Text(3000) + " "));
}

TEST_F(FaultyStorageTest, AFileWhoseDirectoryWasNotSyncedMayBeGone) {
  Write("a", "text");
  EXPECT_THAT(Images(storage_), ElementsAre("", "a=text "));
}

TEST_F(FaultyStorageTest, UnsyncedBytesAreLostByTheSectorAndByTheSize) {
  const std::string text = Text(1300);
  auto writer = *directory_->CreateFile("a");
  ASSERT_TRUE(writer->Append(text.substr(0, 100)).ok());
  ASSERT_TRUE(writer->Sync().ok());
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  ASSERT_TRUE(writer->Append(text.substr(100, 300)).ok());
  ASSERT_TRUE(writer->Append(text.substr(400)).ok());

  std::set<std::string> expected = {"a=" + text.substr(0, 100) + " "};
  for (const size_t size : {400, 512, 1024, 1300}) {
    for (int kept = 0; kept < 8; ++kept) {
      std::string bytes = text.substr(0, size);
      for (size_t i = 100; i < size; ++i) {
        if ((kept >> (i / 512) & 1) == 0) bytes[i] = '\0';
      }
      expected.insert("a=" + bytes + " ");
    }
  }
  EXPECT_EQ(Images(storage_), expected);
  EXPECT_EQ(storage_.PowerLosses(), 1u + 2 + 2 + 4 + 8);
}

TEST_F(FaultyStorageTest, ALostSectorMayShowWhatAnOlderFileHadThere) {
  storage_.set_lost(Lost::kOlderFile);
  Keep("old", std::string(512, 'o') + "ooo");
  ASSERT_TRUE(directory_->Remove("old").ok());
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  auto writer = *directory_->CreateFile("new");
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  ASSERT_TRUE(writer->Append(std::string(520, 'n')).ok());
  const std::string o(512, 'o');
  const std::string n(512, 'n');
  EXPECT_THAT(
      Images(storage_),
      UnorderedElementsAre("new= ", "new=" + o + " ", "new=" + n + " ", "new=" + n + "nnnnnnnn ",
                           "new=" + o + "nnnnnnnn ", "new=" + n + std::string("ooo\0\0\0\0\0 ", 9),
                           "new=" + o + std::string("ooo\0\0\0\0\0 ", 9)));
}

TEST_F(FaultyStorageTest, AFileThatWasReplacedIsAnOlderFileToo) {
  storage_.set_lost(Lost::kOlderFile);
  Keep("a", "older");
  Keep("b", "newer");
  ASSERT_TRUE(directory_->Rename("b", "a").ok());
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  auto writer = *directory_->CreateFile("c");
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  ASSERT_TRUE(writer->Append("last").ok());
  EXPECT_THAT(Images(storage_), ElementsAre("a=newer c= ", "a=newer c=last ", "a=newer c=olde "));
}

TEST_F(FaultyStorageTest, RenamingAndRemovingMayBeUndoneUntilTheDirectoryIsSynced) {
  Keep("a", "1");
  Keep("b", "2");
  Keep("c", "3");
  ASSERT_TRUE(directory_->Rename("a", "b").ok());
  ASSERT_TRUE(directory_->Remove("c").ok());
  EXPECT_THAT(Images(storage_), ElementsAre("a=1 b=2 ", "a=1 b=2 c=3 ", "b=1 ", "b=1 c=3 "));
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  EXPECT_THAT(Images(storage_), ElementsAre("b=1 "));
}

TEST_F(FaultyStorageTest, AnyOfTheStepsOfADirectoryMayBeUndone) {
  Write("a", "1");
  ASSERT_TRUE(directory_->Rename("a", "b").ok());
  EXPECT_THAT(Images(storage_), ElementsAre("", "a=1 ", "b=1 "));
  EXPECT_EQ(storage_.PowerLosses(), 4u);
}

TEST_F(FaultyStorageTest, ADirectoryIsKeptOnceItWasOpenedToBeMade) {
  EXPECT_THAT(Images(storage_), ElementsAre(""));
  FaultyStorage crashed;
  crashed.CrashAt(2);
  EXPECT_FALSE(crashed.OpenDirectory("/d", IfMissing::kCreate).ok());
  EXPECT_EQ(crashed.PowerLosses(), 2u);
  EXPECT_EQ(crashed.log()[2].ToString(), "sync the directory above /d");
}

// What storage.h recommends, and what goes wrong where one of its steps is left out.
struct ReplaceSteps {
  bool sync_file = true;
  bool rename_over = true;  // otherwise the old file goes first
  bool sync_directory = true;
};

absl::Status Replace(StorageDirectory& directory, std::string_view bytes, ReplaceSteps steps) {
  auto writer = directory.CreateFile("new");
  if (!writer.ok()) return writer.status();
  for (size_t i = 0; i < bytes.size(); i += 400) {
    if (absl::Status s = (*writer)->Append(bytes.substr(i, 400)); !s.ok()) return s;
  }
  if (steps.sync_file) {
    if (absl::Status s = (*writer)->Sync(); !s.ok()) return s;
  }
  if (absl::Status s = (*writer)->Close(); !s.ok()) return s;
  if (!steps.rename_over) {
    if (absl::Status s = directory.Remove("current"); !s.ok()) return s;
  }
  if (absl::Status s = directory.Rename("new", "current"); !s.ok()) return s;
  return steps.sync_directory ? directory.SyncDirectory() : absl::OkStatus();
}

// What "current" has after a crash at any call, and, under "done", what it has after all of them.
std::map<std::string, std::set<std::string>> CurrentAfter(ReplaceSteps steps) {
  FaultyStorage storage;
  storage.SetContent("/d/current", "old");
  storage.Record();
  const auto directory = OpenD(storage);
  EXPECT_TRUE(Replace(*directory, Text(1000), steps).ok());
  std::map<std::string, std::set<std::string>> found;
  for (size_t call = 0; call <= storage.calls(); ++call) {
    const bool appends = call < storage.calls() && storage.log()[call].kind == Kind::kAppend;
    for (uint64_t bytes = 0; bytes <= (appends ? storage.log()[call].bytes : 0); ++bytes) {
      ForEachPowerLoss(storage.At(call, bytes), kMost, 1, [&](FaultyStorage left) {
        auto current = ReadWhole(*OpenD(left), "current");
        found[call == storage.calls() ? "done" : "under way"].insert(current.value_or("none"));
      });
    }
  }
  return found;
}

TEST(FaultyStorage, AFileThatIsReplacedAsRecommendedIsTheOldOneOrTheNewOne) {
  auto found = CurrentAfter({});
  EXPECT_THAT(found["under way"], ElementsAre(Text(1000), "old"));
  EXPECT_THAT(found["done"], ElementsAre(Text(1000)));
}

TEST(FaultyStorage, EachStepOfTheRecommendationIsNeeded) {
  EXPECT_THAT(CurrentAfter({.sync_file = false})["done"], Contains(std::string(1000, '\0')));
  EXPECT_THAT(CurrentAfter({.rename_over = false})["under way"], Contains("none"));
  EXPECT_THAT(CurrentAfter({.sync_directory = false})["done"], Contains("old"));
}

TEST(FaultyStorage, ARecordedMomentIsACrashAtThatCall) {
  const auto run = [](FaultyStorage& storage) {
    const auto directory = storage.OpenDirectory("/d", IfMissing::kCreate);
    if (directory.ok()) (void)Replace(**directory, Text(1000), {});
  };
  FaultyStorage recorded;
  recorded.Record();
  run(recorded);
  ASSERT_EQ(recorded.calls(), 11u);
  for (size_t call = 0; call <= recorded.calls(); ++call) {
    const bool appends = call < recorded.calls() && recorded.log()[call].kind == Kind::kAppend;
    for (const uint64_t bytes : {0, 1, 200}) {
      if (bytes > 0 && !appends) continue;
      FaultyStorage crashed;
      crashed.CrashAt(call, bytes);
      run(crashed);
      EXPECT_EQ(Images(crashed), Images(recorded.At(call, bytes))) << call;
      EXPECT_EQ(Image(crashed), Image(recorded.At(call, bytes))) << call;
    }
  }
}

TEST(FaultyStorage, WithoutPowerEveryCallFailsAndDoesNothing) {
  FaultyStorage storage;
  const auto directory = OpenD(storage);
  ASSERT_TRUE(WriteFile(*directory, "a", "text").ok());
  auto reader = *directory->OpenFile("a");
  auto writer = *directory->CreateFile("b");
  storage.CrashAt(storage.calls());
  EXPECT_EQ(writer->Append("more").message(), "cannot write to /d/b, 4 bytes: the power is off");
  for (const absl::Status& status :
       {writer->Sync(), writer->Close(), directory->Lock(), directory->Rename("a", "c"),
        directory->Remove("a"), directory->SyncDirectory(), directory->List().status(),
        directory->CreateFile("c").status(), directory->OpenFile("a").status(),
        reader->Size().status(), storage.OpenDirectory("/e", IfMissing::kCreate).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  }
  EXPECT_THAT(ReadSome(*reader, 0, 4), HasSubstr("the power is off"));
  EXPECT_EQ(Image(storage), "a=text b= ");
}

TEST_F(FaultyStorageTest, ThereAreAsManyPowerLossesAsAreVisited) {
  Keep("a", "1");
  for (const size_t size : {0, 700, 1024, 1025}) {
    auto writer = *directory_->CreateFile("n" + std::to_string(size));
    ASSERT_TRUE(writer->Append(Text(size)).ok());
    EXPECT_TRUE(size != 700 || writer->Sync().ok());
    EXPECT_TRUE(size != 1024 || directory_->SyncDirectory().ok());
    ASSERT_TRUE(writer->Append("more").ok());
  }
  ASSERT_TRUE(directory_->Remove("n0").ok());
  uint64_t visited = 0;
  const uint64_t count = ForEachPowerLoss(storage_, 1'000'000, 1, [&](const auto&) { ++visited; });
  EXPECT_EQ(visited, count);
  EXPECT_GT(count, 1000u);

  std::vector<std::string> drawn;
  std::vector<std::string> again;
  EXPECT_EQ(
      ForEachPowerLoss(storage_, 100, 7, [&](const auto& left) { drawn.push_back(Image(left)); }),
      count);
  ForEachPowerLoss(storage_, 100, 7, [&](const auto& left) { again.push_back(Image(left)); });
  EXPECT_THAT(drawn, SizeIs(100));
  EXPECT_EQ(drawn, again);
  EXPECT_EQ(drawn[1], Image(storage_));
  EXPECT_GT(std::set<std::string>(drawn.begin(), drawn.end()).size(), 50u);

  ASSERT_TRUE((*directory_->CreateFile("large"))->Append(Text(100'000)).ok());
  EXPECT_EQ(storage_.PowerLosses(), FaultyDisk::kTooMany);
}

TEST_F(FaultyStorageTest, AFaultIsOnceOrForGood) {
  storage_.Fail({.call = storage_.calls(), .error = ENOSPC});
  EXPECT_EQ(directory_->CreateFile("a").status().message(),
            "cannot create /d/a: No space left on device");
  Keep("a", "text");
  storage_.Fail({.call = storage_.calls(), .error = EROFS, .for_good = true});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(directory_->Remove("a").code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(directory_->SyncDirectory().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(ReadWhole(*directory_, "a").value(), "text");
  }
}

TEST_F(FaultyStorageTest, WhatAStorageHidesIsNotSeen) {
  for (const int hidden : {EINTR, 0}) {
    storage_.Fail({.call = storage_.calls(), .error = hidden, .for_good = true});
  }
  Keep("a", "text");
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "text");
}

TEST_F(FaultyStorageTest, ACallThatFailsMayHaveDoneIt) {
  Keep("a", "text");
  storage_.Fail({.call = storage_.calls(), .done = true});
  EXPECT_EQ(directory_->Rename("a", "b").code(), absl::StatusCode::kInternal);
  EXPECT_THAT(directory_->List().value(), ElementsAre("b"));
  storage_.Fail({.call = storage_.calls(), .done = true});
  EXPECT_FALSE(directory_->CreateFile("c").ok());
  EXPECT_THAT(directory_->List().value(), ElementsAre("b", "c"));
}

TEST_F(FaultyStorageTest, AnAppendThatFailsMayHaveWrittenAPart) {
  auto writer = *directory_->CreateFile("a");
  storage_.Fail({.call = storage_.calls(), .error = EIO, .bytes = 3});
  const absl::Status failed = writer->Append("text");
  EXPECT_EQ(failed.message(), "cannot write to /d/a: Input/output error");
  EXPECT_EQ(writer->Append("more"), failed);
  EXPECT_EQ(writer->Sync(), failed);
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "tex");
}

TEST_F(FaultyStorageTest, AfterAFailedSyncNothingIsCertain) {
  for (const FailedSync how : {FailedSync::kKeepsNew, FailedSync::kShowsOld}) {
    auto writer = *directory_->CreateFile("a");
    ASSERT_TRUE(directory_->SyncDirectory().ok());
    ASSERT_TRUE(writer->Append("text").ok());
    storage_.Fail({.call = storage_.calls(), .sync = how});
    const absl::Status failed = writer->Sync();
    EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(writer->Sync(), failed);
    const std::string zeros(4, '\0');
    if (how == FailedSync::kKeepsNew) {
      EXPECT_EQ(ReadWhole(*directory_, "a").value(), "text");
      EXPECT_THAT(Images(storage_), UnorderedElementsAre("a= ", "a=" + zeros + " ", "a=text "));
    } else {
      EXPECT_EQ(ReadWhole(*directory_, "a").value(), zeros);
      EXPECT_THAT(Images(storage_), UnorderedElementsAre("a= ", "a=" + zeros + " "));
    }
    ASSERT_TRUE(directory_->Remove("a").ok());
    ASSERT_TRUE(directory_->SyncDirectory().ok());
  }
}

TEST_F(FaultyStorageTest, AFailedSyncMayBeToldByTheNextOne) {
  auto writer = *directory_->CreateFile("a");
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  ASSERT_TRUE(writer->Append("text").ok());
  storage_.Fail({.call = storage_.calls(), .sync = FailedSync::kToldLater});
  EXPECT_TRUE(writer->Sync().ok());
  EXPECT_THAT(Images(storage_), SizeIs(3));
  const absl::Status told = writer->Sync();
  EXPECT_EQ(told.message(), "cannot sync /d/a: Input/output error");
  EXPECT_EQ(writer->Sync(), told);
  EXPECT_THAT(Images(storage_), SizeIs(3));
}

TEST_F(FaultyStorageTest, AfterAFailedSyncOfTheDirectoryOnlyLaterStepsCanBeCertain) {
  Keep("current", "1");
  Write("new", "2");
  ASSERT_TRUE(directory_->Rename("new", "current").ok());
  storage_.Fail({.call = storage_.calls()});
  EXPECT_EQ(directory_->SyncDirectory().message(), "cannot sync /d: Input/output error");
  EXPECT_TRUE(directory_->SyncDirectory().ok());
  EXPECT_THAT(Images(storage_), ElementsAre("current=1 ", "current=1 new=2 ", "current=2 "));
  Write("newer", "3");
  ASSERT_TRUE(directory_->Rename("newer", "current").ok());
  EXPECT_TRUE(directory_->SyncDirectory().ok());
  EXPECT_THAT(Images(storage_), ElementsAre("current=3 ", "current=3 new=2 "));
}

TEST_F(FaultyStorageTest, ADiskFillsUpAndHasRoomAgain) {
  Keep("a", "12345678");
  storage_.SetCapacity(10);
  auto writer = *directory_->CreateFile("b");
  const absl::Status full = writer->Append("12345");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(), "cannot write to /d/b: No space left on device");
  EXPECT_EQ(Image(storage_), "a=12345678 b=12 ");
  ASSERT_TRUE(directory_->Remove("b").ok());
  ASSERT_TRUE(directory_->Remove("a").ok());
  Write("b", "1234567890");
}

TEST_F(FaultyStorageTest, AfterAKillAllIsThereAndNothingIsMoreCertain) {
  ASSERT_TRUE(directory_->Lock().ok());
  auto writer = *directory_->CreateFile("a");
  ASSERT_TRUE(writer->Append("text").ok());
  const uint64_t losses = storage_.PowerLosses();
  FaultyStorage after = storage_;
  const auto directory = OpenD(after);
  EXPECT_TRUE(directory->Lock().ok());
  EXPECT_EQ(ReadWhole(*directory, "a").value(), "text");
  EXPECT_EQ(after.PowerLosses(), losses);

  ASSERT_TRUE(writer->Append(" of the old process").ok());
  ASSERT_TRUE(directory->Remove("a").ok());
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "text of the old process");
  EXPECT_EQ(Image(after), "");
}

TEST_F(FaultyStorageTest, AFileIsDamagedInPlace) {
  Keep("a", "text");
  const auto reader = *directory_->OpenFile("a");
  storage_.SetContent("/d/a", "tExt");
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "tExt");
  EXPECT_EQ(storage_.PowerLosses(), 1u);
  EXPECT_EQ(ReadSome(*reader, 0, 9), "text");
}

TEST_F(FaultyStorageTest, TheLogTellsEveryCall) {
  Keep("a", "text");
  ASSERT_TRUE(ReadWhole(*directory_, "a").ok());
  std::vector<std::string> calls;
  for (const StorageCall& call : storage_.log()) {
    calls.push_back((call.changes() ? "* " : "") + call.ToString());
  }
  EXPECT_THAT(
      calls, ElementsAre("* create /d", "open /d", "* sync the directory above /d", "* create /d/a",
                         "* write to /d/a, 4 bytes", "* sync /d/a", "close /d/a", "* sync /d",
                         "open /d/a", "examine /d/a", "read /d/a, 4 bytes"));
}

TEST(EveryChoice, GoesEachWayOnce) {
  std::vector<std::string> ways;
  EveryChoice choices;
  do {
    std::string way;
    for (uint32_t n = choices.Choose(3); n > 0; --n) way += std::to_string(choices.Choose(2));
    ways.push_back(way);
  } while (choices.Next());
  EXPECT_THAT(ways, ElementsAre("", "0", "1", "00", "01", "10", "11"));
}

}  // namespace
}  // namespace pleat::inline v0_1
