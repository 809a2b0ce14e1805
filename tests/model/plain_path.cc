// See the header.
#include "tests/model/plain_path.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

PlainSteps ReadPointer(const std::string& text) {
  PlainSteps steps;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      steps.emplace_back();
    } else {
      steps.back() += text[i] != '~' ? text[i] : text[++i] == '0' ? '~' : '/';
    }
  }
  return steps;
}

PlainSteps ReadDotted(const std::string& text) {
  PlainSteps steps(1);
  bool in_brackets = false;
  for (const char c : text) {
    if (c == '[') {
      in_brackets = true;
      steps.emplace_back();
    }
    in_brackets &= c != ']';
    c == '.' && !in_brackets ? void(steps.emplace_back()) : void(steps.back() += c);
  }
  return steps;
}

// Numbers in brackets are small, so that doubles tell them apart.
const PlainJson* Element(const PlainJson& list, const std::string& step) {
  for (size_t i = 0; i < list.elements.size(); ++i) {
    const PlainJson& element = list.elements[i];
    if (std::to_string(i) == step) return &element;
    const size_t equals = step.find('=');
    if (!step.starts_with('[') || element.kind != Kind::kObject) continue;
    const PlainJson* member = element.Member(step.substr(1, equals - 1));
    if (member == nullptr) continue;
    const std::string value = step.substr(equals + 1, step.size() - equals - 2);
    const std::optional<PlainJson> read = ParsePlainJson(value);
    const bool number =
        member->kind == Kind::kNumber && read && read->kind == Kind::kNumber && read->text == value;
    if (number ? std::strtod(member->text.c_str(), nullptr) == std::strtod(value.c_str(), nullptr)
               : WritePlainJson(*member) == value ||
                     (member->kind == Kind::kString && member->text == value))
      return &element;
  }
  return nullptr;
}

const PlainJson* FindBySteps(const PlainJson& object, const PlainSteps& steps) {
  const PlainJson* value = &object;
  for (const std::string& step : steps) {
    if (value == nullptr) return nullptr;
    const bool list = value->kind == Kind::kArray;
    value = list ? Element(*value, step) : step.starts_with('[') ? nullptr : value->Member(step);
  }
  return value;
}

}  // namespace

PlainPath ReadPlainPath(const std::string& text) {
  PlainPath path;
  path.optional = text.ends_with('?');
  const std::string all = path.optional ? text.substr(0, text.size() - 1) : text;
  for (size_t begin = 0; begin <= all.size();) {
    const bool pointer = all.substr(begin).starts_with('/');
    const size_t end = pointer ? all.size() : std::min(all.find('|', begin), all.size());
    const std::string way = all.substr(begin, end - begin);
    path.ways.push_back(pointer ? ReadPointer(way) : ReadDotted(way));
    begin = end + 1;
  }
  return path;
}

const PlainJson* FindPlain(const PlainJson& object, const PlainPath& path) {
  if (path.empty()) return &object;
  const PlainJson* null = nullptr;
  for (const PlainSteps& steps : path.ways) {
    const PlainJson* const value = FindBySteps(object, steps);
    if (value != nullptr && value->kind != Kind::kNull) return value;
    if (value != nullptr) null = value;
  }
  return null;
}

}  // namespace pleat::inline v0_1
