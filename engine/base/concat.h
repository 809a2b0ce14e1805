// Concat() puts a message together from texts and whole numbers. (absl::StrCat does not take the
// std::string_view of Debian's build of Abseil.)
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

inline void AppendTo(std::string& text, std::string_view part) { text += part; }
template <std::integral Number>
void AppendTo(std::string& text, Number number) {
  text += std::to_string(number);
}

template <class... Parts>
std::string Concat(const Parts&... parts) {
  std::string text;
  (AppendTo(text, parts), ...);
  return text;
}

}  // namespace pleat::inline v0_1
