// What stands behind AnyFolder: one book in each partition, and the way of a call to the right one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <pleat/any_folder.h>

#include "engine/base/hash.h"
#include "engine/core/engine_core.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0 {

class FolderCore {
 public:
  FolderCore(EngineCore& engine, std::string_view name, const FolderOptions& options,
             const StateOps& ops, std::shared_ptr<void> context_owner)
      : engine_(engine),
        name_(name),
        options_(options),
        ops_(ops),
        context_owner_(std::move(context_owner)) {}

  // Puts a book into every partition. Call once, when the name is known to be free. `number`: what leases call
  // the collection.
  void InstallBooks(uint32_t number);

  // The methods of AnyFolder.

  FoldOutcome Fold(std::string_view key, const void* event, EngineTime at);
  FoldCounts FoldBatch(const AnyBatch& batch, FoldOutcome* outcomes, PartitionRange only);
  bool Flush(std::string_view key);
  bool Cancel(std::string_view key);
  bool Peek(std::string_view key, AnyFolder::Look look);
  bool Scan(ScanCursor& cursor, size_t max, AnyFolder::See see);
  void CloseAll();
  size_t Pop(size_t max, PartitionRange from, AnyFolder::Take take);
  size_t Lease(size_t max, Duration ttl, PartitionRange from, AnyFolder::Borrow borrow);
  LeaseOutcome Ack(const LeaseToken& token);
  LeaseOutcome Nack(const LeaseToken& token, Duration delay);
  Extension Extend(const LeaseToken& token, Duration ttl);
  bool ScanDeadLetters(ScanCursor& cursor, size_t max, AnyFolder::SeeDead see);
  LeaseOutcome RetryDeadLetter(const LeaseToken& token);
  LeaseOutcome DropDeadLetter(const LeaseToken& token);

  void AddListener(EmissionListener& listener, PartitionRange of);
  void RemoveListener(EmissionListener& listener);

  Ledger ledger();
  Sizes sizes();
  std::unique_ptr<GapStats> gap_stats();
  bool closed();
  const std::string& name() const noexcept { return name_; }
  const StateOps& ops() const noexcept { return ops_; }

 private:
  friend class BatchPiece;

  // A partition and our book in it, which it owns and guards.
  struct Home {
    Partition* partition;
    FoldBook* book;
  };
  const Home& HomeOf(const PackedKey& key) const noexcept {
    return homes_[engine_.IndexOfPartition(key)];
  }
  uint64_t HashOf(const PackedKey& key) const noexcept { return key.HashWith(engine_.hash_key()); }

  PartitionRange Clip(PartitionRange range) const noexcept;

  // For what must see one instant in several partitions: their locks, taken in index order, and held for long.
  void LockRange(PartitionRange range) noexcept;
  void HandOverRange(PartitionRange range) noexcept;

  void NoteLeases(const Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock());
  template <class HandOut>
  size_t HandOutRange(size_t max, PartitionRange from, bool lends, const HandOut& hand_out);
  template <class Change>
  LeaseOutcome WithToken(const LeaseToken& token, const Change& change);

  EngineCore& engine_;
  const std::string name_;
  const FolderOptions options_;
  const StateOps ops_;
  const std::shared_ptr<void> context_owner_;
  uint32_t number_ = 0;
  std::vector<Home> homes_;  // by partition
  OpenPeak open_peak_;       // with gap_stats
};

}  // namespace pleat::inline v0
