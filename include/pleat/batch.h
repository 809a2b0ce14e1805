// Batches of events, for Folder::FoldBatch().
//
//   std::vector<pleat::KeyedEvent<Hit>> batch;
//   for (const Line& line : lines) batch.push_back({line.page, line.at, {line.bytes}});
//   folder.FoldBatch(batch);
//
// On event time an engine has one watermark, which a batch moves to its newest stamp. So a second
// collection that is fed the same batch afterwards, or a second worker who is further behind in the
// log, finds the watermark ahead of its events, and with an allowed lateness they are late. Give
// the engine a watermark delay, or the collections an allowed lateness, of more than a batch spans
// and workers are apart; or each of them an engine of its own.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The key of an event in a batch: a view of bytes that the caller keeps until the batch is folded.
// A temporary that owns its bytes, such as a std::string, does not convert to a KeyView: its bytes
// would be gone too early.
class KeyView : public std::string_view {
 public:
  KeyView() = default;

  template <class Key>
    requires std::convertible_to<const Key&, std::string_view>
  constexpr KeyView(const Key& key) : std::string_view(key) {}  // NOLINT(*-explicit-constructor)

  template <class Key>
    requires(std::convertible_to<const Key&, std::string_view> &&
             !std::is_trivially_destructible_v<Key>)
  KeyView(const Key&& temporary) = delete;

  constexpr KeyView(const char* data, size_t size) noexcept : std::string_view(data, size) {}
};

// An event with the key that it belongs to, and its stamp.
// Ownership: borrows the bytes of `key`, and what `event` refers to, until the call that folds it
// returns.
template <class Event>
struct KeyedEvent {
  KeyView key;
  EngineTime at;
  Event event;
};

// A span of KeyedEvent<Event> without the type, for AnyFolder::FoldBatch(): the events are `stride`
// bytes apart, and the offsets say where in each the parts lie.
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
