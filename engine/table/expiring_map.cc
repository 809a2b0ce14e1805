#include "engine/table/expiring_map.h"

#include <algorithm>
#include <new>
#include <utility>

namespace pleat::inline v0_1 {

void ExpiringMap::PutNew(const Name& name, uint64_t word, EngineTime expires) {
  const uint32_t number = table_.New();
  KeepNothing(number);
  ::new (table_.hot(number)) Entry{name, {word, expires}};
  table_.Index(name.low, number);
  table_.Arm(number);
  last_expiry_ = std::max(last_expiry_, expires + Duration{1});
}

void ExpiringMap::Erase(const Name& name) {
  const auto is_name = [&](uint32_t number) { return at(number).name == name; };
  for (uint32_t number; (number = table_.Find(name.low, is_name)) != kNone;) {
    KeepImage(number);
    table_.Unindex(number);
    table_.Free(number);
  }
}

bool ExpiringMap::Expire(EngineTime now, Budget& budget) {
  return table_.ApplyDue(now, budget, [this](const Due& due) {
    KeepImage(due.number);
    table_.Unindex(due.number);
    table_.Free(due.number);
  });
}

// --- Stored

void ExpiringMap::SaveEntry(FieldWriter& out, uint32_t number, EngineTime last_expiry) const {
  const Entry& entry = at(number);
  out.PutWord(entry.name.low);
  out.PutWord(entry.name.high);
  out.PutWord(entry.known.word);
  out.PutNumber(static_cast<uint64_t>((last_expiry - entry.known.expires).count()));
}

// How many there are, and the end of the last life so far. Then for each: name, word, and how long
// before that end its own life ends.
bool ExpiringMap::SaveNext(FieldWriter& out) {
  if (!saving()) return false;
  if (!std::exchange(images_->has_begun, true)) {
    out.PutNumber(images_->size);
    out(images_->last_expiry);
  }
  if (images_->at_end()) {
    EndSave();
    return false;
  }
  images_->SaveStrip(out, [&](uint32_t number) {
    if (table_.Holds(number)) SaveEntry(out, number, images_->last_expiry);
  });
  return true;
}

void ExpiringMap::KeepImageNow(uint32_t number) {
  if (images_->Has(number)) return;
  images_->Keep(number, [&](FieldWriter& out) { SaveEntry(out, number, images_->last_expiry); });
}

void ExpiringMap::Load(FieldReader& in) {
  const uint64_t count = in.Number();
  in(last_expiry_);
  in.Expect(kBeginningOfTime <= last_expiry_ && last_expiry_ <= kNever);
  for (uint64_t left = count; left > 0 && in.ok(); --left) {
    const Name name{.low = in.Word(), .high = in.Word()};
    const uint64_t word = in.Word();
    const uint64_t before = in.Number();
    const auto life = static_cast<uint64_t>((last_expiry_ - kBeginningOfTime).count());
    if (!in.Expect(0 < before && before <= life)) return;
    const uint32_t number = table_.New();
    ::new (table_.hot(number))
        Entry{name, {word, last_expiry_ - Duration{static_cast<int64_t>(before)}}};
    if (!in.Expect(table_.TryIndex(name.low, number))) return table_.Free(number);
    table_.Arm(number);
  }
}

}  // namespace pleat::inline v0_1
