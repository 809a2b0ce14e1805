// Stored: how a type of yours says which of its fields are stored, so that a restart brings them
// back. One function serves both directions, and names every field once:
//
//   struct Edits {
//     int64_t added = 0;
//     std::vector<std::string> pages;
//
//     void Fold(const Edit& edit) noexcept;
//     template <class F>
//     void Stored(F& f) { f(added, pages); }
//   };
//
// A folder whose State has Stored() can be part of a snapshot (state_directory.h).
//
// Types that can be a field: integers, bool, floats, enums, durations, EngineTime and LeaseTime,
// std::string, std::optional, std::pair, std::array; vectors and other sequences; std::map,
// std::set and other ordered containers; and types with a Stored() of their own. Any other type
// does not compile, and the error names it. Why not whatever can be copied as bytes: pointers and
// views can, and mean nothing in another process.
//
// Changing the fields: raise the version, and say since when a field has been there.
//
//   static constexpr uint32_t kStoredVersion = 2;         // 1 without this line
//   template <class F>
//   void Stored(F& f) {
//     f(added, pages);
//     if (f.version() >= 2) f(reverted);                  // else it keeps its default
//   }
//
// Opening what was stored by fields that differ from those of their version is refused: nothing is
// ever read as something else.
//
// REQUIRES: Stored() names the same fields each time, of one version; calls `f` and nothing else;
// does not throw. An element of a container has at least one field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/detail/field_names.h>
#include <pleat/export.h>
#include <pleat/field_reader.h>
#include <pleat/field_writer.h>

namespace pleat::inline v0_1 {

// Writes the types of fields as text, such as "int64 text[]". Two types whose fields are written
// alike have the same shape.
class FieldShape {
 public:
  template <class... Fields>
  void operator()(const Fields&...) {
    (detail::NameField<Fields>(*this), ...);
  }
  uint32_t version() const noexcept { return version_; }
  void set_version(uint32_t version) noexcept { version_ = version; }

  void Add(std::string_view name) {
    if (!text_.empty() && text_.back() != '(' && text_.back() != ' ') text_ += ' ';
    text_ += name;
  }
  // Behind the name that was added last.
  void Append(std::string_view mark) { text_ += mark; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  uint32_t version_ = 1;
};

template <class T>
concept Storable = requires(T value, FieldShape& shape) { value.Stored(shape); };

}  // namespace pleat::inline v0_1
