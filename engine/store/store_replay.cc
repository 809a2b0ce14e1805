// StoreReplay merges partitions, in runs: a run has what was durable when it began, and ends with kEnd.
// Each partition has a cursor with a page of its own, and a heap has the cursors by the records that come
// next. The cursor that gave the last record stands beside the heap: where several records of one
// partition follow each other, the heap is left alone.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pleat/event_store_reader.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kReplayPagesBytes = size_t{4} << 20;
// So many records are looked through one by one.
constexpr uint64_t kFewRecords = 1024;

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
  // At the first record that was appended then or later, also if it is still to come.
  absl::Status StartAt(EngineTime appended);
  bool is_placed() const { return start_.has_value(); }

  void BeginRun() { run_end_ = source_.Durable(partition_); }
  // Reads on if no record comes next. kEnd: there is none in this run, or it was appended later.
  absl::StatusOr<ReadOutcome> Load(size_t bytes, EngineTime until);

 private:
  absl::StatusOr<ReadOutcome> ReadPage(size_t bytes);

  const ReplaySource& source_;
  int partition_;
  std::optional<StorePosition> start_;  // of the page; none: at the first record that is left
  EngineTime since_ = kBeginningOfTime;
  uint64_t run_end_ = 0;
  StorePage page_;
  const StoredRecord* next_ = nullptr;
  const StoredRecord* end_ = nullptr;
};

// `appended` never goes back in a partition: so its place is found by halves, and by the pages that are
// read for that.
absl::Status ReplayCursor::StartAt(EngineTime appended) {
  uint64_t low = source_.First(partition_);
  for (uint64_t high = source_.Durable(partition_); low < high;) {
    const uint64_t middle = high - low <= kFewRecords ? low : low + (high - low) / 2;
    const absl::StatusOr<ReadOutcome> read = source_.Read(partition_, middle, /*bytes=*/1, page_);
    if (!read.ok()) return read.status();
    const uint64_t first = source_.First(partition_);  // more may have been removed
    if (middle < first) {
      low = std::min(first, high);
      continue;
    }
    const auto found =
        std::ranges::lower_bound(page_.records(), appended, {}, &StoredRecord::appended);
    if (found == page_.records().begin()) {
      high = middle;
    } else if (found == page_.records().end()) {
      low = page_.next();
    } else {
      low = high = found->offset;
    }
  }
  StartAt(StorePosition(low));
  since_ = appended;
  return absl::OkStatus();
}

absl::StatusOr<ReadOutcome> ReplayCursor::ReadPage(size_t bytes) {
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
  return read;
}

absl::StatusOr<ReadOutcome> ReplayCursor::Load(size_t bytes, EngineTime until) {
  for (;;) {
    if (next_ == end_) {
      absl::StatusOr<ReadOutcome> read = ReadPage(bytes);
      if (!read.ok() || *read != ReadOutcome::kRecords) return read;
    }
    if (next_->offset >= run_end_ || next_->appended > until) return ReadOutcome::kEnd;
    if (next_->appended >= since_) return ReadOutcome::kRecords;
    ++next_;
  }
}

// A number of that many digits at least.
std::string Digits(int64_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

// 2026-11-29T08:00:00.000000Z
std::string TextOf(EngineTime t) {
  const std::chrono::sys_time<Duration> at(t.time_since_epoch());
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Duration> time(at - day);
  return Concat(Digits(static_cast<int>(date.year()), 4), "-",
                Digits(static_cast<unsigned>(date.month()), 2), "-",
                Digits(static_cast<unsigned>(date.day()), 2), "T", Digits(time.hours().count(), 2),
                ":", Digits(time.minutes().count(), 2), ":", Digits(time.seconds().count(), 2), ".",
                Digits(time.subseconds().count(), 6), "Z");
}

bool ComesLater(const ReplayCursor* a, const ReplayCursor* b) { return a->IsLaterThan(*b); }

}  // namespace

class StoreReplay::Core {
 public:
  Core(const ReplaySource& source, EngineTime until, PartitionRange partitions)
      : source_(source), until_(Clamp(until)), begin_(partitions.begin) {
    const int end = std::min(partitions.end, source_.partitions());
    PLEAT_CHECK(begin_ >= 0);
    if (begin_ < end) cursors_.reserve(static_cast<size_t>(end - begin_));
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
    PLEAT_CHECK(!has_begun_ || (is_lost_ && partition == partition_));
    cursor(partition).StartAt(from);
  }
  absl::Status StartAt(EngineTime appended) {
    PLEAT_CHECK(!has_begun_);
    for (ReplayCursor& each : cursors_) {
      if (absl::Status found = each.StartAt(appended); !found.ok()) return found;
    }
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
    absl::StatusOr<ReadOutcome> loaded = cursor.Load(page_bytes_, until_);
    is_lost_ = loaded.ok() && *loaded == ReadOutcome::kPositionLost;
    return loaded;
  }
  absl::StatusOr<ReadOutcome> BeginRun();
  bool IsAlike(const Engine& engine) const { return engine.partitions() == source_.partitions(); }
  absl::Status RequireNoPosition(const Engine& engine, uint64_t source) const;
  absl::Status StartWhereItStands(const Engine& engine, uint64_t source);
  absl::Status RequireUnread(const Engine& engine) const;
  absl::StatusOr<EngineTime> AppendedAt(int partition, uint64_t offset) const;
  absl::StatusOr<EngineTime> AppendedBefore(int partition, uint64_t offset) const;
  absl::Status Lost(int partition, uint64_t offset) const;

  const ReplaySource source_;
  const EngineTime until_;
  const int begin_;
  size_t page_bytes_ = 0;
  std::vector<ReplayCursor> cursors_;  // never moved
  std::vector<ReplayCursor*> heap_;    // with a record, the one that comes first in front
  ReplayCursor* current_ = nullptr;    // not in the heap; null: all that have a record are
  const StoredRecord* record_ = nullptr;
  int partition_ = 0;  // of the record, or the one that was lost
  bool is_lost_ = false;
  bool has_begun_ = false;
  bool in_run_ = false;
};

absl::StatusOr<ReadOutcome> StoreReplay::Core::BeginRun() {
  for (ReplayCursor& each : cursors_) each.BeginRun();
  for (ReplayCursor& each : cursors_) {
    absl::StatusOr<ReadOutcome> loaded = Load(each);
    if (!loaded.ok() || *loaded == ReadOutcome::kPositionLost) {
      heap_.clear();
      return loaded;
    }
    if (*loaded == ReadOutcome::kRecords) heap_.push_back(&each);
  }
  std::ranges::make_heap(heap_, ComesLater);
  in_run_ = !heap_.empty();
  return in_run_ ? ReadOutcome::kRecords : ReadOutcome::kEnd;
}

absl::StatusOr<ReadOutcome> StoreReplay::Core::Next() {
  has_begun_ = true;
  record_ = nullptr;
  if (!in_run_) {
    absl::StatusOr<ReadOutcome> begun = BeginRun();
    if (!begun.ok() || *begun != ReadOutcome::kRecords) return begun;
  }
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
    in_run_ = !heap_.empty();
    if (!in_run_) return ReadOutcome::kEnd;
    std::ranges::pop_heap(heap_, ComesLater);
    current_ = heap_.back();
    heap_.pop_back();
  }
  partition_ = current_->partition();
  record_ = current_->Take();
  return ReadOutcome::kRecords;
}

// When a record was appended; kBeginningOfTime if it was removed just now.
absl::StatusOr<EngineTime> StoreReplay::Core::AppendedAt(int partition, uint64_t offset) const {
  StorePage page;
  const absl::StatusOr<ReadOutcome> read = source_.Read(partition, offset, /*bytes=*/1, page);
  if (!read.ok()) return read.status();
  return *read == ReadOutcome::kRecords ? page.records().front().appended : kBeginningOfTime;
}

// When the record before an offset was appended, or a later instant, if it was removed.
absl::StatusOr<EngineTime> StoreReplay::Core::AppendedBefore(int partition, uint64_t offset) const {
  if (offset == 0) return kBeginningOfTime;
  const uint64_t known = std::max(offset - 1, source_.First(partition));
  if (known >= source_.Durable(partition)) return kBeginningOfTime;
  return AppendedAt(partition, known);
}

absl::Status StoreReplay::Core::Lost(int partition, uint64_t offset) const {
  const uint64_t first = source_.First(partition);
  return absl::FailedPreconditionError(
      offset < first ? Concat("partition ", partition, " begins at offset ", first,
                              ": records from ", offset, " on, which are needed, were removed")
                     : Concat("partition ", partition, " has no record before offset ", offset,
                              ", or another one than that of the position"));
}

// A position counts records of a partition of the store, which has to be one of the engine.
absl::Status StoreReplay::Core::RequireNoPosition(const Engine& engine, uint64_t source) const {
  for (int p = 0; p < engine.partitions(); ++p) {
    if (engine.SourcePositionOf(source, p) == 0) continue;
    return absl::FailedPreconditionError(Concat(
        "records were folded with a SourcePosition of source ", source, ", and the engine has ",
        engine.partitions(), " partitions where the store has ", source_.partitions()));
  }
  return absl::OkStatus();
}

// An engine without a position begins at the first records. One that folded them without saying
// where they come from would fold them twice.
absl::Status StoreReplay::Core::RequireUnread(const Engine& engine) const {
  const EngineTime now = engine.now();
  if (now == kBeginningOfTime) return absl::OkStatus();
  for (const ReplayCursor& each : cursors_) {
    const int p = each.partition();
    if (each.is_placed() || source_.Durable(p) == source_.First(p)) continue;
    const absl::StatusOr<EngineTime> first = AppendedAt(p, source_.First(p));
    if (!first.ok()) return first.status();
    if (engine.axis() == Axis::kArrival && *first >= now) continue;
    return absl::FailedPreconditionError(
        Concat("the engine is past ", TextOf(*first), ", when the first record of partition ", p,
               " was appended, and has no position of the source: it may have folded records "
               "without a SourcePosition. If it folded none, StartAt() every partition"));
  }
  return absl::OkStatus();
}

absl::Status StoreReplay::Core::StartWhereItStands(const Engine& engine, uint64_t source) {
  const bool is_alike = IsAlike(engine);
  if (!is_alike) {
    if (absl::Status none = RequireNoPosition(engine, source); !none.ok()) return none;
  }
  EngineTime earliest = engine.axis() == Axis::kArrival ? engine.now() : kBeginningOfTime;
  std::vector<uint64_t> starts;
  for (const ReplayCursor& each : cursors_) {
    const int p = each.partition();
    const uint64_t next = is_alike ? engine.SourcePositionOf(source, p) : 0;
    starts.push_back(next);
    if (each.is_placed()) continue;
    if (next > source_.Durable(p)) {
      return absl::FailedPreconditionError(Concat("the engine has folded ", next,
                                                  " records of partition ", p,
                                                  ", and the store has ", source_.Durable(p)));
    }
    if (next < source_.First(p)) return Lost(p, next);
    const absl::StatusOr<EngineTime> appended = AppendedBefore(p, next);
    if (!appended.ok()) return appended.status();
    earliest = std::max(earliest, *appended);
  }
  if (until_ < earliest) {
    return absl::OutOfRangeError(Concat("the engine is past ", TextOf(until_),
                                        ": the earliest instant to which it can be brought is ",
                                        TextOf(earliest)));
  }
  if (std::ranges::count(starts, 0u) == std::ssize(starts)) {
    if (absl::Status unread = RequireUnread(engine); !unread.ok()) return unread;
  }
  for (size_t i = 0; i < cursors_.size(); ++i) {
    if (!cursors_[i].is_placed()) cursors_[i].StartAt(StorePosition(starts[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> StoreReplay::Core::Into(Engine& engine, uint64_t source, FoldRecord fold) {
  if (!has_begun_) {
    if (absl::Status started = StartWhereItStands(engine, source); !started.ok()) return started;
  }
  const bool moves_time = engine.axis() == Axis::kArrival;
  uint64_t records = 0;
  for (EngineTime now = kBeginningOfTime;;) {
    const absl::StatusOr<ReadOutcome> next = Next();
    if (!next.ok()) return next.status();
    if (*next == ReadOutcome::kPositionLost) {
      return Lost(partition_, cursor(partition_).position().offset);
    }
    if (*next == ReadOutcome::kEnd) break;
    if (moves_time && record_->appended > now) engine.Advance(now = record_->appended);
    fold(partition_, *record_);
    if (++records > 1 || IsAlike(engine)) continue;
    if (absl::Status none = RequireNoPosition(engine, source); !none.ok()) return none;
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
