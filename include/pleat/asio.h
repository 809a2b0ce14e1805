// pleat on Boost.Asio: a Driver moves an engine's time, and Consumers await its emissions.
//
//   boost::asio::io_context io;
//   auto engine = *pleat::Engine::Open({.partitions = 16});
//   pleat::Folder<Event, State> accounts(*engine, "accounts",
//                                        {.quiet_period = 5min, .max_hold = 1h});
//   pleat::Driver driver(io, *engine);         // the only object that reads a clock
//   accounts.Fold(key, event, driver.now());   // any thread
//
//   pleat::Consumer consumer(driver, accounts);  // in a coroutine
//   for (;;) {
//     // A std::optional<Leased<State>>; boost::system::system_error when the folder is closed
//     // (AsioError::kClosed) or the operation is cancelled.
//     auto lease = co_await consumer.async_lease(boost::asio::use_awaitable);
//     co_await Publish(lease->key, lease->state);
//     lease->Ack();  // without an Ack() before its end, the lease is handed out again
//   }                // or Nack(10s, driver.lease_now()): again in ten seconds
//
// A lease is for ConsumerOptions::ttl, 30 seconds by default. As a parameter the consumer's type is
// Consumer<State>. io.run() does not return while a driver lives: it always waits for a deadline.
//
// Threads: only Driver::RunThread() starts one. All work is done by the threads that run the
// execution context, and by callers.
// Lifetimes: an orderly end destroys the consumers, then the driver, then the engine. The execution
// context may go before all of them: then operations that wait are destroyed, and their handlers
// are not called.
#pragma once

#include <pleat/asio_consumer.h>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>
#include <pleat/folder.h>
