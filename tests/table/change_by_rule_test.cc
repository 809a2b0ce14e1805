// A table of words is saved while it changes. Whoever reads gets a word as const; whoever changes one
// gets it by a call that has kept it as it was, or that asserts so.
#include "engine/table/change_by_rule.h"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/stored.h>

#include "engine/fold/group_table.h"
#include "engine/live/series_table.h"
#include "engine/rollup/counter_table.h"
#include "engine/table/place_images.h"
#include "engine/table/side_array.h"
#include "engine/table/slab.h"

namespace pleat {
namespace {

class Words : public ChangeByRule<Words, uint64_t> {
 public:
  explicit Words(std::vector<uint64_t> words) : words_(std::move(words)) {}
  ~Words() { EndSave(); }

  void BeginSave() {
    images_ = std::make_unique<PlaceImages>(static_cast<uint32_t>(words_.size()), copies_);
  }
  std::vector<uint64_t> Saved() {
    FieldWriter out;
    while (!images_->at_end()) {
      images_->SaveStrip(out, [&](uint32_t place) { out(words_[place]); });
    }
    images_ = nullptr;
    FieldReader in(out.bytes());
    std::vector<uint64_t> saved(words_.size());
    for (uint64_t& word : saved) in(word);
    return saved;
  }

 private:
  friend class ChangeByRule<Words, uint64_t>;
  const uint64_t& EntryAt(uint32_t number) const noexcept { return words_[number]; }
  void KeepImageNow(uint32_t number) {
    if (images_->Has(number)) return;
    images_->Keep(number, [&](FieldWriter& out) { out(words_[number]); });
  }

  UncountedCopies copies_;
  std::vector<uint64_t> words_;
};

// Whether an entry, as a table shows it, can be written.
template <class Shown>
constexpr bool kCanBeWritten =
    !std::is_const_v<std::remove_pointer_t<std::remove_reference_t<Shown>>>;

TEST(ChangeByRule, ShowsEntriesAsConst) {
  static_assert(!kCanBeWritten<decltype(std::declval<Words&>().at(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<GroupTable&>().at(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<GroupTable&>().extra(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<GroupTable&>().state(0))>);
  static_assert(!kCanBeWritten<decltype(GroupTable::Entry::group)>);
  static_assert(!kCanBeWritten<decltype(std::declval<GroupTable::Parts&>().group)>);
  static_assert(!kCanBeWritten<decltype(std::declval<GroupTable::Parts&>().cold)>);
  static_assert(!kCanBeWritten<decltype(std::declval<CounterTable&>().at(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<CounterTable&>().window(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<CounterTable&>().AccountIn({}))>);
  static_assert(!kCanBeWritten<decltype(std::declval<MemberTable&>().at(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<MemberTable&>().payload(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<SeriesTable&>().at(0))>);
}

// Whether an entry of such a table, const or not, can be changed.
template <class Table>
constexpr bool kCanChange =
    requires(Table& table) { table.Change(0); } || requires(Table& table) { table.ChangeKept(0); };

TEST(ChangeByRule, ChangesNoEntryOfAConstTable) {
  static_assert(kCanChange<Words> && !kCanChange<const Words>);
  static_assert(kCanChange<GroupTable> && !kCanChange<const GroupTable>);
  static_assert(kCanChange<CounterTable> && !kCanChange<const CounterTable>);
  static_assert(kCanChange<MemberTable> && !kCanChange<const MemberTable>);
  static_assert(kCanChange<SeriesTable> && !kCanChange<const SeriesTable>);
}

TEST(ChangeByRule, ReadsTheBytesBelowAConstTableAsConst) {
  static_assert(kCanBeWritten<decltype(std::declval<Slab<int>&>().hot(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<const Slab<int>&>().hot(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<const Slab<int>&>().cold(0))>);
  static_assert(!kCanBeWritten<decltype(std::declval<const SideArray<int>&>()[0])>);
}

TEST(ChangeByRule, KeepsAnEntryAsItWasBeforeItsFirstChange) {
  Words words({1, 2, 3});
  words.BeginSave();
  words.Change(1) = 20;
  words.Change(1) = 21;
  words.ChangeKept(1) = 22;
  words.ChangeKept(1, words.at(1)) = 23;
  EXPECT_EQ(words.at(1), 23u);
  EXPECT_EQ(words.Saved(), (std::vector<uint64_t>{1, 2, 3}));
}

TEST(ChangeByRule, KeepsNothingWhileNothingIsSaved) {
  Words words({1, 2, 3});
  words.ChangeKept(0) = 10;
  words.Change(1) = 20;
  words.BeginSave();
  EXPECT_EQ(words.Saved(), (std::vector<uint64_t>{10, 20, 3}));
}

#ifndef NDEBUG
TEST(ChangeByRule, AChangeWithoutAnImageStopsADebugBuild) {
  Words words({1, 2, 3});
  words.BeginSave();
  words.Change(1);
  EXPECT_DEATH(words.ChangeKept(0) = 10, "check failed.*MayChange");
  EXPECT_DEATH(words.ChangeKept(2, words.at(2)) = 30, "check failed.*MayChange");
  EXPECT_DEATH(words.ChangeKept(1, words.at(2)) = 30, "check failed.*found == &at");
}
#endif

}  // namespace
}  // namespace pleat
