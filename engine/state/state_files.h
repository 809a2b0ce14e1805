// The files of a state directory: their names, what MANIFEST says, and reading and writing them as
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/snapshot.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

inline constexpr std::string_view kManifest = "MANIFEST";
inline constexpr std::string_view kUnfinished = ".new";

// What is wrong with a MANIFEST that says so while no snapshot is there, and what helps.
inline constexpr char kGone[] =
    "says that a snapshot was here, and there is none: put snapshot-N back from a backup";

std::string NameOfSnapshot(uint64_t number);
// The number in the name of a snapshot, whole or unfinished. Other names are not ours.
std::optional<uint64_t> NumberIn(std::string_view name);

// A directory that has files and is no state directory is kFailedPrecondition: nobody's files get a
// LOCK beside them because a path was mistyped.
absl::Status CheckOurs(StorageDirectory& directory);

// The error, which the message says is of that file. One of the storage says so itself.
absl::Status InFile(std::string_view directory, std::string_view file, const absl::Status& why);

// A number may come again in another life, if its file is gone. Of an identity of the directory it
// makes that of the snapshot, and the other way round.
uint64_t IdentityOfSnapshot(uint64_t identity, uint64_t number, uint64_t life) noexcept;

// The properties of a directory that do not depend on its snapshots.
struct Manifest {
  // So that the numbers of all lives do not wrap.
  static constexpr uint64_t kLivesMax = uint64_t{1} << 27;

  uint64_t identity = 0;
  uint64_t lives = 0;  // how often an engine has begun here
  bool kept = false;   // a snapshot has been here: since then one is always there

  absl::Status Write(ByteSink& sink) const;
  // Errors: kDataLoss, kUnimplemented for a newer format, and those of the source.
  static absl::StatusOr<Manifest> Read(ByteSource& source);
};

class FileSink final : public ByteSink {
 public:
  explicit FileSink(StorageWriter& writer) : writer_(writer) {}

  absl::Status Append(std::string_view bytes) override {
    written_ += bytes.size();
    return writer_.Append(bytes);
  }
  uint64_t written() const noexcept { return written_; }

 private:
  StorageWriter& writer_;
  uint64_t written_ = 0;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(StorageReader& reader, uint64_t offset = 0)
      : reader_(reader), offset_(offset) {}

  absl::StatusOr<size_t> Read(std::span<char> room) override {
    const absl::StatusOr<size_t> read = reader_.ReadAt(offset_, {room.data(), room.size()});
    if (read.ok()) offset_ += *read;
    return read;
  }

 private:
  StorageReader& reader_;
  uint64_t offset_;
};

}  // namespace pleat::inline v0_1
