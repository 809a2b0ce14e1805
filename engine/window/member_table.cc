#include "engine/window/member_table.h"

#include <new>

namespace pleat::inline v0_1 {

uint32_t MemberTable::Add(const MemberRef& ref, uint32_t series, EngineTime stamp,
                          uint64_t position, const void* payload) {
  const bool is_long = ref.tag == PackedId::kLong;
  const uint32_t number = members_.Allocate();
  ::new (members_.hot(number))
      Member{.stamp = stamp,
             .position = position % Member::kPositions,
             .tag = uint64_t{ref.tag} & PackedId::kLong,
             .has_extra = 0,
             .series = series,
             .place = kNone,
             .id = is_long ? PackedId(arena_.KeepText(ref.name)) : ref.packed};
  if (ops_.size > 0) ops_.copy(ops_.context, this->payload(number), payload);
  extra_bytes_ += ExtraBytes(ref.name, this->payload(number));
  index_.Insert(ref.hash, number, HashesOf());
  return number;
}

void MemberTable::Remove(uint32_t number) {
  const Member& member = at(number);
  index_.Erase(HashOf(number), number);
  extra_bytes_ -= ExtraBytes(member.name(), payload(number));
  if (member.has_extra) {
    extras_.Free(member.place);
    extra_bytes_ -= kExtraBytes;
  }
  Abandon(number);
  members_.Free(number);
  ++removed_;
}

void MemberTable::Abandon(uint32_t number) noexcept {
  const Member& member = at(number);
  if (member.tag == PackedId::kLong) arena_.ReleaseText(member.name());
  if (ops_.size > 0) ops_.destroy(ops_.context, payload(number));
}

void MemberTable::SetPayload(uint32_t number, const void* payload) {
  if (ops_.size == 0) return;
  const std::string_view id = at(number).name();
  extra_bytes_ -= ExtraBytes(id, this->payload(number));
  ops_.destroy(ops_.context, this->payload(number));
  ops_.copy(ops_.context, this->payload(number), payload);
  extra_bytes_ += ExtraBytes(id, this->payload(number));
}

void MemberTable::SetExtra(uint32_t number, Duration ttl, std::optional<uint64_t> version) {
  Member& member = at(number);
  const bool needed = ttl != Duration::zero() || version;
  if (needed && !member.has_extra) {
    const uint32_t extra = extras_.Allocate();
    ::new (extras_.hot(extra))
        MemberExtra{.ttl = {}, .version = {}, .place = member.place, .place_by_deadline = kNone};
    member.place = extra;
    member.has_extra = 1;
    extra_bytes_ += kExtraBytes;
  }
  if (!member.has_extra) return;
  ExtraOf(member).ttl = ttl;
  ExtraOf(member).version = version;
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
