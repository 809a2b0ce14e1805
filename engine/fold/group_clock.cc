#include "engine/fold/group_clock.h"

#include <chrono>

namespace pleat::inline v0_1 {
namespace {

// How far ahead instants usually lie that quiet period and max wait do not give. Of closing times
// that others give nothing is known: a day.
Duration OtherLife(const FolderOptions& options, const StateOps& ops) {
  const bool others = ops.has_close_at || ops.closing_time != nullptr || options.closing.settable;
  return std::min(
      {options.partial_every, options.closing.every, others ? std::chrono::hours(24) : kForever});
}

}  // namespace

GroupClock::GroupClock(const FolderOptions& options, const StateOps& ops)
    : has_extra_(NeedsExtra(options, ops)),
      has_closing_time_(NeedsClosingTime(options, ops)),
      other_life_(OtherLife(options, ops)),
      partial_every_(options.partial_every),
      closing_(options.closing),
      ops_(ops) {
  SetPeriods(PeriodsOf(options));
}

bool GroupClock::NeedsExtra(const FolderOptions& options, const StateOps& ops) noexcept {
  return ops.marks != nullptr || options.quiet_floor > Duration{0} ||
         options.edge != Edge::kTrailing || options.partial_every != kForever ||
         options.late.on_late == OnLate::kCorrect || NeedsClosingTime(options, ops);
}

bool GroupClock::NeedsClosingTime(const FolderOptions& options, const StateOps& ops) noexcept {
  return options.closing.every != kForever || options.closing.settable || ops.has_close_at ||
         ops.closing_time != nullptr;
}

// The remainders are taken apart, so that no period and no phase overflows.
EngineTime GroupClock::ClosingTimeFor(EngineTime opened) const {
  EngineTime at = kNever;
  if (closing_.every != kForever) {
    const Duration every = closing_.every;
    const Duration passed = opened.time_since_epoch() % every;  // may be below zero
    Duration behind = passed < Duration{0} ? passed + every : passed;
    behind -= closing_.phase;  // since the grid's latest instant, both are below `every`
    if (behind < Duration{0}) behind += every;
    const Duration ahead = every - behind;
    if (ahead <= kEndOfTime - opened) at = opened + ahead;
  }
  if (ops_.closing_time != nullptr) {
    at = std::min(at, std::max(opened, ops_.closing_time(ops_.context, opened)));
  }
  return at;
}

EngineTime GroupClock::GridAfter(const Group& group, EngineTime t) const noexcept {
  if (!has_partials()) return kNever;
  const Duration every = std::min(partial_every_, kAllOfTime);
  const Duration::rep passed = t < group.opened ? 0 : (t - group.opened) / every;
  const EngineTime instant = group.opened + (passed + 1) * every;
  return instant > kEndOfTime ? kNever : instant;
}

EngineTime GroupClock::CallOf(const Group& group) const noexcept {
  const Extra& extra = ExtraOf(group);
  if (extra.changed) return extra.next_partial;
  return std::max(extra.next_partial, GridAfter(group, calls_all_from_));
}

bool GroupClock::IsCalled(const Group& group, EngineTime now) const noexcept {
  const bool matters = ExtraOf(group).changed || now < calls_all_until_;
  return matters && CallOf(group) < DueOf(group);
}

bool GroupClock::CallAll(EngineTime now) noexcept {
  if (!has_partials()) return false;
  const bool called = now < calls_all_until_;
  calls_all_until_ = After(now, partial_every_);
  if (!called) calls_all_from_ = now;
  return !called;
}

void GroupClock::SetPeriods(const Periods& periods) noexcept {
  quiet_period_ = periods.quiet;
  max_wait_ = periods.hold;
  quiet_end_ = After(kEndOfTime, quiet_period_);
  hold_end_ = After(kEndOfTime, max_wait_);
  due_end_ = std::min(quiet_end_, hold_end_);
}

}  // namespace pleat::inline v0_1
