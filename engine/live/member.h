// A Member is one id in one series, in 40 bytes, with its payload behind them. Ids of up to 16 bytes
// lie inline; longer ones leave 4 bytes of their beginning, their length and a pointer.
//
// A TTL of the member's own, and a version, are rare; they lie in a MemberExtra elsewhere, to which
// the member's place makes way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <pleat/time.h>

#include "engine/table/packed_key.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {

// The id in 16 bytes and a tag of 7 bits, which lies elsewhere: its length if that is at most 16, or
// kLong.
class PackedId {
 public:
  static constexpr size_t kInlineBytesMax = 16;
  static constexpr uint8_t kLong = 0x7f;

  PackedId() noexcept = default;  // whose value is not set yet
  // A long id refers to `id`'s own bytes. `key` is the same packed; its bytes are in registers.
  PackedId(std::string_view id, const PackedKey& key) noexcept {
    if (id.size() > kInlineBytesMax) {
      Refer(id);
    } else {
      std::memcpy(bytes_, key.first16(), sizeof(bytes_));
    }
  }
  explicit PackedId(std::string_view long_id) noexcept { Refer(long_id); }

  static uint8_t TagOf(std::string_view id) noexcept {
    return id.size() <= kInlineBytesMax ? static_cast<uint8_t>(id.size()) : kLong;
  }

  // Valid while this object, or for a long id the bytes that it refers to, stays where it is.
  std::string_view view(uint8_t tag) const noexcept {
    if (tag != kLong) return {bytes_, tag};
    const char* data;
    uint32_t size;
    std::memcpy(&size, bytes_ + 4, sizeof(size));
    std::memcpy(&data, bytes_ + 8, sizeof(data));
    return {data, size};
  }

  // Whether this is `id`, packed with its tag.
  bool Equals(uint8_t tag, const PackedId& id, uint8_t id_tag) const noexcept {
    if (tag == id_tag) {
      if (tag != kLong) return std::memcmp(bytes_, id.bytes_, sizeof(bytes_)) == 0;
      if (std::memcmp(bytes_, id.bytes_, 8) == 0 && view(tag) == id.view(tag)) return true;
    }
    return (tag == kLong || id_tag == kLong) && AreSpellings(view(tag), id.view(id_tag));
  }

 private:
  // Whether two ids are one in two spellings.
  [[gnu::noinline]] static bool AreSpellings(std::string_view a, std::string_view b) noexcept {
    return SpelledKey::Of(a).identity == SpelledKey::Of(b).identity;
  }

  void Refer(std::string_view id) noexcept {
    const char* const data = id.data();
    const auto size = static_cast<uint32_t>(id.size());
    std::memcpy(bytes_, id.data(), 4);
    std::memcpy(bytes_ + 4, &size, sizeof(size));
    std::memcpy(bytes_ + 8, &data, sizeof(data));
  }

  alignas(8) char bytes_[kInlineBytesMax];
};

struct Member {
  EngineTime stamp;
  uint64_t position : 56;  // of the event that set the stamp
  uint64_t tag : 7;        // of the id
  uint64_t has_extra : 1;
  uint32_t series;
  uint32_t place;  // in the order of the series; with an extra the number of that
  PackedId id;

  static constexpr uint64_t kPositions = uint64_t{1} << 56;

  std::string_view name() const noexcept { return id.view(static_cast<uint8_t>(tag)); }
  void SetPosition(uint64_t value) noexcept { position = value % kPositions; }
};
static_assert(sizeof(Member) == 40);

struct MemberExtra {
  Duration ttl;  // zero: the series' one
  std::optional<uint64_t> version;
  uint32_t place;              // in the order of the series
  uint32_t place_by_deadline;  // with a TTL
};

}  // namespace pleat::inline v0_1
