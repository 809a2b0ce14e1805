// How each type of field is written and read. An implementation detail of stored.h.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <pleat/detail/export.h>
#include <pleat/detail/field_types.h>
#include <pleat/time.h>

namespace pleat::inline v0_1::detail {

constexpr uint64_t ZigZag(int64_t number) noexcept {
  return static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
}
constexpr int64_t UnZigZag(uint64_t number) noexcept {
  return static_cast<int64_t>(number >> 1 ^ (0 - (number & 1)));
}

template <class T, class Writer>
void WriteField(Writer& out, const T& field) {
  if constexpr (std::is_same_v<T, bool>) {
    out.PutByte(field);
  } else if constexpr (std::signed_integral<T>) {
    out.PutNumber(ZigZag(field));
  } else if constexpr (std::unsigned_integral<T>) {
    out.PutNumber(field);
  } else if constexpr (std::is_enum_v<T>) {
    WriteField(out, static_cast<std::underlying_type_t<T>>(field));
  } else if constexpr (std::is_same_v<T, double>) {
    out.PutWord(std::bit_cast<uint64_t>(field));
  } else if constexpr (std::is_same_v<T, float>) {
    out.PutNumber(std::bit_cast<uint32_t>(field));
  } else if constexpr (kIsDuration<T>) {
    WriteField(out, field.count());
  } else if constexpr (kIsTimePoint<T>) {
    WriteField(out, field.time_since_epoch());
  } else if constexpr (std::is_same_v<T, LeaseTime>) {
    WriteField(out, static_cast<EngineTime>(field));
  } else if constexpr (std::is_same_v<T, std::string>) {
    out.PutBytes(field);
  } else if constexpr (kIsOptional<T>) {
    out.PutByte(field.has_value());
    if (field) WriteField(out, *field);
  } else if constexpr (kIsPair<T>) {
    WriteField(out, field.first);
    WriteField(out, field.second);
  } else if constexpr (kIsArray<T>) {
    for (const auto& element : field) WriteField(out, element);
  } else if constexpr (HasFields<T>) {
    const_cast<T&>(field).Stored(out);
  } else if constexpr (OrderedContainer<T> || Sequence<T>) {
    using Element = typename T::value_type;
    if constexpr (!kTakesBytes<Element>) CannotBeStored<Element>();
    out.PutNumber(field.size());
    for (const auto& element : field) {
      WriteField<std::remove_const_t<typename T::value_type>>(out, element);
    }
  } else {
    CannotBeStored<T>();
  }
}

template <class T, class Reader>
void ReadField(Reader& in, T& field);

template <class Key, class Reader>
Key ReadKey(Reader& in) {
  Key key{};
  ReadField(in, key);
  return key;
}

// Keys come in their order, without repeats unless the container may have some: the bytes of one
// container are always the same.
template <class T, class Reader>
void ReadOrdered(Reader& in, T& container) {
  container.clear();
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const size_t before = container.size();
    const auto last = container.empty() ? container.end() : std::prev(container.end());
    auto key = ReadKey<typename T::key_type>(in);
    if (!in.ok()) return;
    if (last != container.end()) {
      if constexpr (OrderedMap<T>) {
        if (!in.Expect(!container.key_comp()(key, last->first))) return;
      } else {
        if (!in.Expect(!container.key_comp()(key, *last))) return;
      }
    }
    if constexpr (OrderedMap<T>) {
      auto value = ReadKey<typename T::mapped_type>(in);
      if (!in.ok()) return;
      container.emplace_hint(container.end(), std::move(key), std::move(value));
    } else {
      container.emplace_hint(container.end(), std::move(key));
    }
    if (!in.Expect(container.size() == before + 1)) return;
  }
}

template <class T, class Reader>
void ReadField(Reader& in, T& field) {
  if constexpr (std::is_same_v<T, bool>) {
    const uint8_t byte = in.Byte();
    field = in.Expect(byte <= 1) && byte == 1;
  } else if constexpr (std::signed_integral<T>) {
    const int64_t number = UnZigZag(in.Number());
    using Limits = std::numeric_limits<T>;
    field = in.Expect(number >= Limits::min() && number <= Limits::max()) ? static_cast<T>(number)
                                                                          : T{0};
  } else if constexpr (std::unsigned_integral<T>) {
    const uint64_t number = in.Number();
    field = in.Expect(number <= std::numeric_limits<T>::max()) ? static_cast<T>(number) : T{0};
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    ReadField(in, number);
    field = static_cast<T>(number);
  } else if constexpr (std::is_same_v<T, double>) {
    field = std::bit_cast<double>(in.Word());
  } else if constexpr (std::is_same_v<T, float>) {
    uint32_t bits = 0;
    ReadField(in, bits);
    field = std::bit_cast<float>(bits);
  } else if constexpr (kIsDuration<T>) {
    typename T::rep count{};
    ReadField(in, count);
    field = T{count};
  } else if constexpr (kIsTimePoint<T>) {
    typename T::duration since{};
    ReadField(in, since);
    field = T{since};
  } else if constexpr (std::is_same_v<T, LeaseTime>) {
    EngineTime reading{};
    ReadField(in, reading);
    field = LeaseTime(reading);
  } else if constexpr (std::is_same_v<T, std::string>) {
    field = std::string(in.Bytes());
  } else if constexpr (kIsOptional<T>) {
    bool there = false;
    ReadField(in, there);
    field.reset();
    if (there) ReadField(in, field.emplace());
  } else if constexpr (kIsPair<T>) {
    ReadField(in, field.first);
    ReadField(in, field.second);
  } else if constexpr (kIsArray<T>) {
    for (auto& element : field) ReadField(in, element);
  } else if constexpr (HasFields<T>) {
    field.Stored(in);
  } else if constexpr (OrderedContainer<T>) {
    ReadOrdered(in, field);
  } else if constexpr (Sequence<T>) {
    field.clear();
    for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
      field.push_back(ReadKey<typename T::value_type>(in));
    }
  } else {
    CannotBeStored<T>();
  }
}

}  // namespace pleat::inline v0_1::detail
