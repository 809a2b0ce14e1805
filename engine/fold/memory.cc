#include "engine/fold/memory.h"

namespace pleat::inline v0_1 {
namespace {

// So that names go as fast as new ones come.
constexpr size_t kForgottenPerName = 4;

// An emission is remembered ten times as long as an event can be in time and its group open: late
// events trail behind by some such lengths, and nobody should have to name one more limit.
Duration EmissionsFor(const FolderOptions& options) {
  const EngineTime within =
      SaturatingAdd(SaturatingAdd(EngineTime{}, options.late.accept_limit), options.quiet_period);
  const Duration once = within - EngineTime{};
  return once > (kEndOfTime - kBeginningOfTime) / 10 ? kForever : 10 * once;
}

}  // namespace

Memory::Memory(PagePool& pool, const FolderOptions& options, const HashKey& hash_key)
    : hash_key_(hash_key),
      other_hash_key_(MakeHashKey(hash_key[1], hash_key[2])),
      max_bytes_(options.limits.max_bytes),
      count_ready_(options.limits.count_ready),
      ids_for_(options.late.accept_limit),
      emissions_for_(EmissionsFor(options)),
      ids_(pool, options.late.accept_limit),
      emissions_(pool, options.late.accept_limit),
      pauses_(pool, options.quiet_period) {}

Memory::Name Memory::NameOf(const PackedKey& key) const noexcept {
  return {key.HashWith(hash_key_), key.HashWith(other_hash_key_)};
}

Memory::Name Memory::NameOf(const PackedKey& key, std::string_view id) const noexcept {
  const PackedKey packed(id);
  const auto half = [&](const HashKey& hash_key) {
    return KeyedHash(key.HashWith(hash_key), packed.HashWith(hash_key), id.size(), hash_key);
  };
  return {half(hash_key_), half(other_hash_key_)};
}

std::optional<uint64_t> Memory::ContentOf(const PackedKey& key, std::string_view id,
                                          EngineTime now) const {
  const ExpiringMap::Known* const known = ids_.Find(NameOf(key, id), now);
  if (known == nullptr) return std::nullopt;
  return known->word;
}

void Memory::RememberId(const PackedKey& key, std::string_view id, uint64_t content, EngineTime at,
                        EngineTime now) {
  Budget budget(kForgottenPerName);
  ids_.Expire(now, budget);
  ids_.Put(NameOf(key, id), content, SaturatingAdd(at, ids_for_));
}

std::optional<uint64_t> Memory::LastEmissionOf(const PackedKey& key, EngineTime now) const {
  const ExpiringMap::Known* const known = emissions_.Find(NameOf(key), now);
  if (known == nullptr) return std::nullopt;
  return known->word;
}

void Memory::RememberEmission(const PackedKey& key, uint64_t generation, EngineTime ripe,
                              EngineTime now, size_t used) {
  if (!HasRoom(used)) return;
  Budget budget(kForgottenPerName);
  emissions_.Expire(now, budget);
  emissions_.Put(NameOf(key), generation, SaturatingAdd(ripe, emissions_for_));
}

// A pause that is over at `edge` goes as well: a later event of an earlier edge must not take
// the pause for that of its own group.
std::optional<Memory::Pause> Memory::TakePause(const PackedKey& key, EngineTime edge) {
  const Name name = NameOf(key);
  std::optional<Pause> pause;
  if (const ExpiringMap::Known* const known = pauses_.Find(name, edge)) {
    pause = {.memo = {.run = static_cast<uint16_t>(known->word),
                      .row = static_cast<uint16_t>(known->word >> 16)},
             .expires = known->expires};
  }
  pauses_.Erase(name);
  return pause;
}

void Memory::RememberPause(const PackedKey& key, QuietLearner::Memo memo, EngineTime expires,
                           EngineTime now, size_t used) {
  if (!HasRoom(used)) return;
  Budget budget(kForgottenPerName);
  pauses_.Expire(now, budget);
  pauses_.Put(NameOf(key), uint64_t{memo.row} << 16 | memo.run, expires);
}

bool Memory::Forget(EngineTime now, Budget& budget) {
  return ids_.Expire(now, budget) && emissions_.Expire(now, budget) && pauses_.Expire(now, budget);
}

bool Memory::HasRoom(size_t used) const noexcept {
  if (bytes_of_groups() + kNameBytes > max_bytes_ / 8) return false;
  return !count_ready_ || used + bytes() + kNameBytes <= max_bytes_;
}

}  // namespace pleat::inline v0_1
