// The events that go into a LiveSet, the members that come out, and their changes: a Change says
// that a member began, went on or ended, and how many members its series has since. The changes of
// a Presence are of the same type.
//
//   struct News { std::string title; bool operator==(const News&) const = default; };
//   pleat::LiveSet<News> news(*engine, "news", {.ttl = 5min});
//   news.Add("sports", {.id = "4711", .payload = {"Won"}}, at);
//   for (const pleat::LiveMember<News>& m : news.List("sports")) Show(m.payload.title, m.stamp);
//
//   for (const pleat::Change<News>& c : changes) {
//     if (pleat::IsEnd(c.cause)) Withdraw(c.series, c.id);
//     Show(c.series, c.count);
//   }
//
// Ownership: an event borrows the bytes of its id until the call that adds it returns; a LiveMember
// and a Change are plain data of their own. The views of an AnyChange are valid during the call
// that hands it over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The payload of members that are their id alone.
struct NoPayload {
  friend constexpr bool operator==(const NoPayload&, const NoPayload&) = default;
};

template <class Payload>
struct LiveSetEvent {
  // Takes no temporary std::string, which would be gone before the call: name the string first.
  KeyView id;

  // The member's own TTL. Zero: that of the series, or the one that the live member has. Below
  // zero: the event is late.
  Duration ttl{0};

  // Decides between events of one stamp: the higher version counts. None is below any.
  std::optional<uint64_t> version = {};

  Payload payload = {};
};

template <class Payload = NoPayload>
struct LiveMember {
  std::string id;
  Payload payload;
  EngineTime stamp;
  EngineTime deadline;  // kNever: none
  std::optional<uint64_t> version;
};

struct SeriesCount {
  std::string series;
  size_t count;
};

// Why there is a change. Programs may store these values: they never change.
enum class Cause : uint8_t {
  kAdded = 1,        // an event added the member
  kRefreshed = 2,    // an event of the live member brought a newer stamp
  kUpdated = 3,      // the same, and another payload or version
  kRestored = 4,     // SetTtl() brought back a member that had expired; of presence: the user was
                     // away, and is here again
  kImported = 5,     // Import(); of the series as a whole, without id
  kExpired = 6,      // the deadline came
  kUnpublished = 7,  // Remove()
  kReplaced = 8,     // an event of the live member replaced it (Refresh::kReplace)
  kCap = 9,          // the series was full, and this its oldest member
  kTtlChanged = 10,  // SetTtl() made the TTL shorter
  kCleared = 11,     // Clear()
  kDropped = 12,     // another limit was reached, and this member would have expired next
  kAway = 13,        // of presence: the heartbeat is overdue; the user may still come back
  kLeft = 14,        // of presence: and did not, or has left
  kCounted = 15,     // some changes in one, for a watcher that gets too many; of the series as a
                     // whole, without id
};

// How many causes a ledger counts: all but kCounted, which only a Watcher tells.
inline constexpr size_t kCauses = 14;

// The place of a cause in an array of kCauses elements, from 0. kCounted has none: its index is
// kCauses.
constexpr size_t IndexOf(Cause cause) noexcept { return static_cast<size_t>(cause) - 1; }

constexpr bool IsEnd(Cause cause) noexcept {
  return cause >= Cause::kExpired && cause != Cause::kAway && cause != Cause::kCounted;
}

// "added", "expired", ...: the spelling used in output and metrics.
constexpr std::string_view CauseName(Cause cause) noexcept {
  switch (cause) {
    case Cause::kAdded: return "added";
    case Cause::kRefreshed: return "refreshed";
    case Cause::kUpdated: return "updated";
    case Cause::kRestored: return "restored";
    case Cause::kImported: return "imported";
    case Cause::kExpired: return "expired";
    case Cause::kUnpublished: return "unpublished";
    case Cause::kReplaced: return "replaced";
    case Cause::kCap: return "cap";
    case Cause::kTtlChanged: return "ttl_changed";
    case Cause::kCleared: return "cleared";
    case Cause::kDropped: return "dropped";
    case Cause::kAway: return "away";
    case Cause::kLeft: return "left";
    case Cause::kCounted: return "counted";
  }
  return "unknown";
}

// Names a change of a live set in one Engine object.
struct ChangeId {
  uint32_t partition = 0;

  // Counts the changes of the partition, from 0.
  uint64_t number = 0;

  friend bool operator==(const ChangeId&, const ChangeId&) = default;
};

// The parts of a change that need no payload type.
struct ChangeInfo {
  ChangeId change;
  Cause cause = Cause::kAdded;

  // When the member's end was due, or when the event came by the engine's time: kBeginningOfTime if
  // that has not moved yet.
  EngineTime at;

  // The live members of the series after this very change; of presence, the users here or away.
  size_t count = 0;

  // Of presence: how many of these are away.
  size_t away = 0;

  // Of the member, after the change; of one that ended, its last ones. kNever: no deadline.
  EngineTime stamp;
  EngineTime deadline;
};

// A change on its way out.
struct AnyChange : ChangeInfo {
  std::string_view series;
  std::string_view id;  // of the member
  const void* payload = nullptr;
};

template <class Payload>
struct Change : ChangeInfo {
  std::string series;
  std::string id;
  Payload payload;  // an empty one for kImported and kCounted
};

// Which changes a reader wants: those of one series, or of all series whose names begin with a
// prefix. The empty prefix is all.
struct WatchScope {
  std::string_view name;
  bool is_prefix = false;

  bool Covers(std::string_view series) const noexcept {
    return is_prefix ? series.starts_with(name) : series == name;
  }
};

// Where a reader of changes stands: the number of its next change in each partition. All changes of
// its scope before that were handed out. Plain data; a program may store a cursor and go on from
// there, in the same Engine object.
struct ChangeCursor {
  std::vector<uint64_t> next;

  friend bool operator==(const ChangeCursor&, const ChangeCursor&) = default;
};

// Told that there may be changes to read. Adapters to event loops derive from it.
class ChangeListener {
 public:
  // Called under a partition's lock, by the thread that has brought the change about: set a flag,
  // wake a loop, and return. A call on an engine from there does nothing (see Engine). Throwing
  // ends the program.
  virtual void MayHaveChanges() noexcept = 0;

 protected:
  ~ChangeListener() = default;
};

// How a read of changes went.
enum class ReadChanges : uint8_t {
  kAll,     // there are no more for now
  kMore,    // there may be more
  kResync,  // changes behind the cursor are gone, or it is of another live set: the cursor now
            // stands at the first change that there is. Watch again to know what is live
  kClosed,  // the live set is closed, or the engine is gone
};

}  // namespace pleat::inline v0_1
