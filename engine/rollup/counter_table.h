// A CounterTable keeps the counters of one book, their windows and their values.
//
// A counter's newest window lies in the counter itself, as long as its sum is a plain integer, so
// that an event in order touches two cache lines: one of the index and one of the counter. All
// other windows are entries of their own, in a chain of the counter, newest first: older open
// windows, kept windows, and windows whose sum is not a plain integer. Windows of further
// resolutions have a chain of their own. The window of a waiting emission is an entry, too, in a
// chain or not.
//
//   Counter   64 bytes, a cache line: key, newest window, and the sum of the final windows, as
//             long as that sum is a plain integer
//   Account   72 bytes: the chains, the sum of the open windows in the first chain, and the sum of
//             the final windows if that is not a plain integer; only while one of these is there
//   Window    64 bytes
//
// A forgotten counter leaves the index. Its number is free once no entry names the counter.
//
// While the table is saved, an entry that is about to change is kept as it was at the cut
// (ChangeByRule): a counter with its account and its chains together, and by itself a window that is
// in no chain. What the owner saves with a counter, such as its events, changes behind Change(), too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <pleat/rollup_values.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/rollup/total.h"
#include "engine/table/change_by_rule.h"
#include "engine/table/expiring_table.h"
#include "engine/table/key_arena.h"
#include "engine/table/packed_key.h"
#include "engine/table/place_images.h"
#include "engine/table/place_numbers.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

struct CounterEntry {
  struct Counter {
    uint32_t hash;   // the low half of the keyed hash
    uint32_t count;  // events in the window inside; 0: there is none
    PackedKey key;
    EngineTime start;      // of the newest window ever
    int64_t sum;           // of the window inside
    uint32_t account;      // or kNone
    uint32_t final_count;  // events in final windows; kInAccount: see the account
    int64_t final_sum;     // their sum
  };
  static_assert(sizeof(Counter) == 64);

  struct Account {
    Total final_total;    // the sum of the final windows, if it is not in the counter
    int64_t open_sum;     // of the open windows in the chain
    uint64_t open_count;  // their events
    uint32_t chain;       // the newest window outside
    uint32_t coarse;      // the newest window of further resolutions
    bool irregular;       // open_sum is not the sum: add up the windows
  };
  static_assert(sizeof(Account) == 72);

  struct Window {
    Total total;
    EngineTime start;
    uint64_t generation : 56;  // of its emission
    uint64_t resolution : 3;
    uint64_t ready : 1;  // its emission is in the outbox
    uint64_t chained : 1;
    uint64_t closed : 1;      // was handed out
    uint64_t is_final : 1;    // is part of the sum of the final windows
    uint64_t correction : 1;  // is a late event, not a window
    uint32_t counter;
    uint32_t next;  // in the chain: older

    bool open() const noexcept { return !is_final && !correction; }
  };
  static_assert(sizeof(Window) == 64);

  // Writes what an owner knows of an entry.
  class Saver {
   public:
    // A counter with its chains. Returns how many windows were written.
    virtual size_t SaveCounter(FieldWriter& out, uint32_t number) const = 0;
    // A window in no chain, but for its counter.
    virtual void SaveLoose(FieldWriter& out, uint32_t window) const = 0;

   protected:
    ~Saver() = default;
  };

  // For the rule: the images of counters.
  struct Images {
    Images(const Saver& owner, uint32_t counter_end, uint32_t window_end, Copies& copies)
        : saver(owner), counters(counter_end, copies), windows(window_end, copies) {}
    bool Has(uint32_t counter) const noexcept { return counters.Has(counter); }
    void KeepNothing(uint32_t counter) { counters.KeepNothing(counter); }

    const Saver& saver;
    PlaceImages counters;
    PlaceImages windows;  // of those in no chain
  };
};

class CounterTable
    : CounterEntry,
      public ChangeByRule<CounterTable, CounterEntry::Counter, CounterEntry::Images> {
 public:
  using CounterEntry::Account;
  using CounterEntry::Counter;
  using CounterEntry::Saver;
  using CounterEntry::Window;

  static constexpr uint32_t kNone = KeyIndex::kNone;
  // The `start` of a counter that has had no window: before every start of a window.
  static constexpr EngineTime kNoStart = EngineTime::min();

  // Bytes, with the usual load of slabs and index.
  static constexpr size_t kCounterBytes = sizeof(Counter) + 4 + 8;
  static constexpr size_t kAccountBytes = sizeof(Account);
  static constexpr size_t kWindowBytes = sizeof(Window);

  explicit CounterTable(Pages& pool)
      : table_(pool, sizeof(Counter), kForever, Entries{*this}),
        accounts_(pool, sizeof(Account)),
        windows_(pool, sizeof(Window)),
        keys_(pool) {}
  ~CounterTable();
  CounterTable(const CounterTable&) = delete;
  CounterTable& operator=(const CounterTable&) = delete;

  // --- Counters

  uint32_t Find(const PackedKey& key, uint64_t hash) const {
    return table_.Find(hash, [&](uint32_t number) { return at(number).key == key; });
  }
  void PrefetchIndex(uint64_t hash) const noexcept { table_.PrefetchIndex(hash); }
  // Fetches the counter that Find() will most likely look at, and returns its number, or kNone.
  uint32_t PrefetchCounter(uint64_t hash) const noexcept {
    const uint32_t number = table_.Guess(hash);
    if (number != kNone) Prefetch(number);
    return number;
  }
  void Prefetch(uint32_t number) const noexcept { pleat::Prefetch(table_.hot(number)); }
  size_t size() const noexcept { return table_.indexed(); }
  // Changes whenever a number may name another counter than before.
  uint32_t removals() const noexcept { return removals_; }

  // Adds a counter without windows. REQUIRES: there is none of this key.
  uint32_t New(const PackedKey& key, uint64_t hash);
  // Adds a counter that is forgotten already, for emissions that show its key.
  uint32_t NewForgotten(const PackedKey& key, uint64_t hash);
  // Forgets the counter and its chains. REQUIRES: ChangeKept() is possible.
  void Remove(uint32_t number);

  // Calls `visit(number)` for every counter.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    table_.ForEach([&](uint32_t number) {
      if (table_.cold(number).indexed) visit(number);
    });
  }
  // Whether the counter can be found; and of any number, whether there is such a counter.
  bool IsForgotten(uint32_t number) const noexcept { return !table_.cold(number).indexed; }
  bool Has(uint32_t number) const noexcept { return table_.Holds(number) && !IsForgotten(number); }
  // Whether a window outside names the counter.
  bool IsNamed(uint32_t number) const noexcept { return table_.cold(number).uses > 0; }

  // --- Accounts

  // The account of a counter. Opens one if there is none.
  Account& AccountOf(Counter& counter);
  // Null if there is none.
  const Account* AccountIn(const Counter& counter) const noexcept {
    if (counter.account == kNone) return nullptr;
    return reinterpret_cast<const Account*>(accounts_.hot(counter.account));
  }

  // Frees the account of a counter, unless the account is in use.
  void TrimAccount(Counter& counter) noexcept;

  // --- The sum of the final windows

  Total FinalOf(const Counter& counter) const noexcept {
    if (counter.final_count == kInAccount) return AccountIn(counter)->final_total;
    Total total;
    total.count = counter.final_count;
    total.whole = counter.final_sum;
    total.wholes = counter.final_count > 0;
    return total;
  }
  void SetFinal(Counter& counter, const Total& total);

  // --- Windows outside

  const Window& window(uint32_t number) const noexcept {
    return *reinterpret_cast<const Window*>(windows_.hot(number));
  }
  // The rule of windows. What keeps a counter keeps the windows in its chains.
  Window& ChangeWindow(uint32_t number) {
    KeepImageOf(number);
    return WindowAt(number);
  }
  Window& ChangeKeptWindow(uint32_t number) noexcept {
    PLEAT_DCHECK(MayChangeWindow(number));
    return WindowAt(number);
  }
  void PrefetchWindow(uint32_t number) const noexcept { pleat::Prefetch(windows_.hot(number)); }
  // Whether the window that begins at `start` lies inside the counter.
  static bool IsInside(const Counter& counter, EngineTime start) noexcept {
    return counter.count > 0 && counter.start == start;
  }
  uint32_t ChainOf(const Counter& counter, uint8_t resolution) const noexcept;
  // The chained window, or kNone. O(windows of the counter that are newer).
  uint32_t FindWindow(const Counter& counter, uint8_t resolution, EngineTime start) const noexcept;
  // A window of the counter, empty and in no chain.
  uint32_t NewWindow(uint32_t counter, uint8_t resolution, EngineTime start);
  // Inserts a window into its chain, or removes it. REQUIRES, here and below: ChangeKept() of its
  // counter is possible.
  void Chain(uint32_t number);
  void Unchain(uint32_t number) noexcept;
  // Moves the window inside to the chain, and returns its number there. REQUIRES: there is one.
  uint32_t MoveOut(uint32_t counter);
  // Frees a window. REQUIRES: it is in no chain, and ChangeKeptWindow() is possible.
  void FreeWindow(uint32_t number) noexcept;
  // The total of the window inside. REQUIRES: there is one.
  static Total TotalInside(const Counter& counter) noexcept {
    Total total;
    total.count = counter.count;
    total.whole = counter.sum;
    total.wholes = 1;
    return total;
  }
  size_t windows() const noexcept { return window_count_; }

  // --- Saving while counters change: see Book::BeginSave()

  // `saver` outlives the saving.
  void BeginSave(const Saver& saver, Copies& copies) {
    images_ = std::make_unique<Images>(saver, table_.end(), windows_.end(), copies);
  }
  // Writes the next counters as they were then, forgotten ones included, and adds their places to
  // `saved`. Returns whether there may be more.
  bool SaveCounters(FieldWriter& out, PlaceNumbers& saved);
  // Behind the last counter: the same for windows that were in no chain, each behind 1 + the number
  // of its counter among `saved`.
  bool SaveLooseWindows(FieldWriter& out, const PlaceNumbers& saved);
  // All windows have lower numbers.
  uint32_t window_end() const noexcept { return windows_.end(); }

  // --- Bytes

  size_t bytes() const noexcept { return bytes_; }
  // The bytes of one more counter.
  static size_t BytesOfNew(const PackedKey& key) noexcept {
    return kCounterBytes + KeyArena::BytesFor(key);
  }

  // Stops the program if an invariant does not hold. O(counters and windows).
  void CheckWhole() const;

 private:
  inline uint32_t Make(const PackedKey& key, uint64_t hash);
  struct Cold {
    uint32_t uses : 28;  // windows outside that name the counter
    uint32_t taken : 1;  // the last four are the table's
    uint32_t indexed : 1;
    uint32_t armed : 1;
    uint32_t referred : 1;
  };
  // Tells the table below about counters, which have no deadlines of their own.
  struct Entries {
    const CounterTable& counters;
    uint32_t HashOf(uint32_t number) const noexcept { return counters.at(number).hash; }
    EngineTime DueOf(uint32_t) const noexcept { return kNever; }
    uint64_t OrderOf(uint32_t) const noexcept { return 0; }
    void Prefetch(uint32_t number) const noexcept { counters.Prefetch(number); }
    uint64_t Version() const noexcept { return 0; }
  };

  static constexpr uint32_t kInAccount = UINT32_MAX;

  // For the rule.
  friend class ChangeByRule<CounterTable, Counter, Images>;
  const Counter& EntryAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Counter*>(table_.hot(number));
  }
  // Of a window, be it in a chain or not.
  void KeepImageOf(uint32_t window) {
    if (images_ != nullptr) [[unlikely]]
      KeepWindow(window);
  }
  Window& WindowAt(uint32_t number) noexcept {
    return *reinterpret_cast<Window*>(windows_.hot(number));
  }
  // Null if there is none.
  Account* AccountAt(Counter& counter) noexcept { return const_cast<Account*>(AccountIn(counter)); }
  bool MayChangeWindow(uint32_t number) const noexcept {
    if (images_ == nullptr) return true;
    const Window& changed = window(number);
    return changed.chained ? MayChange(changed.counter) : images_->windows.Has(number);
  }
  // These are calls, because who saves nothing pays for each instruction of an inline one that is near.
  // Some return their number, so that they can be the last that a function does. REQUIRES: saving().
  [[gnu::cold]] void KeepImageNow(uint32_t number);
  [[gnu::cold]] void KeepWindow(uint32_t number);
  [[gnu::cold]] uint32_t KeepNoCounterNow(uint32_t number);
  [[gnu::cold]] uint32_t KeepNoWindowNow(uint32_t number);
  // The place had no counter at the cut.
  uint32_t KeepNoCounter(uint32_t number) {
    if (images_ != nullptr) [[unlikely]]
      return KeepNoCounterNow(number);
    return number;
  }
  // The place has nothing to save by itself: the window is new, or was in a chain at the cut.
  uint32_t KeepNoWindow(uint32_t number) {
    if (images_ != nullptr) [[unlikely]]
      return KeepNoWindowNow(number);
    return number;
  }
  bool IsLoose(uint32_t place) const noexcept {
    return windows_.Knows(place) && !window(place).chained && window(place).ready;
  }

  uint32_t& HeadOf(Counter& counter, uint8_t resolution);
  void DropChain(uint32_t head) noexcept;
  void FreeUnused(uint32_t number) noexcept;

  ExpiringTable<Entries, Cold> table_;
  Slab<NoCold, 12> accounts_;
  Slab<NoCold, 12> windows_;
  KeyArena keys_;
  size_t bytes_ = 0;
  size_t window_count_ = 0;
  uint32_t removals_ = 0;
};

}  // namespace pleat::inline v0_1
