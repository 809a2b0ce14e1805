// An owner that is replaced and does not know that yet leaves the files of the next one alone; and one whose
// program has other options leaves nothing behind that neither can go on from.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lanes/lane_files.h"
#include "tests/lanes/lane_world.h"
#include "tests/lanes/one_lane.h"
#include "tests/support/faulty_storage.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;

// --- Its files

class FormerOwnerTest : public OneLane {
 protected:
  // An owner that handles a record, and is stopped in order.
  void OwnAndStop(MakeHandler handler) {
    Start({}, std::move(handler));
    Append("ann", 0s);
    Run(0s);
    AckAll(0s);
    processor_->Stop();
    for (int i = 1; i < 5 && !processor_->stopped(); ++i) Run(1s * i);
    ASSERT_TRUE(processor_->stopped());
  }
};

// The answer to a commit is under way while another owner goes on from it, and commits a snapshot.
TEST_F(FormerOwnerTest, RemovesNoSnapshotThatTheNextOwnerHasCommitted) {
  const ProcessorOptions options{.commit_every = 1s, .replay_limit = 3};
  const auto rounds = [](Processor& processor, Duration at, int count) {
    for (int i = 0; i < count; ++i) processor.Run(kT0 + at).IgnoreError();
  };
  Start(options);
  Append("ann", 0s);
  Run(0s);
  Append("ann", 1s);
  rounds(*processor_, 11s, 1);
  ASSERT_EQ(log_.Committed(0)->offset, 2u);

  const std::unique_ptr<PartitionedLog> other = log_.Join();
  auto next = std::make_unique<Processor>(*other, MakeGroupingHandler, options);
  log_.AssignSilently(0, *other);
  for (int i = 2; i < 5; ++i) Append("ann", 1s * i);
  rounds(*next, 15s, 6);
  rounds(*next, 17s, 6);
  ASSERT_EQ(log_.Committed(0)->needed, 5u) << "the commit names a snapshot";

  log_.SetReachable(false);
  processor_->Stop();
  rounds(*processor_, 18s, 1);
  ASSERT_EQ(log_.Snapshots(0), 2u);
  log_.SetReachable(true);
  rounds(*processor_, 19s, 6);
  EXPECT_TRUE(other->snapshots().Get(0, 1).ok());

  next.reset();
  Start(options);
  Run(40s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
}

// Calls something before each file gets its name.
class BeforeRename final : public StorageDirectory {
 public:
  BeforeRename(std::unique_ptr<StorageDirectory> directory, std::function<void()> before)
      : directory_(std::move(directory)), before_(std::move(before)) {}

  const std::string& path() const override { return directory_->path(); }
  absl::Status Lock() override { return directory_->Lock(); }
  absl::StatusOr<std::unique_ptr<StorageWriter>> CreateFile(std::string_view name) override {
    return directory_->CreateFile(name);
  }
  absl::StatusOr<std::unique_ptr<StorageReader>> OpenFile(std::string_view name) override {
    return directory_->OpenFile(name);
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    before_();
    return directory_->Rename(from, to);
  }
  absl::Status Remove(std::string_view name) override { return directory_->Remove(name); }
  absl::StatusOr<std::vector<std::string>> List() override { return directory_->List(); }
  uint64_t MachineRun() override { return directory_->MachineRun(); }
  absl::Status SyncDirectory() override { return directory_->SyncDirectory(); }

 private:
  const std::unique_ptr<StorageDirectory> directory_;
  const std::function<void()> before_;
};

TEST(LaneFilesTest, TwoProcessesNeverWriteUnderOneName) {
  FaultyStorage storage;
  const auto directory = [&] { return *storage.OpenDirectory("/d", IfMissing::kCreate); };
  const auto text = [](std::string_view bytes) {
    return [bytes](ByteSink& sink) { return sink.Append(bytes); };
  };
  const auto owner = *LaneFiles::Open(directory(), LaneFiles::Writers::kSeveral);
  uint64_t of_owner = 0;
  auto stalls = std::make_unique<BeforeRename>(
      directory(), [&] { of_owner = *owner->Put(0, text("the owner's")); });
  const auto former = *LaneFiles::Open(std::move(stalls), LaneFiles::Writers::kSeveral);
  const uint64_t of_former = *former->Put(0, text("the former owner's"));
  EXPECT_NE(of_owner, of_former);
  EXPECT_EQ(*ReadLaneFile(*owner, 0, of_owner), "the owner's");
  EXPECT_EQ(*ReadLaneFile(*owner, 0, of_former), "the former owner's");
}

// --- Other options

class Quiet final : public Handler {
 public:
  Quiet(Lane& lane, Duration quiet)
      : groups_(lane.engine(), "groups", {.quiet_period = quiet, .max_wait = kForever}) {
    lane.Publish("groups", groups_, [](const auto& each) { return each.state.Text(); });
  }
  Handled Handle(const LogRecord& record, Lane& lane) override {
    groups_.Fold(record.key, record.offset, record.logged);
    lane.Emit(record.key, std::to_string(record.offset));
    return Handled::Done();
  }

 private:
  Groups groups_;
};

MakeHandler WithQuiet(Duration quiet) {
  return [quiet](Lane& lane) { return std::make_unique<Quiet>(lane, quiet); };
}

// Records are there before the first round of the new program. Without acks, no later snapshot would count.
TEST_F(FormerOwnerTest, WithOtherOptionsReadsNothingBeforeItsSnapshotCounts) {
  OwnAndStop(WithQuiet(10s));
  Append("ann", 13s);
  for (int i = 0; i < 3; ++i) {
    Start({}, WithQuiet(20s));
    Run(14s + 2s * i);
    Run(15s + 2s * i);
    EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
    EXPECT_THAT(Texts(15s + 2s * i), ElementsAre("emitted 1 ann: 1"));
  }
  Run(60s);
  Run(61s);
  EXPECT_THAT(Texts(61s), ElementsAre("emitted 1 ann: 1", "groups 0 ann: 0 1"));
}

// Its commits are lost for a while.
TEST_F(FormerOwnerTest, WithOtherOptionsWaitsUntilItsSnapshotCounts) {
  OwnAndStop(WithQuiet(10s));
  Append("ann", 13s);
  log_.SetCommitFate([](const LogCommit&) { return CommitFate::kLost; });
  Start({}, WithQuiet(20s));
  for (int i = 0; i < 100; ++i) Run(14s + 1s * i);
  EXPECT_EQ(Status().next, 1u);
  EXPECT_EQ(Status().phase, LanePhase::kReplaying) << "whoever reads to the end waits for it";
  Start({}, WithQuiet(10s));
  Run(120s);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << "the old options go on: " << Status().why;
  Start({}, WithQuiet(20s));
  log_.SetCommitFate(nullptr);
  for (int i = 0; i < 3; ++i) Run(121s + 1s * i);
  EXPECT_THAT(Texts(124s), ElementsAre("emitted 1 ann: 1", "groups 0 ann: 0 1"));
}

// That records of held keys have no more room is no reason to begin again and again.
TEST_F(FormerOwnerTest, WithOtherOptionsTakesOverAlsoWhereHeldKeysAreFull) {
  const auto with = [](Duration quiet) {
    return [quiet](Lane& lane) {
      return std::make_unique<GroupingHandler>(
          lane,
          [](int, const LogRecord& record) {
            return record.key == "bad" ? Handled::Park("bad") : Handled::Done();
          },
          0, quiet);
    };
  };
  const ProcessorOptions options{.held_records_max = 2};
  Start(options, with(10s));
  for (int i = 0; i < 3; ++i) Append("bad", 0s);
  Run(0s);
  processor_->Stop();
  for (int i = 1; i < 5 && !processor_->stopped(); ++i) Run(1s * i);
  ASSERT_TRUE(processor_->stopped());
  ASSERT_THAT(std::string(Status().why.message()), testing::HasSubstr("is read no further"));
  Start(options, with(20s));
  for (int i = 6; i < 9; ++i) Run(1s * i);
  EXPECT_EQ(Status().phase, LanePhase::kLive) << Status().why;
  EXPECT_TRUE(processor_->Drop(0, "bad", 0));
}

}  // namespace
}  // namespace pleat::inline v0_1
