// What was counted of the lines that a collection has taken, and of the stamps in them.
//
//   const pleat::LineCounts lines = folder->counts();
//   std::cout << lines.invalid << " of " << lines.lines << " lines are invalid";
#pragma once

#include <cstdint>
#include <string>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// lines = events + invalid + excluded. The ledger of a collection counts groups.
struct LineCounts {
  uint64_t lines = 0;   // blank ones not counted
  uint64_t events = 0;  // usable, late and refused ones included
  uint64_t invalid = 0;
  uint64_t excluded = 0;    // lines that EventSpec::where, from or to leave out
  uint64_t mismatched = 0;  // values that a reducer could not take
  uint64_t control = 0;     // events that flushed or cancelled

  friend bool operator==(const LineCounts&, const LineCounts&) = default;
};

// The first value that a reducer could not take since the collection was opened, of late and
// refused events as well: one of `type` at `path`, for the merge `name` by `reducer`.
struct MergeMismatch {
  std::string name;
  std::string reducer;  // "sum"
  std::string path;
  std::string type;  // "text", "numbers", "booleans", "arrays", "objects"

  // Whether all were of this merge and of this type.
  bool only = false;

  // If all were numbers in quotes and should be numbers: a filter of jq that makes them so, such as
  // `(.amount | strings) |= tonumber`. Else empty, as for a path with names that jq has in quotes.
  std::string filter;

  friend bool operator==(const MergeMismatch&, const MergeMismatch&) = default;
};

// The stamps of the events that LineCounts counts, in the order in which they came.
struct StampCounts {
  // The oldest and the newest of all. There are none if the newest is the earlier one.
  EngineTime oldest = kEndOfTime;
  EngineTime newest = kBeginningOfTime;

  // Events older than one before them, and the furthest distance between the two.
  uint64_t out_of_order = 0;
  Duration most_behind{0};

  // Those among them for which the newest one before was of an earlier input; see StartInput().
  uint64_t behind_input = 0;

  // Whether a time stated no zone, and the spec states none either, so that it was read as UTC.
  // Snapshots do not keep this.
  bool assumed_utc = false;

  friend bool operator==(const StampCounts&, const StampCounts&) = default;
};

}  // namespace pleat::inline v0_1
