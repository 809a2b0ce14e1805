#include "tools/pleat/run/run_metrics.h"

#include <algorithm>
#include <memory>

#include <absl/status/statusor.h>
#include <pleat/metrics.h>
#include <pleat/store_log.h>

#include "tools/pleat/output_file.h"

namespace pleat::cli {
namespace {

constexpr Duration kEvery = std::chrono::seconds(10);

ListedCollection ListedRun(const RunOptions& options, const RunCounts& counts, uint64_t written) {
  const auto counter = [](std::string_view name, std::string_view help, uint64_t value,
                          std::string_view unit = {}) {
    return Statistic{.name = name,
                     .type = Statistic::Type::kCounter,
                     .help = help,
                     .value = static_cast<double>(value),
                     .unit = unit};
  };
  return {.name = options.consumer,
          .kind = "run",
          .options = {},
          .statistics = {
              counter("pleat_run_records", "Records that were handled, with those of a replay.",
                      counts.records),
              counter("pleat_run_bytes", "Their payloads.", counts.bytes, "bytes"),
              counter("pleat_run_invalid", "Of these, for a collection, what was no event.",
                      counts.invalid),
              counter("pleat_run_late", "What was late for a collection.", counts.late),
              counter("pleat_run_over_limit", "What was refused at a limit.", counts.over_limit),
              counter("pleat_run_messages", "Messages that were written.", written)}};
}

}  // namespace

// A processor knows no ends of its log; who looks from outside does.
void RunMetrics::AddEnds(std::vector<LaneStatus>& lanes) const {
  if (options_.store.empty()) return;
  const absl::StatusOr<StoreLog::Lanes> looked = StoreLog::Look(options_.store, options_.consumer);
  if (!looked.ok()) return;
  for (LaneStatus& each : lanes) {
    const LaneStatus& seen = looked->lanes[static_cast<size_t>(each.partition)];
    each.end = seen.end;
    each.newest = seen.newest;
  }
}

absl::Status RunMetrics::Write(const RunCounts& counts, uint64_t written,
                               std::vector<LaneStatus> lanes, Duration elapsed) {
  next_ = elapsed + kEvery;
  AddEnds(lanes);
  std::ranges::sort(lanes, {}, &LaneStatus::partition);
  const ListedCollection run[] = {ListedRun(options_, counts, written)};
  const ProcessorMetrics processors[] = {{options_.consumer, lanes}};
  const std::string text =
      WriteMetrics(run, MetricsFormat::kPrometheus, {}, {}, {}, {}, processors);
  std::unique_ptr<OutputFile> file;
  const WantedOutput wanted[] = {{.named = NamedOutput("--metrics", options_.metrics_file),
                                  .mode = OutputFile::Mode::kWhole,
                                  .file = file,
                                  .replaces = "# HELP pleat_"}};
  absl::Status status = OpenWanted({}, wanted);
  if (status.ok()) status = file->Append(text);
  if (status.ok()) status = file->Commit();
  return status;
}

}  // namespace pleat::cli
