// While a book is saved, an image is kept of what changes, and of nothing else. Counted in allocations:
// the images of many groups take many.
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/stored.h>

#include "engine/base/hash.h"
#include "engine/fold/fold_book.h"
#include "engine/partition/partition.h"
#include "tests/support/allocations.h"
#include "tests/support/start.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

constexpr size_t kGroups = 10'000;
// What a few images take, and what else there is to keep; those of all groups take more than 400.
constexpr size_t kFew = 60;

struct Hit {};
struct Hits {
  uint64_t count = 0;
  void Fold(const Hit&) noexcept { ++count; }
  template <class F>
  void Stored(F& f) {
    f(count);
  }
};

// A book of kGroups groups that are open for an hour.
class BookOfMany {
 public:
  explicit BookOfMany(FolderOptions options) : partition_(schedule_, leases_) {
    options.quiet_period = 1h;
    options.max_wait = kForever;
    options.limits.max_groups = kGroups;
    options.limits.on_limit = OnLimit::kEmitOldest;
    book_.emplace(pool_, options,
                  FoldBook::Setting{.ops = ops_,
                                    .hash_key = hash_key_,
                                    .name_key = hash_key_,
                                    .on_arrival = true,
                                    .measure = {}},
                  0, listeners_);
    for (size_t i = 0; i < kGroups; ++i) Fold("key" + std::to_string(i));
  }

  FoldBook& book() { return *book_; }
  template <class Change>
  auto Do(const Change& change) {
    LockGuard guard(partition_.lock());
    return partition_.DoOneOfMany(partition_.CopyFirst(), *book_, now_, LeaseTime(now_),
                                  position_++, change);
  }
  void Fold(const std::string& key) {
    const PackedKey packed(key);
    const Hit hit;
    const EventRef event{packed, packed.HashWith(hash_key_), &hit, now_};
    Do([&](const Instant& at) { return book_->FoldSlowly(event, book_->Find(event), at); });
  }
  void Advance(Duration by) {
    now_ += by;
    Budget budget;
    Do([&](const Instant& at) { return book_->CloseDue(at, budget); });
  }

 private:
  const StateOps ops_ = StateOpsFor<Hit, Hits>();
  const HashKey hash_key_ = MakeHashKey(1, 2);
  EngineTime now_ = kT0;
  uint64_t position_ = 0;
  PagePool pool_;
  Schedule schedule_{Schedule::Clock::kEngine};
  Schedule leases_{Schedule::Clock::kLeases};
  Partition partition_;
  const Outbox::Listeners listeners_;
  std::optional<FoldBook> book_;
};

class Images : public testing::Test {
 protected:
  void SetUp() override {
    if (!CountsAllocations()) GTEST_SKIP() << "nothing is counted here";
  }
  // How many allocations `call` makes while the book is saved.
  template <class Call>
  size_t WhileSaving(BookOfMany& book, const Call& call) {
    EXPECT_EQ(book.book().ledger().open, kGroups);
    book.book().BeginSave(out_, copies_);
    const size_t before = AllocationCount();
    call();
    const size_t after = AllocationCount();
    book.book().EndSave();
    return after - before;
  }

 private:
  FieldWriter out_;
  UncountedCopies copies_;
};

// At a limit, the next instants of all grids matter, also of groups that have not changed for long.
TEST_F(Images, OfGroupsThatAreOnlyCalledAtALimitThereAreNone) {
  BookOfMany book({.partial_every = 1min});
  BookOfMany other({.partial_every = 1min});
  for (BookOfMany* each : {&book, &other}) {
    each->Advance(1min);  // each group has its partial
    each->Advance(5min);
  }
  const size_t before = AllocationCount();
  other.Fold("another");
  const size_t unsaved = AllocationCount() - before;
  EXPECT_LE(WhileSaving(book, [&] { book.Fold("another"); }), unsaved + kFew);
  EXPECT_EQ(book.book().ledger(), other.book().ledger());
  book.book().CheckWhole();
}

// With a grid, all groups are called before the first one ends.
TEST_F(Images, ComeOneByOneWhenAllGroupsClose) {
  FolderOptions plain;
  FolderOptions corrects{.late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect}};
  FolderOptions partials{.partial_every = 1min};
  for (const FolderOptions& options : {plain, corrects, partials}) {
    BookOfMany book(options);
    const size_t allocated = WhileSaving(book, [&] {
      book.Do([&](const Instant& at) { return book.book().BeginClosing(at), 0; });
      EXPECT_EQ(book.Do([&](const Instant& at) {
        return book.book().NextHandout(at, /*lends=*/false).what();
      }),
                Handout::What::kReady);
    });
    EXPECT_LE(allocated, kFew);
    book.Do([&](const Instant& at) { return book.book().FinishClosing(at), 0; });
    EXPECT_EQ(book.book().ledger().open, 0u);
    book.book().CheckWhole();
  }
}

}  // namespace
}  // namespace pleat
