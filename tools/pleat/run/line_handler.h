// The handler of a run of folds and rollups: an intake gives each line to all of them.
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

#include "tools/pleat/run/run_handler.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

class LineHandler final : public RunHandler {
 public:
  // Collections that do not agree about time are an error. Borrows all but `lane`.
  static absl::StatusOr<std::unique_ptr<LineHandler>> Open(Engine& engine,
                                                           const RunOptions& options,
                                                           RunCounts& counts);
  void PublishIn(Lane& lane) override;

  Handled Handle(const LogRecord& record, Lane& lane) override;
  size_t BatchOf(std::span<const LogRecord> records) const override;
  void HandleBatch(std::span<const LogRecord> records, Lane& lane) override;
  std::optional<EngineTime> NextWaiting() const override { return intake_->next_waiting(); }
  void TakeUntil(EngineTime now, Lane& lane) override;
  void CloseAll(Lane& lane) override;

 private:
  using Collection = std::variant<std::unique_ptr<JsonFolder>, std::unique_ptr<JsonRollup>>;

  LineHandler(const RunOptions& options, RunCounts& counts) : RunHandler(options, counts) {}
  StampCounts stamps() const override;
  absl::Status OpenCollection(const RunCollection& collection);
  // Tells of the lines that an intake finds unusual.
  auto Teller(Lane& lane) {
    return [this, &lane](const UnusualLine& line, std::string_view collection) {
      NoteUnusual(line, collection, lane);
      return true;
    };
  }

  std::unique_ptr<JsonIntake> intake_;
  std::vector<Collection> collections_;
  std::string lines_;  // of the records that are being handled
  std::vector<EngineTime> arrivals_;
};

}  // namespace pleat::cli
