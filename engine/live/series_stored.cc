// A series as bytes: name, TTL, when it became non-empty; how many plain members there are, and what
// else follows from the past of their order; how many of these are retained; the same of members with
// TTLs of their own. Deadlines and places are made again.
#include <algorithm>
#include <new>
#include <vector>

#include <pleat/options.h>

#include "engine/live/series_loader.h"
#include "engine/live/series_table.h"

namespace pleat::inline v0_1 {

// From now on no refresh is plain: each has to keep images.
void SeriesTable::BeginSave(const StoredKeys& keys) {
  images_ = std::make_unique<TableSaving>(table_.end(), keys);
  plain_before_ = kBeginningOfTime;
}

void SeriesTable::EndSave() noexcept {
  ChangeByRule::EndSave();
  plain_before_ = nothing_before_;
}

bool SeriesTable::SaveNext(FieldWriter& out) {
  if (images_->at_end()) return false;
  images_->SaveStrip(
      out, /*owners=*/nullptr,
      [this](uint32_t number) { return table_.Holds(number) ? 0 : TableSaving::kNoEntry; },
      [&](uint32_t number) { Save(number, images_->keys(), out); });
  return true;
}

void SeriesTable::KeepImageNow(uint32_t number) {
  if (images_->Has(number)) return;
  images_->Keep(number, /*owner=*/0, [&](FieldWriter& out) { Save(number, images_->keys(), out); });
}

// The latest stamp that there was decides how a refresh goes on.
void SeriesTable::Save(uint32_t number, const StoredKeys& keys, FieldWriter& out) const {
  const Series& series = at(number);
  out.PutBytes(series.name.view());
  out(series.ttl);
  out.PutNumber(series.since);
  out.PutNumber(series.plain.size());
  stamps_.SaveForm(series.plain, out);
  keys.SaveTime(series.latest, out);
  out.PutNumber(series.retained);
  if (series.own == kNone) return out.PutNumber(0);
  const Sequence& own = OwnOf(series).by_stamp;
  out.PutNumber(own.size());
  stamps_.SaveForm(own, out);  // that of the other order, too
}

// --- Loaded

uint32_t SeriesLoader::LoadSize(FieldReader& in) {
  const uint64_t size = in.Number();
  return in.Expect(size < SeriesTable::kNone) ? static_cast<uint32_t>(size) : 0;
}

void SeriesLoader::LoadSeries(FieldReader& in, const HashKey& hash_key, const StoredKeys& keys) {
  using Pool = decltype(table_.stamps_);
  const std::string_view text = in.Bytes();
  Duration ttl{0};
  in(ttl);
  in.Expect(text.size() <= kKeyBytesMax && ttl >= Duration::zero() && ttl != table_.ttl_);
  const uint64_t since = in.Number();
  Loaded loaded;
  loaded.plain = LoadSize(in);
  loaded.plain_is_larger = Pool::LoadForm(loaded.plain, in);
  const EngineTime latest = keys.LoadTime(in);
  loaded.retained = LoadSize(in);
  loaded.own = LoadSize(in);
  if (loaded.own > 0) loaded.own_is_larger = Pool::LoadForm(loaded.own, in);
  in.Expect(loaded.retained <= loaded.plain);
  in.Expect(loaded.plain > 0 || loaded.own > 0 || ttl != Duration::zero());
  if (!in.ok()) return;
  const PackedKey name(text);
  const uint64_t hash = name.HashWith(hash_key);
  if (!in.Expect(table_.Find(name, hash) == SeriesTable::kNone)) return;
  loaded.number = table_.Open(name, hash);
  Series& series = table_.ChangeKept(loaded.number);
  series.ttl = ttl;
  series.since = since;
  series.latest = latest;
  loaded_.push_back(loaded);
  groups_.AddGroup(loaded.plain);
  groups_.AddGroup(loaded.own);
}

bool SeriesLoader::IsOfLiveSet(size_t i) const noexcept {
  return table_.at(number(i)).ttl == Duration::zero() && loaded_[i].own == 0;
}

void SeriesLoader::BeginMembers(FieldReader& in, uint64_t members) {
  in.Expect(groups_.total() == members);
}

uint32_t SeriesLoader::ReadSeries(FieldReader& in, size_t& i) const {
  const uint64_t which = in.Number();
  if (!in.Expect(which < loaded_.size())) return SeriesTable::kNone;
  i = static_cast<size_t>(which);
  return loaded_[i].number;
}

void SeriesLoader::Add(FieldReader& in, size_t i, uint32_t member) {
  const bool own = table_.members_.ttl(member) != Duration::zero();
  in.Expect(groups_.Add(GroupOf(i, own), table_.by_stamp_.KeyOf(member), member));
}

void SeriesLoader::End(FieldReader& in, EngineTime seen) {
  if (in.ok()) groups_.Gather();
  for (size_t i = 0; i < loaded_.size() && in.ok(); ++i) {
    MakePlain(in, i, seen);
    MakeOwn(in, i);
    if (in.ok()) table_.Arm(loaded_[i].number);
  }
}

void SeriesLoader::MakePlain(FieldReader& in, size_t i, EngineTime seen) {
  const Loaded& loaded = loaded_[i];
  Series& series = table_.ChangeKept(loaded.number);
  in.Expect(groups_.Sort(GroupOf(i, /*own=*/false), members_));
  if (!in.ok() || members_.empty()) return;
  in.Expect(table_.members_.at(members_.back()).stamp <= series.latest);
  series.plain = table_.stamps_.Make(members_, loaded.plain_is_larger);
  series.retained = loaded.retained;
  if (loaded.retained > 0) {
    in.Expect(table_.DeadlineOf(members_[loaded.retained - 1]) <= seen);
  }
}

// Sorts the members by their deadlines, too.
void SeriesLoader::MakeOwn(FieldReader& in, size_t i) {
  const Loaded& loaded = loaded_[i];
  in.Expect(groups_.Sort(GroupOf(i, /*own=*/true), members_));
  if (!in.ok() || members_.empty()) return;
  Series& series = table_.ChangeKept(loaded.number);
  series.own = table_.own_.Allocate();
  ++table_.own_orders_;
  auto* const own = ::new (table_.own_.hot(series.own)) OwnOrder{};
  own->by_stamp = table_.stamps_.Make(members_, loaded.own_is_larger);
  const auto key_of = [this](uint32_t member) { return table_.by_deadline_.KeyOf(member); };
  std::ranges::sort(members_, {}, key_of);
  in.Expect(std::ranges::adjacent_find(members_, {}, key_of) == members_.end());
  if (table_.deadlines_ == nullptr) {
    table_.deadlines_ = std::make_unique<SeriesTable::Deadlined>(table_.pool_, table_.by_deadline_);
  }
  own->by_deadline = table_.deadlines_->Make(members_, loaded.own_is_larger);
}

}  // namespace pleat::inline v0_1
