// A Sequence keeps the members of one series in the order of their keys, and counts them. Members
// are numbered entries of a slab elsewhere; the sequence stores their numbers.
//
// Its form follows its size. Up to two numbers lie in the sequence itself, up to 128 in an array of
// 4, 8, 16 and so on. A search in these looks at the members' keys, at many at once. More members
// make a tree (sequence_tree.h). A sequence takes a smaller form when that is no more than three
// quarters full then, so that the form does not change to and fro.
//
// A SequencePool has the memory of all sequences of one book.
//
//   SequencePool<Members> pool(pages, members);  // `members` knows keys by numbers
//   Sequence series;
//   pool.Insert(series, number);
//   const uint32_t since = series.size() - pool.Rank(series, now - 5min);
//   pool.Clear(series);
//
// A key may only change while its member is in no sequence, but for MoveToBack(). Numbers are below
// UINT32_MAX. Not thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/live/sequence_search.h"
#include "engine/live/sequence_sort.h"
#include "engine/live/sequence_tree.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

// A value that its owner keeps beside the series. A copy of it is the same sequence: only one of
// them may be used on. One that is not empty is cleared by its pool, not by its destruction.
class Sequence {
 public:
  uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  template <SequenceMembers Members>
  friend class SequencePool;

  // Between the named ones: arrays of 8 and so on, up to 128.
  enum class Form : uint8_t { kInline, kArrayOf4, kTree = 7 };
  static constexpr uint32_t kInlineMax = 2;
  static constexpr uint32_t kNoNumber = UINT32_MAX;  // fills what is left of an array

  bool is_tree() const noexcept { return form_ == Form::kTree; }
  // A sequence that is being loaded is a chain of members. The chain leads from the one that came
  // last to the others; each has the number of the next one for a place.
  struct Chain {
    uint32_t last;
    uint32_t missing;  // members that did not come yet
  };

  // How many numbers a form below kTree has room for.
  static uint32_t RoomOf(Form form) noexcept { return kInlineMax << static_cast<int>(form); }

  uint32_t size_ = 0;
  Form form_ = Form::kInline;
  union {
    uint32_t numbers_[kInlineMax] = {kNoNumber, kNoNumber};
    uint32_t array_;  // its place in the pool
    SequenceTree tree_;
    Chain chain_;  // only while it is loaded, in any form
  };
};
static_assert(sizeof(Sequence) == 16);

// `n` below is the size of the sequence. Every method but CheckWhole() and Clear() is O(log n).
template <SequenceMembers Members>
class SequencePool {
 public:
  // `pages` and `members` outlive the pool.
  SequencePool(Pages& pages, Members& members)
      : members_(members), trees_(pages, members), arrays_{Array(pages, 16),  Array(pages, 32),
                                                           Array(pages, 64),  Array(pages, 128),
                                                           Array(pages, 256), Array(pages, 512)} {}

  // The members with the smallest and the largest key.
  // REQUIRES: the sequence is not empty.
  uint32_t Front(const Sequence& sequence) const noexcept {
    PLEAT_DCHECK(trees_.settled());
    PLEAT_DCHECK(!sequence.empty());
    return sequence.is_tree() ? trees_.Front(sequence.tree_) : NumbersOf(sequence)[0];
  }
  uint32_t Back(const Sequence& sequence) const noexcept {
    PLEAT_DCHECK(!sequence.empty());
    return sequence.is_tree() ? trees_.Back(sequence.tree_)
                              : NumbersOf(sequence)[sequence.size_ - 1];
  }

  // Adds a member. Amortised O(1) if its key is the largest; O(log n * log m) if it comes before
  // others of its time, which m members have.
  // REQUIRES: no member of the sequence has its key.
  void Insert(Sequence& sequence, uint32_t number) {
    PLEAT_DCHECK(trees_.settled());
    if (!sequence.is_tree() && sequence.size_ == sequence.RoomOf(sequence.form_)) Grow(sequence);
    if (sequence.is_tree()) {
      ++tree_members_;
      trees_.Insert(sequence.tree_, number);
    } else {
      InsertAmongFew(sequence, number);
    }
    ++sequence.size_;
  }

  // Takes out a member. Amortised O(1). Does not look at its key.
  void Erase(Sequence& sequence, uint32_t number) {
    if (sequence.is_tree()) {
      --tree_members_;
      trees_.Erase(sequence.tree_, members_.PlaceOf(number));
    } else {
      TakeOut(sequence, number);
    }
    --sequence.size_;
    ShrinkIfFew(sequence);
  }

  // Moves a member to the end. Amortised O(1).
  // REQUIRES: its key, which the caller has changed, is the largest now.
  void MoveToBack(Sequence& sequence, uint32_t number) {
    MoveToBackUnsettled(sequence, number, members_.PlaceOf(number));
    Settle();
  }
  // The same, of many members of any sequences: no other method is called from the first one to
  // Settle(). `place` is what PlaceOf() gives.
  void MoveToBackUnsettled(Sequence& sequence, uint32_t number, uint32_t& place) {
    if (sequence.is_tree()) return trees_.MoveToBackUnsettled(sequence.tree_, number, place);
    TakeOut(sequence, number);
    NumbersOf(sequence)[sequence.size_ - 1] = number;
  }
  void Settle() { trees_.Settle(); }

  // How many members have a time before `time`. For those up to `time`: Rank(time + 1 us).
  uint32_t Rank(const Sequence& sequence, EngineTime time) const noexcept {
    PLEAT_DCHECK(trees_.settled());
    return sequence.is_tree() ? trees_.Rank(sequence.tree_, time)
                              : CountBefore(sequence, {time, 0});
  }

  // How many members precede this one.
  uint32_t RankOf(const Sequence& sequence, uint32_t number) const noexcept {
    return sequence.is_tree() ? trees_.RankOf(members_.PlaceOf(number)) : IndexOf(sequence, number);
  }

  // The member that `rank` others precede.
  // REQUIRES: rank < size; as for the next two.
  uint32_t At(const Sequence& sequence, uint32_t rank) const noexcept {
    PLEAT_DCHECK(rank < sequence.size_);
    return sequence.is_tree() ? trees_.At(sequence.tree_, rank) : NumbersOf(sequence)[rank];
  }

  // Calls `visit(number)` for the member of this rank and those behind it, in order, until `visit`
  // returns false. `visit` does not change the sequence. O(1) more for each member.
  template <class Visit>
  void ForEachFrom(const Sequence& sequence, uint32_t rank, const Visit& visit) const {
    PLEAT_DCHECK(rank < sequence.size_);
    if (sequence.is_tree()) return trees_.ForEachFrom(sequence.tree_, rank, visit);
    const uint32_t* const numbers = NumbersOf(sequence);
    while (rank < sequence.size_ && visit(numbers[rank])) ++rank;
  }

  // The same for the member of this rank and those before it, the largest key first.
  template <class Visit>
  void ForEachBackFrom(const Sequence& sequence, uint32_t rank, const Visit& visit) const {
    PLEAT_DCHECK(rank < sequence.size_);
    if (sequence.is_tree()) return trees_.ForEachBackFrom(sequence.tree_, rank, visit);
    const uint32_t* const numbers = NumbersOf(sequence);
    for (++rank; rank > 0 && visit(numbers[rank - 1]);) --rank;
  }

  // Brings closer what Erase() and MoveToBack() of the members of a small sequence will need. The
  // sequence itself should be close already: call this some members ahead.
  void Prefetch(const Sequence& sequence) const noexcept {
    if (!sequence.is_tree() && sequence.form_ != Form::kInline)
      pleat::Prefetch(NumbersOf(sequence));
  }

  // Forgets all members and gives the memory back. O(n), but does not look at members.
  void Clear(Sequence& sequence) noexcept {
    Free(sequence);
    sequence = Sequence();
  }

  // Ends the process unless all that must hold of a sequence does. O(n), for tests.
  void CheckWhole(const Sequence& sequence) const {
    PLEAT_DCHECK(trees_.settled());
    if (sequence.is_tree()) return trees_.CheckWhole(sequence.tree_, sequence.size_);
    PLEAT_CHECK(sequence.size_ <= sequence.RoomOf(sequence.form_));
    const std::span numbers(NumbersOf(sequence), sequence.size_);
    const auto key_of = [this](uint32_t number) -> SequenceKey { return members_.KeyOf(number); };
    PLEAT_CHECK(std::ranges::adjacent_find(numbers, std::greater_equal{}, key_of) == numbers.end());
  }

  // What the sequences hold outside themselves: arrays as they are, and for each member of a tree
  // what it takes after many refreshes, so that a refresh adds nothing.
  size_t bytes() const noexcept { return array_bytes_ + tree_members_ * kTreeBytes; }
  // What one more member would add.
  static size_t BytesToInsert(const Sequence& sequence) noexcept {
    if (sequence.is_tree()) return kTreeBytes;
    if (sequence.size_ < sequence.RoomOf(sequence.form_)) return 0;
    const auto larger = static_cast<Form>(static_cast<int>(sequence.form_) + 1);
    return larger == Form::kTree ? (kNumbersMax + 1) * kTreeBytes : BytesOf(larger);
  }

  // --- Saved. The members are their owner's to write. A sequence that was larger may have a larger
  // form than its size asks for, which bytes() tells: that is written behind them.

  static void SaveForm(const Sequence& sequence, FieldWriter& out) {
    if (MayBeLarger(sequence.size_)) out.PutByte(sequence.form_ != FormFor(sequence.size_));
  }

  // --- Loaded: Await(), Add() of each member, in any order, Collect() and Order(). Before Order()
  // only size() and empty() of the sequence are right, and it takes no memory, whatever its size is
  // said to be.

  static Sequence Await(uint32_t size, FieldReader& in) {
    bool larger = false;
    if (MayBeLarger(size)) in(larger);
    Sequence sequence;
    sequence.size_ = size;
    sequence.form_ = static_cast<Form>(static_cast<int>(FormFor(size)) + (larger ? 1 : 0));
    sequence.chain_ = {.last = Sequence::kNoNumber, .missing = size};
    return sequence;
  }
  // Returns false if all members are there already.
  bool Add(Sequence& sequence, uint32_t number) {
    if (sequence.chain_.missing == 0) return false;
    --sequence.chain_.missing;
    members_.PlaceOf(number) = std::exchange(sequence.chain_.last, number);
    return true;
  }
  // Calls `visit(i, members)` for `sequence_of(i)` of each i below `count`, until it returns false.
  // All members of each are there; they are shown as they came. The chains of some sequences are
  // walked at once, so that their cache misses overlap. `numbers` is memory for that.
  template <class SequenceOf, class Visit>
  void Collect(size_t count, const SequenceOf& sequence_of, std::vector<uint32_t>& numbers,
               const Visit& visit) const {
    std::array<const Sequence*, kCollectedAtOnce> some;
    for (size_t next = 0; next < count;) {
      const size_t end = std::min(next + kCollectedAtOnce, count);
      for (size_t i = next; i < end; ++i) some[i - next] = &sequence_of(i);
      Collect({some.data(), end - next}, numbers);
      for (std::span<uint32_t> left(numbers); next < end; ++next) {
        const std::span<uint32_t> members = left.first(sequence_of(next).size());
        left = left.subspan(members.size());
        if (!visit(next, members)) return;
      }
    }
  }
  // Puts the members in order. `numbers`: those that Collect() has shown; they are in order then, too.
  // Returns false, and has no order, if two have one key. O(n log n).
  bool Order(Sequence& sequence, SequenceSort& sort, std::span<uint32_t> numbers) {
    if (!sort.Sort(members_, numbers)) return false;
    sequence = Make(numbers, sequence);
    return true;
  }
  // The sequence of these members, which are in order, in the form of another one of them. O(n).
  Sequence Make(std::span<const uint32_t> numbers, const Sequence& like) {
    PLEAT_DCHECK(numbers.size() == like.size_);
    if (!like.is_tree()) return Copy(numbers, like.form_);
    Sequence sequence;
    sequence.size_ = like.size_;
    sequence.form_ = Form::kTree;
    sequence.tree_ = trees_.Make(numbers);
    tree_members_ += numbers.size();
    return sequence;
  }

  // The same for the memory. Returns how many arrays and nodes there are.
  size_t CheckMemory() const {
    size_t count = trees_.CheckNodes();
    for (const Array& array : arrays_) count += array.CheckWhole();
    return count;
  }

 private:
  using Form = Sequence::Form;
  using Array = Slab<NoCold, 12>;
  static constexpr uint32_t kNumbersMax = 128;  // of a sequence that is no tree
  static constexpr size_t kTreeBytes = 17;      // two slots for a member, and shares of nodes
  static constexpr size_t kCollectedAtOnce = 32;

  // Sets `numbers` to the members of these sequences, those of one behind those of the other.
  void Collect(std::span<const Sequence* const> sequences, std::vector<uint32_t>& numbers) const {
    struct Walk {
      uint32_t next;
      size_t end;  // of those that are left
    };
    std::array<Walk, kCollectedAtOnce> walks;
    size_t open = 0;
    size_t count = 0;
    for (const Sequence* const sequence : sequences) {
      PLEAT_DCHECK(sequence->chain_.missing == 0);
      if (sequence->empty()) continue;
      count += sequence->size_;
      walks[open++] = {sequence->chain_.last, count};
      members_.Prefetch(sequence->chain_.last);
    }
    numbers.clear();
    numbers.reserve(count);
    numbers.resize(count);
    while (open > 0) {
      for (size_t i = 0; i < open;) {
        Walk& walk = walks[i];
        numbers[--walk.end] = walk.next;
        walk.next = members_.PlaceOf(walk.next);
        if (walk.next == Sequence::kNoNumber) {
          walk = walks[--open];
        } else {
          members_.Prefetch(walk.next);
          ++i;
        }
      }
    }
  }

  const Array& ArraysOf(Form form) const noexcept {
    PLEAT_DCHECK(form != Form::kInline && form != Form::kTree);
    return arrays_[static_cast<size_t>(form) - 1];
  }
  Array& ArraysOf(Form form) noexcept {
    return const_cast<Array&>(std::as_const(*this).ArraysOf(form));
  }

  // The smallest form with room, and whether ShrinkIfFew() would leave the next one as it is.
  static Form FormFor(size_t size) noexcept {
    auto form = Form::kInline;
    while (form != Form::kTree && size > Sequence::RoomOf(form)) {
      form = static_cast<Form>(static_cast<int>(form) + 1);
    }
    return form;
  }
  static bool MayBeLarger(size_t size) noexcept {
    const Form form = FormFor(size);
    return form != Form::kTree && size > Sequence::RoomOf(form) * 3 / 4;
  }

  static size_t BytesOf(Form form) noexcept { return Sequence::RoomOf(form) * sizeof(uint32_t); }

  // --- Of sequences that are no tree.

  const uint32_t* NumbersOf(const Sequence& sequence) const noexcept {
    PLEAT_DCHECK(!sequence.is_tree());
    if (sequence.form_ == Form::kInline) return sequence.numbers_;
    return reinterpret_cast<const uint32_t*>(ArraysOf(sequence.form_).hot(sequence.array_));
  }
  uint32_t* NumbersOf(Sequence& sequence) noexcept {
    return const_cast<uint32_t*>(NumbersOf(std::as_const(sequence)));
  }

  // Without branches that depend on the numbers: the compiler makes loops of vectors.
  uint32_t IndexOf(const Sequence& sequence, uint32_t number) const noexcept {
    const uint32_t* const numbers = NumbersOf(sequence);
    const uint32_t room = Sequence::RoomOf(sequence.form_);
    uint32_t index = 0;
    for (uint32_t i = 0; i < room; ++i) index |= numbers[i] == number ? i : 0;
    PLEAT_DCHECK(index < sequence.size_ && numbers[index] == number);
    return index;
  }

  void TakeOut(Sequence& sequence, uint32_t number) noexcept {
    uint32_t* const numbers = NumbersOf(sequence);
    const auto index = static_cast<int32_t>(IndexOf(sequence, number));
    const auto last = static_cast<int32_t>(Sequence::RoomOf(sequence.form_)) - 1;
    for (int32_t i = 0; i < last; ++i) {
      const uint32_t own = numbers[i];
      const uint32_t next = numbers[i + 1];
      numbers[i] = i < index ? own : next;
    }
    numbers[last] = Sequence::kNoNumber;
  }

  uint32_t CountBefore(const Sequence& sequence, const SequenceKey& key) const noexcept {
    return search_.CountBefore({NumbersOf(sequence), sequence.size_}, key);
  }

  void InsertAmongFew(Sequence& sequence, uint32_t number) {
    uint32_t* const numbers = NumbersOf(sequence);
    const SequenceKey key = members_.KeyOf(number);
    uint32_t* const end = numbers + sequence.size_;
    uint32_t* at = end;
    if (!sequence.empty() && key < members_.KeyOf(end[-1]))
      at = numbers + CountBefore(sequence, key);
    std::copy_backward(at, end, end + 1);
    *at = number;
  }

  // --- From form to form.

  // Has the same members in another form below kTree.
  Sequence Copy(std::span<const uint32_t> numbers, Form form) {
    Sequence copy;
    copy.size_ = static_cast<uint32_t>(numbers.size());
    copy.form_ = form;
    if (form != Form::kInline) {
      copy.array_ = ArraysOf(form).Allocate();
      array_bytes_ += BytesOf(form);
    }
    uint32_t* const end = std::ranges::copy(numbers, NumbersOf(copy)).out;
    std::fill(end, NumbersOf(copy) + Sequence::RoomOf(form), Sequence::kNoNumber);
    return copy;
  }

  void Free(const Sequence& sequence) noexcept {
    if (sequence.is_tree()) {
      tree_members_ -= sequence.size_;
      trees_.Clear(sequence.tree_);
    } else if (sequence.form_ != Form::kInline) {
      ArraysOf(sequence.form_).Free(sequence.array_);
      array_bytes_ -= BytesOf(sequence.form_);
    }
  }

  void Grow(Sequence& sequence) {
    const Sequence old = sequence;
    const std::span numbers(NumbersOf(old), old.size_);
    const auto larger = static_cast<Form>(static_cast<int>(old.form_) + 1);
    if (larger == Form::kTree) {
      for (const uint32_t number : numbers) members_.Prefetch(number);
      tree_members_ += numbers.size();
      sequence.form_ = larger;
      sequence.tree_ = trees_.Make(numbers);
    } else {
      sequence = Copy(numbers, larger);
    }
    Free(old);
  }

  void ShrinkIfFew(Sequence& sequence) {
    if (sequence.form_ == Form::kInline) return;
    const auto smaller = static_cast<Form>(static_cast<int>(sequence.form_) - 1);
    if (sequence.size_ > Sequence::RoomOf(smaller) * 3 / 4) return;
    std::array<uint32_t, kNumbersMax> numbers;
    uint32_t count = 0;
    for (; count < sequence.size_; ++count) numbers[count] = At(sequence, count);
    const Sequence old = sequence;
    sequence = Copy({numbers.data(), count}, smaller);
    Free(old);
  }

  Members& members_;
  SequenceSearch<Members> search_{members_};
  SequenceTrees<Members> trees_;
  std::array<Array, 6> arrays_;
  size_t array_bytes_ = 0;
  size_t tree_members_ = 0;
};

}  // namespace pleat::inline v0_1
