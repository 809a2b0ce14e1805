#include "engine/fold/memory.h"

namespace pleat::inline v0_1 {
namespace {

// So that names go as fast as new ones come.
constexpr size_t kForgottenPerName = 4;

// An emission is remembered ten times as long as an event can be in time and its group open: late
// events trail behind by some such lengths, and nobody should have to name one more limit.
Duration EmissionsFor(const FolderOptions& options) {
  const EngineTime within = SaturatingAdd(
      SaturatingAdd(EngineTime{}, options.late.allowed_lateness), options.quiet_period);
  const Duration once = within - EngineTime{};
  return once > (kEndOfTime - kBeginningOfTime) / 10 ? kForever : 10 * once;
}

}  // namespace

Memory::Memory(Pages& pool, const FolderOptions& options, const HashKey& name_key)
    : max_bytes_(options.limits.max_bytes),
      count_ready_(options.limits.count_ready),
      emissions_for_(EmissionsFor(options)),
      ids_(pool, name_key,
           std::max(options.late.allowed_lateness, options.late.deduplication_window)),
      emissions_(pool, options.late.allowed_lateness),
      pauses_(pool, options.quiet_period) {}

void Memory::SetOptions(const FolderOptions& options) {
  max_bytes_ = options.limits.max_bytes;
  count_ready_ = options.limits.count_ready;
  emissions_for_ = EmissionsFor(options);
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
    pause = {.memo = MemoIn(known->word), .expires = known->expires};
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
  return ids_.Forget(now, budget) && emissions_.Expire(now, budget) && pauses_.Expire(now, budget);
}

bool Memory::HasRoom(size_t used) const noexcept {
  if (bytes_of_groups() + kNameBytes > max_bytes_ / 8) return false;
  return !count_ready_ || used + bytes() + kNameBytes <= max_bytes_;
}

}  // namespace pleat::inline v0_1
