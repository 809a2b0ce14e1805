// The options of a FoldSpec by name: one table says how each is read from text and written back.
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <pleat/json.h>

#include "engine/json/condition_text.h"
#include "engine/json/option_json.h"
#include "engine/json/path.h"
#include "engine/json/reasons.h"
#include "engine/json/spec_text.h"
#include "engine/json/utf8.h"

namespace pleat::inline v0_1 {
namespace {

using bad_line::Quoted;

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

absl::Status SetDuration(Duration& to, std::string_view text) {
  absl::StatusOr<Duration> parsed = ParseDuration(text);
  if (!parsed.ok()) return parsed.status();
  to = *parsed;
  return absl::OkStatus();
}

// DURATION, or adaptive:FLOOR..CEILING.
constexpr std::string_view kAdaptive = "adaptive:";

absl::Status SetQuiet(FoldSpec& spec, std::string_view text) {
  Duration floor{0};
  std::string_view ceiling = text;
  if (text.starts_with(kAdaptive)) {
    const std::string_view range = text.substr(kAdaptive.size());
    const size_t dots = range.find("..");
    if (dots == std::string_view::npos) {
      return Wrong(Quoted(text) + " is not adaptive:FLOOR..CEILING, such as adaptive:5s..5m");
    }
    absl::Status status = SetDuration(floor, range.substr(0, dots));
    if (!status.ok()) return status;
    if (floor <= Duration(0)) return Wrong("the floor in " + Quoted(text) + " must be above zero");
    ceiling = range.substr(dots + 2);
  }
  absl::Status status = SetDuration(spec.quiet, ceiling);
  if (status.ok()) spec.quiet_floor = floor;
  return status;
}

std::string FormatQuiet(const FoldSpec& spec) {
  std::string quiet = FormatDuration(spec.quiet);
  if (spec.quiet_floor == Duration(0)) return quiet;
  return std::string(kAdaptive) + FormatDuration(spec.quiet_floor) + ".." + quiet;
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

template <class Enum>
struct Choice {
  std::string_view name;
  Enum value;
};
constexpr Choice<TimeUnit> kUnits[] = {{"s", TimeUnit::kSeconds},
                                       {"ms", TimeUnit::kMilliseconds},
                                       {"us", TimeUnit::kMicroseconds},
                                       {"ns", TimeUnit::kNanoseconds}};
constexpr Choice<Edge> kEdges[] = {
    {"trailing", Edge::kTrailing}, {"leading", Edge::kLeading}, {"both", Edge::kBoth}};
constexpr Choice<OnLate> kOnLate[] = {
    {"reject", OnLate::kReject}, {"fold", OnLate::kFold}, {"correct", OnLate::kCorrect}};
constexpr Choice<Rest> kRests[] = {
    {"drop", Rest::kDrop}, {"first", Rest::kFirst}, {"last", Rest::kLast}};
constexpr Choice<OnLimit> kOnLimit[] = {{"refuse", OnLimit::kRefuse},
                                        {"emit", OnLimit::kEmitOldest}};

template <class Enum, size_t kChoices>
absl::Status SetChoice(Enum& to, std::string_view text, const Choice<Enum> (&choices)[kChoices]) {
  std::string names;
  for (size_t i = 0; i < kChoices; ++i) {
    if (text == choices[i].name) return to = choices[i].value, absl::OkStatus();
    if (i > 0) names += i + 1 == kChoices ? " or " : ", ";
    names += choices[i].name;
  }
  return Wrong("must be " + names + ", not " + Quoted(text));
}

template <class Enum, size_t kChoices>
std::string_view NameIn(const Choice<Enum> (&choices)[kChoices], Enum value) {
  for (const Choice<Enum>& choice : choices) {
    if (choice.value == value) return choice.name;
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

absl::Status SetSwitch(bool& to, std::string_view text, bool on = true) {
  if (text != "true" && text != "false") return Wrong(Quoted(text) + " is not true or false");
  to = (text == "true") == on;
  return absl::OkStatus();
}

// A condition on events if `paths` says so, else on merged values, whose names may be anything.
absl::Status SetCondition(Condition& to, std::string_view text, bool paths) {
  absl::StatusOr<Condition> condition = ParseCondition(text);
  if (!condition.ok()) return condition.status();
  absl::Status status = CheckCondition(*condition, [&](const std::string& path) {
    std::string ignored;
    return paths ? SetPath(ignored, path) : absl::OkStatus();
  });
  if (status.ok()) to = *std::move(condition);
  return status;
}

struct Option {
  std::string_view name;
  absl::Status (*set)(FoldSpec& spec, std::string_view text);
};
constexpr Option kOptions[] = {
    {"key", AddKey},
    {"quiet", SetQuiet},
    {"class", [](FoldSpec& s, std::string_view t) { return SetPath(s.key_class, t); }},
    {"max-hold", [](FoldSpec& s, std::string_view t) { return SetDuration(s.max_hold, t); }},
    {"max-events",
     [](FoldSpec& s, std::string_view t) { return SetCount(s.max_events, t, false); }},
    {"max-bytes",
     [](FoldSpec& s, std::string_view t) { return SetCount(s.max_group_bytes, t, true); }},
    {"start-when",
     [](FoldSpec& s, std::string_view t) { return SetCondition(s.start_when, t, true); }},
    {"end-when", [](FoldSpec& s, std::string_view t) { return SetCondition(s.end_when, t, true); }},
    {"close-when",
     [](FoldSpec& s, std::string_view t) { return SetCondition(s.close_when, t, false); }},
    {"flush-when",
     [](FoldSpec& s, std::string_view t) { return SetCondition(s.flush_when, t, true); }},
    {"cancel-when",
     [](FoldSpec& s, std::string_view t) { return SetCondition(s.cancel_when, t, true); }},
    {"quiet-path", [](FoldSpec& s, std::string_view t) { return SetPath(s.quiet_path, t); }},
    {"edge", [](FoldSpec& s, std::string_view t) { return SetChoice(s.edge, t, kEdges); }},
    {"partial-every",
     [](FoldSpec& s, std::string_view t) { return SetDuration(s.partial_every, t); }},
    {"time", [](FoldSpec& s, std::string_view t) { return SetPath(s.time, t); }},
    {"time-unit",
     [](FoldSpec& s, std::string_view t) { return SetChoice(s.time_unit, t, kUnits); }},
    {"lateness", [](FoldSpec& s, std::string_view t) { return SetDuration(s.lateness, t); }},
    {"accept-limit",
     [](FoldSpec& s, std::string_view t) { return SetDuration(s.accept_limit, t); }},
    {"on-late", [](FoldSpec& s, std::string_view t) { return SetChoice(s.on_late, t, kOnLate); }},
    {"future-limit",
     [](FoldSpec& s, std::string_view t) { return SetDuration(s.future_limit, t); }},
    {"id", [](FoldSpec& s, std::string_view t) { return SetPath(s.id, t); }},
    {"merge", AddMerge},
    {"rest", [](FoldSpec& s, std::string_view t) { return SetChoice(s.rest, t, kRests); }},
    {"raw", [](FoldSpec& s, std::string_view t) { return SetCount(s.raw, t, false); }},
    {"no-meta", [](FoldSpec& s, std::string_view t) { return SetSwitch(s.meta, t, false); }},
    {"emission-id", [](FoldSpec& s, std::string_view t) { return SetSwitch(s.emission_id, t); }},
    {"max-groups",
     [](FoldSpec& s, std::string_view t) { return SetCount(s.max_groups, t, false); }},
    {"max-memory", [](FoldSpec& s, std::string_view t) { return SetCount(s.max_bytes, t, true); }},
    {"on-limit",
     [](FoldSpec& s, std::string_view t) { return SetChoice(s.on_limit, t, kOnLimit); }},
};

absl::Status OptionError(std::string_view option, std::string_view message) {
  return Wrong("--" + std::string(option) + ": " + std::string(message));
}

absl::Status CheckPathOf(std::string_view option, std::string_view path) {
  std::string ignored;
  absl::Status status = SetPath(ignored, path);
  return status.ok() ? status : OptionError(option, std::string(status.message()));
}

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
  const std::pair<const char*, const std::string*> optional[] = {{"time", &spec.time},
                                                                 {"id", &spec.id},
                                                                 {"quiet-path", &spec.quiet_path},
                                                                 {"class", &spec.key_class}};
  for (const auto& [option, path] : optional) {
    if (path->empty()) continue;
    if (absl::Status status = CheckPathOf(option, *path); !status.ok()) return status;
  }
  for (const Merge& merge : spec.merges) {
    if (merge.reducer == Reducer::kCount && merge.path.empty()) continue;
    if (absl::Status status = CheckPathOf("merge", merge.path); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Reducers whose value is one scalar, or can be; the others' can not be compared with anything.
bool GivesScalar(Reducer reducer) {
  return reducer != Reducer::kKeys && reducer != Reducer::kSet && reducer != Reducer::kArray;
}

absl::Status CheckMergedValue(const FoldSpec& spec, const std::string& name) {
  for (const Merge& merge : spec.merges) {
    if (merge.name != name) continue;
    if (GivesScalar(merge.reducer)) return absl::OkStatus();
    return Wrong(Quoted(name) +
                 " is a list; what can be compared is given by sum, min, max, mean, " +
                 "count, first, last, distinct or concat (distinct counts what set lists)");
  }
  return Wrong("there is no --merge named " + Quoted(name));
}

absl::Status CheckConditions(const FoldSpec& spec) {
  const std::pair<const char*, const Condition*> on_events[] = {{"start-when", &spec.start_when},
                                                                {"end-when", &spec.end_when},
                                                                {"flush-when", &spec.flush_when},
                                                                {"cancel-when", &spec.cancel_when}};
  for (const auto& [option, condition] : on_events) {
    if (condition->kind == Condition::Kind::kNone) continue;
    absl::Status status = CheckCondition(*condition, [](const std::string& path) {
      std::string ignored;
      return SetPath(ignored, path);
    });
    if (!status.ok()) return OptionError(option, std::string(status.message()));
  }
  if (spec.close_when.kind == Condition::Kind::kNone) return absl::OkStatus();
  absl::Status status = CheckCondition(
      spec.close_when, [&](const std::string& name) { return CheckMergedValue(spec, name); });
  return status.ok() ? status : OptionError("close-when", std::string(status.message()));
}

absl::Status CheckAdaptive(const FoldSpec& spec) {
  if (spec.quiet_floor == Duration(0)) {
    if (spec.key_class.empty()) return absl::OkStatus();
    return OptionError("class", "needs --quiet adaptive:FLOOR..CEILING, which learns by class");
  }
  if (spec.quiet_floor < Duration(0)) return OptionError("quiet", "must be above zero");
  if (spec.quiet_floor >= spec.quiet) {
    return OptionError("quiet", "adaptive: the floor must be below the ceiling");
  }
  if (spec.quiet == kForever) return OptionError("quiet", "adaptive: the ceiling must not be inf");
  if (spec.quiet_path.empty()) return absl::OkStatus();
  return OptionError("quiet-path",
                     "not with --quiet adaptive: the quiet period is said or learned");
}

// Options that make no sense together, or without another.
absl::Status CheckTogether(const FoldSpec& spec) {
  if (absl::Status status = CheckAdaptive(spec); !status.ok()) return status;
  const bool accepts_all = spec.accept_limit == kForever;
  if (!spec.id.empty() && accepts_all) {
    return OptionError("id", "needs --accept-limit, which says how long ids are remembered");
  }
  if (spec.on_late != OnLate::kReject) {
    const std::string way(NameIn(kOnLate, spec.on_late));
    if (accepts_all) return OptionError("on-late", way + " needs --accept-limit");
    if (!spec.id.empty()) {
      return OptionError("id", "not with --on-late " + way + ": ids of late events are forgotten");
    }
  }
  if (spec.edge == Edge::kLeading && spec.partial_every != kForever) {
    return OptionError("partial-every",
                       "not with --edge leading, which holds back all but the first");
  }
  return absl::OkStatus();
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
  auto path = [&](const char* name, std::string FoldSpec::* member) {
    if (!(spec.*member).empty()) out.emplace_back(name, spec.*member);
  };
  auto condition = [&](const char* name, Condition FoldSpec::* member) {
    if ((spec.*member).kind == Condition::Kind::kNone) return;
    out.emplace_back(name, FormatCondition(spec.*member));
  };
  auto choice = [&](const char* name, const auto& choices, auto member) {
    if (spec.*member == empty.*member) return;
    out.emplace_back(name, NameIn(choices, spec.*member));
  };
  for (const KeyField& field : spec.key) out.emplace_back("key", FormatKeyField(field));
  if (spec.quiet != empty.quiet || spec.quiet_floor != empty.quiet_floor) {
    out.emplace_back("quiet", FormatQuiet(spec));
  }
  path("class", &FoldSpec::key_class);
  duration("max-hold", &FoldSpec::max_hold);
  count("max-events", &FoldSpec::max_events);
  count("max-bytes", &FoldSpec::max_group_bytes);
  condition("start-when", &FoldSpec::start_when);
  condition("end-when", &FoldSpec::end_when);
  condition("close-when", &FoldSpec::close_when);
  condition("flush-when", &FoldSpec::flush_when);
  condition("cancel-when", &FoldSpec::cancel_when);
  path("quiet-path", &FoldSpec::quiet_path);
  choice("edge", kEdges, &FoldSpec::edge);
  duration("partial-every", &FoldSpec::partial_every);
  path("time", &FoldSpec::time);
  choice("time-unit", kUnits, &FoldSpec::time_unit);
  duration("lateness", &FoldSpec::lateness);
  duration("accept-limit", &FoldSpec::accept_limit);
  choice("on-late", kOnLate, &FoldSpec::on_late);
  duration("future-limit", &FoldSpec::future_limit);
  path("id", &FoldSpec::id);
  for (const Merge& merge : spec.merges) out.emplace_back("merge", FormatMerge(merge));
  choice("rest", kRests, &FoldSpec::rest);
  count("raw", &FoldSpec::raw);
  if (!spec.meta) out.emplace_back("no-meta", "true");
  if (spec.emission_id) out.emplace_back("emission-id", "true");
  count("max-groups", &FoldSpec::max_groups);
  count("max-memory", &FoldSpec::max_bytes);
  choice("on-limit", kOnLimit, &FoldSpec::on_limit);
  return out;
}

absl::Status Validate(const FoldSpec& spec) {
  if (spec.key.empty()) return OptionError("key", "required: the path of the group key");
  if (spec.quiet == Duration(0)) return OptionError("quiet", "required, and above zero");
  const std::pair<const char*, Duration> above_zero[] = {
      {"quiet", spec.quiet}, {"max-hold", spec.max_hold}, {"partial-every", spec.partial_every}};
  for (const auto& [name, value] : above_zero) {
    if (value <= Duration(0)) return OptionError(name, "must be above zero");
  }
  const std::pair<const char*, Duration> not_negative[] = {{"lateness", spec.lateness},
                                                           {"accept-limit", spec.accept_limit},
                                                           {"future-limit", spec.future_limit}};
  for (const auto& [name, value] : not_negative) {
    if (value < Duration(0)) return OptionError(name, "must not be negative");
  }
  if (spec.time.empty() && spec.lateness > Duration(0)) {
    return OptionError("lateness", "needs --time");
  }
  if (spec.max_events == 0) return OptionError("max-events", "must be at least 1");
  if (spec.max_group_bytes == 0) return OptionError("max-bytes", "must be at least 1");
  if (spec.max_groups == 0) return OptionError("max-groups", "must be at least 1");
  if (spec.max_bytes == 0) return OptionError("max-memory", "must be at least 1");
  if (absl::Status status = CheckPaths(spec); !status.ok()) return status;
  if (absl::Status status = CheckNames(spec); !status.ok()) return status;
  if (absl::Status status = CheckConditions(spec); !status.ok()) return status;
  return CheckTogether(spec);
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

}  // namespace pleat::inline v0_1
