// An ExpiringMap remembers a word for a name until an instant. Example: the ids of events that were
// folded, and a hash of what each event said.
//
// A name is 128 bits, made of two keyed hashes. That two names are equal by chance is as good as
// impossible (for 10 million of them 1 in 10^24), so a name stands for the bytes that it was made
// of, in 16 bytes whatever their length.
//
// The names lie in an ExpiringTable, in pages of the pool: nothing is rehashed, and the memory of a
// burst goes back. An expired word is gone for Find() at once, and its memory after Expire().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/change_by_rule.h"
#include "engine/table/expiring_table.h"
#include "engine/table/place_images.h"

namespace pleat::inline v0_1 {

struct ExpiringEntry {
  struct Name {
    uint64_t low;
    uint64_t high;

    friend bool operator==(const Name&, const Name&) = default;
  };

  // The word that is remembered for a name, and up to when.
  struct Known {
    uint64_t word;
    EngineTime expires;
  };

  Name name;
  Known known;

  // How many there were when a saving began, and the latest that one of them expires.
  struct Images : PlaceImages {
    Images(uint32_t end, size_t count, EngineTime last, Copies& copies)
        : PlaceImages(end, copies), size(count), last_expiry(last) {}
    ~Images() override { Leave(); }
    const size_t size;
    const EngineTime last_expiry;
    bool has_begun = false;  // the first two fields are written
  };
};

class ExpiringMap : ChangeByRule<ExpiringMap, ExpiringEntry, ExpiringEntry::Images> {
 public:
  using Name = ExpiringEntry::Name;
  using Known = ExpiringEntry::Known;

  // `usual_life`: how long most names are remembered. `pool` outlives the map.
  ExpiringMap(Pages& pool, Duration usual_life)
      : table_(pool, sizeof(Entry), LifeInSlots(usual_life), Entries{*this}) {}

  // What is remembered for `name` at `now`, or null. Valid until the next Put(), Erase() or
  // Expire().
  const Known* Find(const Name& name, EngineTime now) const {
    const uint32_t number = table_.Find(name.low, [&](uint32_t each) {
      return at(each).name == name && at(each).known.expires >= now;
    });
    return number == kNone ? nullptr : &at(number).known;
  }

  // Brings what a Find(), and a Put() behind it, read first towards the cache.
  void PrefetchIndex(const Name& name) const noexcept { table_.PrefetchIndex(name.low); }

  // Remembers `word` for `name`, instead of any other word, up to and including `expires`.
  void Put(const Name& name, uint64_t word, EngineTime expires) {
    Erase(name);
    PutNew(name, word, expires);
  }
  // The same of a name that Find() does not find, now or later: what is left of it has expired.
  void PutNew(const Name& name, uint64_t word, EngineTime expires);

  // Forgets the name, if it is remembered.
  void Erase(const Name& name);

  // Forgets what expired before `now`. Looks at no more than `budget` names and lowers it by as
  // many. Returns whether that was all.
  bool Expire(EngineTime now, Budget& budget);

  // From this instant on Expire() forgets everything; kNever if there is nothing to forget, ever.
  EngineTime forgets_all_at() const noexcept {
    return table_.indexed() == 0 ? kNever : last_expiry_;
  }

  size_t size() const noexcept { return table_.indexed(); }
  // What a name costs, and all of them.
  static constexpr size_t kNameBytes = 46;
  size_t bytes() const noexcept { return table_.indexed() * kNameBytes; }

  // Writes all names as they were at BeginSave(), a strip of places at a time, while the map goes on
  // changing. SaveNext() returns whether there is more. EndSave() gives up what is left.
  void BeginSave(Copies& copies) {
    images_ = std::make_unique<Images>(table_.end(), size(), last_expiry_, copies);
  }
  bool SaveNext(FieldWriter& out);
  using ChangeByRule::EndSave;
  // Reads what was written. Names that nobody can have made, because they collide, fail the reading.
  // REQUIRES: nothing was ever remembered.
  void Load(FieldReader& in);

  // Calls `visit(word)` for every word, in no order that means anything.
  template <class Visit>
  void ForEachWord(const Visit& visit) const {
    table_.ForEach([&](uint32_t number) { visit(at(number).known.word); });
  }

  // Ends the process unless all invariants hold; for tests.
  void CheckWhole() const { table_.CheckWhole(); }

 private:
  using Entry = ExpiringEntry;
  using Images = ExpiringEntry::Images;
  static_assert(kNameBytes == sizeof(Entry) + 14);  // bits, a share of the index, and a reference

  struct Entries {
    const ExpiringMap& map;
    uint32_t HashOf(uint32_t number) const noexcept {
      return static_cast<uint32_t>(map.at(number).name.low);
    }
    // A name is still known at `expires`. Who asks is about to forget the name: its line of the
    // index is on its way then.
    EngineTime DueOf(uint32_t number) const noexcept {
      map.PrefetchIndex(map.at(number).name);
      return map.at(number).known.expires + Duration{1};
    }
    uint64_t OrderOf(uint32_t) const noexcept { return 0; }
    void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(&map.at(number)); }
    uint64_t Version() const noexcept { return 0; }  // no deadline is ever moved
  };
  using Table = ExpiringTable<Entries, TableBits, 11>;
  static constexpr uint32_t kNone = Table::kNone;

  void SaveEntry(FieldWriter& out, uint32_t number, EngineTime last_expiry) const;

  // For the rule.
  friend class ChangeByRule<ExpiringMap, Entry, Images>;
  [[gnu::cold]] void KeepImageNow(uint32_t number);
  const Entry& EntryAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Entry*>(table_.hot(number));
  }
  // The deadlines cut a life into slots, finely, because most owners hand out in order. Nobody asks in
  // which order names expire: slots are eight times as long, so that more names share the price of one.
  static Duration LifeInSlots(Duration usual_life) noexcept {
    return usual_life > kForever / 8 ? kForever : 8 * usual_life;
  }

  Table table_;
  EngineTime last_expiry_ = kBeginningOfTime;  // of all names so far
};

}  // namespace pleat::inline v0_1
