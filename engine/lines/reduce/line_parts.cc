#include "engine/lines/reduce/line_parts.h"

#include <charconv>

#include "engine/lines/scan/option_json.h"

namespace pleat::inline v0_1 {

std::vector<std::string> LabelsOf(std::span<const KeyField> fields) {
  std::vector<std::string> labels;
  labels.reserve(fields.size());
  for (const KeyField& field : fields) labels.push_back(JsonString(field.name) + ":");
  return labels;
}

void PutNumber(std::string_view label, uint64_t number, LineWriter& out) {
  constexpr size_t kDigitsMax = 20;
  out.Put(label);
  char* const to = out.Reserve(kDigitsMax);
  out.TakeUpTo(std::to_chars(to, to + kDigitsMax, number).ptr);
}

void PutTime(std::string_view label, EngineTime at, TimestampWriter& times, LineWriter& out) {
  out.Put(label);
  if (at != Clamp(at)) return out.Put("null");
  out.Put('"');
  char* const to = out.Reserve(kTimestampBytes);
  times.Write(at, to);
  out.TakeUpTo(to + kTimestampBytes);
  out.Put('"');
}

}  // namespace pleat::inline v0_1
