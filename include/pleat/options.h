// FolderOptions: when groups close, which events are late, the limits, leases and measuring.
//
// Options that belong together are grouped, so name only those that differ from the defaults:
//
//   pleat::FolderOptions options{
//       .quiet_period = 5min,
//       .max_wait = 1h,
//       .limits = {.max_bytes = size_t{256} << 20, .on_limit = pleat::OnLimit::kEmitOldest},
//       .leases = {.max_deliveries = 3},
//   };
//
// Opening a folder checks the ranges below. An option out of range is answered kInvalidArgument,
// and the message names the option, such as "leases.max_deliveries". A limit holds for the whole
// folder; each partition gets an equal share of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

inline constexpr uint64_t kNoEventCap = UINT64_MAX;
inline constexpr size_t kNoByteCap = SIZE_MAX;

// The longest key, in bytes.
inline constexpr size_t kKeyBytesMax = 64 * 1024;

// When a group is handed out.
enum class Edge : uint8_t {
  // When it closes.
  kTrailing,
  // When it opens, with its first event. Its later events are not handed out.
  kLeading,
  // When it opens, and again when it closes if more events have followed.
  kBoth,
};

// How an event older than late.allowed_lateness is treated.
enum class OnLate : uint8_t {
  // The event is answered kLate and changes no group.
  kReject,
  // The event is folded like any other, and counted as late.
  kFold,
  // The event becomes an emission of its own, with reason kCorrection.
  kCorrect,
};

// How an event that would exceed limits.max_groups or limits.max_bytes is treated.
enum class OnLimit : uint8_t {
  // The event is answered kOverLimit and changes no group.
  kRefuse,
  // The groups that would close next close early, with reason kLimit, to make room.
  kEmitOldest,
};

// How an event that would open a group is treated while limits.max_backlog emissions wait.
enum class OnBacklog : uint8_t {
  // The event is answered kOverloaded at once, and changes no group.
  kRefuse,
  // The event opens its group. When one more emission would exceed the limit, the emission that has
  // waited longest is dropped and counted.
  kDropOldest,
};

// How an emission that should become a dead letter is treated at leases.max_dead_letters.
enum class OnDeadLimit : uint8_t {
  // The emission is delivered again, and its deliveries are counted on.
  kKeepTrying,
  // The oldest dead letter is dropped and counted.
  kDropOldest,
};

// Which events are late, and what happens to them.
struct LateOptions {
  // An event is late if its stamp is more than this before the engine's time.
  // Range: zero or more. Default: no event is late.
  Duration allowed_lateness = kForever;

  // Default: reject. The others need an allowed_lateness.
  OnLate on_late = OnLate::kReject;

  // How long an id is remembered, counted from the stamp of its event: a retry that is stamped anew
  // is known for as long. Costs 46 bytes an id.
  // Range: allowed_lateness or more, below kForever; zero stands for allowed_lateness.
  Duration deduplication_window{0};
};

// How much a folder may hold.
struct LimitOptions {
  // The most groups that are open at a time. An event that would open another one meets on_limit.
  // Keys do not spread evenly: one of 16 partitions reaches its share when about 85 % of the total
  // is open if a share is 100 groups, and at 98 % if a share is 10,000.
  // Range: at least one per partition. Default: 50 million.
  size_t max_groups = 50'000'000;

  // The most bytes that groups may hold, both open ones and those that wait to be popped. An event
  // that would open a group, or fold into a state that can grow, meets on_limit. Bytes are counted,
  // not measured: a group counts with its costs at the usual load of the tables. The last event may
  // exceed the limit by the growth of its state.
  // Range: at least one per partition. Default: 4 GiB.
  size_t max_bytes = size_t{4} << 30;

  // With kEmitOldest, open groups are kept below 7/8 of max_bytes, so that there is room for groups
  // that wait. A caller that pops after every event never sees kOverLimit then, unless the ids to
  // be remembered fill max_bytes. A caller that never pops sees it all the same.
  OnLimit on_limit = OnLimit::kRefuse;

  // Whether groups that wait to be popped count against max_bytes. If not, the answer to an event
  // does not depend on when somebody pops; pop every few events then, to bound what waits.
  bool count_ready = true;

  // How many emissions may wait: to be taken, to be acked, or as dead letters. At the limit, an
  // event that would open a group meets on_backlog. The limit is soft: emissions of groups that
  // have closed so far count, and open groups still close, so that up to max_groups may come on
  // top. At this limit, and only here, an answer may depend on when time was advanced and on the
  // number of partitions.
  // Range: at least one per partition. Default: 50 million.
  size_t max_backlog = 50'000'000;
  OnBacklog on_backlog = OnBacklog::kRefuse;
};

// How emissions are lent; see emission.h. Without effect for a folder whose emissions are only
// popped.
struct LeaseOptions {
  // After this many deliveries without an Ack() an emission becomes a dead letter.
  // Range: at least 1. Default: 5.
  uint32_t max_deliveries = 5;

  // How many keys may have an emission that is lent, or that waits to be lent again. At the limit
  // only emissions that came back are lent. Memory beside max_bytes: 150 bytes for each such key,
  // and 8 bytes for each of the latest 65,536 deliveries of a partition.
  // Range: at least one per partition. Default: 1 million.
  size_t max_leased = 1'000'000;

  // How long after its delivery Extend() can keep a lease, and the longest delay that Nack() can
  // ask for. A longer time is cut to this, and the answer is kClamped.
  // Range: above zero. Default: one hour.
  Duration max_age = std::chrono::hours(1);
  Duration max_nack_delay = std::chrono::hours(1);

  // How many dead letters are kept. Range: at least one per partition. Default: 100,000.
  size_t max_dead_letters = 100'000;
  OnDeadLimit on_dead_limit = OnDeadLimit::kKeepTrying;

  // Whether later emissions of a key wait behind its dead letter: until that is retried and acked,
  // or dropped. So no receiver ends at an old version of a key. They count in limits.max_backlog,
  // where OnBacklog::kDropOldest may drop some. Default: they go on, and a letter that is retried
  // comes behind those that went out meanwhile.
  bool wait_behind_dead = false;
};

// Which measurements a running folder takes.
struct MeasureOptions {
  // Whether gaps between events are measured, so that gap_stats() can tell what other quiet periods
  // would have done.
  bool gap_stats = false;

  // For how many closed keys the stamp of the last event is remembered, at about 40 bytes each
  // beside max_bytes. Range: any. Default: 1 million.
  size_t max_ghosts = 1'000'000;

  // How many of the latest steps of groups are kept for a TraceReader (trace.h), at some 150 bytes
  // each beside max_bytes. Range: at least one per partition, or zero, none. Default: zero.
  size_t max_trace = 0;
};

// The closing time of a group, an instant at which it closes however its events come.
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

struct FolderOptions {
  // A group closes when its key has had no event for this long.
  // Range: above zero; kForever is never. Required.
  Duration quiet_period{0};

  // With a floor, each class of keys (EventMarks::key_class) learns its quiet period from the gaps
  // between its events, within [quiet_floor, quiet_period]; see docs/quiet-period.md. Partitions
  // learn by themselves, so their number has a part in the results, and nothing else has.
  // Memory: 50 bytes for a closed key until quiet_period has passed, and some kilobytes a class.
  // Range: zero, or less than quiet_period, which is then not kForever. Default: zero, no learning.
  Duration quiet_floor{0};

  // A group closes when it has been open for this long, however busy its key is. On arrival time a
  // group also closes before an event that is stamped more than this before the event that opened
  // it.
  // Range: above zero; kForever lets a key that never goes quiet hold its group without end.
  // Required.
  Duration max_wait{0};

  // A group closes when it holds this many events. Range: at least 1. Default: no limit.
  uint64_t max_events = kNoEventCap;

  // A group closes when its state weighs this much: sizeof(State) and State::HeapBytes(), or
  // StateOps::weight. Range: at least 1. Default: no limit.
  size_t max_group_bytes = kNoByteCap;

  // When a group is handed out. kLeading and kBoth need a copyable state. Default: when it closes.
  Edge edge = Edge::kTrailing;

  // With kLeading or kBoth: how many of the first events of a group are handed out at once, each
  // with the group as it is then. Range: at least 1; 1 with kTrailing.
  uint64_t leading_events = 1;

  // An open group is also handed out this often, counted from its opening, with reason kPartial, if
  // events have folded into it since the last time. Needs a copyable state; not with kLeading.
  // Range: above zero. Default: never.
  Duration partial_every = kForever;

  ClosingOptions closing = {};
  LateOptions late = {};
  LimitOptions limits = {};
  LeaseOptions leases = {};
  MeasureOptions measure = {};
};

}  // namespace pleat::inline v0_1
