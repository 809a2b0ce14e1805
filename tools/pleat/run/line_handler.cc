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
  ++counts_.records;
  record_ = &record;
  line_.assign(record.payload);
  // Between members they are blanks, and inside of texts JSON has none.
  std::ranges::replace(line_, '\n', ' ');
  const size_t size = line_.size();
  line_.append(kLinePaddingBytes, ' ');
  intake_->Push(std::string_view(line_).substr(0, size), record.logged,
                [&](const UnusualLine& line, std::string_view collection) {
                  NoteUnusual(line, collection, lane);
                  return true;
                });
  record_ = nullptr;
  return Handled::Done();
}

void LineHandler::TakeUntil(EngineTime now, Lane& lane) {
  intake_->Advance(now, [&](const UnusualLine& line, std::string_view collection) {
    NoteUnusual(line, collection, lane);
    return true;
  });
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

void LineHandler::Tell(char mark, std::string_view reason, std::string_view collection,
                       const UnusualLine& line, Lane& lane) {
  std::string payload(1, mark);
  payload += "\"reason\":" + JsonText(reason) + ",\"collection\":" + JsonText(collection) +
             ",\"partition\":" + std::to_string(lane.partition());
  // A line that has waited came with an earlier record.
  const bool is_of_record = record_ != nullptr && line.index == 0;
  if (is_of_record) payload += ",\"offset\":" + std::to_string(record_->offset);
  payload += ",\"payload\":" + JsonText(line.text) + "}";
  lane.Emit(is_of_record ? record_->key : std::string_view(), payload);
}

}  // namespace pleat::cli
