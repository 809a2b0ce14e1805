#include "engine/outbox/trace_log.h"

#include <string>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

TraceStep StepOfReady(const ClosedGroup& shown) noexcept {
  if (shown.reason == Reason::kCorrection) return TraceStep::kCorrected;
  return shown.partial ? TraceStep::kPartial : TraceStep::kClosed;
}

// Whether the step brings the emission about, or the end of a group that has none.
bool IsFirst(TraceStep step) noexcept {
  return step == TraceStep::kSilent || step == TraceStep::kClosed || step == TraceStep::kPartial ||
         step == TraceStep::kCorrected;
}

}  // namespace

TraceRecord& TraceLog::Next(TraceStep step, uint64_t group, std::string_view key,
                            const GroupInfo& info, EngineTime when, const Instant& at) {
  const size_t block = static_cast<size_t>(next_ % max_) / kBlockRecords;
  if (block == blocks_.size()) {
    blocks_.push_back(std::make_unique<TraceRecord[]>(std::min(max_, kBlockRecords)));
  }
  TraceRecord& record = blocks_[block][static_cast<size_t>(next_ % max_) % kBlockRecords];
  static_cast<GroupInfo&>(record) = info;
  record.partition = partition_;
  record.number = next_++;
  record.step = step;
  record.group = group;
  record.emission.reset();
  record.reason = Reason::kQuiet;
  record.revision = 0;
  record.deliveries = 0;
  record.at = when;
  record.lease_at = at.leases;
  if (record.key.capacity() > kKeptKeyBytes) std::string().swap(record.key);
  record.key = key;
  return record;
}

void TraceLog::NoteGroup(TraceStep step, uint64_t group, std::string_view key,
                         const GroupInfo& info, EngineTime when, const Instant& at) {
  Next(step, group, key, info, when, at);
}

TraceRecord& TraceLog::Note(TraceStep step, const Ready& ready, const Instant& at) {
  const ClosedGroup shown = entries_.Show(ready);
  const EngineTime when = IsFirst(step) ? shown.closed : at.now;
  TraceRecord& record =
      Next(step, entries_.RankOf(ready.entry).position, shown.key, shown, when, at);
  if (step != TraceStep::kSilent) record.emission = shown.id;
  record.reason = shown.reason;
  record.revision = step == TraceStep::kSilent ? 0 : shown.revision;
  return record;
}

void TraceLog::NoteReady(const Ready& ready, const Instant& at) {
  Note(StepOfReady(entries_.Show(ready)), ready, at);
}

void TraceLog::NoteLease(TraceStep step, const Ready& ready, LeaseTime lease_at,
                         uint32_t deliveries, const Instant& at) {
  TraceRecord& record = Note(step, ready, at);
  record.lease_at = lease_at;
  record.deliveries = deliveries;
}

void TraceLog::Copy(uint64_t from, size_t max, std::vector<TraceRecord>& out) const {
  PLEAT_DCHECK(first() <= from && from <= next_);
  const uint64_t end = from + std::min<uint64_t>(max, next_ - from);
  for (; from < end; ++from) out.push_back(At(from));
}

}  // namespace pleat::inline v0_1
