// EndMark: the file END, for other processes that read the store.
#pragma once

#include <cstdint>
#include <memory>

#include <pleat/untyped/storage.h>

#include "engine/store/log_state.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

// Thread safety: one call at a time.
class EndMark {
 public:
  // REQUIRES: `directory` outlives it.
  // `durable`: as it was found; it is not told before the first call.
  EndMark(StorageDirectory& directory, const StoreManifest& manifest, StoreCut durable)
      : directory_(directory), identity_(manifest.identity) {
    end_.cut = durable;
    end_.first_segment = manifest.first_segment;
    end_.machine_run = directory.MachineRun();
  }

  // Says that the log is durable so far. Whatever comes of it, the log is right: readers learn of it
  // by the next call, which may be Repeat().
  void Set(const LogState& durable) {
    end_.cut = durable.cut;
    is_told_ = false;
    Repeat();
  }
  // Says that older segments are gone.
  void SetFirst(uint64_t segment) {
    end_.first_segment = segment;
    is_told_ = false;
    Repeat();
  }
  void Repeat() {
    if (is_told_) return;
    if (file_ == nullptr) {
      directory_.Remove(kStoreEnd).IgnoreError();
      absl::StatusOr<std::unique_ptr<StorageWriter>> file = directory_.CreateFile(kStoreEnd);
      if (!file.ok()) return;
      file_ = *std::move(file);
    }
    is_told_ = file_->Overwrite(end_.Bytes(identity_)).ok();
    if (!is_told_) file_.reset();
  }

 private:
  StorageDirectory& directory_;
  const uint64_t identity_;
  std::unique_ptr<StorageWriter> file_;
  StoreEnd end_;
  bool is_told_ = true;
};

}  // namespace pleat::inline v0_1
