// A Gate lets pieces of work that span several partitions in, any number at once, and lets one
// caller, who closes the gate, wait until none is inside. So a snapshot's cut falls between pieces.
//
// Entering costs two atomic instructions on a cache line that few threads share: each thread counts
// itself in one of some slots. (Linux's per-CPU reader locks are made so.) A piece takes some ten
// microseconds, so whoever finds the gate closed, or waits for pieces to leave, waits that long.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <absl/base/thread_annotations.h>

#include "engine/base/inside.h"
#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

class Gate {
  struct alignas(64) Slot {
    std::atomic<uint32_t> inside{0};
  };

 public:
  // One piece.
  class Pass {
   public:
    explicit Pass(Gate& gate) : gate_(gate), slot_(gate.Enter()) {}
    ~Pass() { gate_.Leave(slot_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Gate& gate_;
    Slot& slot_;
  };

  // Keeps the gate closed.
  class ABSL_SCOPED_LOCKABLE Closing {
   public:
    explicit Closing(Gate& gate) ABSL_EXCLUSIVE_LOCK_FUNCTION(gate.closing_) : gate_(gate) {
      gate_.closing_.LockForLong();
      gate_.Close();
    }
    ~Closing() ABSL_UNLOCK_FUNCTION() {
      gate_.Open();
      gate_.closing_.HandOver();
    }
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

   private:
    Gate& gate_;
  };

 private:
  static constexpr size_t kSlots = 16;

  // Returns when no piece is inside; none comes in until Open().
  void Close() noexcept {
    closed_.store(true);
    for (const Slot& slot : slots_) {
      // Either the piece sees the gate closed, or we see the piece.
      for (uint32_t n = slot.inside.load(); n != 0; n = slot.inside.load()) slot.inside.wait(n);
    }
  }
  void Open() noexcept {
    closed_.store(false);
    closed_.notify_all();
  }

  Slot& Enter() noexcept {
    Slot& slot = slots_[SlotOfThread()];
    for (;;) {
      slot.inside.fetch_add(1);
      if (!closed_.load()) [[likely]]
        return slot;
      Leave(slot);
      closed_.wait(true);
    }
  }
  void Leave(Slot& slot) noexcept {
    slot.inside.fetch_sub(1);
    if (closed_.load()) [[unlikely]]
      slot.inside.notify_all();
  }

  // Threads have their thread-local variables in different pages.
  static size_t SlotOfThread() noexcept {
    return (reinterpret_cast<uintptr_t>(&inside_a_call) * 0x9e3779b97f4a7c15) >> 60;
  }

  Lock closing_;  // of whoever keeps the gate closed
  std::array<Slot, kSlots> slots_;
  std::atomic<bool> closed_{false};
};

}  // namespace pleat::inline v0_1
