#include "tests/model/plain_live_set_options.h"

#include <functional>
#include <map>

#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using Take = std::function<void(const std::string& text)>;

std::map<std::string, Take> OptionsInto(LiveSetLinesOptions& options) {
  const auto path = [](PlainPath& to) {
    return [&to](const std::string& text) { to = ReadPlainPath(text); };
  };
  const auto duration = [](Duration& to) {
    return [&to](const std::string& text) { to = ReadPlainDuration(text).value(); };
  };
  const auto number = [](size_t& to) {
    return [&to](const std::string& text) { to = std::stoull(text); };
  };
  return {
      {"--key", [&](const std::string& text) { AddPlainFields(text, options.key); }},
      {"--member", [&](const std::string& text) { AddPlainFields(text, options.member); }},
      {"--ttl", duration(options.ttl)},
      {"--ttl-path", path(options.ttl_path)},
      {"--payload", path(options.payload)},
      {"--version", path(options.version)},
      {"--remove-when",
       [&](const std::string& text) { options.remove_when = ReadPlainCondition(text); }},
      {"--refresh", [&](const std::string& text) { options.refresh = text; }},
      {"--time", path(options.time)},
      {"--time-unit", [&](const std::string& text) { options.time_unit = text; }},
      {"--reorder", duration(options.reorder)},
      {"--future-limit", duration(options.future_limit)},
      {"--max-series", number(options.max_series)},
      {"--max-members", number(options.max_members)},
      {"--on-limit", [&](const std::string& text) { options.drops = text == "drop"; }},
      {"--every", duration(options.every)},
      {"--within",
       [&](std::string text) {
         text += ',';
         while (!text.empty()) {
           const std::string length = TakeUntil(',', text);
           options.within.emplace_back(length, ReadPlainDuration(length).value());
         }
       }},
      {"--top", number(options.top)},
  };
}

}  // namespace

PlainLiveSetCall ReadPlainLiveSetOptions(const std::vector<std::string>& arguments) {
  PlainLiveSetCall call;
  const std::map<std::string, Take> known = OptionsInto(call.options);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--refreshes") {
      call.options.refreshes = true;
    } else if (argument == "--changes" || argument == "--strict") {
    } else if (i + 1 < arguments.size() && known.contains(argument)) {
      known.at(argument)(arguments[++i]);
    } else if (call.unknown.empty()) {
      call.unknown = argument;
    }
  }
  return call;
}

}  // namespace pleat::inline v0_1
