// A TableSaving saves the entries of one table of a book as they were at the cut, while they change
// (see PlaceImages), and numbers those that it has saved: 0, 1, 2 and so on. Another table, which is
// saved behind, names an entry of this one by that number. Places would not do: a table that was
// loaded has its entries at other places, in the same order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include <pleat/stored.h>

#include "engine/live/stored_keys.h"
#include "engine/table/place_images.h"
#include "engine/table/place_numbers.h"

namespace pleat::inline v0_1 {

class TableSaving {
 public:
  static constexpr uint32_t kNoEntry = UINT32_MAX;

  // All places in use now are below `end`. `keys`: those of members are written by these.
  TableSaving(uint32_t end, const StoredKeys& keys, Copies& copies)
      : images_(end, copies), keys_(keys) {}

  const StoredKeys& keys() const noexcept { return keys_; }
  // The numbers of the entries that were saved.
  const PlaceNumbers& numbers() const noexcept { return numbers_; }

  // Whether the entry at this place may change: it was saved, or there is nothing to save.
  bool Has(uint32_t place) const noexcept { return images_.Has(place); }
  // Before the entry changes: keeps its fields, `save(out)`, and the place of its owner in another
  // table. REQUIRES: !Has(place).
  template <class Save>
  void Keep(uint32_t place, uint32_t owner, const Save& save) {
    images_.Keep(place, [&](FieldWriter& out) {
      out.PutFields({reinterpret_cast<const char*>(&owner), sizeof(owner)});
      save(out);
    });
  }
  void KeepNothing(uint32_t place) { images_.KeepNothing(place); }

  bool at_end() const noexcept { return images_.at_end(); }
  // Writes the next strip, in the order of places. `owner_of(place)` is asked for places that are as
  // they were: kNoEntry where there is none. `owners` knows the number of each owner, which comes
  // before the fields; null: entries have none. REQUIRES: !at_end().
  template <class OwnerOf, class Save>
  void SaveStrip(FieldWriter& out, const PlaceNumbers* owners, const OwnerOf& owner_of,
                 const Save& save) {
    const auto begin = [&](uint32_t place, uint32_t owner) {
      numbers_.Add(place);
      if (owners != nullptr) out.PutNumber(owners->Before(owner));
    };
    images_.TakeStrip(
        [&](uint32_t place) {
          const uint32_t owner = owner_of(place);
          if (owner != kNoEntry) {
            begin(place, owner);
            save(place);
          }
          return true;
        },
        [&](uint32_t place, std::string_view image) {
          uint32_t owner;
          std::memcpy(&owner, image.data(), sizeof(owner));
          begin(place, owner);
          out.PutFields(image.substr(sizeof(owner)));
        });
  }

 private:
  PlaceImages images_;
  PlaceNumbers numbers_;
  const StoredKeys keys_;
};

}  // namespace pleat::inline v0_1
