#include "tools/pleat/run/check_run.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>

#include "tools/pleat/clock.h"
#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/run/lane_options.h"
#include "tools/pleat/run/message_output.h"
#include "tools/pleat/run/open_handler.h"
#include "tools/pleat/run/parked_text.h"
#include "tools/pleat/run/run_log.h"

namespace pleat::cli {
namespace {

// What a run would find of the one before.
struct Found {
  std::string text;
  int partitions = 0;      // 0: not known
  bool is_parked = false;  // a partition would be
};

// A processor begins each lane as a run would, and ends before it has committed anything.
absl::StatusOr<std::vector<LaneStatus>> BeginLanes(const RunOptions& options) {
  absl::StatusOr<std::unique_ptr<StoreLog>> log = StoreLog::Open(options.store, options.consumer);
  if (!log.ok()) return log.status();
  ProcessorOptions lanes = OptionsFor(options, (*log)->partitions());
  lanes.commit_every = kForever;
  lanes.replay_limit = UINT64_MAX;
  RunCounts counts;
  Processor processor(**log, HandlerFor(options, counts), lanes);
  const absl::StatusOr<bool> began = processor.Run(MonotoneClock().Now());
  if (!began.ok()) return began.status();
  return processor.lanes();
}

absl::StatusOr<Found> FindConsumer(const RunOptions& options) {
  if (options.store.empty()) return Found();
  const absl::StatusOr<StoreLog::Lanes> before = StoreLog::Look(options.store, options.consumer);
  if (absl::IsNotFound(before.status())) {
    const absl::StatusOr<std::unique_ptr<EventStoreReader>> store =
        EventStoreReader::Open(options.store);
    if (!store.ok()) return store.status();
    return Found{.text = "begins      at the first record of each partition: the consumer is new\n",
                 .partitions = (*store)->partitions()};
  }
  if (!before.ok()) return before.status();
  const absl::StatusOr<std::vector<LaneStatus>> lanes = BeginLanes(options);
  if (!lanes.ok()) return lanes.status();
  std::map<int, std::string> parked;
  for (const LaneStatus& each : *lanes) {
    if (each.phase == LanePhase::kParked) parked[each.partition] = WhyParked(each);
  }
  const int partitions = static_cast<int>(lanes->size());
  const bool goes_on = parked.size() != lanes->size();
  Found found{.text = "begins      where the run before has ended\n",
              .partitions = partitions,
              .is_parked = !parked.empty()};
  for (const std::string& line : ParkedTexts(parked, partitions, goes_on)) {
    found.text += "would be    " + Printable(line) + "\n";
  }
  return found;
}

}  // namespace

absl::Status TryCollections(const RunOptions& options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Open(EngineOptionsFor(options.collections.front().event()));
  if (!engine.ok()) return engine.status();
  RunCounts counts;
  return OpenHandler(**engine, options, counts).status();
}

std::string AdviceOnKey(const RunOptions& options, int partitions) {
  for (const RunCollection& each : options.collections) {
    const std::vector<KeyField>& key = each.event().key;
    if (partitions < 2 || key.size() != 1 || !key.front().path.empty()) continue;
    return each.name + ": --key '' makes one group of each of the " + std::to_string(partitions) +
           " partitions, not one of all records: that needs a store of one partition";
  }
  return {};
}

int CheckRun(const RunOptions& options) {
  if (absl::Status tried = TryCollections(options); !tried.ok()) return Complain("run", tried);
  const absl::StatusOr<std::string> log = RunLogText(options);
  if (!log.ok()) return Complain("run", log.status());
  const absl::StatusOr<Found> found = FindConsumer(options);
  if (!found.ok()) return Complain("run", found.status());
  const absl::StatusOr<std::string> outputs = OutputsText(options);
  if (!outputs.ok()) return Complain("run", outputs.status());
  const bool on_event_time = !options.collections.front().event().time.empty();
  const bool is_file =
      options.output_file != "-" && options.output_store.empty() && options.output_topic.empty();
  std::string out = *log + found->text;
  out += "collections";
  for (const RunCollection& each : options.collections) out += " " + Printable(each.name);
  out += "\ntime        ";
  if (!on_event_time) {
    out += "that of the log: no record is late\n";
  } else if (options.idle == kForever) {
    out += "that of the events alone\n";
  } else {
    out += "that of the events; in silence that of the log, " + FormatDuration(options.idle) +
           " behind it\n";
  }
  out += "records     each is counted once, also after a kill: up to " +
         Counted(static_cast<uint64_t>(options.replay_limit), "record") +
         " of a partition are read again\n";
  out += *outputs;
  out += is_file
             ? "lines       each once, also after a kill or a power loss\n"
             : "lines       no line is lost; after a kill some come again, with the ids they had\n";
  out +=
      "keys        the records of a key are in one partition, so a group is in one, if the\n"
      "            collections' keys are those of the records\n";
  if (const std::string advice = AdviceOnKey(options, found->partitions); !advice.empty()) {
    out += "            " + advice + "\n";
  }
  const int printed = Print(out);
  return printed == kExitDone && found->is_parked ? kExitFailed : printed;
}

}  // namespace pleat::cli
