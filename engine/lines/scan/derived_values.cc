#include "engine/lines/scan/derived_values.h"

#include <string>
#include <string_view>

#include "engine/lines/scan/decimal.h"
#include "engine/lines/scan/number.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {
namespace {

// Of the text of a value, which the scanner has accepted.
Value ValueOf(std::string_view text) {
  using Kind = Value::Kind;
  Value value;
  value.text = text;
  switch (text[0]) {
    case '{': value.kind = Kind::kObject; return value;
    case '[': value.kind = Kind::kArray; return value;
    case '"': value.kind = Kind::kString; break;
    case 'n': value.kind = Kind::kNull; break;
    case 't':
    case 'f': value.kind = Kind::kBool; break;
    default:
      if (!IsNumber(text)) return ValueOf("null");  // NaN, or an infinity
      value.kind = Kind::kNumber;
      value.short_integer = IsDigit(text[0]) && IsShortInteger(text);
  }
  value.plain = text.find('\\') == std::string_view::npos;
  return value;
}

bool IsText(std::string_view quoted, std::string_view text) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside == text;
  std::string unescaped(inside.size(), '\0');
  unescaped.resize(
      static_cast<size_t>(WriteUnescaped(inside, unescaped.data()) - unescaped.data()));
  return unescaped == text;
}

// Empty if there is no such member.
std::string_view MemberOf(std::string_view object, std::string_view name) {
  std::string_view found;
  ForEachMember(object, [&](std::string_view quoted, std::string_view value) {
    if (found.empty() && IsText(quoted, name)) found = value;
  });
  return found;
}

// The text at the end of the steps, or nothing.
std::string_view Follow(std::string_view text, const Path& steps) {
  for (const std::string& step : steps) {
    std::string_view next;
    if (text[0] == '{') next = MemberOf(text, step);
    if (const uint32_t index = IndexOf(step); text[0] == '[' && index != kNoIndex) {
      uint32_t at = 0;
      ForEachElement(text, [&](std::string_view element) {
        if (at++ == index) next = element;
      });
    }
    if (next.empty()) return {};
    text = next;
  }
  return text;
}

bool Matches(std::string_view text, const PathSearch& search) {
  if (text.empty()) return false;
  if (text[0] == '"') return IsText(text, search.value);
  if (search.text_only) return false;
  const bool numbers = IsNumber(text) && IsNumber(search.value);
  return numbers ? CompareNumbers(text, search.value) == 0 : text == search.value;
}

// In the list `text`; nothing if it is no list, or if there is no such element.
std::string_view Search(std::string_view text, const PathSearch& search) {
  if (text[0] != '[') return {};
  std::string_view found;
  ForEachElement(text, [&](std::string_view element) {
    if (!found.empty() || element[0] != '{') return;
    if (Matches(MemberOf(element, search.name), search)) found = element;
  });
  return found.empty() ? found : Follow(found, search.steps);
}

Value ValueBy(const PathTree::DerivedWay& way, const Value& base) {
  if (way.searches.empty() || base.kind == Value::Kind::kAbsent) return base;
  std::string_view text = base.text;
  for (const PathSearch& search : way.searches) {
    text = Search(text, search);
    if (text.empty()) return {};
  }
  return ValueOf(text);
}

}  // namespace

void DeriveValues(const PathTree& paths, std::span<Value> values) {
  for (const PathTree::Derived& derived : paths.derived()) {
    Value& value = values[static_cast<size_t>(derived.slot)];
    for (const PathTree::DerivedWay& way : derived.ways) {
      const Value next = ValueBy(way, values[static_cast<size_t>(way.slot)]);
      if (next.kind != Value::Kind::kAbsent) value = next;
      if (next.present()) break;
    }
  }
}

}  // namespace pleat::inline v0_1
