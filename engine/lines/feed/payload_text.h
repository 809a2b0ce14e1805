// The payload of a member: the text of a JSON value, or nothing, which is printed as null.
//
// In an event it refers to text of a line; in the engine, to bytes of its own.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include <pleat/untyped/any_live_set.h>

#include "engine/lines/scan/normal.h"

namespace pleat::inline v0_1 {

struct PayloadText {
  const char* data = nullptr;
  size_t size = 0;

  static PayloadText Of(std::string_view text) noexcept { return {text.data(), text.size()}; }
  std::string_view view() const noexcept { return {data, size}; }
};

// An event as the engine takes it.
struct MemberEvent {
  AnyMember member;
  PayloadText payload;
};

// How an engine keeps such payloads.
inline PayloadOps PayloadTextOps() noexcept {
  PayloadOps ops{.size = sizeof(PayloadText),
                 .align = alignof(PayloadText),
                 .offset = offsetof(MemberEvent, payload)};
  ops.copy = [](void*, void* to, const void* from) {
    const std::string_view text = static_cast<const PayloadText*>(from)->view();
    char* const own = text.empty() ? nullptr : new char[text.size()];
    if (!text.empty()) std::memcpy(own, text.data(), text.size());
    ::new (to) PayloadText{own, text.size()};
  };
  ops.destroy = [](void*, void* payload) { delete[] static_cast<PayloadText*>(payload)->data; };
  ops.equal = [](void*, const void* a, const void* b) {
    return AreSameValue(static_cast<const PayloadText*>(a)->view(),
                        static_cast<const PayloadText*>(b)->view());
  };
  ops.heap_bytes = [](void*, const void* payload) {
    return static_cast<const PayloadText*>(payload)->size;
  };
  ops.save = [](void*, const void* payload, FieldWriter& out) {
    out.PutBytes(static_cast<const PayloadText*>(payload)->view());
  };
  ops.load = [](void*, void* payload, FieldReader& in) {
    const PayloadText text = PayloadText::Of(in.Bytes());
    PayloadTextOps().copy(nullptr, payload, &text);
  };
  ops.shape = [](void*, uint32_t) { return std::string("text"); };
  return ops;
}

}  // namespace pleat::inline v0_1
