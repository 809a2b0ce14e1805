// WaitingEvents are the events of an intake that wait for their turn: a reorder stage, which keeps each
// as the bytes of its key and its fields. The engine knows them, as a part of its snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_intake.h>
#include <pleat/untyped/state_ops.h>

#include "engine/core/description.h"
#include "engine/table/reorder_stage.h"

namespace pleat::inline v0_1 {

class WaitingEvents {
 public:
  WaitingEvents(const IntakeOptions& options, Duration future_limit, const AnyBatch& layout,
                const StateOps& ops, std::shared_ptr<void> context_owner)
      : reorder_(options.reorder),
        layout_(layout),
        ops_(ops),
        context_owner_(std::move(context_owner)),
        stage_(options.reorder, future_limit, options.max_waiting_bytes) {}

  ReorderStage& stage() noexcept { return stage_; }
  const AnyBatch& layout() const noexcept { return layout_; }

  // Raw memory for so many keyed events, one behind the other.
  void* NewSlots(size_t count) {
    return ::operator new(count * layout_.stride, std::align_val_t(ops_.align));
  }
  void FreeSlots(void* slots) const noexcept {
    ::operator delete(slots, std::align_val_t(ops_.align));
  }

  // Puts an event into the stage, which has a place for it.
  void Put(std::string_view key, const void* event, EngineTime at, bool is_control);
  // Makes the keyed event in raw memory. Its key is the stage's.
  void Read(const WaitingEvent& event, void* keyed);
  void Destroy(void* keyed) noexcept { ops_.destroy(ops_.context, EventIn(keyed)); }

  // --- Snapshots. All but Load() REQUIRE: nobody puts or takes events meanwhile.

  // A snapshot's events can be loaded if it has said the same, and as many fields as `version` has.
  Description Describe() const;
  std::string ShapeOf(uint32_t version) const { return ops_.shape(ops_.context, version); }
  // The times; the events are those of a copy of the stage.
  void SaveTimes(FieldWriter& out) const { stage_.SaveTimes(out); }
  void LoadTimes(FieldReader& in) {
    stage_.Clear();
    stage_.LoadTimes(in);
  }
  // Events of an older version are written anew, in this one's fields.
  void LoadEvents(FieldReader& in, uint32_t version);

 private:
  // Makes a keyed event of the fields that `version` has. Returns whether they could be read.
  bool ReadFields(std::string_view fields, EngineTime at, uint32_t version, void* keyed);
  void Write(std::string_view key, const void* event);  // into bytes_
  void* EventIn(void* keyed) noexcept {
    return static_cast<std::byte*>(keyed) + layout_.event_offset;
  }

  const Duration reorder_;
  const AnyBatch layout_;
  const StateOps ops_;
  const std::shared_ptr<void> context_owner_;
  ReorderStage stage_;
  FieldWriter bytes_;  // of the event that is put
};

}  // namespace pleat::inline v0_1
