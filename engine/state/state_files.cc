#include "engine/state/state_files.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <pleat/stored.h>

#include "engine/base/concat.h"
#include "engine/base/hash.h"
#include "engine/state/blocks.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kSnapshotPrefix = "snapshot-";
constexpr uint64_t kNumberMax = uint64_t{1} << 62;  // of a snapshot
constexpr uint32_t kManifestFormat = 2;

// Files that a state directory makes, whole or not.
bool IsOurs(std::string_view name) {
  if (NumberIn(name)) return true;
  if (name.ends_with(kUnfinished)) name.remove_suffix(kUnfinished.size());
  return name == kManifest;
}

// Names that file systems and desktops put everywhere.
bool IsOfSystem(std::string_view name) { return name.starts_with('.') || name == "lost+found"; }

}  // namespace

std::string NameOfSnapshot(uint64_t number) { return Concat(kSnapshotPrefix, number); }

std::optional<uint64_t> NumberIn(std::string_view name) { return NumberIn(name, kSnapshotPrefix); }

std::optional<uint64_t> NumberIn(std::string_view name, std::string_view prefix) {
  if (name.ends_with(kUnfinished)) name.remove_suffix(kUnfinished.size());
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (number == 0 || number > kNumberMax || name != Concat(prefix, number)) return std::nullopt;
  return number;
}

absl::Status CheckOurs(StorageDirectory& directory) {
  return CheckOurs(directory, "state directory", IsOurs);
}

absl::Status CheckOurs(StorageDirectory& directory, std::string_view kind, IsOurFile is_ours) {
  const absl::StatusOr<std::vector<std::string>> names = directory.List();
  if (!names.ok()) return names.status();
  if (std::ranges::any_of(*names, is_ours) || std::ranges::all_of(*names, IsOfSystem)) {
    return absl::OkStatus();
  }
  const auto other = std::ranges::find_if_not(*names, IsOfSystem);
  return absl::FailedPreconditionError(Concat(directory.path(), " is no ", kind,
                                              ", and has other files, such as ", *other,
                                              ": name another directory"));
}

absl::Status WriteBeside(StorageDirectory& directory, std::string_view name,
                         absl::FunctionRef<absl::Status(ByteSink&)> write,
                         absl::FunctionRef<absl::Status()> go_on) {
  const std::string unfinished = Concat(name, kUnfinished);
  if (absl::Status gone = directory.Remove(unfinished); !gone.ok() && !absl::IsNotFound(gone)) {
    return gone;
  }
  absl::StatusOr<std::unique_ptr<StorageWriter>> file = directory.CreateFile(unfinished);
  if (!file.ok()) return file.status();
  FileSink sink(**file);
  absl::Status status = write(sink);
  if (status.ok()) status = (*file)->Sync();
  if (status.ok()) status = go_on();
  const absl::Status closed = (*file)->Close();
  if (status.ok()) status = closed;
  if (status.ok()) status = directory.Rename(unfinished, name);
  if (status.ok()) return directory.SyncDirectory();
  directory.Remove(unfinished).IgnoreError();  // else it is among what the caller removes
  return status;
}

absl::Status InFile(std::string_view directory, std::string_view file, const absl::Status& why) {
  const std::string_view text(why.message().data(), why.message().size());
  if (why.ok() || text.starts_with(directory)) return why;
  return {why.code(), Concat(directory, "/", file, ": ", text)};
}

uint64_t IdentityOfSnapshot(uint64_t identity, uint64_t number, uint64_t life) noexcept {
  return identity ^ number * kStableA ^ life * kStableB;
}

absl::Status ReadHead(BlockReader& reader, uint32_t format,
                      absl::FunctionRef<bool(FieldReader& in)> read) {
  const absl::StatusOr<Block> block = reader.Next();
  if (!block.ok()) return block.status();
  FieldReader in(block->bytes);
  uint32_t written = 0;
  in(written);
  if (in.ok() && written != 0 && written != format) return OtherFormat(written, format);
  const bool possible = read(in);
  if (!in.done() || written == 0 || !possible || block->kind != BlockKind::kHead) {
    return DamageAt(0, "it says something impossible");
  }
  return absl::OkStatus();
}

absl::Status Manifest::Write(ByteSink& sink) const {
  FieldWriter out;
  out(kManifestFormat, identity, lives, kept);
  return BlockWriter(sink, 0, /*compresses=*/false).Write(BlockKind::kHead, 0, out.bytes());
}

absl::StatusOr<Manifest> Manifest::Read(ByteSource& source) {
  BlockReader reader(source);
  Manifest manifest;
  absl::Status head = ReadHead(reader, kManifestFormat, [&manifest](FieldReader& in) {
    in(manifest.identity, manifest.lives, manifest.kept);
    return manifest.lives < kLivesMax;
  });
  if (!head.ok()) return head;
  if (absl::Status end = reader.ExpectEnd(); !end.ok()) return end;
  return manifest;
}

}  // namespace pleat::inline v0_1
