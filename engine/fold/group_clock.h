// A GroupClock says when a group of its folder is due, and for which reason. It holds the rules and
// no groups: a question brings the group along. Example: with a quiet period of 5 minutes and a max
// wait of an hour, a group that opened at 12:00 and had its last event at 12:58 is due at 13:00,
// for its max wait.
//
// A deadline is the earliest of these:
//
//   quiet    the latest stamp and the quiet period; of a group with Extra its `quiet_due`, as an
//            event may have a quiet period of its own
//   hold     the opening stamp and the max wait
//   closing  the closing time, in folders where groups have one
//
// Where the folder hands out partials, a group is also called at instants of a grid. A group that
// has not changed needs no call, except for one period from CallAll() on.
//
// Whoever looks for what is due tells the clock the version of the groups: see Look(). While it
// stays the same, deadlines that were read are not read again.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/time.h>
#include <pleat/untyped/state_ops.h>

#include "engine/fold/group_entry.h"

namespace pleat::inline v0_1 {

class GroupClock : GroupEntry {
 public:
  using GroupEntry::Group;

  // A period as long as all of time is never over. Others are over at the end of time at the
  // latest.
  static constexpr Duration kAllOfTime = kNever - kBeginningOfTime;
  static EngineTime After(EngineTime t, Duration period) noexcept {
    return period >= kAllOfTime ? kNever : SaturatingAdd(t, period);
  }

  // `ops` outlives the clock.
  GroupClock(const FolderOptions& options, const StateOps& ops);

  // Whether groups of such a folder have Extra, and closing times.
  static bool NeedsExtra(const FolderOptions& options, const StateOps& ops) noexcept;
  static bool NeedsClosingTime(const FolderOptions& options, const StateOps& ops) noexcept;
  bool has_extra() const noexcept { return has_extra_; }
  bool has_closing_time() const noexcept { return has_closing_time_; }

  // --- Deadlines

  EngineTime QuietDue(const Group& group) const noexcept {
    if (has_extra_) return ExtraOf(group).quiet_due;
    return std::min(group.last + quiet_period_, quiet_end_);
  }
  EngineTime HoldDue(const Group& group) const noexcept {
    return std::min(group.opened + max_wait_, hold_end_);
  }
  EngineTime DueOf(const Group& group) const noexcept {
    if (!has_extra_) return PlainDueOf(group);
    const EngineTime due = std::min(ExtraOf(group).quiet_due, HoldDue(group));
    return has_closing_time_ ? std::min(due, ClosingTimeOf(group)) : due;
  }
  // Of a group without Extra.
  EngineTime PlainDueOf(const Group& group) const noexcept {
    return std::min(std::min(group.last + quiet_period_, group.opened + max_wait_), due_end_);
  }
  bool IsPlainDue(const Group& group, EngineTime by) const noexcept {
    return group.last + quiet_period_ <= by || group.opened + max_wait_ <= by || due_end_ <= by;
  }
  // Of a group without Extra whose only event has this stamp.
  EngineTime DueOfNew(EngineTime at) const noexcept {
    return std::min(at + std::min(quiet_period_, max_wait_), due_end_);
  }
  // The reason that time closes the group for; and one without Extra.
  Reason ReasonOf(const Group& group) const noexcept {
    const EngineTime quiet_or_hold = std::min(HoldDue(group), QuietDue(group));
    if (has_closing_time_ && ClosingTimeOf(group) < quiet_or_hold) return Reason::kClosingTime;
    return HoldDue(group) < QuietDue(group) ? Reason::kMaxWait : Reason::kQuiet;
  }
  Reason PlainReasonOf(const Group& group) const noexcept {
    return HoldDue(group) < std::min(group.last + quiet_period_, quiet_end_) ? Reason::kMaxWait
                                                                             : Reason::kQuiet;
  }
  // The closing time that the folder gives to a group which was opened then; kNever: none.
  EngineTime ClosingTimeFor(EngineTime opened) const;

  // --- Calls, of groups with Extra

  bool has_partials() const noexcept { return partial_every_ != kForever; }
  // The first instant behind `t` of the group's grid of partials; kNever: none.
  EngineTime GridAfter(const Group& group, EngineTime t) const noexcept;
  // When a group is called; while nothing changes, its `next_partial` may lie before that.
  EngineTime CallOf(const Group& group) const noexcept;
  // Whether it is to be called before its deadline.
  bool IsCalled(const Group& group, EngineTime now) const noexcept;
  // From now on all groups are called, for one period. Returns whether they were not so far.
  bool CallAll(EngineTime now) noexcept;

  // --- Periods

  struct Periods {
    Duration quiet;
    Duration hold;
    friend bool operator==(const Periods&, const Periods&) = default;
  };
  static Periods PeriodsOf(const FolderOptions& options) noexcept {
    return {std::min(options.quiet_period, kAllOfTime), std::min(options.max_wait, kAllOfTime)};
  }
  Periods periods() const noexcept { return {quiet_period_, max_wait_}; }
  Duration quiet_period() const noexcept { return quiet_period_; }
  Duration max_wait() const noexcept { return max_wait_; }
  void SetPeriods(const Periods& periods) noexcept;
  // How far ahead deadlines usually lie.
  Duration UsualLife() const noexcept { return std::min({quiet_period_, max_wait_, other_life_}); }

  // --- Who reads the deadlines

  // They are looked for up to `now`. While `version` stays the same, no group has changed.
  void Look(EngineTime now, uint64_t version) noexcept {
    now_ = now;
    version_ = version;
  }
  EngineTime now() const noexcept { return now_; }
  uint64_t version() const noexcept { return version_; }

 private:
  // Members that every fold reads come first.
  Duration quiet_period_;
  Duration max_wait_;
  EngineTime quiet_end_;  // the latest that a deadline can be
  EngineTime hold_end_;
  EngineTime due_end_;
  const bool has_extra_;
  const bool has_closing_time_;
  EngineTime now_ = kBeginningOfTime;
  uint64_t version_ = 0;
  const Duration other_life_;  // of partials and closing times
  const Duration partial_every_;
  const ClosingOptions closing_;
  const StateOps& ops_;
  EngineTime calls_all_from_ = kBeginningOfTime;
  EngineTime calls_all_until_ = kBeginningOfTime;
};

}  // namespace pleat::inline v0_1
