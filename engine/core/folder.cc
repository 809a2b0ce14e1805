#include <algorithm>
#include <string>

#include <pleat/any_folder.h>

#include "engine/base/check.h"
#include "engine/core/batch_piece.h"
#include "engine/core/engine_core.h"
#include "engine/core/folder_core.h"

namespace pleat::inline v0 {
namespace {

absl::Status OutOfRange(std::string_view option, std::string_view must) {
  return absl::InvalidArgumentError(std::string(option) + ": must be " + std::string(must));
}

absl::Status Check(const FolderOptions& options, const StateOps& ops, int partitions) {
  const auto least = static_cast<size_t>(partitions);
  if (options.quiet_period <= Duration::zero()) return OutOfRange("quiet_period", "above zero");
  if (options.max_hold == Duration::zero()) {
    return OutOfRange("max_hold", "given; kForever if a busy group may stay open without end");
  }
  if (options.max_hold < Duration::zero()) return OutOfRange("max_hold", "above zero");
  if (options.max_events < 1) return OutOfRange("max_events", "at least 1");
  if (options.max_group_bytes < 1) return OutOfRange("max_group_bytes", "at least 1");
  if (options.partial_every <= Duration::zero()) return OutOfRange("partial_every", "above zero");
  const bool partials = options.partial_every != kForever;
  if (partials && options.edge == Edge::kLeading) {
    return OutOfRange("partial_every", "kForever with Edge::kLeading, which holds back all else");
  }
  if ((partials || options.edge != Edge::kTrailing) && ops.copy == nullptr) {
    return OutOfRange(partials ? "partial_every" : "edge",
                      "left alone: it takes a state that can be copied");
  }
  if (options.accept_limit < Duration::zero()) return OutOfRange("accept_limit", "zero or more");
  if (options.on_late != OnLate::kReject && options.accept_limit == kForever) {
    return OutOfRange("on_late", "kReject without an accept_limit: nothing is late");
  }
  if (ops.has_ids && ops.marks == nullptr) return OutOfRange("marks of events with ids", "given");
  if (ops.has_ids && options.accept_limit == kForever) {
    return OutOfRange("accept_limit", "given with ids: it says how long they are remembered");
  }
  if (ops.has_ids && options.on_late != OnLate::kReject) {
    return OutOfRange("on_late", "kReject with ids: an event could count twice");
  }
  if (options.max_groups < least) {
    return OutOfRange("max_groups", "at least one for each of the engine's partitions, " +
                                        std::to_string(partitions));
  }
  if (options.max_bytes < least) return OutOfRange("max_bytes", "at least one for each partition");
  if (ops.open == nullptr || ops.fold == nullptr || ops.destroy == nullptr) {
    return OutOfRange("open, fold and destroy of the state", "given");
  }
  const bool power_of_two = ops.align != 0 && (ops.align & (ops.align - 1)) == 0;
  if (!power_of_two || ops.align > 64) {
    return OutOfRange("the state's alignment", "a power of two up to 64");
  }
  return absl::OkStatus();
}

// Partition `i`'s share of `total`, such that all shares add up to it.
size_t Share(size_t total, int i, int partitions) {
  const auto n = static_cast<size_t>(partitions);
  return total / n + (static_cast<size_t>(i) < total % n ? 1 : 0);
}

}  // namespace

void FolderCore::InstallBooks() {
  const int partitions = engine_.partition_count();
  for (int i = 0; i < partitions; ++i) {
    FolderOptions share = options_;
    share.max_groups = Share(options_.max_groups, i, partitions);
    share.max_bytes = Share(options_.max_bytes, i, partitions);
    auto book = std::make_unique<FoldBook>(engine_.pool(), share, ops_, static_cast<uint32_t>(i),
                                           engine_.hash_key());
    Partition& partition = engine_.partition(i);
    homes_.push_back({&partition, book.get()});
    LockGuard guard(partition.lock());
    partition.AddBook(std::move(book));
  }
}

void FolderCore::LockAll() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = 0; i < engine_.partition_count(); ++i) engine_.partition(i).lock().lock();
}

void FolderCore::UnlockAll() noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = engine_.partition_count(); i-- > 0;) engine_.partition(i).lock().unlock();
}

FoldOutcome FolderCore::Fold(std::string_view key, const void* event, EngineTime at) {
  // A key that is too long is not worth hashing; any partition can count it.
  const bool too_long = key.size() > kKeyBytesMax;
  const PackedKey packed(too_long ? std::string_view() : key);
  const Home& home = HomeOf(packed);
  const uint64_t hash = HashOf(packed);
  Timeline& timeline = engine_.timeline();
  at = Clamp(at);
  LockGuard guard(home.partition->lock());
  if (home.partition->stopped()) return FoldOutcome::kStopped;
  if (too_long) {
    home.book->CountRefused();
    return FoldOutcome::kOverLimit;
  }
  EngineTime now;
  if (!timeline.Observe(at, now)) {
    home.book->CountFuture();
    return FoldOutcome::kFuture;
  }
  const FoldOutcome outcome = home.book->Fold({.key = packed,
                                               .hash = hash,
                                               .event = event,
                                               .at = at,
                                               .now = now,
                                               .edge = timeline.EdgeFor(at, now),
                                               .position = Position(timeline)});
  if (outcome == FoldOutcome::kOpened) home.partition->DeadlineMayBeEarlier(*home.book);
  return outcome;
}

FoldCounts FolderCore::FoldBatch(const AnyBatch& batch, FoldOutcome* outcomes) {
  // Fewer are folded one by one: a piece costs something before its first event.
  constexpr size_t kPieceFrom = 4;
  FoldCounts counts;
  AnyBatch rest = batch;
  while (rest.size >= kPieceFrom) {
    AnyBatch piece = rest;
    piece.size = std::min(rest.size, BatchPiece::kEventsMax);
    BatchPiece(*this, piece, outcomes).Fold(counts);
    rest.first = static_cast<const std::byte*>(rest.first) + piece.size * rest.stride;
    rest.size -= piece.size;
    if (outcomes != nullptr) outcomes += piece.size;
  }
  for (size_t i = 0; i < rest.size; ++i) {
    const auto* const at = static_cast<const std::byte*>(rest.first) + i * rest.stride;
    const auto& event = *reinterpret_cast<const KeyedEvent<char>*>(at);
    const FoldOutcome outcome = Fold(event.key, at + rest.event_offset, event.at);
    counts.Add(outcome);
    if (outcomes != nullptr) outcomes[i] = outcome;
  }
  return counts;
}

bool FolderCore::Flush(std::string_view key) {
  if (key.size() > kKeyBytesMax) return false;
  const PackedKey packed(key);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  return home.book->Flush(key, HashOf(packed), engine_.timeline().now(),
                          engine_.timeline().TakePositions(1));
}

bool FolderCore::Cancel(std::string_view key) {
  if (key.size() > kKeyBytesMax) return false;
  const PackedKey packed(key);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  return home.book->Cancel(key, HashOf(packed), engine_.timeline().now());
}

bool FolderCore::Peek(std::string_view key, AnyFolder::Look look) {
  if (key.size() > kKeyBytesMax) return false;
  const PackedKey packed(key);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  return home.book->Peek(key, HashOf(packed), engine_.timeline().now(), look);
}

bool FolderCore::Scan(ScanCursor& cursor, size_t max, AnyFolder::See see) {
  for (size_t seen = 0; cursor.partition < engine_.partition_count(); ++cursor.partition) {
    FoldBook& book = *homes_[static_cast<size_t>(cursor.partition)].book;
    LockGuard guard(engine_.partition(cursor.partition).lock());
    if (!book.Scan(cursor.place, max, engine_.timeline().now(), seen, see)) return true;
    cursor.place = 0;
  }
  return false;
}

// Time must not move between one partition and the next: what closed by an event at a later time than
// ours would lie ahead of us.
void FolderCore::CloseAll() {
  LockAll();
  const EngineTime now = engine_.timeline().now();
  const uint64_t position = engine_.timeline().TakePositions(1);
  for (const Home& home : homes_) home.book->CloseAll(now, position);
  UnlockAll();
}

size_t FolderCore::PopPartition(int partition, size_t max, AnyFolder::Take take) {
  PLEAT_CHECK(partition >= 0 && partition < engine_.partition_count());
  FoldBook& book = *homes_[static_cast<size_t>(partition)].book;
  LockGuard guard(engine_.partition(partition).lock());
  const EngineTime now = engine_.timeline().now();
  size_t popped = 0;
  for (; popped < max && book.NextReady(now) != nullptr; ++popped) book.PopReady(take);
  return popped;
}

// Merges the partitions' queues.
size_t FolderCore::Pop(size_t max, AnyFolder::Take take) {
  if (homes_.size() == 1) return PopPartition(0, max, take);
  struct Head {
    const ReadyGroup* ready;
    FoldBook* book;
  };
  const auto later = [](const Head& a, const Head& b) {
    return b.book->Before(*b.ready, *a.book, *a.ready);
  };
  std::vector<Head> heads;
  heads.reserve(homes_.size());
  LockAll();
  const EngineTime now = engine_.timeline().now();
  // A batch under way may have closed groups by event at a time that it has not yet made everybody's:
  // they are not final.
  const auto is_final = [&](const ReadyGroup* ready) {
    return ready != nullptr && ready->ripe <= now;
  };
  for (const Home& home : homes_) {
    const ReadyGroup* ready = home.book->NextReady(now);
    if (is_final(ready)) heads.push_back({ready, home.book});
  }
  std::make_heap(heads.begin(), heads.end(), later);
  size_t popped = 0;
  for (; popped < max && !heads.empty(); ++popped) {
    std::pop_heap(heads.begin(), heads.end(), later);
    Head& head = heads.back();
    head.book->PopReady(take);
    head.ready = head.book->NextReady(now);
    if (is_final(head.ready)) {
      std::push_heap(heads.begin(), heads.end(), later);
    } else {
      heads.pop_back();
    }
  }
  UnlockAll();
  return popped;
}

Ledger FolderCore::ledger() {
  Ledger sum;
  for (int i = 0; i < engine_.partition_count(); ++i) {
    LockGuard guard(engine_.partition(i).lock());
    sum += homes_[static_cast<size_t>(i)].book->ledger();
  }
  return sum;
}

Sizes FolderCore::sizes() {
  Sizes sum;
  for (int i = 0; i < engine_.partition_count(); ++i) {
    LockGuard guard(engine_.partition(i).lock());
    const Sizes sizes = homes_[static_cast<size_t>(i)].book->sizes();
    sum.open_groups += sizes.open_groups;
    sum.ready_emissions += sizes.ready_emissions;
    sum.bytes += sizes.bytes;
  }
  return sum;
}

absl::StatusOr<AnyFolder> AnyFolder::Open(Engine& engine, std::string_view name,
                                          const FolderOptions& options, const StateOps& ops,
                                          std::shared_ptr<void> context_owner) {
  if (absl::Status status = Check(options, ops, engine.partitions()); !status.ok()) return status;
  auto core =
      std::make_unique<FolderCore>(engine.core(), name, options, ops, std::move(context_owner));
  absl::StatusOr<FolderCore*> added = engine.core().Add(std::move(core));
  if (!added.ok()) return added.status();
  return AnyFolder(&engine, *added);
}

FoldOutcome AnyFolder::Fold(std::string_view key, const void* event, EngineTime at) noexcept {
  return core_->Fold(key, event, at);
}
FoldCounts AnyFolder::FoldBatch(const AnyBatch& batch, FoldOutcome* outcomes) noexcept {
  return core_->FoldBatch(batch, outcomes);
}
bool AnyFolder::Flush(std::string_view key) noexcept { return core_->Flush(key); }
bool AnyFolder::Cancel(std::string_view key) noexcept { return core_->Cancel(key); }
bool AnyFolder::Peek(std::string_view key, Look look) const noexcept {
  return core_->Peek(key, look);
}
bool AnyFolder::Scan(ScanCursor& cursor, size_t max, See see) const noexcept {
  return core_->Scan(cursor, max, see);
}
void AnyFolder::CloseAll() noexcept { core_->CloseAll(); }
size_t AnyFolder::Pop(size_t max, Take take) noexcept { return core_->Pop(max, take); }
size_t AnyFolder::PopPartition(int partition, size_t max, Take take) noexcept {
  return core_->PopPartition(partition, max, take);
}
Ledger AnyFolder::ledger() const noexcept { return core_->ledger(); }
Sizes AnyFolder::sizes() const noexcept { return core_->sizes(); }
const StateOps& AnyFolder::ops() const noexcept { return core_->ops(); }

}  // namespace pleat::inline v0
