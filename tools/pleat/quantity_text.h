// Counts, bytes, durations and ratios as text for people. The same words in every command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/time.h>

namespace pleat::cli {

// 0.5 and 2 decimals as "0.50".
std::string FixedText(double value, int decimals);

// The shortest text that reads back as the same number.
std::string ShortestText(double value);

// 1234567 as "1,234,567".
std::string Grouped(uint64_t number);

// 1 and "key" as "1 key", 1234 as "1,234 keys".
std::string Counted(uint64_t number, std::string_view what);

// 1234567 as "1.2 MB", and a rate per second.
std::string ByteText(double bytes);

// The exact duration: "250 ms", "1.5 s", "5 min", "2 h 30 min".
std::string DurationText(Duration d);

// Two or three digits of a duration: "1.53 s", "17.2 min".
std::string RoundedDuration(Duration d);

// "93.4 %". A ratio near 1 gets more digits, so that only 1 is "100 %" and only 0 is "0 %".
std::string PercentText(double ratio);

// "1,234", "17.2", "0.172", "0.0017": three digits, or two of a rate below 0.1.
std::string RateText(double per_second);

}  // namespace pleat::cli
