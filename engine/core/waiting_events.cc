#include "engine/core/waiting_events.h"

#include <string>

#include "engine/base/check.h"
#include "engine/base/read_fields.h"
#include "engine/core/description.h"

namespace pleat::inline v0_1 {

// A place in a chunk has 32 bits.
constexpr size_t kEventBytesMax = size_t{1} << 31;

void WaitingEvents::Write(std::string_view key, const void* event) {
  bytes_.Clear();
  bytes_.PutBytes(key);
  ops_.save(ops_.context, event, bytes_);
  PLEAT_CHECK(bytes_.size() <= kEventBytesMax);
}

void WaitingEvents::Put(std::string_view key, const void* event, EngineTime at) {
  Write(key, event);
  stage_.Put({.at = at,
              .position = stage_.CountArrived(1),
              .size = static_cast<uint32_t>(bytes_.size()),
              .words = 0,
              .is_control = false},
             nullptr, bytes_.bytes());
}

void WaitingEvents::Read(const WaitingEvent& event, void* keyed) {
  PLEAT_CHECK(ReadFields(event.text(), event.at, ops_.stored_version, keyed));
}

bool WaitingEvents::ReadFields(std::string_view fields, EngineTime at, uint32_t version,
                               void* keyed) {
  FieldReader in(fields);
  in.set_version(version);
  auto* const bytes = static_cast<std::byte*>(keyed);
  ::new (bytes + layout_.key_offset) KeyView(in.Bytes());
  ::new (bytes + layout_.at_offset) EngineTime(at);
  ops_.load(ops_.context, EventIn(keyed), in);
  return in.done();
}

Companion::NamedTexts WaitingEvents::Options() const {
  return Description().Add("intake.reorder", reorder_).options;
}

// In the order of their turns, so that the bytes tell nothing of where each event waits.
void WaitingEvents::Save(FieldWriter& out) const {
  stage_.SaveTimes(out);
  out.PutNumber(ops_.stored_version);
  out.PutBytes(ops_.shape(ops_.context, ops_.stored_version));
  out.PutNumber(stage_.waiting());
  for (const WaitingEntry& each : stage_.InTurn()) {
    out(each.at, each.position);
    out.PutBytes(each.event->text());
  }
}

// Events of an older version are written anew, in this one's fields.
void WaitingEvents::Load(FieldReader& in) {
  stage_.Clear();
  stage_.LoadTimes(in);
  const uint64_t version = in.Number();
  const std::string shape(in.Bytes());
  uint64_t left = in.Number();
  const bool readable = version >= 1 && version <= ops_.stored_version &&
                        ops_.shape(ops_.context, static_cast<uint32_t>(version)) == shape;
  in.Expect(left == 0 || readable);
  void* const slot = NewSlots(1);
  WaitingEntry last{.at = kBeginningOfTime, .position = 0, .event = nullptr};
  std::string fields;
  for (bool first = true; left > 0 && in.ok(); --left, first = false) {
    const EngineTime at = ReadTime(in);
    const WaitingEntry entry{.at = at, .position = in.Number(), .event = nullptr};
    in(fields);
    const bool in_turn = first || last < entry;
    if (!in.Expect(in_turn && at <= stage_.newest() && entry.position < stage_.arrived())) break;
    last = entry;
    in.Expect(ReadFields(fields, at, static_cast<uint32_t>(version), slot));
    AnyBatch one = layout_;
    one.first = slot;
    Write(one.KeyOf(0), one.EventOf(0));
    Destroy(slot);
    if (!in.ok()) break;
    stage_.PutBack({.at = at,
                    .position = entry.position,
                    .size = static_cast<uint32_t>(bytes_.size()),
                    .words = 0,
                    .is_control = false},
                   nullptr, bytes_.bytes());
  }
  FreeSlots(slot);
}

}  // namespace pleat::inline v0_1
