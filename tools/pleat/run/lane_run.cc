#include "tools/pleat/run/lane_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>

#include "tools/pleat/clock.h"
#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/parked_lanes.h"
#include "tools/pleat/progress.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/run/check_run.h"
#include "tools/pleat/run/message_output.h"
#include "tools/pleat/run/run_log.h"
#include "tools/pleat/run/run_metrics.h"
#include "tools/pleat/run/run_share.h"
#include "tools/pleat/run/shared_run.h"
#include "tools/pleat/run/topic_output.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

// Whether a consumer goes on that has given lines, and their file is not there.
bool MissesLines(const RunOptions& options) {
  const bool is_file =
      options.output_file != "-" && options.output_store.empty() && options.output_topic.empty();
  if (!is_file || options.store.empty()) return false;
  std::error_code error;
  const auto size = std::filesystem::file_size(options.output_file, error);
  if (!error && size > 0) return false;
  const auto before = StoreConsumer::Look(options.store, options.consumer);
  return before.ok() && std::ranges::any_of(*before, [](const StoreCheckpoint& each) {
           return each.position.offset > 0;
         });
}

class LaneRun {
 public:
  explicit LaneRun(const RunOptions& options) : options_(options), metrics_(options) {}

  absl::Status Open();
  int Run();

 private:
  void Work();
  void LookAround(bool at_end);
  void KeepParkedLanes();
  std::vector<LaneStatus> Lanes() const;
  std::string Summary() const;

  const RunOptions& options_;
  const MonotoneClock clock_;
  RunMetrics metrics_;
  std::unique_ptr<SharedRun> shared_;
  std::vector<std::unique_ptr<RunShare>> shares_;
  size_t parked_ = 0;  // lanes that others are told of
};

absl::Status LaneRun::Open() {
  absl::StatusOr<std::vector<RunLog>> logs = OpenRunLogs(options_);
  if (!logs.ok()) return logs.status();
  if (!options_.store.empty()) KeepParked(options_.store, options_.consumer, {}).IgnoreError();
  const bool misses_lines = MissesLines(options_);
  absl::StatusOr<std::unique_ptr<MessageOutput>> output = OpenOutput(options_);
  if (!output.ok()) return output.status();
  if (options_.writes_topics()) output = OpenTopicOutput(options_, *std::move(output));
  if (!output.ok()) return output.status();
  const int partitions = options_.store.empty() ? 0 : logs->front().partitions;
  shared_ = std::make_unique<SharedRun>(options_, *std::move(output),
                                        static_cast<int>(logs->size()), partitions);
  if (misses_lines) {
    SayOfRun(Printable(options_.output_file) +
             " is new: the lines that this consumer has given before are not in it");
  }
  const std::string advice = AdviceOnKey(options_, partitions);
  if (!advice.empty()) SayOfRun(advice);
  shares_.reserve(logs->size());
  for (RunLog& log : *logs) {
    shares_.push_back(std::make_unique<RunShare>(static_cast<int>(shares_.size()), options_,
                                                 std::move(log), *shared_, clock_));
  }
  if (!options_.metrics_file.empty()) {
    return metrics_.Write(shared_->counts(), 0, Lanes(), clock_.Elapsed());
  }
  return absl::OkStatus();
}

std::vector<LaneStatus> LaneRun::Lanes() const {
  std::vector<LaneStatus> all;
  for (const std::unique_ptr<RunShare>& share : shares_) {
    for (LaneStatus& lane : share->lanes()) all.push_back(std::move(lane));
  }
  return all;
}

// So that pleat lanes can tell. Where the file cannot be written it does not.
void LaneRun::KeepParkedLanes() {
  const std::map<int, std::string> parked = shared_->parked();
  if (options_.store.empty() || parked.size() == parked_) return;
  parked_ = parked.size();
  const absl::StatusOr<StoreLog::Lanes> looked = StoreLog::Look(options_.store, options_.consumer);
  if (!looked.ok()) return;
  std::vector<ParkedLane> kept;
  kept.reserve(parked.size());
  for (const auto& [partition, why] : parked) {
    kept.push_back({partition, looked->lanes[static_cast<size_t>(partition)].next, why});
  }
  KeepParked(options_.store, options_.consumer, kept).IgnoreError();
}

// What people and monitors want to know meanwhile.
void LaneRun::LookAround(bool at_end) {
  KeepParkedLanes();
  shared_->ShowProgress(clock_.Elapsed());
  const bool is_due = at_end ? !options_.metrics_file.empty() : metrics_.Due(clock_.Elapsed());
  if (!is_due) return;
  const absl::Status written =
      metrics_.Write(shared_->counts(), shared_->written(), Lanes(), clock_.Elapsed());
  if (!written.ok()) shared_->TellTrouble(written);
}

// The first share is worked on by this thread, and each other one by a thread of its own.
void LaneRun::Work() {
  constexpr int kLookAgainMs = 20;
  std::atomic<size_t> working = shares_.size() - 1;
  std::vector<std::thread> others;
  for (size_t i = 1; i < shares_.size() && !shared_->has_ended(); ++i) {
    try {
      others.emplace_back([this, &working, i] {
        shares_[i]->Work(nullptr);
        --working;
      });
    } catch (const std::system_error& error) {
      shared_->End(absl::UnavailableError("--threads " + std::to_string(options_.threads) +
                                          ": the system gives no more: " + error.what()));
    }
  }
  if (!shared_->has_ended()) shares_.front()->Work([this] { LookAround(/*at_end=*/false); });
  while (working > 0 && !shared_->has_ended()) {
    LookAround(/*at_end=*/false);
    poll(nullptr, 0, kLookAgainMs);
  }
  for (std::thread& each : others) each.join();
  LookAround(/*at_end=*/true);
  shared_->EndProgress();
}

std::string LaneRun::Summary() const {
  const RunCounts counts = shared_->counts();
  const std::string invalid =
      counts.invalid == 0 ? std::string() : ", the first one: " + Printable(counts.first_invalid);
  return SummaryText(
      {{"records", Grouped(counts.records),
        Grouped(counts.invalid) + " invalid, " + Grouped(counts.late) + " late, " +
            Grouped(counts.over_limit) + " over limit" + invalid},
       {"messages", Grouped(shared_->written()),
        shared_->repeated() == 0 ? "written"
                                 : "written; " + Grouped(shared_->repeated()) + " were there"},
       TookRow({counts.records, counts.bytes, clock_.Elapsed()})});
}

int LaneRun::Run() {
  Work();
  const absl::Status status = shared_->why_ended();
  const bool reader_gone = absl::IsAborted(status);
  if (reader_gone) SayOfRun("the reader of standard output has gone; the next run goes on");
  if (!status.ok() && !reader_gone) SayOfRun(std::string(status.message()));
  if (!options_.quiet_summary && !reader_gone) WriteLine(Summary());
  if (!status.ok() || !shared_->parked().empty()) return kExitFailed;
  const RunCounts counts = shared_->counts();
  if (counts.records > 0 && counts.invalid >= counts.records * options_.collections.size()) {
    SayOfRun("no record was usable");
    return kExitFailed;
  }
  if (Interrupted()) return kExitSignal + StopSignal();
  const uint64_t all = counts.records * options_.collections.size();
  if (!options_.skips_invalid && counts.invalid > all - counts.invalid) {
    SayOfRun("exit code 1, as " + Grouped(counts.invalid) + " of " + Counted(all, "record") +
             " were invalid; --on-invalid skip takes that as it is");
    return kExitFailed;
  }
  return counts.over_limit > 0 ? kExitFailed : kExitDone;
}

}  // namespace

int RunLanes(const RunOptions& options) {
  if (absl::Status tried = TryCollections(options); !tried.ok()) return Complain("run", tried);
  LaneRun run(options);
  if (absl::Status opened = run.Open(); !opened.ok()) return Complain("run", opened);
  return run.Run();
}

}  // namespace pleat::cli
