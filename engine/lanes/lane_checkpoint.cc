#include "engine/lanes/lane_checkpoint.h"

#include <pleat/batch.h>
#include <pleat/stored.h>
#include <pleat/untyped/partitioned_log.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kCheckpointFormat = 3;  // 1: had no books; 2: did not count takeovers
constexpr uint8_t kHasSnapshot = 1;
constexpr uint8_t kHasHeld = 2;
constexpr uint8_t kHasBuried = 4;
constexpr uint8_t kHasAll = kHasSnapshot | kHasHeld | kHasBuried;

void PutTime(FieldWriter& out, EngineTime t) {
  out.PutNumber(static_cast<uint64_t>((Clamp(t) - kBeginningOfTime).count()));
}

// False for an instant that is none.
bool GetTime(FieldReader& in, EngineTime& t) {
  const uint64_t since = in.Number();
  const auto all = static_cast<uint64_t>((kEndOfTime - kBeginningOfTime).count());
  t = kBeginningOfTime + Duration(static_cast<int64_t>(since <= all ? since : 0));
  return in.Expect(since <= all);
}

size_t BytesOfNumber(uint64_t number) {
  size_t bytes = 1;
  for (; number >= 0x80; number >>= 7) ++bytes;
  return bytes;
}

// The ranges that have room in `bytes`, from the lowest on.
size_t RangesThatFit(const StreamCheckpoint& stream, size_t& bytes) {
  uint64_t before = stream.confirmed;
  size_t ranges = 0;
  for (const NumberRange& each : stream.ranges) {
    const size_t taken = BytesOfNumber(each.begin - before) + BytesOfNumber(each.end - each.begin);
    if (taken > bytes) break;
    bytes -= taken;
    before = each.end;
    ++ranges;
  }
  return ranges;
}

void PutStream(FieldWriter& out, const StreamCheckpoint& stream, size_t ranges) {
  PLEAT_CHECK(stream.confirmed <= stream.decided);
  out.PutNumber(stream.name);
  out.PutNumber(stream.decided);
  out.PutWord(stream.digest);
  out.PutNumber(stream.decided - stream.confirmed);
  out.PutNumber(ranges);
  uint64_t before = stream.confirmed;
  for (size_t i = 0; i < ranges; ++i) {
    out.PutNumber(stream.ranges[i].begin - before);
    out.PutNumber(stream.ranges[i].end - stream.ranges[i].begin);
    before = stream.ranges[i].end;
  }
}

bool GetStream(FieldReader& in, StreamCheckpoint& stream) {
  const uint64_t name = in.Number();
  if (!in.Expect(name <= UINT32_MAX)) return false;
  stream.name = static_cast<uint32_t>(name);
  stream.decided = in.Number();
  stream.digest = in.Word();
  const uint64_t unconfirmed = in.Number();
  if (!in.Expect(unconfirmed <= stream.decided)) return false;
  stream.confirmed = stream.decided - unconfirmed;
  stream.ranges.resize(in.Count());
  uint64_t before = stream.confirmed;
  for (NumberRange& range : stream.ranges) {
    const uint64_t gap = in.Number();
    const uint64_t size = in.Number();
    const uint64_t left = stream.decided - before;
    if (!in.Expect(0 < gap && gap <= left && 0 < size && size <= left - gap)) return false;
    range.begin = before + gap;
    range.end = before = range.begin + size;
  }
  return in.ok();
}

void PutAllButStreams(FieldWriter& out, const LaneCheckpoint& checkpoint) {
  PLEAT_CHECK(checkpoint.ticks.size() <= kLaneTicksMax);
  out.PutNumber(kCheckpointFormat);
  out.PutWord(checkpoint.life);
  out.PutWord(checkpoint.version);
  out.PutNumber(checkpoint.origin);
  PutTime(out, checkpoint.now);
  out.PutNumber(checkpoint.takeovers);
  if (checkpoint.takeovers > 0) PutTime(out, checkpoint.taken_over);
  out.PutByte(static_cast<uint8_t>((checkpoint.snapshot ? kHasSnapshot : 0) |
                                   (checkpoint.held ? kHasHeld : 0) |
                                   (checkpoint.buried ? kHasBuried : 0)));
  if (checkpoint.snapshot) {
    out.PutNumber(checkpoint.snapshot->number);
    out.PutNumber(checkpoint.snapshot->offset);
  }
  if (checkpoint.held) out.PutNumber(*checkpoint.held);
  if (checkpoint.buried) out.PutNumber(*checkpoint.buried);
  out.PutNumber(checkpoint.ticks.size());
  for (const LaneTick& tick : checkpoint.ticks) {
    out.PutNumber(tick.offset);
    PutTime(out, tick.time);
  }
}

bool GetAllButStreams(FieldReader& in, LaneCheckpoint& checkpoint) {
  const uint64_t format = in.Number();
  if (!in.Expect(0 < format && format <= kCheckpointFormat)) return false;
  checkpoint.life = in.Word();
  checkpoint.version = in.Word();
  checkpoint.origin = in.Number();
  GetTime(in, checkpoint.now);
  if (format > 2) checkpoint.takeovers = in.Number();
  if (checkpoint.takeovers > 0) GetTime(in, checkpoint.taken_over);
  const uint8_t has = in.Byte();
  if (!in.Expect(has <= (format == 1 ? kHasSnapshot : kHasAll))) return false;
  if ((has & kHasSnapshot) != 0) {
    LaneSnapshotPlace& place = checkpoint.snapshot.emplace();
    place.number = in.Number();
    place.offset = in.Number();
  }
  if ((has & kHasHeld) != 0) checkpoint.held = in.Number();
  if ((has & kHasBuried) != 0) checkpoint.buried = in.Number();
  checkpoint.ticks.resize(in.Count());
  if (!in.Expect(checkpoint.ticks.size() <= kLaneTicksMax)) return false;
  for (LaneTick& tick : checkpoint.ticks) {
    tick.offset = in.Number();
    if (!GetTime(in, tick.time)) return false;
  }
  return in.ok();
}

}  // namespace

std::string WithChecksum(FieldWriter& out) {
  out.PutWord(StablePartitionHash(out.bytes()));
  return std::string(out.bytes());
}

std::optional<std::string_view> CheckedFields(std::string_view bytes) {
  if (bytes.size() < kLaneChecksumBytes) return std::nullopt;
  const std::string_view fields = bytes.substr(0, bytes.size() - kLaneChecksumBytes);
  FieldReader checksum(bytes.substr(fields.size()));
  if (checksum.Word() != StablePartitionHash(fields)) return std::nullopt;
  return fields;
}

std::string BytesOf(const LaneCheckpoint& checkpoint) {
  FieldWriter out;
  PutAllButStreams(out, checkpoint);
  out.PutNumber(checkpoint.streams.size());
  FieldWriter streams;
  for (const StreamCheckpoint& stream : checkpoint.streams) PutStream(streams, stream, 0);
  const size_t taken = out.size() + streams.size() + kLaneChecksumBytes;
  PLEAT_CHECK(taken <= kCommitMetadataBytesMax);
  size_t left = kCommitMetadataBytesMax - taken;
  for (const StreamCheckpoint& stream : checkpoint.streams) {
    PutStream(out, stream, RangesThatFit(stream, left));
  }
  return WithChecksum(out);
}

std::optional<LaneCheckpoint> CheckpointIn(std::string_view bytes) {
  const std::optional<std::string_view> fields = CheckedFields(bytes);
  if (!fields) return std::nullopt;
  FieldReader in(*fields);
  LaneCheckpoint checkpoint;
  if (!GetAllButStreams(in, checkpoint)) return std::nullopt;
  checkpoint.streams.resize(in.Count());
  for (StreamCheckpoint& stream : checkpoint.streams) {
    if (!GetStream(in, stream)) return std::nullopt;
  }
  if (!in.done()) return std::nullopt;
  return checkpoint;
}

}  // namespace pleat::inline v0_1
