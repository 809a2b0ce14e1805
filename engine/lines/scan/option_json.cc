#include "engine/lines/scan/option_json.h"

#include <algorithm>

#include <pleat/json_lines.h>

#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/scanner.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {

std::string WhyNoObject(std::string_view text) {
  if (text.size() > kLineBytesMax) return std::string(invalid_line::kTooLong);
  std::string padded(text);
  padded.append(kLinePaddingBytes, ' ');
  PathTree all;
  all.AskForAll();  // a person writes it: a name that comes twice is a slip
  Scanner scanner(all);
  const std::string_view wrong = scanner.Scan(std::string_view(padded).substr(0, text.size()));
  return std::string(wrong.empty() && scanner.not_numbers() > 0 ? invalid_line::kNoValue : wrong);
}

bool IsJsonScalar(std::string_view text) {
  std::string padded = R"({"":)" + std::string(text) + "}";
  const size_t size = padded.size();
  if (size > kLineBytesMax) return false;
  padded.append(kLinePaddingBytes, ' ');
  PathTree paths;
  const int slot = paths.Add({""});
  Scanner scanner(paths);
  if (!scanner.Scan(std::string_view(padded).substr(0, size)).empty()) return false;
  const Value& value = scanner.value(slot);
  return value.scalar() && value.text == text && scanner.not_numbers() == 0;  // not `1,"a":2`
}

std::string Unescaped(std::string_view quoted) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  std::string out(inside.size(), '\0');
  out.resize(static_cast<size_t>(WriteUnescaped(inside, out.data()) - out.data()));
  return out;
}

absl::StatusOr<std::string> TakeQuoted(std::string_view& rest) {
  const auto wrong = [&](const char* why) {
    return absl::InvalidArgumentError(invalid_line::Quoted(rest) + why);
  };
  size_t end = 1;
  while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
  if (end >= rest.size()) return wrong(" has an unclosed quote");
  const std::string_view quoted = rest.substr(0, end + 1);
  if (!CheckEscapes(quoted.substr(1, end - 1)).empty()) return wrong(" has an unknown escape");
  rest.remove_prefix(end + 1);
  return Unescaped(quoted);
}

std::string Canonical(std::string_view scalar) {
  std::string out(scalar.size(), '\0');
  out.resize(static_cast<size_t>(WriteCanonical(scalar, out.data()) - out.data()));
  return out;
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

std::string_view Trimmed(std::string_view text) noexcept {
  while (!text.empty() && IsJsonSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsJsonSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace pleat::inline v0_1
