#include "tools/pleat/line_member.h"

#include <algorithm>
#include <utility>

#include "tools/pleat/errno_status.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// Past the string or the plain value that begins at `at`; npos if it has no end.
size_t EndOfScalar(std::string_view line, size_t at) {
  if (line[at] != '"') return line.find_first_of(",]} \t\r\n", at);
  for (++at; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\') ++at;
  }
  return at < line.size() ? at + 1 : std::string_view::npos;
}

size_t EndOfValue(std::string_view line, size_t at) {
  int depth = 0;
  while (at < line.size()) {
    const char c = line[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    const bool scalar = c == '"' || depth == 0;
    at = c == '"' || (depth == 0 && c != '}' && c != ']') ? EndOfScalar(line, at) : at + 1;
    if (scalar && depth == 0) return at;
  }
  return std::string_view::npos;
}

bool IsDigits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// 09:58 and 09:58:42, with parts of a second or none.
bool IsTimeOfDay(std::string_view text) {
  const auto is_pair = [&](size_t at, std::string_view least_too_many) {
    return text.size() >= at + 2 && IsDigits(text.substr(at, 2)) &&
           text.substr(at, 2) < least_too_many;
  };
  if (!is_pair(0, "24") || text.substr(2, 1) != ":" || !is_pair(3, "60")) return false;
  if (text.size() == 5) return true;
  if (text[5] != ':' || !is_pair(6, "60")) return false;
  return text.size() == 8 || (text[8] == '.' && text.size() > 9 && IsDigits(text.substr(9)));
}

// A name that says what time of day it has, and is a path as it stands, in a shell too.
bool NamesATime(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  };
  return std::ranges::all_of(name, is_plain) &&
         (name.find("time") != name.npos || name.find("Time") != name.npos ||
          name.find("TIME") != name.npos);
}

// 2024-05-01 or 2024/05/01.
bool IsDay(std::string_view text) {
  return text.size() == 10 && IsDigits(text.substr(0, 4)) && IsDigits(text.substr(5, 2)) &&
         IsDigits(text.substr(8)) && text[4] == text[7] && (text[4] == '-' || text[4] == '/');
}

}  // namespace

std::vector<LineMember> MembersOf(std::string_view line) {
  std::vector<LineMember> members;
  if (!line.starts_with('{')) return members;
  const auto past_space = [&](size_t at) {
    return std::min(line.find_first_not_of(kSpace, at), line.size());
  };
  size_t at = past_space(1);
  while (at < line.size() && line[at] == '"') {
    const size_t name_end = EndOfScalar(line, at);
    if (name_end == line.npos) break;
    const std::string_view name = line.substr(at + 1, name_end - at - 2);
    at = past_space(name_end);
    if (at == line.size() || line[at] != ':') break;
    at = past_space(at + 1);
    const size_t end = at < line.size() ? EndOfValue(line, at) : line.npos;
    if (end == line.npos) break;
    std::string_view value = line.substr(at, end - at);
    const bool is_text = value.starts_with('"');
    if (is_text) value = value.substr(1, value.size() - 2);
    members.push_back({std::string(name), std::string(value), is_text});
    at = past_space(end);
    if (at == line.size() || line[at] != ',') break;
    at = past_space(at + 1);
  }
  return members;
}

std::string TextAt(std::string_view line, std::string_view path) {
  for (LineMember& each : MembersOf(line)) {
    if (each.name == path) return each.is_text ? std::move(each.value) : std::string();
  }
  return {};
}

std::string AdviceOnDays(std::string_view line, std::string_view time) {
  if (!IsDay(TextAt(line, time))) return {};
  for (const LineMember& each : MembersOf(line)) {
    if (!each.is_text || !NamesATime(each.name) || !IsTimeOfDay(each.value)) continue;
    return Printable("\"" + std::string(time) +
                     "\" is a day, so every event is at midnight; --time " + std::string(time) +
                     "," + each.name + " joins the time of day in \"" + each.name + "\"");
  }
  return {};
}

}  // namespace pleat::cli
