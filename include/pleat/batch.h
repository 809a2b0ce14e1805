// Batches of events, such as for Folder::FoldBatch(); which partitions a worker owns; and where a
// batch stands in a source that can be read again.
//
//   std::vector<pleat::KeyedEvent<Hit>> batch;
//   for (const Line& line : lines) batch.push_back({line.page, line.at, {line.bytes}});
//   folder.FoldBatch(batch);
//
//   // Worker i of n folds and pops in partitions of its own.
//   auto mine = pleat::PartitionRange::ForWorker(i, n, engine->partitions());
//   folder.FoldBatch(batch, {}, mine);
//   for (auto& emission : folder.Pop(100, mine)) Publish(emission);
//
// On event time an engine has one watermark, which a batch moves to its newest stamp, of whatever
// source and collection. So a second collection that is fed the same batch afterwards finds the
// watermark ahead of its events, which may be late: feed several collections by an Intake
// (intake.h). A second worker who is further behind in the log, and a source that is read again
// from further back than the others, need an engine of their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The key of an event in a batch: a view of bytes that the caller keeps until the batch is folded.
// A temporary that owns its bytes, such as a std::string, does not convert to a KeyView: its bytes
// would be gone too early.
class KeyView : public std::string_view {
 public:
  KeyView() = default;

  template <class Key>
    requires std::convertible_to<const Key&, std::string_view>
  constexpr KeyView(const Key& key) : std::string_view(key) {}  // NOLINT(*-explicit-constructor)

  template <class Key>
    requires(std::convertible_to<const Key&, std::string_view> &&
             !std::is_trivially_destructible_v<Key>)
  KeyView(const Key&& temporary) = delete;

  constexpr KeyView(const char* data, size_t size) noexcept : std::string_view(data, size) {}
};

// An event with the key that it belongs to, and its stamp.
// Ownership: borrows the bytes of `key`, and what `event` refers to, until the call that folds it
// returns.
template <class Event>
struct KeyedEvent {
  KeyView key;
  EngineTime at;
  Event event;
};

// The version of StablePartitionHash: store it beside anything that depends on the hash.
inline constexpr uint32_t kPartitionHashVersion = 1;

// A fixed 64-bit hash of the key's bytes: the same in every process, on every machine, for ever.
// It spreads well but is not keyed; the tables inside a partition use a keyed hash of their own.
PLEAT_EXPORT uint64_t StablePartitionHash(std::string_view key) noexcept;

// The partition of `key`: 0 <= result < partitions. REQUIRES: partitions >= 1.
PLEAT_EXPORT int PartitionOf(std::string_view key, int partitions) noexcept;

// Consecutive partitions: begin, begin + 1, ..., end - 1. The default is all of them.
struct PartitionRange {
  static constexpr int kLast = INT32_MAX;  // the end of an engine's partitions, whatever it is

  int begin = 0;
  int end = kLast;

  static constexpr PartitionRange One(int partition) noexcept { return {partition, partition + 1}; }

  // The partitions of worker `i` of `n`: every partition has exactly one owner, and the workers'
  // shares differ by at most one. With more workers than partitions some ranges are empty().
  // REQUIRES: 0 <= i < n.
  static constexpr PartitionRange ForWorker(int i, int n, int partitions) noexcept {
    const auto cut = [&](int64_t worker) { return static_cast<int>(worker * partitions / n); };
    return {cut(i), cut(int64_t{i} + 1)};
  }

  constexpr bool empty() const noexcept { return begin >= end; }
  constexpr bool Contains(int partition) const noexcept {
    return begin <= partition && partition < end;
  }

  friend constexpr bool operator==(const PartitionRange&, const PartitionRange&) = default;
};

// Where a batch stands in a source that can be read again, such as a file or a partition of a log.
// After a restart from a snapshot the source is read again from where the snapshot stood, and each
// event is folded once:
//
//   folder.FoldBatch(events, {}, {}, pleat::SourcePosition{.source = 7, .offset = 1'000});
//
//   pleat::RestoreSnapshot(*engine, snapshot);
//   uint64_t next = engine->SourcePositionOf(7, partition);      // go on there, or before
//
// An event that its partition has taken already is answered kReplayed, and counted nowhere else.
struct SourcePosition {
  // Names the source: any number, the same in each run.
  uint64_t source = 0;

  // Of the first event of the batch; that of event `i` is offset + i. A source may leave offsets
  // out, between batches.
  // REQUIRES: the batches of one source come one after the other, in the order of their offsets,
  // but for what is replayed; with ranges of partitions, those of each range. Any event is final
  // that was answered: one that was refused and is offered again comes without a position.
  uint64_t offset = 0;
};

}  // namespace pleat::inline v0_1
