// Taking a snapshot: the cut, then one partition after the other, then the events and lines that wait
// for their turn.
#include <pleat/snapshot.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>

#include "engine/base/concat.h"
#include "engine/base/copies.h"
#include "engine/base/inside.h"
#include "engine/base/lock.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"
#include "engine/core/snapshot_head.h"
#include "engine/core/waiting_events.h"
#include "engine/state/blocks.h"

namespace pleat::inline v0_1 {
namespace {

using Pieces = std::vector<FieldWriter::Piece>;

// Writes each piece as a block; the first is of `kind`, which is `behind` from then on.
absl::Status WriteBlocks(const Pieces& pieces, uint32_t owner, BlockKind& kind, BlockKind behind,
                         BlockWriter& writer) {
  for (const FieldWriter::Piece& piece : pieces) {
    absl::Status status = writer.Write(std::exchange(kind, behind), owner, piece.bytes());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

class PartCopy;

// Ends the copying of a snapshot whose copies are too much.
class CopyOwner {
 public:
  virtual CopyCount& count() noexcept = 0;
  // Called under the lock of the partition that `full` copies, in the midst of an operation.
  virtual void EndAsFull(PartCopy& full) noexcept = 0;

 protected:
  ~CopyOwner() = default;
};

// What the books of a partition have written, and the snapshot has not yet.
class KeptPieces final : public Copies::Holder {
 public:
  explicit KeptPieces(Copies& copies) : Holder(copies) {}
  ~KeptPieces() override { Leave(); }

  // As many as there is room for.
  void Keep(size_t book, Pieces pieces) {
    for (FieldWriter::Piece& piece : pieces) {
      if (piece.size < kBlockBytesMax / 2) CutToSize(piece);
      const auto put = [&] { pieces_.push_back({book, std::move(piece)}); };
      if (!Hold(piece.size, put)) return;
    }
  }
  // Moves the first one of a book out. Returns whether there was one.
  bool Take(size_t book, FieldWriter::Piece& piece) {
    LockGuard guard(lock());
    const auto first = std::ranges::find(pieces_, book, &Kept::book);
    if (first == pieces_.end()) return false;
    piece = std::move(first->piece);
    pieces_.erase(first);
    LetGo(piece.size);
    return true;
  }

 private:
  struct Kept {
    size_t book;
    FieldWriter::Piece piece;
  };
  static void CutToSize(FieldWriter::Piece& piece) {
    auto exact = std::make_unique<char[]>(piece.size);
    std::memcpy(exact.get(), piece.data.get(), piece.size);
    piece.data = std::move(exact);
  }
  void Free() noexcept override { pieces_.clear(); }

  std::deque<Kept> pieces_;
};

// The copy of one partition: begun by whoever comes first, and gone on with by the thread that takes
// the snapshot. Calls are made under the partition's lock, but for begun(), and for book_count() and
// collection(), which do not change once it has begun.
class PartCopy final : public PartitionCopier, private Copies {
 public:
  explicit PartCopy(CopyOwner& owner) : owner_(owner) {}

  void Begin(const Partition& partition) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    partition.ForEachBook([&](uint32_t collection, Book& book) {
      if (owner_.count().given_up()) return;
      FieldWriter out(kBlockBytesMax);
      const bool more = book.BeginSave(out, *this);
      books_.push_back({collection, more ? &book : nullptr});
      kept_.Keep(books_.size() - 1, out.TakePieces());
    });
    begun_.store(true, std::memory_order_release);
  }
  // The books keep nothing for it any more.
  void End() noexcept override {
    for (BookCopy& copy : books_) EndBook(copy);
    Forget();
  }
  void Leave(Book& book) override {
    for (size_t i = 0; i < books_.size(); ++i) {
      if (books_[i].more != &book) continue;
      FieldWriter out(kBlockBytesMax);
      while (!owner_.count().given_up() && book.SaveNext(out)) {
        kept_.Keep(i, out.TakeFullPieces());
      }
      kept_.Keep(i, out.TakePieces());
      EndBook(books_[i]);
    }
  }
  using Copies::Forget;

  bool begun() const noexcept { return begun_.load(std::memory_order_acquire); }

  // The rest REQUIRES: begun. How many books there are, and the collection of each.
  size_t book_count() const noexcept { return books_.size(); }
  uint32_t collection(size_t book) const noexcept { return books_[book].collection; }
  // Goes on with a book, unless the snapshot was given up: writes its next part, or moves to `kept`
  // one of those that others have written. Returns whether there may be more.
  bool Next(size_t book, FieldWriter& out, FieldWriter::Piece& kept) {
    if (owner_.count().given_up()) return false;
    BookCopy& copy = books_[book];
    if (kept_.Take(book, kept)) return true;
    if (copy.more == nullptr) return false;
    if (copy.more->SaveNext(out)) return true;
    copy.more = nullptr;
    return false;
  }

 private:
  struct BookCopy {
    uint32_t collection;
    Book* more;  // null: the book has written all that it had
  };

  static void EndBook(BookCopy& copy) noexcept {
    if (Book* const book = std::exchange(copy.more, nullptr); book != nullptr) book->EndSave();
  }
  bool Add(size_t bytes) noexcept override {
    return !owner_.count().given_up() && owner_.count().Add(bytes);
  }
  void Remove(size_t bytes) noexcept override { owner_.count().Remove(bytes); }
  void EndAsFull() noexcept override { owner_.EndAsFull(*this); }

  CopyOwner& owner_;
  KeptPieces kept_{*this};
  std::vector<BookCopy> books_;
  std::atomic<bool> begun_ = false;
};

class SnapshotTaker final : public SnapshotTaking, private CopyOwner {
 public:
  SnapshotTaker(EngineCore& engine, uint64_t identity, uint64_t max_copy_bytes)
      : engine_(engine), identity_(identity), count_(max_copy_bytes) {
    CopyOwner& owner = *this;
    for (int i = 0; i < engine.partition_count(); ++i) copies_.emplace_back(owner);
  }
  SnapshotTaker(const SnapshotTaker&) = delete;
  SnapshotTaker& operator=(const SnapshotTaker&) = delete;

  absl::Status Take(ByteSink& sink, const SnapshotOptions& options);
  // Any thread.
  bool GiveUp() override;
  uint64_t identity() const noexcept override { return identity_; }
  SnapshotCopies copies() const noexcept override {
    return {.bytes = count_.bytes(), .most_bytes = count_.most()};
  }

 private:
  CopyCount& count() noexcept override { return count_; }
  void EndAsFull(PartCopy& full) noexcept override ABSL_NO_THREAD_SAFETY_ANALYSIS;
  absl::Status Write(ByteSink& sink, const SnapshotOptions& options);
  // Why no more is written. REQUIRES: given up.
  absl::Status GivenUp() const;
  void EndCopy(size_t part);
  void ForgetRests();
  absl::Status Cut(const SnapshotOptions& options);
  absl::Status CheckExpected(std::span<const SnapshotInfo::Collection> expected) const;
  void CutLocked(const EngineCore::Collections& collections);
  void LockAll() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void HandOverAll() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForgetCopies();
  size_t NextPart(const std::vector<bool>& written) const;
  absl::Status WritePart(size_t part, BlockWriter& writer);
  absl::Status WriteRests(BlockWriter& writer);
  absl::Status WriteRest(uint32_t owner, FieldWriter& out,
                         absl::FunctionRef<bool(FieldWriter&)> write_next, BlockWriter& writer);

  // What a companion writes after the cut.
  struct CompanionRest {
    uint32_t collection;
    std::shared_ptr<Companion> companion;  // outlives its rest
    std::unique_ptr<Companion::Rest> rest;
  };

  EngineCore& engine_;
  const uint64_t identity_;
  CopyCount count_;
  Lock giving_up_;               // held by the thread that does so
  std::deque<PartCopy> copies_;  // by partition
  size_t parts_written_ = 0;
  SnapshotHead head_;
  // Held while a rest writes its next part, or is forgotten.
  Lock rest_lock_;
  std::vector<CompanionRest> rests_;
  // Of the events that wait in an intake.
  std::shared_ptr<WaitingEvents> waiting_;  // null: none can
  FieldWriter waiting_head_{kBlockBytesMax};
  std::unique_ptr<WaitingCopy> waiting_copy_;
};

// Descriptions, which never change, are made before the cut.
absl::Status SnapshotTaker::Cut(const SnapshotOptions& options) {
  head_.identity = options.identity;
  head_.tag = options.tag;
  head_.note = options.note;
  head_.partitions = static_cast<uint32_t>(engine_.partition_count());
  head_.axis = engine_.timeline().axis();
  head_.watermark_delay = engine_.timeline().watermark_delay();
  absl::Status status;
  engine_.WithCollections([&](const EngineCore::Collections& collections) {
    for (const auto& [name, collection] : collections) {
      Description description = collection->DescribeAll();
      if (!description.stored) {
        status = absl::FailedPreconditionError(Concat(
            "\"", name, "\" has a type that cannot be stored: give it Stored(), see stored.h"));
        return;
      }
      head_.collections.push_back({.name = std::string(name),
                                   .number = collection->number(),
                                   .description = std::move(description),
                                   .shared = {}});
    }
    waiting_ = engine_.waiting();
    if (waiting_ != nullptr) waiting_head_(kRestLayout, waiting_->Describe());
    CutLocked(collections);
  });
  if (status.ok()) status = CheckExpected(options.expected);
  // Afterwards, because it counts the collections ever opened: those that the head names at least.
  head_.lasting = engine_.lasting();
  return status;
}

// An engine that is gone has lost all of its collections at once.
absl::Status SnapshotTaker::CheckExpected(
    std::span<const SnapshotInfo::Collection> expected) const {
  if (head_.collections.empty() && engine_.closed()) {
    return absl::FailedPreconditionError("the engine is gone");
  }
  for (const SnapshotInfo::Collection& each : expected) {
    const auto found =
        std::ranges::find(head_.collections, each.name, &SnapshotHead::Collection::name);
    const bool is_there = found != head_.collections.end();
    if (is_there && found->number == each.number) continue;
    return absl::FailedPreconditionError(
        Concat("\"", each.name, is_there ? "\" was closed, and opened anew" : "\" was closed",
               ": without it the snapshot would lose all that it held"));
  }
  return absl::OkStatus();
}

void SnapshotTaker::CutLocked(const EngineCore::Collections& collections) {
  const Gate::Closing closing(engine_.gate());
  LockAll();
  const Timeline& timeline = engine_.timeline();
  head_.now = timeline.now();
  head_.lease_now = timeline.lease_now();
  head_.position = timeline.position();
  size_t next = 0;
  LockGuard guard(rest_lock_);  // who gives the snapshot up forgets them
  for (const auto& [name, collection] : collections) {
    head_.collections[next].entries = collection->CountEntries();
    FieldWriter shared;
    collection->source_positions().Save(shared);
    collection->SaveAll(shared);
    head_.collections[next++].shared = std::string(shared.bytes());
    if (const std::shared_ptr<Companion>& companion = collection->companion()) {
      std::unique_ptr<Companion::Rest> rest = companion->BeginRest();
      if (rest != nullptr) rests_.push_back({collection->number(), companion, std::move(rest)});
    }
  }
  if (waiting_ != nullptr) {
    waiting_->SaveTimes(waiting_head_);
    waiting_copy_ = waiting_->stage().Copy();
  }
  HandOverAll();
}

void SnapshotTaker::LockAll() {
  for (size_t i = 0; i < copies_.size(); ++i) {
    Partition& partition = engine_.partition(static_cast<int>(i));
    partition.lock().LockForLong();
    partition.CopyBeforeChange(copies_[i]);
  }
}

void SnapshotTaker::HandOverAll() {
  for (size_t i = copies_.size(); i-- > 0;) {
    engine_.partition(static_cast<int>(i)).lock().HandOver();
  }
}

void SnapshotTaker::EndCopy(size_t part) {
  Partition& partition = engine_.partition(static_cast<int>(part));
  LockGuard guard(partition.lock());
  partition.EndCopy();
  copies_[part].End();
}

void SnapshotTaker::ForgetCopies() {
  for (size_t i = 0; i < copies_.size(); ++i) EndCopy(i);
  ForgetRests();
}

// So that their events need not be kept.
void SnapshotTaker::ForgetRests() {
  LockGuard guard(rest_lock_);
  for (CompanionRest& each : rests_) each.rest = nullptr;
  waiting_copy_ = nullptr;
}

// Memory first, which needs no partition.
bool SnapshotTaker::GiveUp() {
  LockGuard guard(giving_up_);
  if (!count_.EndAs(CopyCount::End::kGivenUp)) return count_.given_up();
  for (PartCopy& copy : copies_) copy.Forget();
  ForgetCopies();
  return true;
}

// The caller has a partition, and perhaps others, so it waits for none: a book that somebody else has
// goes on saving, without memory, until it would keep something. Of the partition that is full, the
// saving ends when the operation is over.
void SnapshotTaker::EndAsFull(PartCopy& full) noexcept {
  const bool is_first = count_.EndAs(CopyCount::End::kFull);
  for (size_t i = 0; i < copies_.size(); ++i) {
    Partition& partition = engine_.partition(static_cast<int>(i));
    if (is_first) copies_[i].Forget();
    if (&copies_[i] == &full) {
      partition.EndCopySoon();
    } else if (is_first && partition.lock().try_lock()) {
      partition.EndCopy();
      copies_[i].End();
      partition.lock().unlock();
    }
  }
  if (is_first) ForgetRests();
}

absl::Status SnapshotTaker::GivenUp() const {
  if (count_.end() == CopyCount::End::kGivenUp) {
    return absl::CancelledError("the snapshot was given up");
  }
  return absl::ResourceExhaustedError(Concat(
      "max_copy_bytes: copies of what changed before its turn would take more than ", count_.max(),
      " bytes; ", parts_written_, " of ", copies_.size(), " partitions were written"));
}

// Copies that have begun go first: they take memory.
size_t SnapshotTaker::NextPart(const std::vector<bool>& written) const {
  std::optional<size_t> first;
  for (size_t i = 0; i < copies_.size(); ++i) {
    if (written[i]) continue;
    if (copies_[i].begun()) return i;
    if (!first) first = i;
  }
  return *first;
}

// The partition is unlocked between any two steps, and whenever something is written. Each book
// begins a block, so that a reader can pass over one.
absl::Status SnapshotTaker::WritePart(size_t part, BlockWriter& writer) {
  PartCopy& copy = copies_[part];
  Partition& partition = engine_.partition(static_cast<int>(part));
  const auto locked = [&](const auto& step) {
    const Call call;  // functions of the caller's write states
    LongLockGuard guard(partition.lock());
    return step();
  };
  const auto owner = static_cast<uint32_t>(part);
  auto kind = BlockKind::kPart;
  const auto write = [&](const Pieces& pieces) {
    return WriteBlocks(pieces, owner, kind, BlockKind::kMore, writer);
  };
  const size_t books = locked([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!count_.given_up()) partition.CopyFirst();
    return copy.book_count();
  });
  if (count_.given_up()) return GivenUp();
  for (size_t book = 0; book < books; ++book) {
    FieldWriter out(kBlockBytesMax);
    out(copy.collection(book));
    for (bool more = true; more;) {
      FieldWriter::Piece kept{};
      more = locked([&] { return copy.Next(book, out, kept); });
      if (count_.given_up()) return GivenUp();
      out.PutFields(kept.bytes());
      kept.data = nullptr;
      if (absl::Status status = write(out.TakeFullPieces()); !status.ok()) return status;
    }
    if (absl::Status status = write(out.TakePieces()); !status.ok()) return status;
    kind = BlockKind::kBook;
  }
  return books == 0 ? writer.Write(kind, owner, {}) : absl::OkStatus();
}

absl::Status SnapshotTaker::WriteRests(BlockWriter& writer) {
  for (CompanionRest& each : rests_) {
    FieldWriter out(kBlockBytesMax);
    out.PutNumber(kRestLayout);
    absl::Status status = WriteRest(
        each.collection, out, [&](FieldWriter& to) { return each.rest->SaveNext(to); }, writer);
    if (!status.ok()) return status;
    LockGuard guard(rest_lock_);
    each.rest = nullptr;
  }
  if (waiting_ == nullptr) return absl::OkStatus();
  return WriteRest(
      SnapshotHead::kIntakeNumber, waiting_head_,
      [&](FieldWriter& to) { return waiting_copy_->SaveNext(to); }, writer);
}

// The first block has what `out` has, and the events are in others: so at least two blocks say that there
// is a rest, and one that is damaged can be told.
absl::Status SnapshotTaker::WriteRest(uint32_t owner, FieldWriter& out,
                                      absl::FunctionRef<bool(FieldWriter&)> write_next,
                                      BlockWriter& writer) {
  auto kind = BlockKind::kRest;
  const auto write = [&](const Pieces& pieces) {
    return WriteBlocks(pieces, owner, kind, BlockKind::kMoreRest, writer);
  };
  if (absl::Status status = write(out.TakePieces()); !status.ok()) return status;
  for (bool more = true; more;) {
    {
      LockGuard guard(rest_lock_);
      if (count_.given_up()) return GivenUp();
      more = write_next(out);
    }
    absl::Status status = write(more ? out.TakeFullPieces() : out.TakePieces());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Whatever the sink says of a snapshot that was given up, that is what became of it.
absl::Status SnapshotTaker::Take(ByteSink& sink, const SnapshotOptions& options) {
  const absl::Status status = Write(sink, options);
  const bool given_up = !count_.EndAs(CopyCount::End::kDone);
  ForgetCopies();
  // Who gives it up has left the partitions before another one begins.
  LockGuard guard(giving_up_);
  return given_up ? GivenUp() : status;
}

absl::Status SnapshotTaker::Write(ByteSink& sink, const SnapshotOptions& options) {
  if (absl::Status cut = Cut(options); !cut.ok()) return cut;
  if (count_.given_up()) return GivenUp();  // before it could be: the cut has begun new copies
  BlockWriter writer(sink, options.identity, options.compress);
  if (absl::Status status = head_.Write(writer); !status.ok()) return status;
  std::vector<bool> written(copies_.size());
  for (size_t left = copies_.size(); left > 0; --left) {
    const size_t part = NextPart(written);
    written[part] = true;
    if (absl::Status status = WritePart(part, writer); !status.ok()) return status;
    ++parts_written_;
  }
  if (absl::Status status = WriteRests(writer); !status.ok()) return status;
  return writer.Write(BlockKind::kEnd, head_.partitions, {});
}

}  // namespace

// The sink may call the engine: no lock is held then.
absl::Status TakeSnapshot(Engine& engine, ByteSink& sink, const SnapshotOptions& options) {
  if (Call().nested()) {
    return absl::FailedPreconditionError("TakeSnapshot() from inside a fold function");
  }
  if (options.max_copy_bytes == 0) {
    return absl::InvalidArgumentError("max_copy_bytes: must be 1 or more");
  }
  // The engine may be destroyed while the sink does not return.
  const std::shared_ptr<EngineCore> core = EngineAccess::CoreOf(engine);
  const auto taker =
      std::make_shared<SnapshotTaker>(*core, options.identity, options.max_copy_bytes);
  if (!core->BeginSnapshot(taker)) {
    return absl::UnavailableError("another snapshot is being taken");
  }
  const absl::Status status = taker->Take(sink, options);
  core->EndSnapshot();
  return status;
}

bool GiveUpSnapshot(Engine& engine, std::optional<uint64_t> identity) noexcept {
  const Call call;
  if (call.nested()) return false;
  const std::shared_ptr<EngineCore> core = EngineAccess::CoreOf(engine);
  return core->GiveUpSnapshot(identity);
}

SnapshotCopies SnapshotCopiesOf(Engine& engine) noexcept {
  return EngineAccess::CoreOf(engine)->copies();
}

}  // namespace pleat::inline v0_1
