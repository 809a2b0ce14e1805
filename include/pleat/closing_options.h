// ClosingOptions: the closing time of a group, an instant at which it closes however its events
// come. Part of FolderOptions.
//
//   // Digests at nine in the morning, UTC: all that came since the last nine o'clock.
//   pleat::FolderOptions options{
//       .quiet_period = pleat::kForever, .max_wait = pleat::kForever,
//       .closing = {.every = 24h, .phase = 9h},
//   };
//
// Nine o'clock of a zone, whose days are not all as long: FoldRules::closing_time. An instant that
// an event states: FoldRules::close_at. For one open group: Folder::SetDeadline(). A group closes
// at the first of all that apply to it, with reason kClosingTime.
#pragma once

#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct ClosingOptions {
  // A group closes at the first instant behind its opening that is 1970-01-01T00:00Z, plus `phase`,
  // plus a multiple of this, whatever the zone.
  // Range: above zero. Default: never.
  Duration every = kForever;

  // Range: zero or more, less than `every`; zero without it.
  Duration phase{0};

  // Whether SetDeadline() may be called. Needs a state that can be moved (StateOps::relocate).
  bool settable = false;
};

}  // namespace pleat::inline v0_1
