#include "engine/core/waiting_events.h"

#include <string>

#include "engine/base/check.h"
#include "engine/base/read_fields.h"

namespace pleat::inline v0_1 {

// A place in a chunk has 32 bits.
constexpr size_t kEventBytesMax = size_t{1} << 31;

void WaitingEvents::Write(std::string_view key, const void* event) {
  bytes_.Clear();
  bytes_.PutBytes(key);
  ops_.save(ops_.context, event, bytes_);
}

void WaitingEvents::Put(std::string_view key, const void* event, EngineTime at, bool is_control) {
  Write(key, event);
  PLEAT_CHECK(bytes_.size() <= kEventBytesMax);
  stage_.Put({.at = at,
              .position = stage_.CountArrived(1),
              .size = static_cast<uint32_t>(bytes_.size()),
              .words = 0,
              .is_control = is_control},
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

Description WaitingEvents::Describe() const {
  Description all{.kind = "intake", .options = {}, .shape = ShapeOf(ops_.stored_version)};
  all.version = ops_.stored_version;
  return all.Add("reorder", reorder_);
}

void WaitingEvents::LoadEvents(FieldReader& in, uint32_t version) {
  void* const slot = NewSlots(1);
  stage_.LoadEvents(in, std::nullopt, [&](const LoadedEvent& loaded, std::string_view fields) {
    const bool readable = ReadFields(fields, loaded.at, version, slot);
    AnyBatch one = layout_;
    one.first = slot;
    bool is_control = loaded.is_control;
    if (readable) {
      Write(one.KeyOf(0), one.EventOf(0));
      is_control |= ops_.condition != nullptr && ops_.condition(ops_.context, one.EventOf(0));
    }
    Destroy(slot);
    if (!readable || bytes_.size() > kEventBytesMax) return false;
    stage_.PutBack({.at = loaded.at,
                    .position = loaded.position,
                    .size = static_cast<uint32_t>(bytes_.size()),
                    .words = 0,
                    .is_control = is_control},
                   nullptr, bytes_.bytes());
    return true;
  });
  FreeSlots(slot);
}

}  // namespace pleat::inline v0_1
