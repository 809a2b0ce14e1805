// StoreDriver: calls Commit() of an EventStore (event_store.h) for the program, and tells when a
// record is durable, on Boost.Asio.
// In CMake: find_package(pleat 0.1 REQUIRED COMPONENTS asio store), and link both libraries.
//
//   boost::asio::io_context io;
//   boost::asio::thread_pool disk(1);        // Commit() blocks its thread, while the disk works
//   auto store = *pleat::EventStore::Open(path, {.durability = pleat::StoreDurability::kGroup});
//   pleat::StoreDriver driver(io, *store, {.disk = disk.get_executor()});
//
//   auto placed = store->Append({.key = "order 17", .payload = bytes}, now);  // in a coroutine
//   if (placed.outcome != pleat::AppendOutcome::kAppended) co_return Refuse();
//   co_await driver.async_durable(placed.partition, placed.offset, use_awaitable);
//   Answer();                                // it is kept from now on
//
// At most one commit is under way. In kGroup the first operation that waits has one started at
// once; those that come meanwhile wait for the next one, which starts when the first has ended. So
// however many wait, they share a sync (group commit), and the slower the disk, the more share it.
// In kInterval and kProcess an operation waits for the next commit by time, so that a service whose
// answers wait is served sooner in kGroup.
//
// By time, a commit comes `commit_every` after the end of the last one, in every mode and also when
// nobody waits. Nobody has to say that something was appended, which could be forgotten, and a
// Commit() without anything to do leaves the disk alone.
//
// When a commit fails, nothing is lost in memory, so the operations that wait go on waiting, and
// the driver tries again every `commit_every`, until the disk has space or works again. Meanwhile
// the store refuses appends (AppendOutcome). stats().last_commit says why; watch it, or
// EventStore::state(). A caller that cannot wait so long awaits the operation or a timer, whichever
// is first, and does not answer.
//
// An orderly end, at which every record that was taken is kept and answered:
// 1. Let nobody append any more.
// 2. store->Close(), on any thread. What was appended is on the disk.
// 3. driver.Stop(). Operations whose record is durable complete without error, and io.run() can
//    return.
//
// Without an event loop a thread can do the same: docs/howto-keep-events.md has that loop, and
// examples/14_durable_answers.cc a program with coroutines.
//
// Threads: none is started. Lifetimes: driver and execution contexts may be destroyed in any order;
// the store may go as soon as the driver is stopped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <absl/status/status.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#include <pleat/asio_driver.h>
#include <pleat/detail/asio_durable.h>
#include <pleat/detail/export.h>
#include <pleat/event_store.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// As for Driver: a program with another Boost version than the library's does not link.
class [[gnu::abi_tag("boost_" BOOST_LIB_VERSION)]] StoreDriver;

struct StoreDriverOptions {
  // Where Commit() runs. Give it a thread that does nothing else, such as a
  // boost::asio::thread_pool of one: it is blocked while the disk works. On the thread of the event
  // loop all else would wait for the disk.
  // REQUIRES: not empty.
  boost::asio::any_io_executor disk;

  // How long after the end of a commit the next one comes, if nothing starts it earlier; and after
  // a failed one, when it is tried again. A larger value saves work of the disk, loses more with
  // the power in kInterval, and has operations wait longer in kInterval and kProcess.
  // Range: above zero, at most a day. Default: 1 s.
  Duration commit_every = std::chrono::seconds(1);

  // How many operations may wait. Range: at least 1. Default: 65,536.
  size_t max_waiters = 65'536;

  // The clock; null is the machine's. REQUIRES: outlives the driver.
  const DriverClock* clock = nullptr;
};

struct StoreDriverStats {
  size_t waiting = 0;           // operations that wait now
  uint64_t cancelled = 0;       // operations, by their slot
  uint64_t overloaded = 0;      // operations past max_waiters
  uint64_t commits = 0;         // calls of Commit(), also those with nothing to do
  uint64_t failed_commits = 0;  // of them
  absl::Status last_commit;     // OK before the first; an error is that of EventStore::Commit()
};

// Thread safety: any thread may call any method at any time, but for the destructor. Any number of
// threads may run the execution contexts.
// Ownership: borrows the store. Others may call its methods meanwhile, Commit() and Close() as
// well; what they make durable is told after the driver's next commit.
// Until it is stopped, io_context::run() does not return by itself.
class PLEAT_EXPORT StoreDriver {
 public:
  using executor_type = boost::asio::any_io_executor;
  using DurableHandler = void(boost::system::error_code);

  // Takes its turns on `executor`, which also is the one of handlers that have none associated.
  // An option out of range ends the program.
  StoreDriver(executor_type executor, EventStore& store, const StoreDriverOptions& options)
      : StoreDriver(std::move(executor), StoreCalls::Of(store), options) {}
  StoreDriver(boost::asio::io_context& context, EventStore& store,
              const StoreDriverOptions& options)
      : StoreDriver(executor_type(context.get_executor()), store, options) {}

  ~StoreDriver();  // as Stop()
  StoreDriver(const StoreDriver&) = delete;
  StoreDriver& operator=(const StoreDriver&) = delete;

  // Waits until Durable(partition) is above `offset`. The record may be one that is appended later:
  // in kGroup such an operation is served by the commit of another one, or within commit_every. Of
  // a batch, wait for the last place in each partition; of up to kWholeRecordsMax records any place
  // will do, because they are in one block.
  //
  // Completion: without error, the record is durable. Never inside the initiating function: posted
  //   to the driver's executor, and from there to the handler's associated executor, if that is
  //   another one. Those of a partition that one commit serves are posted in the order of offsets.
  // Errors: none says that the record is lost; it may be kept or not. Do not answer; whoever sent
  //   the event sends it again, with an id or by AppendWhere::expected.
  // - boost::asio::error::operation_aborted: the operation was cancelled, or the driver was stopped
  //   or destroyed before a commit that has the record.
  // - AsioError::kOverloaded: max_waiters operations wait already. The record was appended all the
  //   same: start the operation again when others have completed.
  // Cancellation: total, hence also partial and terminal. The record stays appended. As ever in
  //   Asio, emit the signal where the handler runs.
  // Allocation: the operation, by the handler's associated allocator, freed before the handler is
  //   called; and what Asio needs to post.
  // Complexity: O(log(operations that wait)), to start and to cancel. A commit that has ended looks
  //   at the operations that it serves, and at one more of each partition in which others wait.
  // REQUIRES: 0 <= partition < partitions() of the store. A lazy token, such as deferred or
  //   use_awaitable, begins when it is awaited.
  template <boost::asio::completion_token_for<DurableHandler> Token>
  auto async_durable(int partition, uint64_t offset, Token&& token) {
    return boost::asio::async_initiate<Token, DurableHandler>(
        DurableInitiation{core_, get_executor()}, token,
        AppendPlace{.partition = partition, .offset = offset});
  }

  // Commits if commit_every is over: call it when the machine has resumed, or a test has moved the
  // clock.
  void Wake();

  // From its return on, the driver calls the store no more. Waits for the Commit() that is in the
  // store, as long as that takes; one that was posted and has not begun will do nothing. Then
  // operations whose record is durable complete without error, and the others, also those that are
  // started later, with operation_aborted. It commits nothing by itself. Idempotent.
  void Stop() noexcept;

  StoreDriverStats stats() const;
  executor_type get_executor() const noexcept;

 private:
  StoreDriver(executor_type executor, const StoreCalls& store, const StoreDriverOptions& options);

  std::shared_ptr<StoreDriverCore> core_;
};

}  // namespace pleat::inline v0_1
