// StoreView: the store as another process sees it that reads beside the appender. END says how far the
// log is durable; the heads of segments lead from there back to what is known already, and the heads
// of blocks forward. Without END, the view goes as far as a start would.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "engine/base/lock.h"
#include "engine/store/log_state.h"
#include "engine/store/open_store.h"
#include "engine/store/segments.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

// Thread safety: any thread.
class StoreView {
 public:
  explicit StoreView(OpenedStore opened);

  // Before any other call.
  absl::Status Begin();
  absl::Status Refresh();

  // Without that of notes, whose number this is.
  size_t partitions() const noexcept { return durable_.size() - 1; }
  uint64_t durable(size_t partition) const noexcept {
    return durable_[partition].load(std::memory_order_acquire);
  }
  const Segments& segments() const noexcept { return segments_; }
  StorageDirectory& directory() noexcept { return *directory_; }

 private:
  // How often the appender may change the files while they are looked at.
  static constexpr int kAttempts = 10;

  absl::StatusOr<StoreCut> EndOfFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status GoTo(StoreCut cut) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status GoOnInFile(StoreCut cut) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status GoOnInFiles(StoreCut cut) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // A block that was walked over.
  struct Passed {
    std::vector<SectionEntry> sections;
    uint64_t place = 0;
    uint64_t bytes = 0;
  };
  absl::Status Walk(StorageReader& reader, StoreCut to, LogState& state,
                    std::vector<Passed>& passed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void SetState(LogState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::StatusOr<SegmentHead> HeadOf(uint64_t number);

  const std::unique_ptr<StorageDirectory> directory_;
  Segments segments_;
  std::vector<std::atomic<uint64_t>> durable_;
  Lock lock_;  // of Refresh
  StoreManifest manifest_ ABSL_GUARDED_BY(lock_);
  LogState state_ ABSL_GUARDED_BY(lock_);
  std::shared_ptr<StorageReader> reader_ ABSL_GUARDED_BY(lock_);  // of the last segment
  std::string buffer_ ABSL_GUARDED_BY(lock_);
};

}  // namespace pleat::inline v0_1
