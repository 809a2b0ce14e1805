// pleat on Boost.Asio: a Driver moves an engine's time, and Consumers await its emissions.
// In CMake: find_package(pleat 0.1 REQUIRED COMPONENTS asio), and link pleat::asio.
//
//   boost::asio::io_context io;
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Event, State> accounts(*engine, "accounts",
//                                        {.quiet_period = 5min, .max_wait = 1h});
//   pleat::Driver driver(io, *engine);         // the only object that reads a clock
//   accounts.Fold(key, event, driver.now());   // any thread
//
//   pleat::Consumer consumer(driver, accounts);  // keeps a handle of the folder
//   for (;;) {                                   // in a coroutine
//     auto lease = co_await consumer.async_lease(boost::asio::use_awaitable);
//     try {
//       co_await Publish(lease->key, lease->state);
//       lease->Ack();
//     } catch (const std::exception&) {
//       lease->Nack(10s, driver.lease_now());    // handed out again in ten seconds
//     }
//   }
//
// A lease is for ConsumerOptions::visibility_timeout, 30 seconds by default. Without an Ack() or a
// Nack(), the emission is handed out again when the lease ends. As a parameter the consumer's type
// is Consumer<State>. Consumers wake up for every emission, whether time, an event, Flush() or
// CloseAll() closed its group.
//
// Errors: async_lease() completes with a std::optional<Leased<State>>, which is empty if and only
// if there is an error. With use_awaitable an error is thrown, as a boost::system::system_error;
// above it ends the loop.
// - AsioError::kClosed: the driver was stopped, the folder was closed, or the engine is gone.
// - AsioError::kOverloaded: ConsumerOptions::max_waiters operations wait already.
// - boost::asio::error::operation_aborted: the operation was cancelled, or its consumer destroyed.
//
// Watcher in asio_watcher.h awaits the changes of live sets and of presence in the same manner,
// and says how a service of these ends.
//
// An orderly end, at which no event that was folded is lost; examples/02_asio_coroutine.cc takes it
// at SIGINT, and asio_drain.h says more:
//
//   auto drained = co_await pleat::async_drain(driver, {.timeout = 30s}, use_awaitable);
//   driver.Stop();
//
// From the beginning on Fold() answers kStopped, and the consumers get the groups that were open.
// The operation completes when all is acked or the time is over, and says what is left; dead
// letters end with the engine. Behind driver.Stop() operations that wait complete with kClosed, and
// io.run() can return; it does not return before, because a driver always waits for its timer.
//
// There are three Stop(): Engine's ends folding; Driver's ends the driver and its consumers;
// DriverThread's ends the thread that RunThread() started, and handlers left on it do not run.
//
// Threads: only Driver::RunThread() starts one. All work is done by the threads that run the
// execution context, and by callers.
// Lifetimes: engine, driver, consumers and execution context may be destroyed in any order. The
// end of the execution context destroys the operations that wait: their handlers are not called.
#pragma once

#include <pleat/asio_consumer.h>
#include <pleat/asio_drain.h>
#include <pleat/asio_driver.h>
#include <pleat/asio_watcher.h>
#include <pleat/engine.h>
#include <pleat/folder.h>
