#include "engine/lines/feed/line_companion.h"

#include <algorithm>

namespace pleat::inline v0_1 {

Companion::NamedTexts OptionsNamed(const Companion::NamedTexts& options,
                                   std::initializer_list<std::string_view> names) {
  Companion::NamedTexts named;
  for (const auto& option : options) {
    if (std::ranges::find(names, option.first) != names.end()) named.push_back(option);
  }
  return named;
}

}  // namespace pleat::inline v0_1
