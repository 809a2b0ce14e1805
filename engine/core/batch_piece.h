// A BatchPiece folds up to 256 events as one. Alone, a fold spends most of its time waiting for two
// cache lines, one after the other, and the lock's two atomic instructions keep the processor from
// waiting for several folds' lines at once. A piece overlaps them:
//
//   1. Before any lock: hashes every key; carries the watermark through the events in input order,
//      so that each is folded at its own time; reserves their positions.
//   2. Sorts the events by partition, in input order within each, and cuts them into strips of at
//      most 32 events of one partition.
//   3. Takes the strips through a pipeline of three stages, each one strip behind the stage before
//      that one: fetch the index lines, fetch the groups' lines, fold. (Long keys have a third line,
//      which is fetched for the whole strip just before folding. A live window, whose events may all
//      be of one partition with a large index, also fetches the lines that say where the index
//      lines are. And it leaves the old places of the members that it refreshes to the end of the
//      strip, when their lines have come.)
//
// A partition is locked from the first stage of its first strip to the last stage of its last one,
// so three are held at a time. They are only tried while others are held; strips whose partition
// was busy go through the pipeline again, whose first lock, when none is held, may be waited for.
// So two batches can neither deadlock nor queue up behind each other. Each piece starts at another
// partition, because two that start at the same one would meet all the way.
//
// The result does not depend on any of this: within a partition the order is that of the input, and
// nothing but time and position, which every event brings along, leaks from one to the other.
//
// BatchPlan is steps 1 and 2, the same for every kind of book; BatchPiece is step 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <pleat/any_folder.h>
#include <pleat/outcome.h>

#include "engine/core/engine_core.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

class BatchPlan {
 public:
  static constexpr size_t kEventsMax = 256;

  // Events of one partition: those at the places [begin, end) of the plan.
  struct Strip {
    uint16_t partition;
    uint16_t begin;
    uint16_t end;
    bool goes_on;  // the strip before is of the same partition
    bool ends;     // the strip after is not
    bool locked;   // by us; if not, somebody else had it
  };
  enum class Fate : uint8_t { kFold, kTooLong, kFuture };

  // REQUIRES: `batch` holds 1 to kEventsMax events. Events of partitions outside `only` are left
  // alone.
  template <class Book>
  BatchPlan(EngineCore& engine, const AnyBatch& batch, PartitionRange only, const Book*)
      : batch_(batch), time_before_(engine.timeline().now()) {
    PLEAT_DCHECK(batch.size > 0 && batch.size <= kEventsMax);
    Look<Book>(engine);
    Sort(engine, only);
  }

  // How many events are to be folded: those of `only`. They stand at the places 0 to size() - 1.
  size_t size() const noexcept { return sorted_; }
  // Where the event at a place stands in the batch; also of those that are left alone.
  size_t EventAt(size_t place) const noexcept { return order_[place]; }

  // Of the event `i` of the batch.
  Fate fate(size_t i) const noexcept { return fates_[i]; }
  uint64_t hash(size_t i) const noexcept { return hashes_[i]; }
  EngineTime time(size_t i) const noexcept { return times_[i]; }
  uint64_t position(size_t i) const noexcept { return first_position_ + i; }
  EventRef Event(size_t i) const noexcept {
    return {keys_[i], hashes_[i], batch_.EventOf(i), Clamp(batch_.AtOf(i))};
  }

  size_t strip_count() const noexcept { return strip_count_; }
  Strip& strip(size_t index) noexcept { return strips_[index]; }
  // Keeps the strips that were not folded because their partition was busy, and returns how many.
  size_t KeepBusyStrips();

  bool any_long_key() const noexcept { return any_long_key_; }
  EngineTime time_before() const noexcept { return time_before_; }

 private:
  template <class Book>
  void Look(EngineCore& engine);
  void Sort(const EngineCore& engine, PartitionRange only);
  void SortByPartition(size_t partitions);
  void KeepOnly(PartitionRange only);
  void CutIntoStrips();

  const AnyBatch& batch_;
  EngineTime time_before_;
  uint64_t first_position_ = 0;
  bool any_long_key_ = false;
  size_t sorted_ = 0;
  size_t strip_count_ = 0;
  std::array<Strip, kEventsMax> strips_;
  std::array<PackedKey, kEventsMax> keys_;
  std::array<uint64_t, kEventsMax> hashes_;
  std::array<EngineTime, kEventsMax> times_;
  std::array<uint16_t, kEventsMax> partitions_;
  std::array<uint16_t, kEventsMax> order_;
  std::array<Fate, kEventsMax> fates_;
};

// Everything that can be known without a lock.
template <class Book>
void BatchPlan::Look(EngineCore& engine) {
  const HashKey& hash_key = engine.hash_key();
  Timeline& timeline = engine.timeline();
  EngineTime now = time_before_;
  for (size_t i = 0; i < batch_.size; ++i) {
    const std::string_view key = batch_.KeyOf(i);
    fates_[i] = Fate::kFold;
    if (key.size() > kKeyBytesMax) [[unlikely]] {
      keys_[i] = PackedKey();
      fates_[i] = Fate::kTooLong;
    } else {
      keys_[i] = PackedKey(key);
      any_long_key_ |= keys_[i].is_long();
      if (Book::IsTooLong(batch_.EventOf(i))) [[unlikely]]
        fates_[i] = Fate::kTooLong;
      else if (!timeline.ObserveAfter(Clamp(batch_.AtOf(i)), now))
        fates_[i] = Fate::kFuture;
    }
    times_[i] = now;
    if (Book::kKeysRepeat && i > 0 && keys_[i] == keys_[i - 1]) {
      hashes_[i] = hashes_[i - 1];
      partitions_[i] = partitions_[i - 1];
    } else {
      hashes_[i] = keys_[i].HashWith(hash_key);
      partitions_[i] = static_cast<uint16_t>(engine.IndexOfPartition(keys_[i]));
    }
  }
  first_position_ = timeline.TakePositions(batch_.size);
}

// `Keyed` is a KeyedCollection, and gives the books.
template <class Keyed>
class BatchPiece {
 public:
  using Book = typename Keyed::BookType;
  using Outcome = typename Book::Outcome;
  using Counts = typename Book::Counts;

  // REQUIRES: as BatchPlan; `outcomes` is null or as long as the batch.
  BatchPiece(Keyed& collection, const AnyBatch& batch, Outcome* outcomes, PartitionRange only)
      : collection_(collection),
        engine_(collection.engine()),
        plan_(engine_, batch, only, static_cast<const Book*>(nullptr)),
        size_(batch.size),
        leases_(engine_.timeline().lease_now()),
        outcomes_(outcomes),
        time_(plan_.time_before()) {}

  void Fold(Counts& counts) {
    AnswerOutOfRange();
    if (plan_.size() > 0) {
      RunPipeline(/*waits=*/false);
      while (plan_.KeepBusyStrips() > 0) RunPipeline(/*waits=*/true);
    }
    if (engine_.timeline().axis() == Axis::kEvent) engine_.timeline().Raise(time_);
    for (size_t i = 0; i < counts_.size(); ++i) counts.Add(static_cast<Outcome>(i), counts_[i]);
  }

 private:
  using Strip = BatchPlan::Strip;

  // Events of partitions outside the range move time as those that are folded do.
  void AnswerOutOfRange() {
    const bool stopped = engine_.stopped() || collection_.closed();
    for (size_t place = plan_.size(); place < size_; ++place) {
      const size_t i = plan_.EventAt(place);
      if (outcomes_ != nullptr) outcomes_[i] = Outcome::kElsewhere;
      if (!stopped) time_ = std::max(time_, plan_.time(i));
    }
    counts_[static_cast<size_t>(Outcome::kElsewhere)] += size_ - plan_.size();
  }

  // Folds the strips whose partitions are free; with `waits`, the first one at any rate.
  void RunPipeline(bool waits) {
    const size_t count = plan_.strip_count();
    for (size_t step = 0; step < count + 2; ++step) {
      if (step < count) FetchIndex(step, waits && step == 0);
      if (step - 1 < count) FetchGroups(step - 1);
      if (step >= 2) FoldStrip(step - 2);
    }
  }

  void FetchIndex(size_t index, bool waits) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Strip& strip = plan_.strip(index);
    Partition& partition = engine_.partition(strip.partition);
    if (strip.goes_on) {
      strip.locked = plan_.strip(index - 1).locked;
    } else if (waits) {
      partition.lock().lock();
      strip.locked = true;
    } else {
      strip.locked = partition.lock().try_lock();
    }
    if (!strip.locked) return;
    Book* const book = partition.stopped() ? nullptr : collection_.BookOf(strip.partition);
    books_[index] = book;
    if (book == nullptr) return;
    if constexpr (Book::kKeysRepeat) {
      for (size_t place = strip.begin; place < strip.end; ++place) {
        const size_t i = plan_.EventAt(place);
        book->PrefetchDirectory(plan_.Event(i), guesses_[i]);
      }
    }
    for (size_t place = strip.begin; place < strip.end; ++place) {
      const size_t i = plan_.EventAt(place);
      book->PrefetchIndex(plan_.Event(i), guesses_[i]);
    }
  }

  void FetchGroups(size_t index) {
    const Strip& strip = plan_.strip(index);
    if (!strip.locked || books_[index] == nullptr) return;
    for (size_t place = strip.begin; place < strip.end; ++place) {
      const size_t i = plan_.EventAt(place);
      books_[index]->PrefetchEntry(plan_.Event(i), guesses_[i]);
    }
  }

  void FoldStrip(size_t index) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const Strip& strip = plan_.strip(index);
    if (!strip.locked) return;
    Partition& partition = engine_.partition(strip.partition);
    Book* const book = books_[index];
    const Partition::Copied copied = partition.CopyFirst();
    if ((Book::kPrefetchesRest || plan_.any_long_key()) && book != nullptr) {
      for (size_t place = strip.begin; place < strip.end; ++place) {
        book->PrefetchRest(guesses_[plan_.EventAt(place)]);
      }
    }
    bool publish = false;  // a deadline may be earlier: some event was not plain
    for (size_t place = strip.begin; place < strip.end; ++place) {
      const size_t i = plan_.EventAt(place);
      const Outcome outcome =
          book == nullptr ? Outcome::kStopped : FoldEvent(partition, copied, *book, i, publish);
      ++counts_[static_cast<size_t>(outcome)];
      if (outcomes_ != nullptr) outcomes_[i] = outcome;
    }
    if (book != nullptr) EndStrip(partition, copied, *book, plan_.EventAt(strip.end - 1U));
    if (publish && book != nullptr) partition.Publish(*book);
    if (strip.ends) partition.lock().unlock();
  }

  // `last`: the last event of the strip.
  void EndStrip(Partition& partition, Partition::Copied copied, Book& book,
                size_t last) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    partition.DoOneOfMany(copied, book, plan_.time(last), leases_, plan_.position(last),
                          [&](const Instant& at) { book.Settle(at); });
    time_ = std::max(time_, plan_.time(last));
  }

  // `publish` becomes true if a deadline may be earlier.
  Outcome FoldEvent(Partition& partition, Partition::Copied copied, Book& book, size_t i,
                    bool& publish) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto apply = [&](const auto& change) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return partition.DoOneOfMany(copied, book, plan_.time(i), leases_, plan_.position(i), change);
    };
    if (plan_.fate(i) != BatchPlan::Fate::kFold) [[unlikely]] {
      const bool future = plan_.fate(i) == BatchPlan::Fate::kFuture;
      const Outcome why = future ? Outcome::kFuture : Outcome::kOverLimit;
      return apply([&](const Instant& at) { return book.Refuse(why, at); });
    }
    const EventRef event = plan_.Event(i);
    const auto entry = book.Find(event, guesses_[i]);
    if (apply([&](const Instant& at) { return book.FoldPlainly(event, entry, at); })) [[likely]] {
      return Book::kPlain;
    }
    publish = true;
    return apply([&](const Instant& at) { return book.FoldSlowly(event, entry, at); });
  }

  Keyed& collection_;
  EngineCore& engine_;
  BatchPlan plan_;
  const size_t size_;
  const LeaseTime leases_;
  Outcome* const outcomes_;
  std::array<size_t, Book::kOutcomes> counts_{};  // by Outcome
  EngineTime time_;  // where the events carry the engine's time, as far as they were folded
  std::array<Book*, BatchPlan::kEventsMax> books_;  // by strip; null: nothing is folded any more
  std::array<typename Book::Guess, BatchPlan::kEventsMax> guesses_;
};

}  // namespace pleat::inline v0_1
