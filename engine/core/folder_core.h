// What stands behind AnyFolder: the books in the partitions, and the way of a call to the right one. A book comes with the
// first event that goes there, so that a folder without any costs next to nothing.
#pragma once

#include <atomic>
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

namespace pleat::inline v0_1 {

class FolderCore {
 public:
  FolderCore(EngineCore& engine, std::string_view name, const FolderOptions& options,
             const StateOps& ops, std::shared_ptr<void> context_owner);

  // What leases call the collection. Once, before anything else.
  void SetNumber(uint32_t number) noexcept { number_ = number; }

  // Takes the books out of the partitions, and tells the listeners. Waits for the calls under way; those that come later
  // find none.
  void Close();

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
  bool closed() const noexcept { return closed_.load(); }
  const std::string& name() const noexcept { return name_; }
  const StateOps& ops() const noexcept { return ops_; }

 private:
  friend class BatchPiece;

  // A partition and our book in it, which it owns and guards.
  struct Home {
    Partition* partition;
    FoldBook* book = nullptr;  // none before the first event, and none when we are closed
  };
  Home& HomeOf(const PackedKey& key) noexcept { return homes_[engine_.IndexOfPartition(key)]; }
  // For an event, which finds a book unless we are closed.
  FoldBook* BookFor(Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    if (home.book == nullptr) [[unlikely]]
      home.book = NewBook(home);
    return home.book;
  }
  FoldBook* NewBook(const Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock());
  FoldOutcome RefuseTooLong();
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
  std::atomic<bool> closed_ = false;
  // By partition, as the listeners there, which its lock guards as well. Never resized.
  std::vector<Home> homes_;
  std::vector<FoldBook::Listeners> listeners_;
  OpenPeak open_peak_;  // with gap_stats
};

}  // namespace pleat::inline v0_1
