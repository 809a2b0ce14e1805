// What an outbox and its leases ask of the book that owns them, about entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <absl/functional/function_ref.h>
#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/outbox/ready.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

constexpr size_t kGivenMax = 16;  // emissions that go out at a time

// The entries of the book that owns an outbox.
class OutboxEntries {
 public:
  // Orders entries that one call made ready together, also of different books.
  struct Rank {
    EngineTime due;
    uint64_t position;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };

  // A key, which stays where it is for as long as its entry lives, and the low half of the keyed
  // hash.
  struct HashedKey {
    const PackedKey& key;
    uint32_t hash;
  };

  virtual HashedKey KeyOf(uint32_t entry) const noexcept = 0;
  virtual Rank RankOf(uint32_t entry) const noexcept = 0;
  virtual void Prefetch(uint32_t entry) const noexcept = 0;

  // The emission as users see it. The state stays where it is; a state that is made for this lasts
  // until kGivenMax others are shown.
  virtual ClosedGroup Show(const Ready& ready) const noexcept = 0;
  // The same for good: the caller lets a Take move the state out and destroy it, and then calls
  // FreeGiven(), which frees the rest.
  virtual ClosedGroup GiveAway(const Ready& ready) = 0;
  virtual void FreeGiven(uint32_t entry) noexcept = 0;
  // The same for GiveRun(), which finds an entry once: a book whose emissions go out fast has more to
  // say of an entry than its number.
  static uint32_t FindGiven(const Ready& ready) noexcept { return ready.entry; }
  void PrefetchFound(uint32_t entry) const noexcept { Prefetch(entry); }
  void NoteGiven(std::span<const Ready>) {}
  void ShowGiven(const Ready& ready, uint32_t, ClosedGroup* place) {
    ::new (place) ClosedGroup(GiveAway(ready));
  }
  void FreeGiven(std::span<const uint32_t> run) noexcept {
    for (const uint32_t entry : run) FreeGiven(entry);
  }
  // Destroys the state and frees the entry.
  virtual void Discard(const Ready& ready) noexcept = 0;

  // Writes an entry that waits in the outbox, and reads one. Reading gives the entry's number; where
  // the bytes are wrong, `!in.ok()`, and the number means nothing.
  virtual void SaveEntry(FieldWriter& out, uint32_t entry) const = 0;
  virtual uint32_t LoadEntry(FieldReader& in) = 0;

  // The same for an emission with its entry.
  void Save(FieldWriter& out, const Ready& ready) const;
  Ready Load(FieldReader& in);

 protected:
  ~OutboxEntries() = default;
};

}  // namespace pleat::inline v0_1
