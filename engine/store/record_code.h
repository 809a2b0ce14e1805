// A record as bytes of a section:
//
//   number   the key's size times 4; + 1: it has an id; + 2: its stamp is not its `appended`
//   number   the payload's size
//   number   how much later it was appended than the record before it; of the first one 0
//   number   with + 1: the id's size
//   signed   with + 2: stamp less appended
//   bytes    key, id, payload
//
// Numbers have 7 bits to a byte, as everywhere in pleat. A record of a short key, without an id and
// with a stamp of its own, takes some 8 bytes beside key and payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <pleat/event_store.h>
#include <pleat/stored.h>

namespace pleat::inline v0_1 {

inline constexpr size_t kRecordHeadBytesMax = 5 * 10;
// What a record takes beside its bytes, for bounds.
inline constexpr size_t kRecordBytesBeside = 16;

inline char* PutNumber(char* to, uint64_t number) noexcept {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<char>(number | 0x80);
  *to++ = static_cast<char>(number);
  return to;
}
inline char* PutBytes(char* to, std::string_view bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}
inline size_t BytesOf(const StoreRecord& record) noexcept {
  return record.key.size() + record.id.size() + record.payload.size();
}

// Returns the end. REQUIRES: room for kRecordHeadBytesMax and BytesOf(record).
inline char* EncodeRecord(char* to, const StoreRecord& record, EngineTime appended,
                          EngineTime before) noexcept {
  const int64_t lead = (record.stamp - appended).count();
  const bool has_id = !record.id.empty();
  to = PutNumber(to, record.key.size() << 2 | (lead != 0 ? 2 : 0) | (has_id ? 1 : 0));
  to = PutNumber(to, record.payload.size());
  to = PutNumber(to, static_cast<uint64_t>((appended - before).count()));
  if (has_id) to = PutNumber(to, record.id.size());
  if (lead != 0) to = PutNumber(to, detail::ZigZag(lead));
  return PutBytes(PutBytes(PutBytes(to, record.key), record.id), record.payload);
}

// What a position is told by that lies behind the record. Never 0.
uint64_t MarkOf(const StoredRecord& record) noexcept;

// Reads numbers and bytes, and never beyond the end.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // The next record, but for its offset. `appended` is that of the record before it, and becomes its
  // own. False: what is there is no record.
  bool Next(StoredRecord& record, EngineTime& appended) noexcept {
    const uint64_t head = Number();
    const uint64_t payload_size = Number();
    const uint64_t later = Number();
    const uint64_t id_size = (head & 1) != 0 ? Number() : 0;
    const int64_t lead = (head & 2) != 0 ? detail::UnZigZag(Number()) : 0;
    if (!Adds(appended, later) || !Adds(lead)) return false;
    record.appended = appended;
    record.stamp = EngineTime(Duration(appended.time_since_epoch().count() + lead));
    record.key = Bytes(head >> 2);
    record.id = Bytes(id_size);
    record.payload = Bytes(payload_size);
    return ok_;
  }
  bool done() const noexcept { return ok_ && at_ == end_; }

 private:
  // So that sums stay in the range of numbers, whatever the bytes are.
  static constexpr uint64_t kTimesMax = uint64_t{1} << 61;

  bool Adds(EngineTime& time, uint64_t later) noexcept {
    ok_ = ok_ && later < kTimesMax && time.time_since_epoch().count() < int64_t{1} << 61;
    if (ok_) time += Duration(static_cast<int64_t>(later));
    return ok_;
  }
  bool Adds(int64_t lead) noexcept {
    return ok_ = ok_ && lead < int64_t{1} << 61 && lead > -(int64_t{1} << 61);
  }

  uint64_t Number() noexcept {
    uint64_t number = 0;
    for (int shift = 0; shift < 70 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      number |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
    ok_ = false;
    return 0;
  }
  std::string_view Bytes(uint64_t size) noexcept {
    ok_ = ok_ && size <= static_cast<uint64_t>(end_ - at_);
    if (!ok_) return {};
    const std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }

  const char* at_;
  const char* const end_;
  bool ok_ = true;
};

}  // namespace pleat::inline v0_1
