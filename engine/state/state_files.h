// The files of a state directory: their names, what MANIFEST says, and reading and writing them as
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/snapshot.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class BlockReader;
class FieldReader;

inline constexpr std::string_view kManifest = "MANIFEST";
inline constexpr std::string_view kUnfinished = ".new";

// What is wrong with a MANIFEST that says so while no snapshot is there, and what helps.
inline constexpr char kGone[] =
    "says that a snapshot was here, and there is none: put snapshot-N back from a backup";

std::string NameOfSnapshot(uint64_t number);
// The number in the name of a snapshot, whole or unfinished. Other names are not ours.
std::optional<uint64_t> NumberIn(std::string_view name);

// The same of any files that are numbered: "<prefix>N", and unfinished.
std::optional<uint64_t> NumberIn(std::string_view name, std::string_view prefix);

// A directory that has files, and none of a state directory, is kFailedPrecondition: nobody's files
// get a LOCK beside them because a path was mistyped.
absl::Status CheckOurs(StorageDirectory& directory);
// The same for a directory of another kind, such as "state directory", by the names of its files.
using IsOurFile = absl::FunctionRef<bool(std::string_view name)>;
absl::Status CheckOurs(StorageDirectory& directory, std::string_view kind, IsOurFile is_ours);

// The error, which the message says is of that file. One of the storage says so itself.
absl::Status InFile(std::string_view directory, std::string_view file, const absl::Status& why);

// A number may come again in another life, if its file is gone. Of an identity of the directory it
// makes that of the snapshot, and the other way round.
uint64_t IdentityOfSnapshot(uint64_t identity, uint64_t number, uint64_t life) noexcept;

// The first block of a file: its format, and fields behind that. `read` takes them off, and returns whether
// they are possible.
// Errors: kDataLoss, kUnimplemented for a newer format, and those of the source.
absl::Status ReadHead(BlockReader& reader, uint32_t format,
                      absl::FunctionRef<bool(FieldReader& in)> read);

// The properties of a directory that do not depend on its snapshots.
struct Manifest {
  // So that the numbers of all lives do not wrap.
  static constexpr uint64_t kLivesMax = uint64_t{1} << 27;

  uint64_t identity = 0;
  uint64_t lives = 0;  // how often an engine has begun here
  bool kept = false;   // a snapshot has been here: since then one is always there

  absl::Status Write(ByteSink& sink) const;
  // Errors: those of ReadHead().
  static absl::StatusOr<Manifest> Read(ByteSource& source);
};

// Writes a file and gives it its name, so that either the file that has the name now or the new one is
// there, whatever fails. Of an error an unfinished one may be left. `go_on` is asked before the file
// gets its name, when it is on the disk: an error of it is the result.
absl::Status WriteBeside(
    StorageDirectory& directory, std::string_view name,
    absl::FunctionRef<absl::Status(ByteSink&)> write,
    absl::FunctionRef<absl::Status()> go_on = [] { return absl::OkStatus(); });

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
