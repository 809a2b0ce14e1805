// A Turn is one event in the slow path of a fold, with all that the steps find out about it. A step
// reads it, and writes the members that are its to find out.
#pragma once

#include <cstdint>

#include <pleat/time.h>
#include <pleat/untyped/state_ops.h>

#include "engine/base/instant.h"
#include "engine/fold/group_table.h"
#include "engine/table/event_ids.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

struct Turn {
  const EventRef& event;
  const Instant& at;
  EngineTime now;     // the latest time that the book was told of
  EngineTime due_by;  // groups due by this instant make way for the event
  uint64_t position;
  uint32_t number;  // the entry of its key, or kNone
  EventMarks marks;
  EventIds::Name name;  // of the event, if it has an id
  bool late;            // older than the allowed lateness
  bool starts;          // the event does not join its key's group, though that is open

  bool FindsOpen(const GroupTable& groups) const noexcept {
    return number != GroupTable::kNone && groups.DueOf(number) > due_by;
  }
  bool Joins(const GroupTable& groups) const noexcept { return !starts && FindsOpen(groups); }
  // After groups have closed: its own may be among them.
  void FindAgain(const GroupTable& groups) {
    number = groups.FindSlowly(event.key, event.hash).number;
  }
};

// The emissions of one event, in this order: groups closed to make room, the group that the event
// does not join, its own group. A call, such as Flush(), has its place there as well.
enum class Step : uint8_t { kMakesRoom, kBeforeIt, kBehindIt };
constexpr uint64_t OrderOf(uint64_t position, Step step) noexcept {
  return 4 * position + static_cast<uint64_t>(step);
}
constexpr Step StepOf(uint64_t order) noexcept { return static_cast<Step>(order % 4); }

}  // namespace pleat::inline v0_1
