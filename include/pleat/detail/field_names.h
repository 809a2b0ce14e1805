// How each type of field is named. An implementation detail of stored.h.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pleat/detail/export.h>
#include <pleat/detail/field_types.h>
#include <pleat/time.h>

namespace pleat::inline v0_1::detail {

template <class T>
constexpr std::string_view NumberName() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return is_signed ? "int8" : "uint8";
    case 2: return is_signed ? "int16" : "uint16";
    case 4: return is_signed ? "int32" : "uint32";
    default: return is_signed ? "int64" : "uint64";
  }
}

template <class T, class Shape>
void NameField(Shape& shape) {
  if constexpr (std::is_same_v<T, bool>) {
    shape.Add("bool");
  } else if constexpr (std::integral<T>) {
    shape.Add(NumberName<T>());
  } else if constexpr (std::is_enum_v<T>) {
    NameField<std::underlying_type_t<T>>(shape);
  } else if constexpr (std::is_same_v<T, double>) {
    shape.Add("double");
  } else if constexpr (std::is_same_v<T, float>) {
    shape.Add("float");
  } else if constexpr (kIsDuration<T>) {
    NameField<typename T::rep>(shape);
    shape.Append("/" + std::to_string(T::period::num) + ":" + std::to_string(T::period::den));
  } else if constexpr (kIsTimePoint<T>) {
    NameField<typename T::duration>(shape);
    shape.Append("@");
  } else if constexpr (std::is_same_v<T, LeaseTime>) {
    NameField<EngineTime>(shape);
  } else if constexpr (std::is_same_v<T, std::string>) {
    shape.Add("text");
  } else if constexpr (kIsOptional<T>) {
    NameField<typename T::value_type>(shape);
    shape.Append("?");
  } else if constexpr (kIsPair<T>) {
    shape.Add("(");
    NameField<std::remove_const_t<typename T::first_type>>(shape);
    NameField<typename T::second_type>(shape);
    shape.Append(")");
  } else if constexpr (kIsArray<T>) {
    NameField<typename T::value_type>(shape);
    shape.Append("[" + std::to_string(std::tuple_size_v<T>) + "]");
  } else if constexpr (HasFields<T>) {
    static_assert(std::default_initializable<T>, "a stored type must be default constructible");
    shape.Add("(");
    T sample{};
    sample.Stored(shape);
    shape.Append(")");
  } else if constexpr (OrderedMap<T>) {
    NameField<std::pair<typename T::key_type, typename T::mapped_type>>(shape);
    shape.Append("{}");
  } else if constexpr (OrderedContainer<T>) {
    NameField<typename T::key_type>(shape);
    shape.Append("{}");
  } else if constexpr (Sequence<T>) {
    NameField<typename T::value_type>(shape);
    shape.Append("[]");
  } else {
    CannotBeStored<T>();
  }
}

}  // namespace pleat::inline v0_1::detail
