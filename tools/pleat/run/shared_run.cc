#include "tools/pleat/run/shared_run.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/pleat/console.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/run/parked_text.h"

namespace pleat::cli {
namespace {

using RunGuard = std::lock_guard<std::mutex>;

}  // namespace

void SayOfRun(std::string_view text) { WriteLine("pleat run: " + std::string(text)); }

SharedRun::SharedRun(const RunOptions& options, std::unique_ptr<MessageOutput> output, int shares,
                     int partitions)
    : options_(options),
      partitions_(partitions),
      output_(std::move(output)),
      kept_(static_cast<size_t>(shares)),
      counts_(static_cast<size_t>(shares)),
      has_told_(static_cast<size_t>(shares)) {
  const bool is_streamed =
      options.output_file == "-" && options.output_store.empty() && options.output_topic.empty();
  constexpr size_t kKeysLookedAt = 65'536;
  if (partitions > 1) keys_left_ = kKeysLookedAt;
  if (!options.quiet_summary) progress_.ShowBeside(is_streamed ? STDOUT_FILENO : -1);
}

// The lock is held.
void SharedRun::Say(std::string_view text) {
  progress_.Clear();
  SayOfRun(text);
}

// The first ones, as that shows soon. One group of each partition is what --key '' asks for.
void SharedRun::LookAtKeys(std::span<const Message> messages) {
  const RunGuard guard(mutex_);
  for (const Message& each : messages) {
    if (keys_left_ == 0) return;
    if (each.key.empty() || each.stream == kEmittedStream) continue;
    --keys_left_;
    const auto [known, is_new] =
        partition_of_.try_emplace({each.id.stream, each.key}, each.id.partition);
    if (is_new || known->second == each.id.partition) continue;
    Say(each.stream + ": the key " + Printable(each.key) + " comes out of partitions " +
        std::to_string(known->second) + " and " + std::to_string(each.id.partition) +
        ", so its groups are in pieces: fold by the key of the records, or append them with " +
        "--key of the PATH that you fold by");
    keys_left_ = 0;
    partition_of_.clear();
  }
}

size_t SharedRun::room() const {
  const RunGuard guard(output_mutex_);
  return output_->room();
}

absl::StatusOr<std::vector<MessageId>> SharedRun::Write(int share,
                                                        std::span<const Message> messages,
                                                        EngineTime now) {
  const RunGuard guard(output_mutex_);
  for (const Message& each : messages) {
    if (absl::Status written = output_->Write(each, now); !written.ok()) return written;
    share_of_[each.id.partition] = share;
  }
  const absl::StatusOr<std::vector<MessageId>> kept = output_->TakeKept(messages);
  if (!kept.ok()) return kept.status();
  for (const MessageId& each : *kept) {
    kept_[static_cast<size_t>(share_of_.at(each.partition))].push_back(each);
  }
  return std::exchange(kept_[static_cast<size_t>(share)], {});
}

void SharedRun::Tell(int share, const RunCounts& counts, const std::vector<LaneStatus>& lanes) {
  const RunGuard guard(mutex_);
  counts_[static_cast<size_t>(share)] = counts;
  has_told_[static_cast<size_t>(share)] = true;
  for (const LaneStatus& each : lanes) {
    if (each.phase != LanePhase::kParked) {
      for (auto* const parked : {&parked_, &new_parked_}) parked->erase(each.partition);
      maybe_parked_.erase(each.partition);
    } else if (!parked_.contains(each.partition) && !maybe_parked_.insert(each.partition).second) {
      parked_[each.partition] = new_parked_[each.partition] = WhyParked(each);
    }
  }
  SayParked();
  SayFirst(counts);
}

// Lanes that are parked from the beginning have mostly one reason, which is said once: so all shares tell
// first.
void SharedRun::SayParked() {
  if (new_parked_.empty() || std::ranges::find(has_told_, false) != has_told_.end()) return;
  const bool goes_on = parked_.size() != static_cast<size_t>(partitions_);
  for (const std::string& line : ParkedTexts(new_parked_, partitions_, goes_on)) Say(line);
  new_parked_.clear();
}

void SharedRun::SayFirst(const RunCounts& counts) {
  if (!counts.unit_advice.empty() && !std::exchange(unit_said_, true)) {
    Say("so far " + counts.unit_advice);
  }
  if (counts.invalid == 0 || options_.keeps_invalid()) return;
  if (std::exchange(invalid_said_, true)) return;
  Say("a record is invalid, and left out: " + Printable(counts.first_invalid) +
      "; further ones are counted");
}

void SharedRun::TellTrouble(const absl::Status& trouble) {
  const RunGuard guard(mutex_);
  if (std::exchange(trouble_said_, true)) return;
  Say(std::string(trouble.message()) + "; it is tried again");
}

void SharedRun::End(const absl::Status& why) {
  const RunGuard guard(mutex_);
  why_ended_.Update(why);
  has_ended_ = true;
}

absl::Status SharedRun::why_ended() const {
  const RunGuard guard(mutex_);
  return why_ended_;
}

Progress::State SharedRun::ProgressState() const {
  const RunCounts all = Sum();
  return {.bytes = all.bytes,
          .lines = all.records,
          .found = written(),
          .found_what = "written",
          .line_what = "record"};
}

void SharedRun::ShowProgress(Duration elapsed) {
  const RunGuard guard(mutex_);
  if (progress_.Due(elapsed)) progress_.Draw(ProgressState(), elapsed);
  while (TakeReportWish()) Say(progress_.Whole(ProgressState(), elapsed));
}

void SharedRun::EndProgress() {
  const RunGuard guard(mutex_);
  progress_.Clear();
}

RunCounts SharedRun::counts() const {
  const RunGuard guard(mutex_);
  return Sum();
}

RunCounts SharedRun::Sum() const {
  RunCounts all;
  for (const RunCounts& each : counts_) {
    all.records += each.records;
    all.bytes += each.bytes;
    all.invalid += each.invalid;
    all.late += each.late;
    all.over_limit += each.over_limit;
    if (all.first_invalid.empty()) all.first_invalid = each.first_invalid;
  }
  return all;
}

std::map<int, std::string> SharedRun::parked() const {
  const RunGuard guard(mutex_);
  return parked_;
}

uint64_t SharedRun::written() const {
  const RunGuard guard(output_mutex_);
  return output_->written();
}

uint64_t SharedRun::repeated() const {
  const RunGuard guard(output_mutex_);
  return output_->repeated();
}

}  // namespace pleat::cli
