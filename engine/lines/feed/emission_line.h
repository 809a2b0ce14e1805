// One emission as one line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/untyped/any_folder.h>

#include "engine/lines/feed/fold_plan.h"
#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/time/timestamp.h"

namespace pleat::inline v0_1 {

// Prints groups of one plan, one after the other.
class EmissionPrinter {
 public:
  explicit EmissionPrinter(const FoldPlan& plan) : plan_(plan) {}

  // Appends the line of `group`, its '\n' included. Does not touch the state's ownership.
  void Append(const ClosedGroup& group, LineWriter& out);

  // The same for a group that is open at `now`. It is no emission, so that it has neither revision
  // nor id.
  void AppendOpen(std::string_view key, const GroupInfo& info, const void* state, EngineTime now,
                  LineWriter& out);

  // How many lines of Append() name a sum under "saturated".
  uint64_t saturated() const noexcept { return saturated_; }

 private:
  // All but "_fold", without the closing brace.
  void AppendMembers(std::string_view key, const void* state, LineWriter& out);
  template <class More>
  void AppendMeta(const GroupInfo& info, EngineTime closed, std::string_view reason,
                  LineWriter& out, const More& more);
  void AppendSaturated(LineWriter& out) const;

  const FoldPlan& plan_;
  // One for each, since each goes slowly through time by itself.
  TimestampWriter first_times_;
  TimestampWriter last_times_;
  TimestampWriter closed_times_;
  FoldPlan::CaveatNames caveats_;  // of this group
  uint64_t saturated_ = 0;
};

}  // namespace pleat::inline v0_1
