// PresenceOptions: how long a connection is live without a heartbeat, and the limits. Also the
// answers of a Presence, and what it counts: in a series, and as PresenceLedger (where every call,
// user and connection ended up) and PresenceSizes (how much there is now) altogether.
//
//   pleat::Presence<> readers(*engine, "readers", {.ttl = 75s, .grace = 30s});
//   const pleat::PresenceLedger ledger = readers.ledger();
//   std::cout << ledger.users << " readers; " << ledger.left + ledger.timed_out << " have left\n";
//
// Opening a Presence checks the ranges below. An option out of range is answered kInvalidArgument,
// and the message names the option, such as "limits.max_users". "At least one per partition" is
// said of a limit that holds for the whole Presence, of which each partition gets an equal share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// At each limit an Enter() is refused and changes nothing. Nobody is dropped to make room: who is
// dropped would come back with the next heartbeat.
struct PresenceLimits {
  // The most connections of one user, live or overdue. Range: at least 1. Default: 1,000.
  size_t max_per_user = 1'000;

  // The most users of one series, here or away. Range: at least 1. Default: 50 million.
  size_t max_per_series = 50'000'000;

  // The most series with users. Range: at least one per partition. Default: 10 million.
  size_t max_series = 10'000'000;

  // The most users, here or away. Range: at least one per partition. Default: 50 million.
  size_t max_users = 50'000'000;

  // The most connections, live or overdue.
  // Range: at least one per partition. Default: 50 million.
  size_t max_connections = 50'000'000;

  // The most bytes of users, metadata, connections and series. Bytes are counted, not measured.
  // Range: at least one per partition. Default: 4 GiB.
  size_t max_bytes = size_t{4} << 30;
};

struct PresenceOptions {
  // How long a connection is live after its stamp; kForever: until it leaves. Clients beat every
  // half of this. Range: above zero. Default: 75 s, because hidden tabs of browsers beat once a
  // minute.
  Duration ttl{75'000'000};

  // How long after that a user is away and may come back without having left.
  // Range: zero or more; zero: nobody is away. Default: 30 s.
  Duration grace{30'000'000};

  // How many of the latest changes watchers can still read. The memory is used only from the first
  // Watch() on. Range: at least one per partition. Default: 1 million.
  size_t max_changes = 1'000'000;

  PresenceLimits limits = {};
};

// The answer to a call, and how to react. Programs may store these values: they never change.
enum class PresenceOutcome : uint8_t {
  // Enter(): the user was not there, and is a new one.
  kJoined = 0,
  // Beat(), Update(): the stamp of the connection is newer now.
  kRefreshed = 1,
  // Update(): the metadata is another one now.
  kUpdated = 2,
  // Beat(), Update(): the connection has this stamp or a newer one, and the user this metadata.
  kUnchanged = 3,
  // Enter(), Beat(), Update(): the user was away, and is here again.
  kReturned = 4,
  // Enter(): one more connection of a user who is here.
  kConnected = 5,
  // The call's own deadline, at + TTL, has passed.
  kLate = 6,
  // The call is further ahead of the engine's time than the future limit: likely its clock is
  // wrong.
  kFuture = 7,
  // Another limit was reached, or the series, user or connection is longer than 64 KiB. But for the
  // latter, the same Enter() may be accepted once others have left.
  kOverLimit = 8,
  // The engine was stopped or is gone, or the presence was closed. Not counted.
  kStopped = 9,
  // Called from inside a function of the caller's. Not counted. Call again from outside.
  kWouldDeadlock = 10,
  // Enter(): the connection was there, and has a new generation.
  kReconnected = 11,
  // Leave(): the connection has ended; the user has others.
  kDisconnected = 12,
  // Enter(): the user has max_per_user connections, or the series max_per_series users.
  kFull = 13,
  // Leave(): the connection has ended, and with it the user has left.
  kLeft = 14,
  // Beat(), Update(), Leave(): there is no such connection; it has left, or was silent for too
  // long. A client that is still there calls Enter().
  kUnknown = 15,
  // Beat(), Update(), Leave(): the connection has another generation, as a rule because an Enter()
  // came since. A client stops: somebody else goes by this connection now.
  kSuperseded = 16,
};

// The answer of Enter().
struct Entered {
  PresenceOutcome outcome;

  // What Beat(), Update() and Leave() of this connection name. Zero if it did not enter.
  uint64_t generation = 0;

  friend bool operator==(const Entered&, const Entered&) = default;
};

// Who is in a series.
struct PresenceCounts {
  size_t here = 0;         // users with a live connection
  size_t away = 0;         // users whose heartbeat is overdue, but for less than the grace
  size_t connections = 0;  // live ones

  // Those who have not left: the `count` of changes.
  size_t users() const noexcept { return here + away; }

  friend bool operator==(const PresenceCounts&, const PresenceCounts&) = default;
};

// Exact counts since the presence was opened, summed over the partitions, each read at one instant.
// Balances() says what always holds.
struct PLEAT_EXPORT PresenceLedger {
  uint64_t events = 0;  // all calls that were answered as follows
  uint64_t joined = 0;
  uint64_t returned = 0;
  uint64_t connected = 0;
  uint64_t reconnected = 0;
  uint64_t refreshed = 0;
  uint64_t updated = 0;
  uint64_t unchanged = 0;
  uint64_t disconnected = 0;
  uint64_t left = 0;
  uint64_t unknown = 0;
  uint64_t superseded = 0;
  uint64_t late = 0;
  uint64_t future = 0;
  uint64_t over_limit = 0;  // kFull and kOverLimit

  uint64_t timed_out = 0;    // users whom time ended
  uint64_t went_away = 0;    // how often a user became away; not of whom SetOptions() brought back
  uint64_t left_away = 0;    // those of `left` who were away
  uint64_t opened = 0;       // connections that were added
  uint64_t expired = 0;      // and that time ended
  uint64_t users = 0;        // here or away now; what is due counts until time visits it
  uint64_t away = 0;         // of these
  uint64_t connections = 0;  // live or overdue now; likewise
  uint64_t changes = 0;      // ever
  std::array<uint64_t, kCauses> causes{};  // of `changes`, by IndexOf(cause)

  PresenceLedger& operator+=(const PresenceLedger& other) noexcept;
  bool Balances() const noexcept {
    return events == joined + returned + connected + reconnected + refreshed + updated + unchanged +
                         disconnected + left + unknown + superseded + late + future + over_limit &&
           joined == left + timed_out + users &&
           went_away == returned + left_away + timed_out + away &&
           opened == disconnected + left + expired + connections &&
           changes == std::accumulate(causes.begin(), causes.end(), uint64_t{0});
  }

  friend bool operator==(const PresenceLedger&, const PresenceLedger&) = default;
};

// How much a presence holds now.
struct PLEAT_EXPORT PresenceSizes {
  size_t series = 0;
  size_t users = 0;        // here or away
  size_t connections = 0;  // live or overdue
  size_t bytes = 0;        // counted against max_bytes

  PresenceSizes& operator+=(const PresenceSizes& other) noexcept;

  friend bool operator==(const PresenceSizes&, const PresenceSizes&) = default;
};

}  // namespace pleat::inline v0_1
