// Snapshots of a state directory that are given up: while the disk writes, syncs or reads, at the bound
// of the copies, and by the end of the StateDirectory. The snapshot before has to stay, and the next one
// to succeed.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/state_directory.h>

#include "tests/state/small_service.h"
#include "tests/support/check_whole.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/watched_storage.h"

namespace pleat::inline v0_1 {
namespace {

using testing::HasSubstr;

constexpr char kGivenUpPath[] = "/notes";
// Enough for what is copied as a whole, and not for images of groups.
constexpr uint64_t kSmallBound = 1500;

// A service on a disk that does something in the midst of its calls, while `file` is written, synced or
// read, once.
struct WatchedService {
  explicit WatchedService(uint64_t max_copy_bytes = SnapshotOptions::kMaxCopyBytes) {
    EXPECT_TRUE(service
                    .Recover(kGivenUpPath,
                             {.storage = &watched, .identity = 5, .max_copy_bytes = max_copy_bytes})
                    .ok());
    service.Read(5);
    EXPECT_TRUE(service.TakeSnapshot().ok());
    service.Read(3);
  }
  // How often the file of the next snapshot is written or synced.
  int Writes() {
    int writes = 0;
    during_write = [&] { ++writes; };
    EXPECT_TRUE(service.TakeSnapshot().ok());
    during_write = nullptr;
    return writes;
  }
  // Where a restart from the disk as it is now stands.
  uint64_t PositionAfterRestart() const {
    FaultyStorage storage = disk;
    SmallService after;
    const absl::StatusOr<Recovered> found =
        after.Recover(kGivenUpPath, {.storage = &storage, .identity = 5});
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(after.notes.ledger().events, after.Position());
    CheckWhole(after.notes.any());
    return after.Position();
  }
  std::vector<std::string> Snapshots() {
    std::vector<std::string> found;
    auto directory = disk.OpenDirectory(kGivenUpPath, IfMissing::kFail).value();
    const std::vector<std::string> names = directory->List().value();
    for (const std::string& name : names) {
      if (name.starts_with("snapshot")) found.push_back(name);
    }
    return found;
  }

  FaultyStorage disk;
  std::function<void()> during_write;
  std::function<void()> during_read;
  WatchedStorage watched{disk,
                         [this](std::string_view file) {
                           if (file.starts_with("snapshot") && during_read) during_read();
                         },
                         [this](std::string_view file) {
                           if (file.starts_with("snapshot") && during_write) during_write();
                         }};
  SmallService service;
};

void ExpectCancelled(const absl::Status& taken) {
  EXPECT_EQ(taken.code(), absl::StatusCode::kCancelled) << taken;
  EXPECT_THAT(std::string(taken.message()), HasSubstr("given up"));
}

// The last of the calls is the sync.
// Of a backup that somebody takes into a sink of their own, while the file is on its way to the disk.
TEST(GivenUpState, EndsNoOtherSnapshotOfTheEngine) {
  class GivingUpSink final : public ByteSink {
   public:
    explicit GivingUpSink(StateDirectory& directory) : directory_(directory) {}
    absl::Status Append(std::string_view) override {
      given_up_ = directory_.GiveUpSnapshot();
      return absl::OkStatus();
    }
    bool given_up() const { return given_up_; }

   private:
    StateDirectory& directory_;
    bool given_up_ = false;
  };
  WatchedService s;
  GivingUpSink sink(*s.service.directory);
  absl::Status backup = absl::UnavailableError("while the directory takes its own");
  s.during_write = [&] {
    if (absl::IsUnavailable(backup)) backup = TakeSnapshot(*s.service.engine, sink);
  };
  EXPECT_EQ(s.service.TakeSnapshot().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(backup.ok()) << backup;
  EXPECT_TRUE(sink.given_up());
}

TEST(GivenUpState, TheSnapshotBeforeStaysWheneverTheNextOneIsGivenUp) {
  const int writes = WatchedService().Writes();
  ASSERT_GE(writes, 4);
  for (int at = 0; at < writes; ++at) {
    WatchedService watched;
    int calls = 0;
    watched.during_write = [&] {
      if (calls++ != at) return;
      watched.service.Read(2);
      EXPECT_TRUE(watched.service.directory->GiveUpSnapshot());
      EXPECT_EQ(watched.service.directory->state().copy_bytes, 0u);
    };
    ExpectCancelled(watched.service.TakeSnapshot());
    EXPECT_EQ(calls, at + 1) << "nothing is written any more";
    const SnapshotState state = watched.service.directory->state();
    EXPECT_EQ(state.failed, 1u);
    EXPECT_EQ(state.last.code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(watched.Snapshots().size(), 1u) << "what there was of the new one is removed";
    EXPECT_EQ(watched.PositionAfterRestart(), 5u);
    watched.during_write = nullptr;
    ASSERT_TRUE(watched.service.TakeSnapshot().ok());
    EXPECT_EQ(watched.PositionAfterRestart(), 10u);
  }
}

TEST(GivenUpState, OneThatIsReadAgainCanStillBeGivenUp) {
  WatchedService watched;
  watched.during_read = [&] { EXPECT_TRUE(watched.service.directory->GiveUpSnapshot()); };
  ExpectCancelled(watched.service.TakeSnapshot());
  watched.during_read = nullptr;
  EXPECT_EQ(watched.Snapshots().size(), 1u);
  EXPECT_EQ(watched.PositionAfterRestart(), 5u);
  ASSERT_TRUE(watched.service.TakeSnapshot().ok());
  EXPECT_EQ(watched.PositionAfterRestart(), 8u);
}

TEST(GivenUpState, WithoutASnapshotThereIsNothingToGiveUp) {
  WatchedService watched;
  EXPECT_FALSE(watched.service.directory->GiveUpSnapshot());
  EXPECT_TRUE(watched.service.TakeSnapshot().ok()) << "the next one is not given up";
  EXPECT_FALSE(watched.service.directory->GiveUpSnapshot());
}

TEST(GivenUpState, UntilItsCallReturnsNoOtherOneBegins) {
  WatchedService watched;
  std::optional<absl::Status> other;
  watched.during_write = [&] {
    watched.service.directory->GiveUpSnapshot();
    if (!other) other = watched.service.TakeSnapshot();
  };
  ExpectCancelled(watched.service.TakeSnapshot());
  EXPECT_EQ(other->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(watched.service.directory->state().failed, 1u);
}

TEST(GivenUpState, AtTheBoundOfItsCopiesTheSnapshotFailsAndFoldingGoesOn) {
  WatchedService watched(kSmallBound);
  watched.during_write = [&] { watched.service.Read(5); };
  const absl::Status taken = watched.service.TakeSnapshot();
  EXPECT_EQ(taken.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(taken.message()), HasSubstr("max_copy_bytes"));
  EXPECT_THAT(std::string(taken.message()), HasSubstr("than 1500 bytes"));
  EXPECT_EQ(watched.PositionAfterRestart(), 5u);
  EXPECT_EQ(watched.service.notes.ledger().events, watched.service.Position());
}

TEST(GivenUpState, CopiesAreCountedWhileItIsTakenAndAfterwards) {
  WatchedService watched;
  uint64_t most = 0;
  watched.during_write = [&] {
    watched.service.Read(1);
    most = std::max(most, watched.service.directory->state().copy_bytes);
  };
  ASSERT_TRUE(watched.service.TakeSnapshot().ok());
  EXPECT_GT(most, 0u);
  const SnapshotState state = watched.service.directory->state();
  EXPECT_EQ(state.copy_bytes, 0u);
  EXPECT_EQ(state.most_copy_bytes, most);
}

TEST(GivenUpState, TheEndOfAStateDirectoryGivesItsSnapshotUpAndLeavesTheLockToItsCall) {
  WatchedService watched;
  absl::Status second;
  watched.during_write = [&] {
    watched.service.directory = nullptr;
    SmallService other;
    second = other.Recover(kGivenUpPath, {.storage = &watched.disk}).status();
  };
  StateDirectory& directory = *watched.service.directory;
  ExpectCancelled(directory.TakeSnapshot(*watched.service.engine));
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  watched.during_write = nullptr;
  EXPECT_EQ(watched.PositionAfterRestart(), 5u);
}

TEST(GivenUpState, ABoundOfNothingIsRefusedByName) {
  FaultyStorage disk;
  const absl::Status opened =
      StateDirectory::Open(kGivenUpPath, {.storage = &disk, .max_copy_bytes = 0}).status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(opened.message()), HasSubstr("max_copy_bytes"));
}

}  // namespace
}  // namespace pleat::inline v0_1
