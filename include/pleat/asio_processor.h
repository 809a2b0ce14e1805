// ProcessorDriver: runs the rounds of a Processor (processor.h), and lends its messages to
// coroutines and handlers, on Boost.Asio.
// In CMake: find_package(pleat 0.1 REQUIRED COMPONENTS asio lanes), and link both libraries.
//
//   boost::asio::io_context io;
//   boost::asio::thread_pool worker(1);  // Run() blocks its thread, while the log and disk work
//   pleat::ProcessorDriver driver(io, processor, {.worker = worker.get_executor()});
//
//   for (;;) {                           // in a coroutine; as many as deliveries at a time
//     for (pleat::Message& each : co_await driver.async_lease(100, 30s, use_awaitable)) {
//       co_await Send(each);
//       driver.Ack(each.id);
//     }
//   }
//
// At most one round is under way. The first operation that waits has one started at once, as has a
// round that leaves more to do; else the next one comes `round_every` after the end of the last.
// A message leaves when a commit has it, so most often two rounds after its record.
//
// A round that fails, because the log cannot be reached or read, loses nothing: the next one tries
// again, and the operations go on waiting. stats().last_round says why. How the lanes stand is what
// Processor::lanes() says.
//
// An orderly end:
// 1. processor.Stop(), or CloseAllAndStop(). Either waits for the round under way.
// 2. co_await driver.async_stopped(use_awaitable). Others go on to lease and ack meanwhile, as all
//    messages have to be acked.
// 3. driver.Stop(). Operations that wait complete with operation_aborted, and io.run() can return.
//
// Without an event loop a thread does the same: processor.h has that loop. examples/15_lanes.cc is
// such a program, and examples/16_delivery.cc one with coroutines.
//
// Threads: none is started. Lifetimes: driver and execution contexts may be destroyed in any order;
// the processor may go as soon as the driver is stopped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#include <pleat/asio_driver.h>
#include <pleat/detail/asio_lease.h>
#include <pleat/detail/export.h>
#include <pleat/processor.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// As for Driver: a program with another Boost version than the library's does not link.
class [[gnu::abi_tag("boost_" BOOST_LIB_VERSION)]] ProcessorDriver;

struct ProcessorDriverOptions {
  // Where Processor::Run() is called, and with it the handlers. Give it a thread that does nothing
  // else, such as a boost::asio::thread_pool of one: it is blocked while records are read and
  // folded, and while the disk works.
  // REQUIRES: not empty.
  boost::asio::any_io_executor worker;

  // How long after the end of a round the next one comes, if nothing starts it earlier; and after a
  // failed one, when it is tried again. A smaller value has records seen earlier in a quiet log,
  // and asks the log more often.
  // Range: above zero, at most a day. Default: 10 ms.
  Duration round_every = std::chrono::milliseconds(10);

  // How many operations may wait. Range: at least 1. Default: 65,536.
  size_t max_waiters = 65'536;

  // The clock, whose Wall() is the time of rounds and leases: that by which the log stamps its
  // records. Null is the machine's. REQUIRES: outlives the driver.
  const DriverClock* clock = nullptr;
};

struct ProcessorDriverStats {
  size_t waiting = 0;          // operations that wait now
  uint64_t cancelled = 0;      // operations, by their slot
  uint64_t overloaded = 0;     // operations past max_waiters
  uint64_t rounds = 0;         // calls of Run()
  uint64_t failed_rounds = 0;  // of them
  absl::Status last_round;     // OK before the first; an error is that of Processor::Run()
};

// Thread safety: any thread may call any method at any time, but for the destructor. Any number of
// threads may run the execution contexts.
// Ownership: borrows the processor. Others may call its methods meanwhile, but Run(); each of them
// waits for the round under way.
// Until it is stopped, io_context::run() does not return by itself.
class PLEAT_EXPORT ProcessorDriver {
 public:
  using executor_type = boost::asio::any_io_executor;
  using LeaseHandler = void(boost::system::error_code, std::vector<Message>);
  using StoppedHandler = void(boost::system::error_code);

  // Takes its turns on `executor`, which also is the one of handlers that have none associated.
  // An option out of range ends the program.
  ProcessorDriver(executor_type executor, Processor& processor,
                  const ProcessorDriverOptions& options)
      : ProcessorDriver(std::move(executor), ProcessorCalls::Of(processor), options) {}
  ProcessorDriver(boost::asio::io_context& context, Processor& processor,
                  const ProcessorDriverOptions& options)
      : ProcessorDriver(executor_type(context.get_executor()), processor, options) {}

  ~ProcessorDriver();  // as Stop()
  ProcessorDriver(const ProcessorDriver&) = delete;
  ProcessorDriver& operator=(const ProcessorDriver&) = delete;

  // Waits until there are messages, and leases up to `max` of them: see Processor::Lease(). Those
  // who wait are served in their order, each with all that there is, up to its `max`.
  //
  // Completion: without error, there is at least one message. Never inside the initiating function:
  //   posted to the driver's executor, and from there to the handler's associated executor, if that
  //   is another one. The lease runs from the end of the round on.
  // Errors, with no messages:
  // - boost::asio::error::operation_aborted: the operation was cancelled, or the driver was stopped
  //   or destroyed.
  // - AsioError::kOverloaded: max_waiters operations wait already.
  // Cancellation: total, hence also partial and terminal: no message is leased by it. As ever in
  //   Asio, emit the signal where the handler runs.
  // Allocation: the operation, by the handler's associated allocator, freed before the handler is
  //   called; the messages; and what Asio needs to post.
  // REQUIRES: max > 0. A lazy token, such as deferred or use_awaitable, begins when it is awaited.
  template <boost::asio::completion_token_for<LeaseHandler> Token>
  auto async_lease(size_t max, Duration visibility_timeout, Token&& token,
                   LeaseKeys keys = LeaseKeys::kOne) {
    return boost::asio::async_initiate<Token, LeaseHandler>(
        ProcessorInitiation<LeaseWork>{core_, get_executor()}, token,
        LeaseCall{.max = max, .visibility_timeout = visibility_timeout, .keys = keys});
  }

  // Waits until Processor::stopped(). Completion, errors, cancellation and allocation: as above.
  template <boost::asio::completion_token_for<StoppedHandler> Token>
  auto async_stopped(Token&& token) {
    return boost::asio::async_initiate<Token, StoppedHandler>(
        ProcessorInitiation<StoppedWork>{core_, get_executor()}, token, StoppedCall{});
  }

  // As Processor::Ack() and Nack(), but neither waits for the round that is under way: the
  // processor hears of it at its end, or in Stop(). After Stop(), or when the execution context has
  // gone, these do nothing.
  void Ack(const MessageId& id);
  void Nack(const MessageId& id, Duration delay);

  // The clock's Wall(): the time of rounds, and of records that a program appends itself.
  EngineTime now() const noexcept;

  // Has a round started, also behind one that is under way: call it when something was appended
  // that is to be seen at once.
  void Wake();

  // From its return on, the driver calls the processor no more. Waits for the round under way.
  // Operations that wait, also those that are started later, complete with operation_aborted. It
  // ends nothing in order by itself, see above. Idempotent.
  void Stop() noexcept;

  ProcessorDriverStats stats() const;
  executor_type get_executor() const noexcept;

 private:
  ProcessorDriver(executor_type executor, const ProcessorCalls& processor,
                  const ProcessorDriverOptions& options);

  std::shared_ptr<ProcessorDriverCore> core_;
};

}  // namespace pleat::inline v0_1
