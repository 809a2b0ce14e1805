// Which types can be a field. An implementation detail of stored.h.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1::detail {

template <class>
inline constexpr bool kIsDuration = false;
template <class Rep, class Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;
template <class>
inline constexpr bool kIsTimePoint = false;
template <class Clock, class Length>
inline constexpr bool kIsTimePoint<std::chrono::time_point<Clock, Length>> = true;
template <class>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;
template <class>
inline constexpr bool kIsArray = false;
template <class T, size_t n>
inline constexpr bool kIsArray<std::array<T, n>> = true;

// With Stored().
struct AnyFields {
  template <class... Fields>
  void operator()(Fields&...) {}
  uint32_t version() const noexcept;
};
template <class T>
concept HasFields = requires(T& value, AnyFields& fields) { value.Stored(fields); };

// std::map, std::set and the like, whose order is that of their keys.
template <class T>
concept OrderedContainer = requires(T& container) {
  typename T::key_compare;
  typename T::value_type;
  container.clear();
};
template <class T>
concept OrderedMap = OrderedContainer<T> && requires { typename T::mapped_type; };

// std::vector, std::deque, absl::InlinedVector and the like.
template <class T>
concept Sequence = requires(T& sequence, typename T::value_type value) {
  sequence.clear();
  sequence.push_back(std::move(value));
  { sequence.size() } -> std::convertible_to<size_t>;
};

// An element that takes no bytes cannot be counted: a reader takes no more elements than there are
// bytes, so that wrong bytes make it allocate little.
template <class T>
inline constexpr bool kTakesBytes = !std::is_empty_v<T>;
template <class T>
inline constexpr bool kTakesBytes<std::array<T, 0>> = false;

// The error of a type that cannot be a field names `T`.
template <class T>
struct CannotBeStored {
  static_assert(!std::is_same_v<T, T>,
                "a field of this type cannot be stored: give it Stored(), or see stored.h for the "
                "types that can be");
};

// Whether a type can be a field: whether it is one of those that WriteField() knows, and so are its
// elements. The fields inside of Stored() are not looked at.
template <class T>
consteval bool CanBeStored() {
  if constexpr (std::integral<T>) {
    return sizeof(T) <= sizeof(uint64_t);
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float> ||
                       std::is_same_v<T, LeaseTime> || std::is_same_v<T, std::string>) {
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return CanBeStored<std::underlying_type_t<T>>();
  } else if constexpr (kIsDuration<T>) {
    return CanBeStored<typename T::rep>();
  } else if constexpr (kIsTimePoint<T>) {
    return CanBeStored<typename T::duration>();
  } else if constexpr (kIsPair<T>) {
    return CanBeStored<std::remove_const_t<typename T::first_type>>() &&
           CanBeStored<typename T::second_type>();
  } else if constexpr (HasFields<T>) {
    return std::default_initializable<T>;
  } else if constexpr (OrderedMap<T>) {
    return kTakesBytes<typename T::value_type> && CanBeStored<typename T::key_type>() &&
           CanBeStored<typename T::mapped_type>();
  } else if constexpr (kIsOptional<T> || kIsArray<T>) {
    return CanBeStored<typename T::value_type>();
  } else if constexpr (OrderedContainer<T> || Sequence<T>) {
    return kTakesBytes<typename T::value_type> && CanBeStored<typename T::value_type>();
  } else {
    return false;
  }
}
template <class T>
concept IsStored = CanBeStored<T>();

template <class T>
consteval uint32_t VersionOf() {
  if constexpr (requires { T::kStoredVersion; }) {
    return T::kStoredVersion;
  } else {
    return 1;
  }
}

}  // namespace pleat::inline v0_1::detail
