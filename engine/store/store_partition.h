// StorePartition: the end of one partition in memory. Records get their offsets here, under its lock,
// and are encoded straight into one of two buffers: that of the block under way. The other one is the
// committer's, from an exchange to the next.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include <absl/base/thread_annotations.h>
#include <pleat/event_store.h>

#include "engine/base/lock.h"
#include "engine/store/log_state.h"
#include "engine/store/section_buffer.h"

namespace pleat::inline v0_1 {

class alignas(64) StorePartition {
 public:
  // Before any other call.
  void Begin(const PartitionState& end, uint64_t durable) {
    next_.store(end.next, std::memory_order_relaxed);
    latest_.store(end.latest.time_since_epoch().count(), std::memory_order_relaxed);
    durable_.store(durable, std::memory_order_relaxed);
  }

  Lock& lock() noexcept ABSL_LOCK_RETURNED(lock_) { return lock_; }

  // Puts one record behind the last, into the buffer of that side. Returns its offset.
  uint64_t Add(const StoreRecord& record, EngineTime appended, int side)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    const EngineTime before = latest();
    if (appended < before) held_back_.fetch_add(1, std::memory_order_relaxed);
    const EngineTime at = std::max(appended, before);
    const uint64_t offset = next_.load(std::memory_order_relaxed);
    buffers_[static_cast<size_t>(side)].Add(
        {record.key, Clamp(record.stamp), record.id, record.payload}, at, offset);
    latest_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
    next_.store(offset + 1, std::memory_order_release);
    return offset;
  }

  // It only grows. Without the lock it may be a moment old.
  EngineTime latest() const noexcept {
    return EngineTime(Duration(latest_.load(std::memory_order_relaxed)));
  }
  uint64_t next() const noexcept { return next_.load(std::memory_order_acquire); }
  uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  // One that is written again is no news. One call at a time.
  void GrowDurable(uint64_t offset) noexcept {
    if (offset > durable()) durable_.store(offset, std::memory_order_release);
  }
  uint64_t held_back() const noexcept { return held_back_.load(std::memory_order_relaxed); }

  // REQUIRES: nobody appends to that side.
  SectionBuffer& buffer(size_t side) noexcept { return buffers_[side]; }

 private:
  Lock lock_;
  std::atomic<uint64_t> next_{0};
  std::atomic<int64_t> latest_{0};
  std::atomic<uint64_t> durable_{0};
  std::atomic<uint64_t> held_back_{0};
  std::array<SectionBuffer, 2> buffers_;
};

}  // namespace pleat::inline v0_1
