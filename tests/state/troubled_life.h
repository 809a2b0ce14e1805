// The whole life of a small service on a disk that gives trouble: five processes, one after the other,
// which open a state directory, recover, fold, take snapshots and end.
//
//   TroubledLife life(storage, path, {.error = ENOSPC, .lasts = true, .end = [&] { ... }});
//   life.Live();
//
// Whatever the trouble:
//   - Folding goes on in memory, and every group has its events, each once and in order.
//   - What fails says so, with the name of the file and the reason.
//   - A restart stands where the newest snapshot stood that was complete, or one that has failed and
//     was complete all the same.
//   - Once the trouble has ended, the next attempt succeeds.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/state_directory.h>

#include "tests/state/small_service.h"
#include "tests/support/check_whole.h"

namespace pleat::inline v0_1 {

struct Trouble {
  int error = 0;              // that is told
  bool lasts = false;         // until `end`; otherwise one call fails
  std::function<void()> end;  // of the trouble
};

class TroubledLife {
 public:
  TroubledLife(Storage& storage, std::string path, Trouble trouble)
      : storage_(storage), path_(std::move(path)), trouble_(std::move(trouble)) {}

  // How often something was said to have failed.
  size_t told() const { return told_; }

  void Live() {
    for (const int snapshots : {2, 1, 1}) LiveOnce(snapshots);
    if (trouble_.lasts) End();
    LiveOnce(1);
    LiveOnce(0);
  }

  // Without trouble: the last process, and what is on the disk then.
  void Conclude() {
    SmallService last;
    ASSERT_TRUE(Recover(last).ok());
    EXPECT_EQ(last.Position(), whole_);
    ExpectState(last);
    EXPECT_EQ(NamesIn(storage_, path_).size(), 2u)
        << "a snapshot and a manifest, nothing left over";
  }

 private:
  absl::Status Recover(SmallService& service) const {
    return service.Recover(path_, {.storage = &storage_, .identity = 5}).status();
  }

  void LiveOnce(int snapshots) {
    const std::unique_ptr<SmallService> service = Start();
    if (service == nullptr) return;
    for (int i = 0; i < snapshots; ++i) {
      Fold(*service, 3);
      TakeSnapshot(*service);
      Fold(*service, 2);
    }
  }

  // A process that has read all of its source. One that cannot recover folds in memory; and another
  // one is started.
  std::unique_ptr<SmallService> Start() {
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (attempt == 2) End();
      auto service = std::make_unique<SmallService>();
      const absl::Status recovered = Recover(*service);
      if (!recovered.ok()) {
        Tell(recovered);
        EXPECT_EQ(service->notes.ledger(), Ledger()) << "the engine is as it was";
      } else {
        const uint64_t position = service->Position();
        EXPECT_TRUE(position == whole_ || perhaps_.contains(position))
            << "stands at " << position << ", should at " << whole_;
        whole_ = position;
        perhaps_.clear();
      }
      ExpectState(*service);
      Fold(*service, total_ - service->Position());
      if (recovered.ok()) return service;
    }
    ADD_FAILURE() << "cannot recover though the trouble has ended";
    return nullptr;
  }

  void Fold(SmallService& service, uint64_t count) {
    service.Read(count);
    total_ = std::max(total_, service.Position());
    EXPECT_EQ(service.Position(), total_);
    ExpectState(service);
  }

  void TakeSnapshot(SmallService& service) {
    const uint64_t taken_before = service.directory->state().taken;
    const absl::Status taken = service.TakeSnapshot();
    EXPECT_EQ(service.directory->state().last, taken);
    EXPECT_EQ(service.directory->state().taken, taken_before + (taken.ok() ? 1 : 0));
    if (taken.ok()) {
      whole_ = service.Position();
      perhaps_.clear();
      return;
    }
    Tell(taken);
    perhaps_.insert(service.Position());
    Fold(service, 1);
    if (trouble_.lasts && !ended_) return;
    const absl::Status again = service.TakeSnapshot();
    EXPECT_TRUE(again.ok()) << again;
    whole_ = service.Position();
    perhaps_.clear();
  }

  void Tell(const absl::Status& failed) {
    ++told_;
    EXPECT_FALSE(ended_) << "the trouble has ended";
    EXPECT_TRUE(trouble_.lasts || told_ == 1) << "one call has failed, and twice it is told";
    EXPECT_THAT(failed.message(), testing::HasSubstr("cannot "));
    EXPECT_THAT(failed.message(), testing::HasSubstr(path_));
    EXPECT_THAT(failed.message(), testing::HasSubstr(std::strerror(trouble_.error)));
  }

  void End() {
    if (trouble_.end) trouble_.end();
    ended_ = true;
  }

  // Event i went to the key i % 5, in order, and no group has ended.
  static void ExpectState(const SmallService& service) {
    std::vector<OpenGroup<Notes>> groups;
    ScanCursor cursor;
    while (service.notes.Scan(cursor, 100, groups)) {
    }
    const uint64_t position = service.Position();
    std::set<std::string> keys;
    for (const OpenGroup<Notes>& group : groups) {
      keys.insert(group.key);
      std::vector<uint64_t> expected;
      for (uint64_t i = static_cast<uint64_t>(group.key.back() - '0'); i < position; i += 5) {
        expected.push_back(i);
      }
      EXPECT_EQ(group.state.numbers, expected) << group.key;
    }
    EXPECT_EQ(groups.size(), std::min<uint64_t>(position, 5));
    EXPECT_EQ(keys.size(), groups.size());
    EXPECT_EQ(service.notes.ledger().events, position);
    CheckWhole(service.notes.any());
  }

  Storage& storage_;
  const std::string path_;
  Trouble trouble_;
  uint64_t total_ = 0;          // events that the source has
  uint64_t whole_ = 0;          // that the newest complete snapshot has
  std::set<uint64_t> perhaps_;  // that snapshots which have failed since may have
  size_t told_ = 0;
  bool ended_ = false;
};

}  // namespace pleat::inline v0_1
