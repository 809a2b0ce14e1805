#include "tools/pleat/records/known_log.h"

#include <algorithm>
#include <utility>

namespace pleat::cli {
namespace {

constexpr size_t kBytesLookedAt = size_t{64} << 10;

// The bytes of the object at the front of `text`, found by its brackets and strings; 0 if it has no end there.
size_t ObjectSize(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      ++depth;
    } else if (!in_string && (c == '}' || c == ']')) {
      if (depth <= 1) return i + 1;
      --depth;
    }
  }
  return 0;
}

bool HasObjectsBackToBack(std::string_view line) {
  constexpr std::string_view kBetween = " \t\r";
  line = line.substr(0, kBytesLookedAt);
  line.remove_prefix(std::min(line.find_first_not_of(kBetween), line.size()));
  if (!line.starts_with('{')) return false;
  const size_t size = ObjectSize(line);
  if (size == 0) return false;
  line.remove_prefix(size);
  line.remove_prefix(std::min(line.find_first_not_of(kBetween), line.size()));
  return line.starts_with('{');
}

// A line of a stream: `data: {"a":1}`, or `event: message`, whose one word tells it from prose.
bool IsEventLine(std::string_view line) {
  const auto take = [&line](std::string_view front) {
    if (!line.starts_with(front)) return false;
    line.remove_prefix(front.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    return true;
  };
  if (take("data:")) return line.starts_with('{') || line.starts_with('[');
  return take("event:") && !line.empty() && line.find_first_of(" \t,;{") == line.npos;
}

}  // namespace

std::optional<KnownLog> KnownLogOf(std::string_view line) {
  constexpr KnownLog kZeek{"a log of Zeek", "zeek"};
  constexpr KnownLog kW3c{"a log in the format of the W3C", "w3c"};
  constexpr std::pair<std::string_view, KnownLog> kBeginnings[] = {{"#separator \\x", kZeek},
                                                                   {"#fields\t", kZeek},
                                                                   {"#Version: ", kW3c},
                                                                   {"#Fields: ", kW3c},
                                                                   {"#Software: ", kW3c}};
  for (const auto& [beginning, log] : kBeginnings) {
    if (line.starts_with(beginning)) return log;
  }
  if (IsEventLine(line)) return KnownLog{"a stream of server-sent events", "sse"};
  if (HasObjectsBackToBack(line)) return KnownLog{"JSON objects without newlines between", "json"};
  return std::nullopt;
}

}  // namespace pleat::cli
