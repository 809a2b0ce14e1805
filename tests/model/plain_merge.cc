// See the header.
#include "tests/model/plain_merge.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "tests/model/plain_condition.h"
#include "tests/model/plain_fields.h"
#include "tests/model/plain_integer.h"
#include "tests/model/plain_number_sum.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

constexpr uint64_t kArrayDefault = 1'000;
constexpr uint64_t kDistinctDefault = 1'000'000;
constexpr uint64_t kConcatBytesDefault = 64 * 1024;
constexpr uint64_t kTopDefault = 10;
constexpr size_t kRestMembers = 1024;

// Of p50, p90 and so on; 0 of any other reducer.
uint64_t ThousandthsOf(const std::string& reducer) {
  if (reducer.size() < 3 || reducer[0] != 'p' || reducer[1] < '0' || reducer[1] > '9') return 0;
  return std::stoull((reducer.substr(1) + "00").substr(0, 3));
}

// Whether the reducer takes a value that is there at all.
bool Takes(const std::string& reducer, const PlainJson& value) {
  if (reducer == "keys") return value.kind == Kind::kObject;
  if (reducer == "concat") return value.kind != Kind::kArray && value.kind != Kind::kObject;
  const bool percentile = ThousandthsOf(reducer) > 0;
  if (!percentile && reducer != "sum" && reducer != "mean" && reducer != "min" &&
      reducer != "max") {
    return true;
  }
  return IsPlainNumber(value);
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

// Integers apart, until they leave 128 bits: then they go on among the doubles.
struct PlainWideSum {
  PlainInteger wholes;
  PlainNumberSum others;  // no integers

  void Add(const std::string& number) {
    if (!IsPlainInteger(number)) return others.Add(number);
    const PlainInteger value = ReadPlainWhole(number);
    if (!FitsIn128Bits(value)) return others.Add(number + "e0");
    const PlainInteger sum = AddPlain(wholes, value);
    if (FitsIn128Bits(sum)) {
      wholes = sum;
    } else {
      AddToOthers(wholes);
      wholes = value;
    }
  }

  // As the nearest double, then that of what is left, until nothing is.
  void AddToOthers(PlainInteger left) {
    while (left.digits != "0") {
      char part[64];
      std::snprintf(part, sizeof(part), "%.0f", ReadPlainDouble(left.Text()));
      others.Add(part + std::string("e0"));
      left = AddPlain(left, Negated(ReadPlainWhole(part)));
    }
  }
};

std::string MeanOfWholes(const PlainInteger& sum, uint64_t count) {
  const PlainQuotient mean = DividePlain(sum, count, 40);
  const std::string half = "5" + std::string(39, '0');
  const std::string& rest = mean.decimals;
  if (!mean.cut && rest == std::string(40, '0')) return ReadPlainWhole(mean.whole.Text()).Text();
  if (ReadPlainDouble(mean.whole.digits) < 9007199254740992.0) {
    return WritePlainDouble(
        ReadPlainDouble(mean.whole.Text() + "." + rest + (mean.cut ? "1" : "0")));
  }
  const bool odd = (mean.whole.digits.back() - '0') % 2 != 0;
  const bool up = rest > half || (rest == half && (mean.cut || odd));
  return AddPlain(mean.whole, {mean.whole.negative, up ? "1" : "0"}).Text();
}

PlainMerged MergedNumbers(const PlainMerge& merge, const Values& values) {
  if (values.empty()) return {.json = "null"};
  PlainWideSum sum;
  for (const Value& value : values) sum.Add(value.json->text);
  const bool mean = merge.reducer == "mean";
  if (!sum.others.any_double) {
    return {.json = mean ? MeanOfWholes(sum.wholes, values.size()) : sum.wholes.Text()};
  }
  sum.AddToOthers(sum.wholes);
  const PlainNumberSum total = sum.others.Total();
  const double divisor = mean ? static_cast<double>(values.size()) : 1;
  return {.json = WritePlainDouble(total.doubles / divisor), .saturated = total.saturated};
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
  if (chosen == nullptr) return {.json = "null"};
  const bool extreme = merge.reducer == "min" || merge.reducer == "max";
  return {.json = extreme ? chosen->json->text : WritePlainJson(*chosen->json)};
}

// What keys, set, distinct and array go through.
struct Element {
  std::string text;
  std::string identity;  // equal for elements that differ in the spelling of their numbers
};
std::vector<Element> Elements(const PlainMerge& merge, const Values& values) {
  std::vector<Element> out;
  const auto add = [&](const PlainJson& value) {
    out.push_back({WritePlainJson(value), WritePlainValue(value)});
  };
  for (const Value& value : values) {
    if (merge.reducer == "keys") {
      for (const std::string& name : value.json->names) {
        out.push_back({QuotePlainJson(name), QuotePlainJson(name)});
      }
    } else if (value.json->kind == Kind::kArray) {
      for (const PlainJson& element : value.json->elements) add(element);
    } else {
      add(*value.json);
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
  for (const auto& [element, identity] : Elements(merge, values)) {
    if (merge.reducer != "array" && listed.contains(identity)) continue;
    if (count == bound) {
      out.cut = true;
      break;
    }
    ++count;
    listed.insert(identity);
    list += (list.empty() ? "" : ",") + element;
  }
  out.json = merge.reducer == "distinct" ? std::to_string(count) : '[' + list + ']';
  return out;
}

// Space-Saving on a list: the values in their places, each with its count.
PlainMerged MergedTop(const PlainMerge& merge, const Values& values) {
  const uint64_t told = merge.bound == 0 ? kTopDefault : merge.bound;
  const uint64_t kept = std::max<uint64_t>(1000, 10 * told);
  struct Place {
    std::string value;
    std::string identity;
    uint64_t count = 0;
    uint64_t over = 0;
    uint64_t since = 0;
  };
  std::vector<Place> places;
  PlainMerged out;
  uint64_t since = 0;
  for (const auto& [element, identity] : Elements(merge, values)) {
    auto place = std::ranges::find(places, identity, &Place::identity);
    if (place == places.end() && places.size() == kept) {
      out.cut = true;
      place = std::ranges::min_element(places, {}, &Place::count);
      *place = {element, identity, place->count, place->count, since++};
    } else if (place == places.end()) {
      place = places.insert(places.end(), {element, identity, 0, 0, since++});
    }
    ++place->count;
  }
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::pair(~place.count, place.since);  // the largest count first
  });
  if (places.size() > told) places.resize(told);
  std::string list;
  for (const Place& place : places) {
    list += (list.empty() ? "" : ",") + ("{\"value\":" + place.value) +
            ",\"count\":" + std::to_string(place.count) +
            (place.over > 0 ? ",\"over\":" + std::to_string(place.over) : "") + "}";
  }
  out.json = '[' + list + ']';
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

// A number as digits and a power of ten: its first three significant digits, rounded by the fourth.
std::string RoundedToThree(const std::string& number) {
  const bool negative = number[0] == '-';
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const long double far = e == number.size() ? 0 : std::stold(number.substr(e + 1));
  long long exponent = static_cast<long long>(std::clamp(far, -1e9L, 1e9L));
  std::string digits = number.substr(negative, e - negative);
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= static_cast<long long>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return "0";
  if (digits.size() > 3) {
    const bool up = digits[3] >= '5';
    exponent += static_cast<long long>(digits.size()) - 3;
    digits = std::to_string(std::stoi(digits.substr(0, 3)) + (up ? 1 : 0));
  }
  return (negative ? "-" : "") + digits + "e" + std::to_string(exponent);
}

// As people write it, with an exponent only if it would have many zeros.
std::string WithoutExponent(const std::string& rounded) {
  if (rounded == "0") return rounded;
  const bool negative = rounded[0] == '-';
  const size_t e = rounded.find('e');
  std::string digits = rounded.substr(negative, e - negative);
  long long exponent = std::stoll(rounded.substr(e + 1));
  for (; digits.back() == '0'; ++exponent) digits.pop_back();
  const auto size = static_cast<long long>(digits.size());
  const long long power = size + exponent - 1;  // of the first digit
  std::string out = negative ? "-" : "";
  if (power > 20 || power < -6) {
    out += digits.substr(0, 1) + (size > 1 ? "." + digits.substr(1) : "") + "e";
    return out + (power > 0 ? "+" : "") + std::to_string(power);
  }
  if (power < 0) return out + "0." + std::string(static_cast<size_t>(-power - 1), '0') + digits;
  if (exponent >= 0) return out + digits + std::string(static_cast<size_t>(exponent), '0');
  return out + digits.substr(0, static_cast<size_t>(power + 1)) + "." +
         digits.substr(static_cast<size_t>(power + 1));
}

// The number in its place among all of them. Groups of the model have no more numbers than are told
// apart.
PlainMerged MergedPercentile(uint64_t thousandths, const Values& values) {
  if (values.empty()) return {.json = "null"};
  std::vector<std::string> sorted;
  for (const Value& value : values) sorted.push_back(value.json->text);
  std::ranges::sort(sorted, [](const std::string& a, const std::string& b) {
    return ComparePlainNumbers(a, b) < 0;
  });
  const size_t rank = (sorted.size() * thousandths + 999) / 1000;
  return {.json = WithoutExponent(RoundedToThree(sorted[rank - 1]))};
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
  if (const uint64_t share = ThousandthsOf(reducer)) return MergedPercentile(share, values);
  if (reducer == "duration") return MergedDuration(events);
  if (reducer == "count") return {.json = std::to_string(values.size())};
  if (reducer == "sum" || reducer == "mean") return MergedNumbers(merge, values);
  if (reducer == "concat") return MergedText(merge, values);
  if (reducer == "top") return MergedTop(merge, values);
  if (reducer == "keys" || reducer == "set" || reducer == "distinct" || reducer == "array") {
    return MergedElements(merge, values);
  }
  return MergedChoice(merge, values);
}

PlainMerged NewestOf(uint64_t bound, const PlainEvents& events) {
  std::multimap<EngineTime, const PlainEvent*> sorted;  // equal stamps as they came
  for (const PlainEvent& event : events) sorted.emplace(event.at, &event);
  PlainMerged out{.cut = sorted.size() > bound};
  while (sorted.size() > bound) sorted.erase(sorted.begin());
  for (const auto& [at, event] : sorted) {
    out.json += (out.json.empty() ? "" : ",") + WritePlainJson(*event->json);
  }
  out.json = '[' + out.json + ']';
  return out;
}

bool ArePercentilesOfOne(const PlainMerge& a, const PlainMerge& b) {
  return ThousandthsOf(a.reducer) > 0 && ThousandthsOf(b.reducer) > 0 && a.path == b.path;
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
        out.merges.push_back({.name = name, .reducer = reducer, .path = {.ways = {{name}}}});
      }
    }
  }
  return out;
}

}  // namespace pleat::inline v0_1
