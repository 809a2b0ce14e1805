// The names that the examples of docs/features.md use and leave to the reader.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <pleat/analysis.h>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/asio_processor.h>
#include <pleat/asio_store.h>
#include <pleat/asio_watcher.h>
#include <pleat/drain.h>
#include <pleat/engine.h>
#include <pleat/event_store.h>
#include <pleat/folder.h>
#include <pleat/intake.h>
#include <pleat/json.h>
#include <pleat/json_intake.h>
#include <pleat/json_rollup.h>
#include <pleat/live_set.h>
#include <pleat/metrics.h>
#include <pleat/presence.h>
#include <pleat/processor.h>
#include <pleat/rollup.h>
#include <pleat/state_directory.h>
#include <pleat/trace.h>
#include <pleat/wait_pop.h>

using namespace std::chrono_literals;

template <class... Args>
bool Publish(const Args&...);
template <class... Args>
bool PublishOnce(const Args&...);
template <class... Args>
void Print(const Args&...);
template <class... Args>
void Show(const Args&...);
template <class... Args>
void Store(const Args&...);
template <class... Args>
void Handle(const Args&...);
template <class... Args>
void Answer(const Args&...);
template <class... Args>
void Reject(const Args&...);
template <class... Args>
void Warn(const Args&...);
template <class... Args>
void Send(const Args&...);

// Those of docs/howto-keep-events.md.
struct Total {
  void Fold(int64_t more) noexcept;
  template <class F>
  void Stored(F& f) {
    f(cents);
  }
  int64_t cents = 0;
};
std::vector<pleat::KeyedEvent<int64_t>> EventsOf(const pleat::StorePage& page);
int64_t CentsOf(const pleat::StoredRecord& record);
extern pleat::Folder<int64_t, Total> totals;
extern pleat::EngineTime noon;
constexpr uint64_t kTheStore = 1;
extern std::unique_ptr<pleat::StateDirectory> directory;
extern int partition;
struct Request {
  pleat::StoreRecord record;
  pleat::AppendAnswer placed;
};
struct Requests {
  bool TakeAll(std::vector<Request>& into);
};
extern Requests requests;
void WaitABit(const absl::Status& why);

// Those of docs/howto-processors.md.
std::string TextOf(const Total& total);
int64_t CentsIn(const pleat::LogRecord& record);
std::optional<double> RateOfTheDay(pleat::EngineTime at);
std::string InEuros(const pleat::LogRecord& record, double rate);
bool Deliver(const pleat::Message& message);
extern bool stopping;
extern pleat::Processor& processor;

// clang-format off
#define PLEAT_EXAMPLE_PARAMETERS                                      \
  [[maybe_unused]] pleat::EngineTime now,                             \
  [[maybe_unused]] std::string_view key,                              \
  [[maybe_unused]] int i,                                             \
  [[maybe_unused]] int n,                                             \
  [[maybe_unused]] std::span<const pleat::KeyedEvent<Step>> batch,    \
  [[maybe_unused]] pleat::Driver& driver,                             \
  [[maybe_unused]] pleat::Consumer<Basket>& consumer
// clang-format on
