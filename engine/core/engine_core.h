// EngineCore stands behind Engine: the time, the partitions, the schedule of their deadlines, and
// the collections by name. The core outlives its Engine, empty, while somebody has a collection of
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include <absl/base/thread_annotations.h>
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <pleat/engine.h>
#include <pleat/snapshot.h>

#include "engine/base/gate.h"
#include "engine/base/hash.h"
#include "engine/base/lock.h"
#include "engine/base/page_pool.h"
#include "engine/base/timeline.h"
#include "engine/partition/partition.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

class Collection;
class WaitingEvents;

// A snapshot that is being taken, to other threads.
class SnapshotTaking {
 public:
  // Frees its copies. Returns false, and does nothing, if it has ended otherwise.
  virtual bool GiveUp() = 0;
  // SnapshotOptions::identity.
  virtual uint64_t identity() const noexcept = 0;
  virtual SnapshotCopies copies() const noexcept = 0;
  virtual ~SnapshotTaking() = default;
};

class EngineCore {
 public:
  EngineCore(const EngineOptions& options, const HashKey& hash_key, const HashKey& name_key,
             uint64_t epoch);
  ~EngineCore();

  Timeline& timeline() noexcept { return timeline_; }
  const Timeline& timeline() const noexcept { return timeline_; }
  PagePool& pool() noexcept { return pool_; }
  // Calls that work on several partitions, one after the other, pass through it.
  Gate& gate() noexcept { return gate_; }
  EngineTime NextDeadline() const noexcept { return schedule_.NextDeadline(); }
  EngineTime NextLeaseDeadline() const noexcept { return lease_schedule_.NextDeadline(); }
  void SetAlarm(EngineAlarm& alarm);
  void RemoveAlarm(const EngineAlarm& alarm);
  // Of the tables: secret to the process.
  const HashKey& hash_key() const noexcept { return hash_key_; }
  // Of the names that stand for keys and ids: a snapshot has it.
  const HashKey& name_key() const noexcept { return name_key_; }
  uint64_t epoch() const noexcept { return epoch_; }
  uint64_t first_number() const noexcept { return first_number_; }

  int partition_count() const noexcept { return static_cast<int>(partition_count_); }
  Partition& partition(int index) noexcept { return partitions_[static_cast<size_t>(index)]; }

  // PartitionOf(key.view()), which a batch asks for millions of times a second.
  class Partitioning {
   public:
    explicit Partitioning(size_t count) noexcept
        : count_(count), mask_((count & (count - 1)) == 0 ? count - 1 : 0) {}

    size_t IndexOf(const PackedKey& key) const noexcept {
      if (count_ == 1) return 0;
      const uint64_t hash = key.StableHash();
      return mask_ != 0 ? hash & mask_ : hash % count_;
    }

   private:
    size_t count_;
    uint64_t mask_;  // of a power of two; else 0
  };
  Partitioning partitioning() const noexcept { return partitioning_; }
  size_t IndexOfPartition(const PackedKey& key) const noexcept {
    return partitioning_.IndexOf(key);
  }

  // Moves time. Returns whether nothing is due then, as mostly in a loop that polls; that takes no
  // lock. Else call CloseDue().
  bool MoveTime(EngineTime now) noexcept {
    const EngineTime due_by = timeline_.Raise(Clamp(now));
    return schedule_.NextDeadline() > due_by;
  }
  [[gnu::noinline]] bool CloseDue(size_t budget);
  bool AdvanceLeases(LeaseTime lease_now, size_t budget);
  void Stop();
  // Has the pool keep so many bytes that were touched ahead. False if the system refuses.
  bool Prefault(size_t bytes) { return prefaulted_.Fill(bytes); }
  bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

  // Closes every collection, and keeps no other one: the engine is gone.
  void Close();
  bool closed() {
    LockGuard guard(lock_);
    return closed_;
  }

  // --- Snapshots

  // Calls `see(collections)` while none can come or go. They are in the order of their names.
  using Collections = std::map<std::string_view, std::shared_ptr<Collection>>;
  void WithCollections(absl::FunctionRef<void(const Collections&)> see);
  uint64_t SourcePositionOf(uint64_t source, size_t partition);
  // At most one snapshot is taken at a time.
  bool BeginSnapshot(std::shared_ptr<SnapshotTaking> taking);
  void EndSnapshot();
  // Of the one that is being taken, if it has this identity; false: there is none.
  bool GiveUpSnapshot(std::optional<uint64_t> identity);
  SnapshotCopies copies();
  // An engine has one intake at a time. `waiting` is null if no event waits.
  bool BeginIntake(std::shared_ptr<WaitingEvents> waiting);
  void EndIntake();
  // REQUIRES: inside WithCollections().
  std::shared_ptr<WaitingEvents> waiting() const noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return intake_.value_or(nullptr);
  }
  // The numbers and keys that outlive a process. REQUIRES: no event has come yet.
  struct Lasting {
    HashKey name_key{};
    uint64_t epoch = 0;
    uint32_t ever_added = 0;    // collections
    uint64_t first_number = 0;  // of emissions, leases and changes in new books

    template <class F>
    void Stored(F& f) {
      f(name_key, epoch, ever_added, first_number);
    }
  };
  Lasting lasting();
  void SetLasting(const Lasting& lasting);

  // Keeps a collection. kAlreadyExists if there is one of its name; kFailedPrecondition after
  // Close().
  absl::Status Add(const std::shared_ptr<Collection>& collection);
  // Closes the collection and forgets it, unless that has been done.
  void Remove(Collection& collection);

 private:
  // Visits each partition that is due by `due_by` in the schedule. Returns whether all was done
  // before `budget` ran out.
  using Visit = bool (Partition::*)(const Partition::Moment& moment, Budget& budget);
  bool VisitDue(Schedule& schedule, EngineTime due_by, size_t budget, Visit visit);
  // Visits one of them for as long as others may wait for its lock.
  bool VisitOnce(Partition& partition, size_t& budget, Visit visit);

  const size_t partition_count_;
  const Partitioning partitioning_{partition_count_};
  const HashKey hash_key_;
  HashKey name_key_;
  std::atomic<bool> stopped_ = false;  // for who has no partition's lock
  uint64_t epoch_;
  uint64_t first_number_ = 0;
  PagePool pool_;
  PagePool::Stock prefaulted_{pool_};
  Gate gate_;
  Timeline timeline_;
  Schedule schedule_{Schedule::Clock::kEngine};
  Schedule lease_schedule_{Schedule::Clock::kLeases};
  Lock lock_;
  bool closed_ ABSL_GUARDED_BY(lock_) = false;
  uint32_t ever_added_ ABSL_GUARDED_BY(lock_) = 0;
  Collections collections_ ABSL_GUARDED_BY(lock_);
  // The events that wait in the intake, or null; none: there is no intake.
  std::optional<std::shared_ptr<WaitingEvents>> intake_ ABSL_GUARDED_BY(lock_);
  struct Snapshots {
    Lock lock;
    std::shared_ptr<SnapshotTaking> taking ABSL_GUARDED_BY(lock);  // null: none
    SnapshotCopies last_copies ABSL_GUARDED_BY(lock);
  };
  Snapshots snapshots_;
  // Never resized after construction; a deque, because locks stay put.
  std::deque<Partition> partitions_;
};

// The way from an engine to its core, for the collections.
struct EngineAccess {
  static const std::shared_ptr<EngineCore>& CoreOf(Engine& engine) noexcept { return engine.core_; }
};

}  // namespace pleat::inline v0_1
