// See the header.
#include "tests/model/plain_path.h"

namespace pleat::inline v0_1 {

PlainPath ReadPlainPath(const std::string& text) {
  const bool pointer = text.starts_with('/');
  PlainPath steps(1);
  for (size_t i = pointer ? 1 : 0; i < text.size(); ++i) {
    if (text[i] == (pointer ? '/' : '.')) {
      steps.emplace_back();
    } else if (pointer && text[i] == '~') {
      steps.back() += text[++i] == '0' ? '~' : '/';
    } else {
      steps.back() += text[i];
    }
  }
  return steps;
}

const PlainJson* FindPlain(const PlainJson& object, const PlainPath& path) {
  const PlainJson* value = &object;
  for (const std::string& step : path) {
    if (value == nullptr) return nullptr;
    if (value->kind != PlainJson::Kind::kArray) {
      value = value->Member(step);
      continue;
    }
    const PlainJson* element = nullptr;
    for (size_t i = 0; i < value->elements.size(); ++i) {
      if (std::to_string(i) == step) element = &value->elements[i];
    }
    value = element;
  }
  return value;
}

}  // namespace pleat::inline v0_1
