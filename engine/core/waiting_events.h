// WaitingEvents are the events of an intake that wait for their turn: a reorder stage, which keeps each
// as the bytes of its key and its fields. In snapshots they are the companion of the first collection
// that the intake feeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_intake.h>
#include <pleat/untyped/companion.h>
#include <pleat/untyped/state_ops.h>

#include "engine/table/reorder_stage.h"

namespace pleat::inline v0_1 {

class WaitingEvents final : public Companion {
 public:
  WaitingEvents(const IntakeOptions& options, Duration future_limit, const AnyBatch& layout,
                const StateOps& ops)
      : reorder_(options.reorder),
        layout_(layout),
        ops_(ops),
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
  void Put(std::string_view key, const void* event, EngineTime at);
  // Makes the keyed event in raw memory. Its key is the stage's.
  void Read(const WaitingEvent& event, void* keyed);
  void Destroy(void* keyed) noexcept { ops_.destroy(ops_.context, EventIn(keyed)); }

  // --- Companion

  NamedTexts Options() const override;
  void Save(FieldWriter& out) const override;
  void Load(FieldReader& in) override;

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
  ReorderStage stage_;
  FieldWriter bytes_;  // of the event that is put
};

}  // namespace pleat::inline v0_1
