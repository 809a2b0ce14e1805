// Groups as bytes. Numbers of entries, hashes, and references of deadlines are not written: they are
// made again. Entries come in the order of their numbers.
#include <algorithm>
#include <array>
#include <new>
#include <tuple>
#include <vector>

#include "engine/base/read_fields.h"
#include "engine/fold/group_table.h"

namespace pleat::inline v0_1 {
namespace {

// Before each entry that has a deadline, which is open, overtaken, or a cut; and behind the last one.
enum class Place : uint8_t { kEnd, kIndexed, kArmed };

// Of the tag of an entry that was filed: time ends it, and no event has.
constexpr uint8_t kByTime = 1 << 7;

// Lines of the index come from memory at once for so many groups.
constexpr size_t kStrip = 32;

}  // namespace

void GroupTable::SaveEntry(FieldWriter& out, uint32_t number) const {
  const Group& group = at(number);
  out.PutBytes(group.key.view());
  const auto decided = decided_.find(number);
  if (decided != decided_.end()) out(kDecided, decided->second);
  out(CountOf(number), group.opened, group.last - group.opened, group.opened - FirstOf(number),
      position(number));
  if (has_extra()) {
    const Extra& extra = ExtraOf(group);
    out(extra.quiet_due, extra.next_partial, extra.corrects + 1, extra.revision);
    out(static_cast<uint8_t>(extra.kind), static_cast<bool>(extra.changed),
        static_cast<uint16_t>(extra.row), extra.run);
  }
  if (has_closing_time()) out(ClosingTimeOf(group));
  ops_.save(ops_.context, state(number), out);
}

uint32_t GroupTable::LoadEntry(FieldReader& in, const HashKey& hash_key) {
  const std::string_view bytes = in.Bytes();
  in.Expect(bytes.size() <= kKeyBytesMax);
  const PackedKey key(in.ok() ? bytes : std::string_view());
  uint64_t count = 0;
  const uint32_t number = table_.New();
  Group& group =
      *::new (table_.hot(number)) Group{.hash = static_cast<uint32_t>(key.HashWith(hash_key)),
                                        .count = 0,
                                        .key = keys_.Keep(key),
                                        .last = {},
                                        .opened = {}};
  in(count);
  if (count == kDecided) {
    decided_.try_emplace(number, ReadTime(in));
    has_notes_ = true;
    in(count);
  }
  group.count = static_cast<uint32_t>(count);
  group.opened = ReadTime(in);
  Duration span{};
  Duration back{};
  uint64_t opening = 0;
  in(span, back, opening);
  const bool within = span >= Duration{0} && back >= Duration{0} &&
                      span <= kEndOfTime - group.opened && back <= group.opened - kBeginningOfTime;
  if (!in.Expect(within && count >= 1)) span = back = Duration{0};
  group.last = group.opened + span;
  Cold& cold = table_.cold(number);
  cold.set_position(opening);
  cold.back = 0;
  NoteEarlier(number, group.opened - back);
  if (count >> 32 != 0) {
    wraps_[number] = static_cast<uint32_t>(count >> 32);
    has_notes_ = true;
  }
  if (has_extra()) LoadExtra(in, group);
  if (has_closing_time()) ::new (&ClosingTimeOf(group)) EngineTime(ReadTime(in));
  bytes_ += BytesOfNew(group.key);
  ops_.load(ops_.context, StateOf(group), in);
  CountHeap(number, HeapBytesOf(number));
  return number;
}

void GroupTable::LoadExtra(FieldReader& in, Group& group) {
  Extra& extra = *::new (&ExtraOf(group)) Extra{};
  extra.quiet_due = ReadTime(in);
  extra.next_partial = ReadTime(in);
  extra.corrects = in.Number() - 1;
  in(extra.revision);
  extra.kind = ReadEnum(in, Kind::kCorrection);
  bool changed = false;
  QuietLearner::Memo memo;
  in(changed, memo.row, memo.run);
  in.Expect(memo.row < QuietLearner::kRows);
  extra.changed = changed;
  extra.set_memo(memo);
}

// --- Entries that were filed

void GroupTable::SaveFiled(FieldWriter& out) const {
  std::vector<Due> filed;
  table_.ForEachFiled([&](const Due& due) { filed.push_back(due); });
  std::sort(filed.begin(), filed.end(), [](const Due& a, const Due& b) {
    return std::tie(a.ripe, a.by_event, a.order, a.tag) <
           std::tie(b.ripe, b.by_event, b.order, b.tag);
  });
  out.PutNumber(filed.size());
  for (const Due& due : filed) {
    out(due.ripe, due.order, static_cast<uint8_t>(due.by_event ? due.tag : due.tag | kByTime));
    SaveEntry(out, due.number);
  }
}

void GroupTable::LoadFiled(FieldReader& in, const HashKey& hash_key) {
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    Due due{.ripe = ReadTime(in), .order = in.Number(), .number = 0, .by_event = true, .tag = 0};
    in(due.tag);
    due.by_event = (due.tag & kByTime) == 0;
    due.tag = static_cast<uint8_t>(due.tag & ~kByTime);
    in.Expect(due.tag >= 1 && due.tag <= kReasons);
    due.number = LoadEntry(in, hash_key);
    if (in.ok()) File(due);
  }
}

// --- Entries that have a deadline

void GroupTable::SaveArmed(FieldWriter& out, uint32_t number) const {
  out(indexed(number) ? Place::kIndexed : Place::kArmed);
  SaveEntry(out, number);
}

void GroupTable::KeepArmed(uint32_t number) {
  images_->Keep(number, [&](FieldWriter& out) { SaveArmed(out, number); });
}

bool GroupTable::SaveNext(FieldWriter& out) {
  if (images_->at_end()) {
    out(Place::kEnd);
    return false;
  }
  images_->SaveStrip(out, [&](uint32_t number) {
    if (table_.Holds(number) && table_.cold(number).armed) SaveArmed(out, number);
  });
  return true;
}

void GroupTable::LoadArmed(FieldReader& in, const HashKey& hash_key) {
  struct Loaded {
    uint32_t number;
    uint64_t hash;
    bool indexed;
  };
  std::array<Loaded, kStrip> strip;
  for (bool more = true; more && in.ok();) {
    size_t size = 0;
    for (; size < kStrip && in.ok(); ++size) {
      const Place place = ReadEnum(in, Place::kArmed);
      more = place != Place::kEnd;
      if (!more || !in.ok()) break;
      const uint32_t number = LoadEntry(in, hash_key);
      strip[size] = {number, at(number).key.HashWith(hash_key), place == Place::kIndexed};
      if (strip[size].indexed) PrefetchIndex(strip[size].hash);
    }
    if (!in.ok()) return;
    for (size_t i = 0; i < size; ++i) {
      const auto& [number, hash, is_indexed] = strip[i];
      if (!in.Expect(!decided_.contains(number))) return;
      if (is_indexed) {
        if (!in.Expect(IsGroup(number) && FindSlowly(at(number).key, hash).number == kNone)) return;
        Index(number, hash);
      }
      Arm(number);
      if (is_indexed && has_extra()) CallForPartial(number, kBeginningOfTime);
    }
  }
}

// ---

size_t GroupTable::CountOpen() const {
  size_t open = 0;
  ForEachArmed([&](uint32_t number) { open += IsGroup(number); });
  table_.ForEachFiled([&](const Due& due) { open += IsGroup(due.number); });
  return open;
}

bool GroupTable::AllMemos(absl::FunctionRef<bool(QuietLearner::Memo)> holds) const {
  if (!has_extra()) return true;
  bool all = true;
  table_.ForEach([&](uint32_t number) { all = all && holds(extra(number).memo()); });
  return all;
}

}  // namespace pleat::inline v0_1
