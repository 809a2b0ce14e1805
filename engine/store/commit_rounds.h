// CommitRounds: threads that want their records committed meet in *rounds*, and one of them commits
// for all of its round (group commit).
//
//   thread A   round 1: leads, closes it, commits ... it ends;         round 2: joins, waits ... served
//   thread B        round 2: joins, waits ............. leads, gathers, closes it, commits ... it ends
//   thread C             round 2: joins, waits ................................................. served
//
// A round is open until its leader closes it. Who joined before has appended before, so the commit
// takes these records. Who comes later joins the next round, which nobody leads before this one has
// ended. So threads wait for the end of a round, and not for the lock of commits: a thread that is
// served, appends and comes back would take that lock while the others are still being woken, and
// would commit its own records alone.
//
// When a round ends, the leader of the next one is there already, and those who were served (A) have
// yet to append. A leader who did not wait for them would miss them for ever: they would be served
// by every other round, and a round would serve half of the threads. So a leader *gathers*: it waits
// until as many have joined as there were when the last round ended, served or waiting. It soon
// gives up; and after each time in vain in a row, more rounds do without.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <absl/base/thread_annotations.h>
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

// Thread safety: any thread may call any method at any time.
class CommitRounds {
 public:
  // As many looks take some 100 microseconds where no other thread wants the processor. Meanwhile a
  // thread can wake up and append some hundred records. A sync rarely takes less.
  static constexpr int kLooks = 32;

  // `looks`: how often a leader that gathers looks whether all have come. 0: it does not gather.
  explicit CommitRounds(int looks) : looks_(looks) {}

  // Joins the open round, and returns when it has ended: OK if the commit of it or of a later round
  // was, else an error of one of them. The leader calls its `commit`; one call at a time, and no lock
  // of this class is held.
  absl::Status Join(absl::FunctionRef<absl::Status()> commit);

  // How many have joined the open round.
  uint32_t joined() const noexcept { return joined_.load(std::memory_order_relaxed); }

 private:
  // Behind a gathering in vain so many rounds do without: 1, then 3, up to 2^kDoublings - 1. So a
  // wait in vain costs each round some microseconds at most.
  static constexpr uint32_t kDoublings = 4;
  static constexpr int kPauses = 64;       // between two looks
  static constexpr int kLooksAtATime = 8;  // between two times that others get the processor

  void Gather();
  // How many have joined.
  uint32_t Close();
  void End(uint64_t round, uint32_t served, const absl::Status& status);
  // Those who wait for a round sleep on this word, which changes when they have to look again.
  std::atomic<uint32_t>& WordOf(uint64_t round) noexcept { return words_[round % 2]; }

  const int looks_;
  Lock lock_;                                       // held for moments
  uint64_t open_ ABSL_GUARDED_BY(lock_) = 1;        // the round that is
  bool is_led_ ABSL_GUARDED_BY(lock_) = false;      // a round is, by somebody
  uint64_t last_ended_ ABSL_GUARDED_BY(lock_) = 0;  // the rounds
  uint64_t last_ok_ ABSL_GUARDED_BY(lock_) = 0;
  absl::Status last_error_ ABSL_GUARDED_BY(lock_);
  std::atomic<uint32_t> joined_{0};  // written under the lock
  std::array<std::atomic<uint32_t>, 2> words_{};
  // The leader's, one after the other.
  uint32_t expected_ = 1;  // so many were there when the last round ended
  uint32_t in_vain_ = 0;   // gatherings, one after the other
  uint32_t hurried_ = 0;   // rounds that do not gather, from now on
};

}  // namespace pleat::inline v0_1
