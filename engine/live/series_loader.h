// A SeriesLoader makes the series of an empty SeriesTable from what SeriesTable::SaveNext() wrote, and
// the order of their members, which come behind all series, in the order of their places:
//
//   LoadSeries() ...  BeginMembers()  Add(series, member) ...  End()
//
// What is known of a series lies in the series, and members that wait for their order are chained by
// their own places: a series takes 4 bytes, and so do members while they are put in order.
//
// Where the reading has failed, the members and series are there, but in no order: they may only be
// destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/hash.h"
#include "engine/live/sequence_sort.h"
#include "engine/live/series_table.h"
#include "engine/live/stored_keys.h"

namespace pleat::inline v0_1 {

class SeriesLoader {
 public:
  // `table`, which has no series, outlives the loader.
  explicit SeriesLoader(SeriesTable& table) : table_(table) {}

  // Reads the next series, and opens it. Returns its number; kNone if that cannot be.
  uint32_t LoadSeries(FieldReader& in, const HashKey& hash_key, const StoredKeys& keys);
  // The numbers of all of them, in the order in which they were saved.
  const std::deque<uint32_t>& numbers() const noexcept { return numbers_; }
  // Whether the series has the TTL of the live set, and none of its members a TTL.
  bool IsOfLiveSet(uint32_t series) const noexcept;
  // So many members follow.
  void BeginMembers(FieldReader& in, uint64_t members);
  // The number that the table has given to the series that a member names.
  uint32_t ReadSeries(FieldReader& in) const;
  // A member of the series, with its TTL.
  void Add(FieldReader& in, uint32_t series, uint32_t member);
  // All members are there. `seen`: retained members have ended by then.
  void End(FieldReader& in, EngineTime seen);

 private:
  static uint32_t LoadSize(FieldReader& in);
  void LoadOrders(FieldReader& in, const StoredKeys& keys, Series& series);
  void OrderPlain(FieldReader& in, Series& series, std::span<uint32_t> members, EngineTime seen);
  void OrderOwn(FieldReader& in, Series& series);

  SeriesTable& table_;
  std::deque<uint32_t> numbers_;  // which does not move while it grows
  uint64_t awaited_ = 0;          // members
  SequenceSort sort_;
  std::vector<uint32_t> members_;  // of the sequences that are put in order
  std::vector<uint32_t> own_;      // the same of members with TTLs
};

}  // namespace pleat::inline v0_1
