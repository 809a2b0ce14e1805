// Folds a struct, and a line of JSON, awaits an emission, and runs a lane, with nothing but the
// installed package.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include <boost/asio/use_future.hpp>
#include <pleat/asio.h>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/json.h>
#include <pleat/processor.h>
#include <pleat/scripted_log.h>

using namespace std::chrono_literals;

struct Edit {
  int64_t added;
};

struct Edits {
  int64_t added = 0;
  void Fold(const Edit& edit) noexcept { added += edit.added; }
};

struct Echo : pleat::Handler {
  pleat::Handled Handle(const pleat::LogRecord& record, pleat::Lane& lane) override {
    lane.Emit(record.key, record.payload);
    return pleat::Handled::Done();
  }
};

bool RunsALane(pleat::EngineTime at) {
  pleat::ScriptedLog log(/*partitions=*/1);
  log.Append(0, {.key = "ann", .payload = "hello"}, at);
  const auto member = log.Join();
  log.Assign(0, *member);
  pleat::Processor processor(*member, [](pleat::Lane&) { return std::make_unique<Echo>(); });
  for (int i = 0; i < 3; ++i) {
    if (!processor.Run(at).ok()) return false;
  }
  const auto lent = processor.Lease(1, 1min, at);
  return lent.size() == 1 && lent[0].payload == "hello" && processor.Ack(lent[0].id);
}

int main() {
  const pleat::EngineTime at = pleat::FromUnix(1s);
  if (!RunsALane(at)) return 1;

  auto engine = *pleat::Engine::Open({.partitions = 2});
  pleat::Folder<Edit, Edits> edits(*engine, "edits", {.quiet_period = 5min, .max_wait = 1h});
  static_cast<void>(edits.Fold("ann", {.added = 3}, at));
  static_cast<void>(edits.Fold("ann", {.added = 4}, at + 1s));
  const auto closed = edits.PopExpired(at + 6min, 10);
  if (closed.size() != 1 || closed[0].state.added != 7) return 1;

  // An engine of its own: the time of the first one is 1970, decades behind the driver's clock.
  auto live_engine = *pleat::Engine::Open({.partitions = 2});
  pleat::Folder<Edit, Edits> live(*live_engine, "edits", {.quiet_period = 5min, .max_wait = 1h});
  pleat::Driver driver(*live_engine);
  const pleat::DriverThread thread = driver.RunThread();
  pleat::Consumer consumer(driver, live);
  auto popped = consumer.async_pop(boost::asio::use_future);
  if (live.Fold("bob", {.added = 5}, driver.now()) != pleat::FoldOutcome::kOpened) return 1;
  live.Flush("bob");
  if (popped.get()->state.added != 5) return 1;

  pleat::FoldSpec spec;
  spec.event.key = {{.name = "user", .path = "user"}};
  spec.folder.quiet_period = 5min;
  spec.meta = false;
  auto json_engine = *pleat::Engine::Open(pleat::EngineOptionsFor(spec.event));
  auto folder = *pleat::JsonFolder::Open(*json_engine, "edits", spec);
  std::string line = R"({"user":"ann"})";
  const size_t size = line.size();
  line.append(pleat::kLinePaddingBytes, ' ');
  folder->FoldLine(std::string_view(line).substr(0, size), at);
  folder->CloseAll();
  std::string out;
  folder->Pop(10, out);
  std::cout << out;
  return out == "{\"user\":\"ann\"}\n" ? 0 : 1;
}
