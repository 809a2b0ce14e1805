// EndRules says whether an event ends the group that it was folded into: the event carries an end
// mark, the group's condition holds, or the group has as many events or bytes as it may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/untyped/state_ops.h>

#include "engine/fold/group_table.h"

namespace pleat::inline v0_1 {

class EndRules {
 public:
  // `ops` outlives the rules.
  EndRules(const FolderOptions& options, const StateOps& ops) : ops_(ops) { SetCaps(options); }

  void SetCaps(const FolderOptions& options) noexcept {
    max_events_ = options.max_events;
    max_bytes_ = options.max_group_bytes;
    look_ = ops_.condition != nullptr || max_events_ != kNoEventCap || max_bytes_ != kNoByteCap;
  }

  // Whether one of these caps is lower than now, so that a group may be beyond it.
  bool Lowers(const FolderOptions& options) const noexcept {
    return options.max_events < max_events_ || options.max_group_bytes < max_bytes_;
  }

  // Why the group ends behind the event folded last, if it does. `end_mark`: the event's own.
  // Example: with max_events of 3, the third event gives kMaxEvents, or kEndMark if it has a mark.
  std::optional<Reason> ReasonBehind(const GroupTable& groups, uint32_t number,
                                     bool end_mark) const {
    if (end_mark) return Reason::kEndMark;
    return look_ ? ReasonOf(groups, number) : std::nullopt;
  }
  // The same by the caps alone.
  std::optional<Reason> ReasonByCaps(const GroupTable& groups, uint32_t number) const;

 private:
  std::optional<Reason> ReasonOf(const GroupTable& groups, uint32_t number) const;
  size_t WeightOf(const GroupTable& groups, uint32_t number) const;

  const StateOps& ops_;
  uint64_t max_events_;
  size_t max_bytes_;
  bool look_;  // some rule depends on the group
};

}  // namespace pleat::inline v0_1
