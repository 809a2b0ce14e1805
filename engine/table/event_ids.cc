#include "engine/table/event_ids.h"

namespace pleat::inline v0_1 {
namespace {

// So that ids go as fast as new ones come.
constexpr size_t kForgottenPerId = 4;

}  // namespace

// Each half is a hash of the id with a key of its own, begun with a hash of the event's key: so the
// bytes of neither can make up for those of the other.
EventIds::Name EventIds::NameOf(const PackedKey& key, std::string_view id) const noexcept {
  const PackedKey packed(id);
  return {packed.HashWith(name_key_, key.HashWith(name_key_)),
          packed.HashWith(other_name_key_, key.HashWith(other_name_key_))};
}

void EventIds::Remember(const Name& name, uint64_t word, EngineTime at, EngineTime now) {
  Budget budget(kForgottenPerId);
  ids_.Expire(now, budget);
  ids_.PutNew(name, word, SaturatingAdd(at, remembered_for_));
}

}  // namespace pleat::inline v0_1
