#include "tests/model/series_draw.h"

#include <utility>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

std::vector<std::string> DrawNames(Choices& choices, char first, size_t count) {
  const size_t length = choices.OneOf<size_t>({0, 0, 7, 12, 13, 22, 23, 24, 100});
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    std::string name = i == 0 && choices.OneIn(4) ? "" : first + std::to_string(i);
    if (length > name.size()) name.resize(length, '\0');
    names.push_back(std::move(name));
  }
  if (choices.OneIn(8)) names.push_back(std::string(64 * 1024, first));
  if (choices.OneIn(8)) names.push_back(std::string(64 * 1024 + 1, first));
  return names;
}

std::string ShortText(EngineTime t) {
  return t == kEndOfTime         ? "end"
         : t == kBeginningOfTime ? "beginning"
                                 : std::to_string((t - kT0).count());
}

std::string ShortText(Duration d) { return d == kForever ? "forever" : std::to_string(d.count()); }

}  // namespace pleat::inline v0_1
