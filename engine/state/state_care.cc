// Reading snapshots in spite of damage. Behind damage the next block is looked for byte by byte: one
// that begins with its mark and has the checksum of its place. The bytes in between are a gap.
//
// Which partitions a gap takes with it: the damaged blocks cannot say. If each gap is exactly one
// block, by the length that its head tells, and as many partitions are missing altogether as there
// are gaps, then each gap was one of those, as a whole. Otherwise it may also have been the end of
// the partition before it, which is lost as well. A partition that goes on behind a gap has lost at
// least that; and if the gap was one block, nothing else has.
//
// Events that wait for their turn come behind the partitions, in rests. They are saved if all rests are
// whole; a gap behind the first block of a rest is no partition's.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/state_directory.h>
#include <pleat/stored.h>

#include "engine/base/concat.h"
#include "engine/state/blocks.h"
#include "engine/state/state_files.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kBlockHead = 24;

// So many engines count as begun if nobody knows how many have.
constexpr uint64_t kUnknownLives = 1024;

std::string_view TextOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// "at byte 120: why" without the first part, which Damage::offset has.
std::string WhyOf(const absl::Status& status) {
  const std::string_view text = TextOf(status);
  const size_t colon = text.find(": ");
  return std::string(text.starts_with("at byte ") && colon != text.npos ? text.substr(colon + 2)
                                                                        : text);
}

struct Gap {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool one_block = false;          // by the length in its head
  std::optional<uint32_t> before;  // the partition of the block before it
  std::optional<uint32_t> cut;     // the partition that goes on behind it
  bool of_rest = false;            // it lies behind all partitions
  bool of_parts = false;           // no block of a rest is in it
};

// The blocks of one file behind its head.
class SnapshotWalk {
 public:
  SnapshotWalk(StorageReader& file, std::string_view name, const SnapshotInfo& info,
               std::vector<Damage>& damage)
      : file_(file), name_(name), info_(info), damage_(damage) {}

  // Calls `see` for each block that is whole, of a partition or behind them, in order, up to its first
  // error.
  absl::Status Walk(uint64_t size, absl::FunctionRef<absl::Status(const Block&)> see);

  const std::vector<Gap>& gaps() const noexcept { return gaps_; }
  // Those of which not every block is known to be whole, after Walk().
  std::set<int> Lost() const;
  // Whether all blocks behind the partitions are known to be whole.
  bool is_rest_whole() const {
    return std::ranges::all_of(gaps_, [](const Gap& gap) { return gap.of_parts; });
  }
  bool has_rest() const noexcept { return has_rest_; }

 private:
  absl::StatusOr<Block> BlockAt(uint64_t offset);
  absl::StatusOr<uint64_t> NextWhole(uint64_t from, uint64_t size);
  absl::StatusOr<bool> IsOneBlock(uint64_t begin, uint64_t end);

  StorageReader& file_;
  const std::string name_;
  const SnapshotInfo& info_;
  std::vector<Damage>& damage_;
  std::vector<Gap> gaps_;
  std::set<int> seen_;
  bool has_rest_ = false;
};

absl::StatusOr<Block> SnapshotWalk::BlockAt(uint64_t offset) {
  FileSource source(file_, offset);
  BlockReader reader(source, offset);
  reader.set_identity(info_.identity);
  absl::StatusOr<Block> block = reader.Next();
  if (!block.ok()) return block;
  const bool fits =
      block->kind == BlockKind::kHead || IsOfRest(block->kind) ||
      (IsOfPart(block->kind) && block->owner < static_cast<uint32_t>(info_.partitions)) ||
      block->kind == BlockKind::kEnd;
  if (!fits) return DamageAt(offset, "the block is out of place");
  return block;
}

// The next place with a block that is whole, or the end.
absl::StatusOr<uint64_t> SnapshotWalk::NextWhole(uint64_t from, uint64_t size) {
  std::array<char, size_t{1} << 16> piece;
  while (from + kBlockHead <= size) {
    const absl::StatusOr<size_t> got = file_.ReadAt(from, {piece.data(), piece.size()});
    if (!got.ok()) return got.status();
    const std::string_view bytes(piece.data(), *got);
    for (size_t at = bytes.find("PLB"); at != bytes.npos; at = bytes.find("PLB", at + 1)) {
      const absl::StatusOr<Block> block = BlockAt(from + at);
      if (block.ok()) return from + at;
      if (!absl::IsDataLoss(block.status())) return block.status();
    }
    if (*got <= kBlockHead) break;
    from += *got - 2;  // a mark may begin in the last two bytes
  }
  return size;
}

absl::StatusOr<bool> SnapshotWalk::IsOneBlock(uint64_t begin, uint64_t end) {
  std::array<char, kBlockHead> head{};
  const absl::StatusOr<size_t> got = file_.ReadAt(begin, {head.data(), head.size()});
  if (!got.ok()) return got.status();
  uint64_t follows = 0;
  for (size_t i = 0; i < 4; ++i) follows |= uint64_t{static_cast<uint8_t>(head[4 + i])} << 8 * i;
  return begin + kBlockHead + follows == end;
}

absl::Status SnapshotWalk::Walk(uint64_t size, absl::FunctionRef<absl::Status(const Block&)> see) {
  std::optional<uint32_t> before;
  bool ended = false;
  bool open_gap = false;
  for (uint64_t offset = 0; offset < size;) {
    const absl::StatusOr<Block> block = BlockAt(offset);
    if (!block.ok() && !absl::IsDataLoss(block.status())) return block.status();
    if (!block.ok() || ended) {
      damage_.push_back(
          {name_, offset, ended ? "there is something behind the end" : WhyOf(block.status())});
      if (ended) break;
      const absl::StatusOr<uint64_t> next = NextWhole(offset + 1, size);
      if (!next.ok()) return next.status();
      const absl::StatusOr<bool> one = IsOneBlock(offset, *next);
      if (!one.ok()) return one.status();
      gaps_.push_back({.begin = offset,
                       .end = *next,
                       .one_block = *one,
                       .before = before,
                       .of_rest = has_rest_,
                       // A head alone has no events: it is the end, or a part without books.
                       .of_parts = *one && *next - offset == kBlockHead});
      open_gap = true;
      offset = *next;
      continue;
    }
    offset = block->end;
    ended = block->kind == BlockKind::kEnd;
    if (!IsOfPart(block->kind) && !IsOfRest(block->kind)) continue;
    const bool behind_gap = std::exchange(open_gap, false);
    if (IsOfRest(block->kind)) {
      // One block before another of the same rest is that rest's.
      if (behind_gap && gaps_.back().one_block) {
        Gap& gap = gaps_.back();
        gap.of_rest |= GoesOn(block->kind);
        gap.of_parts |= !gap.of_rest;
      }
      has_rest_ = true;
    } else {
      if (behind_gap) gaps_.back().of_parts = true;
      if (behind_gap && block->kind != BlockKind::kPart) gaps_.back().cut = block->owner;
      before = block->owner;
      seen_.insert(static_cast<int>(block->owner));
    }
    if (absl::Status status = see(*block); !status.ok()) return status;
  }
  if (!ended && gaps_.empty()) damage_.push_back({name_, size, "the end is missing"});
  if (!ended && (gaps_.empty() || gaps_.back().end < size)) {
    gaps_.push_back({.begin = size, .end = size, .before = before, .of_rest = has_rest_});
  }
  return absl::OkStatus();
}

std::set<int> SnapshotWalk::Lost() const {
  std::set<int> lost;
  for (int i = 0; i < info_.partitions; ++i) {
    if (!seen_.contains(i)) lost.insert(i);
  }
  std::vector<Gap> gaps;
  std::ranges::remove_copy_if(gaps_, std::back_inserter(gaps), &Gap::of_rest);
  const bool counted = lost.size() == gaps.size() &&
                       std::ranges::all_of(gaps, [](const Gap& gap) { return gap.one_block; });
  if (counted) return lost;
  for (const Gap& gap : gaps) {
    // The end block alone: all that belongs to partitions is there.
    if (gap.one_block && lost.empty() && gap.end - gap.begin == kBlockHead) continue;
    if (gap.cut) lost.insert(static_cast<int>(*gap.cut));
    if (gap.before && !(gap.one_block && gap.cut)) lost.insert(static_cast<int>(*gap.before));
  }
  return lost;
}

// A directory that is looked at.
class Care {
 public:
  Care(StorageDirectory& directory, StateDirectoryReport& report)
      : directory_(directory), report_(report) {}

  absl::Status Look(Depth depth);
  // The manifest, if it is whole.
  const std::optional<Manifest>& manifest() const noexcept { return manifest_; }
  uint64_t number() const noexcept { return number_; }

 private:
  absl::Status LookAtManifest();
  absl::Status LookAtSnapshot(uint64_t number, Depth depth);
  void Note(std::string_view file, uint64_t offset, std::string why) {
    report_.damage.push_back({std::string(file), offset, std::move(why)});
  }

  StorageDirectory& directory_;
  StateDirectoryReport& report_;
  std::optional<Manifest> manifest_;
  uint64_t number_ = 0;  // of the newest that can be read
};

absl::Status Care::LookAtManifest() {
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_.OpenFile(kManifest);
  if (!file.ok()) return file.status();
  FileSource source(**file);
  const absl::StatusOr<Manifest> manifest = Manifest::Read(source);
  if (manifest.ok()) {
    manifest_ = *manifest;
  } else if (absl::IsDataLoss(manifest.status())) {
    Note(kManifest, 0, WhyOf(manifest.status()));
  } else {
    return InFile(directory_.path(), kManifest, manifest.status());
  }
  return absl::OkStatus();
}

absl::Status Care::LookAtSnapshot(uint64_t number, Depth depth) {
  const std::string name = NameOfSnapshot(number);
  const absl::StatusOr<std::unique_ptr<StorageReader>> file = directory_.OpenFile(name);
  if (!file.ok()) return file.status();
  const absl::StatusOr<uint64_t> size = (*file)->Size();
  if (!size.ok()) return size.status();
  FileSource beginning(**file);
  absl::StatusOr<SnapshotInfo> info = ReadSnapshotInfo(beginning);
  if (!info.ok()) {
    if (!absl::IsDataLoss(info.status())) return InFile(directory_.path(), name, info.status());
    Note(name, 0, WhyOf(info.status()));
    return absl::OkStatus();
  }
  if (manifest_ && info->identity != IdentityOfSnapshot(manifest_->identity, number, info->tag)) {
    Note(name, 0, "belongs to another directory, or had another name");
    return absl::OkStatus();
  }
  if (depth == Depth::kWhole) {
    SnapshotWalk walk(**file, name, *info, report_.damage);
    absl::Status walked = walk.Walk(*size, [](const Block&) { return absl::OkStatus(); });
    if (!walked.ok()) return walked;
  }
  number_ = number;
  report_.file = name;
  report_.bytes = *size;
  report_.snapshot = *std::move(info);
  return absl::OkStatus();
}

// MANIFEST first: once it says that there is a snapshot, one is there. One that a process in the
// directory writes for the first time meanwhile is looked at again.
absl::Status Care::Look(Depth depth) {
  absl::Status manifest = LookAtManifest();
  const absl::StatusOr<std::vector<std::string>> names = directory_.List();
  if (!names.ok()) return names.status();
  std::vector<uint64_t> numbers;
  for (const std::string& name : *names) {
    const std::optional<uint64_t> number = NumberIn(name);
    if (number && !name.ends_with(kUnfinished)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  report_.snapshots = numbers.size();
  if (absl::IsNotFound(manifest) && !numbers.empty()) manifest = LookAtManifest();
  if (absl::IsNotFound(manifest)) {
    if (!numbers.empty()) Note(kManifest, 0, "is missing, and there is a snapshot");
  } else if (!manifest.ok()) {
    return manifest;
  }
  if (numbers.empty() && manifest_ && manifest_->kept) Note(kManifest, 0, kGone);
  for (const uint64_t number : numbers) {
    absl::Status looked = LookAtSnapshot(number, depth);
    // Replaced by a newer one meanwhile.
    if (!looked.ok() && !absl::IsNotFound(looked)) return looked;
  }
  return absl::OkStatus();
}

// The head as it was: its beginning was read, so all of its blocks are whole. One more block says
// what is lost. Takes the bytes of the blocks from `lost_bytes`.
absl::Status CopyHead(StorageReader& file, const SnapshotInfo& info, const std::set<int>& lost,
                      BlockWriter& writer, uint64_t& lost_bytes) {
  FileSource source(file);
  BlockReader reader(source);
  reader.set_identity(info.identity);
  bool more = false;
  for (bool first = true;; first = false) {
    absl::StatusOr<Block> block = reader.Next();
    if (!block.ok() || block->kind != BlockKind::kHead) break;
    lost_bytes -= block->end - block->offset;
    if (first) {
      uint32_t format = 0;
      size_t blocks = 0;
      FieldReader(block->bytes)(format, blocks);
      more = !lost.empty();
      FieldWriter out;
      out(format, blocks + (more ? 1 : 0));
      block->bytes = out.bytes();
    }
    absl::Status status = writer.Write(BlockKind::kHead, 0, block->bytes);
    if (!status.ok()) return status;
  }
  if (!more) return absl::OkStatus();
  FieldWriter out;
  out(std::vector<uint32_t>(lost.begin(), lost.end()));
  return writer.Write(BlockKind::kHead, 0, out.bytes());
}

absl::Status WriteNew(StorageDirectory& to, std::string_view name,
                      absl::FunctionRef<absl::Status(ByteSink&)> write) {
  absl::StatusOr<std::unique_ptr<StorageWriter>> file = to.CreateFile(name);
  if (!file.ok()) return file.status();
  FileSink sink(**file);
  absl::Status status = write(sink);
  if (status.ok()) status = (*file)->Sync();
  const absl::Status closed = (*file)->Close();
  return status.ok() ? closed : status;
}

}  // namespace

absl::StatusOr<StateDirectoryReport> InspectStateDirectory(std::string_view directory, Depth depth,
                                                           Storage& storage) {
  const absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
      storage.OpenDirectory(directory, IfMissing::kFail);
  if (!opened.ok()) return opened.status();
  if (absl::Status ours = CheckOurs(**opened); !ours.ok()) return ours;
  StateDirectoryReport report;
  if (absl::Status looked = Care(**opened, report).Look(depth); !looked.ok()) return looked;
  return report;
}

absl::StatusOr<SalvageReport> SalvageStateDirectory(std::string_view from, std::string_view to,
                                                    Storage& storage) {
  const absl::StatusOr<std::unique_ptr<StorageDirectory>> opened =
      storage.OpenDirectory(from, IfMissing::kFail);
  if (!opened.ok()) return opened.status();
  if (absl::Status ours = CheckOurs(**opened); !ours.ok()) return ours;
  StateDirectoryReport found;
  Care care(**opened, found);
  if (absl::Status looked = care.Look(Depth::kBeginning); !looked.ok()) return looked;
  SalvageReport report;
  report.damage = found.damage;
  if (!found.snapshot) return report;

  const absl::StatusOr<std::unique_ptr<StorageReader>> file = (*opened)->OpenFile(found.file);
  if (!file.ok()) return file.status();
  const SnapshotInfo& info = *found.snapshot;
  SnapshotWalk walk(**file, found.file, info, report.damage);
  absl::Status walked = walk.Walk(found.bytes, [](const Block&) { return absl::OkStatus(); });
  if (!walked.ok()) return walked;
  const std::set<int> lost = walk.Lost();

  const absl::StatusOr<std::unique_ptr<StorageDirectory>> copy =
      storage.OpenDirectory(to, IfMissing::kCreate);
  if (!copy.ok()) return copy.status();
  const absl::StatusOr<std::vector<std::string>> there = (*copy)->List();
  if (!there.ok()) return there.status();
  if (!there->empty()) {
    return absl::AlreadyExistsError(Concat(to, ": has files; salvage writes to a new directory"));
  }
  uint64_t lost_bytes = found.bytes;
  absl::Status written = WriteNew(**copy, found.file, [&](ByteSink& sink) -> absl::Status {
    BlockWriter writer(sink, info.identity, /*compresses=*/true);
    if (absl::Status head = CopyHead(**file, info, lost, writer, lost_bytes); !head.ok())
      return head;
    std::vector<Damage> again;
    SnapshotWalk parts(**file, found.file, info, again);
    absl::Status status = parts.Walk(found.bytes, [&](const Block& block) {
      const bool kept = IsOfRest(block.kind) ? walk.is_rest_whole()
                                             : !lost.contains(static_cast<int>(block.owner));
      if (!kept) return absl::OkStatus();
      lost_bytes -= block.end - block.offset;
      return writer.Write(block.kind, block.owner, block.bytes);
    });
    if (!status.ok()) return status;
    return writer.Write(BlockKind::kEnd, static_cast<uint32_t>(info.partitions), {});
  });
  Manifest manifest;
  if (care.manifest()) {
    manifest = *care.manifest();
  } else {
    report.manifest_rebuilt = true;
    manifest = {.identity = IdentityOfSnapshot(info.identity, care.number(), info.tag),
                .lives = info.tag + kUnknownLives};
  }
  manifest.kept = true;
  if (written.ok()) {
    written = WriteNew(**copy, kManifest, [&](ByteSink& sink) { return manifest.Write(sink); });
  }
  if (written.ok()) written = (*copy)->SyncDirectory();
  if (!written.ok()) return written;
  report.file = found.file;
  report.snapshot = info;
  report.lost.assign(lost.begin(), lost.end());
  report.waiting_lost = walk.has_rest() && !walk.is_rest_whole();
  report.bytes_lost = lost.empty() && !report.waiting_lost
                          ? 0
                          : lost_bytes - std::min<uint64_t>(lost_bytes, kBlockHead);
  return report;
}

}  // namespace pleat::inline v0_1
