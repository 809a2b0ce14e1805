// AnyBatch is a batch of events without their type, for AnyFolder::FoldBatch() and its like.
//
//   std::vector<pleat::KeyedEvent<Hit>> batch;
//   any_folder.FoldBatch(pleat::AnyBatch::Of(std::span<const pleat::KeyedEvent<Hit>>(batch)), {});
//
// Adapters whose events are laid out at run time fill in the members.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The events are `stride` bytes apart, and the offsets say where in each the parts lie.
struct AnyBatch {
  const void* first = nullptr;
  size_t size = 0;
  size_t stride = 0;
  size_t key_offset = 0;
  size_t at_offset = 0;
  size_t event_offset = 0;

  template <class Event>
  static AnyBatch Of(std::span<const KeyedEvent<Event>> events) noexcept {
    using Keyed = KeyedEvent<Event>;
    static_assert(std::is_standard_layout_v<Keyed>,
                  "the Event of a batch has to be of standard layout; Fold() takes any");
    return {.first = events.data(),
            .size = events.size(),
            .stride = sizeof(Keyed),
            .key_offset = offsetof(Keyed, key),
            .at_offset = offsetof(Keyed, at),
            .event_offset = offsetof(Keyed, event)};
  }

  // The parts of event `i` < size.
  const KeyView& KeyOf(size_t i) const noexcept {
    return *static_cast<const KeyView*>(PartOf(i, key_offset));
  }
  EngineTime AtOf(size_t i) const noexcept {
    return *static_cast<const EngineTime*>(PartOf(i, at_offset));
  }
  const void* EventOf(size_t i) const noexcept { return PartOf(i, event_offset); }

  // Drops the first `n` <= size events.
  void RemovePrefix(size_t n) noexcept {
    first = PartOf(n, 0);
    size -= n;
  }

 private:
  const void* PartOf(size_t i, size_t offset) const noexcept {
    return static_cast<const std::byte*>(first) + i * stride + offset;
  }
};

}  // namespace pleat::inline v0_1
