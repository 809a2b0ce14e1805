// The handler of `pleat run`: the payload of each record is a line for the collections of the lane.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/json_intake.h>
#include <pleat/processor.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// Of all lanes, since the run has begun; records that are replayed count again.
struct RunCounts {
  uint64_t records = 0;
  uint64_t invalid = 0;     // for a collection
  uint64_t late = 0;        // the same
  uint64_t over_limit = 0;  // the same
  std::string first_invalid;
};

// The first letter of the payload of a message of Lane::Emit(): why a line is not in a collection.
inline constexpr char kInvalidMark = 'i';
inline constexpr char kLateMark = 'l';

class LineHandler final : public Handler {
 public:
  // Collections that do not agree about time are an error. Borrows all but `lane`.
  static absl::StatusOr<std::unique_ptr<LineHandler>> Open(Engine& engine,
                                                           const RunOptions& options,
                                                           RunCounts& counts);
  // REQUIRES: in MakeHandler. The collections' lines become messages of streams of their names.
  void PublishIn(Lane& lane);

  Handled Handle(const LogRecord& record, Lane& lane) override;
  size_t BatchOf(std::span<const LogRecord> records) const override;
  void HandleBatch(std::span<const LogRecord> records, Lane& lane) override;
  std::optional<EngineTime> NextWaiting() const override { return intake_->next_waiting(); }
  void TakeUntil(EngineTime now, Lane& lane) override;
  void CloseAll(Lane& lane) override;

 private:
  using Collection = std::variant<std::unique_ptr<JsonFolder>, std::unique_ptr<JsonRollup>>;

  LineHandler(const RunOptions& options, RunCounts& counts) : options_(options), counts_(counts) {}
  absl::Status OpenCollection(const RunCollection& collection);
  // Tells of the lines that an intake finds unusual.
  auto Teller(Lane& lane) {
    return [this, &lane](const UnusualLine& line, std::string_view collection) {
      NoteUnusual(line, collection, lane);
      return true;
    };
  }
  void NoteUnusual(const UnusualLine& line, std::string_view collection, Lane& lane);
  const LogRecord* RecordOf(const UnusualLine& line) const;
  void Tell(char mark, std::string_view reason, std::string_view collection,
            const UnusualLine& line, Lane& lane);

  const RunOptions& options_;
  RunCounts& counts_;
  std::unique_ptr<JsonIntake> intake_;
  std::vector<Collection> collections_;
  std::span<const LogRecord> records_;  // that are being handled
  std::string lines_;                   // theirs
};

}  // namespace pleat::cli
