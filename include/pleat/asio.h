// pleat on Boost.Asio: a Driver that moves an engine's time, and Consumers whose emissions are awaited.
//
//   boost::asio::io_context io;
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Event, State> accounts(*engine, "accounts", {.quiet_period = 5min, .max_hold = 1h});
//   pleat::Driver driver(io, *engine);          // the only thing that reads a clock
//   accounts.Fold(key, event, driver.now());    // any thread
//
//   pleat::Consumer consumer(driver, accounts);  // in a coroutine
//   for (;;) {
//     auto lease = co_await consumer.async_lease(boost::asio::use_awaitable);
//     co_await Publish(lease->key, lease->state);
//     lease->Ack();                             // not acked by its deadline: handed out again
//   }                                           // or Nack(10s, driver.lease_now())
//
// No thread is started here but by Driver::RunThread(), and no work is done but by the threads that run the
// execution context, and by who calls. An orderly end: destroy consumers, then the driver, then the engine.
// The execution context may go before all of them: then what waits is destroyed, and not called.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#include <pleat/any_collection.h>
#include <pleat/emission.h>
#include <pleat/emission_source.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/histogram.h>
#include <pleat/partition.h>
#include <pleat/time.h>

namespace boost::asio {
class io_context;
}

namespace pleat::inline v0_1 {

class DriverCore;
class ConsumerCore;

// Objects of Boost's go in and out of the library, which therefore has to be compiled with the same
// Boost as its user. The version is a part of the driver's name in the library: a program that has
// another one does not link.
class [[gnu::abi_tag("boost_" BOOST_LIB_VERSION)]] Driver;

// How an operation fails, beside boost::asio::error::operation_aborted when it was cancelled.
enum class AsioError {
  kOverloaded = 1,  // too many operations wait already (ConsumerOptions::max_waiters)
  kClosed = 2,      // the driver was stopped, or the engine is gone
};
PLEAT_EXPORT const boost::system::error_category& AsioErrorCategory() noexcept;
PLEAT_EXPORT boost::system::error_code make_error_code(AsioError error) noexcept;

// What a driver reads time from. Any thread may call it at any time.
class DriverClock {
 public:
  // Since some fixed instant, with the time during which the machine was suspended.
  virtual Duration Elapsed() const noexcept = 0;

  // What the machine holds for the date.
  virtual EngineTime Wall() const noexcept = 0;

  // Whether it goes on by itself. For one that is moved by hand a driver sets no timer: call Driver::Wake() when it
  // was moved, and it is all a function of that.
  virtual bool runs() const noexcept { return true; }

 protected:
  ~DriverClock() = default;
};

struct DriverOptions {
  // Deadlines are rounded up to a multiple of this, so that one wake-up serves many. Above zero. A larger one
  // saves wake-ups and makes emissions later by up to as much.
  Duration tick = std::chrono::milliseconds(1);

  // How many groups a turn looks at, a group more than once maybe, before it lets other handlers run. At least 1.
  size_t budget = 4096;

  // The longest sleep, above zero, at most a day: a timer does not notice that the machine was suspended, so
  // what fell due meanwhile can be late by this much, unless somebody calls Wake().
  Duration max_sleep = std::chrono::seconds(10);

  // Null: the machine's. Has to stay as long as the driver and its consumers.
  const DriverClock* clock = nullptr;
};

struct DriverStats {
  uint64_t turns = 0;        // calls of Engine::Advance(), or of what stands for it on event time
  uint64_t unfinished = 0;   // of them, those that left something for the next
  uint64_t timer_wakes = 0;  // of them, those that the timer has brought about

  // How often the wall clock was seen to have been set by 100 ms or more. That changes nothing else.
  uint64_t wall_steps_back = 0;
  uint64_t wall_steps_forward = 0;

  EngineTime asleep_until;  // the next turn, unless something comes up; kNever when stopped

  // Of turns that had something due: by how much the earliest deadline lay behind.
  Histogram lateness_us;
};

// A thread that runs the io_context of a driver, to hold on to. Not to be destroyed on that very
// thread.
class PLEAT_EXPORT DriverThread {
 public:
  DriverThread(DriverThread&&) noexcept;
  DriverThread& operator=(DriverThread&&) noexcept;
  ~DriverThread();  // as Stop()

  // Stops the io_context and joins the thread. Idempotent.
  void Stop() noexcept;

 private:
  friend class Driver;
  struct Impl;
  explicit DriverThread(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Moves an engine's time and LeaseTime by one clock: sleeps on one timer until the engine's next
// deadline or the next end of a lease, and calls Advance() and AdvanceLeases(), a bounded number of
// groups and leases at a time. A deadline that becomes earlier wakes it.
//
// - Never early: nothing closes before now() has reached its deadline. Late by a tick at most, and by what the
//   turns for what was due before it take.
// - Time is that of the wall at construction, or at the last Reanchor(), and what has elapsed since, suspend
//   included; it never goes back. What becomes of the wall clock in between is counted, and changes nothing.
// - On event time the stamps move the engine's time, and no clock does. Here the driver moves LeaseTime,
//   and looks at each tick, while there is a deadline, whether the watermark has passed it.
//
// Thread safety: distinct objects are independent; of one, any thread may call any method at any
// time, but for the destructor. Any number of threads may run its execution context; turns do not
// overlap.
// Ownership: borrows the engine, which may go first: then nothing is due any more. An engine has
// one driver at a time; a second one is a bug and ends the program. While it is not stopped,
// io_context::run() does not return by itself.
class PLEAT_EXPORT Driver {
 public:
  using executor_type = boost::asio::any_io_executor;

  // Takes its turns on `executor`. What is wrong with the options is a bug, and ends the program.
  Driver(executor_type executor, Engine& engine, const DriverOptions& options = {});
  Driver(boost::asio::io_context& context, Engine& engine, const DriverOptions& options = {});

  // With an io_context of its own, for RunThread().
  explicit Driver(Engine& engine, const DriverOptions& options = {});

  ~Driver();  // as Stop()
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // The time of this driver: what events that arrive now are to be stamped with. Never goes back. Cost: a clock
  // reading.
  EngineTime now() const noexcept;

  // The same reading for leases: what Lease(), Nack() and Extend() are to be told.
  LeaseTime lease_now() const noexcept { return LeaseTime(now()); }

  // Reads the clock and does what is due, soon, on the executor: after the machine was resumed, or, in tests,
  // after the clock was moved. Does not wait for it.
  void Wake();

  // Sets the time to the wall's; if that lies behind, now() stands still until it has caught up. Then Wake().
  void Reanchor();

  // From its return on, the driver does not call the engine any more, and every operation of a
  // consumer completes with kClosed. Waits for the turn under way. Idempotent.
  void Stop() noexcept;

  // Starts a thread that runs the driver's own io_context, until its handle is stopped or
  // destroyed. For a driver that was given an executor or an io_context, which others run and stop,
  // it is a bug and ends the program.
  [[nodiscard]] DriverThread RunThread();

  DriverStats stats() const;
  executor_type get_executor() const noexcept;

  // For the consumers.
  const std::shared_ptr<DriverCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<boost::asio::io_context> context_;  // null unless it is the driver's own
  std::shared_ptr<DriverCore> core_;
};

struct ConsumerOptions {
  // How long async_lease lends for. Above zero.
  Duration ttl = std::chrono::seconds(30);

  // Operations that wait. At the limit a further one completes at once, with kOverloaded. At least 1.
  size_t max_waiters = 65'536;
};

struct ConsumerStats {
  size_t waiting = 0;       // operations, now
  uint64_t delivered = 0;   // emissions
  uint64_t cancelled = 0;   // operations
  uint64_t overloaded = 0;  // operations
  // On arrival time: by how much the instant that closed a group, or cut a partial, lay behind when the emission was
  // taken for somebody, for the first time. Of reasons quiet, max_hold and partial.
  Histogram lateness_us;
};

// An operation that was started, as the consumer sees it: something that takes emissions if there are any, and
// is then completed. It owns itself; one of Complete() and Destroy() is its end.
class PLEAT_EXPORT Waiter : public boost::intrusive::list_base_hook<> {
 public:
  using See = absl::FunctionRef<void(EngineTime closed, Reason reason)>;

  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Takes what there is `now`, shows what was not delivered before, and returns how much it was.
  virtual size_t Take(LeaseTime now, See see) noexcept = 0;

  // Has the handler's cancellation slot, if any, cancel it.
  virtual void ConnectCancellation() = 0;

  // Posts the handler with what was taken.
  virtual void Complete(boost::system::error_code error) noexcept = 0;

  // Frees it and its handler, which is not called.
  virtual void Destroy() noexcept = 0;

 protected:
  Waiter() = default;
  virtual ~Waiter();
};

struct DestroyWaiter {
  void operator()(Waiter* waiter) const noexcept { waiter->Destroy(); }
};
using WaiterPtr = std::unique_ptr<Waiter, DestroyWaiter>;

// What of a Consumer does not depend on types.
class PLEAT_EXPORT AnyConsumer {
 public:
  AnyConsumer(boost::asio::any_io_executor executor, Driver& driver,
              const AnyCollection& collection, PartitionRange range,
              const ConsumerOptions& options);
  AnyConsumer(AnyConsumer&&) noexcept;
  AnyConsumer& operator=(AnyConsumer&&) noexcept;
  ~AnyConsumer();

  void cancel() noexcept;
  ConsumerStats stats() const;

  const std::shared_ptr<ConsumerCore>& core() const noexcept { return core_; }

  // Serves `waiter` if nobody waits before it, or has it wait.
  static void Start(ConsumerCore& core, WaiterPtr waiter);

  // What a cancellation slot holds: cancels the waiter if it still waits.
  class PLEAT_EXPORT CancelWaiter {
   public:
    CancelWaiter(const std::shared_ptr<ConsumerCore>& core, Waiter& waiter) noexcept
        : core_(core), waiter_(&waiter) {}
    void operator()(boost::asio::cancellation_type_t type) noexcept;

   private:
    std::weak_ptr<ConsumerCore> core_;
    Waiter* waiter_;
  };

 private:
  std::shared_ptr<ConsumerCore> core_;
};

// The operation of one handler. `Call` takes up to a number of emissions at an instant and returns them in a vector;
// the handler gets that vector, or with kOne its only element.
template <class Call, bool kOne, class Handler, class Executor>
class TakeOperation final : public Waiter {
 public:
  template <class AnyHandler>
  static WaiterPtr Make(const std::shared_ptr<ConsumerCore>& core, const Executor& executor,
                        Call call, size_t max, AnyHandler&& handler) {
    Allocator allocator = AllocatorOf(handler);
    auto memory = Traits::allocate(allocator, 1);
    try {
      return WaiterPtr(::new (static_cast<void*>(std::to_address(memory))) TakeOperation(
          core, executor, std::move(call), max, std::forward<AnyHandler>(handler)));
    } catch (...) {
      Traits::deallocate(allocator, memory, 1);
      throw;
    }
  }

  size_t Take(LeaseTime now, See see) noexcept override {
    items_ = call_(max_, now);
    for (const Item& item : items_) {
      if constexpr (requires { item.delivery; }) {
        if (item.delivery.deliveries > 1) continue;
      }
      see(item.closed, item.reason);
    }
    return items_.size();
  }

  void ConnectCancellation() override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.template emplace<AnyConsumer::CancelWaiter>(core_, *this);
  }

  // By way of the consumer's executor, as Asio's own operations: what is posted is work for both executors, and
  // an executor that runs what it is given at once, such as a future's, does so there.
  void Complete(boost::system::error_code error) noexcept override {
    error_ = error;
    const auto consumer_work = std::move(consumer_work_);
    const auto work = std::move(work_);
    boost::asio::post(consumer_work.get_executor(),
                      boost::asio::bind_executor(work.get_executor(), Invocation(this)));
  }

  void Destroy() noexcept override { Free(AllocatorOf(handler_)); }

 private:
  using Item = typename std::invoke_result_t<Call&, size_t, LeaseTime>::value_type;
  using HandlerExecutor = boost::asio::associated_executor_t<Handler, Executor>;
  using Allocator = typename std::allocator_traits<boost::asio::associated_allocator_t<
      Handler, boost::asio::recycling_allocator<void>>>::template rebind_alloc<TakeOperation>;
  using Traits = std::allocator_traits<Allocator>;

  // What is posted. If it is destroyed without having run, so is the operation.
  class Invocation {
   public:
    explicit Invocation(TakeOperation* operation) noexcept : operation_(operation) {}
    void operator()() { static_cast<TakeOperation*>(operation_.release())->Invoke(); }

   private:
    WaiterPtr operation_;
  };

  template <class AnyHandler>
  TakeOperation(const std::shared_ptr<ConsumerCore>& core, const Executor& executor, Call call,
                size_t max, AnyHandler&& handler)
      : core_(core),
        call_(std::move(call)),
        max_(std::max<size_t>(max, 1)),
        handler_(std::forward<AnyHandler>(handler)),
        consumer_work_(executor),
        work_(boost::asio::get_associated_executor(handler_, executor)) {}
  ~TakeOperation() override = default;

  static Allocator AllocatorOf(const Handler& handler) noexcept {
    return Allocator(
        boost::asio::get_associated_allocator(handler, boost::asio::recycling_allocator<void>()));
  }

  void Free(Allocator allocator) noexcept {
    auto memory = std::pointer_traits<typename Traits::pointer>::pointer_to(*this);
    this->~TakeOperation();
    Traits::deallocate(allocator, memory, 1);
  }

  // On the handler's executor. The memory is free before the handler runs, which may want it for its next
  // operation.
  void Invoke() {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    Allocator allocator = AllocatorOf(handler_);
    const boost::system::error_code error = error_;
    std::vector<Item> items = std::move(items_);
    Handler handler = std::move(handler_);
    Free(std::move(allocator));
    if constexpr (kOne) {
      std::optional<Item> item;
      if (!items.empty()) item.emplace(std::move(items.front()));
      std::move(handler)(error, std::move(item));
    } else {
      std::move(handler)(error, std::move(items));
    }
  }

  std::shared_ptr<ConsumerCore> core_;
  Call call_;
  const size_t max_;
  std::vector<Item> items_;
  boost::system::error_code error_;
  Handler handler_;
  boost::asio::executor_work_guard<Executor> consumer_work_;
  boost::asio::executor_work_guard<HandlerExecutor> work_;
};

// Takes emissions of some partitions of a collection, such as a Folder, as they come. An I/O object in Asio's manner, whose
// operations take any completion token.
//
// Completion: with no error and what was taken; or with nothing and operation_aborted (cancelled, or the
//   consumer is gone), AsioError::kOverloaded or AsioError::kClosed. Never inside the initiating function:
//   posted to the consumer's executor, and from there to the handler's associated one, if it has another.
// Order: operations are served in the order in which they were started, and emissions are taken in the order
//   of EmissionSource::Pop() and Lease(). One operation at a time, or handlers on a strand, keep it.
// Cancellation: total, hence also partial and terminal. What was cancelled has taken nothing; what has taken
//   something is delivered. As ever in Asio, emit the signal where the handler runs.
// Allocation: the operation, by the handler's associated allocator, freed before the handler is called; what
//   Asio needs to post; and the emissions.
// If the execution context is destroyed while operations wait, their handlers are destroyed, not called.
//
// Several consumers may overlap: each emission goes to one of them. One that nobody reads from costs the others
// nothing; the collection's backlog is what bounds it.
//
// Thread safety: distinct objects are independent; of one, any thread may start operations and call cancel() and
// stats(), but not move or destroy it meanwhile. Any number of threads may run the execution context.
template <class State, class Executor = boost::asio::any_io_executor>
class Consumer {
 public:
  using executor_type = Executor;
  template <class Other>
  struct rebind_executor {
    using other = Consumer<State, Other>;
  };

  using PopHandler = void(boost::system::error_code, std::optional<Emission<State>>);
  using PopManyHandler = void(boost::system::error_code, std::vector<Emission<State>>);
  using LeaseHandler = void(boost::system::error_code, std::optional<Leased<State>>);
  using LeaseManyHandler = void(boost::system::error_code, std::vector<Leased<State>>);

  // On the driver's executor.
  explicit Consumer(Driver& driver, const EmissionSource<State>& source, PartitionRange range = {},
                    const ConsumerOptions& options = {})
      : Consumer(Executor(driver.get_executor()), driver, source, range, options) {}

  Consumer(const Executor& executor, Driver& driver, const EmissionSource<State>& source,
           PartitionRange range = {}, const ConsumerOptions& options = {})
      : executor_(executor),
        source_(source),
        range_(range),
        ttl_(options.ttl),
        any_(executor, driver, source.any(), range, options) {}

  template <class Other>
    requires std::is_constructible_v<Executor, const Other&>
  explicit Consumer(Consumer<State, Other>&& other)
      : executor_(other.executor_),
        source_(other.source_),
        range_(other.range_),
        ttl_(other.ttl_),
        any_(std::move(other.any_)) {}

  Consumer(Consumer&&) noexcept = default;
  Consumer& operator=(Consumer&&) noexcept = default;
  ~Consumer() = default;  // as cancel()

  executor_type get_executor() const noexcept { return executor_; }

  // Cancels all operations that wait.
  void cancel() noexcept { any_.cancel(); }

  ConsumerStats stats() const { return any_.stats(); }

  // Takes an emission for good.
  template <boost::asio::completion_token_for<PopHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_pop(Token&& token = Token()) {
    return Initiate<PopHandler, true>(PopCall{source_, range_}, 1, token);
  }

  // Takes up to `max` emissions for good, one at least. EmissionSource::Pop() says what a large `max` costs.
  template <boost::asio::completion_token_for<PopManyHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
  auto async_pop_many(size_t max, Token&& token = Token()) {
    return Initiate<PopManyHandler, false>(PopCall{source_, range_}, max, token);
  }

  // Borrows an emission for ConsumerOptions::ttl.
  template <boost::asio::completion_token_for<LeaseHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
    requires std::is_copy_constructible_v<State>
  auto async_lease(Token&& token = Token()) {
    return Initiate<LeaseHandler, true>(LeaseCall{source_, range_, ttl_}, 1, token);
  }

  // Borrows up to `max` emissions, one at least.
  template <boost::asio::completion_token_for<LeaseManyHandler> Token =
                boost::asio::default_completion_token_t<Executor>>
    requires std::is_copy_constructible_v<State>
  auto async_lease_many(size_t max, Token&& token = Token()) {
    return Initiate<LeaseManyHandler, false>(LeaseCall{source_, range_, ttl_}, max, token);
  }

 private:
  template <class, class>
  friend class Consumer;

  struct PopCall {
    EmissionSource<State> source;
    PartitionRange range;
    std::vector<Emission<State>> operator()(size_t max, LeaseTime) noexcept {
      return source.Pop(max, range);
    }
  };

  struct LeaseCall {
    EmissionSource<State> source;
    PartitionRange range;
    Duration ttl;
    std::vector<Leased<State>> operator()(size_t max, LeaseTime now) noexcept {
      return source.Lease(max, ttl, now, range);
    }
  };

  // Starts the operation once the token has made a handler: now, or when a deferred one is run.
  template <class Call, bool kOne>
  struct Initiation {
    using executor_type = Executor;
    executor_type get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler&& handler, Call call, size_t max) const {
      using Operation = TakeOperation<Call, kOne, std::decay_t<Handler>, Executor>;
      AnyConsumer::Start(*core, Operation::Make(core, executor, std::move(call), max,
                                                std::forward<Handler>(handler)));
    }

    std::shared_ptr<ConsumerCore> core;
    Executor executor;
  };

  template <class Signature, bool kOne, class Call, class Token>
  auto Initiate(Call call, size_t max, Token& token) {
    return boost::asio::async_initiate<Token, Signature>(
        Initiation<Call, kOne>{any_.core(), executor_}, token, std::move(call), max);
  }

  Executor executor_;
  EmissionSource<State> source_;
  PartitionRange range_;
  Duration ttl_;
  AnyConsumer any_;
};

// A consumer of the partitions that a worker owns, such as PartitionRange::ForWorker().
template <class State>
[[nodiscard]] Consumer<State> Subscribe(Driver& driver, const EmissionSource<State>& source,
                                        PartitionRange range, const ConsumerOptions& options = {}) {
  return Consumer<State>(driver, source, range, options);
}

}  // namespace pleat::inline v0_1

template <>
struct boost::system::is_error_code_enum<pleat::AsioError> : std::true_type {};
