#include "tests/model/plain_options.h"

#include <functional>
#include <map>
#include <utility>

#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

// Takes what stands before the next comma, in quotes or not, and the comma.
std::string TakeArgument(std::string& text) {
  if (!text.starts_with('"')) return TakeUntil(',', text);
  const size_t end = text.find('"', 1) + 1;
  const std::string quoted = text.substr(0, end);
  text.erase(0, end + 1);
  return ParsePlainJson(quoted).value().text;
}

// NAME=REDUCER(PATH[,N]), and for concat NAME=concat(PATH[,SEP[,N]]).
void AddMerge(std::string text, NdjsonOptions& options) {
  PlainMerge merge;
  merge.name = TakeUntil('=', text);
  merge.reducer = TakeUntil('(', text);
  text.back() = ',';
  const std::string path = TakeArgument(text);
  if (!path.empty() && path != ".") merge.path = ReadPlainPath(path);
  if (merge.reducer == "concat" && !text.empty()) merge.separator = TakeArgument(text);
  if (!text.empty()) merge.bound = std::stoull(text);
  options.merges.push_back(std::move(merge));
}

// What an option does with its text.
using Take = std::function<void(const std::string& text)>;

std::map<std::string, Take> OptionsInto(NdjsonOptions& options) {
  const auto path = [](PlainPath& to) {
    return [&to](const std::string& text) { to = ReadPlainPath(text); };
  };
  const auto duration = [](Duration& to) {
    return [&to](const std::string& text) { to = ReadPlainDuration(text).value(); };
  };
  const auto condition = [](PlainCondition& to) {
    return [&to](const std::string& text) { to = ReadPlainCondition(text); };
  };
  const auto instant = [](EngineTime& to) {
    return [&to](const std::string& text) {
      to = ReadPlainTimestamp(text.size() == 10 ? text + "T00:00:00Z" : text).value();
    };
  };
  const auto number = [](auto& to) {
    return [&to](const std::string& text) { to = std::stoull(text); };
  };
  const auto choice = [](auto& to, auto choices) {
    return [&to, choices](const std::string& text) { to = choices.at(text); };
  };
  FolderOptions& folder = options.folder;
  const std::map<std::string, Edge> edges = {
      {"trailing", Edge::kTrailing}, {"leading", Edge::kLeading}, {"both", Edge::kBoth}};
  const std::map<std::string, OnLate> on_late = {
      {"reject", OnLate::kReject}, {"fold", OnLate::kFold}, {"correct", OnLate::kCorrect}};
  const std::map<std::string, OnLimit> on_limit = {{"refuse", OnLimit::kRefuse},
                                                   {"emit", OnLimit::kEmitOldest}};
  const std::map<std::string, bool> at_end = {{"flush", false}, {"drop", true}};
  return {
      {"--key", [&](const std::string& text) { AddPlainFields(text, options.key); }},
      {"--quiet",
       [&](std::string text) {
         const std::string adaptive = TakeUntil(':', text);
         if (!adaptive.empty())
           folder.quiet_floor = ReadPlainDuration(TakeUntil('.', text)).value();
         if (!adaptive.empty()) TakeUntil('.', text);
         folder.quiet_period = ReadPlainDuration(text).value();
       }},
      {"--class", path(options.key_class)},
      {"--quiet-path", path(options.quiet)},
      {"--max-wait", duration(folder.max_wait)},
      {"--close-every",
       [&](std::string text) {
         // DURATION, DURATION@HH:MM or DURATION@DURATION
         text += text.find('@') == std::string::npos ? "@00:00" : "";
         folder.closing.every = ReadPlainDuration(TakeUntil('@', text)).value();
         const auto two = [&](size_t at) { return std::stoll(text.substr(at, 2)); };
         folder.closing.phase = text.find(':') == std::string::npos
                                    ? ReadPlainDuration(text).value()
                                    : Duration{60'000'000 * (60 * two(0) + two(3))};
       }},
      {"--close-at", path(options.close_at)},
      {"--max-events", number(folder.max_events)},
      {"--max-bytes",
       [&](const std::string& text) { folder.max_group_bytes = ReadPlainBytes(text); }},
      {"--where", condition(options.where)},
      {"--from", instant(options.from)},
      {"--to", instant(options.to)},
      {"--start-when", condition(options.start_when)},
      {"--end-when", condition(options.end_when)},
      {"--close-when", condition(options.close_when)},
      {"--flush-when", condition(options.flush_when)},
      {"--cancel-when", condition(options.cancel_when)},
      {"--edge", choice(folder.edge, edges)},
      {"--leading", [&](const std::string& text) { folder.leading_events = std::stoull(text); }},
      {"--deduplication-window", duration(folder.late.deduplication_window)},
      {"--partial-every", duration(folder.partial_every)},
      {"--time", path(options.time)},
      {"--time-unit", [&](const std::string& text) { options.time_unit = text; }},
      {"--reorder", duration(options.reorder)},
      {"--allowed-lateness", duration(folder.late.allowed_lateness)},
      {"--on-late", choice(folder.late.on_late, on_late)},
      {"--future-limit",
       [&](const std::string& text) {
         options.engine.future_limit = ReadPlainDuration(text).value();
       }},
      {"--id", path(options.id)},
      {"--merge", [&](const std::string& text) { AddMerge(text, options); }},
      {"--rest", [&](const std::string& text) { options.rest = text; }},
      {"--raw", number(options.raw)},
      {"--raw-last", number(options.raw_last)},
      {"--max-groups", number(folder.limits.max_groups)},
      {"--on-limit", choice(folder.limits.on_limit, on_limit)},
      {"--at-end", choice(options.drop_at_end, at_end)},
      {"--threads", [](const std::string&) {}},
  };
}

}  // namespace

PlainCall ReadPlainOptions(const std::vector<std::string>& arguments) {
  PlainCall call;
  std::map<std::string, Take> known = OptionsInto(call.options);
  known["--stats"] = [&](const std::string& text) { call.stats = text; };
  const std::map<std::string, std::function<void()>> flags = {
      {"--no-meta", [&] { call.options.meta = false; }},
      {"--emission-id", [&] { call.options.emission_id = true; }},
      {"--quiet-summary", [] {}},
      {"--strict", [] {}}};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (flags.contains(argument)) {
      flags.at(argument)();
    } else if (!argument.starts_with("--")) {
      call.files.push_back(argument);
    } else if (i + 1 < arguments.size() && known.contains(argument)) {
      known.at(argument)(arguments[++i]);
    } else if (call.unknown.empty()) {
      call.unknown = argument;
    }
  }
  FolderOptions& folder = call.options.folder;
  const bool digests = folder.closing.every != kForever;
  if (folder.quiet_period == Duration{0} && digests) folder.quiet_period = kForever;
  return call;
}

}  // namespace pleat::inline v0_1
