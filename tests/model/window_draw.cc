// What an episode of a live window is made of: configurations and operations, drawn from choices,
// and how they are shown.
#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "tests/model/series_draw.h"
#include "tests/model/window_episode.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

void DrawLimits(Choices& choices, WindowLimits& limits) {
  if (choices.OneIn(3)) return;
  if (choices.OneIn(2)) limits.max_series = 1 + choices.Below(3);
  if (choices.OneIn(2)) limits.max_members = 1 + choices.Below(6);
  if (choices.OneIn(2)) limits.max_per_series = 1 + choices.Below(4);
  limits.on_limit = choices.OneOf({OnWindowLimit::kRefuse, OnWindowLimit::kDropOldest});
}

Duration DrawTtl(Choices& choices, const WindowConfig& config) {
  const int64_t around = config.stride * static_cast<int64_t>(1 + choices.Below(30));
  if (choices.OneIn(16)) return choices.OneOf({kForever, kForever - Duration{1}, kEndOfTime - kT0});
  return Duration{around};
}

Duration DrawOwnTtl(Choices& choices, const WindowConfig& config) {
  if (!config.has_ttls || choices.OneIn(2)) return Duration{0};
  if (choices.OneIn(16)) return choices.OneOf({Duration{-1}, Duration::min(), Duration{1}});
  return DrawTtl(choices, config);
}

// Around `clock`, mostly a little before it; ties are frequent.
EngineTime DrawStamp(Choices& choices, const WindowConfig& config, EngineTime clock) {
  if (choices.OneIn(500)) return choices.OneOf({kBeginningOfTime, kEndOfTime});
  const auto steps = static_cast<int64_t>(choices.Below(choices.OneIn(4) ? 40 : 6)) - 2;
  return SaturatingSub(clock, Duration{steps * config.stride});
}

WindowEventOp DrawEvent(Choices& choices, const WindowConfig& config, EngineTime clock) {
  WindowEventOp event;
  event.series = choices.Below(config.series.size());
  event.id = choices.Below(config.ids.size());
  event.at = DrawStamp(choices, config, clock);
  event.ttl = DrawOwnTtl(choices, config);
  if (config.has_versions && !choices.OneIn(4)) event.version = choices.Below(3);
  event.payload = choices.Below(config.payloads);
  return event;
}

WindowVerb DrawVerb(Choices& choices, bool is_end) {
  if (is_end && choices.OneIn(40)) return WindowVerb::kStop;
  using enum WindowVerb;
  if (!choices.OneIn(3)) return kAdd;
  return choices.OneOf({kAdvance, kAdvance, kAdvance, kAdvanceSome, kBatch, kBatch, kTouch, kTouch,
                        kImport, kRemove, kRemove, kRemoveRange, kSetTtl, kClear, kRestart});
}

}  // namespace

WindowConfig DrawWindowConfig(Choices& choices, Axis axis, int partitions) {
  WindowConfig config;
  config.engine.axis = axis;
  config.engine.partitions = partitions;
  config.engine.huge_pages = HugePages::kOff;
  config.engine.internals.hash_key = {{choices.Any(), choices.Any()}};
  config.stride = choices.OneOf<int64_t>({1, 1, 1'000, 60'000'000});
  if (axis == Axis::kEvent)
    config.engine.watermark_delay =
        Duration{static_cast<int64_t>(choices.Below(10)) * config.stride};
  if (choices.OneIn(4))
    config.engine.future_limit = Duration{config.stride * choices.OneOf({1, 30})};
  config.window.ttl = DrawTtl(choices, config);
  if (choices.OneIn(3)) config.window.retention = DrawTtl(choices, config);
  config.window.refresh = choices.OneOf(
      {Refresh::kLatest, Refresh::kLatest, Refresh::kLatest, Refresh::kFirst, Refresh::kReplace});
  if (partitions == 1) DrawLimits(choices, config.window.limits);
  config.series = DrawNames(choices, 's', choices.OneOf<size_t>({1, 2, 5, 20}));
  config.ids = DrawNames(choices, 'i', choices.OneOf<size_t>({1, 3, 6, 30}));
  if (choices.OneIn(40)) {  // large series, which are other structures than small ones
    config.series.resize(1);
    config.ids = DrawNames(choices, 'i', 2000);
    config.batch = 2000;
  }
  config.has_ttls = choices.OneIn(3);
  config.has_versions = choices.OneIn(3);
  config.payloads = choices.OneOf<uint64_t>({1, 2, 3});
  config.by_range = partitions > 1 && choices.OneIn(3);
  config.settles = !choices.OneIn(3);
  return config;
}

std::vector<WindowOp> DrawWindowOps(Choices& choices, const WindowConfig& config, size_t count) {
  std::vector<WindowOp> ops;
  EngineTime clock = kT0;
  while (ops.size() < count && !choices.exhausted()) {
    WindowOp op;
    op.verb = DrawVerb(choices, ops.size() > count * 9 / 10);
    if (choices.OneIn(3)) clock = SaturatingAdd(clock, Duration{config.stride});
    if (op.verb == WindowVerb::kAdvance || op.verb == WindowVerb::kAdvanceSome) {
      clock =
          SaturatingAdd(clock, Duration{config.stride * static_cast<int64_t>(choices.Below(8))});
    }
    op.event = DrawEvent(choices, config, clock);
    if (op.verb == WindowVerb::kAdvance || op.verb == WindowVerb::kAdvanceSome) op.event.at = clock;
    if (op.verb == WindowVerb::kAdvanceSome) op.budget = choices.Below(4);
    if (op.verb == WindowVerb::kRestart) {
      op.skips = choices.OneIn(3);
      op.reads = choices.OneIn(2);
    }
    if (op.verb == WindowVerb::kSetTtl) op.event.ttl = DrawTtl(choices, config);
    if (op.verb == WindowVerb::kBatch || op.verb == WindowVerb::kImport) {
      const size_t events = choices.Below(choices.OneIn(8) ? config.batch : 8);
      while (op.events.size() < events) op.events.push_back(DrawEvent(choices, config, clock));
    }
    if (config.by_range) {
      op.range.begin = static_cast<int>(choices.Below(2));
      op.range.end =
          1 + static_cast<int>(choices.Below(static_cast<uint64_t>(config.engine.partitions)));
    }
    op.to = SaturatingAdd(op.event.at,
                          Duration{config.stride * static_cast<int64_t>(choices.Below(6))});
    op.names_time = choices.OneIn(2);
    op.only_if_not_newer = choices.OneIn(3);
    op.ahead = Duration{config.stride * static_cast<int64_t>(choices.Below(12))};
    op.page = 1 + choices.Below(6);
    ops.push_back(std::move(op));
  }
  return ops;
}

std::ostream& operator<<(std::ostream& out, const WindowConfig& c) {
  constexpr std::array<std::string_view, 3> kRefreshes = {"latest", "first", "replace"};
  const WindowLimits& limits = c.window.limits;
  out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, " << c.engine.partitions
      << " partitions, watermark delay " << ShortText(c.engine.watermark_delay) << ", future_limit "
      << (c.engine.future_limit ? ShortText(*c.engine.future_limit) : "unless told") << ", ttl "
      << ShortText(c.window.ttl) << ", retention " << ShortText(c.window.retention) << ", refresh "
      << kRefreshes.at(static_cast<size_t>(c.window.refresh)) << ", max_series "
      << limits.max_series << ", max_members " << limits.max_members << ", max_per_series "
      << limits.max_per_series
      << (limits.on_limit == OnWindowLimit::kRefuse ? ", refuse" : ", drop oldest") << ", "
      << c.series.size() << " series, " << c.ids.size() << " ids"
      << (c.settles ? "" : ", not settled");
  return out;
}

namespace {

std::ostream& operator<<(std::ostream& out, const WindowEventOp& event) {
  out << "s" << event.series << " i" << event.id << " at " << ShortText(event.at);
  if (event.ttl != Duration{0}) out << " ttl " << ShortText(event.ttl);
  if (event.version) out << " version " << *event.version;
  return out << " payload " << event.payload;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const WindowOp& op) {
  constexpr std::array<std::string_view, 12> kVerbs = {
      "add",     "batch", "touch",   "import",       "remove", "remove range",
      "set ttl", "clear", "advance", "advance some", "stop",   "restart"};
  out << kVerbs.at(static_cast<size_t>(op.verb)) << " " << op.event;
  if (op.verb == WindowVerb::kRemoveRange) out << " to " << ShortText(op.to);
  if (op.verb == WindowVerb::kRemove && !op.names_time) out << ", by the engine's time";
  if (op.verb == WindowVerb::kRemove && op.only_if_not_newer) out << ", only if not newer";
  if (op.verb == WindowVerb::kAdvanceSome) out << ", budget " << op.budget;
  if (op.skips) out << ", numbers skipped";
  if (op.reads) out << ", changes read at once";
  if (op.verb == WindowVerb::kBatch && op.range != PartitionRange{}) {
    out << " of [" << op.range.begin << ", " << op.range.end << ")";
  }
  for (const WindowEventOp& event : op.events) out << "\n        " << event;
  return out << " (read " << ShortText(op.ahead) << " ahead)";
}

}  // namespace pleat::inline v0_1
