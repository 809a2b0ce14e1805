#include "tests/model/plain_rollup_options.h"

#include <functional>
#include <map>

#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using Take = std::function<void(const std::string& text)>;

std::map<std::string, Take> OptionsInto(RollupLinesOptions& options) {
  const auto path = [](PlainPath& to) {
    return [&to](const std::string& text) { to = ReadPlainPath(text); };
  };
  const auto duration = [](Duration& to) {
    return [&to](const std::string& text) { to = ReadPlainDuration(text).value(); };
  };
  return {
      {"--key", [&](const std::string& text) { AddPlainFields(text, options.key); }},
      {"--value", path(options.value)},
      {"--id", path(options.id)},
      {"--window",
       [&](std::string text) {
         text += ',';
         while (!text.empty()) {
           options.windows.push_back(ReadPlainDuration(TakeUntil(',', text)).value());
         }
       }},
      {"--allowed-lateness", duration(options.allowed_lateness)},
      {"--margin", duration(options.margin)},
      {"--on-late", [&](const std::string& text) { options.on_late = text; }},
      {"--time", path(options.time)},
      {"--time-unit", [&](const std::string& text) { options.time_unit = text; }},
      {"--reorder", duration(options.reorder)},
      {"--future-limit", duration(options.future_limit)},
      {"--max-keys", [&](const std::string& text) { options.max_keys = std::stoull(text); }},
      {"--at-end", [&](const std::string& text) { options.drop_at_end = text == "drop"; }},
  };
}

}  // namespace

PlainRollupCall ReadPlainRollupOptions(const std::vector<std::string>& arguments) {
  PlainRollupCall call;
  const std::map<std::string, Take> known = OptionsInto(call.options);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--emission-id") {
      call.options.emission_id = true;
    } else if (argument == "--strict") {
    } else if (i + 1 < arguments.size() && known.contains(argument)) {
      known.at(argument)(arguments[++i]);
    } else if (call.unknown.empty()) {
      call.unknown = argument;
    }
  }
  return call;
}

}  // namespace pleat::inline v0_1
