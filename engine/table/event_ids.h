// EventIds remembers which events a book has taken: by key and id, each with a word that stands for
// the content of the event. So a retry is told from a conflict.
//
// An id is remembered as long as the stamp of its event is not older than the book's time less a
// length that the owner chooses. Names in an ExpiringMap stand for the bytes of key and id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <pleat/time.h>

#include "engine/base/budget.h"
#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/table/expiring_map.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

class EventIds {
 public:
  using Name = ExpiringMap::Name;

  // What an id costs.
  static constexpr size_t kIdBytes = ExpiringMap::kNameBytes;

  // `pool` and `name_key` outlive the ids.
  EventIds(Pages& pool, const HashKey& name_key, Duration remembered_for)
      : name_key_(name_key),
        other_name_key_(MakeHashKey(name_key[1], name_key[2])),
        remembered_for_(remembered_for),
        ids_(pool, remembered_for) {}

  // The name of the event with this key and id.
  Name NameOf(const PackedKey& key, std::string_view id) const noexcept;

  // Brings what Find() and Remember() look at first on its way to the cache.
  void Prefetch(const Name& name) const noexcept { ids_.PrefetchIndex(name); }
  // The word of the event of this name, if remembered at `now`. O(1).
  std::optional<uint64_t> Find(const Name& name, EngineTime now) const {
    const ExpiringMap::Known* const known = ids_.Find(name, now);
    if (known == nullptr) return std::nullopt;
    return known->word;
  }
  // Remembers an event stamped `at`, and forgets a few that are over. O(1). REQUIRES: Find(name, now)
  // finds nothing.
  void Remember(const Name& name, uint64_t word, EngineTime at, EngineTime now);
  // Forgets ids that are over by `now`, looking at no more than `budget` of them, and lowers
  // `budget`. Returns whether that was all.
  bool Forget(EngineTime now, Budget& budget) { return ids_.Expire(now, budget); }
  // From this instant on Forget() forgets everything; kNever if there is nothing to forget.
  EngineTime forgets_all_at() const noexcept { return ids_.forgets_all_at(); }

  size_t size() const noexcept { return ids_.size(); }
  size_t bytes() const noexcept { return ids_.bytes(); }

  // The name of a key alone, for other notes about it.
  Name NameOf(const PackedKey& key) const noexcept {
    return {key.HashWith(name_key_), key.HashWith(other_name_key_)};
  }

  // As ExpiringMap's. The names mean something as long as the name key is the same.
  void Load(FieldReader& in) { ids_.Load(in); }
  void BeginSave(Copies& copies) { ids_.BeginSave(copies); }
  bool SaveNext(FieldWriter& out) { return ids_.SaveNext(out); }
  void EndSave() noexcept { ids_.EndSave(); }

  // Ends the process unless all invariants hold; for tests.
  void CheckWhole() const { ids_.CheckWhole(); }

 private:
  const HashKey& name_key_;
  const HashKey other_name_key_;  // of the second half of names
  const Duration remembered_for_;
  ExpiringMap ids_;
};

}  // namespace pleat::inline v0_1
