// The operations of a ProcessorDriver. An implementation detail of asio_processor.h.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <pleat/detail/asio_operation.h>
#include <pleat/detail/asio_waiter.h>
#include <pleat/detail/export.h>
#include <pleat/processor.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class ProcessorDriverCore;

struct LeaseCall {
  size_t max;
  Duration visibility_timeout;
  LeaseKeys keys;
};
struct StoppedCall {};

// What a driver calls of its processor. It is filled in a header, so that the library of the driver
// links nothing of the processor's: a program without lanes need not have that library.
struct ProcessorCalls {
  static ProcessorCalls Of(Processor& processor) noexcept {
    return {
        .processor = &processor,
        .run = [](Processor& p, EngineTime now) { return p.Run(now); },
        .lease =
            [](Processor& p, const LeaseCall& call, EngineTime now) {
              return p.Lease(call.max, call.visibility_timeout, now, call.keys);
            },
        .ack = [](Processor& p, const MessageId& id) { p.Ack(id); },
        .nack = [](Processor& p, const MessageId& id, Duration delay,
                   EngineTime now) { p.Nack(id, delay, now); },
        .stopped = [](const Processor& p) { return p.stopped(); },
    };
  }

  Processor* processor;
  absl::StatusOr<bool> (*run)(Processor& processor, EngineTime now);
  std::vector<Message> (*lease)(Processor& processor, const LeaseCall& call, EngineTime now);
  void (*ack)(Processor& processor, const MessageId& id);
  void (*nack)(Processor& processor, const MessageId& id, Duration delay, EngineTime now);
  bool (*stopped)(const Processor& processor);
};

// An operation that looks after each round whether it has come to its end.
class PLEAT_EXPORT ProcessorWaiter : public WaitingOperation,
                                     public boost::intrusive::list_base_hook<> {
 public:
  using Queue = ProcessorDriverCore;
  using Pointer = std::unique_ptr<ProcessorWaiter, DestroyWaiter>;

  // The function in a cancellation slot: cancels the waiter if it still waits.
  class PLEAT_EXPORT Cancel {
   public:
    Cancel(const std::shared_ptr<ProcessorDriverCore>& core, ProcessorWaiter& waiter) noexcept
        : core_(core), waiter_(&waiter) {}
    void operator()(boost::asio::cancellation_type_t type) noexcept;

   private:
    std::weak_ptr<ProcessorDriverCore> core_;
    ProcessorWaiter* waiter_;
  };

  // Whether this is for messages, of which those who wait earlier get theirs first.
  virtual bool is_lease() const noexcept = 0;
  virtual bool IsServed(const ProcessorCalls& processor, EngineTime now) = 0;

  static void Start(ProcessorDriverCore& core, Pointer waiter);

 protected:
  ProcessorWaiter() = default;
  ~ProcessorWaiter() override;
};

class LeaseWork : public ProcessorWaiter {
 public:
  bool is_lease() const noexcept override { return true; }
  bool IsServed(const ProcessorCalls& processor, EngineTime now) override {
    messages_ = processor.lease(*processor.processor, call_, now);
    return !messages_.empty();
  }

 protected:
  explicit LeaseWork(const LeaseCall& call) noexcept : call_(call) {}
  ~LeaseWork() override = default;

  auto TakeResult() { return std::make_tuple(std::move(messages_)); }

 private:
  const LeaseCall call_;
  std::vector<Message> messages_;
};

class StoppedWork : public ProcessorWaiter {
 public:
  bool is_lease() const noexcept override { return false; }
  bool IsServed(const ProcessorCalls& processor, EngineTime) override {
    return processor.stopped(*processor.processor);
  }

 protected:
  explicit StoppedWork(StoppedCall) noexcept {}
  ~StoppedWork() override = default;

  std::tuple<> TakeResult() const noexcept { return {}; }
};

// Starts the operation of a handler.
template <class Work>
struct ProcessorInitiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return executor; }

  template <class Handler, class Call>
  void operator()(Handler&& handler, const Call& call) const {
    using Operation = HandlerOperation<Work, std::decay_t<Handler>, executor_type>;
    ProcessorWaiter::Start(*core,
                           Operation::Make(core, executor, std::forward<Handler>(handler), call));
  }

  std::shared_ptr<ProcessorDriverCore> core;
  executor_type executor;
};

}  // namespace pleat::inline v0_1
