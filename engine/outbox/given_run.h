// A GivenRun hands emissions of one or several books to a Take, some at a time: a call for each
// would cost as much as the rest.
//
//   GivenRun run(take);
//   for (...) run.Add(entries, ready);
//   run.HandOver();
//
// Between Add() and HandOver() the emissions are in no queue, and their entries live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include <pleat/any_collection.h>

#include "engine/base/check.h"
#include "engine/outbox/outbox_entries.h"
#include "engine/outbox/ready.h"

namespace pleat::inline v0_1 {

// The same for emissions of one book that lie in a row, at most kGivenMax.
template <class Entries>
[[gnu::always_inline]] inline void GiveRun(Entries& entries, std::span<const Ready> run,
                                           AnyCollection::Take take) {
  PLEAT_DCHECK(run.size() <= kGivenMax);
  alignas(ClosedGroup) std::byte memory[kGivenMax * sizeof(ClosedGroup)];  // not cleared
  auto* const shown = reinterpret_cast<ClosedGroup*>(memory);
  for (size_t i = 0; i < run.size(); ++i) ::new (shown + i) ClosedGroup(entries.GiveAway(run[i]));
  take({shown, run.size()});
  for (const Ready& ready : run) entries.FreeGiven(ready.entry);
}

class GivenRun {
 public:
  explicit GivenRun(AnyCollection::Take take) noexcept : take_(take) {}
  ~GivenRun() { PLEAT_DCHECK(size_ == 0); }
  GivenRun(const GivenRun&) = delete;
  GivenRun& operator=(const GivenRun&) = delete;

  void Add(OutboxEntries& entries, const Ready& ready) {
    if (size_ == kGivenMax) HandOver();
    ::new (shown() + size_) ClosedGroup(entries.GiveAway(ready));
    from_[size_++] = {&entries, ready.entry};
  }

  void HandOver() {
    if (size_ == 0) return;
    take_({shown(), size_});
    for (size_t i = 0; i < size_; ++i) from_[i].entries->FreeGiven(from_[i].entry);
    size_ = 0;
  }

 private:
  struct From {
    OutboxEntries* entries;
    uint32_t entry;
  };

  ClosedGroup* shown() noexcept { return reinterpret_cast<ClosedGroup*>(memory_); }

  const AnyCollection::Take take_;
  size_t size_ = 0;
  From from_[kGivenMax];
  alignas(ClosedGroup) std::byte memory_[kGivenMax * sizeof(ClosedGroup)];  // not cleared
};

}  // namespace pleat::inline v0_1
