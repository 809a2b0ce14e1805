// A store of checkpoints in a directory; see OpenCheckpointDirectory().
//
// A file `checkpoints-N` has a checkpoint for each of some keys, and never changes. Each step that keeps
// something writes one, beside and renamed, with what is new in that step; and with all that counts of the
// newest files for as long as these have less than twice as many checkpoints as the new one has by then.
// These files go once the new one is on the disk. So
// - a file was written with at least twice as many checkpoints as the next newer one, so there are no more
//   than log2(keys) + 1 files, with at most twice as many checkpoints as there are keys;
// - a checkpoint is written anew only into a file that is half as large again, and so seldom.
//
// What counts of a key is the checkpoint in the newest file that has one. So an older file that a power loss
// brings back changes nothing, nor does a file of a step that has failed: what it offered may be kept or
// not, and what came later counts. Its number does not come again, because what becomes of its name is open.
//
// The newest file says which others there are. One of them that is missing is damage.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <absl/functional/function_ref.h>
#include <pleat/rollup_values.h>
#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/hash.h"
#include "engine/base/lock.h"
#include "engine/base/map_part.h"
#include "engine/state/blocks.h"
#include "engine/state/state_files.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kCheckpointsPrefix = "checkpoints-";
constexpr uint32_t kCheckpointsFormat = 1;

// What a checkpoint takes in memory beside its key: its node in the map, and its place in a file.
constexpr size_t kCheckpointBytes = 200;
// A block is written once it has so many. A key makes it longer by 64 KiB at most.
constexpr size_t kCheckpointBlockBytes = size_t{64} << 10;
constexpr size_t kCheckpointKeyBytesMax = size_t{64} << 10;  // as of a counter

std::string NameOfCheckpoints(uint64_t number) { return Concat(kCheckpointsPrefix, number); }

// What a file says of itself.
struct CheckpointsHead {
  uint64_t identity = 0;  // of the directory
  uint64_t number = 0;    // in the name of the file
  std::optional<std::string> calendar;
  std::vector<uint64_t> others;  // files that count beside this one, ascending
  uint64_t checkpoints = 0;      // in this file

  template <class F>
  void Stored(F& f) {
    f(identity, number, calendar, others, checkpoints);
  }
};

struct StoredCheckpoint {
  Checkpoint checkpoint;

  template <class F>
  void Stored(F& f) {
    Amount& amount = checkpoint.amount;
    f(checkpoint.until, amount.count, amount.sum, amount.real, amount.integer, amount.saturated,
      amount.none);
  }
};

class CheckpointDirectory final : public CheckpointStore {
 public:
  CheckpointDirectory(std::unique_ptr<StorageDirectory> directory, size_t max_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}

  absl::Status Open();

  absl::StatusOr<Checkpoint> Load(std::string_view key) override;
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& checkpoint) override;
  void PublishBatch(std::span<const std::string_view> keys, std::span<const Checkpoint> offers,
                    std::span<absl::StatusOr<Checkpoint>> kept) override;
  absl::Status List(std::string& cursor, size_t max, SeeCheckpoint see) override;
  absl::Status CheckCalendar(std::string_view calendar_name) override;

 private:
  struct Kept {
    Checkpoint checkpoint;
    uint64_t file;  // the number of the one that has it
  };
  using Checkpoints = std::map<std::string, Kept, std::less<>>;
  struct File {
    std::vector<Checkpoints::iterator> has;  // also what a newer file has by now
    size_t counts = 0;                       // of these, that no newer file has
  };
  using Offers = std::map<std::string_view, Checkpoint>;

  absl::Status ReadFile(uint64_t number, CheckpointsHead& head)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status ReadCheckpoints(BlockReader& reader, const CheckpointsHead& head)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void Take(std::string_view key, const Checkpoint& checkpoint, uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status CheckKey(std::string_view key, size_t added) const ABSL_SHARED_LOCKS_REQUIRED(lock_);
  absl::Status Keep(const Offers& offers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status Write(ByteSink& sink, CheckpointsHead& head, const Offers& offers,
                     std::span<const Checkpoints::iterator> rewritten) const;
  void RemoveLeftovers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  absl::Status At(std::string_view file, const absl::Status& why) const {
    return InFile(directory_->path(), file, why);
  }

  const std::unique_ptr<StorageDirectory> directory_;
  const size_t max_bytes_;
  mutable Lock lock_;  // for as long as a call takes
  uint64_t identity_ ABSL_GUARDED_BY(lock_) = 0;
  std::optional<std::string> calendar_ ABSL_GUARDED_BY(lock_);
  Checkpoints checkpoints_ ABSL_GUARDED_BY(lock_);
  std::map<uint64_t, File> files_ ABSL_GUARDED_BY(lock_);  // by number
  std::vector<std::string> leftovers_ ABSL_GUARDED_BY(lock_);
  size_t bytes_ ABSL_GUARDED_BY(lock_) = 0;
  uint64_t next_ ABSL_GUARDED_BY(lock_) = 1;  // never a number that has been used
};

// --- Reading

absl::Status CheckpointDirectory::Open() {
  const auto is_ours = [](std::string_view name) {
    return NumberIn(name, kCheckpointsPrefix).has_value();
  };
  absl::Status ours = CheckOurs(*directory_, "directory of checkpoints", is_ours);
  if (!ours.ok()) return ours;
  if (absl::Status locked = directory_->Lock(); !locked.ok()) return locked;
  const absl::StatusOr<std::vector<std::string>> names = directory_->List();
  if (!names.ok()) return names.status();

  LockGuard guard(lock_);
  for (const std::string& name : *names) {
    const std::optional<uint64_t> number = NumberIn(name, kCheckpointsPrefix);
    if (!number) continue;
    next_ = std::max(next_, *number + 1);
    if (name.ends_with(kUnfinished)) {
      leftovers_.push_back(name);
    } else {
      files_[*number];
    }
  }
  identity_ = RandomHashKey().front();
  CheckpointsHead newest;
  for (const auto& [number, file] : files_) {
    CheckpointsHead head;
    const std::string name = NameOfCheckpoints(number);
    if (absl::Status read = ReadFile(number, head); !read.ok()) return At(name, read);
    const bool is_first = number == files_.begin()->first;
    if (!is_first && head.identity != newest.identity) {
      return At(name, absl::DataLossError("it is of another directory than the others"));
    }
    newest = std::move(head);
  }
  for (const uint64_t other : newest.others) {
    if (files_.contains(other)) continue;
    return At(NameOfCheckpoints(other),
              absl::DataLossError(Concat("it is missing, and ", NameOfCheckpoints(newest.number),
                                         " says that it was here")));
  }
  // The process that wrote the newest file may have been killed before its name was on the disk.
  if (absl::Status synced = directory_->SyncDirectory(); !synced.ok()) return synced;
  if (!files_.empty()) {
    identity_ = newest.identity;
    calendar_ = std::move(newest.calendar);
  }
  // Those that the newest file says are here have to stay until a newer one says less.
  for (auto at = files_.begin(); at != files_.end();) {
    const bool stays = at->second.counts > 0 || at->first == newest.number ||
                       std::ranges::binary_search(newest.others, at->first);
    if (!stays) leftovers_.push_back(NameOfCheckpoints(at->first));
    at = stays ? std::next(at) : files_.erase(at);
  }
  RemoveLeftovers();
  return absl::OkStatus();
}

absl::Status CheckpointDirectory::ReadFile(uint64_t number, CheckpointsHead& head) {
  const absl::StatusOr<std::unique_ptr<StorageReader>> file =
      directory_->OpenFile(NameOfCheckpoints(number));
  if (!file.ok()) return file.status();
  FileSource source(**file);
  BlockReader reader(source);
  absl::Status read =
      ReadHead(reader, kCheckpointsFormat, [&head](FieldReader& in) { return in(head), true; });
  if (!read.ok()) return read;
  if (head.number != number) {
    return absl::DataLossError(Concat("it had the name ", NameOfCheckpoints(head.number)));
  }
  reader.set_identity(IdentityOfSnapshot(head.identity, number, 0));
  return ReadCheckpoints(reader, head);
}

absl::Status CheckpointDirectory::ReadCheckpoints(BlockReader& reader,
                                                  const CheckpointsHead& head) {
  uint64_t seen = 0;
  for (;;) {
    const absl::StatusOr<Block> block = reader.Next();
    if (!block.ok()) return block.status();
    if (block->kind == BlockKind::kEnd) {
      if (seen == head.checkpoints && block->bytes.empty()) return reader.ExpectEnd();
      return DamageAt(block->offset, "it is the end of another file");
    }
    FieldReader in(block->bytes);
    while (block->kind == BlockKind::kMore && in.ok() && in.Has(1)) {
      const std::string key(in.Bytes());
      StoredCheckpoint stored;
      in(stored);
      if (!in.ok()) break;
      Take(key, stored.checkpoint, head.number);
      ++seen;
    }
    if (!in.done()) return DamageAt(block->offset, "it says something impossible");
    if (bytes_ > max_bytes_) {
      return absl::ResourceExhaustedError(Concat(directory_->path(), ": the checkpoints take ",
                                                 bytes_,
                                                 " bytes in memory, or more, and max_bytes "
                                                 "allows ",
                                                 max_bytes_));
    }
  }
}

// What a file has counts from now on: files are read from the oldest to the newest.
void CheckpointDirectory::Take(std::string_view key, const Checkpoint& checkpoint,
                               uint64_t number) {
  auto kept = checkpoints_.find(key);
  if (kept == checkpoints_.end()) {
    kept = checkpoints_.emplace(key, Kept{checkpoint, number}).first;
    bytes_ += kCheckpointBytes + key.size();
  } else {
    --files_.at(kept->second.file).counts;
    kept->second = {checkpoint, number};
  }
  File& file = files_.at(number);
  file.has.push_back(kept);
  ++file.counts;
}

// --- Writing

// Whether there is room for one more, beside those that take `added` bytes.
absl::Status CheckpointDirectory::CheckKey(std::string_view key, size_t added) const {
  if (key.size() > kCheckpointKeyBytesMax) {
    return absl::InvalidArgumentError(
        Concat("a key has ", key.size(), " bytes, and may have ", kCheckpointKeyBytesMax));
  }
  if (bytes_ + added + kCheckpointBytes + key.size() <= max_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      Concat(directory_->path(), ": one more key would take more than max_bytes"));
}

absl::StatusOr<Checkpoint> CheckpointDirectory::Publish(std::string_view key,
                                                        const Checkpoint& checkpoint) {
  absl::StatusOr<Checkpoint> kept;
  PublishBatch({&key, 1}, {&checkpoint, 1}, {&kept, 1});
  return kept;
}

void CheckpointDirectory::PublishBatch(std::span<const std::string_view> keys,
                                       std::span<const Checkpoint> offers,
                                       std::span<absl::StatusOr<Checkpoint>> kept) {
  LockGuard guard(lock_);
  Offers later;  // than what is kept
  size_t added = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = checkpoints_.find(keys[i]);
    const bool is_new = found == checkpoints_.end();
    kept[i] = is_new ? Checkpoint{} : found->second.checkpoint;
    if (offers[i].until <= kept[i]->until) continue;
    if (is_new) {
      if (absl::Status right = CheckKey(keys[i], added); !right.ok()) {
        kept[i] = right;
        continue;
      }
      added += kCheckpointBytes + keys[i].size();
    }
    const bool is_once = later.emplace(keys[i], offers[i]).second;
    PLEAT_DCHECK(is_once);
  }
  if (later.empty()) return;
  const absl::Status written = Keep(later);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!kept[i].ok() || !later.contains(keys[i])) continue;
    if (written.ok()) {
      kept[i] = offers[i];
    } else {
      kept[i] = written;
    }
  }
}

// Writes one file, which has the offers, and takes the place of some of the newest ones.
absl::Status CheckpointDirectory::Keep(const Offers& offers) {
  size_t size = offers.size();
  auto first = files_.end();  // of the files that go
  while (first != files_.begin() && std::prev(first)->second.counts < 2 * size) {
    --first;
    size += first->second.counts;
  }
  std::vector<Checkpoints::iterator> rewritten;
  for (auto file = first; file != files_.end(); ++file) {
    for (const Checkpoints::iterator each : file->second.has) {
      const bool counts = each->second.file == file->first && !offers.contains(each->first);
      if (counts) rewritten.push_back(each);
    }
  }
  CheckpointsHead head{.identity = identity_,
                       .number = next_++,
                       .calendar = calendar_,
                       .others = {},
                       .checkpoints = offers.size() + rewritten.size()};
  for (auto file = files_.begin(); file != first; ++file) head.others.push_back(file->first);
  const std::string name = NameOfCheckpoints(head.number);
  absl::Status written = WriteBeside(
      *directory_, name, [&](ByteSink& sink) { return Write(sink, head, offers, rewritten); });
  if (!written.ok()) {
    leftovers_.push_back(name);
    leftovers_.push_back(Concat(name, kUnfinished));
    RemoveLeftovers();
    return At(name, written);
  }
  const auto end = files_.try_emplace(head.number).first;
  if (first == files_.end()) first = end;
  for (const Checkpoints::iterator each : rewritten) {
    Take(each->first, each->second.checkpoint, head.number);
  }
  for (const auto& [key, checkpoint] : offers) Take(key, checkpoint, head.number);
  while (first != end) {
    PLEAT_DCHECK(first->second.counts == 0);
    leftovers_.push_back(NameOfCheckpoints(first->first));
    first = files_.erase(first);
  }
  RemoveLeftovers();
  return absl::OkStatus();
}

absl::Status CheckpointDirectory::Write(ByteSink& sink, CheckpointsHead& head, const Offers& offers,
                                        std::span<const Checkpoints::iterator> rewritten) const {
  BlockWriter blocks(sink, IdentityOfSnapshot(head.identity, head.number, 0),
                     /*compresses=*/false);
  FieldWriter out;
  out(kCheckpointsFormat, head);
  absl::Status status = blocks.Write(BlockKind::kHead, 0, out.bytes());
  out.Clear();
  const auto put = [&](std::string_view key, const Checkpoint& checkpoint) {
    out.PutBytes(key);
    out(StoredCheckpoint{checkpoint});
    if (out.size() < kCheckpointBlockBytes) return;
    if (status.ok()) status = blocks.Write(BlockKind::kMore, 0, out.bytes());
    out.Clear();
  };
  for (const Checkpoints::iterator each : rewritten) put(each->first, each->second.checkpoint);
  for (const auto& [key, checkpoint] : offers) put(key, checkpoint);
  if (status.ok() && out.size() > 0) status = blocks.Write(BlockKind::kMore, 0, out.bytes());
  if (status.ok()) status = blocks.Write(BlockKind::kEnd, 0, {});
  return status;
}

// Those that cannot be removed are tried again after the next step, or by the next store, which also
// finds those beyond the most that are known here. One that a power loss brings back does no harm.
void CheckpointDirectory::RemoveLeftovers() {
  constexpr size_t kKnownMax = 1'000;
  bool fails = false;
  std::erase_if(leftovers_, [&](const std::string& name) {
    if (fails) return false;
    const absl::Status gone = directory_->Remove(name);
    fails = !gone.ok() && !absl::IsNotFound(gone);
    return !fails;
  });
  if (leftovers_.size() > kKnownMax) leftovers_.resize(kKnownMax);
}

// --- The rest

absl::StatusOr<Checkpoint> CheckpointDirectory::Load(std::string_view key) {
  LockGuard guard(lock_);
  const auto found = checkpoints_.find(key);
  return found == checkpoints_.end() ? Checkpoint{} : found->second.checkpoint;
}

absl::Status CheckpointDirectory::List(std::string& cursor, size_t max, SeeCheckpoint see) {
  LockGuard guard(lock_);
  SeePart(checkpoints_, cursor, max,
          [&](const std::string& key, const Kept& kept) { see(key, kept.checkpoint); });
  return absl::OkStatus();
}

absl::Status CheckpointDirectory::CheckCalendar(std::string_view calendar_name) {
  LockGuard guard(lock_);
  if (!calendar_) calendar_ = calendar_name;  // which the next file says
  if (*calendar_ == calendar_name) return absl::OkStatus();
  const auto shown = [](std::string_view name) {
    return name.empty() ? std::string("none") : Concat("\"", name, "\"");
  };
  return absl::FailedPreconditionError(Concat("calendar_name: the calendar is ",
                                              shown(calendar_name), ", and ", shown(*calendar_),
                                              " in ", directory_->path()));
}

}  // namespace

absl::StatusOr<std::shared_ptr<CheckpointStore>> OpenCheckpointDirectory(std::string_view directory,
                                                                         size_t max_bytes,
                                                                         Storage& storage) {
  if (max_bytes == 0) return absl::InvalidArgumentError("max_bytes must be 1 or more");
  absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
      storage.OpenDirectory(directory, IfMissing::kCreate);
  if (!opened.ok()) return opened.status();
  auto store = std::make_shared<CheckpointDirectory>(*std::move(opened), max_bytes);
  if (absl::Status status = store->Open(); !status.ok()) return status;
  return store;
}

}  // namespace pleat::inline v0_1
