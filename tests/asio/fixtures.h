// A small service for the tests of the Asio layer: an engine, a folder, a driver whose clock is moved by hand, and
// an io_context that runs only when it is polled.
#pragma once

#include <atomic>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>
#include <pleat/folder.h>

namespace pleat {

using namespace std::chrono_literals;
using boost::asio::cancellation_signal;
using boost::asio::cancellation_type;
using boost::asio::error::operation_aborted;
using boost::system::error_code;
using testing::ElementsAre;

inline constexpr EngineTime kNoon = FromUnix(1'700'000'000s);

// Stands still, until it is told that time has passed.
class ManualClock final : public DriverClock {
 public:
  explicit ManualClock(bool runs = false) : runs_(runs) {}

  bool runs() const noexcept override { return runs_; }
  void Pass(Duration d) { elapsed_ = elapsed_.load() + d; }
  void StepWall(Duration d) { wall_ahead_ = wall_ahead_.load() + d; }

  Duration Elapsed() const noexcept override { return elapsed_; }
  EngineTime Wall() const noexcept override {
    return EngineTime{elapsed_.load() + wall_ahead_.load()};
  }

 private:
  const bool runs_;
  std::atomic<Duration> elapsed_{77s};
  std::atomic<Duration> wall_ahead_{kNoon.time_since_epoch() - 77s};
};

struct Sum {
  int64_t total = 0;
  template <class F>
  void Stored(F& f) {
    f(total);
  }
  void Fold(const int& by) noexcept { total += by; }
};
using Sums = Folder<int, Sum>;

struct Service {
  explicit Service(const DriverOptions& driver_options = {},
                   const FolderOptions& folder_options = {.quiet_period = 5min, .max_wait = 1h},
                   const EngineOptions& engine_options = {.partitions = 4})
      : engine(std::move(*Engine::Open(engine_options))),
        sums(*engine, "sums", folder_options),
        driver(std::make_unique<Driver>(*io, *engine, WithClock(driver_options))) {
    Poll();
  }

  DriverOptions WithClock(DriverOptions options) {
    options.clock = &clock;
    return options;
  }

  // Runs what is ready, and what that makes ready.
  size_t Poll() {
    io->restart();
    return io->poll();
  }

  // Time passes, and the driver notices.
  void Pass(Duration d) {
    clock.Pass(d);
    driver->Wake();
    Poll();
  }

  FoldOutcome Fold(std::string_view key, int by = 1) {
    return sums.Fold(key, by, driver != nullptr ? driver->now() : kNoon);
  }

  // Has an emission of `key` ready, without waiting for time. Nobody has run yet.
  void Emit(std::string_view key, int by = 1) {
    Fold(key, by);
    sums.Flush(key);
  }

  ManualClock clock;
  std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>();
  std::unique_ptr<Engine> engine;
  Sums sums;
  std::unique_ptr<Driver> driver;
};

// Counts, and tells what is held now.
class CountingResource : public std::pmr::memory_resource {
 public:
  int allocations = 0;
  int held = 0;

 private:
  void* do_allocate(size_t bytes, size_t align) override {
    ++allocations;
    ++held;
    return std::pmr::new_delete_resource()->allocate(bytes, align);
  }
  void do_deallocate(void* p, size_t bytes, size_t align) override {
    --held;
    std::pmr::new_delete_resource()->deallocate(p, bytes, align);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// What a handler was called with.
struct Got {
  int calls = 0;
  error_code error;
  std::vector<std::string> keys;

  auto One() {
    return [this](error_code e, auto emission) {
      ++calls;
      error = e;
      if (emission) keys.push_back(emission->key);
    };
  }
  auto Many() {
    return [this](error_code e, const auto& emissions) {
      ++calls;
      error = e;
      for (const auto& emission : emissions) keys.push_back(emission.key);
    };
  }
};

}  // namespace pleat
