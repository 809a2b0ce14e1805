#include "tools/pleat/run/lane_run.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/processor.h>

#include "tools/pleat/clock.h"
#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/run/line_handler.h"
#include "tools/pleat/run/message_output.h"
#include "tools/pleat/run/run_log.h"
#include "tools/pleat/summary_text.h"
#include "tools/pleat/text_digest.h"

namespace pleat::cli {
namespace {

constexpr size_t kMessagesAtOnce = 65'536;  // so that a sync is shared by many
constexpr int kLookAgainMs = 20;
// A run writes a message as soon as it is lent, or ends: nobody else waits for one.
constexpr Duration kVisibilityTimeout = std::chrono::hours(1);

// Raised when a line comes to other messages than before.
constexpr uint64_t kLinesVersion = 1;

// Another one for any options by which records come to other messages.
uint64_t VersionOf(const RunOptions& options) {
  std::string text = std::to_string(kLinesVersion);
  const auto add = [&text](std::string_view word) {
    text += std::to_string(word.size());
    text += ':';
    text += word;
  };
  for (const RunCollection& each : options.collections) {
    add(each.name);
    add(std::holds_alternative<FoldSpec>(each.spec) ? "fold" : "rollup");
    const auto texts = std::visit([](const auto& spec) { return OptionsOf(spec); }, each.spec);
    for (const auto& [name, value] : texts) {
      add(name);
      add(value);
    }
  }
  add(options.invalid_file.empty() ? "" : "invalid");
  add(options.late_file.empty() ? "" : "late");
  const bool on_event_time = !options.collections.front().event().time.empty();
  add(on_event_time ? FormatDuration(options.idle) : "");
  TextDigest digest;
  digest.Add(text);
  return digest.value();
}

ProcessorOptions OptionsFor(const RunOptions& options, int partitions) {
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  ProcessorOptions lanes;
  lanes.version = VersionOf(options);
  const EventSpec& event = options.collections.front().event();
  lanes.engine = EngineOptionsFor(event);
  // Lines that wait are held against it before the engine is; it keeps no other ones out.
  if (event.future_limit < kForever) {
    lanes.engine.future_limit = event.future_limit + std::min(event.reorder, kForever / 2);
  }
  lanes.idle = options.idle;
  // A run that ends with the log does not wait for silence, so that what is open stays open.
  const bool on_event_time = lanes.engine.axis == Axis::kEvent;
  if (on_event_time && options.at_end != RunEnd::kFollow) lanes.margin = kForever;
  lanes.commit_every = options.commit_every;
  lanes.replay_limit = static_cast<uint64_t>(options.replay_limit);
  lanes.messages_bytes_max =
      std::max(kLeast, kUnconfirmedBytesMax / static_cast<uint64_t>(partitions));
  return lanes;
}

void Say(const std::string& text) { WriteLine("pleat run: " + text); }

class LaneRun {
 public:
  explicit LaneRun(const RunOptions& options) : options_(options) {}

  absl::Status Open();
  int Run();

 private:
  absl::Status Work();
  void Leave();
  absl::StatusOr<bool> Deliver();
  bool IsIdle() const;
  void SayParked();
  void SayInvalid();
  std::string Summary() const;

  const RunOptions& options_;
  const MonotoneClock clock_;
  RunCounts counts_;
  RunLog log_;
  std::unique_ptr<MessageOutput> output_;
  std::unique_ptr<Processor> processor_;
  std::set<int> parked_;  // that were told
  bool error_said_ = false;
  bool invalid_said_ = false;
};

absl::Status LaneRun::Open() {
  absl::StatusOr<RunLog> log = OpenRunLog(options_);
  if (!log.ok()) return log.status();
  log_ = *std::move(log);
  absl::StatusOr<std::unique_ptr<MessageOutput>> output = OpenOutput(options_);
  if (!output.ok()) return output.status();
  output_ = *std::move(output);
  const auto make_handler = [this](Lane& lane) {
    auto handler = LineHandler::Open(lane.engine(), options_, counts_);
    if (!handler.ok()) std::abort();  // the options were tried before
    (*handler)->PublishIn(lane);
    return *std::move(handler);
  };
  processor_ =
      std::make_unique<Processor>(*log_.log, make_handler, OptionsFor(options_, log_.partitions));
  return absl::OkStatus();
}

// Writes messages that are decided, and acks them when they stay. Returns whether there were any.
absl::StatusOr<bool> LaneRun::Deliver() {
  const EngineTime now = clock_.Now();
  const std::vector<Message> messages =
      processor_->Lease(kMessagesAtOnce, kVisibilityTimeout, now, LeaseKeys::kTogether);
  for (const Message& each : messages) {
    if (absl::Status written = output_->Write(each, now); !written.ok()) return written;
  }
  if (messages.empty()) return false;
  if (absl::Status synced = output_->Sync(); !synced.ok()) return synced;
  for (const Message& each : messages) processor_->Ack(each.id);
  return true;
}

// Whether all that the log has was handled, and all messages are written.
bool LaneRun::IsIdle() const {
  return std::ranges::all_of(processor_->lanes(), [](const LaneStatus& each) {
    return each.phase == LanePhase::kParked ||
           (each.phase == LanePhase::kLive && each.waiting == 0);
  });
}

void LaneRun::SayParked() {
  for (const LaneStatus& each : processor_->lanes()) {
    if (each.phase != LanePhase::kParked || !parked_.insert(each.partition).second) continue;
    const std::string_view why(each.why.message().data(), each.why.message().size());
    const std::string partition = "partition " + std::to_string(each.partition);
    std::string said = "parked: ";
    if (!why.starts_with(partition)) said += partition + ": ";
    said += why;
    Say(said + "; the other partitions go on");
  }
}

void LaneRun::SayInvalid() {
  if (counts_.invalid == 0 || !options_.invalid_file.empty()) return;
  if (std::exchange(invalid_said_, true)) return;
  Say("a record is invalid, and left out: " + Printable(counts_.first_invalid) +
      "; further ones are counted");
}

absl::Status LaneRun::Work() {
  constexpr int kIdleRounds = 3;  // in each of which the log is asked
  for (int idle = 0; !processor_->stopped();) {
    const absl::StatusOr<bool> more = processor_->Run(clock_.Now());
    if (!more.ok() && !std::exchange(error_said_, true)) {
      Say(std::string(more.status().message()) + "; it is tried again");
    }
    const absl::StatusOr<bool> delivered = Deliver();
    if (!delivered.ok()) return delivered.status();
    SayParked();
    SayInvalid();
    const bool is_busy = more.value_or(false) || *delivered;
    idle = is_busy || !more.ok() || !IsIdle() ? 0 : idle + 1;
    const bool has_all = options_.at_end != RunEnd::kFollow && idle >= kIdleRounds;
    if (has_all && options_.at_end == RunEnd::kFlush && !Interrupted()) {
      processor_->CloseAllAndStop();
    } else if (has_all || Interrupted()) {
      processor_->Stop();
    }
    if (is_busy) continue;
    pollfd signal{InterruptFd(), POLLIN, 0};
    // A signal that has come would end each wait.
    poll(&signal, Interrupted() ? 0 : 1, kLookAgainMs);
  }
  return absl::OkStatus();
}

// Nothing is lost if the others do not hear of it in time.
void LaneRun::Leave() {
  constexpr int kRounds = 250;
  if (!log_.leave) return;
  log_.leave();
  for (int rounds = kRounds; rounds > 0 && !log_.left(); --rounds) {
    processor_->Run(clock_.Now()).status().IgnoreError();
    poll(nullptr, 0, kLookAgainMs);
  }
}

std::string LaneRun::Summary() const {
  const std::string invalid =
      counts_.invalid == 0 ? std::string() : ", the first one: " + Printable(counts_.first_invalid);
  return SummaryText(
      {{"records", Grouped(counts_.records),
        Grouped(counts_.invalid) + " invalid, " + Grouped(counts_.late) + " late, " +
            Grouped(counts_.over_limit) + " over limit" + invalid},
       {"messages", Grouped(output_->written()),
        output_->repeated() == 0 ? "written"
                                 : "written; " + Grouped(output_->repeated()) + " were there"},
       TookRow({counts_.records, 0, clock_.Elapsed()})});
}

int LaneRun::Run() {
  const absl::Status status = Work();
  if (status.ok()) Leave();
  const bool reader_gone = absl::IsAborted(status);
  if (reader_gone) Say("the reader of standard output has gone; the next run goes on");
  if (!status.ok() && !reader_gone) Say(std::string(status.message()));
  if (!options_.quiet_summary && !reader_gone) WriteLine(Summary());
  if (!status.ok() || !parked_.empty()) return kExitFailed;
  if (counts_.records > 0 && counts_.invalid >= counts_.records * options_.collections.size()) {
    Say("no record was usable");
    return kExitFailed;
  }
  if (Interrupted()) return kExitSignal + StopSignal();
  return counts_.over_limit > 0 ? kExitFailed : kExitDone;
}

// The collections in an engine of no lane: whether they agree.
absl::Status TryCollections(const RunOptions& options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Open(EngineOptionsFor(options.collections.front().event()));
  if (!engine.ok()) return engine.status();
  RunCounts counts;
  return LineHandler::Open(**engine, options, counts).status();
}

}  // namespace

int RunLanes(const RunOptions& options) {
  if (absl::Status tried = TryCollections(options); !tried.ok()) return Complain("run", tried);
  LaneRun run(options);
  if (absl::Status opened = run.Open(); !opened.ok()) return Complain("run", opened);
  return run.Run();
}

int CheckRun(const RunOptions& options) {
  if (absl::Status tried = TryCollections(options); !tried.ok()) return Complain("run", tried);
  const absl::StatusOr<std::string> log = RunLogText(options);
  if (!log.ok()) return Complain("run", log.status());
  const bool on_event_time = !options.collections.front().event().time.empty();
  const bool is_file = options.output_file != "-" && options.output_store.empty();
  std::string out = *log;
  out += "collections";
  for (const RunCollection& each : options.collections) out += " " + Printable(each.name);
  out += on_event_time ? "\ntime        that of the events; in silence that of the log, " +
                             FormatDuration(options.idle) + " behind it\n"
                       : "\ntime        that of the log: no record is late\n";
  out += "records     each is counted once, also after a kill: up to " +
         Counted(static_cast<uint64_t>(options.replay_limit), "record") +
         " of a partition are read again\n";
  out += is_file
             ? "output      each line once, also after a kill or a power loss\n"
             : "output      no line is lost; after a kill some come again, with the ids they had\n";
  out +=
      "keys        the records of a key are in one partition, so a group is in one, if the\n"
      "            collections' keys are those of the records\n";
  return Print(out);
}

}  // namespace pleat::cli
