// A Collection is one book in each partition, of any kind, and the way of a call to the right books.
// A book comes with the first event of its partition, so that a collection without events costs
// next to nothing. OutboxCollection adds what collections that emit have in common.
//
// Thread safety: any thread, any time. A call locks its partition, or several in index order;
// whatever changes a book goes through Partition::Do().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <pleat/batch.h>
#include <pleat/emission.h>
#include <pleat/untyped/companion.h>

#include "engine/base/book.h"
#include "engine/core/description.h"
#include "engine/core/engine_core.h"
#include "engine/core/source_positions.h"
#include "engine/partition/partition.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

struct Statistic;

class Collection {
 public:
  Collection(EngineCore& engine, std::string_view name);
  virtual ~Collection() = default;
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  // How leases call the collection. Once, before anything else.
  void SetNumber(uint32_t number) noexcept { number_ = number; }

  // Takes the books out of the partitions and tells who listens. Waits for the calls under way;
  // later calls find no book.
  void Close();
  bool closed() const noexcept { return closed_.load(); }
  const std::string& name() const noexcept { return name_; }
  // Whether it is an OutboxCollection.
  virtual bool emits() const noexcept { return false; }

  SourcePositions& source_positions() noexcept { return positions_; }

  // --- Snapshots

  // By default a collection cannot be part of one.
  virtual Description Describe() const {
    Description none;
    none.stored = false;
    return none;
  }
  // The fields that a version of the users' type has.
  virtual std::string ShapeOf(uint32_t /*version*/) const { return {}; }
  // The state of the collection beside its books. All partitions are locked.
  virtual void SaveShared(FieldWriter&) const {}
  virtual void LoadShared(FieldReader&) {}
  // False if there is one.
  bool SetCompanion(std::shared_ptr<Companion> companion) {
    if (companion_ == nullptr) companion_.swap(companion);
    return companion == nullptr;
  }
  // Null: there is none.
  const std::shared_ptr<Companion>& companion() const noexcept { return companion_; }
  // The statistics of the collection, for lists and metrics: see StatisticList. By default none.
  virtual std::vector<Statistic> Statistics();
  // The memory that all books have.
  size_t held_bytes();
  // Open groups, held members, users, counters, by partition. All partitions are locked.
  virtual std::vector<uint64_t> CountEntries() const { return {}; }
  // Describe(), SaveShared() and LoadShared(), each with the companion's part.
  Description DescribeAll() const;
  void SaveAll(FieldWriter& out) const;
  void LoadAll(FieldReader& in);
  // Makes the book of a partition, and has it take what was saved. REQUIRES: the partition is
  // locked, and there is no book.
  void LoadBook(size_t partition, FieldReader& in, const Partition::Moment& cut,
                uint64_t skip_numbers);
  // What differs from the options of a snapshot: from here to EndTakeOver() books are made by the
  // options that `then` has, and LoadBook() then changes them to our own, at `position`, as
  // SetOptions() would have at the cut. Errors: kFailedPrecondition for an option that cannot
  // change beside others, kDataLoss for values that are none. `name`: of the snapshot.
  absl::Status BeginTakeOver(const Description& then, uint64_t position);
  // How many positions a change of options takes: for what comes back, and for what ends.
  static constexpr uint64_t kPositionsOfChange = 2;
  void EndTakeOver();
  // Drops all books, as if there had been no event.
  void DropBooks();
  uint32_t number() const noexcept { return number_; }

  // Has every book check its invariants. For tests.
  void CheckWhole();

 protected:
  // A partition and our book there, which the partition owns and guards.
  struct Home {
    Partition* partition;
    Book* book = nullptr;  // none before the first event, and none once we are closed
  };

  // The options of `then` that our own have changed since hold for new books; then, without an
  // argument, our own again.
  virtual absl::Status UseOptionsOf(const Description& /*then*/) { return absl::OkStatus(); }
  virtual void UseOwnOptions() {}
  // A book of the options of before goes over to our own; then all of them have.
  virtual void SetOptionsOf(Book& /*book*/, int /*partition*/, const Instant& /*at*/) {}
  virtual void HaveSetOptions() {}
  // SetOptions() of a kind, whose options are in range. Under the lock of the engine's list no
  // snapshot begins, nobody else changes options, and nobody closes the collection: then `fixed()`
  // names an option that differs and cannot change, if there is one. If not, all partitions are
  // locked, `take()` makes the options our own, and every book goes over to them.
  absl::Status ChangeOptions(absl::FunctionRef<std::string_view()> fixed,
                             absl::FunctionRef<void()> take);

  // A new book for this partition.
  virtual std::unique_ptr<Book> MakeBook(int partition) = 0;
  // Tells who listens to this partition that the collection is closed. Under its lock.
  virtual void TellOfClose(int /*partition*/) {}

  EngineCore& engine() noexcept { return engine_; }
  const EngineCore& engine() const noexcept { return engine_; }
  Home& HomeOf(const PackedKey& key) noexcept { return homes_[engine_.IndexOfPartition(key)]; }
  Home& home(size_t partition) noexcept { return homes_[partition]; }
  size_t home_count() const noexcept { return homes_.size(); }
  uint64_t HashOf(const PackedKey& key) const noexcept { return key.HashWith(engine_.hash_key()); }

  // For an event: null once we are closed.
  Book* BookFor(Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    if (home.book == nullptr) [[unlikely]]
      AddNewBook(home);
    return home.book;
  }

  // Applies `change(at)` to the book at the present, or at `now`.
  template <class Change>
  auto Do(const Home& home, const Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    return Do(home, engine_.timeline().now(), change);
  }
  template <class Change>
  auto Do(const Home& home, EngineTime now, const Change& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    const Partition::Copied copied = home.partition->CopyFirst();
    Timeline& timeline = engine_.timeline();
    return home.partition->Do(copied, *home.book, now, timeline.lease_now(),
                              timeline.TakePositions(1), change);
  }
  // Applies `change(book, partition, at)` to each book, all with one time and position. REQUIRES: all
  // partitions are locked.
  template <class BookT, class Change>
  void DoInEach(EngineTime now, LeaseTime leases, uint64_t position,
                const Change& change) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (size_t i = 0; i < homes_.size(); ++i) {
      const Home& home = homes_[i];
      if (home.book == nullptr) continue;
      home.partition->Do(home.partition->CopyFirst(), *home.book, now, leases, position,
                         [&](const Instant& at) {
                           change(static_cast<BookT&>(*home.book), static_cast<int>(i), at);
                         });
    }
  }

  // A key that is too long is not worth hashing; any partition can count it.
  template <class BookT>
  typename BookT::Outcome CountTooLong() {
    using Outcome = typename BookT::Outcome;
    Home& first = home(0);
    LockGuard guard(first.partition->lock());
    if (first.partition->stopped() || BookFor(first) == nullptr) return Outcome::kStopped;
    return Do(first, [&](const Instant& at) {
      return static_cast<BookT*>(first.book)->Refuse(Outcome::kOverLimit, at);
    });
  }

  template <class BookT, class Get>
  std::vector<uint64_t> CountInBooks(const Get& get) const {
    std::vector<uint64_t> counts;
    counts.reserve(homes_.size());
    for (const Home& each : homes_) {
      counts.push_back(each.book == nullptr ? 0 : get(static_cast<const BookT&>(*each.book)));
    }
    return counts;
  }
  // Calls `scan(home, place)` for the books from the cursor on, each under its lock, which moves
  // `place` and returns whether that was all of the book. Returns whether there is more.
  template <class Scan>
  bool ScanBooks(ScanCursor& cursor, const Scan& scan) {
    for (; cursor.partition < engine_.partition_count(); ++cursor.partition) {
      const Home& home = homes_[static_cast<size_t>(cursor.partition)];
      LongLockGuard guard(home.partition->lock());
      if (home.book != nullptr && !scan(home, cursor.place)) return true;
      cursor.place = 0;
    }
    return false;
  }
  // The sum of `count(book)` of all books, each at one instant.
  template <class BookT, class Count>
  auto Sum(const Count& count) {
    decltype(count(std::declval<const BookT&>())) sum{};
    for (const Home& home : homes_) {
      LockGuard guard(home.partition->lock());
      if (home.book != nullptr) sum += count(static_cast<const BookT&>(*home.book));
    }
    return sum;
  }
  PartitionRange Clip(PartitionRange range) const noexcept;
  // A batch whose caller has not left room for each outcome ends the program.
  static void CheckRoom(std::string_view verb, size_t events, size_t outcomes);
  // For calls that must see one instant in several partitions: their locks, taken in index order
  // and held for long.
  void LockRange(PartitionRange range) noexcept;
  void HandOverRange(PartitionRange range) noexcept;

 private:
  void ChangeBooks(absl::FunctionRef<void()> take);
  void AddBook(Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock());
  void AddNewBook(Home& home) ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock());

  EngineCore& engine_;
  const std::string name_;
  SourcePositions positions_;
  uint32_t number_ = 0;
  std::shared_ptr<Companion> companion_;
  std::atomic<bool> closed_ = false;
  std::optional<uint64_t> takes_over_at_;  // between BeginTakeOver() and EndTakeOver()
  // By partition, whose lock guards them. Never resized.
  std::vector<Home> homes_;
};

// Partition `i`'s share of `total`, such that all shares add up to it.
constexpr size_t ShareOf(size_t total, int i, int partitions) noexcept {
  const auto n = static_cast<size_t>(partitions);
  return total / n + (static_cast<size_t>(i) < total % n ? 1 : 0);
}
// Makes limits those of partition `i`.
inline void CutToShares(std::initializer_list<size_t*> limits, int i, int partitions) noexcept {
  for (size_t* const limit : limits) *limit = ShareOf(*limit, i, partitions);
}

}  // namespace pleat::inline v0_1
