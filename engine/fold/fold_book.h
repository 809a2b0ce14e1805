// A FoldBook keeps the groups of one folder inside one partition. It is a pure state machine: time,
// position and budget come in as arguments, and every method runs under the partition's lock.
//
// A group's life:
//
//               +-- folds --+
//               v           |
//   Open ---> indexed ------+---- due by `now` -------------------> ready ---> popped, freed
//               |  |  |                                               ^
//               |  |  +-- its key's next event is at or past due ---> overtaken (due comes later)
//               |  +----- max_events, Flush, CloseAll --------------> ended, in order
//               +-------- Cancel ----> freed
//
// An indexed group is found by its key. An overtaken one no longer is: a newer group of the key has
// begun; it waits in its slot until time reaches its deadline, so that it becomes ready in exact
// order. An ended one becomes ready at once, unless older deadlines have not been applied yet; then
// it waits among them.
//
// Invariants:
//   - A key has at most one indexed group.
//   - An indexed or overtaken group is armed exactly once, at or before its deadline.
//   - `ready_` is in emission order; see Before().
//   - Nothing here depends on the hash, except the speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include <pleat/any_folder.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

#include "engine/base/book.h"
#include "engine/table/deadlines.h"
#include "engine/table/key_index.h"
#include "engine/table/packed_key.h"
#include "engine/table/slab.h"

namespace pleat::inline v0 {

// One event on its way into a group.
struct FoldCall {
  std::string_view key;
  uint64_t hash;  // keyed
  const void* event;
  EngineTime at;
  EngineTime now;     // the engine's time; on event time it includes this event
  EngineTime edge;    // groups due by this make way: `now`, on arrival time max(now, at)
  uint64_t position;  // in the input
};

// A closed group that waits to be popped.
struct ReadyGroup {
  EngineTime ripe;
  uint64_t order;
  uint64_t generation;
  uint32_t number;
  bool by_event;
  Reason reason;
};
static_assert(sizeof(ReadyGroup) == 32);

class FoldBook final : public Book {
 public:
  // `options` with this partition's share of the limits; `ops` outlives the book.
  FoldBook(const FolderOptions& options, const StateOps& ops, uint32_t partition);
  ~FoldBook() override;

  FoldOutcome Fold(const FoldCall& call);

  // An event that never became a FoldCall.
  void CountFuture() noexcept { ++ledger_.events, ++ledger_.future; }
  void CountRefused() noexcept { ++ledger_.events, ++ledger_.refused; }

  bool Flush(std::string_view key, uint64_t hash, EngineTime now, uint64_t position);
  bool Cancel(std::string_view key, uint64_t hash, EngineTime now);
  bool Peek(std::string_view key, uint64_t hash, EngineTime now, AnyFolder::Look look) const;
  void CloseAll(EngineTime now, uint64_t position);

  bool CloseDue(EngineTime now, size_t& budget) override;
  EngineTime NextDue() const noexcept override { return deadlines_.NextDue(); }

  // The next emission, or null. Applies what is due by `now` only as far as needed to know it.
  const ReadyGroup* NextReady(EngineTime now);

  // Hands it over and forgets it. REQUIRES: NextReady() was not null.
  void PopReady(AnyFolder::Take take);

  // Whether `mine` comes before `theirs`, of another book, in the emission order: (ripe, by time before
  // by event, order), then (due, opening position) for those that one call closed together.
  bool Before(const ReadyGroup& mine, const FoldBook& other,
              const ReadyGroup& theirs) const noexcept;

  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  size_t stale_deadlines() const noexcept { return deadlines_.stale(); }

 private:
  // What every fold touches, followed by the user's state.
  struct Hot {
    uint32_t hash;   // low half of the keyed hash
    uint32_t count;  // low half of the number of events
    PackedKey key;
    EngineTime last;
    EngineTime opened;
  };
  static_assert(sizeof(Hot) == 48);

  // What opening and closing touch.
  struct Cold {
    EngineTime first;
    uint64_t position = kFree;  // of the opening event; kFree: nobody lives here
    uint32_t count_high = 0;
    bool indexed = false;
    bool ended = false;  // ready, or waiting to be, and no longer in need of its deadline
  };
  static constexpr uint64_t kFree = UINT64_MAX;

  Hot& hot(uint32_t number) const noexcept { return *reinterpret_cast<Hot*>(slab_.hot(number)); }
  void* state(uint32_t number) const noexcept { return slab_.hot(number) + state_offset_; }
  EntryRef RefOf(uint32_t number) const noexcept {
    return {number, static_cast<uint32_t>(slab_.cold(number).position)};
  }
  EngineTime DueOf(const Hot& group) const noexcept;
  Reason ReasonByTime(const Hot& group) const noexcept;
  Deadlines::Answer Ask(EntryRef ref) const noexcept;
  auto Asker() const noexcept {
    return [this](EntryRef ref) { return Ask(ref); };
  }

  uint32_t Find(std::string_view key, uint64_t hash) const;
  uint32_t FindOpen(std::string_view key, uint64_t hash, EngineTime now) const;
  void FoldInto(uint32_t number, const FoldCall& call);
  void ApplyEvent(uint32_t number, const void* event);
  void OpenGroup(const FoldCall& call);
  bool AtLimit(EngineTime now);
  bool CannotGrow() const noexcept;
  void Unindex(uint32_t number) noexcept;
  void CloseByEvent(uint32_t number, Reason reason, EngineTime now, uint64_t position, bool armed);
  void PushReady(uint32_t number, const Due& due);
  void FreeGroup(uint32_t number) noexcept;
  GroupInfo InfoOf(uint32_t number) const noexcept;
  size_t HeapBytesOf(uint32_t number) const noexcept;

  const FolderOptions options_;
  const StateOps& ops_;
  const uint32_t partition_;
  const size_t state_offset_;
  const size_t group_bytes_;  // what a group costs, beside long keys and the state's heap
  Slab<Cold> slab_;
  KeyIndex index_;
  Deadlines deadlines_;
  std::deque<ReadyGroup> ready_;
  uint64_t next_generation_ = 0;
  size_t bytes_ = 0;
  Ledger ledger_;
};

}  // namespace pleat::inline v0
