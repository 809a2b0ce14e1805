#include "tools/pleat/run/live_handler.h"

#include <cstdlib>
#include <string_view>
#include <variant>

namespace pleat::cli {

absl::StatusOr<std::unique_ptr<LiveHandler>> LiveHandler::Open(Engine& engine,
                                                               const RunOptions& options,
                                                               RunCounts& counts) {
  std::unique_ptr<LiveHandler> handler(new LiveHandler(engine, options, counts));
  const RunCollection& collection = options.collections.front();
  absl::StatusOr<std::unique_ptr<JsonLiveSet>> live =
      JsonLiveSet::Open(engine, collection.name, std::get<LiveSetSpec>(collection.spec));
  if (!live.ok()) return live.status();
  handler->live_ = *std::move(live);
  // Changes that time makes are taken before a line makes its own.
  handler->live_->SetOnTime([raw = handler.get()](EngineTime now, int64_t /*line*/) {
    [[maybe_unused]] const bool done = raw->engine_.Advance(now, 0);
    raw->TakeChanges();
    return raw->engine_.NextDeadline().value_or(kNever);
  });
  // Lines that have waited for their turn come in any number at once.
  handler->live_->SetOnTaken([raw = handler.get()] { raw->TakeChanges(); });
  return handler;
}

// The first call is behind the restore of a snapshot, after which changes can be watched.
void LiveHandler::PublishIn(Lane& lane) {
  lane.Publish(collection().name, [this](Lane::AddMessage add) {
    if (!watches_) live_->WatchChanges();
    watches_ = true;
    TakeChanges();
    for (auto& [key, line] : changes_) add(key, std::move(line));
    changes_.clear();
  });
}

void LiveHandler::TakeChanges() {
  const absl::Status taken = live_->TakeChanges(
      collection().refreshes,
      [this](std::string_view key, std::string_view line) { changes_.emplace_back(key, line); });
  if (!taken.ok()) std::abort();  // so many lines, and one step of time, make fewer than are kept
}

auto LiveHandler::Teller(Lane& lane) {
  return [this, &lane](const UnusualLine& line) {
    NoteUnusual(line, collection().name, lane);
    return true;
  };
}

Handled LiveHandler::Handle(const LogRecord& record, Lane& lane) {
  Begin({&record, 1});
  line_.clear();
  AppendLine(record, line_);
  const size_t size = line_.size();
  line_.append(kLinePaddingBytes, ' ');
  const std::string_view line = std::string_view(line_).substr(0, size);
  const LineResult result = live_->AddLine(line, record.logged, Teller(lane));
  NoteUnusual({.index = 0, .text = line, .result = result}, collection().name, lane);
  End();
  return Handled::Done();
}

void LiveHandler::TakeUntil(EngineTime now, Lane& lane) { live_->Advance(now, Teller(lane)); }

// What is live stays so.
void LiveHandler::CloseAll(Lane& lane) { live_->TakeWaiting(Teller(lane)); }

}  // namespace pleat::cli
