// A Memory keeps a book's notes about events and groups that are gone:
//
//   ids        an event's id and a hash of its content, until an event of that stamp would be late:
//              tells a retry from a conflict
//   emissions  a key's last emission, for a correction to name
//   pauses     a closed group's notes for the learner, until the ceiling of the quiet period
//
// All are names of 128 bits in an ExpiringMap. Ids count in full against the folder's limit on
// bytes. The other two never take more than an eighth of the limit: notes about groups must not
// keep out events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/fold/quiet_learner.h"
#include "engine/table/event_ids.h"
#include "engine/table/expiring_map.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

class Memory {
 public:
  // The bytes of one name.
  static constexpr size_t kNameBytes = ExpiringMap::kNameBytes;

  // The learner's note about a key, and when the note is forgotten.
  struct Pause {
    QuietLearner::Memo memo;
    EngineTime expires;
  };

  // Whether a folder with these options has anything to remember.
  static bool IsNeeded(const FolderOptions& options, const StateOps& ops) noexcept {
    return ops.has_ids || options.late.on_late == OnLate::kCorrect ||
           options.quiet_floor > Duration{0};
  }

  // `options` holds this partition's share of the limits. `pool` and `name_key` outlive the memory.
  Memory(Pages& pool, const FolderOptions& options, const HashKey& name_key);

  // Ids of events, with a hash of their content.
  EventIds& ids() noexcept { return ids_; }

  // --- Emissions of keys. `used`: the other bytes that count against the limit.

  std::optional<uint64_t> LastEmissionOf(const PackedKey& key, EngineTime now) const;
  void RememberEmission(const PackedKey& key, uint64_t generation, EngineTime ripe, EngineTime now,
                        size_t used);

  // --- Notes for the learner

  // The note about the key, unless that is over by `edge`. Forgets the note in any case.
  std::optional<Pause> TakePause(const PackedKey& key, EngineTime edge);
  void RememberPause(const PackedKey& key, QuietLearner::Memo memo, EngineTime expires,
                     EngineTime now, size_t used);

  // --- All together

  // From now on other limits hold; an emission that is remembered already stays so for as long as it
  // was to be. REQUIRES: with ids, the same allowed lateness and
  // deduplication window.
  void SetOptions(const FolderOptions& options);

  // See Book. `knows(memo)`: whether the learner knows the class of a memo.
  void BeginSave(Copies& copies);
  bool SaveNext(FieldWriter& out);
  void EndSave() noexcept;
  void Load(FieldReader& in, absl::FunctionRef<bool(QuietLearner::Memo)> knows);

  // Forgets names that are over by `now`, looking at no more than `budget` of them, and lowers
  // `budget`. Returns whether that was all.
  bool Forget(EngineTime now, Budget& budget);
  // From this instant on Forget() forgets everything; kNever if there is nothing to forget.
  EngineTime forgets_all_at() const noexcept {
    return std::min({ids_.forgets_all_at(), emissions_.forgets_all_at(), pauses_.forgets_all_at()});
  }
  size_t bytes() const noexcept { return ids_.bytes() + bytes_of_groups(); }
  // Whether the eighth for groups could become full if `open` groups closed, each of which leaves a
  // name in up to two maps.
  bool MayFill(size_t open) const noexcept {
    return bytes_of_groups() + 2 * kNameBytes * open > max_bytes_ / 8;
  }

 private:
  using Name = ExpiringMap::Name;

  Name NameOf(const PackedKey& key) const noexcept { return ids_.NameOf(key); }
  size_t bytes_of_groups() const noexcept { return emissions_.bytes() + pauses_.bytes(); }
  bool HasRoom(size_t used) const noexcept;
  static QuietLearner::Memo MemoIn(uint64_t word) noexcept {
    return {.run = static_cast<uint16_t>(word), .row = static_cast<uint16_t>(word >> 16)};
  }

  size_t max_bytes_;
  bool count_ready_;
  Duration emissions_for_;
  EventIds ids_;
  ExpiringMap emissions_;
  ExpiringMap pauses_;
};

}  // namespace pleat::inline v0_1
