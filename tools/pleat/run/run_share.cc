#include "tools/pleat/run/run_share.h"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "tools/pleat/interrupt.h"
#include "tools/pleat/run/lane_options.h"
#include "tools/pleat/run/open_handler.h"

namespace pleat::cli {
namespace {

constexpr size_t kMessagesAtOnce = 65'536;  // so that a sync is shared by many
constexpr int kLookAgainMs = 20;
// A run writes a message as soon as it is lent, and never twice: a topic may take its time to have it.
constexpr Duration kVisibilityTimeout = kForever;

}  // namespace

RunShare::RunShare(int number, const RunOptions& options, RunLog log, SharedRun& shared,
                   const MonotoneClock& clock)
    : number_(number),
      options_(options),
      shared_(shared),
      clock_(clock),
      log_(std::move(log)),
      processor_(*log_.log, HandlerFor(options, counts_), OptionsFor(options, log_.partitions)) {}

// Writes messages that are decided, and acks those that stay. Returns whether there were any.
absl::StatusOr<bool> RunShare::Deliver() {
  const EngineTime now = clock_.Now();
  const std::vector<Message> messages = processor_.Lease(
      std::min(kMessagesAtOnce, shared_.room()), kVisibilityTimeout, now, LeaseKeys::kTogether);
  if (log_.look_at_keys) {
    if (const std::string note = log_.look_at_keys(messages); !note.empty()) SayOfRun(note);
  }
  shared_.LookAtKeys(messages);
  const absl::StatusOr<std::vector<MessageId>> kept = shared_.Write(number_, messages, now);
  if (!kept.ok()) return kept.status();
  for (const MessageId& each : *kept) processor_.Ack(each);
  return !messages.empty() || !kept->empty();
}

// Whether no lane has to read what it had read. Messages that wait are decided and written when the run
// stops.
bool RunShare::IsIdle(const std::vector<LaneStatus>& lanes) const {
  return std::ranges::none_of(
      lanes, [](const LaneStatus& each) { return each.phase == LanePhase::kReplaying; });
}

// Returns whether there may be more to do at once.
bool RunShare::Round() {
  constexpr int kIdleRounds = 3;  // in each of which the log is asked
  const absl::StatusOr<bool> more = processor_.Run(clock_.Now());
  // A record that is damaged stays so, and nobody waits for more of a log that was to be read to its end.
  if (absl::IsDataLoss(more.status()) && options_.at_end != RunEnd::kFollow) {
    CommitAcks();
    shared_.End(more.status());
    return false;
  }
  if (!more.ok()) shared_.TellTrouble(more.status());
  const absl::StatusOr<bool> delivered = Deliver();
  if (!delivered.ok()) {
    CommitAcks();
    shared_.End(delivered.status());
    return false;
  }
  const std::vector<LaneStatus> lanes = processor_.lanes();
  shared_.Tell(number_, counts_, lanes);
  const bool is_busy = more.value_or(false) || *delivered;
  idle_ = is_busy || !more.ok() || !IsIdle(lanes) ? 0 : idle_ + 1;
  const bool has_all = options_.at_end != RunEnd::kFollow && idle_ >= kIdleRounds;
  if (has_all && options_.at_end == RunEnd::kFlush && !Interrupted()) {
    processor_.CloseAllAndStop();
  } else if (has_all || Interrupted()) {
    processor_.Stop();
  }
  return is_busy;
}

// What was delivered does not come again, though the run ends here.
void RunShare::CommitAcks() {
  constexpr int kRounds = 10;
  processor_.Stop();
  for (int i = 0; i < kRounds && !processor_.stopped(); ++i) {
    processor_.Run(clock_.Now()).status().IgnoreError();
    poll(nullptr, 0, kLookAgainMs);
  }
}

void RunShare::Work(const std::function<void()>& beside) {
  while (!processor_.stopped() && !shared_.has_ended()) {
    const bool is_busy = Round();
    if (beside) beside();
    if (is_busy || shared_.has_ended()) continue;
    pollfd signal{InterruptFd(), POLLIN, 0};
    // A signal that has come would end each wait.
    poll(&signal, Interrupted() ? 0 : 1, kLookAgainMs);
  }
  if (!shared_.has_ended()) Leave();
}

// Nothing is lost if the others do not hear of it in time.
void RunShare::Leave() {
  constexpr int kRounds = 250;
  if (!log_.leave) return;
  log_.leave();
  for (int rounds = kRounds; rounds > 0 && !log_.left(); --rounds) {
    processor_.Run(clock_.Now()).status().IgnoreError();
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace pleat::cli
