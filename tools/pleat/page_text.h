// Figures and foreign text as a page shows them to people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/time.h>

namespace pleat::inline v0 {

// Any bytes as text for HTML and for XML, in an element or between double quotes. What cannot be seen or
// would turn text around is shown by its name, what is not UTF-8 as a replacement character, what is longer than
// `characters_max` ends with an ellipsis.
std::string Escaped(std::string_view bytes, size_t characters_max = 4096);

// "250 ms", "1.5 s", "5 min", "1 h 16 min", "3 d 4 h": to three digits or so.
std::string DurationText(Duration d);

// 0.934 as "93.4 %"; with more digits where that would say 0 or 100 %.
std::string PercentText(double ratio);

// 1234.5 as "1,235", 0.01492 as "0.015": two digits at least.
std::string RateText(double rate);

}  // namespace pleat::inline v0
