// A series as bytes: name, TTL, when it became non-empty; how many plain members there are, and what
// else follows from the past of their order; how many of these are retained; the same of members with
// TTLs of their own. Deadlines and places are made again.
#include <algorithm>
#include <memory>
#include <new>
#include <span>

#include <pleat/options.h>

#include "engine/live/series_loader.h"
#include "engine/live/series_table.h"

namespace pleat::inline v0_1 {

// From now on no refresh is plain: each has to keep images.
void SeriesTable::BeginSave(const StoredKeys& keys, Copies& copies) {
  images_ = std::make_unique<TableSaving>(table_.end(), keys, copies);
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

uint32_t SeriesLoader::LoadSeries(FieldReader& in, const HashKey& hash_key,
                                  const StoredKeys& keys) {
  const std::string_view text = in.Bytes();
  in.Expect(text.size() <= kKeyBytesMax);
  if (!in.ok()) return SeriesTable::kNone;
  const PackedKey name(text);
  const uint64_t hash = name.HashWith(hash_key);
  if (!in.Expect(table_.Find(name, hash) == SeriesTable::kNone)) return SeriesTable::kNone;
  const uint32_t number = table_.Open(name, hash);
  numbers_.push_back(number);
  LoadOrders(in, keys, table_.ChangeKept(number));
  return number;
}

// What a record says behind the name.
void SeriesLoader::LoadOrders(FieldReader& in, const StoredKeys& keys, Series& series) {
  using Pool = decltype(table_.stamps_);
  in(series.ttl);
  in.Expect(series.ttl >= Duration::zero());
  series.since = in.Number();
  series.plain = Pool::Await(LoadSize(in), in);
  series.latest = keys.LoadTime(in);
  series.retained = LoadSize(in);
  const uint32_t own = LoadSize(in);
  if (own > 0) {
    series.own = table_.own_.Allocate();
    ++table_.own_orders_;
    ::new (table_.own_.hot(series.own)) OwnOrder{};
    table_.OwnOf(series).by_stamp = Pool::Await(own, in);
  }
  in.Expect(series.retained <= series.plain.size());
  in.Expect(!series.plain.empty() || own > 0 || series.ttl != Duration::zero());
  awaited_ += uint64_t{series.plain.size()} + own;
}

bool SeriesLoader::IsOfLiveSet(uint32_t series) const noexcept {
  return table_.at(series).ttl == Duration::zero() && table_.at(series).own == SeriesTable::kNone;
}

void SeriesLoader::BeginMembers(FieldReader& in, uint64_t members) {
  in.Expect(awaited_ == members);
}

uint32_t SeriesLoader::ReadSeries(FieldReader& in) const {
  const uint64_t which = in.Number();
  if (!in.Expect(which < numbers_.size())) return SeriesTable::kNone;
  return numbers_[static_cast<size_t>(which)];
}

void SeriesLoader::Add(FieldReader& in, uint32_t number, uint32_t member) {
  Series& series = table_.ChangeKept(number);
  const bool own = table_.members_.ttl(member) != Duration::zero();
  if (!in.Expect(!own || series.own != SeriesTable::kNone)) return;
  in.Expect(table_.stamps_.Add(own ? table_.OwnOf(series).by_stamp : series.plain, member));
}

void SeriesLoader::End(FieldReader& in, EngineTime seen) {
  if (!in.ok()) return;
  const auto plain_of = [&](size_t i) -> const Sequence& { return table_.at(numbers_[i]).plain; };
  const auto order = [&](size_t i, std::span<uint32_t> members) {
    Series& series = table_.ChangeKept(numbers_[i]);
    OrderPlain(in, series, members, seen);
    OrderOwn(in, series);
    if (in.ok()) table_.Arm(numbers_[i]);
    return in.ok();
  };
  table_.stamps_.Collect(numbers_.size(), plain_of, members_, order);
}

void SeriesLoader::OrderPlain(FieldReader& in, Series& series, std::span<uint32_t> members,
                              EngineTime seen) {
  if (!in.Expect(table_.stamps_.Order(series.plain, sort_, members)) || members.empty()) return;
  in.Expect(table_.members_.at(members.back()).stamp <= series.latest);
  if (series.retained > 0) {
    in.Expect(table_.DeadlineOf(members[series.retained - 1]) <= seen);
  }
}

// By their deadlines, too.
void SeriesLoader::OrderOwn(FieldReader& in, Series& series) {
  if (!in.ok() || series.own == SeriesTable::kNone) return;
  OwnOrder& own = table_.OwnOf(series);
  if (table_.deadlines_ == nullptr) {
    table_.deadlines_ = std::make_unique<SeriesTable::Deadlined>(table_.pool_, table_.by_deadline_);
  }
  const auto by_stamp = [&](size_t) -> const Sequence& { return own.by_stamp; };
  table_.stamps_.Collect(1, by_stamp, own_, [&](size_t, std::span<uint32_t> members) {
    if (!in.Expect(table_.stamps_.Order(own.by_stamp, sort_, members))) return false;
    if (!in.Expect(sort_.Sort(table_.by_deadline_, members))) return false;
    own.by_deadline = table_.deadlines_->Make(members, own.by_stamp);
    return true;
  });
}

}  // namespace pleat::inline v0_1
