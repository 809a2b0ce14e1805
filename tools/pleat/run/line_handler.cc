#include "tools/pleat/run/line_handler.h"

#include <utility>

namespace pleat::cli {

absl::StatusOr<std::unique_ptr<LineHandler>> LineHandler::Open(Engine& engine,
                                                               const RunOptions& options,
                                                               RunCounts& counts) {
  std::unique_ptr<LineHandler> handler(new LineHandler(options, counts));
  absl::StatusOr<std::unique_ptr<JsonIntake>> intake =
      JsonIntake::Open(engine, options.collections.front().event());
  if (!intake.ok()) return intake.status();
  handler->intake_ = *std::move(intake);
  for (const RunCollection& each : options.collections) {
    if (absl::Status opened = handler->OpenCollection(each); !opened.ok()) {
      return absl::Status(opened.code(), each.name + ": " + std::string(opened.message()));
    }
  }
  return handler;
}

absl::Status LineHandler::OpenCollection(const RunCollection& collection) {
  const auto keep = [this](auto opened) {
    absl::Status status = opened.status();
    if (status.ok()) collections_.emplace_back(*std::move(opened));
    return status;
  };
  if (const auto* fold = std::get_if<FoldSpec>(&collection.spec)) {
    return keep(JsonFolder::Open(*intake_, collection.name, *fold));
  }
  return keep(JsonRollup::Open(*intake_, collection.name, std::get<RollupSpec>(collection.spec)));
}

void LineHandler::PublishIn(Lane& lane) {
  for (size_t i = 0; i < collections_.size(); ++i) {
    std::visit(
        [&](auto& collection) {
          auto* const lines = collection.get();
          lane.Publish(options().collections[i].name, [lines](Lane::AddMessage add) {
            lines->PopEach(SIZE_MAX, [&](std::string_view key, std::string_view line) {
              add(key, std::string(line));
            });
          });
        },
        collections_[i]);
  }
}

Handled LineHandler::Handle(const LogRecord& record, Lane& lane) {
  HandleBatch({&record, 1}, lane);
  return Handled::Done();
}

// Near a limit a rollup may refuse other lines if they come in other batches, as closed windows count
// until they are popped: it gets them one by one. Lines that wait may come with any line.
size_t LineHandler::BatchOf(std::span<const LogRecord> records) const {
  constexpr size_t kLineBytes = 4096;  // a line takes no more, but for its key and its id
  for (size_t i = 0; i < collections_.size(); ++i) {
    const auto* const rollup = std::get_if<std::unique_ptr<JsonRollup>>(&collections_[i]);
    if (rollup == nullptr) continue;
    const auto& spec = std::get<RollupSpec>(options().collections[i].spec);
    const RollupLimits& limits = spec.rollup.limits;
    const RollupSizes sizes = (*rollup)->sizes();
    size_t bytes = sizes.bytes;
    for (const LogRecord& each : records) bytes += kLineBytes + 2 * each.payload.size();
    const bool has_room = bytes <= limits.max_bytes / 2 &&
                          sizes.keys + records.size() <= limits.max_keys &&
                          sizes.ready + sizes.open + records.size() <= limits.max_backlog;
    if (!has_room || spec.event.reorder > Duration{0}) return 0;
  }
  return records.size();
}

void LineHandler::HandleBatch(std::span<const LogRecord> records, Lane& lane) {
  Begin(records);
  lines_.clear();
  arrivals_.clear();
  for (const LogRecord& each : records) {
    AppendLine(each, lines_);
    lines_ += '\n';
    arrivals_.push_back(each.logged);
  }
  const size_t size = lines_.size();
  lines_.append(kLinePaddingBytes, ' ');
  intake_->Push(std::string_view(lines_).substr(0, size), arrivals_, Teller(lane));
  End();
}

StampCounts LineHandler::stamps() const {
  return std::visit([](const auto& each) { return each->stamps(); }, collections_.front());
}

void LineHandler::TakeUntil(EngineTime now, Lane& lane) { intake_->Advance(now, Teller(lane)); }

void LineHandler::CloseAll(Lane& lane) {
  intake_->TakeWaiting(Teller(lane));
  for (const Collection& each : collections_) {
    std::visit([](const auto& collection) { collection->CloseAll(); }, each);
  }
}

}  // namespace pleat::cli
