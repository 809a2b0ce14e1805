#include "tools/pleat/page_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include "tools/pleat/summary.h"

namespace pleat::inline v0 {
namespace {

struct Character {
  char32_t code;
  size_t size;  // in bytes
};

// The character that `bytes` begins with; none if that is not UTF-8.
std::optional<Character> FirstOf(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return Character{lead, 1};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < size) return std::nullopt;
  char32_t code = lead & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[size] || code > 0x10FFFF || surrogate) return std::nullopt;
  return Character{code, size};
}

// Controls, separators, and what sets the direction of text, which could hide or reorder what is around.
bool IsInvisible(char32_t code) {
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
      {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
      {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
  return std::ranges::any_of(
             kRanges,
             [code](const auto& range) { return code >= range.first && code <= range.second; }) ||
         (code & 0xFFFE) == 0xFFFE;
}

void Append(std::string& out, std::string_view bytes, char32_t code) {
  switch (code) {
    case '&': out += "&amp;"; return;
    case '<': out += "&lt;"; return;
    case '>': out += "&gt;"; return;
    case '"': out += "&quot;"; return;
    case '\'': out += "&#39;"; return;
  }
  if (IsInvisible(code)) {
    char name[24];
    std::snprintf(name, sizeof(name), "[U+%04X]", static_cast<unsigned>(code));
    out += name;
  } else {
    out += bytes;
  }
}

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// Without zeros at the end of a fraction.
std::string Trimmed(double value, int decimals) {
  std::string text = Fixed(value, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

constexpr int64_t kMillisecond = 1000;
constexpr int64_t kSecond = 1000 * kMillisecond;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

// `us` as a count of `large`, and what is left as one of `small`, if there is any.
std::string TwoUnits(int64_t us, int64_t large, const char* large_name, int64_t small,
                     const char* small_name) {
  std::string text = Grouped(static_cast<uint64_t>(us / large)) + large_name;
  if (us % large != 0) text += " " + std::to_string(us % large / small) + small_name;
  return text;
}

}  // namespace

std::string Escaped(std::string_view bytes, size_t characters_max) {
  std::string out;
  for (size_t count = 0; !bytes.empty(); ++count) {
    if (count == characters_max) return out + "…";
    const std::optional<Character> first = FirstOf(bytes);
    const size_t size = first ? first->size : 1;
    if (first) {
      Append(out, bytes.substr(0, size), first->code);
    } else {
      out += "\uFFFD";
    }
    bytes.remove_prefix(size);
  }
  return out;
}

std::string DurationText(Duration d) {
  if (d == kForever) return "forever";
  // What each magnitude is rounded to, before its unit is chosen: 59.97 s is a minute.
  struct Step {
    int64_t below;
    int64_t to;
  };
  static constexpr Step kSteps[] = {{kMillisecond, 1},
                                    {10 * kMillisecond, 10},
                                    {100 * kMillisecond, 100},
                                    {kSecond, kMillisecond},
                                    {10 * kSecond, 10 * kMillisecond},
                                    {kMinute, 100 * kMillisecond},
                                    {kHour, kSecond},
                                    {kDay, kMinute},
                                    {100 * kDay, kHour},
                                    {INT64_MAX, kDay}};
  const int64_t exact = std::max<int64_t>(d.count(), 0);
  const int64_t to =
      std::ranges::find_if(kSteps, [exact](const Step& step) { return exact < step.below; })->to;
  const int64_t us = exact / to * to + (exact % to * 2 >= to ? to : 0);
  const auto value = static_cast<double>(us);
  if (us == 0) return "0 s";
  if (us < kMillisecond) return std::to_string(us) + " µs";
  if (us < kSecond) return Trimmed(value / kMillisecond, 2) + " ms";
  if (us < kMinute) return Trimmed(value / kSecond, 2) + " s";
  if (us < kHour) return TwoUnits(us, kMinute, " min", kSecond, " s");
  if (us < kDay) return TwoUnits(us, kHour, " h", kMinute, " min");
  return TwoUnits(us, kDay, " d", kHour, " h");
}

std::string PercentText(double ratio) {
  // Neither nothing nor everything unless it is.
  const double least = 100 * std::min(ratio > 0 ? ratio : 1, ratio < 1 ? 1 - ratio : 1);
  int decimals = 1;
  while (decimals < 6 && least < 0.5 * std::pow(0.1, decimals)) ++decimals;
  return Fixed(100 * ratio, decimals) + " %";
}

std::string RateText(double rate) {
  if (!(rate > 0)) return "0";
  if (rate >= 100) return Grouped(static_cast<uint64_t>(std::llround(rate)));
  const int digits = rate >= 1 ? 1 : 1 - static_cast<int>(std::floor(std::log10(rate)));
  return Fixed(rate, std::min(digits, 12));
}

}  // namespace pleat::inline v0
