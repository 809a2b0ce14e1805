// See the header.
#include "tests/model/plain_merge.h"

#include <algorithm>
#include <cstdio>

#include "tests/model/plain_condition.h"
#include "tests/model/plain_number_sum.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

constexpr uint64_t kArrayDefault = 1'000;
constexpr uint64_t kDistinctDefault = 1'000'000;
constexpr uint64_t kConcatBytesDefault = 64 * 1024;
constexpr size_t kRestMembers = 1024;

// Whether the reducer takes a value that is there at all.
bool Takes(const std::string& reducer, const PlainJson& value) {
  if (reducer == "keys") return value.kind == Kind::kObject;
  if (reducer == "concat") return value.kind != Kind::kArray && value.kind != Kind::kObject;
  if (reducer != "sum" && reducer != "mean" && reducer != "min" && reducer != "max") return true;
  return value.kind == Kind::kNumber;
}

// What a reducer walks over: the values that are there and that it takes.
struct Value {
  EngineTime at;
  const PlainJson* json;
};
using Values = std::vector<Value>;

Values TakenValues(const PlainMerge& merge, const PlainEvents& events) {
  Values out;
  for (const PlainEvent& event : events) {
    const PlainJson* value = FindPlain(*event.json, merge.path);
    const bool there = value != nullptr && value->kind != Kind::kNull;
    if (there && Takes(merge.reducer, *value)) out.push_back({event.at, value});
  }
  return out;
}

PlainMerged MergedNumbers(const PlainMerge& merge, const Values& values) {
  PlainNumberSum sum;
  for (const Value& value : values) sum.Add(value.json->text);
  const PlainNumberSum total = sum.Total();
  PlainMerged out{.saturated = total.saturated};
  if (values.empty()) {
    out.json = "null";
  } else if (merge.reducer == "mean") {
    out.json = WritePlainDouble(total.doubles / static_cast<double>(values.size()));
  } else {
    out.json = sum.Text();
  }
  return out;
}

// One of the values as it is: the smallest, the largest, the first, the last.
PlainMerged MergedChoice(const PlainMerge& merge, const Values& values) {
  const Value* chosen = nullptr;
  for (const Value& value : values) {
    if (chosen == nullptr ||
        (merge.reducer == "min" && ComparePlainNumbers(value.json->text, chosen->json->text) < 0) ||
        (merge.reducer == "max" && ComparePlainNumbers(value.json->text, chosen->json->text) > 0) ||
        (merge.reducer == "first" && value.at < chosen->at) ||
        (merge.reducer == "last" && value.at >= chosen->at)) {
      chosen = &value;
    }
  }
  return {.json = chosen == nullptr ? "null" : WritePlainJson(*chosen->json)};
}

// What keys, set, distinct and array go through: one text for each element.
std::vector<std::string> Elements(const PlainMerge& merge, const Values& values) {
  std::vector<std::string> out;
  for (const Value& value : values) {
    if (merge.reducer == "keys") {
      for (const std::string& name : value.json->names) out.push_back(QuotePlainJson(name));
    } else if (value.json->kind == Kind::kArray) {
      for (const PlainJson& element : value.json->elements) out.push_back(WritePlainJson(element));
    } else {
      out.push_back(WritePlainJson(*value.json));
    }
  }
  return out;
}

PlainMerged MergedElements(const PlainMerge& merge, const Values& values) {
  uint64_t bound = merge.bound;
  if (bound == 0) {
    bound = merge.reducer == "array"      ? kArrayDefault
            : merge.reducer == "distinct" ? kDistinctDefault
                                          : UINT64_MAX;
  }
  PlainMerged out;
  std::string list;
  uint64_t count = 0;
  std::set<std::string> listed;
  for (const std::string& element : Elements(merge, values)) {
    if (merge.reducer != "array" && listed.contains(element)) continue;
    if (count == bound) {
      out.cut = true;
      break;
    }
    ++count;
    listed.insert(element);
    list += (list.empty() ? "" : ",") + element;
  }
  out.json = merge.reducer == "distinct" ? std::to_string(count) : '[' + list + ']';
  return out;
}

PlainMerged MergedText(const PlainMerge& merge, const Values& values) {
  const uint64_t bound = merge.bound == 0 ? kConcatBytesDefault : merge.bound;
  PlainMerged out;
  std::string text;
  for (const Value& value : values) {
    const bool first = &value == &values.front();
    const std::string more = (first ? "" : merge.separator) + value.json->text;
    out.cut = text.size() + more.size() > bound;
    if (out.cut) break;
    text += more;
  }
  out.json = values.empty() ? "null" : QuotePlainJson(text);
  return out;
}

// Seconds, as a decimal number that is cut behind its last digit.
PlainMerged MergedDuration(const PlainEvents& events) {
  const auto [first, last] = std::ranges::minmax(events, {}, &PlainEvent::at);
  char text[64];
  std::snprintf(text, sizeof(text), "%lld.%06lld",
                static_cast<long long>((last.at - first.at).count() / 1'000'000),
                static_cast<long long>((last.at - first.at).count() % 1'000'000));
  std::string out = text;
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return {.json = out};
}

}  // namespace

PlainMerged Merged(const PlainMerge& merge, const PlainEvents& events) {
  const Values values = TakenValues(merge, events);
  const std::string& reducer = merge.reducer;
  if (reducer == "duration") return MergedDuration(events);
  if (reducer == "count") return {.json = std::to_string(values.size())};
  if (reducer == "sum" || reducer == "mean") return MergedNumbers(merge, values);
  if (reducer == "concat") return MergedText(merge, values);
  if (reducer == "keys" || reducer == "set" || reducer == "distinct" || reducer == "array") {
    return MergedElements(merge, values);
  }
  return MergedChoice(merge, values);
}

PlainMerged NewestOf(uint64_t bound, const PlainEvents& events) {
  PlainEvents sorted = events;
  std::ranges::stable_sort(sorted, {}, &PlainEvent::at);
  PlainMerged out{.cut = sorted.size() > bound};
  if (out.cut) sorted.erase(sorted.begin(), sorted.end() - static_cast<std::ptrdiff_t>(bound));
  for (const PlainEvent& event : sorted) {
    out.json += (out.json.empty() ? "" : ",") + WritePlainJson(*event.json);
  }
  out.json = '[' + out.json + ']';
  return out;
}

bool Mismatches(const PlainMerge& merge, const PlainJson& event) {
  const PlainJson* value = FindPlain(event, merge.path);
  return value != nullptr && value->kind != Kind::kNull && !Takes(merge.reducer, *value);
}

PlainRest RestOf(const PlainEvents& events, const std::string& reducer,
                 const std::set<std::string>& taken) {
  PlainRest out;
  std::set<std::string> known = taken;
  for (const PlainEvent& event : events) {
    for (size_t i = 0; i < event.json->names.size(); ++i) {
      const std::string& name = event.json->names[i];
      if (event.json->elements[i].kind == Kind::kNull || known.contains(name)) continue;
      if (out.merges.size() == kRestMembers) {
        out.cut = true;
      } else {
        known.insert(name);
        out.merges.push_back({.name = name, .reducer = reducer, .path = {name}});
      }
    }
  }
  return out;
}

}  // namespace pleat::inline v0_1
