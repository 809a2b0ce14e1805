#include "engine/table/event_ids.h"

namespace pleat::inline v0_1 {
namespace {

// So that ids go as fast as new ones come.
constexpr size_t kForgottenPerId = 4;

}  // namespace

ExpiringMap::Name EventIds::NameOf(const PackedKey& key, std::string_view id) const noexcept {
  const PackedKey packed(id);
  const auto half = [&](const HashKey& hash_key) {
    return KeyedHash(key.HashWith(hash_key), packed.HashWith(hash_key), id.size(), hash_key);
  };
  return {half(hash_key_), half(other_hash_key_)};
}

std::optional<uint64_t> EventIds::Find(const PackedKey& key, std::string_view id,
                                       EngineTime now) const {
  const ExpiringMap::Known* const known = ids_.Find(NameOf(key, id), now);
  if (known == nullptr) return std::nullopt;
  return known->word;
}

void EventIds::Remember(const PackedKey& key, std::string_view id, uint64_t word, EngineTime at,
                        EngineTime now) {
  Budget budget(kForgottenPerId);
  ids_.Expire(now, budget);
  ids_.Put(NameOf(key, id), word, SaturatingAdd(at, remembered_for_));
}

}  // namespace pleat::inline v0_1
