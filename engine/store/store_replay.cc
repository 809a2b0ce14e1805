// StoreReplay merges partitions. Each has a cursor with a page of its own, and a heap has the cursors by
// the records that come next. The one that gave the last record stands beside the heap: in a run of
// records of one partition, the heap is left alone.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <pleat/event_store_reader.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kReplayPagesBytes = size_t{16} << 20;

// Either kind of store.
class ReplaySource {
 public:
  explicit ReplaySource(const EventStore& store) : store_(&store) {}
  explicit ReplaySource(const EventStoreReader& store) : store_(&store) {}

  int partitions() const {
    return std::visit([](const auto* store) { return store->partitions(); }, store_);
  }
  uint64_t First(int partition) const {
    return std::visit([&](const auto* store) { return store->First(partition); }, store_);
  }
  uint64_t Durable(int partition) const {
    return std::visit([&](const auto* store) { return store->Durable(partition); }, store_);
  }
  absl::StatusOr<ReadOutcome> Read(int partition, const StorePosition& from, size_t bytes,
                                   StorePage& page) const {
    return std::visit([&](const auto* store) { return store->Read(partition, from, bytes, page); },
                      store_);
  }

 private:
  std::variant<const EventStore*, const EventStoreReader*> store_;
};

class ReplayCursor {
 public:
  ReplayCursor(const ReplaySource& source, int partition)
      : source_(source), partition_(partition) {}

  int partition() const { return partition_; }
  // The record that comes next, which is passed; valid until Load(). REQUIRES: there is one.
  const StoredRecord* Take() { return next_++; }

  bool IsLaterThan(const ReplayCursor& other) const {
    if (next_->appended != other.next_->appended) return next_->appended > other.next_->appended;
    return partition_ > other.partition_;
  }

  StorePosition position() const {
    if (next_ != end_) {
      const StoredRecord* const begin = page_.records().data();
      return next_ == begin ? *start_ : page_.PositionAfter(static_cast<size_t>(next_ - begin) - 1);
    }
    if (next_ != nullptr) return page_.position();
    return start_ ? *start_ : StorePosition(source_.First(partition_));
  }

  void StartAt(const StorePosition& from) {
    start_ = from;
    next_ = end_ = nullptr;
  }
  absl::Status StartAt(EngineTime appended);
  // Reads on if no record comes next. kEnd: there is none, or the next one was appended later.
  absl::StatusOr<ReadOutcome> Load(size_t bytes, EngineTime until);

 private:
  const ReplaySource& source_;
  int partition_;
  std::optional<StorePosition> start_;  // of the page; none: at the first record that is left
  StorePage page_;
  const StoredRecord* next_ = nullptr;
  const StoredRecord* end_ = nullptr;
};

// `appended` never goes back in a partition: so its place is found by halves.
absl::Status ReplayCursor::StartAt(EngineTime appended) {
  uint64_t low = source_.First(partition_);
  for (uint64_t high = source_.Durable(partition_); low < high;) {
    const uint64_t middle = low + (high - low) / 2;
    const absl::StatusOr<ReadOutcome> read = source_.Read(partition_, middle, /*bytes=*/1, page_);
    if (!read.ok()) return read.status();
    const uint64_t first = source_.First(partition_);  // more may have been removed
    if (middle < first) {
      low = std::min(first, high);
    } else if (*read == ReadOutcome::kRecords && page_.records().front().appended < appended) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  StartAt(StorePosition(low));
  return absl::OkStatus();
}

absl::StatusOr<ReadOutcome> ReplayCursor::Load(size_t bytes, EngineTime until) {
  if (next_ == end_) {
    StorePosition from = position();
    const bool is_first = !start_ && next_ == nullptr;
    absl::StatusOr<ReadOutcome> read = source_.Read(partition_, from, bytes, page_);
    // The first record that is left may be another one meanwhile.
    while (is_first && read.ok() && *read == ReadOutcome::kPositionLost &&
           from.offset < source_.First(partition_)) {
      from = source_.First(partition_);
      read = source_.Read(partition_, from, bytes, page_);
    }
    StartAt(from);
    if (!read.ok() || *read != ReadOutcome::kRecords) return read;
    next_ = page_.records().data();
    end_ = next_ + page_.records().size();
  }
  return next_->appended <= until ? ReadOutcome::kRecords : ReadOutcome::kEnd;
}

// 2026-11-29T08:00:00.000000Z
std::string TextOf(EngineTime t) {
  const std::chrono::sys_time<Duration> at(t.time_since_epoch());
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Duration> time(at - day);
  return absl::StrFormat("%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                         time.hours().count(), time.minutes().count(), time.seconds().count(),
                         time.subseconds().count());
}

bool ComesLater(const ReplayCursor* a, const ReplayCursor* b) { return a->IsLaterThan(*b); }

}  // namespace

class StoreReplay::Core {
 public:
  Core(const ReplaySource& source, EngineTime until, PartitionRange partitions)
      : source_(source), until_(until), begin_(partitions.begin) {
    const int end = std::min(partitions.end, source_.partitions());
    PLEAT_CHECK(0 <= begin_ && begin_ <= end);
    cursors_.reserve(static_cast<size_t>(end - begin_));
    for (int p = begin_; p < end; ++p) cursors_.emplace_back(source_, p);
    page_bytes_ = kReplayPagesBytes / std::max<size_t>(cursors_.size(), 1);
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  ReplayCursor& cursor(int partition) {
    const auto index = static_cast<size_t>(partition - begin_);
    PLEAT_CHECK(partition >= begin_ && index < cursors_.size());
    return cursors_[index];
  }
  void StartAt(int partition, const StorePosition& from) {
    PLEAT_CHECK(!has_begun_);
    cursor(partition).StartAt(from);
    is_placed_ = true;
  }
  absl::Status StartAt(EngineTime appended) {
    PLEAT_CHECK(!has_begun_);
    for (ReplayCursor& each : cursors_) {
      if (absl::Status found = each.StartAt(appended); !found.ok()) return found;
    }
    is_placed_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<ReadOutcome> Next();
  const StoredRecord& record() const noexcept {
    PLEAT_CHECK(record_ != nullptr);
    return *record_;
  }
  int partition() const noexcept { return partition_; }
  absl::StatusOr<uint64_t> Into(Engine& engine, uint64_t source, FoldRecord fold);

 private:
  absl::StatusOr<ReadOutcome> Load(ReplayCursor& cursor) {
    partition_ = cursor.partition();
    return cursor.Load(page_bytes_, until_);
  }
  absl::StatusOr<ReadOutcome> LoadAll();
  absl::Status StartWhereItStands(const Engine& engine, uint64_t source);
  absl::StatusOr<EngineTime> AppendedBefore(int partition, uint64_t offset) const;
  absl::Status Lost(int partition);

  const ReplaySource source_;
  const EngineTime until_;
  const int begin_;
  size_t page_bytes_ = 0;
  std::vector<ReplayCursor> cursors_;  // never moved
  std::vector<ReplayCursor*> heap_;    // with a record, the one that comes first in front
  ReplayCursor* current_ = nullptr;    // not in the heap; null: all that have a record are
  const StoredRecord* record_ = nullptr;
  int partition_ = 0;  // of the record, or the one that was lost
  bool is_placed_ = false;  // by StartAt()
  bool has_begun_ = false;
};

// Reads on in all partitions. REQUIRES: no record of any is known.
absl::StatusOr<ReadOutcome> StoreReplay::Core::LoadAll() {
  for (ReplayCursor& each : cursors_) {
    absl::StatusOr<ReadOutcome> loaded = Load(each);
    if (!loaded.ok() || *loaded == ReadOutcome::kPositionLost) {
      heap_.clear();
      return loaded;
    }
    if (*loaded == ReadOutcome::kRecords) heap_.push_back(&each);
  }
  std::ranges::make_heap(heap_, ComesLater);
  return heap_.empty() ? ReadOutcome::kEnd : ReadOutcome::kRecords;
}

absl::StatusOr<ReadOutcome> StoreReplay::Core::Next() {
  has_begun_ = true;
  record_ = nullptr;
  if (current_ != nullptr) {
    absl::StatusOr<ReadOutcome> loaded = Load(*current_);
    if (!loaded.ok() || *loaded == ReadOutcome::kPositionLost) return loaded;
    if (*loaded == ReadOutcome::kEnd) {
      current_ = nullptr;
    } else if (!heap_.empty() && ComesLater(current_, heap_.front())) {
      heap_.push_back(std::exchange(current_, nullptr));
      std::ranges::push_heap(heap_, ComesLater);
    }
  }
  if (current_ == nullptr) {
    if (heap_.empty()) {
      absl::StatusOr<ReadOutcome> loaded = LoadAll();
      if (!loaded.ok() || *loaded != ReadOutcome::kRecords) return loaded;
    }
    std::ranges::pop_heap(heap_, ComesLater);
    current_ = heap_.back();
    heap_.pop_back();
  }
  partition_ = current_->partition();
  record_ = current_->Take();
  return ReadOutcome::kRecords;
}

absl::StatusOr<EngineTime> StoreReplay::Core::AppendedBefore(int partition, uint64_t offset) const {
  // With the record before it gone, nothing is known: but that it came before those that are left.
  if (offset <= source_.First(partition)) return kBeginningOfTime;
  StorePage page;
  const absl::StatusOr<ReadOutcome> read = source_.Read(partition, offset - 1, /*bytes=*/1, page);
  if (!read.ok()) return read.status();
  return *read == ReadOutcome::kRecords ? page.records().front().appended : kBeginningOfTime;
}

absl::Status StoreReplay::Core::StartWhereItStands(const Engine& engine, uint64_t source) {
  const bool is_alike = engine.partitions() == source_.partitions();
  for (int p = 0; p < engine.partitions() && !is_alike; ++p) {
    if (engine.SourcePositionOf(source, p) == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the engine has folded records of source ", source, " with ",
                     engine.partitions(), " partitions, and the store has ", source_.partitions()));
  }
  EngineTime earliest = engine.axis() == Axis::kArrival ? engine.now() : kBeginningOfTime;
  for (ReplayCursor& each : cursors_) {
    const int p = each.partition();
    const uint64_t next = is_alike ? engine.SourcePositionOf(source, p) : 0;
    if (next > source_.Durable(p)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the engine has folded ", next, " records of partition ", p,
                       ", and the store has ", source_.Durable(p)));
    }
    each.StartAt(StorePosition(next));
    if (next < source_.First(p)) return Lost(p);
    const absl::StatusOr<EngineTime> appended = AppendedBefore(p, next);
    if (!appended.ok()) return appended.status();
    earliest = std::max(earliest, *appended);
  }
  if (until_ < earliest) {
    return absl::OutOfRangeError(
        absl::StrCat("the engine is past ", TextOf(until_),
                     ": the earliest instant to which it can be brought is ", TextOf(earliest)));
  }
  return absl::OkStatus();
}

absl::Status StoreReplay::Core::Lost(int partition) {
  const uint64_t offset = cursor(partition).position().offset;
  const uint64_t first = source_.First(partition);
  return offset < first ? absl::OutOfRangeError(absl::StrCat(
                              "partition ", partition, " begins at offset ", first,
                              ": records from ", offset, " on, which are needed, were removed"))
                        : absl::FailedPreconditionError(
                              absl::StrCat("partition ", partition, " has no record before offset ",
                                           offset, ", or another one than that of the position"));
}

absl::StatusOr<uint64_t> StoreReplay::Core::Into(Engine& engine, uint64_t source, FoldRecord fold) {
  PLEAT_CHECK(!has_begun_);
  if (!is_placed_) {
    if (absl::Status started = StartWhereItStands(engine, source); !started.ok()) return started;
  }
  const bool moves_time = engine.axis() == Axis::kArrival;
  uint64_t records = 0;
  for (EngineTime now = kBeginningOfTime;; ++records) {
    const absl::StatusOr<ReadOutcome> next = Next();
    if (!next.ok()) return next.status();
    if (*next == ReadOutcome::kPositionLost) return Lost(partition_);
    if (*next == ReadOutcome::kEnd) break;
    if (moves_time && record_->appended > now) engine.Advance(now = record_->appended);
    fold(partition_, *record_);
  }
  if (moves_time && until_ != kEndOfTime) engine.Advance(until_);
  return records;
}

StoreReplay::StoreReplay(const EventStore& store, EngineTime until, PartitionRange partitions)
    : core_(std::make_unique<Core>(ReplaySource(store), until, partitions)) {}
StoreReplay::StoreReplay(const EventStoreReader& store, EngineTime until, PartitionRange partitions)
    : core_(std::make_unique<Core>(ReplaySource(store), until, partitions)) {}
StoreReplay::~StoreReplay() = default;
StoreReplay::StoreReplay(StoreReplay&&) noexcept = default;
StoreReplay& StoreReplay::operator=(StoreReplay&&) noexcept = default;

void StoreReplay::StartAt(int partition, const StorePosition& from) {
  core_->StartAt(partition, from);
}
absl::Status StoreReplay::StartAt(EngineTime appended) { return core_->StartAt(appended); }

absl::StatusOr<ReadOutcome> StoreReplay::Next() { return core_->Next(); }
const StoredRecord& StoreReplay::record() const noexcept { return core_->record(); }
int StoreReplay::partition() const noexcept { return core_->partition(); }
StorePosition StoreReplay::position(int partition) const noexcept {
  return core_->cursor(partition).position();
}

absl::StatusOr<uint64_t> StoreReplay::Into(Engine& engine, uint64_t source, FoldRecord fold) {
  return core_->Into(engine, source, fold);
}

}  // namespace pleat::inline v0_1
