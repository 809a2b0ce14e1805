#include <pleat/processor.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <absl/base/thread_annotations.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/lock.h"
#include "engine/lanes/lane_core.h"

namespace pleat::inline v0_1 {
namespace {

std::string Hexadecimal(uint64_t word) {
  std::string text(16, '0');
  for (size_t i = text.size(); i-- > 0; word >>= 4) text[i] = "0123456789abcdef"[word & 15];
  return text;
}

// Errors of a disk or a broker that the next call may not meet.
bool MayPass(const absl::Status& error) {
  return absl::IsResourceExhausted(error) || absl::IsInternal(error) ||
         absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
}

}  // namespace

std::string FormatMessageId(std::string_view source, const MessageId& id, std::string_view stream) {
  return Concat(source, "/", id.partition, "/", Hexadecimal(id.life), "/", stream, "/", id.number);
}

class Processor::Core final : private LogListener {
 public:
  Core(PartitionedLog& log, MakeHandler make_handler, const ProcessorOptions& options)
      : log_(log), make_handler_(std::move(make_handler)), options_(options) {
    PLEAT_CHECK(options.commit_every > Duration{0} && options_.margin >= Duration{0});
    options_.commit_every = std::max(options.commit_every, log.commit_interval_min());
    PLEAT_CHECK(options_.idle > Duration{0});
    PLEAT_CHECK(options_.replay_limit > 0 && options_.messages_bytes_max > 0);
    PLEAT_CHECK(options_.buried_bytes_max > 0);
    PLEAT_CHECK(options_.held_bytes_max > 0 && options_.held_records_max > 0);
  }

  absl::StatusOr<bool> Run(EngineTime now) {
    LongLockGuard guard(lock_);
    run_at_ = now;
    const absl::StatusOr<bool> more = log_.Poll(*this);
    for (auto& [partition, held] : lanes_) {
      if (held.starts_again) Start(partition, held);
      LaneCore& lane = *held.lane;
      if (const std::optional<uint64_t> from = lane.ReadsAgain(now)) log_.Read(partition, *from);
      if (!stopping_) lane.RetryHeld(now);
      // One that replays ends that first, so that it has all to go on from.
      const bool is_replaying = lane.phase() == LanePhase::kReplaying;
      const bool is_parked = lane.phase() == LanePhase::kParked && !held.starts_again;
      const bool paused = (stopping_ && !is_replaying) || is_parked || lane.IsFull();
      if (paused != held.is_paused) log_.Pause(partition, held.is_paused = paused);
      if ((!stopping_ || is_replaying) && lane.WantsEnd(now)) {
        lane.AskedForEnd(now);
        log_.AskEnd(partition);
      }
      if (closes_all_) lane.CloseAll();
      lane.KeepSnapshot(log_.snapshots(), stopping_);
      const std::optional<LogCommit> commit =
          lane.Decide(now, stopping_, log_.commit_interval_min(), log_.snapshots());
      if (commit) log_.Commit(*commit);
    }
    return more;
  }

  void Stop() {
    LockGuard guard(lock_);
    stopping_ = true;
  }
  void CloseAllAndStop() {
    LockGuard guard(lock_);
    stopping_ = closes_all_ = true;
  }
  bool stopped() const {
    LockGuard guard(lock_);
    return stopping_ && std::ranges::all_of(lanes_, [closes_all = closes_all_](const auto& each) {
             const LaneCore& lane = *each.second.lane;
             return (!closes_all || lane.has_closed_all()) && lane.HasCommittedAll();
           });
  }

  // The partition behind the one that came first in the last call comes first.
  std::vector<Message> Lease(size_t max, Duration visibility_timeout, EngineTime now,
                             LeaseKeys keys) {
    const EngineTime until = SaturatingAdd(now, visibility_timeout);
    std::vector<Message> out;
    LockGuard guard(lock_);
    const auto begin = lanes_.upper_bound(leased_first_);
    const auto lend = [&](auto from, auto to) {
      for (; from != to && out.size() < max; ++from) {
        from->second.lane->Lend(max - out.size(), now, until, keys, out);
      }
    };
    lend(begin, lanes_.end());
    lend(lanes_.begin(), begin);
    leased_first_ = begin == lanes_.end() ? -1 : begin->first;
    return out;
  }
  bool Ack(const MessageId& id) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(id.partition);
    return lane != nullptr && lane->Ack(id);
  }
  bool Nack(const MessageId& id, Duration delay, EngineTime now) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(id.partition);
    return lane != nullptr && lane->Nack(id, SaturatingAdd(now, delay));
  }

  std::vector<LaneStatus> lanes() const {
    std::vector<LaneStatus> all;
    LockGuard guard(lock_);
    all.reserve(lanes_.size());
    for (const auto& [partition, held] : lanes_) all.push_back(held.lane->Status());
    return all;
  }

  std::vector<HeldKey> held_keys() const {
    std::vector<HeldKey> all;
    LockGuard guard(lock_);
    for (const auto& [partition, held] : lanes_) held.lane->AddHeldKeys(all);
    return all;
  }
  bool Retry(int partition, std::string_view key) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(partition);
    return lane != nullptr && lane->Retry(key);
  }
  bool Drop(int partition, std::string_view key, uint64_t offset) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(partition);
    return lane != nullptr && lane->Drop(key, offset);
  }

  bool Bury(const MessageId& id, std::string_view reason) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(id.partition);
    return lane != nullptr && lane->Bury(id, reason);
  }
  std::vector<BuriedMessage> buried() const {
    std::vector<BuriedMessage> all;
    LockGuard guard(lock_);
    for (const auto& [partition, held] : lanes_) held.lane->AddBuried(all);
    return all;
  }
  bool Revive(const MessageId& id) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(id.partition);
    return lane != nullptr && lane->Revive(id);
  }
  bool DropBuried(const MessageId& id) {
    LockGuard guard(lock_);
    LaneCore* const lane = LaneOf(id.partition);
    return lane != nullptr && lane->DropBuried(id);
  }

 private:
  struct HeldLane {
    std::unique_ptr<LaneCore> lane;
    std::optional<LogCommit> committed;  // when it was assigned
    uint64_t first = 0;
    bool is_paused = false;
    bool starts_again = false;
  };

  LaneCore* LaneOf(int partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    const auto found = lanes_.find(partition);
    return found == lanes_.end() ? nullptr : found->second.lane.get();
  }
  LaneCore& lane(int partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    const auto found = lanes_.find(partition);
    PLEAT_CHECK(found != lanes_.end());
    return *found->second.lane;
  }

  // A snapshot that cannot be read for the moment is read in the next round.
  void Start(int partition, HeldLane& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    held.lane = std::make_unique<LaneCore>(partition, options_, make_handler_);
    const std::optional<uint64_t> from = held.lane->Start(
        held.committed ? &*held.committed : nullptr, held.first, log_.snapshots(), run_at_);
    held.starts_again =
        held.lane->phase() == LanePhase::kParked && MayPass(held.lane->Status().why);
    if (from) log_.Read(partition, *from);
  }

  // --- LogListener: inside Run(), which holds the lock

  void OnAssigned(int partition, const LogCommit* committed,
                  uint64_t first) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    HeldLane& held = lanes_[partition];
    held = {.first = first};
    if (committed != nullptr) held.committed = *committed;
    Start(partition, held);
  }
  void OnRevoked(int partition) override ABSL_NO_THREAD_SAFETY_ANALYSIS { lanes_.erase(partition); }
  void OnRecords(int partition,
                 std::span<const LogRecord> records) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    lane(partition).Take(records, run_at_);
  }
  void OnPositionLost(int partition, uint64_t first) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    LaneCore& lost = lane(partition);
    lanes_[partition].starts_again = false;
    lost.Park(absl::OutOfRangeError(Concat(
        "partition ", partition, ": the records from offset ", lost.Status().next,
        " on are not there; what is left begins at ", first,
        ": put them back, or move the consumer to the offset where a new life is to begin")));
  }
  void OnEnd(int partition) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    LaneCore& ended = lane(partition);
    if (!stopping_ || ended.phase() == LanePhase::kReplaying) ended.ReachEnd();
  }
  void OnCommitted(int partition, CommitOutcome outcome) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (outcome == CommitOutcome::kFenced) return OnRevoked(partition);
    lane(partition).Committed(outcome, log_.snapshots());
  }

  PartitionedLog& log_;
  const MakeHandler make_handler_;
  ProcessorOptions options_;
  mutable Lock lock_;
  std::map<int, HeldLane> lanes_ ABSL_GUARDED_BY(lock_);
  EngineTime run_at_ ABSL_GUARDED_BY(lock_) = kBeginningOfTime;  // of Run()
  int leased_first_ ABSL_GUARDED_BY(lock_) = -1;
  bool stopping_ ABSL_GUARDED_BY(lock_) = false;
  bool closes_all_ ABSL_GUARDED_BY(lock_) = false;
};

Processor::Processor(PartitionedLog& log, MakeHandler make_handler, const ProcessorOptions& options)
    : core_(std::make_unique<Core>(log, std::move(make_handler), options)) {}
Processor::~Processor() = default;

absl::StatusOr<bool> Processor::Run(EngineTime now) { return core_->Run(now); }
void Processor::Stop() { core_->Stop(); }
void Processor::CloseAllAndStop() { core_->CloseAllAndStop(); }
bool Processor::stopped() const { return core_->stopped(); }
std::vector<Message> Processor::Lease(size_t max, Duration visibility_timeout, EngineTime now,
                                      LeaseKeys keys) {
  return core_->Lease(max, visibility_timeout, now, keys);
}
bool Processor::Ack(const MessageId& id) { return core_->Ack(id); }
bool Processor::Nack(const MessageId& id, Duration delay, EngineTime now) {
  return core_->Nack(id, delay, now);
}
std::vector<LaneStatus> Processor::lanes() const { return core_->lanes(); }
std::vector<HeldKey> Processor::held_keys() const { return core_->held_keys(); }
bool Processor::Retry(int partition, std::string_view key) { return core_->Retry(partition, key); }
bool Processor::Drop(int partition, std::string_view key, uint64_t offset) {
  return core_->Drop(partition, key, offset);
}
bool Processor::Bury(const MessageId& id, std::string_view reason) {
  return core_->Bury(id, reason);
}
std::vector<BuriedMessage> Processor::buried() const { return core_->buried(); }
bool Processor::Revive(const MessageId& id) { return core_->Revive(id); }
bool Processor::Drop(const MessageId& id) { return core_->DropBuried(id); }

}  // namespace pleat::inline v0_1
