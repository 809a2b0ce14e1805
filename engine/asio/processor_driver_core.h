// ProcessorDriverCore stands behind a ProcessorDriver: its calls are rounds of a processor. Behind each
// round it serves those who wait.
//
// Acks are gathered and handed over before a round and behind it, as the processor has a lock that a round
// holds.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/list.hpp>
#include <pleat/asio_processor.h>

#include "engine/asio/repeated_call.h"

namespace pleat::inline v0_1 {

class ProcessorDriverCore final : public RepeatedCall {
 public:
  ProcessorDriverCore(boost::asio::any_io_executor executor, const ProcessorCalls& processor,
                      const ProcessorDriverOptions& options);

  void Start(ProcessorWaiter::Pointer waiter);
  void Cancel(ProcessorWaiter& waiter) noexcept;
  // The message was delivered; or is lent again after `delay`.
  void Answer(const MessageId& id, std::optional<Duration> delay);
  EngineTime now() const noexcept { return clock_.Wall(); }
  void StartRound();
  ProcessorDriverStats stats();

 private:
  using Waiters = boost::intrusive::list<ProcessorWaiter>;
  struct Answered {
    MessageId id;
    std::optional<Duration> delay;
  };

  void HandOver(const std::vector<Answered>& answered);
  bool HasWaiters() const noexcept { return !leases_.empty() || !stops_.empty(); }

  absl::Status Call() noexcept override;
  void Note(absl::Status status) noexcept override;
  bool Serve() noexcept override;
  void CompleteAll() noexcept override;
  void DestroyAll() noexcept override;

  const ProcessorCalls processor_;
  const size_t max_waiters_;
  Waiters leases_;
  Waiters stops_;
  std::vector<Answered> answered_;
  bool more_ = false;           // Run() has left something to do
  ProcessorDriverStats stats_;  // but for `waiting`
};

}  // namespace pleat::inline v0_1
