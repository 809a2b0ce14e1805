// A TableSaving saves the entries of one table of a book as they were at the cut, while they change
// (see PlaceImages), and numbers those that it has saved: 0, 1, 2 and so on. Another table, which is
// saved behind, names an entry of this one by that number. Places would not do: a table that was
// loaded has its entries at other places, in the same order.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/table/place_images.h"
#include "engine/window/stored_keys.h"

namespace pleat::inline v0_1 {

// How many of the places that were added come before one, in 16 bytes for 64 places.
class PlaceRanks {
 public:
  // All places are below `end`.
  explicit PlaceRanks(uint32_t end) { strips_.reserve(end / kStrip + 1); }

  // REQUIRES: the place is behind all that were added.
  void Add(uint32_t place) {
    while (strips_.size() <= place / kStrip) strips_.push_back({.places = 0, .before = count_});
    strips_.back().places |= uint64_t{1} << place % kStrip;
    ++count_;
  }
  // REQUIRES: the place was added.
  uint32_t Of(uint32_t place) const noexcept {
    const Strip& strip = strips_[place / kStrip];
    const uint64_t below = (uint64_t{1} << place % kStrip) - 1;
    PLEAT_DCHECK((strip.places >> place % kStrip & 1) != 0);
    return strip.before + static_cast<uint32_t>(std::popcount(strip.places & below));
  }

 private:
  static constexpr uint32_t kStrip = 64;
  struct Strip {
    uint64_t places;  // a bit for each
    uint32_t before;  // in the strips before
  };

  uint32_t count_ = 0;
  std::vector<Strip> strips_;
};

class TableSaving {
 public:
  static constexpr uint32_t kNoEntry = UINT32_MAX;

  // All places in use now are below `end`. `keys`: those of members are written by these.
  TableSaving(uint32_t end, const StoredKeys& keys) : images_(end), ranks_(end), keys_(keys) {}

  const StoredKeys& keys() const noexcept { return keys_; }
  // The numbers of the entries that were saved.
  const PlaceRanks& ranks() const noexcept { return ranks_; }

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
  // Before an entry begins at a place that is free.
  [[gnu::cold]] void KeepNothing(uint32_t place) {
    if (!Has(place)) images_.Keep(place, [](FieldWriter&) {});
  }

  bool at_end() const noexcept { return images_.at_end(); }
  // Writes the next strip, in the order of places. `owner_of(place)` is asked for places that are as
  // they were: kNoEntry where there is none. `owners` knows the number of each owner, which comes
  // before the fields; null: entries have none. REQUIRES: !at_end().
  template <class OwnerOf, class Save>
  void SaveStrip(FieldWriter& out, const PlaceRanks* owners, const OwnerOf& owner_of,
                 const Save& save) {
    const auto begin = [&](uint32_t place, uint32_t owner) {
      ranks_.Add(place);
      if (owners != nullptr) out.PutNumber(owners->Of(owner));
    };
    images_.SaveStrip(
        [&](uint32_t place) {
          const uint32_t owner = owner_of(place);
          if (owner == kNoEntry) return;
          begin(place, owner);
          save(place);
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
  PlaceRanks ranks_;
  const StoredKeys keys_;
};

}  // namespace pleat::inline v0_1
