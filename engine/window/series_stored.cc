// A series as bytes: name, TTL, when it became non-empty; its plain members, and what else follows
// from the past of their order; how many of these are retained; its members with TTLs of their own.
// Deadlines and places are made again.
#include <algorithm>
#include <functional>
#include <new>
#include <vector>

#include <pleat/options.h>

#include "engine/window/series_table.h"

namespace pleat::inline v0_1 {

void SeriesTable::Save(uint32_t number, StoredKeys& keys, FieldWriter& out, SaveRest rest) const {
  const Series& series = at(number);
  const auto save_members = [&](const Sequence& sequence) {
    out.PutNumber(sequence.size());
    if (sequence.empty()) return;
    stamps_.ForEachFrom(sequence, 0, [&](uint32_t member) {
      members_.Save(member, keys, out);
      rest(member);
      return true;
    });
  };
  out.PutBytes(series.name.view());
  out(series.ttl);
  out.PutNumber(series.since);
  save_members(series.plain);
  SaveOrder(number, out);
  out.PutNumber(series.retained);
  if (series.own == kNone) return out.PutNumber(0);
  const Sequence& own = OwnOf(series).by_stamp;
  save_members(own);
  stamps_.SaveForm(own, out);  // that of the other order, too
}

// The latest stamp that there was decides how a refresh goes on.
void SeriesTable::SaveOrder(uint32_t number, FieldWriter& out) const {
  const Series& series = at(number);
  const EngineTime last =
      series.plain.empty() ? kBeginningOfTime : members_.at(stamps_.Back(series.plain)).stamp;
  stamps_.SaveForm(series.plain, out);
  out.PutNumber(static_cast<uint64_t>((series.latest - last).count()));
}

uint32_t SeriesTable::Load(FieldReader& in, const HashKey& hash_key, EngineTime seen,
                           StoredKeys& keys, LoadRest rest) {
  const std::string_view text = in.Bytes();
  Duration ttl{0};
  in(ttl);
  const uint64_t since = in.Number();
  in.Expect(text.size() <= kKeyBytesMax && ttl >= Duration::zero() && ttl != ttl_);
  if (!in.ok()) return kNone;
  const PackedKey name(text);
  const uint64_t hash = name.HashWith(hash_key);
  if (!in.Expect(Find(name, hash) == kNone)) return kNone;
  const uint32_t number = Open(name, hash);
  Series& series = at(number);
  series.ttl = ttl;
  series.since = since;
  LoadPlain(in, number, LoadMembers(in, number, /*own=*/false, keys, rest));
  const uint64_t retained = in.Number();
  if (in.Expect(retained <= series.plain.size())) {
    series.retained = static_cast<uint32_t>(retained);
    if (retained > 0) {
      in.Expect(DeadlineOf(stamps_.At(series.plain, series.retained - 1)) <= seen);
    }
  }
  std::vector<uint32_t> own = LoadMembers(in, number, /*own=*/true, keys, rest);
  LoadOwn(in, number, own);
  in.Expect(!series.plain.empty() || series.own != kNone || ttl != Duration::zero());
  if (in.ok()) Arm(number);
  return number;
}

std::vector<uint32_t> SeriesTable::LoadMembers(FieldReader& in, uint32_t series, bool own,
                                               StoredKeys& keys, LoadRest rest) {
  std::vector<uint32_t> members;
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const uint32_t number = members_.Load(in, series, at(series).hash, keys);
    if (number == kNone) break;
    const bool fits =
        (members_.ttl(number) != Duration::zero()) == own &&
        (members.empty() || by_stamp_.KeyOf(members.back()) < by_stamp_.KeyOf(number));
    if (!in.Expect(fits)) {
      members_.Remove(number);
      break;
    }
    members.push_back(number);
    rest(number);
  }
  return members;
}

void SeriesTable::LoadPlain(FieldReader& in, uint32_t number,
                            const std::vector<uint32_t>& members) {
  Series& series = at(number);
  series.plain = stamps_.Make(members, stamps_.LoadForm(members.size(), in));
  const EngineTime last = members.empty() ? kBeginningOfTime : members_.at(members.back()).stamp;
  const uint64_t later = in.Number();
  if (in.Expect(later <= static_cast<uint64_t>((kEndOfTime - last).count()))) {
    series.latest = last + Duration{static_cast<int64_t>(later)};
  }
}

void SeriesTable::LoadOrder(FieldReader& in, uint32_t number, std::vector<uint32_t>& members) {
  const auto key_of = [this](uint32_t member) { return by_stamp_.KeyOf(member); };
  std::ranges::sort(members, {}, key_of);
  in.Expect(std::ranges::adjacent_find(members, {}, key_of) == members.end());
  LoadPlain(in, number, members);
  if (in.ok()) Arm(number);
}

// Sorts the members by their deadlines.
void SeriesTable::LoadOwn(FieldReader& in, uint32_t number, std::vector<uint32_t>& members) {
  if (members.empty()) return;
  Series& series = at(number);
  series.own = own_.Allocate();
  ++own_orders_;
  auto* const own = ::new (own_.hot(series.own)) OwnOrder{};
  const bool larger = stamps_.LoadForm(members.size(), in);
  own->by_stamp = stamps_.Make(members, larger);
  const auto key_of = [this](uint32_t member) { return by_deadline_.KeyOf(member); };
  std::ranges::sort(members, {}, key_of);
  in.Expect(std::ranges::adjacent_find(members, {}, key_of) == members.end());
  if (deadlines_ == nullptr) deadlines_ = std::make_unique<Deadlined>(pool_, by_deadline_);
  own->by_deadline = deadlines_->Make(members, larger);
}

}  // namespace pleat::inline v0_1
