// A SeriesLoader makes the series of an empty SeriesTable from what SeriesTable::SaveNext() wrote, and
// the order of their members, which come behind all series, in the order of their places:
//
//   LoadSeries() ...  BeginMembers()  Add(member) ...  End()
//
// Where the reading has failed, the members and series are there, but in no order: they may only be
// destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/hash.h"
#include "engine/live/member_groups.h"
#include "engine/live/series_table.h"
#include "engine/live/stored_keys.h"

namespace pleat::inline v0_1 {

class SeriesLoader {
 public:
  // `table`, which has no series, outlives the loader.
  explicit SeriesLoader(SeriesTable& table) : table_(table) {}

  // Reads the next series, and opens it.
  void LoadSeries(FieldReader& in, const HashKey& hash_key, const StoredKeys& keys);
  // How many there are, and the number that the table has given to each.
  size_t size() const noexcept { return loaded_.size(); }
  uint32_t number(size_t i) const noexcept { return loaded_[i].number; }
  // Whether the series has the TTL of the live set, and none of its members a TTL; and whether none
  // of them is retained.
  bool IsOfLiveSet(size_t i) const noexcept;
  bool RetainsNone(size_t i) const noexcept { return loaded_[i].retained == 0; }
  // So many members follow.
  void BeginMembers(FieldReader& in, uint64_t members);
  // The number that the table has given to the series that a member names.
  uint32_t ReadSeries(FieldReader& in, size_t& i) const;
  // A member of the series `i`, with its TTL.
  void Add(FieldReader& in, size_t i, uint32_t member);
  // All members are there. `seen`: retained members have ended by then.
  void End(FieldReader& in, EngineTime seen);

 private:
  // What the record of a series says of its members.
  struct Loaded {
    uint32_t number = 0;
    uint32_t plain = 0;
    uint32_t own = 0;
    uint32_t retained = 0;
    bool plain_is_larger = false;
    bool own_is_larger = false;
  };

  // Two groups for each series: `plain` and `own`.
  static size_t GroupOf(size_t i, bool own) noexcept { return 2 * i + (own ? 1 : 0); }
  static uint32_t LoadSize(FieldReader& in);
  void MakePlain(FieldReader& in, size_t i, EngineTime seen);
  void MakeOwn(FieldReader& in, size_t i);

  SeriesTable& table_;
  std::vector<Loaded> loaded_;
  MemberGroups groups_;
  std::vector<uint32_t> members_;  // of the sequence that is being made
};

}  // namespace pleat::inline v0_1
