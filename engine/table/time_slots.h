// TimeSlots is a calendar: it cuts time into slots of one width, and has those in order that are in
// use. A slot holds a list of references, which the owner fills and empties.
//
// A slot covers 1/4096 of a usual life, rounded down to a power of two. So the slot of an instant
// is found by a shift, and a few thousand slots are in use at a time, however many entries there
// are.
//
// The order is a Boost.Intrusive set, which is a tree. Most lookups do not search it: a table
// names one slot for the low bits of an index. The tree is searched where that is not the slot
// wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/intrusive/set.hpp>
#include <pleat/time.h>

#include "engine/table/reference_lists.h"

namespace pleat::inline v0_1 {

class TimeSlots {
 public:
  struct Slot : boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>>,
                ReferenceLists::List {
    uint64_t index;      // of the slot in time
    EngineTime min_due;  // of what was armed here, as it was then
  };

  explicit TimeSlots(Duration usual_life);
  ~TimeSlots();
  TimeSlots(const TimeSlots&) = delete;
  TimeSlots& operator=(const TimeSlots&) = delete;

  // Makes room for so many slots, at most for those of a usual life. Returns for how many.
  size_t Reserve(size_t slots);

  // Whether slots are as wide as they would be for this one; and makes them so. REQUIRES: empty().
  bool Suits(Duration usual_life) const noexcept;
  void SetUsualLife(Duration usual_life) noexcept;

  uint64_t IndexOf(EngineTime t) const noexcept {
    return static_cast<uint64_t>((t - kBeginningOfTime).count()) >> shift_;
  }
  EngineTime StartOf(const Slot& slot) const noexcept {
    return kBeginningOfTime + Duration{static_cast<int64_t>(slot.index << shift_)};
  }

  // Those in use.
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return order_.empty(); }
  auto begin() const noexcept { return order_.begin(); }
  auto end() const noexcept { return order_.end(); }
  Slot& first() noexcept { return *order_.begin(); }  // REQUIRES: !empty()
  // The first one from `index` on, around the end. REQUIRES: !empty().
  Slot& FirstFrom(uint64_t index) noexcept;

  // The slot of this index, or another one, or null: the caller compares. O(1).
  Slot* Guess(uint64_t index) noexcept { return KnownAt(index); }
  // The slot of this index, which comes into use with an empty list if need be. O(log slots).
  Slot& At(uint64_t index);
  // Takes a slot out of use. Its list is the owner's to keep or to clear.
  void Free(Slot& slot) noexcept;

  // Ends the process unless the slots known are in use. O(slots); for tests.
  void CheckWhole() const;

 private:
  struct ByIndex {
    using type = uint64_t;
    type operator()(const Slot& slot) const { return slot.index; }
  };
  using Order = boost::intrusive::set<Slot, boost::intrusive::key_of_value<ByIndex>,
                                      boost::intrusive::constant_time_size<false>>;

  static constexpr size_t kKnownMax = 8192;  // twice the slots of a usual life

  Slot*& KnownAt(uint64_t index) noexcept { return known_[index & (known_.size() - 1)]; }
  void Know(Slot& slot);
  void KnowSlots(size_t size);
  Slot& New(uint64_t index);

  int shift_;  // log2 of the slot width in microseconds
  Order order_;
  std::vector<Slot*> known_;  // by the low bits of the index
  size_t size_ = 0;
  std::vector<Slot*> free_;
  std::vector<std::unique_ptr<Slot[]>> blocks_;
};

}  // namespace pleat::inline v0_1
