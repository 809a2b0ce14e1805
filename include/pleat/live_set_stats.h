// LiveSetLedger and LiveSetSizes: where every event and every member of a live set ended up, and
// how much it holds now.
//
//   const pleat::LiveSetLedger ledger = readers.ledger();
//   std::cout << ledger.live << " readers; " << ledger.expired << " have gone\n";
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <pleat/change.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

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
