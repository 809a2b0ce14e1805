// The rule of a table that can be saved while it changes: an entry is kept as it was before it
// changes (see PlaceImages). Example: a snapshot is being taken, and an event finds a group that is
// not written yet. The snapshot needs the group as it was before the event.
//
// So a table shows its entries as const, and whoever changes one gets it by one of two calls:
//
//   at(n)          to read.
//   Change(n)      to change. Keeps the image, if a snapshot is being taken that still needs it.
//   ChangeKept(n)  to change, where nothing is left to keep: because of a Change() before, or because
//                  the entry is new or was in no image. Asserts that, and costs a release nothing.
//
// What is saved with an entry, but lies elsewhere, is reached through it and is as const as it is:
// ExtraOf(const Group&) to read, ExtraOf(Group&) to change. A table with entries of a second kind
// has the same calls for these, with the kind behind: ChangeWindow(n), ChangeKeptWindow(n). Calls of
// a table that change an entry by its number keep the image themselves, where they do not say
// "REQUIRES: ChangeKept() is possible".
//
// What no image shows, such as a place in an index, changes without. Where an entry begins or ends,
// the table calls KeepNothing(n) or KeepImage(n).
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/check.h"
#include "engine/table/place_images.h"

namespace pleat::inline v0_1 {

// A base of `Table`, which makes `images_` when its saving begins. The table has, for this class:
//   const Entry& EntryAt(number) const  where it lies
//   void KeepImageNow(number)           while it is being saved: keeps an image if none is kept yet
// `Images`: PlaceImages, or what has its Has() and KeepNothing().
template <class Table, class Entry, class Images = PlaceImages>
class ChangeByRule {
 public:
  // REQUIRES, of all: the entry lives. Those to change are always inline, so that their callers stay
  // as small to the compiler as they are: a result that is dropped costs nothing.
  const Entry& at(uint32_t number) const noexcept { return table().EntryAt(number); }
  [[gnu::always_inline]] Entry& Change(uint32_t number) {
    KeepImage(number);
    return EntryToChange(number);
  }
  [[gnu::always_inline]] Entry& ChangeKept(uint32_t number) noexcept {
    PLEAT_DCHECK(table().MayChange(number));
    return EntryToChange(number);
  }
  // The same for a caller that has found the entry: `found` is at(number).
  [[gnu::always_inline]] Entry& ChangeKept([[maybe_unused]] uint32_t number,
                                           const Entry& found) noexcept {
    PLEAT_DCHECK(&found == &at(number) && table().MayChange(number));
    return const_cast<Entry&>(found);  // the bytes are the table's
  }

  bool saving() const noexcept { return images_ != nullptr; }
  // Gives up what is not written yet.
  void EndSave() noexcept { images_ = nullptr; }

 private:
  friend Table;
  ChangeByRule() = default;
  ~ChangeByRule() = default;

  // For the table itself. Before an entry changes or ends:
  [[gnu::always_inline]] void KeepImage(uint32_t number) {
    if (images_ != nullptr) [[unlikely]]
      table().KeepImageNow(number);
  }
  // Before one begins: it was not there at the cut.
  [[gnu::always_inline]] void KeepNothing(uint32_t number) {
    if (images_ != nullptr) [[unlikely]]
      images_->KeepNothing(number);
  }
  bool IsKept(uint32_t number) const noexcept { return images_ == nullptr || images_->Has(number); }
  // Whether nothing is left to keep.
  bool MayChange(uint32_t number) const noexcept { return IsKept(number); }
  // What no image shows, such as a place in a sequence.
  [[gnu::always_inline]] Entry& EntryToChange(uint32_t number) noexcept {
    return const_cast<Entry&>(at(number));
  }
  Table& table() noexcept { return static_cast<Table&>(*this); }
  const Table& table() const noexcept { return static_cast<const Table&>(*this); }

  std::unique_ptr<Images> images_;  // null: nothing is being saved
};

}  // namespace pleat::inline v0_1
