// Taking a snapshot: the cut, then one partition after the other, then the events and lines that wait
// for their turn.
#include <pleat/snapshot.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>

#include "engine/base/concat.h"
#include "engine/base/inside.h"
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

// The copy of one partition: begun by whoever comes first, and gone on with by the thread that takes
// the snapshot. Calls are made under the partition's lock, but for begun(), and for book_count() and
// collection(), which do not change once it has begun.
class PartCopy final : public PartitionCopier {
 public:
  void Begin(const Partition& partition) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    partition.ForEachBook([&](uint32_t collection, Book& book) {
      FieldWriter out(kBlockBytesMax);
      const bool more = book.BeginSave(out);
      books_.push_back({collection, more ? &book : nullptr, out.TakePieces()});
    });
    begun_.store(true, std::memory_order_release);
  }
  void Leave(Book& book) override {
    for (BookCopy& copy : books_) {
      if (copy.more != &book) continue;
      FieldWriter out(kBlockBytesMax);
      while (book.SaveNext(out)) {
      }
      std::ranges::move(out.TakePieces(), std::back_inserter(copy.kept));
      copy.more = nullptr;
    }
  }
  // The books keep nothing for it any more.
  void End() {
    for (const BookCopy& copy : books_) {
      if (copy.more != nullptr) copy.more->EndSave();
    }
    books_.clear();
  }

  bool begun() const noexcept { return begun_.load(std::memory_order_acquire); }

  // The rest REQUIRES: begun. How many books there are, and the collection of each.
  size_t book_count() const noexcept { return books_.size(); }
  uint32_t collection(size_t book) const noexcept { return books_[book].collection; }
  // Goes on with a book: writes its next part, or moves to `kept` those that others have written.
  // Returns whether there may be more.
  bool Next(size_t book, FieldWriter& out, Pieces& kept) {
    BookCopy& copy = books_[book];
    if (!copy.kept.empty()) return copy.kept.swap(kept), true;
    if (copy.more == nullptr) return false;
    if (copy.more->SaveNext(out)) return true;
    copy.more = nullptr;
    return false;
  }

 private:
  struct BookCopy {
    uint32_t collection;
    Book* more;   // null: the book has written all that it had
    Pieces kept;  // which the snapshot has not
  };

  std::vector<BookCopy> books_;
  std::atomic<bool> begun_ = false;
};

class SnapshotTaker {
 public:
  explicit SnapshotTaker(EngineCore& engine)
      : engine_(engine), copies_(static_cast<size_t>(engine.partition_count())) {}
  ~SnapshotTaker() { ForgetCopies(); }
  SnapshotTaker(const SnapshotTaker&) = delete;
  SnapshotTaker& operator=(const SnapshotTaker&) = delete;

  absl::Status Take(ByteSink& sink, const SnapshotOptions& options);

 private:
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
  std::deque<PartCopy> copies_;  // by partition
  SnapshotHead head_;
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

void SnapshotTaker::ForgetCopies() {
  for (size_t i = 0; i < copies_.size(); ++i) {
    Partition& partition = engine_.partition(static_cast<int>(i));
    LockGuard guard(partition.lock());
    partition.EndCopy();
    copies_[i].End();
  }
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
    partition.CopyFirst();
    return copy.book_count();
  });
  for (size_t book = 0; book < books; ++book) {
    FieldWriter out(kBlockBytesMax);
    out(copy.collection(book));
    for (bool more = true; more;) {
      Pieces kept;
      more = locked([&] { return copy.Next(book, out, kept); });
      for (FieldWriter::Piece& piece : kept) {
        out.PutFields(piece.bytes());
        piece.data = nullptr;
        if (absl::Status status = write(out.TakeFullPieces()); !status.ok()) return status;
      }
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
    each.rest.reset();
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
    more = write_next(out);
    absl::Status status = write(more ? out.TakeFullPieces() : out.TakePieces());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SnapshotTaker::Take(ByteSink& sink, const SnapshotOptions& options) {
  if (absl::Status cut = Cut(options); !cut.ok()) return cut;
  BlockWriter writer(sink, options.identity, options.compress);
  if (absl::Status status = head_.Write(writer); !status.ok()) return status;
  std::vector<bool> written(copies_.size());
  for (size_t left = copies_.size(); left > 0; --left) {
    const size_t part = NextPart(written);
    written[part] = true;
    if (absl::Status status = WritePart(part, writer); !status.ok()) return status;
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
  EngineCore& core = *EngineAccess::CoreOf(engine);
  if (!core.BeginSnapshot()) return absl::UnavailableError("another snapshot is being taken");
  const absl::Status status = SnapshotTaker(core).Take(sink, options);
  core.EndSnapshot();
  return status;
}

}  // namespace pleat::inline v0_1
