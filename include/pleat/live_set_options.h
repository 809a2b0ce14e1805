// LiveSetOptions: how long members live, what an event of a live member does, and the limits. Also
// the options and the answers of calls, and the counts: LiveSetLedger says where every event and
// every member ended up, LiveSetSizes how much there is now.
//
//   pleat::LiveSetOptions options{
//       .ttl = 24h,
//       .retention = 72h,
//       .limits = {.max_per_series = 1000, .on_limit = pleat::OnLiveSetLimit::kDropOldest},
//   };
//   pleat::LiveSet<> readers(*engine, "readers", options);
//   const pleat::LiveSetLedger ledger = readers.ledger();
//   std::cout << ledger.live << " readers; " << ledger.expired << " have gone\n";
//
// Opening a live set checks the ranges below. An option out of range is answered kInvalidArgument,
// and the message names the option, such as "limits.max_series". A limit holds for the whole
// live set; each partition gets an equal share of it. A series lies in one partition as a whole, so
// that one series can use one share at most: with 16 partitions and the defaults 3 million members.
// For a series of 10 million, give the engine fewer partitions or raise max_members and max_bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// What an event of a live member does. docs/semantics-live-sets.md has the table.
enum class Refresh : uint8_t {
  // The newer stamp counts, and its payload. An older stamp changes nothing. So events may come
  // twice or in any order, with the same result.
  kLatest,
  // The event that added the member counts; all others are kUnchanged.
  kFirst,
  // As kLatest, but the member ends, with cause kReplaced, and is added again.
  kReplace,
};

// How an event is treated that would exceed a limit.
enum class OnLiveSetLimit : uint8_t {
  // It is answered kFull or kOverLimit and changes nothing.
  kRefuse,
  // The member that is oldest, or would expire next, ends early to make room.
  kDropOldest,
};

struct LiveSetLimits {
  // The most series with members, or with a TTL of their own.
  // Range: at least one per partition. Default: 10 million.
  size_t max_series = 10'000'000;

  // The most members, live or retained.
  // Range: at least one per partition. Default: 50 million.
  size_t max_members = 50'000'000;

  // The most live members of one series. Range: at least 1. Default: 50 million.
  size_t max_per_series = 50'000'000;

  // The most bytes of members, payloads, series and tombstones. Bytes are counted, not measured.
  // Range: at least one per partition. Default: 4 GiB.
  size_t max_bytes = size_t{4} << 30;

  OnLiveSetLimit on_limit = OnLiveSetLimit::kRefuse;
};

struct LiveSetOptions {
  // How long a member lives after its stamp. kForever: until it is removed.
  // Range: above zero. No default.
  Duration ttl{0};

  // How long after its stamp an expired member can still come back, if SetTtl() makes the TTL of
  // its series longer. Costs the memory of members that nobody sees.
  // Range: zero or more; a value up to the TTL retains nothing. Default: zero.
  Duration retention{0};

  Refresh refresh = Refresh::kLatest;

  // How many of the latest changes watchers can still read. The memory is used only from the first
  // Watch() on: some 100 bytes a change, besides ids and payloads.
  // Range: at least one per partition. Default: 1 million.
  size_t max_changes = 1'000'000;

  LiveSetLimits limits = {};
};

// The answer to one event, and how to react. On event time every event moves the watermark, but for
// those answered kFuture, kStopped or kWouldDeadlock, and those with a series or an id that is too
// long. Programs may store these values: they never change.
enum class LiveSetOutcome : uint8_t {
  // The id is a new member.
  kAdded = 0,
  // The id was live; its stamp is newer now.
  kRefreshed = 1,
  // The same, and its payload or version is another one now.
  kUpdated = 2,
  // The id is live with a newer stamp or a higher version, or Refresh::kFirst holds; or Touch() met
  // an id that is not live.
  kUnchanged = 3,
  // The id is live, with this very stamp, version and payload: a retry. There is nothing to do.
  kDuplicate = 4,
  // The same stamp and version, and another payload: one of the two is wrong.
  kConflict = 5,
  // The event's own deadline has passed. Store it somewhere else, or drop it.
  kLate = 6,
  // The event is further ahead of the engine's time than the future limit: likely its clock is
  // wrong.
  kFuture = 7,
  // Another limit was reached, or the series or id is longer than 64 KiB. But for the latter, the
  // same event may be accepted once members have ended.
  kOverLimit = 8,
  // The engine was stopped or is gone, or the live set was closed. Not counted.
  kStopped = 9,
  // Called from inside a function of the caller's. Not counted. Call again from outside.
  kWouldDeadlock = 10,
  // AddBatch() was told to leave the event's partition alone. Not counted; another worker adds it.
  kElsewhere = 11,
  // The partition has taken the event before, by its SourcePosition. Not counted.
  kReplayed = 12,
  // The series has max_per_series members.
  kFull = 13,
  // The id was removed, with a stamp that is not older.
  kTombstoned = 14,
};
inline constexpr size_t kLiveSetOutcomes = 15;
using LiveSetCounts = OutcomeCounts<LiveSetOutcome, kLiveSetOutcomes>;

// The answer of calls that are no events.
enum class LiveSetControl : uint8_t {
  kDone = 0,            // something ended or changed
  kNothing = 1,         // there was nothing to end or to change; a tombstone may have been left
  kNewer = 2,           // only_if_not_newer, and the member's stamp is later
  kOutOfRange = 3,      // the TTL is not above zero; nothing has changed
  kFuture = 7,          // the stamp is beyond the future limit; nothing has changed
  kOverLimit = 8,       // the series or id is too long, or max_series reached; nothing has changed
  kClosed = 9,          // the live set is closed, or the engine is gone
  kWouldDeadlock = 10,  // called from inside a function of the caller's; nothing has changed
};

// Where a list stands: behind the member that was seen last. A new one stands at the beginning.
struct ListCursor {
  bool begun = false;
  EngineTime stamp;
  uint64_t position = 0;
};

struct ListOptions {
  bool newest_first = true;
  std::optional<EngineTime> since = std::nullopt;  // only stamps later than this
  size_t limit = 100;                              // the most that one call lists
  EngineTime now = kBeginningOfTime;               // the engine's time, or this if it is later
};

struct RemoveOptions {
  // The stamp of the removal. Events with stamps up to it do not bring the member back, nor do
  // those up to the member's own stamp. Default: the engine's time.
  std::optional<EngineTime> at;

  // Leaves a member alone whose stamp is later than `at`; the answer is kNewer.
  bool only_if_not_newer = false;

  // Events stamped `at` itself bring the member back if they come later: of two lines with one
  // stamp the later one counts.
  bool later_wins = false;
};

// Exact counts since the live set was opened, summed over the partitions, each read at one instant.
// Always:
//   events = added + refreshed + updated + unchanged + duplicate + conflict + late + future +
//            tombstoned + refused
//   added  = expired + removed + replaced + dropped + cleared + live
//   changes = the sum of causes
struct PLEAT_EXPORT LiveSetLedger {
  uint64_t events = 0;  // every event offered, rows of imports and touches included
  uint64_t added = 0;
  uint64_t refreshed = 0;
  uint64_t updated = 0;
  uint64_t unchanged = 0;
  uint64_t duplicate = 0;
  uint64_t conflict = 0;
  uint64_t late = 0;
  uint64_t future = 0;
  uint64_t tombstoned = 0;
  uint64_t over_limit = 0;          // kFull and kOverLimit
  uint64_t expired = 0;             // members that time or SetTtl() ended, but for restored ones
  uint64_t removed = 0;             // by Remove()
  uint64_t replaced = 0;            // by Refresh::kReplace
  uint64_t dropped = 0;             // at a limit
  uint64_t cleared = 0;             // by Clear()
  uint64_t live = 0;                // members now; one that is due counts until time visits it
  uint64_t changes = 0;             // ever
  uint64_t tombstones_refused = 0;  // removals that left no tombstone, because of max_bytes
  std::array<uint64_t, kCauses> causes{};  // of `changes`, by IndexOf(cause)

  LiveSetLedger& operator+=(const LiveSetLedger& other) noexcept;
  bool Balances() const noexcept {
    return events == added + refreshed + updated + unchanged + duplicate + conflict + late +
                         future + tombstoned + over_limit &&
           added == expired + removed + replaced + dropped + cleared + live &&
           changes == std::accumulate(causes.begin(), causes.end(), uint64_t{0});
  }

  friend bool operator==(const LiveSetLedger&, const LiveSetLedger&) = default;
};

// How much a live set holds now.
struct PLEAT_EXPORT LiveSetSizes {
  size_t series = 0;   // with members, or with a TTL of their own
  size_t members = 0;  // live or retained
  size_t tombstones = 0;
  size_t bytes = 0;  // counted against max_bytes

  LiveSetSizes& operator+=(const LiveSetSizes& other) noexcept;

  friend bool operator==(const LiveSetSizes&, const LiveSetSizes&) = default;
};

}  // namespace pleat::inline v0_1
