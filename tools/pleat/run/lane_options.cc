#include "tools/pleat/run/lane_options.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <pleat/engine.h>
#include <pleat/json.h>

#include "tools/pleat/run/message_output.h"
#include "tools/pleat/text_digest.h"

namespace pleat::cli {
namespace {

// Raised when a line comes to other messages than before.
constexpr uint64_t kLinesVersion = 2;

// Another one for any options by which records come to other messages.
uint64_t VersionOf(const RunOptions& options) {
  std::string text = std::to_string(kLinesVersion);
  const auto add = [&text](std::string_view word) {
    text += std::to_string(word.size());
    text += ':';
    text += word;
  };
  for (const RunCollection& each : options.collections) {
    add(each.name);
    constexpr std::string_view kKinds[] = {"fold", "rollup", "live"};  // as in the variant
    add(kKinds[each.spec.index()]);
    if (each.refreshes) add("refreshes");
    const auto texts = std::visit([](const auto& spec) { return OptionsOf(spec); }, each.spec);
    for (const auto& [name, value] : texts) {
      add(name);
      add(value);
    }
  }
  add(options.keeps_invalid() ? "invalid" : "");
  add(options.keeps_late() ? "late" : "");
  if (!options.invalid_topic.empty()) add("invalid-topic");
  if (!options.late_topic.empty()) add("late-topic");
  const bool on_event_time = !options.collections.front().event().time.empty();
  add(on_event_time ? FormatDuration(options.idle) : "");
  TextDigest digest;
  digest.Add(text);
  return digest.value();
}

}  // namespace

ProcessorOptions OptionsFor(const RunOptions& options, int partitions) {
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  ProcessorOptions lanes;
  lanes.version = VersionOf(options);
  const EventSpec& event = options.collections.front().event();
  lanes.engine = EngineOptionsFor(event);
  // Lines that wait are held against it before the engine is; it keeps no other ones out.
  if (event.future_limit < kForever) {
    lanes.engine.future_limit = event.future_limit + std::min(event.reorder, kForever / 2);
  }
  lanes.idle = options.idle;
  // A run that ends with the log does not wait for silence, so that what is open stays open.
  const bool on_event_time = lanes.engine.axis == Axis::kEvent;
  if (on_event_time && options.at_end != RunEnd::kFollow) lanes.margin = kForever;
  lanes.commit_every = options.commit_every;
  lanes.replay_limit = static_cast<uint64_t>(options.replay_limit);
  lanes.messages_bytes_max =
      std::max(kLeast, kUnconfirmedBytesMax / static_cast<uint64_t>(partitions));
  return lanes;
}

}  // namespace pleat::cli
