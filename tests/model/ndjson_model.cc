// See the header. AddLine() is what happens to one line, Reduce() what the reducers mean.
#include "tests/model/ndjson_model.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "tests/support/plain_time.h"

namespace pleat::inline v0 {
namespace {

using Kind = PlainJson::Kind;

const PlainJson* Find(const PlainJson& object, const PlainPath& path) {
  const PlainJson* value = &object;
  for (const std::string& step : path) {
    if (value != nullptr) value = value->Member(step);
  }
  return value;
}

bool IsInteger(const std::string& number) {
  return number.find_first_of(".eE") == std::string::npos;
}

double ToDouble(const std::string& number) { return std::strtod(number.c_str(), nullptr); }

std::string WriteDouble(double value) {
  char out[64];
  return {out, std::to_chars(out, out + sizeof out, value).ptr};
}

// An integer in 64 bits; nothing if it does not fit.
std::optional<int64_t> ToInteger(const std::string& number) {
  int64_t value = 0;
  const char* end = number.data() + number.size();
  const auto [stopped, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// As integers if both are, which is exact, else as doubles.
bool Less(const std::string& a, const std::string& b) {
  const std::optional<int64_t> i = ToInteger(a);
  const std::optional<int64_t> j = ToInteger(b);
  return i && j ? *i < *j : ToDouble(a) < ToDouble(b);
}

// Whether the reducer takes a value that is there at all.
bool Takes(const std::string& reducer, const PlainJson& value) {
  if (reducer == "keys") return value.kind == Kind::kObject;
  if (reducer == "set" || reducer == "count" || reducer == "first" || reducer == "last")
    return true;
  if (value.kind != Kind::kNumber) return false;
  return IsInteger(value.text) || std::isfinite(ToDouble(value.text));
}

// Integers exactly, until they leave 64 bits: there the sum stays. Other numbers apart from them, in
// order of arrival, with Neumaier's compensation. The two meet in the total only.
struct Sum {
  int64_t integers = 0;
  double doubles = 0;
  double lost = 0;
  bool any_double = false;
  bool saturated = false;

  void Add(const std::string& number) {
    if (!IsInteger(number)) {
      any_double = true;
      AddDouble(ToDouble(number));
    } else if (!saturated) {
      const std::optional<int64_t> value = ToInteger(number);
      saturated = !value || __builtin_add_overflow(integers, *value, &integers);
      if (saturated) integers = number.starts_with('-') ? INT64_MIN : INT64_MAX;
    }
  }

  void AddDouble(double x) {
    const double sum = doubles + x;
    lost += std::abs(doubles) >= std::abs(x) ? (doubles - sum) + x : (x - sum) + doubles;
    doubles = sum;
  }

  double Total() const {
    Sum all = *this;
    all.AddDouble(static_cast<double>(integers));
    return all.doubles + all.lost;
  }
};

void Join(std::string& list, const std::string& item) {
  if (!list.empty()) list += ',';
  list += item;
}

}  // namespace

bool NdjsonModel::AddLine(std::string_view line, std::string& out) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return true;
  const uint64_t number = lines_++;
  ++bad_;  // until it turns out to be a usable event
  const std::optional<PlainJson> object = ParsePlainJson(line);
  if (line.size() > (1 << 20) || !object || object->kind != Kind::kObject) return true;

  // The members to write are also the key: equal text is equal type and value.
  std::string key;
  for (const NdjsonOptions::Field& field : options_.key) {
    const PlainJson* value = Find(*object, field.path);
    if (value == nullptr || value->kind == Kind::kArray || value->kind == Kind::kObject)
      return true;
    Join(key, QuotePlainJson(field.name) + ':' + WritePlainJson(*value));
  }

  const PlainJson* time = Find(*object, options_.time);
  if (time == nullptr) return true;
  std::optional<EngineTime> at;
  if (time->kind == Kind::kString) at = ReadPlainTimestamp(time->text);
  if (time->kind == Kind::kNumber) {
    const std::map<std::string, long> units = {{"s", 6}, {"ms", 3}, {"us", 0}, {"ns", -3}};
    if (!units.contains(options_.time_unit)) return false;
    at = ReadPlainNumber(time->text, units.at(options_.time_unit));
  }
  if (!at) return true;

  Event event{.at = *at};
  uint64_t mismatched = 0;
  for (const NdjsonOptions::Merge& merge : options_.merges) {
    const PlainJson* value = Find(*object, merge.path);
    const bool present = value != nullptr && value->kind != Kind::kNull;
    const bool taken = present && Takes(merge.reducer, *value);
    if (present && !taken) ++mismatched;
    event.values.push_back(taken ? *value : PlainJson{});
  }
  const FoldOutcome outcome = folder_.Fold(key, number, *at);
  if (outcome == FoldOutcome::kFuture) return true;
  --bad_;
  if (outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded) {
    mismatched_ += mismatched;
    events_.emplace(number, std::move(event));
  }
  WriteClosed(out);
  return true;
}

void NdjsonModel::End(std::string& out) {
  if (!options_.drop_at_end) folder_.CloseAll();
  WriteClosed(out);
  ledger_ = folder_.ledger();
}

void NdjsonModel::WriteClosed(std::string& out) {
  for (const ModelGroup& group : folder_.Pop(SIZE_MAX)) {
    out += '{' + group.key;
    std::string saturated;
    for (size_t i = 0; i < options_.merges.size(); ++i) {
      out += ',' + QuotePlainJson(options_.merges[i].name) + ':' + Reduce(i, group, saturated);
    }
    if (options_.meta) {
      out += ",\"_fold\":{\"count\":" + std::to_string(group.events.size());
      out += ",\"first\":\"" + WritePlainTimestamp(group.first);
      out += "\",\"last\":\"" + WritePlainTimestamp(group.last);
      out += "\",\"closed\":\"" + WritePlainTimestamp(group.closed);
      out += "\",\"reason\":\"" + std::string(ReasonName(group.reason)) + '"';
      if (!saturated.empty()) out += ",\"saturated\":[" + saturated + ']';
      out += '}';
    }
    out += "}\n";
    for (const uint64_t event : group.events) events_.erase(event);
  }
}

std::string NdjsonModel::Reduce(size_t merge, const ModelGroup& group,
                                std::string& saturated) const {
  const std::string& reducer = options_.merges[merge].reducer;
  std::string list;
  std::set<std::string> listed;
  const auto add = [&](const std::string& item) {
    if (listed.insert(item).second) Join(list, item);
  };
  Sum sum;
  uint64_t count = 0;
  const PlainJson* chosen = nullptr;
  EngineTime chosen_at;
  for (const uint64_t number : group.events) {
    const Event& event = events_.at(number);
    const PlainJson& value = event.values[merge];
    if (value.kind == Kind::kNull) continue;
    ++count;
    if (reducer == "keys") {
      for (const std::string& name : value.names) add(QuotePlainJson(name));
    } else if (reducer == "set" && value.kind == Kind::kArray) {
      for (const PlainJson& element : value.elements) add(WritePlainJson(element));
    } else if (reducer == "set") {
      add(WritePlainJson(value));
    } else if (reducer == "sum" || reducer == "mean") {
      sum.Add(value.text);
    }
    if (chosen == nullptr || (reducer == "min" && Less(value.text, chosen->text)) ||
        (reducer == "max" && Less(chosen->text, value.text)) ||
        (reducer == "first" && event.at < chosen_at) ||
        (reducer == "last" && event.at >= chosen_at)) {
      chosen = &value;
      chosen_at = event.at;
    }
  }
  if (reducer == "keys" || reducer == "set") return '[' + list + ']';
  if (reducer == "count") return std::to_string(count);
  if (count == 0) return "null";
  if (reducer != "sum" && reducer != "mean") return WritePlainJson(*chosen);
  if (sum.saturated) Join(saturated, QuotePlainJson(options_.merges[merge].name));
  if (reducer == "mean") return WriteDouble(sum.Total() / static_cast<double>(count));
  return sum.any_double ? WriteDouble(sum.Total()) : std::to_string(sum.integers);
}

std::string NdjsonModel::Stats() const {
  const uint64_t events = lines_ - bad_;
  const double ratio =
      events == 0 ? 0 : static_cast<double>(ledger_.folded) / static_cast<double>(events);
  const auto count = [](const std::string& name, uint64_t n) {
    return '"' + name + "\":" + std::to_string(n) + ',';
  };
  return '{' + count("lines", lines_) + count("events", events) + count("bad", bad_) +
         count("late", ledger_.late) + count("refused", ledger_.refused) +
         count("opened", ledger_.opened) + count("folded", ledger_.folded) +
         count("emissions", ledger_.closed) + count("open", ledger_.open) +
         count("mismatched", mismatched_) + "\"folding_ratio\":" + WriteDouble(ratio) + "}\n";
}

}  // namespace pleat::inline v0
