// PayloadOps for a type of payload, and typed copies of what a collection shows. For live_set.h and
// presence.h; nothing here is called by users.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/detail/stored_ops.h>
#include <pleat/stored.h>
#include <pleat/untyped/any_live_set.h>

namespace pleat::inline v0_1 {
template <class Payload>
PayloadOps PayloadOpsFor() noexcept {
  using Event = LiveSetEvent<Payload>;
  static_assert(std::is_standard_layout_v<Event>, "the payload has to be of standard layout");
  static_assert(alignof(Payload) <= 8, "the payload may be aligned to at most 8 bytes");
  static_assert(offsetof(Event, id) == offsetof(AnyMember, id) &&
                offsetof(Event, ttl) == offsetof(AnyMember, ttl) &&
                offsetof(Event, version) == offsetof(AnyMember, version));
  PayloadOps ops;
  ops.offset = offsetof(Event, payload);
  if constexpr (std::is_empty_v<Payload>) return ops;
  ops.size = sizeof(Payload);
  ops.align = alignof(Payload);
  ops.copy = [](void*, void* to, const void* from) {
    ::new (to) Payload(*static_cast<const Payload*>(from));
  };
  ops.destroy = [](void*, void* payload) { static_cast<Payload*>(payload)->~Payload(); };
  ops.equal = [](void*, const void* a, const void* b) -> bool {
    return *static_cast<const Payload*>(a) == *static_cast<const Payload*>(b);
  };
  if constexpr (requires(const Payload& p) {
                  { p.HeapBytes() } -> std::same_as<size_t>;
                }) {
    ops.heap_bytes = [](void*, const void* p) {
      return static_cast<const Payload*>(p)->HeapBytes();
    };
  }
  if constexpr (detail::IsStored<Payload>) detail::AddStored<Payload>(ops);
  return ops;
}

// A copy; an empty one of null.
template <class Payload>
Payload PayloadOf(const void* payload) {
  if constexpr (!std::is_empty_v<Payload>) {
    if (payload != nullptr) return *static_cast<const Payload*>(payload);
  }
  return {};
}

// They append to `out`.
template <class Payload>
auto ChangesInto(std::vector<Change<Payload>>& out) {
  return [&out](const AnyChange& change) {
    out.push_back({change, std::string(change.series), std::string(change.id),
                   PayloadOf<Payload>(change.payload)});
  };
}
inline auto CountsInto(std::vector<SeriesCount>& out) {
  return [&out](std::string_view series, size_t count) {
    out.push_back({std::string(series), count});
  };
}

}  // namespace pleat::inline v0_1
