// The handler of a run of a live set: its messages are the changes, as `pleat live` writes them.
//
// A live set is alone in its lane. As `pleat live` does, the handler stops before a line that moves
// time past an instant at which members end, and takes the changes there, so that there is room for
// them however many they are. An intake, which gives lines to several collections, has no such stops.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/json_live_set.h>
#include <pleat/processor.h>

#include "tools/pleat/run/run_handler.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

class LiveHandler final : public RunHandler {
 public:
  // REQUIRES: there is one collection, and it is a live set. Borrows all.
  static absl::StatusOr<std::unique_ptr<LiveHandler>> Open(Engine& engine,
                                                           const RunOptions& options,
                                                           RunCounts& counts);
  void PublishIn(Lane& lane) override;

  Handled Handle(const LogRecord& record, Lane& lane) override;
  std::optional<EngineTime> NextWaiting() const override { return live_->next_waiting(); }
  void TakeUntil(EngineTime now, Lane& lane) override;
  void CloseAll(Lane& lane) override;

 private:
  LiveHandler(Engine& engine, const RunOptions& options, RunCounts& counts)
      : RunHandler(options, counts), engine_(engine) {}

  StampCounts stamps() const override { return live_->stamps(); }
  const RunCollection& collection() const { return options().collections.front(); }
  auto Teller(Lane& lane);
  void TakeChanges();

  Engine& engine_;
  std::unique_ptr<JsonLiveSet> live_;
  bool watches_ = false;
  std::vector<std::pair<std::string, std::string>> changes_;  // keys and lines to be messages
  std::string line_;
};

}  // namespace pleat::cli
