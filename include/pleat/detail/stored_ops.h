// How operations on a type without its name store it: a state, a payload, or an event that waits.
// An implementation detail of typed_state_ops.h and its like.
#pragma once

#include <cstdint>
#include <new>

#include <pleat/detail/field_names.h>
#include <pleat/detail/field_types.h>
#include <pleat/stored.h>

namespace pleat::inline v0_1::detail {

// Sets save, load, shape and stored_version of `ops`.
template <class T, class Ops>
constexpr void AddStored(Ops& ops) noexcept {
  ops.stored_version = VersionOf<T>();
  ops.save = [](void*, const void* value, FieldWriter& out) {
    out.set_version(VersionOf<T>());
    out(*static_cast<const T*>(value));
  };
  ops.load = [](void*, void* value, FieldReader& in) { in(*::new (value) T()); };
  ops.shape = [](void*, uint32_t version) {
    FieldShape shape;
    shape.set_version(version);
    if constexpr (Storable<T>) {
      T sample{};
      sample.Stored(shape);
    } else {
      NameField<T>(shape);
    }
    return shape.text();
  };
}

}  // namespace pleat::inline v0_1::detail
