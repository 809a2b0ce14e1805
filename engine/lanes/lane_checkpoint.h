// What a commit of a lane carries as its metadata: all that the next owner has to know, in at most
// kCommitMetadataBytesMax bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Behind a checkpoint, and behind a book (held_keys.h, buried_messages.h).
inline constexpr size_t kLaneChecksumBytes = 8;
std::string WithChecksum(FieldWriter& out);
// The bytes before the checksum. Nothing: they are damaged.
std::optional<std::string_view> CheckedFields(std::string_view bytes);

// The lane's time was moved to `time` without a record, when the record at `offset` or the next one
// behind was to come. Kept if that record was older: a replay without the tick would differ.
struct LaneTick {
  uint64_t offset = 0;
  EngineTime time{};

  friend bool operator==(const LaneTick&, const LaneTick&) = default;
};
inline constexpr size_t kLaneTicksMax = 16;

struct LaneSnapshotPlace {
  uint64_t number = 0;  // of LaneSnapshots
  uint64_t offset = 0;  // where to read on

  friend bool operator==(const LaneSnapshotPlace&, const LaneSnapshotPlace&) = default;
};

// Consecutive numbers: begin, ..., end - 1.
struct NumberRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};
inline constexpr size_t kConfirmedRangesMax = 120;  // of a stream: so their number takes one byte

struct StreamCheckpoint {
  uint32_t name = 0;     // a hash of it
  uint64_t decided = 0;  // the messages before this number, whose digest follows
  uint64_t digest = 0;
  uint64_t confirmed = 0;  // the messages before this number, and those of the ranges above
  std::vector<NumberRange> ranges;

  friend bool operator==(const StreamCheckpoint&, const StreamCheckpoint&) = default;
};

struct LaneCheckpoint {
  uint64_t life = 0;
  uint64_t version = 0;
  uint64_t origin = 0;  // the offset at which the life began
  EngineTime now{};
  uint64_t takeovers = 0;   // how often another owner has gone on
  EngineTime taken_over{};  // the last time, by its clock; only if there was one
  std::optional<LaneSnapshotPlace> snapshot;
  std::optional<uint64_t> held;    // the number of the book of held keys, of LaneSnapshots as well
  std::optional<uint64_t> buried;  // and of the book of buried messages
  std::vector<LaneTick> ticks;     // behind the snapshot
  std::vector<StreamCheckpoint> streams;

  // From where records are read again.
  uint64_t replayed_from() const { return snapshot ? snapshot->offset : origin; }

  friend bool operator==(const LaneCheckpoint&, const LaneCheckpoint&) = default;
};

// Ranges that have no room are left out: their messages come again.
std::string BytesOf(const LaneCheckpoint& checkpoint);
// Nothing: the bytes are not one, or one of a newer version.
std::optional<LaneCheckpoint> CheckpointIn(std::string_view bytes);

}  // namespace pleat::inline v0_1
