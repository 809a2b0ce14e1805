#include "tools/pleat/run/line_handler.h"

#include <algorithm>
#include <utility>

#include "tools/pleat/json_text.h"

namespace pleat::cli {
namespace {

// The outcome of a line in one of the collections.
bool IsLate(const LineResult& result) {
  return result.fold == FoldOutcome::kLate || result.add == AddOutcome::kLate ||
         result.add == AddOutcome::kLateUnknown;
}
bool IsOverLimit(const LineResult& result) {
  return result.fold == FoldOutcome::kOverLimit || result.add == AddOutcome::kOverLimit;
}

}  // namespace

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
          lane.Publish(options_.collections[i].name, [lines](Lane::AddMessage add) {
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
    const auto& spec = std::get<RollupSpec>(options_.collections[i].spec);
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
  counts_.records += records.size();
  records_ = records;
  lines_.clear();
  for (const LogRecord& each : records) {
    const size_t begin = lines_.size();
    lines_ += each.payload;
    // Between members they are blanks, and inside of texts JSON has none.
    if (each.payload.find('\n') != each.payload.npos) {
      std::replace(lines_.begin() + static_cast<ptrdiff_t>(begin), lines_.end(), '\n', ' ');
    }
    lines_ += '\n';
  }
  const size_t size = lines_.size();
  lines_.append(kLinePaddingBytes, ' ');
  intake_->Push(std::string_view(lines_).substr(0, size), records.back().logged, Teller(lane));
  records_ = {};
}

void LineHandler::TakeUntil(EngineTime now, Lane& lane) { intake_->Advance(now, Teller(lane)); }

void LineHandler::CloseAll(Lane& lane) {
  intake_->TakeWaiting(Teller(lane));
  for (const Collection& each : collections_) {
    std::visit([](const auto& collection) { collection->CloseAll(); }, each);
  }
}

void LineHandler::NoteUnusual(const UnusualLine& line, std::string_view collection, Lane& lane) {
  const LineResult& result = line.result;
  switch (result.kind) {
    case LineResult::Kind::kInvalid:
    case LineResult::Kind::kNoUnit:
      if (counts_.invalid++ == 0) counts_.first_invalid = result.reason;
      if (!options_.invalid_file.empty()) {
        Tell(kInvalidMark, result.reason, collection, line, lane);
      }
      return;
    case LineResult::Kind::kEvent:
      if (IsOverLimit(result)) ++counts_.over_limit;
      if (!IsLate(result)) return;
      ++counts_.late;
      if (!options_.late_file.empty()) Tell(kLateMark, "late", collection, line, lane);
      return;
    default: return;
  }
}

// Null: not known. A line that has waited may come with its record or with a later one, as the
// records are cut into batches; an invalid one does not wait.
const LogRecord* LineHandler::RecordOf(const UnusualLine& line) const {
  const bool may_wait = line.result.kind == LineResult::Kind::kEvent &&
                        options_.collections.front().event().reorder > Duration{0};
  if (may_wait || line.index < 0 || records_.empty()) return nullptr;
  return &records_[static_cast<size_t>(line.index)];
}

void LineHandler::Tell(char mark, std::string_view reason, std::string_view collection,
                       const UnusualLine& line, Lane& lane) {
  std::string payload(1, mark);
  payload += "\"reason\":" + JsonText(reason) + ",\"collection\":" + JsonText(collection) +
             ",\"partition\":" + std::to_string(lane.partition());
  const LogRecord* const record = RecordOf(line);
  if (record != nullptr) payload += ",\"offset\":" + std::to_string(record->offset);
  payload += ",\"payload\":" + JsonText(line.text) + "}";
  lane.Emit(record == nullptr ? std::string_view() : record->key, payload);
}

}  // namespace pleat::cli
