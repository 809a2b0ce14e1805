#include "engine/store/store_files.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <pleat/batch.h>
#include <pleat/stored.h>

#include "engine/base/concat.h"
#include "engine/store/frame.h"
#include "engine/store/record_code.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kPrefix = "segment-";
constexpr std::string_view kLostPrefix = "lost-";
constexpr std::string_view kManifestLetters = "MF";
constexpr std::string_view kHeadLetters = "SG";
constexpr std::string_view kEndFileLetters = "EN";
constexpr uint64_t kEndFileBytes = kFrameBytes + 32;
// A reader may come upon bytes that are just being overwritten.
constexpr int kLooksAtEnd = 3;

absl::Status Newer(uint64_t format) {
  return absl::UnimplementedError(Concat("format ", format,
                                         " is of a newer version of pleat; this one reads ",
                                         kStoreFormat, ": use that version"));
}

}  // namespace

std::string NameOfSegment(uint64_t number) { return Concat(kPrefix, number); }
std::string NameOfLost(uint64_t number) { return Concat(kLostPrefix, number); }

std::optional<uint64_t> SegmentNumberIn(std::string_view name) {
  if (name.ends_with(kUnfinishedStoreFile)) name.remove_suffix(kUnfinishedStoreFile.size());
  const std::string_view digits = name.substr(std::min(name.find('-') + 1, name.size()));
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (number == 0 || number > kSegmentsMax) return std::nullopt;
  if (name != NameOfSegment(number) && name != NameOfLost(number)) return std::nullopt;
  return number;
}

absl::Status StoreDamage(std::string_view directory, std::string_view file, uint64_t offset,
                         std::string_view why) {
  return absl::DataLossError(Concat(directory, "/", file, ": at byte ", offset, ": ", why));
}

std::string StoreManifest::Bytes() const {
  FieldWriter out;
  out.PutNumber(kStoreFormat);
  out.PutWord(identity);
  out.PutNumber(kPartitionHashVersion);
  out.PutNumber(partitions);
  out.PutNumber(life);
  out.PutNumber(first_segment);
  out.PutNumber(durable.segment);
  out.PutNumber(durable.end);
  return FrameOf(kManifestLetters, out.bytes(), {});
}

absl::StatusOr<StoreManifest> StoreManifest::Read(std::string_view directory,
                                                  std::string_view bytes) {
  const std::optional<std::string_view> fields = FieldsIn(kManifestLetters, bytes, {});
  if (!fields) return StoreDamage(directory, kStoreManifest, 0, "it is damaged");
  FieldReader in(*fields);
  const uint64_t format = in.Number();
  if (in.ok() && format > kStoreFormat) return Newer(format);
  StoreManifest manifest;
  manifest.identity = in.Word();
  const uint64_t hash_version = in.Number();
  const uint64_t partitions = in.Number();
  const uint64_t life = in.Number();
  manifest.first_segment = in.Number();
  manifest.durable.segment = in.Number();
  manifest.durable.end = in.Number();
  if (!in.done() || format == 0 || partitions == 0 || partitions > kStorePartitionsMax ||
      life > UINT32_MAX || manifest.first_segment == 0 ||
      (manifest.first_segment > 1 && manifest.first_segment > manifest.durable.segment)) {
    return StoreDamage(directory, kStoreManifest, 0, "it says something impossible");
  }
  if (hash_version != kPartitionHashVersion) {
    return absl::UnimplementedError(Concat("its keys are in partitions by version ", hash_version,
                                           " of the hash, and this pleat knows version ",
                                           kPartitionHashVersion, ": use the pleat that wrote it"));
  }
  manifest.partitions = static_cast<uint32_t>(partitions);
  manifest.life = static_cast<uint32_t>(life);
  return manifest;
}

std::string SegmentHead::Bytes() const {
  FieldWriter out;
  out.PutNumber(kStoreFormat);
  out.PutWord(identity);
  out.PutNumber(life);
  out.PutNumber(before.cut.segment);
  out.PutNumber(before.cut.end);
  out.PutNumber(before.blocks);
  out.PutWord(before.digest);
  out.PutNumber(durable.segment);
  out.PutNumber(durable.end);
  out.PutNumber(copied);
  out.PutNumber(before.partitions.size());
  for (const PartitionState& partition : before.partitions) {
    out.PutNumber(partition.next);
    out.PutNumber(detail::ZigZag(partition.latest.time_since_epoch().count()));
  }
  return FrameOf(kHeadLetters, out.bytes(), {.segment = number});
}

absl::StatusOr<std::optional<SegmentHead>> SegmentHead::Read(StorageReader& reader,
                                                             uint64_t number) {
  std::string bytes;
  if (absl::Status read = ReadInto(reader, 0, kFrameHeadBytes, bytes); !read.ok()) return read;
  if (bytes.size() < kFrameHeadBytes) return std::optional<SegmentHead>();
  const std::optional<uint64_t> size = FrameBytesIn(kHeadLetters, bytes);
  if (!size || *size > kBlockHeadBytesMax) return std::optional<SegmentHead>();
  if (absl::Status read = ReadInto(reader, 0, *size, bytes); !read.ok()) return read;
  const std::optional<std::string_view> fields = FieldsIn(kHeadLetters, bytes, {.segment = number});
  if (!fields) return std::optional<SegmentHead>();
  FieldReader in(*fields);
  const uint64_t format = in.Number();
  if (in.ok() && format > kStoreFormat) return Newer(format);
  SegmentHead head{.identity = in.Word(), .number = number, .before = {}, .head_bytes = *size};
  head.life = static_cast<uint32_t>(in.Number());
  head.before.cut.segment = in.Number();
  head.before.cut.end = in.Number();
  head.before.blocks = in.Number();
  head.before.digest = in.Word();
  head.durable.segment = in.Number();
  head.durable.end = in.Number();
  head.copied = in.Number();
  head.before.partitions.resize(in.Count());
  for (PartitionState& partition : head.before.partitions) {
    partition.next = in.Number();
    partition.latest = Clamp(EngineTime(Duration(detail::UnZigZag(in.Number()))));
  }
  if (!in.done() || head.before.cut.segment >= number) return std::optional<SegmentHead>();
  return std::optional<SegmentHead>(std::move(head));
}

std::string StoreEnd::Bytes(uint64_t identity) const {
  FieldWriter out;
  out.PutWord(cut.segment);
  out.PutWord(cut.end);
  out.PutWord(first_segment);
  out.PutWord(machine_run);
  return FrameOf(kEndFileLetters, out.bytes(), {.identity = identity});
}

absl::StatusOr<std::optional<StoreEnd>> StoreEnd::Read(StorageDirectory& directory,
                                                       uint64_t identity) {
  absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory.OpenFile(kStoreEnd);
  if (absl::IsNotFound(reader.status())) return std::optional<StoreEnd>();
  if (!reader.ok()) return reader.status();
  std::string bytes;
  std::optional<std::string_view> fields;
  for (int look = 0; look < kLooksAtEnd && !fields; ++look) {
    if (absl::Status read = ReadInto(**reader, 0, kEndFileBytes, bytes); !read.ok()) return read;
    fields = FieldsIn(kEndFileLetters, bytes, {.identity = identity});
  }
  if (!fields) return std::optional<StoreEnd>();
  FieldReader in(*fields);
  StoreEnd end;
  end.cut.segment = in.Word();
  end.cut.end = in.Word();
  end.first_segment = in.Word();
  end.machine_run = in.Word();
  const bool fits = end.cut.segment == 0 ? end.cut.end == 0 : end.first_segment <= end.cut.segment;
  if (!in.done() || !fits) return std::optional<StoreEnd>();
  return std::optional<StoreEnd>(end);
}

absl::Status PutFile(StorageDirectory& directory, std::string_view name, std::string_view bytes) {
  const std::string unfinished = Concat(name, kUnfinishedStoreFile);
  // One that an earlier attempt has left.
  absl::Status status = directory.Remove(unfinished);
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  absl::StatusOr<std::unique_ptr<StorageWriter>> file = directory.CreateFile(unfinished);
  if (!file.ok()) return file.status();
  status = (*file)->Append(bytes);
  if (status.ok()) status = (*file)->Sync();
  if (status.ok()) status = (*file)->Close();
  if (status.ok()) status = directory.Rename(unfinished, name);
  return status;
}

absl::Status ReadInto(StorageReader& reader, uint64_t at, uint64_t size, std::string& buffer) {
  buffer.resize(size);
  const absl::StatusOr<size_t> got = reader.ReadAt(at, {buffer.data(), buffer.size()});
  if (!got.ok()) return got.status();
  buffer.resize(*got);
  return absl::OkStatus();
}

}  // namespace pleat::inline v0_1
