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
//      which is fetched for the whole strip just before folding. A live set, whose events may all
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
// BatchPlan is step 2, the same for every kind of book; BatchPiece is the rest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <pleat/outcome.h>
#include <pleat/untyped/any_folder.h>

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

  // Events of partitions outside `only` are left alone.
  explicit BatchPlan(PartitionRange only)
      : first_(static_cast<uint16_t>(only.begin)),
        buckets_(static_cast<uint16_t>(only.empty() ? 0 : only.end - only.begin)) {}

  // The partition of event `i`.
  void SetPartition(size_t i, size_t partition) noexcept {
    const size_t bucket = partition - first_;
    bucket_of_[i] = static_cast<uint16_t>(std::min<size_t>(bucket, buckets_));
  }
  void SetPartitionAsBefore(size_t i) noexcept { bucket_of_[i] = bucket_of_[i - 1]; }
  // Makes the strips of `size` events. All batches begin with another one, by `turn`.
  void Sort(size_t size, size_t turn);
  // The same if all events are of the first partition: they stay where they are.
  void KeepOrder(size_t size, size_t turn);

  // How many events are to be folded: those of `only`. They stand at the places 0 to size() - 1.
  size_t size() const noexcept { return sorted_; }
  // Behind Sort(): which event stands at a place; also of those that are left alone.
  size_t EventAt(size_t place) const noexcept { return order_[place]; }

  size_t strip_count() const noexcept { return strip_count_; }
  Strip& strip(size_t index) noexcept { return strips_[index]; }
  // Keeps the strips that were not folded because their partition was busy, and returns how many.
  size_t KeepBusyStrips();

 private:
  void SortManyBuckets(size_t size);
  void AddStrips(size_t bucket, size_t begin, size_t end);
  void StartAt(size_t turn);

  // A bucket holds the events of a partition; the last one those that are left alone.
  const uint16_t first_;
  const uint16_t buckets_;  // but for the last one
  size_t sorted_ = 0;
  size_t strip_count_ = 0;
  std::array<Strip, kEventsMax> strips_;
  std::array<uint16_t, kEventsMax> bucket_of_;
  std::array<uint16_t, kEventsMax> order_;
};

// `Keyed` is a KeyedCollection, and gives the books. `Times` gives the time of each event: those of a
// batch carry the engine's time, which the piece moves at its end; those of an intake have theirs, and
// the intake moves it (timed_piece.h).
template <class Keyed, class Times = Timeline::Carried>
class BatchPiece {
 public:
  using Book = typename Keyed::BookType;
  using Outcome = typename Book::Outcome;
  using Counts = typename Book::Counts;

  // REQUIRES: `batch` holds 1 to BatchPlan::kEventsMax events; `outcomes` is null or as long.
  BatchPiece(Keyed& collection, const AnyBatch& batch, Outcome* outcomes, PartitionRange only)
      : BatchPiece(collection, batch, outcomes, only, collection.engine().timeline()) {}

  BatchPiece(Keyed& collection, const AnyBatch& batch, Outcome* outcomes, PartitionRange only,
             const typename Times::Source& times)
      : collection_(collection),
        engine_(collection.engine()),
        plan_(only),
        size_(batch.size),
        leases_(engine_.timeline().lease_now()),
        outcomes_(outcomes),
        time_(engine_.timeline().now()) {
    PLEAT_DCHECK(size_ > 0 && size_ <= BatchPlan::kEventsMax);
    if (engine_.partition_count() == 1 && !only.empty()) {
      Look</*kOnePartition=*/true>(batch, times);
      plan_.KeepOrder(size_, Turn());
    } else {
      Look</*kOnePartition=*/false>(batch, times);
      plan_.Sort(size_, Turn());
      for (size_t place = 0; place < size_; ++place) sorted_[place] = &lanes_[plan_.EventAt(place)];
    }
  }

  void Fold(Counts& counts) {
    AnswerOutOfRange();
    if (plan_.size() > 0) {
      RunPipeline(/*waits=*/false);
      while (plan_.KeepBusyStrips() > 0) RunPipeline(/*waits=*/true);
    }
    if constexpr (Times::kMovesEngine) {
      if (engine_.timeline().axis() == Axis::kEvent) engine_.timeline().Raise(time_);
    }
    for (size_t i = 0; i < counts_.size(); ++i) counts.Add(static_cast<Outcome>(i), counts_[i]);
  }

 private:
  using Strip = BatchPlan::Strip;

  // An event, and what is known of it without a lock.
  struct Lane {
    EventRef event;
    EngineTime time;  // the engine's, with this event and those before it
    Outcome fate;     // kPlain unless it goes no further
    typename Book::Guess guess;
  };

  size_t Turn() const noexcept { return first_position_ / BatchPlan::kEventsMax; }
  Lane& LaneAt(size_t place) noexcept { return *sorted_[place]; }
  size_t NumberOf(const Lane& lane) const noexcept {
    return static_cast<size_t>(&lane - lanes_.data());
  }
  uint64_t PositionOf(const Lane& lane) const noexcept { return first_position_ + NumberOf(lane); }
  void Answer(const Lane& lane, Outcome outcome) noexcept {
    if (outcomes_ != nullptr) outcomes_[NumberOf(lane)] = outcome;
  }

  // Everything that can be known without a lock.
  template <bool kOnePartition>
  void Look(const AnyBatch& batch, const typename Times::Source& times) {
    Times time(times);
    const HashKey hash_key = engine_.hash_key();
    const EngineCore::Partitioning partitioning = engine_.partitioning();
    AnyBatch rest = batch;
    const size_t size = size_;
    for (size_t i = 0; i < size; ++i, rest.RemovePrefix(1)) {
      Lane& lane = lanes_[i];
      if (kOnePartition) sorted_[i] = &lane;
      const std::string_view key = rest.KeyOf(0);
      const void* const event = rest.EventOf(0);
      EngineTime at = rest.AtOf(0);
      Outcome fate = Book::kPlain;
      PackedKey packed;
      if (key.size() <= PackedKey::kInlineBytesMax) [[likely]] {
        packed = PackedKey::Short(key);
      } else if (key.size() <= kKeyBytesMax) {
        any_long_key_ = true;
        packed = PackedKey(key);
      } else {
        fate = Outcome::kOverLimit;
      }
      if (Book::IsTooLong(event)) [[unlikely]]
        fate = Outcome::kOverLimit;
      if (fate != Book::kPlain) [[unlikely]] {
        time.PassOver(at);
      } else if (!time.Observe(at)) [[unlikely]] {
        fate = Outcome::kFuture;
      }
      lane.fate = fate;
      lane.time = time.now();
      const Lane* const before = i == 0 ? nullptr : &lane - 1;
      if (Book::kKeysRepeat && before != nullptr && packed == before->event.key) {
        std::construct_at(&lane.event, EventRef{packed, before->event.hash, event, at});
        if (!kOnePartition) plan_.SetPartitionAsBefore(i);
      } else {
        const uint64_t hash = packed.ShortHashWith(hash_key);  // see below
        std::construct_at(&lane.event, EventRef{packed, hash, event, at});
        if (!kOnePartition) plan_.SetPartition(i, partitioning.IndexOf(packed));
      }
    }
    if (any_long_key_) [[unlikely]] {
      for (size_t i = 0; i < size; ++i) {
        EventRef& ref = lanes_[i].event;
        if (ref.key.is_long()) ref.hash = ref.key.HashWith(hash_key);
      }
    }
    first_position_ = engine_.timeline().TakePositions(size_);
  }

  // Events of partitions outside the range move time as those that are folded do.
  void AnswerOutOfRange() {
    const bool stopped = engine_.stopped() || collection_.closed();
    for (size_t place = plan_.size(); place < size_; ++place) {
      Answer(LaneAt(place), Outcome::kElsewhere);
      if (!stopped) time_ = std::max(time_, LaneAt(place).time);
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
        Lane& lane = LaneAt(place);
        book->PrefetchDirectory(lane.event, lane.guess);
      }
    }
    for (size_t place = strip.begin; place < strip.end; ++place) {
      Lane& lane = LaneAt(place);
      book->PrefetchIndex(lane.event, lane.guess);
    }
  }

  void FetchGroups(size_t index) {
    const Strip strip = plan_.strip(index);
    const Book* const book = books_[index];
    if (!strip.locked || book == nullptr) return;
    for (size_t place = strip.begin; place < strip.end; ++place) {
      Lane& lane = LaneAt(place);
      book->PrefetchEntry(lane.event, lane.guess);
    }
  }

  void FoldStrip(size_t index) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const Strip strip = plan_.strip(index);
    if (!strip.locked) return;
    Partition& partition = engine_.partition(strip.partition);
    Book* const book = books_[index];
    const Partition::Copied copied = partition.CopyFirst();
    if (book == nullptr) {
      AnswerAll(strip, Outcome::kStopped);
    } else {
      if (Book::kPrefetchesRest || any_long_key_) {
        for (size_t place = strip.begin; place < strip.end; ++place) {
          book->PrefetchRest(LaneAt(place).guess);
        }
      }
      FoldEvents(strip, partition, copied, *book);
    }
    if (strip.ends) partition.lock().unlock();
  }

  void AnswerAll(const Strip& strip, Outcome outcome) {
    counts_[static_cast<size_t>(outcome)] += static_cast<size_t>(strip.end - strip.begin);
    if (outcomes_ == nullptr) return;
    for (size_t place = strip.begin; place < strip.end; ++place) Answer(LaneAt(place), outcome);
  }

  [[gnu::always_inline]] void FoldEvents(const Strip& strip, Partition& partition,
                                         Partition::Copied copied,
                                         Book& book) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    AnswerAll(strip, Book::kPlain);  // as mostly
    bool publish = false;            // a deadline may be earlier
    const auto apply = [&](const Lane& lane, uint64_t position,
                           const auto& change) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return partition.DoOneOfMany(copied, book, lane.time, leases_, position, change);
    };
    for (size_t place = strip.begin; place < strip.end; ++place) {
      const Lane& lane = LaneAt(place);
      Outcome outcome;
      if (lane.fate == Book::kPlain) [[likely]] {
        const auto entry = book.Find(lane.event, lane.guess, newcomers_);
        const uint64_t position = Book::kPlainTakesPosition ? PositionOf(lane) : 0;
        const auto plainly = [&](const Instant& at) {
          return book.FoldPlainly(lane.event, entry, at);
        };
        if (apply(lane, position, plainly)) [[likely]]
          continue;
        outcome = apply(lane, PositionOf(lane),
                        [&](const Instant& at) { return book.FoldSlowly(lane.event, entry, at); });
        newcomers_.Add(lane.event.hash);
        publish = true;
      } else {
        outcome = apply(lane, PositionOf(lane),
                        [&](const Instant& at) { return book.Refuse(lane.fate, at); });
      }
      --counts_[static_cast<size_t>(Book::kPlain)];
      ++counts_[static_cast<size_t>(outcome)];
      Answer(lane, outcome);
    }
    const Lane& last = LaneAt(strip.end - 1U);
    apply(last, PositionOf(last), [&](const Instant& at) { book.Settle(at); });
    time_ = std::max(time_, last.time);
    if (publish) partition.Publish(book);
  }

  Keyed& collection_;
  EngineCore& engine_;
  BatchPlan plan_;
  const size_t size_;
  const LeaseTime leases_;
  Outcome* const outcomes_;
  std::array<size_t, Book::Counts::kOutcomes> counts_{};  // by Outcome
  EngineTime time_;  // where the events carry the engine's time, as far as they were folded
  uint64_t first_position_ = 0;
  bool any_long_key_ = false;
  Newcomers newcomers_;
  std::array<Book*, BatchPlan::kEventsMax> books_;   // by strip; null: nothing is folded any more
  std::array<Lane*, BatchPlan::kEventsMax> sorted_;  // by place
  union {
    std::array<Lane, BatchPlan::kEventsMax> lanes_;  // made by Look(), as many as there are events
  };
};

}  // namespace pleat::inline v0_1
