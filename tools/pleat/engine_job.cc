#include "tools/pleat/engine_job.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace pleat::cli {

absl::Status CheckTimeEffects(const EngineJobOptions& options) {
  if (options.has_time()) return absl::OkStatus();
  if (options.spec.event.time_unit != TimeUnit::kNotStated) {
    return WrongFlag("time-unit", "needs --time, whose unit it is");
  }
  if (options.idle != kForever) {
    return WrongFlag("idle", "needs --time; without it the wall clock counts in any case");
  }
  return absl::OkStatus();
}

absl::Status EngineJob::OpenEngine() {
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Open(EngineOptionsFor(options_.spec.event));
  if (!engine.ok()) return engine.status();
  engine_ = *std::move(engine);
  return absl::OkStatus();
}

std::vector<WantedOutput> EngineJob::Outputs() {
  using Mode = OutputFile::Mode;
  return {{NamedOutput("--open", options_.open_file), Mode::kWhole, open_file_},
          {NamedOutput("--stats", options_.stats_file, STDERR_FILENO), Mode::kWhole, stats_file_},
          {NamedOutput("--late", options_.late_file), Mode::kStream, late_file_}};
}

// ---

// Whether the watermark follows the wall clock, as --idle asks for.
bool EngineJob::FollowsWall(Duration silent) const {
  return on_event_time() && options_.idle != kForever && silent >= options_.idle;
}

EngineTime EngineJob::Present(Duration silent) const {
  if (!on_event_time()) return ArrivalNow();
  return FollowsWall(silent) ? SaturatingSub(Now(), options_.spec.event.lateness) : engine_->now();
}

Duration EngineJob::OnSilence(Duration silent) {
  const uint64_t before = results();
  WriteUntil(Present(silent));
  Flush();
  // A deadline may be announced a little early: then do not ask again at once.
  const bool woke_for_nothing = silent > Duration{0} && results() == before;
  const Duration least = std::chrono::milliseconds(woke_for_nothing ? 1 : 0);
  return std::max(UntilDue(silent), least);
}

// The watermark is moved as if it had followed the clock until now.
void EngineJob::OnInputAgain(Duration silent) {
  if (FollowsWall(silent)) WriteUntil(Present(silent));
}

// For how long nothing falls due, by the clock.
Duration EngineJob::UntilDue(Duration silent) const {
  if (on_event_time() && !FollowsWall(silent)) {
    return options_.idle == kForever ? kForever : options_.idle - silent;
  }
  const std::optional<EngineTime> due = NextDue();
  if (!due) return kForever;
  const Duration behind = on_event_time() ? options_.spec.event.lateness : Duration{0};
  return SaturatingAdd(*due, behind) - Now();
}

// ---

void EngineJob::WriteStats(std::string_view stats) {
  if (stats_file_ == nullptr) return;
  absl::Status written = stats_file_->Append(stats);
  written.Update(stats_file_->Commit());
  StopFor(written);
}

void EngineJob::CommitFiles() {
  if (no_line_usable()) return;
  const absl::Status written = output().Commit();
  all_written_ = written.ok();
  StopFor(written);
  if (open_file_ != nullptr) StopFor(open_file_->Commit());
}

void EngineJob::SayRefused(size_t line_index, std::string_view limit) {
  if (std::exchange(refusal_said_, true)) return;
  SayOf(line_index, "event refused: " + std::string(limit) +
                        " reached; further refusals are counted, not shown");
}

}  // namespace pleat::cli
