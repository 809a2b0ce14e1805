// A GivenRun hands emissions of one or several books to a Take, some at a time: a call for each
// would cost as much as the rest.
//
//   GivenRun run(take);
//   for (...) run.Add(entries, ready);
//   run.HandOver();
//
// Between Add() and HandOver() the emissions are in no queue, and their entries live.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include <pleat/emission.h>
#include <pleat/untyped/any_collection.h>

#include "engine/base/check.h"
#include "engine/outbox/outbox_entries.h"
#include "engine/outbox/ready.h"

namespace pleat::inline v0_1 {

// Where the entries of at most kGivenMax emissions lie, in their order.
template <class Found>
class FoundRun {
 public:
  size_t size() const noexcept { return size_; }
  std::span<const Found> all() const noexcept { return {memory(), size_}; }

  // Lets it be `run`, of which `find(ready)` says where each lies; the first `from` are here already.
  template <class Find>
  [[gnu::always_inline]] void Fill(std::span<const Ready> run, size_t from, const Find& find) {
    for (size_t i = from; i < run.size(); ++i) ::new (memory() + i) Found(find(run[i]));
    size_ = run.size();
  }

 private:
  Found* memory() noexcept { return reinterpret_cast<Found*>(memory_); }
  const Found* memory() const noexcept { return reinterpret_cast<const Found*>(memory_); }

  size_t size_ = 0;
  alignas(Found) std::byte memory_[kGivenMax * sizeof(Found)];  // not cleared
};
template <class Entries>
using FoundRunOf = FoundRun<decltype(std::declval<Entries>().FindGiven(std::declval<Ready>()))>;

// Hands over emissions of one book that lie in a row, at most kGivenMax, without a GivenRun. `found` has
// where the first ones of them lie, or none, and then all.
template <class Entries>
[[gnu::always_inline]] inline void GiveRun(Entries& entries, std::span<const Ready> run,
                                           FoundRunOf<Entries>& found, AnyCollection::Take take) {
  PLEAT_DCHECK(run.size() <= kGivenMax);
  alignas(ClosedGroup) std::byte memory[kGivenMax * sizeof(ClosedGroup)];  // not cleared
  auto* const shown = reinterpret_cast<ClosedGroup*>(memory);
  found.Fill(run, std::min(found.size(), run.size()),
             [&](const Ready& ready) { return entries.FindGiven(ready); });
  entries.NoteGiven(run);
  ClosedGroup* place = shown;
  const auto* where = found.all().data();
  for (const Ready& ready : run) entries.ShowGiven(ready, *where++, place++);
  take({shown, run.size()});
  entries.FreeGiven(found.all());
}

template <class Entries>
void GiveRun(Entries& entries, std::span<const Ready> run, AnyCollection::Take take) {
  FoundRunOf<Entries> found;
  GiveRun(entries, run, found, take);
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
