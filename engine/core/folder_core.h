// FolderCore stands behind AnyFolder: the collection whose books are FoldBooks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/trace.h>
#include <pleat/untyped/any_folder.h>

#include "engine/core/keyed_collection.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

class FolderCore final : public KeyedCollection<FoldBook> {
 public:
  FolderCore(EngineCore& engine, std::string_view name, const FolderOptions& options,
             const StateOps& ops, std::shared_ptr<void> context_owner);

  // The methods of AnyFolder. `at` absent: at the engine's time.
  ControlOutcome Flush(std::string_view key, std::optional<EngineTime> at);
  ControlOutcome Cancel(std::string_view key, std::optional<EngineTime> at);
  ControlOutcome SetDeadline(std::string_view key, EngineTime deadline);
  bool Peek(std::string_view key, AnyFolder::Look look);
  bool Scan(ScanCursor& cursor, size_t max, AnyFolder::See see);
  void ScanInOrder(AnyFolder::See see);
  absl::Status Reserve(size_t groups, size_t key_bytes);
  // `options` are in range.
  absl::Status SetOptions(const FolderOptions& options);
  FolderOptions options();

  std::unique_ptr<GapStats> gap_stats();
  // Appends up to `max` records of the partition's trace from `next` on to `out`, moves `next` behind
  // them, and adds those that were gone to `lost`. Returns how many there are behind.
  uint64_t CopyTrace(size_t partition, size_t max, uint64_t& next, uint64_t& lost,
                     std::vector<TraceRecord>& out);
  const StateOps& ops() const noexcept { return ops_; }

  Description Describe() const override;
  std::string ShapeOf(uint32_t version) const override;
  void SaveShared(FieldWriter& out) const override;
  void LoadShared(FieldReader& in) override;

 private:
  void BeginClosing(EngineTime now, LeaseTime leases) override;
  size_t ShareOfGroups(const FolderOptions& options, size_t groups, size_t bytes_each,
                       int partition) const;
  std::unique_ptr<Book> MakeBook(int partition) override;
  void ChangeBooks(const FolderOptions& options);
  template <class Change>
  void ChangeEachBook(EngineTime now, LeaseTime leases, const Change& change);
  template <class Change>
  ControlOutcome Control(std::string_view key, std::optional<EngineTime> at, const Change& change);

  const bool
      settable_;  // closing times: an option that never changes, and is asked for without a lock
  // Changes with all partitions locked, and the engine's list of collections. So it is read under
  // the lock of a partition, or of that list.
  FolderOptions options_;
  const StateOps ops_;
  const std::shared_ptr<void> context_owner_;
  OpenPeak open_peak_;  // with MeasureOptions::gap_stats
};

}  // namespace pleat::inline v0_1
