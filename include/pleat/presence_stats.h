// PresenceLedger and PresenceSizes: where every call, user and connection of a Presence ended up,
// and how much it holds now.
//
//   const pleat::PresenceLedger ledger = readers.ledger();
//   std::cout << ledger.users << " readers; " << ledger.left + ledger.timed_out << " have left\n";
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <pleat/change.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

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
  uint64_t went_away = 0;    // how often a user became away
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
