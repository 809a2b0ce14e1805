// Ghosts: when a key was seen last, of keys whose group has closed, so that the gap is known when
// one comes back.
//
// A ghost is 64 bits of keyed hash and a stamp. That two keys meet in the hash is as good as
// impossible (for a million of them 1 in 10^7), and would make one gap wrong. They are found
// through a KeyIndex, which neither rehashes nor stops the world, and stand in a line, the longest
// remembered first: when there are too many that one makes way. So forgetting does not depend on
// hashes. Memory grows and goes with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/key_index.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class Ghosts {
 public:
  // `pool` outlives the ghosts. At most `max` are remembered.
  Ghosts(Pages& pool, size_t max) : max_(max), entries_(pool, sizeof(Entry)), index_(pool) {}

  // The key with this hash was seen at `last`, latest. `now` is when that is noted.
  void Put(uint64_t hash, EngineTime last, EngineTime now);

  // The stamp of the key's last event, if remembered. Forgets the stamp: the key's group is open
  // now.
  std::optional<EngineTime> Take(uint64_t hash);

  // From now on so many are remembered; the others are forgotten.
  void SetMax(size_t max, EngineTime now);

  // Brings the line that Put() and Take() read first towards the cache. The low half of the hash
  // will do.
  void Prefetch(uint64_t hash) const noexcept { index_.Prefetch(hash); }

  size_t size() const noexcept { return index_.size(); }

  // See Book. REQUIRES for Load(): there is no ghost yet.
  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);

  // The bytes of a ghost.
  static constexpr size_t kBytes = 38;

  // Every gap shorter than this was seen: nothing was forgotten so soon. kForever: nothing was.
  Duration known_to() const noexcept { return known_to_; }

 private:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  struct Entry {
    uint64_t hash;
    EngineTime last;
    uint32_t older;  // in the line; kNone: none
    uint32_t newer;
  };
  static_assert(kBytes == sizeof(Entry) + 14);  // a share of the index

  const Entry& At(uint32_t number) const noexcept {
    return *reinterpret_cast<const Entry*>(entries_.hot(number));
  }
  Entry& At(uint32_t number) noexcept { return *reinterpret_cast<Entry*>(entries_.hot(number)); }
  uint32_t Find(uint64_t hash) const {
    return index_.Find(hash, [&](uint32_t number) { return At(number).hash == hash; });
  }
  uint32_t& NewerThan(uint32_t number) noexcept {
    return number == kNone ? oldest_ : At(number).newer;
  }
  uint32_t& OlderThan(uint32_t number) noexcept {
    return number == kNone ? newest_ : At(number).older;
  }
  void Erase(uint32_t number);
  void ForgetOldest(EngineTime now);
  void NoteForgotten(EngineTime stamp, EngineTime now) noexcept;

  size_t max_;
  Slab<NoCold, 12> entries_;
  KeyIndex index_;
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  Duration known_to_ = kForever;
};

}  // namespace pleat::inline v0_1
