#include "tests/model/plain_fields.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/model/plain_condition.h"
#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {

bool IsPlainScalar(const PlainJson& value) {
  return value.kind != PlainJson::Kind::kArray && value.kind != PlainJson::Kind::kObject;
}

std::string WritePlainValue(const PlainJson& value) {
  const auto replace = [](const auto& self, PlainJson& each) -> void {
    if (each.kind == PlainJson::Kind::kNumber) each.text = PlainNumberForm(each.text);
    for (PlainJson& element : each.elements) self(self, element);
  };
  PlainJson out = value;
  replace(replace, out);
  return WritePlainJson(out);
}

bool NameTwiceSpoils(const PlainJson& event, const std::vector<PlainPath>& paths, bool whole) {
  if (whole) return HasNameTwice(event);
  const auto spoils = [&event](const PlainSteps& way) {
    const PlainJson* at = &event;
    for (const std::string& step : way) {
      if (step.starts_with('[')) break;  // the whole list is looked at
      if (std::ranges::count(at->names, step) > 1) return true;
      at = FindPlain(*at, {.ways = {{step}}});
      if (at == nullptr) return false;
    }
    return !way.empty() && HasNameTwice(*at);
  };
  return std::ranges::any_of(
      paths, [&](const PlainPath& path) { return std::ranges::any_of(path.ways, spoils); });
}

std::optional<std::string> ReadPlainFields(const PlainJson& event,
                                           const std::vector<PlainField>& fields, bool by_value) {
  std::string out;
  for (const PlainField& field : fields) {
    const PlainJson* value = FindPlain(event, field.path);
    if (value == nullptr && !field.path.optional) return std::nullopt;
    if (value != nullptr && !IsPlainScalar(*value)) return std::nullopt;
    if (!out.empty()) out += ',';
    out += QuotePlainJson(field.name) + ':';
    if (value == nullptr) {
      out += "null";
    } else {
      out += by_value ? WritePlainValue(*value) : WritePlainJson(*value);
    }
  }
  return out;
}

// Whether the text is a JSON number and nothing besides.
bool IsPlainNumber(const std::string& text) {
  const std::optional<PlainJson> value = ParsePlainJson(text);
  return value && value->kind == PlainJson::Kind::kNumber && value->text == text;
}

std::optional<EngineTime> ReadPlainTime(const PlainJson& event, const PlainPath& path,
                                        const std::string& unit, bool& no_unit) {
  const PlainJson* time = FindPlain(event, path);
  if (time == nullptr) return std::nullopt;
  const bool quoted = time->kind == PlainJson::Kind::kString;
  if (quoted && !IsPlainNumber(time->text)) return ReadPlainTimeText(time->text, "Z");
  if (!quoted && time->kind != PlainJson::Kind::kNumber) return std::nullopt;
  const std::map<std::string, long> units = {{"s", 6}, {"ms", 3}, {"us", 0}, {"ns", -3}};
  no_unit = !units.contains(unit);
  if (no_unit) return std::nullopt;
  return ReadPlainNumber(time->text, units.at(unit));
}

std::string TakeUntil(char separator, std::string& text) {
  const size_t at = text.find(separator);
  if (at == std::string::npos) return "";
  const std::string before = text.substr(0, at);
  text.erase(0, at + 1);
  return before;
}

std::string PlainObject(const std::string& members) {
  return '{' + (members.starts_with(',') ? members.substr(1) : members) + '}';
}

void AddPlainFields(std::string text, std::vector<PlainField>& fields) {
  if (text.empty()) return;
  text += ',';
  while (!text.empty()) {
    std::string field = TakeUntil(',', text);
    std::string name = TakeUntil('=', field);
    PlainPath path = ReadPlainPath(field);
    if (name.empty()) name = path.back();
    fields.push_back({std::move(name), std::move(path)});
  }
}

size_t ReadPlainBytes(const std::string& text) {
  const std::map<std::string, int> shifts = {{"", 0},   {"Ki", 10}, {"K", 10}, {"Mi", 20},
                                             {"M", 20}, {"Gi", 30}, {"G", 30}};
  size_t end = 0;
  const size_t number = std::stoull(text, &end);
  return number << shifts.at(text.substr(end));
}

}  // namespace pleat::inline v0_1
