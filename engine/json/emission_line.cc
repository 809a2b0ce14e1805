#include "engine/json/emission_line.h"

#include <algorithm>

#include <pleat/json.h>

#include "engine/json/timestamp.h"

namespace pleat::inline v0 {
namespace {

// Takes the first of some scalars joined by commas, and the comma behind it.
std::string_view TakeScalar(std::string_view& joined) {
  size_t end = 0;
  if (joined.starts_with('"')) {
    for (end = 1; joined[end] != '"'; ++end) {
      if (joined[end] == '\\') ++end;
    }
    ++end;
  } else {
    end = std::min(joined.find(','), joined.size());
  }
  const std::string_view scalar = joined.substr(0, end);
  joined.remove_prefix(std::min(end + 1, joined.size()));
  return scalar;
}

void AppendTime(std::string_view label, EngineTime at, std::string& out) {
  char text[kTimestampBytes];
  WriteTimestamp(at, text);
  out += label;
  out.append(text, kTimestampBytes);
}

// "_fold":{"count":4,"first":T,"last":T,"closed":T,"reason":"quiet"}
void AppendMeta(const ClosedGroup& group, std::string_view saturated, std::string& out) {
  out += ",\"_fold\":{\"count\":";
  out += std::to_string(group.count);
  AppendTime(",\"first\":\"", group.first, out);
  AppendTime("\",\"last\":\"", group.last, out);
  AppendTime("\",\"closed\":\"", group.closed, out);
  out += "\",\"reason\":\"";
  out += ReasonName(group.reason);
  out += '"';
  if (!saturated.empty()) {
    out += ",\"saturated\":[";
    out += saturated;
    out += ']';
  }
  out += '}';
}

}  // namespace

void AppendEmission(const FoldPlan& plan, const ClosedGroup& group, std::string& out) {
  out += '{';
  std::string_view key = group.key;
  for (const FoldPlan::Key& field : plan.keys) {
    if (&field != &plan.keys.front()) out += ',';
    out += field.label;
    out += TakeScalar(key);
  }
  std::string saturated;
  plan.AppendMerges(group.state, out, saturated);
  if (plan.meta) AppendMeta(group, saturated, out);
  out += "}\n";
}

}  // namespace pleat::inline v0
