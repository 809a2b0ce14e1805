#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <pleat/any_folder.h>

#include "engine/base/check.h"
#include "engine/base/inside.h"
#include "engine/base/planted.h"
#include "engine/core/batch_piece.h"
#include "engine/core/engine_core.h"
#include "engine/core/folder_core.h"

namespace pleat::inline v0_1 {
namespace {

absl::Status OutOfRange(std::string_view option, std::string_view must) {
  return absl::InvalidArgumentError(std::string(option) + ": must be " + std::string(must));
}

absl::Status Check(const FolderOptions& options, const StateOps& ops, int partitions) {
  const auto least = static_cast<size_t>(partitions);
  if (options.quiet_period <= Duration::zero()) return OutOfRange("quiet_period", "above zero");
  if (options.quiet_floor < Duration::zero()) return OutOfRange("quiet_floor", "zero or more");
  if (options.quiet_floor >= options.quiet_period ||
      (options.quiet_floor > Duration::zero() && options.quiet_period == kForever)) {
    return OutOfRange("quiet_floor",
                      "below quiet_period, which is then the ceiling and not kForever");
  }
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
  if (options.late.accept_limit < Duration::zero())
    return OutOfRange("late.accept_limit", "zero or more");
  if (options.late.on_late != OnLate::kReject && options.late.accept_limit == kForever) {
    return OutOfRange("late.on_late", "kReject without late.accept_limit: nothing is late");
  }
  if (ops.has_ids && ops.marks == nullptr) return OutOfRange("marks of events with ids", "given");
  if (ops.has_ids && options.late.accept_limit == kForever) {
    return OutOfRange("late.accept_limit", "given with ids: it says how long they are remembered");
  }
  if (ops.has_ids && options.late.on_late != OnLate::kReject) {
    return OutOfRange("late.on_late", "kReject with ids: an event could count twice");
  }
  if (options.limits.max_groups < least) {
    return OutOfRange("limits.max_groups", "at least one for each of the engine's partitions, " +
                                               std::to_string(partitions));
  }
  if (options.limits.max_bytes < least)
    return OutOfRange("limits.max_bytes", "at least one for each partition");
  if (options.limits.max_backlog < least) {
    return OutOfRange("limits.max_backlog", "at least one for each partition");
  }
  if (options.leases.max_deliveries < 1) return OutOfRange("leases.max_deliveries", "at least 1");
  if (options.leases.max_leased < least)
    return OutOfRange("leases.max_leased", "at least one for each partition");
  if (options.leases.max_age <= Duration::zero()) return OutOfRange("leases.max_age", "above zero");
  if (options.leases.max_nack_delay <= Duration::zero())
    return OutOfRange("leases.max_nack_delay", "above zero");
  if (options.leases.max_dead_letters < least) {
    return OutOfRange("leases.max_dead_letters", "at least one for each partition");
  }
  if (ops.open == nullptr || ops.fold == nullptr || ops.destroy == nullptr) {
    return OutOfRange("open, fold and destroy of the state", "given");
  }
  const bool power_of_two = ops.align != 0 && (ops.align & (ops.align - 1)) == 0;
  if (!power_of_two || ops.align > 64) {
    return OutOfRange("the state's alignment", "a power of two up to 64");
  }
  return absl::OkStatus();
}

// How many gaps of a folder are counted one by one: with so many, a share of them that one in eight tells is within a
// tenth of a percentage point, by three standard deviations at the worst moment.
constexpr size_t kExactGaps = 4'000'000;

// Partition `i`'s share of `total`, such that all shares add up to it.
size_t Share(size_t total, int i, int partitions) {
  const auto n = static_cast<size_t>(partitions);
  return total / n + (static_cast<size_t>(i) < total % n ? 1 : 0);
}

}  // namespace

FolderCore::FolderCore(EngineCore& engine, std::string_view name, const FolderOptions& options,
                       const StateOps& ops, std::shared_ptr<void> context_owner)
    : engine_(engine),
      name_(name),
      options_(options),
      ops_(ops),
      context_owner_(std::move(context_owner)),
      listeners_(static_cast<size_t>(engine.partition_count())) {
  const int partitions = engine_.partition_count();
  homes_.reserve(static_cast<size_t>(partitions));
  for (int i = 0; i < partitions; ++i) homes_.push_back({.partition = &engine_.partition(i)});
}

FoldBook* FolderCore::NewBook(const Home& home) {
  if (closed()) return nullptr;
  const int partitions = engine_.partition_count();
  const auto i = static_cast<int>(&home - homes_.data());
  FolderOptions share = options_;
  share.limits.max_groups = Share(options_.limits.max_groups, i, partitions);
  share.limits.max_bytes = Share(options_.limits.max_bytes, i, partitions);
  share.limits.max_backlog = Share(options_.limits.max_backlog, i, partitions);
  share.measure.max_ghosts = Share(options_.measure.max_ghosts, i, partitions);
  share.leases.max_leased = Share(options_.leases.max_leased, i, partitions);
  share.leases.max_dead_letters = Share(options_.leases.max_dead_letters, i, partitions);
  auto book = std::make_unique<FoldBook>(engine_.pool(), share, ops_, static_cast<uint32_t>(i),
                                         engine_.hash_key(), engine_.timeline(),
                                         listeners_[static_cast<size_t>(i)]);
  if (options_.measure.gap_stats) book->MeasureGaps(Share(kExactGaps, i, partitions), open_peak_);
  FoldBook* const added = book.get();
  home.partition->AddBook(std::move(book));
  return added;
}

// What a book holds is destroyed without the partition's lock, for which others wait.
void FolderCore::Close() {
  closed_ = true;
  for (size_t i = 0; i < homes_.size(); ++i) {
    Home& home = homes_[i];
    std::unique_ptr<Book> book;
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) book = home.partition->RemoveBook(*std::exchange(home.book, nullptr));
    for (EmissionListener* listener : listeners_[i]) listener->MayHaveEmissions();
  }
}

PartitionRange FolderCore::Clip(PartitionRange range) const noexcept {
  return {std::max(range.begin, 0), std::min(range.end, engine_.partition_count())};
}

void FolderCore::LockRange(PartitionRange range) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = range.begin; i < range.end; ++i) engine_.partition(i).lock().LockForLong();
}

void FolderCore::HandOverRange(PartitionRange range) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = range.end; i-- > range.begin;) engine_.partition(i).lock().HandOver();
}

// A key that is too long is not worth hashing; any partition can count it.
FoldOutcome FolderCore::RefuseTooLong() {
  Home& home = homes_.front();
  LockGuard guard(home.partition->lock());
  FoldBook* const book = home.partition->stopped() ? nullptr : BookFor(home);
  if (book == nullptr) return FoldOutcome::kStopped;
  book->CountRefused();
  return FoldOutcome::kOverLimit;
}

FoldOutcome FolderCore::Fold(std::string_view key, const void* event, EngineTime at) {
  if (key.size() > kKeyBytesMax) [[unlikely]]
    return RefuseTooLong();
  const PackedKey packed(key);
  Home& home = HomeOf(packed);
  const uint64_t hash = HashOf(packed);
  Timeline& timeline = engine_.timeline();
  at = Clamp(at);
  LockGuard guard(home.partition->lock());
  if (home.partition->stopped()) return FoldOutcome::kStopped;
  FoldBook* const book = BookFor(home);
  if (book == nullptr) return FoldOutcome::kStopped;
  EngineTime now;
  if (!timeline.Observe(at, now)) {
    book->CountFuture();
    return FoldOutcome::kFuture;
  }
  const FoldOutcome outcome = book->Fold({.key = packed,
                                          .hash = hash,
                                          .event = event,
                                          .at = at,
                                          .now = now,
                                          .edge = timeline.EdgeFor(at, now),
                                          .position = Position(timeline)});
  if (outcome == FoldOutcome::kOpened) home.partition->DeadlineMayBeEarlier(*book);
  return outcome;
}

FoldCounts FolderCore::FoldBatch(const AnyBatch& batch, FoldOutcome* outcomes,
                                 PartitionRange only) {
  // Fewer are folded one by one: a piece costs something before its first event.
  only = Clip(only);
  const bool all = only == Clip({});
  const size_t piece_from = all ? 4 : 1;
  FoldCounts counts;
  AnyBatch rest = batch;
  while (rest.size >= piece_from) {
    AnyBatch piece = rest;
    piece.size = std::min(rest.size, BatchPiece::kEventsMax);
    BatchPiece(*this, piece, outcomes, only).Fold(counts);
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
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return false;
  return home.book->Flush(key, HashOf(packed), engine_.timeline().now(),
                          engine_.timeline().TakePositions(1));
}

bool FolderCore::Cancel(std::string_view key) {
  if (key.size() > kKeyBytesMax) return false;
  const PackedKey packed(key);
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return false;
  return home.book->Cancel(key, HashOf(packed), engine_.timeline().now());
}

bool FolderCore::Peek(std::string_view key, AnyFolder::Look look) {
  if (key.size() > kKeyBytesMax) return false;
  const PackedKey packed(key);
  Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return false;
  return home.book->Peek(key, HashOf(packed), engine_.timeline().now(), look);
}

bool FolderCore::Scan(ScanCursor& cursor, size_t max, AnyFolder::See see) {
  for (size_t seen = 0; cursor.partition < engine_.partition_count(); ++cursor.partition) {
    Partition& partition = engine_.partition(cursor.partition);
    LongLockGuard guard(partition.lock());
    FoldBook* const book = homes_[static_cast<size_t>(cursor.partition)].book;
    if (book != nullptr && !book->Scan(cursor.place, max, engine_.timeline().now(), seen, see)) {
      return true;
    }
    cursor.place = 0;
  }
  return false;
}

// Time must not move between one partition and the next: what closed by an event at a later time than
// ours would lie ahead of us.
void FolderCore::CloseAll() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PartitionRange all = Clip({});
  LockRange(all);
  const EngineTime now = engine_.timeline().now();
  const uint64_t position = engine_.timeline().TakePositions(1);
  for (const Home& home : homes_) {
    if (home.book != nullptr) home.book->CloseAll(now, position);
  }
  HandOverRange(all);
}

// Merges what the partitions of `from` have to hand out, and hands out up to `max` of it by
// `hand_out(book, next, lease_now)`. A book that has taken back so much, or gone through so much that waits for its
// key, that others should have their turn at the locks, says so before it knows what comes next: then all
// begin again, or, if something was handed out, that is it.
template <class HandOut>
size_t FolderCore::HandOutRange(size_t max, PartitionRange from, bool lends,
                                const HandOut& hand_out) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  struct Head {
    Handout next;
    FoldBook* book;
  };
  const auto later = [](const Head& a, const Head& b) {
    return b.book->IsBefore(b.next, *a.book, a.next);
  };
  const PartitionRange range = Clip(from);
  if (range.empty() || max == 0) return 0;
  std::vector<Head> heads;
  heads.reserve(static_cast<size_t>(range.end - range.begin));
  size_t handed_out = 0;
  bool known = true;  // what comes next, of every book
  do {
    known = true;
    heads.clear();
    LockRange(range);
    const Timeline& timeline = engine_.timeline();
    const EngineTime now = timeline.now();
    const LeaseTime lease_now = timeline.lease_now();
    const auto look = [&](Head& head) {
      head.next = head.book->NextHandout(now, lends);
      known &= head.next.what() != Handout::What::kLater;
      return static_cast<bool>(head.next);
    };
    for (int i = range.begin; i < range.end; ++i) {
      const Home& home = homes_[static_cast<size_t>(i)];
      if (home.book == nullptr) continue;
      Head head{{}, home.book};
      if (!home.book->TakeBack(now, lease_now)) {
        known = false;
      } else if (look(head)) {
        heads.push_back(head);
      }
    }
    std::make_heap(heads.begin(), heads.end(), later);
    while (known && handed_out < max && !heads.empty()) {
      std::pop_heap(heads.begin(), heads.end(), later);
      Head& head = heads.back();
      hand_out(*head.book, head.next, lease_now);
      ++handed_out;
      if (Planted(Mistake::kLetsGoBetweenEmissions)) LetGo(engine_.partition(range.begin).lock());
      if (handed_out < max && look(head)) {
        std::push_heap(heads.begin(), heads.end(), later);
      } else {
        heads.pop_back();
      }
    }
    if (lends) {
      for (int i = range.begin; i < range.end; ++i) NoteLeases(homes_[static_cast<size_t>(i)]);
    }
    HandOverRange(range);
  } while (!known && handed_out == 0);
  return handed_out;
}

size_t FolderCore::Pop(size_t max, PartitionRange from, AnyFolder::Take take) {
  return HandOutRange(max, from, /*lends=*/false,
                      [&](FoldBook& book, const Handout& next, LeaseTime lease_now) {
                        book.PopNext(next, lease_now, take);
                      });
}

size_t FolderCore::Lease(size_t max, Duration ttl, PartitionRange from, AnyFolder::Borrow borrow) {
  const LeaseToken origin{.epoch = engine_.epoch(), .collection = number_};
  return HandOutRange(max, from, /*lends=*/true,
                      [&](FoldBook& book, const Handout& next, LeaseTime lease_now) {
                        book.LendNext(next, lease_now, ttl, origin, borrow);
                      });
}

// A lease may end before all others.
void FolderCore::NoteLeases(const Home& home) {
  if (home.book != nullptr) home.partition->LeaseDeadlineMayBeEarlier(*home.book);
}

// What `change(book, lease_now)` makes of a token, if it is one of this folder's.
template <class Change>
LeaseOutcome FolderCore::WithToken(const LeaseToken& token, const Change& change) {
  const bool ours = token.epoch == engine_.epoch() && token.collection == number_;
  if (!ours || token.partition >= homes_.size()) return LeaseOutcome::kStale;
  const Home& home = homes_[token.partition];
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return closed() ? LeaseOutcome::kClosed : LeaseOutcome::kStale;
  const LeaseOutcome outcome = change(*home.book, engine_.timeline().lease_now());
  NoteLeases(home);
  return outcome;
}

LeaseOutcome FolderCore::Ack(const LeaseToken& token) {
  return WithToken(token,
                   [&](FoldBook& book, LeaseTime lease_now) { return book.Ack(token, lease_now); });
}

LeaseOutcome FolderCore::Nack(const LeaseToken& token, Duration delay) {
  return WithToken(token, [&](FoldBook& book, LeaseTime lease_now) {
    return book.Nack(token, delay, lease_now);
  });
}

Extension FolderCore::Extend(const LeaseToken& token, Duration ttl) {
  Extension extension;
  extension.outcome = WithToken(token, [&](FoldBook& book, LeaseTime lease_now) {
    extension = book.Extend(token, ttl, lease_now);
    return extension.outcome;
  });
  return extension;
}

LeaseOutcome FolderCore::RetryDeadLetter(const LeaseToken& token) {
  return WithToken(token, [&](FoldBook& book, LeaseTime lease_now) {
    return book.RetryDeadLetter(token, lease_now);
  });
}

LeaseOutcome FolderCore::DropDeadLetter(const LeaseToken& token) {
  return WithToken(token, [&](FoldBook& book, LeaseTime lease_now) {
    return book.DropDeadLetter(token, lease_now);
  });
}

bool FolderCore::ScanDeadLetters(ScanCursor& cursor, size_t max, AnyFolder::SeeDead see) {
  for (size_t seen = 0; cursor.partition < engine_.partition_count(); ++cursor.partition) {
    Partition& partition = engine_.partition(cursor.partition);
    LongLockGuard guard(partition.lock());
    FoldBook* const book = homes_[static_cast<size_t>(cursor.partition)].book;
    const LeaseTime lease_now = engine_.timeline().lease_now();
    if (book != nullptr && !book->ScanDeadLetters(cursor.place, max, lease_now, seen, see))
      return true;
    cursor.place = 0;
  }
  return false;
}

void FolderCore::AddListener(EmissionListener& listener, PartitionRange of) {
  const PartitionRange range = Clip(of);
  for (int i = range.begin; i < range.end; ++i) {
    LockGuard guard(engine_.partition(i).lock());
    listeners_[static_cast<size_t>(i)].push_back(&listener);
  }
}

void FolderCore::RemoveListener(EmissionListener& listener) {
  for (size_t i = 0; i < homes_.size(); ++i) {
    LockGuard guard(homes_[i].partition->lock());
    std::erase(listeners_[i], &listener);
  }
}

Ledger FolderCore::ledger() {
  Ledger sum;
  for (const Home& home : homes_) {
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += home.book->ledger();
  }
  return sum;
}

Sizes FolderCore::sizes() {
  Sizes sum;
  for (const Home& home : homes_) {
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) sum += home.book->sizes();
  }
  return sum;
}

std::unique_ptr<GapStats> FolderCore::gap_stats() {
  if (!options_.measure.gap_stats) return nullptr;
  auto stats = std::make_unique<GapStats>();
  stats->quiet_period = options_.quiet_period;
  stats->max_hold = options_.max_hold;
  for (const Home& home : homes_) {
    LongLockGuard guard(home.partition->lock());
    if (home.book != nullptr) home.book->AddTo(*stats);
  }
  stats->open_peak = open_peak_.peak();
  return stats;
}

absl::StatusOr<AnyFolder> AnyFolder::Open(Engine& engine, std::string_view name,
                                          const FolderOptions& options, const StateOps& ops,
                                          std::shared_ptr<void> context_owner) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Open() from inside a fold function");
  if (absl::Status status = Check(options, ops, engine.partitions()); !status.ok()) return status;
  auto core =
      std::make_shared<FolderCore>(*engine.core(), name, options, ops, std::move(context_owner));
  if (absl::Status status = engine.core()->Add(core); !status.ok()) return status;
  return AnyFolder(engine.core(), std::move(core));
}

void AnyFolder::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  Fail("folder \"" + std::string(name) + "\": " + std::string(why.message()));
}

AnyFolder::AnyFolder(std::shared_ptr<EngineCore> engine, std::shared_ptr<FolderCore> core)
    : engine_(std::move(engine)), core_(std::move(core)) {}

// What comes from inside a function of the caller's gets no further than here.

FoldOutcome AnyFolder::Fold(std::string_view key, const void* event, EngineTime at) noexcept {
  const Call call;
  if (call.nested()) return FoldOutcome::kWouldDeadlock;
  return core_->Fold(key, event, at);
}
FoldCounts AnyFolder::FoldBatch(const AnyBatch& batch, std::span<FoldOutcome> outcomes,
                                PartitionRange only) noexcept {
  const Call call;
  if (!outcomes.empty() && outcomes.size() < batch.size) {
    Fail("FoldBatch() of " + std::to_string(batch.size) + " events was given room for " +
         std::to_string(outcomes.size()) + " outcomes");
  }
  FoldOutcome* const first = outcomes.empty() ? nullptr : outcomes.data();
  if (!call.nested()) return core_->FoldBatch(batch, first, only);
  if (first != nullptr) std::fill_n(first, batch.size, FoldOutcome::kWouldDeadlock);
  return {.would_deadlock = batch.size};
}
bool AnyFolder::Flush(std::string_view key) noexcept {
  const Call call;
  return !call.nested() && core_->Flush(key);
}
bool AnyFolder::Cancel(std::string_view key) noexcept {
  const Call call;
  return !call.nested() && core_->Cancel(key);
}
bool AnyFolder::Peek(std::string_view key, Look look) const noexcept {
  const Call call;
  return !call.nested() && core_->Peek(key, look);
}
bool AnyFolder::Scan(ScanCursor& cursor, size_t max, See see) const noexcept {
  const Call call;
  if (cursor.partition < 0) cursor = {};
  return !call.nested() && core_->Scan(cursor, std::max<size_t>(max, 1), see);
}
void AnyFolder::Close() noexcept {
  const Call call;
  if (!call.nested()) engine_->Remove(*core_);
}
void AnyFolder::CloseAll() noexcept {
  const Call call;
  if (!call.nested()) core_->CloseAll();
}
size_t AnyFolder::Pop(size_t max, PartitionRange from, Take take) noexcept {
  const Call call;
  return call.nested() ? 0 : core_->Pop(max, from, take);
}
size_t AnyFolder::Lease(size_t max, Duration ttl, LeaseTime now, PartitionRange from,
                        Borrow borrow) noexcept {
  const Call call;
  if (call.nested()) return 0;
  MoveLeaseTime(now);
  return core_->Lease(max, ttl, from, borrow);
}
LeaseOutcome AnyFolder::Ack(const LeaseToken& token) noexcept {
  const Call call;
  return call.nested() ? LeaseOutcome::kWouldDeadlock : core_->Ack(token);
}
LeaseOutcome AnyFolder::Nack(const LeaseToken& token) noexcept {
  const Call call;
  return call.nested() ? LeaseOutcome::kWouldDeadlock : core_->Nack(token, Duration::zero());
}
LeaseOutcome AnyFolder::Nack(const LeaseToken& token, Duration delay, LeaseTime now) noexcept {
  const Call call;
  if (call.nested()) return LeaseOutcome::kWouldDeadlock;
  MoveLeaseTime(now);
  return core_->Nack(token, delay);
}
Extension AnyFolder::Extend(const LeaseToken& token, Duration ttl, LeaseTime now) noexcept {
  const Call call;
  if (call.nested()) return {LeaseOutcome::kWouldDeadlock};
  MoveLeaseTime(now);
  return core_->Extend(token, ttl);
}
bool AnyFolder::ScanDeadLetters(ScanCursor& cursor, size_t max, SeeDead see) const noexcept {
  const Call call;
  if (cursor.partition < 0) cursor = {};
  return !call.nested() && core_->ScanDeadLetters(cursor, std::max<size_t>(max, 1), see);
}
LeaseOutcome AnyFolder::RetryDeadLetter(const LeaseToken& token) noexcept {
  const Call call;
  return call.nested() ? LeaseOutcome::kWouldDeadlock : core_->RetryDeadLetter(token);
}
LeaseOutcome AnyFolder::DropDeadLetter(const LeaseToken& token) noexcept {
  const Call call;
  return call.nested() ? LeaseOutcome::kWouldDeadlock : core_->DropDeadLetter(token);
}
void AnyFolder::AddListener(EmissionListener& listener, PartitionRange of) noexcept {
  const Call call;
  if (!call.nested()) core_->AddListener(listener, of);
}
void AnyFolder::RemoveListener(EmissionListener& listener) noexcept {
  const Call call;
  if (!call.nested()) core_->RemoveListener(listener);
}
Ledger AnyFolder::ledger() const noexcept {
  const Call call;
  return call.nested() ? Ledger{} : core_->ledger();
}
Sizes AnyFolder::sizes() const noexcept {
  const Call call;
  return call.nested() ? Sizes{} : core_->sizes();
}
std::unique_ptr<GapStats> AnyFolder::gap_stats() const noexcept {
  const Call call;
  return call.nested() ? nullptr : core_->gap_stats();
}
const StateOps& AnyFolder::ops() const noexcept { return core_->ops(); }
bool AnyFolder::closed() const noexcept { return core_->closed(); }
void AnyFolder::Advance(EngineTime now) noexcept {
  const Call call;
  if (!call.nested()) engine_->Advance(now, std::numeric_limits<size_t>::max());
}
void AnyFolder::MoveLeaseTime(LeaseTime now) noexcept {
  if (!core_->closed()) engine_->timeline().RaiseLeases(Clamp(now));
}
EngineTime AnyFolder::now() const noexcept { return engine_->timeline().now(); }
int AnyFolder::partitions() const noexcept { return engine_->partition_count(); }

}  // namespace pleat::inline v0_1
