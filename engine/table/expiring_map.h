// An ExpiringMap remembers a word for a name until an instant: which ids were taken, which groups closed.
//
// A name is 128 bits, of two keyed hashes. That two names meet is as good as impossible (for 10 million of
// them 1 in 10^24), so they stand for the bytes they were made of, in 16 bytes whatever their length.
//
// The names are found through a KeyIndex and forgotten through Deadlines, in pages of the pool, so that it
// neither rehashes nor keeps the memory of a burst. What has expired is gone for Find(), forgotten or not.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/time.h>

#include "engine/base/page_pool.h"
#include "engine/table/deadlines.h"
#include "engine/table/key_index.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class ExpiringMap {
 public:
  struct Name {
    uint64_t low;
    uint64_t high;

    friend bool operator==(const Name&, const Name&) = default;
  };

  // What is remembered for a name, and up to when.
  struct Known {
    uint64_t word;
    EngineTime expires;
  };

  // `usual_life`: how long most names are remembered.
  ExpiringMap(PagePool& pool, Duration usual_life)
      : entries_(pool, sizeof(Entry)), index_(pool), deadlines_(pool, usual_life) {}

  // What is remembered for `name` at `now`, or null. Valid until the next Put(), Erase() or Expire().
  const Known* Find(const Name& name, EngineTime now) const {
    const uint32_t number = NumberOf(name);
    if (number == KeyIndex::kNone || At(number).known.expires < now) return nullptr;
    return &At(number).known;
  }

  // Remembers `word` for `name`, and nothing else, up to and including `expires`.
  void Put(const Name& name, uint64_t word, EngineTime expires);

  void Erase(const Name& name);

  // Forgets what expired before `now`, looking at no more than `budget` names, which it lowers by as many.
  // Returns whether that was all.
  bool Expire(EngineTime now, size_t& budget);

  // From this instant on Expire() forgets everything; kNever if there is nothing to forget, ever.
  EngineTime forgets_all_at() const noexcept { return index_.size() == 0 ? kNever : last_expiry_; }

  // What a name costs, and all of them.
  static constexpr size_t kNameBytes = 46;
  size_t bytes() const noexcept { return index_.size() * kNameBytes; }

 private:
  struct Entry {
    Name name;
    Known known;  // expires kForgotten: nobody is here but the deadlines' reference
  };
  static_assert(kNameBytes == sizeof(Entry) + 14);  // a share of the index, and a reference
  static constexpr EngineTime kForgotten = EngineTime::min();

  // Tells the deadlines what an entry's is.
  struct Asker {
    ExpiringMap& map;
    Deadlines::Answer operator()(uint32_t number) const noexcept;
    void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(&map.At(number)); }
    uint64_t Version() const noexcept { return map.version_; }
  };

  Entry& At(uint32_t number) const noexcept {
    return *reinterpret_cast<Entry*>(entries_.hot(number));
  }
  uint32_t NumberOf(const Name& name) const {
    return index_.Find(name.low, [&](uint32_t number) { return At(number).name == name; });
  }
  void EraseFromIndex(uint32_t number);

  Slab<NoCold, 11> entries_;
  KeyIndex index_;
  Deadlines deadlines_;
  EngineTime last_expiry_ = kBeginningOfTime;
  uint64_t version_ = 0;  // counts whatever can change an answer
};

}  // namespace pleat::inline v0_1
