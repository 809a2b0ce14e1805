// The MemberTable holds the members of all series of a book. It finds one by series and id, in one
// table for all, and knows nothing of their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <pleat/any_window.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/key_arena.h"
#include "engine/table/key_index.h"
#include "engine/table/slab.h"
#include "engine/window/member.h"

namespace pleat::inline v0_1 {

// An id to look for, with all that looking takes.
struct MemberRef {
  MemberRef(std::string_view id, uint64_t series_hash, const HashKey& hash_key) noexcept
      : MemberRef(id, PackedKey(id), series_hash, hash_key) {}
  // The same with a hash that is known.
  MemberRef(std::string_view id, uint64_t known_hash) noexcept
      : name(id), packed(id, PackedKey(id)), tag(PackedId::TagOf(id)), hash(known_hash) {}

  // Keyed, of series and id.
  static uint64_t HashOf(const PackedKey& id, uint64_t series_hash, const HashKey& key) noexcept {
    return Mix(id.HashWith(key) ^ key[1], series_hash ^ key[2]);
  }

  std::string_view name;
  PackedId packed;
  uint8_t tag;
  uint64_t hash;

 private:
  MemberRef(std::string_view id, const PackedKey& key, uint64_t series_hash,
            const HashKey& hash_key) noexcept
      : name(id),
        packed(id, key),
        tag(PackedId::TagOf(id)),
        hash(HashOf(key, series_hash, hash_key)) {}
};

class MemberTable {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  MemberTable(PagePool& pool, const PayloadOps& ops)
      : ops_(ops),
        members_(pool, sizeof(Member) + (ops.size + 7) / 8 * 8),
        extras_(pool, sizeof(MemberExtra)),
        index_(pool),
        arena_(pool) {}
  MemberTable(const MemberTable&) = delete;
  MemberTable& operator=(const MemberTable&) = delete;

  size_t size() const noexcept { return index_.size(); }
  Member& at(uint32_t number) const noexcept {
    return *reinterpret_cast<Member*>(members_.hot(number));
  }
  void* payload(uint32_t number) const noexcept { return members_.hot(number) + sizeof(Member); }
  const PayloadOps& ops() const noexcept { return ops_; }

  // --- Finding

  uint32_t Find(const MemberRef& ref, uint32_t series) const {
    return index_.Find(ref.hash,
                       [&](uint32_t number) { return Is(number, series, ref.packed, ref.tag); });
  }
  // The same in any series: the member for which `matches(number)` holds, too.
  template <class Matches>
  uint32_t FindIf(const MemberRef& ref, const Matches& matches) const {
    return index_.Find(ref.hash, [&](uint32_t number) {
      const Member& member = at(number);
      return member.id.Equals(static_cast<uint8_t>(member.tag), ref.packed, ref.tag) &&
             matches(number);
    });
  }
  // Whether a member that lives has this series and this id.
  bool Is(uint32_t number, uint32_t series, const PackedId& id, uint8_t tag) const {
    const Member& member = at(number);
    return member.series == series && member.id.Equals(static_cast<uint8_t>(member.tag), id, tag);
  }
  // How many members were ever removed: as long as that stays the same, members stay where they are.
  uint32_t removed() const noexcept { return removed_; }

  void PrefetchIndex(uint64_t hash) const noexcept { index_.Prefetch(hash); }
  // Brings the member that Find() will ask about first closer; its number, or kNone.
  uint32_t PrefetchMember(uint64_t hash) const noexcept {
    const uint32_t number = index_.Guess(hash);
    if (number != kNone) Prefetch(number);
    return number;
  }
  // Whether there is, or was, a member of this number: its bytes can be read.
  bool Knows(uint32_t number) const noexcept { return members_.Knows(number); }
  void Prefetch(uint32_t number) const noexcept {
    const std::byte* const bytes = members_.hot(number);
    pleat::Prefetch(bytes);
    pleat::Prefetch(bytes + sizeof(Member) - 1);
  }

  // --- Adding and removing

  // A new member without place and extra, with a copy of the payload. REQUIRES: it is not there.
  uint32_t Add(const MemberRef& ref, uint32_t series, EngineTime stamp, uint64_t position,
               const void* payload);
  void Remove(uint32_t number);
  // Gives back what a member holds outside the table, before the table goes.
  void Abandon(uint32_t number) noexcept;

  // --- Payload, TTL and version

  void SetPayload(uint32_t number, const void* payload);
  bool PayloadIs(uint32_t number, const void* other) const {
    return ops_.size == 0 || ops_.equal(ops_.context, payload(number), other);
  }

  Duration ttl(uint32_t number) const noexcept {
    const uint32_t extra = at(number).extra;
    return extra == kNone ? Duration::zero() : ExtraAt(extra).ttl;
  }
  std::optional<uint64_t> version(uint32_t number) const noexcept {
    const uint32_t extra = at(number).extra;
    return extra == kNone ? std::nullopt : ExtraAt(extra).version;
  }
  void SetExtra(uint32_t number, Duration ttl, std::optional<uint64_t> version);
  // REQUIRES: the member has a TTL of its own.
  uint32_t& place_by_deadline(uint32_t number) const noexcept {
    return ExtraAt(at(number).extra).place;
  }

  // --- Bytes

  // What members cost, counted by what they are, not by where they lie.
  size_t bytes() const noexcept { return index_.size() * MemberBytes() + extra_bytes_; }
  // What a new one would.
  size_t BytesFor(std::string_view id, const void* payload, bool has_extra) const noexcept {
    return MemberBytes() + ExtraBytes(id, payload) + (has_extra ? kExtraBytes : 0);
  }

  // Ends the process unless the index holds just the members. O(members); for tests.
  void CheckWhole() const;

 private:
  static constexpr size_t kExtraBytes = sizeof(MemberExtra);
  // The place, and a share of the index.
  size_t MemberBytes() const noexcept { return sizeof(Member) + (ops_.size + 7) / 8 * 8 + 11; }
  size_t ExtraBytes(std::string_view id, const void* payload) const noexcept {
    const size_t heap = ops_.size == 0 || ops_.heap_bytes == nullptr || payload == nullptr
                            ? 0
                            : ops_.heap_bytes(ops_.context, payload);
    return (id.size() > PackedId::kInlineBytesMax ? KeyArena::BytesForText(id) : 0) + heap;
  }
  MemberExtra& ExtraAt(uint32_t number) const noexcept {
    return *reinterpret_cast<MemberExtra*>(extras_.hot(number));
  }
  auto HashesOf() const noexcept {
    return [this](uint32_t number) { return at(number).hash; };
  }

  const PayloadOps& ops_;
  Slab<NoCold, 11> members_;
  Slab<NoCold, 11> extras_;
  KeyIndex index_;
  KeyArena arena_;
  size_t extra_bytes_ = 0;
  uint32_t removed_ = 0;
};

}  // namespace pleat::inline v0_1
