#include "engine/live/member_table.h"

#include <new>

#include <pleat/options.h>

namespace pleat::inline v0_1 {
namespace {

// The flags of a stored member.
constexpr uint8_t kHasExtra = 1;
constexpr uint8_t kHasTtl = 2;
constexpr uint8_t kHasVersion = 4;

}  // namespace

MemberTable::~MemberTable() {
  members_.ForEach([this](uint32_t number) {
    if (Holds(number)) Abandon(EntryToChange(number));
  });
}

// Inline: so a new member costs as little as if nothing were ever loaded.
[[gnu::always_inline]] inline void MemberTable::Index(const MemberRef& ref, uint32_t number) {
  extra_bytes_ += ExtraBytes(ref.name, payload(number));
  index_.Insert(ref.hash, number, HashesOf());
}

uint32_t MemberTable::Add(const MemberRef& ref, uint32_t series, EngineTime stamp,
                          uint64_t position, const void* payload) {
  const uint32_t number = Place(ref, series, {stamp, position});
  if (ops_.size > 0) ops_.copy(ops_.context, PayloadOf(ChangeKept(number)), payload);
  Index(ref, number);
  return number;
}

// A new member without a payload, which nobody finds.
uint32_t MemberTable::Place(const MemberRef& ref, uint32_t series, const SequenceKey& key) {
  const bool is_long = ref.tag == PackedId::kLong;
  const uint32_t number = members_.Allocate();
  KeepNothing(number);
  ::new (members_.hot(number))
      Member{.stamp = key.time,
             .position = key.position % Member::kPositions,
             .tag = uint64_t{ref.tag} & PackedId::kLong,
             .has_extra = 0,
             .series = series,
             .place = kNone,
             .id = is_long ? PackedId(arena_.KeepText(ref.name)) : ref.packed};
  return number;
}

void MemberTable::Remove(uint32_t number) {
  Member& member = Change(number);
  index_.Erase(HashOf(number), number);
  extra_bytes_ -= ExtraBytes(member.name(), payload(number));
  if (member.has_extra) {
    extras_.Free(member.place);
    extra_bytes_ -= kExtraBytes;
  }
  Abandon(member);
  member.series = kNone;
  members_.Free(number);
  ++removed_;
}

// Gives back what a member holds outside the table.
void MemberTable::Abandon(Member& member) noexcept {
  if (member.tag == PackedId::kLong) arena_.ReleaseText(member.name());
  if (ops_.size > 0) ops_.destroy(ops_.context, PayloadOf(member));
}

void MemberTable::SetPayload(uint32_t number, const void* payload) {
  if (ops_.size == 0) return;
  Member& member = Change(number);
  void* const own = PayloadOf(member);
  extra_bytes_ -= ExtraBytes(member.name(), own);
  ops_.destroy(ops_.context, own);
  ops_.copy(ops_.context, own, payload);
  extra_bytes_ += ExtraBytes(member.name(), own);
}

void MemberTable::SetExtra(uint32_t number, Duration ttl, std::optional<uint64_t> version) {
  const bool needed = ttl != Duration::zero() || version;
  if (!needed && !at(number).has_extra) return;
  Member& member = Change(number);
  if (!member.has_extra) AddExtra(member);
  ExtraOf(member).ttl = ttl;
  ExtraOf(member).version = version;
}

void MemberTable::AddExtra(Member& member) {
  const uint32_t extra = extras_.Allocate();
  ::new (extras_.hot(extra))
      MemberExtra{.ttl = {}, .version = {}, .place = member.place, .place_by_deadline = kNone};
  member.place = extra;
  member.has_extra = 1;
  extra_bytes_ += kExtraBytes;
}

// --- Saved: the owner; id, key, a byte of bits, TTL and version if there are any, payload

void MemberTable::KeepImageNow(uint32_t number) {
  if (images_->Has(number)) return;
  images_->Keep(number, OwnerOf(number),
                [&](FieldWriter& out) { Save(number, images_->keys(), out); });
}

bool MemberTable::SaveNext(FieldWriter& out, const PlaceNumbers& owners) {
  if (images_->at_end()) return false;
  images_->SaveStrip(
      out, &owners,
      [this](uint32_t number) { return Holds(number) ? OwnerOf(number) : TableSaving::kNoEntry; },
      [&](uint32_t number) { Save(number, images_->keys(), out); });
  return true;
}

void MemberTable::Save(uint32_t number, const StoredKeys& keys, FieldWriter& out) const {
  const Member& member = at(number);
  const Duration own_ttl = ttl(number);
  const std::optional<uint64_t> own_version = version(number);
  out.PutBytes(member.name());
  keys.Save({member.stamp, member.position}, out);
  // An extra stays when it has nothing to say any more, and counts as bytes.
  const int bits = (member.has_extra ? kHasExtra : 0) |
                   (own_ttl != Duration::zero() ? kHasTtl : 0) | (own_version ? kHasVersion : 0);
  out.PutByte(static_cast<uint8_t>(bits));
  if (own_ttl != Duration::zero()) out(own_ttl);
  if (own_version) out.PutNumber(*own_version);
  if (ops_.size > 0) ops_.save(ops_.context, payload(number), out);
}

uint32_t MemberTable::Load(FieldReader& in, uint32_t series, uint32_t series_hash,
                           const StoredKeys& keys) {
  const std::string_view id = in.Bytes();
  const SequenceKey key = keys.Load(in);
  const uint8_t bits = in.Byte();
  const bool has_extra = (bits & kHasExtra) != 0;
  Duration ttl{0};
  std::optional<uint64_t> version;
  if ((bits & kHasTtl) != 0) in(ttl);
  if ((bits & kHasVersion) != 0) version = in.Number();
  in.Expect(id.size() <= kKeyBytesMax && bits < 2 * kHasVersion && (has_extra || bits == 0));
  in.Expect((bits & kHasTtl) == 0 || ttl > Duration::zero());
  if (!in.ok()) return kNone;
  const MemberRef ref(id, series_hash, hash_key_);
  if (!in.Expect(Find(ref, series) == kNone)) return kNone;
  const uint32_t number = Place(ref, series, key);
  if (has_extra) AddExtra(ChangeKept(number));
  SetExtra(number, ttl, version);
  if (ops_.size > 0) ops_.load(ops_.context, PayloadOf(ChangeKept(number)), in);
  Index(ref, number);
  return number;
}

uint32_t MemberTable::HashOf(uint32_t number) const {
  const PackedKey id(at(number).name());
  return static_cast<uint32_t>(MemberRef::HashOf(id, series_hash_(number), hash_key_));
}

void MemberTable::CheckWhole() const {
  index_.CheckWhole(HashesOf());
  PLEAT_CHECK(members_.CheckWhole() == index_.size());
  extras_.CheckWhole();
}

}  // namespace pleat::inline v0_1
