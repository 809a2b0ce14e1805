#include "engine/store/commit_rounds.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/pause.h"

namespace pleat::inline v0_1 {
namespace {

// Each is told in a copy of its own: where Abseil was built without ThreadSanitizer, that does not see
// how threads share the memory of a Status.
absl::Status CopyOf(const absl::Status& status) { return {status.code(), status.message()}; }

}  // namespace

absl::Status CommitRounds::Join(absl::FunctionRef<absl::Status()> commit) {
  uint64_t round = 0;
  bool leads = false;
  {
    LockGuard guard(lock_);
    round = open_;
    joined_.fetch_add(1, std::memory_order_relaxed);
    leads = !std::exchange(is_led_, true);
  }
  while (!leads) {
    // Before the look: so a change after the look is not slept through.
    const uint32_t word = WordOf(round).load(std::memory_order_acquire);
    {
      LockGuard guard(lock_);
      if (last_ok_ >= round) return absl::OkStatus();
      if (last_ended_ >= round) return CopyOf(last_error_);
      leads = !std::exchange(is_led_, true);
    }
    if (!leads) WordOf(round).wait(word, std::memory_order_acquire);
  }
  Gather();
  const uint32_t served = Close();
  absl::Status status = commit();
  End(round, served, status);
  return status;
}

// Where there are fewer processors than threads, those who are to come need this one. But on a busy
// machine it comes back after a millisecond or more, and so is seldom given away.
void CommitRounds::Gather() {
  if (hurried_ > 0) {
    --hurried_;
    return;
  }
  for (int looks = 0; joined() < expected_; ++looks) {
    if (looks == looks_) {
      in_vain_ = std::min(in_vain_ + 1, kDoublings);
      hurried_ = (1u << in_vain_) - 1;
      return;
    }
    Pause(kPauses);
    if (looks % kLooksAtATime == 0) std::this_thread::yield();
  }
  in_vain_ = 0;
}

uint32_t CommitRounds::Close() {
  LockGuard guard(lock_);
  ++open_;
  return joined_.exchange(0, std::memory_order_relaxed);
}

void CommitRounds::End(uint64_t round, uint32_t served, const absl::Status& status) {
  {
    LockGuard guard(lock_);
    last_ended_ = round;
    if (status.ok()) {
      last_ok_ = round;
    } else {
      last_error_ = CopyOf(status);
    }
    expected_ = served + joined();
    is_led_ = false;
  }
  // Sequentially consistent, so that the check for sleepers inside notify comes after. Of those who
  // wait for the next round one wakes up, to lead it.
  WordOf(round).fetch_add(1);
  WordOf(round).notify_all();
  WordOf(round + 1).fetch_add(1);
  WordOf(round + 1).notify_one();
}

}  // namespace pleat::inline v0_1
