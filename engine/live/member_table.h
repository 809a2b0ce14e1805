// The MemberTable holds the members of all series of a book. It finds one by series and id, in one
// table for all, and knows nothing of their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <pleat/untyped/any_live_set.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/live/member.h"
#include "engine/live/stored_keys.h"
#include "engine/live/table_saving.h"
#include "engine/table/change_by_rule.h"
#include "engine/table/key_arena.h"
#include "engine/table/key_index.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

// An id to look for, with all that looking takes.
struct MemberRef {
  MemberRef(std::string_view id, uint64_t series_hash, const HashKey& hash_key) noexcept
      : MemberRef(id, PackedKey(id), series_hash, hash_key) {}
  // The same with a hash that is known.
  MemberRef(std::string_view id, uint64_t known_hash) noexcept
      : name(id), packed(id, PackedKey(id)), tag(PackedId::TagOf(id)), hash(known_hash) {}

  // Keyed, of the id and the low half of the series' hash, which is what a series keeps.
  static uint64_t HashOf(const PackedKey& id, uint64_t series_hash, const HashKey& key) noexcept {
    return Mix(id.HashWith(key) ^ key[1], static_cast<uint32_t>(series_hash) ^ key[2]);
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

class MemberTable : public ChangeByRule<MemberTable, Member, TableSaving> {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  // Tells the hash of the series of a member, as MemberRef wants it: a member does not keep its own
  // hash, which is needed only when it comes, goes, or makes way in the index.
  using SeriesHash = std::function<uint32_t(uint32_t number)>;
  // Tells whom a member is saved as one of; null: the member's series.
  using Owner = std::function<uint32_t(uint32_t number)>;

  // `pool`, `ops` and `hash_key` outlive the table.
  MemberTable(Pages& pool, const PayloadOps& ops, const HashKey& hash_key, SeriesHash series_hash,
              Owner owner = nullptr)
      : ops_(ops),
        hash_key_(hash_key),
        series_hash_(std::move(series_hash)),
        owner_(std::move(owner)),
        members_(pool, sizeof(Member) + (ops.size + 7) / 8 * 8),
        extras_(pool, sizeof(MemberExtra)),
        index_(pool),
        arena_(pool) {}
  ~MemberTable();
  MemberTable(const MemberTable&) = delete;
  MemberTable& operator=(const MemberTable&) = delete;

  size_t size() const noexcept { return index_.size(); }
  static const void* PayloadOf(const Member& member) noexcept { return &member + 1; }
  static void* PayloadOf(Member& member) noexcept { return &member + 1; }
  const void* payload(uint32_t number) const noexcept { return PayloadOf(at(number)); }
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
  // The low half of a member's hash.
  uint32_t HashOf(uint32_t number) const;
  // How many members were ever removed: as long as that stays the same, members stay where they are.
  uint32_t removed() const noexcept { return removed_; }

  // Look ahead in three steps, each of which brings closer what the next one reads.
  void PrefetchDirectory(uint64_t hash) const noexcept { index_.PrefetchDirectory(hash); }
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

  // A new member without place and extra, with a copy of the payload. REQUIRES: it is not there, and
  // what SeriesHash needs to know of it is.
  uint32_t Add(const MemberRef& ref, uint32_t series, EngineTime stamp, uint64_t position,
               const void* payload);
  void Remove(uint32_t number);

  // --- Stamp, payload, TTL and version

  // REQUIRES: the member is in no sequence, but for one whose end it is about to become.
  void SetStamp(uint32_t number, EngineTime stamp, uint64_t position) {
    Member& member = Change(number);
    member.stamp = stamp;
    member.SetPosition(position);
  }
  void SetPayload(uint32_t number, const void* payload);
  bool PayloadIs(uint32_t number, const void* other) const {
    return ops_.size == 0 || ops_.equal(ops_.context, payload(number), other);
  }

  Duration ttl(uint32_t number) const noexcept {
    const Member& member = at(number);
    return member.has_extra ? ExtraOf(member).ttl : Duration::zero();
  }
  std::optional<uint64_t> version(uint32_t number) const noexcept {
    const Member& member = at(number);
    return member.has_extra ? ExtraOf(member).version : std::nullopt;
  }
  void SetExtra(uint32_t number, Duration ttl, std::optional<uint64_t> version);

  // --- Saved

  // Writes the members that there are now, a strip at a time, also if they change meanwhile: see
  // Book::BeginSave(). Each begins with the number of its owner, which `owners` tells. SaveNext()
  // returns whether there was a strip to write.
  void BeginSave(const StoredKeys& keys, Copies& copies) {
    images_ = std::make_unique<TableSaving>(members_.end(), keys, copies);
  }
  bool SaveNext(FieldWriter& out, const PlaceNumbers& owners);
  // REQUIRES: all were written, and EndSave() was not called.
  const PlaceNumbers& numbers() const noexcept { return images_->numbers(); }

  // Adds a member as it was saved, behind the owner; kNone if that cannot be. Where only the payload
  // fails there is a member. REQUIRES: as Add(); `series_hash` is what SeriesHash tells.
  uint32_t Load(FieldReader& in, uint32_t series, uint32_t series_hash, const StoredKeys& keys);

  // --- For the sequences: in no image

  uint32_t& place(uint32_t number) noexcept {
    Member& member = EntryToChange(number);
    return member.has_extra ? ExtraOf(member).place : member.place;
  }
  // REQUIRES: the member has a TTL of its own.
  uint32_t& place_by_deadline(uint32_t number) noexcept {
    return ExtraOf(EntryToChange(number)).place_by_deadline;
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
  // For the rule.
  friend class ChangeByRule<MemberTable, Member, TableSaving>;
  const Member& EntryAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Member*>(members_.hot(number));
  }
  // Whether a member lives there. A place that is free again says that its series is kNone.
  bool Holds(uint32_t number) const noexcept {
    return members_.Knows(number) && at(number).series != kNone;
  }
  uint32_t OwnerOf(uint32_t number) const {
    return owner_ == nullptr ? at(number).series : owner_(number);
  }
  [[gnu::cold]] void KeepImageNow(uint32_t number);
  void Save(uint32_t number, const StoredKeys& keys, FieldWriter& out) const;
  void Abandon(Member& member) noexcept;
  // The place, and a share of the index.
  size_t MemberBytes() const noexcept { return sizeof(Member) + (ops_.size + 7) / 8 * 8 + 11; }
  size_t ExtraBytes(std::string_view id, const void* payload) const noexcept {
    const size_t heap = ops_.size == 0 || ops_.heap_bytes == nullptr || payload == nullptr
                            ? 0
                            : ops_.heap_bytes(ops_.context, payload);
    return (id.size() > PackedId::kInlineBytesMax ? KeyArena::BytesForText(id) : 0) + heap;
  }
  uint32_t Place(const MemberRef& ref, uint32_t series, const SequenceKey& key);
  inline void Index(const MemberRef& ref, uint32_t number);
  void AddExtra(Member& member);
  const MemberExtra& ExtraOf(const Member& member) const noexcept {
    PLEAT_DCHECK(member.has_extra);
    return *reinterpret_cast<const MemberExtra*>(extras_.hot(member.place));
  }
  MemberExtra& ExtraOf(Member& member) noexcept {
    PLEAT_DCHECK(member.has_extra);
    return *reinterpret_cast<MemberExtra*>(extras_.hot(member.place));
  }
  auto HashesOf() const noexcept {
    return [this](uint32_t number) { return HashOf(number); };
  }

  const PayloadOps& ops_;
  const HashKey& hash_key_;
  const SeriesHash series_hash_;
  const Owner owner_;
  Slab<NoCold, 11> members_;
  Slab<NoCold, 11> extras_;
  KeyIndex index_;
  KeyArena arena_;
  size_t extra_bytes_ = 0;
  uint32_t removed_ = 0;
};

}  // namespace pleat::inline v0_1
