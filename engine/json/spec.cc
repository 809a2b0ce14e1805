// The options of a FoldSpec by name: one table says how each is read from text and written back.
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <pleat/json.h>

#include "engine/json/path.h"
#include "engine/json/reasons.h"
#include "engine/json/scanner.h"
#include "engine/json/spec_text.h"

namespace pleat::inline v0 {
namespace {

using bad_line::Quoted;

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status SetDuration(Duration& to, std::string_view text) {
  absl::StatusOr<Duration> parsed = ParseDuration(text);
  if (!parsed.ok()) return parsed.status();
  to = *parsed;
  return absl::OkStatus();
}

struct Suffix {
  std::string_view name;
  uint64_t factor;
};
constexpr Suffix kByteSuffixes[] = {
    {"", 1},
    {"K", 1'000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"Ki", uint64_t{1} << 10},
    {"Mi", uint64_t{1} << 20},
    {"Gi", uint64_t{1} << 30},
};

// A whole number of at least 1, with a suffix if `suffixes` says so.
template <class Integer>
absl::Status SetCount(Integer& to, std::string_view text, bool suffixes) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view name(stop, static_cast<size_t>(end - stop));
  const Suffix* const suffix = std::find_if(std::begin(kByteSuffixes), std::end(kByteSuffixes),
                                            [&](const Suffix& s) { return s.name == name; });
  const bool known = suffix != std::end(kByteSuffixes) && (suffixes || name.empty());
  if (stop == text.data() || !known || value == 0) {
    return Wrong(Quoted(text) + (suffixes ? " is not a size (a whole number of bytes, or of one of "
                                            "K, M, G in thousands, Ki, Mi, Gi in 1,024s)"
                                          : " is not a whole number of at least 1"));
  }
  if (error != std::errc() || __builtin_mul_overflow(value, suffix->factor, &to)) {
    return Wrong(Quoted(text) + " is too large");
  }
  return absl::OkStatus();
}

absl::Status SetUnit(TimeUnit& to, std::string_view text) {
  constexpr std::pair<std::string_view, TimeUnit> kUnits[] = {{"s", TimeUnit::kSeconds},
                                                              {"ms", TimeUnit::kMilliseconds},
                                                              {"us", TimeUnit::kMicroseconds},
                                                              {"ns", TimeUnit::kNanoseconds}};
  for (const auto& [name, unit] : kUnits) {
    if (text == name) return to = unit, absl::OkStatus();
  }
  return Wrong(Quoted(text) + " is not a unit (one of s, ms, us, ns)");
}

std::string_view UnitName(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds: return "s";
    case TimeUnit::kMilliseconds: return "ms";
    case TimeUnit::kMicroseconds: return "us";
    case TimeUnit::kNanoseconds: return "ns";
    case TimeUnit::kNotStated: break;
  }
  return "";
}

absl::Status SetPath(std::string& to, std::string_view text) {
  absl::StatusOr<Path> steps = ParsePath(text);
  if (!steps.ok())
    return Wrong("path " + Quoted(text) + " " + std::string(steps.status().message()));
  to = text;
  return absl::OkStatus();
}

absl::Status AddKey(FoldSpec& spec, std::string_view text) {
  absl::StatusOr<std::vector<KeyField>> fields = ParseKeyFields(text);
  if (!fields.ok()) return fields.status();
  for (KeyField& field : *fields) spec.key.push_back(std::move(field));
  return absl::OkStatus();
}

absl::Status AddMerge(FoldSpec& spec, std::string_view text) {
  absl::StatusOr<Merge> merge = ParseMerge(text);
  if (!merge.ok()) return merge.status();
  spec.merges.push_back(*std::move(merge));
  return absl::OkStatus();
}

constexpr std::string_view kRestNames[] = {"drop", "first", "last"};  // in the order of Rest

absl::Status SetRest(Rest& to, std::string_view text) {
  const auto* const found = std::find(std::begin(kRestNames), std::end(kRestNames), text);
  if (found == std::end(kRestNames)) return Wrong(Quoted(text) + " is not drop, first or last");
  to = static_cast<Rest>(found - kRestNames);
  return absl::OkStatus();
}

absl::Status SetNoMeta(FoldSpec& spec, std::string_view text) {
  if (text != "true" && text != "false") return Wrong(Quoted(text) + " is not true or false");
  spec.meta = text == "false";
  return absl::OkStatus();
}

struct Option {
  std::string_view name;
  absl::Status (*set)(FoldSpec& spec, std::string_view text);
};
constexpr Option kOptions[] = {
    {"key", AddKey},
    {"quiet", [](FoldSpec& s, std::string_view t) { return SetDuration(s.quiet, t); }},
    {"max-hold", [](FoldSpec& s, std::string_view t) { return SetDuration(s.max_hold, t); }},
    {"max-events",
     [](FoldSpec& s, std::string_view t) { return SetCount(s.max_events, t, false); }},
    {"time", [](FoldSpec& s, std::string_view t) { return SetPath(s.time, t); }},
    {"time-unit", [](FoldSpec& s, std::string_view t) { return SetUnit(s.time_unit, t); }},
    {"lateness", [](FoldSpec& s, std::string_view t) { return SetDuration(s.lateness, t); }},
    {"accept-limit",
     [](FoldSpec& s, std::string_view t) { return SetDuration(s.accept_limit, t); }},
    {"future-limit",
     [](FoldSpec& s, std::string_view t) { return SetDuration(s.future_limit, t); }},
    {"merge", AddMerge},
    {"rest", [](FoldSpec& s, std::string_view t) { return SetRest(s.rest, t); }},
    {"raw", [](FoldSpec& s, std::string_view t) { return SetCount(s.raw, t, false); }},
    {"no-meta", SetNoMeta},
    {"max-groups",
     [](FoldSpec& s, std::string_view t) { return SetCount(s.max_groups, t, false); }},
    {"max-memory", [](FoldSpec& s, std::string_view t) { return SetCount(s.max_bytes, t, true); }},
};

absl::Status OptionError(std::string_view option, std::string_view message) {
  return Wrong("--" + std::string(option) + ": " + std::string(message));
}

absl::Status CheckPathOf(std::string_view option, std::string_view path) {
  std::string ignored;
  absl::Status status = SetPath(ignored, path);
  return status.ok() ? status : OptionError(option, std::string(status.message()));
}

bool IsUtf8(std::string_view text);

absl::Status CheckNames(const FoldSpec& spec) {
  std::set<std::string_view> taken = {"_fold"};
  if (spec.raw != 0) taken.insert("_raw");
  if (spec.rest != Rest::kDrop) taken.insert("_rest");
  std::set<std::string_view> names;
  auto add = [&](std::string_view option, const std::string& name) {
    if (!IsUtf8(name)) return OptionError(option, "name " + Quoted(name) + " is not UTF-8");
    if (taken.contains(name)) {
      return OptionError(option, "the output name " + Quoted(name) + " is taken");
    }
    if (names.insert(name).second) return absl::OkStatus();
    return OptionError(option, "two outputs are named " + Quoted(name));
  };
  for (const KeyField& field : spec.key) {
    if (absl::Status status = add("key", field.name); !status.ok()) return status;
  }
  for (const Merge& merge : spec.merges) {
    if (absl::Status status = add("merge", merge.name); !status.ok()) return status;
    if (IsUtf8(merge.separator)) continue;
    return OptionError("merge", "separator " + Quoted(merge.separator) + " is not UTF-8");
  }
  return absl::OkStatus();
}

absl::Status CheckPaths(const FoldSpec& spec) {
  for (const KeyField& field : spec.key) {
    if (absl::Status status = CheckPathOf("key", field.path); !status.ok()) return status;
  }
  if (!spec.time.empty()) {
    if (absl::Status status = CheckPathOf("time", spec.time); !status.ok()) return status;
  }
  for (const Merge& merge : spec.merges) {
    if (merge.reducer == Reducer::kCount && merge.path.empty()) continue;
    if (absl::Status status = CheckPathOf("merge", merge.path); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Whether `name` can stand in JSON output; asks the same judge as for input.
bool IsUtf8(std::string_view text) {
  std::string document = "{";
  AppendJsonString(text, document);
  document += ":0}";
  if (document.size() > kLineBytesMax) return false;
  const size_t size = document.size();
  document.append(kLinePaddingBytes, ' ');
  const PathTree none;
  return Scanner(none).Scan(std::string_view(document).substr(0, size)).empty();
}

}  // namespace

absl::Status SetOption(FoldSpec& spec, std::string_view name, std::string_view text) {
  std::string spelled(name);
  std::replace(spelled.begin(), spelled.end(), '_', '-');
  for (const Option& option : kOptions) {
    if (option.name != spelled) continue;
    absl::Status status = option.set(spec, text);
    return status.ok() ? status : OptionError(spelled, std::string(status.message()));
  }
  return absl::NotFoundError("unknown option " + Quoted(name));
}

std::vector<std::pair<std::string, std::string>> OptionsOf(const FoldSpec& spec) {
  const FoldSpec empty;
  std::vector<std::pair<std::string, std::string>> out;
  auto duration = [&](const char* name, Duration FoldSpec::* member) {
    if (spec.*member != empty.*member) out.emplace_back(name, FormatDuration(spec.*member));
  };
  auto count = [&](const char* name, auto member) {
    if (spec.*member != empty.*member) out.emplace_back(name, std::to_string(spec.*member));
  };
  for (const KeyField& field : spec.key) out.emplace_back("key", FormatKeyField(field));
  duration("quiet", &FoldSpec::quiet);
  duration("max-hold", &FoldSpec::max_hold);
  count("max-events", &FoldSpec::max_events);
  if (!spec.time.empty()) out.emplace_back("time", spec.time);
  if (spec.time_unit != empty.time_unit) out.emplace_back("time-unit", UnitName(spec.time_unit));
  duration("lateness", &FoldSpec::lateness);
  duration("accept-limit", &FoldSpec::accept_limit);
  duration("future-limit", &FoldSpec::future_limit);
  for (const Merge& merge : spec.merges) out.emplace_back("merge", FormatMerge(merge));
  if (spec.rest != empty.rest) out.emplace_back("rest", kRestNames[static_cast<size_t>(spec.rest)]);
  count("raw", &FoldSpec::raw);
  if (!spec.meta) out.emplace_back("no-meta", "true");
  count("max-groups", &FoldSpec::max_groups);
  count("max-memory", &FoldSpec::max_bytes);
  return out;
}

absl::Status Validate(const FoldSpec& spec) {
  if (spec.key.empty()) return OptionError("key", "required: the path of the group key");
  if (spec.quiet == Duration(0)) return OptionError("quiet", "required, and above zero");
  const std::pair<const char*, Duration> above_zero[] = {{"quiet", spec.quiet},
                                                         {"max-hold", spec.max_hold}};
  for (const auto& [name, value] : above_zero) {
    if (value <= Duration(0)) return OptionError(name, "must be above zero");
  }
  const std::pair<const char*, Duration> not_negative[] = {{"lateness", spec.lateness},
                                                           {"accept-limit", spec.accept_limit},
                                                           {"future-limit", spec.future_limit}};
  for (const auto& [name, value] : not_negative) {
    if (value < Duration(0)) return OptionError(name, "must not be negative");
  }
  if (spec.max_events == 0) return OptionError("max-events", "must be at least 1");
  if (spec.max_groups == 0) return OptionError("max-groups", "must be at least 1");
  if (spec.max_bytes == 0) return OptionError("max-memory", "must be at least 1");
  if (absl::Status status = CheckPaths(spec); !status.ok()) return status;
  return CheckNames(spec);
}

EngineOptions EngineOptionsFor(const FoldSpec& spec) {
  // Lines are folded by one thread, so more partitions would gain nothing; and one keeps the limits
  // exact, as each partition gets an equal share of them.
  EngineOptions options;
  options.partitions = 1;
  options.axis = spec.time.empty() ? Axis::kArrival : Axis::kEvent;
  options.lateness = spec.lateness;
  options.future_limit = spec.future_limit;
  return options;
}

}  // namespace pleat::inline v0
