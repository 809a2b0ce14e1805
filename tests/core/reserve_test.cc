// Memory taken ahead: Folder::Reserve() and EngineOptions::prefault_bytes. What the engine has from the
// system is read from its pool of pages.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "engine/core/engine_core.h"
#include "tests/support/check_whole.h"
#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr size_t kGroups = 40'000;
constexpr size_t kHour = Duration(1h).count();
constexpr size_t kMiB = size_t{1} << 20;

struct Hit {};
struct Hits {
  uint64_t count = 0;
  void Fold(const Hit&) noexcept { ++count; }
};

class ReserveFixture : public testing::Test {
 protected:
  void Open(EngineOptions engine, const LimitOptions& limits = {}) {
    engine.huge_pages = HugePages::kOff;
    folder_.reset();
    engine_ = *Engine::Open(engine);
    folder_.emplace(*engine_, "hits",
                    FolderOptions{.quiet_period = 1h, .max_wait = kForever, .limits = limits});
  }
  // Opens groups whose deadlines are spread over the hour.
  void OpenGroups(size_t count, size_t key_bytes = 8) {
    std::string key(key_bytes, 'k');
    for (size_t i = 0; i < count; ++i) {
      key.replace(0, 8, std::to_string(10'000'000 + i));
      ASSERT_EQ(folder_->Fold(key, {}, kT0 + Duration(static_cast<int64_t>(i * kHour / count))),
                FoldOutcome::kOpened);
    }
  }
  absl::StatusCode CodeOf(size_t groups, size_t key_bytes = 0) {
    return folder_->Reserve(groups, key_bytes).code();
  }
  // In pages handed out.
  size_t taken() const { return EngineAccess::CoreOf(*engine_)->pool().taken_bytes(); }
  // From the system.
  size_t held() const { return EngineAccess::CoreOf(*engine_)->pool().held_bytes(); }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Hit, Hits>> folder_;
};

TEST_F(ReserveFixture, GroupsThatWereReservedTakeNoPage) {
  for (const int partitions : {1, 16}) {
    for (const size_t key_bytes : {8, 36, 200}) {
      SCOPED_TRACE(testing::Message()
                   << partitions << " partitions, keys of " << key_bytes << " bytes");
      Open({.partitions = partitions});
      ASSERT_TRUE(folder_->Reserve(kGroups, key_bytes).ok());
      const size_t reserved = taken();
      const size_t from_system = held();
      OpenGroups(kGroups, key_bytes);
      EXPECT_EQ(taken(), reserved);
      EXPECT_EQ(held(), from_system);
      CheckWhole(folder_->any());
    }
  }
}

TEST_F(ReserveFixture, TheyTakeNoPageInTheNextBurstEither) {
  Open({.partitions = 4});
  ASSERT_TRUE(folder_->Reserve(kGroups).ok());
  const size_t reserved = taken();
  for (int burst = 0; burst < 3; ++burst) {
    OpenGroups(kGroups);
    EXPECT_EQ(taken(), reserved);
    burst < 2 ? folder_->CloseAll() : engine_->Advance(kT0 + 3h);
    EXPECT_EQ(folder_->Pop(kGroups + 1).size(), kGroups);
    EXPECT_EQ(taken(), reserved) << "what they waited in has gone, and their places have stayed";
    CheckWhole(folder_->any());
  }
}

TEST_F(ReserveFixture, ComesToGroupsThatAreThere) {
  Open({.partitions = 4});
  OpenGroups(kGroups / 2);
  ASSERT_TRUE(folder_->Reserve(kGroups).ok());
  const size_t reserved = taken();
  ASSERT_TRUE(folder_->Reserve(kGroups).ok());
  ASSERT_TRUE(folder_->Reserve(1).ok());
  EXPECT_EQ(taken(), reserved) << "it was there";
  CheckWhole(folder_->any());
  for (size_t i = kGroups / 2; i < kGroups; ++i) folder_->Fold("new " + std::to_string(i), {}, kT0);
  EXPECT_EQ(taken(), reserved);
  EXPECT_EQ(folder_->sizes().open_groups, kGroups);
  CheckWhole(folder_->any());
  folder_->Close();
  EXPECT_EQ(taken(), 0u);
}

TEST_F(ReserveFixture, BytesCountAsSoonAsGroupsHoldThem) {
  Open({.partitions = 4});
  ASSERT_TRUE(folder_->Reserve(kGroups).ok());
  EXPECT_EQ(folder_->sizes().bytes, 0u);
  EXPECT_EQ(folder_->ledger(), Ledger());
}

TEST_F(ReserveFixture, WhatTheLimitsWouldRefuseIsRefused) {
  Open({.partitions = 4}, {.max_groups = 1000, .max_bytes = 200'000});
  EXPECT_EQ(CodeOf(1001), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(folder_->Reserve(1001).message()), HasSubstr("limits.max_groups"));
  EXPECT_EQ(CodeOf(1000, 200), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(folder_->Reserve(1000, 200).message()), HasSubstr("limits.max_bytes"));
  EXPECT_EQ(CodeOf(1, 65'537), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(held(), 0u) << "nothing was taken";
  EXPECT_EQ(CodeOf(1000), absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(0), absl::StatusCode::kOk);
}

TEST_F(ReserveFixture, WhatTheSystemRefusesChangesNothing) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  Open({.partitions = 4}, {.max_groups = kAll, .max_bytes = kAll});
  EXPECT_EQ(CodeOf(kAll / 1000), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(held(), 0u);
  OpenGroups(10);
}

TEST_F(ReserveFixture, NothingIsReservedWhereNothingWillBeFolded) {
  Open({.partitions = 4});
  Folder<Hit, Hits> stopped = *folder_;
  engine_->Stop();
  EXPECT_EQ(CodeOf(10), absl::StatusCode::kFailedPrecondition);
  folder_->Close();
  EXPECT_EQ(CodeOf(10), absl::StatusCode::kFailedPrecondition);
  engine_.reset();
  EXPECT_EQ(CodeOf(10), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReserveFixture, PrefaultedBytesAreUsedFirstAndKept) {
  Open({.partitions = 4, .prefault_bytes = 16 * kMiB - 1});
  EXPECT_EQ(held(), 16 * kMiB);
  EXPECT_EQ(taken(), 0u);
  OpenGroups(kGroups);
  EXPECT_EQ(held(), 16 * kMiB);
  folder_->Close();
  EXPECT_EQ(taken(), 0u);
  EXPECT_EQ(held(), 16 * kMiB);
}

TEST_F(ReserveFixture, GroupsAreReservedOutOfPrefaultedBytes) {
  Open({.partitions = 4, .prefault_bytes = 32 * kMiB});
  ASSERT_TRUE(folder_->Reserve(kGroups).ok());
  EXPECT_EQ(held(), 32 * kMiB);
}

TEST_F(ReserveFixture, OpenSaysThatPrefaultBytesCannotBeHad) {
  const absl::Status status =
      Engine::Open({.prefault_bytes = std::numeric_limits<size_t>::max()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("prefault_bytes"));
}

}  // namespace
}  // namespace pleat
