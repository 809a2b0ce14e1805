// Taking a snapshot: the cut, then one partition after the other.
#include <pleat/snapshot.h>

#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "engine/base/concat.h"
#include "engine/base/inside.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"
#include "engine/core/snapshot_head.h"
#include "engine/journal/blocks.h"

namespace pleat::inline v0_1 {
namespace {

// The copy of one partition, made under its lock by whoever comes first.
class PartCopy final : public PartitionCopier {
 public:
  void Copy(const Partition& partition) override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    FieldWriter out(kBlockBytesMax);
    out.PutNumber(partition.book_count());
    partition.ForEachBook([&](uint32_t collection, const Book& book) {
      out(collection);
      book.Save(out);
    });
    pieces_ = out.TakePieces();
    done_.store(true, std::memory_order_release);
  }

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  // REQUIRES: done.
  std::vector<FieldWriter::Piece> TakePieces() { return std::exchange(pieces_, {}); }

 private:
  std::vector<FieldWriter::Piece> pieces_;
  std::atomic<bool> done_ = false;
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
  void CutLocked(const EngineCore::Collections& collections);
  void LockAll() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void HandOverAll() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ForgetCopies();
  size_t NextPart(const std::vector<bool>& written) const;
  std::vector<FieldWriter::Piece> PiecesOf(size_t part);

  EngineCore& engine_;
  std::deque<PartCopy> copies_;  // by partition
  SnapshotHead head_;
};

// Descriptions, which never change, are made before the cut.
absl::Status SnapshotTaker::Cut(const SnapshotOptions& options) {
  head_.identity = options.identity;
  head_.tag = options.tag;
  head_.note = options.note;
  head_.partitions = static_cast<uint32_t>(engine_.partition_count());
  head_.axis = engine_.timeline().axis();
  head_.lateness = engine_.timeline().lateness();
  head_.lasting = engine_.lasting();
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
    CutLocked(collections);
  });
  return status;
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
    collection->source_marks().Save(shared);
    collection->SaveAll(shared);
    head_.collections[next++].shared = std::string(shared.bytes());
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
    if (!copies_[i].done()) partition.DoNotCopy();
  }
}

// Copies that others had to make go first: they take memory.
size_t SnapshotTaker::NextPart(const std::vector<bool>& written) const {
  std::optional<size_t> first;
  for (size_t i = 0; i < copies_.size(); ++i) {
    if (written[i]) continue;
    if (copies_[i].done()) return i;
    if (!first) first = i;
  }
  return *first;
}

std::vector<FieldWriter::Piece> SnapshotTaker::PiecesOf(size_t part) {
  if (!copies_[part].done()) {
    const Call call;  // functions of the caller's write states
    Partition& partition = engine_.partition(static_cast<int>(part));
    LongLockGuard guard(partition.lock());
    partition.CopyFirst();
  }
  return copies_[part].TakePieces();
}

absl::Status SnapshotTaker::Take(ByteSink& sink, const SnapshotOptions& options) {
  if (absl::Status cut = Cut(options); !cut.ok()) return cut;
  BlockWriter writer(sink, options.identity, options.compress);
  if (absl::Status status = head_.Write(writer); !status.ok()) return status;
  std::vector<bool> written(copies_.size());
  for (size_t left = copies_.size(); left > 0; --left) {
    const size_t part = NextPart(written);
    written[part] = true;
    for (const FieldWriter::Piece& piece : PiecesOf(part)) {
      const auto owner = static_cast<uint32_t>(part);
      absl::Status status = writer.Write(BlockKind::kPart, owner, piece.bytes());
      if (!status.ok()) return status;
    }
  }
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
