// What an episode of a live set is made of: configurations and operations, drawn from choices,
// and how they are shown.
#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "tests/model/live_set_episode.h"
#include "tests/model/series_draw.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

void DrawLimits(Choices& choices, LiveSetLimits& limits) {
  if (choices.OneIn(3)) return;
  if (choices.OneIn(2)) limits.max_series = 1 + choices.Below(3);
  if (choices.OneIn(2)) limits.max_members = 1 + choices.Below(6);
  if (choices.OneIn(2)) limits.max_per_series = 1 + choices.Below(4);
  limits.on_limit = choices.OneOf({OnLiveSetLimit::kRefuse, OnLiveSetLimit::kDropOldest});
}

Duration DrawTtl(Choices& choices, const LiveSetConfig& config) {
  const int64_t around = config.stride * static_cast<int64_t>(1 + choices.Below(30));
  if (choices.OneIn(16)) return choices.OneOf({kForever, kForever - Duration{1}, kEndOfTime - kT0});
  return Duration{around};
}

Duration DrawOwnTtl(Choices& choices, const LiveSetConfig& config) {
  if (!config.has_ttls || choices.OneIn(2)) return Duration{0};
  if (choices.OneIn(16)) return choices.OneOf({Duration{-1}, Duration::min(), Duration{1}});
  return DrawTtl(choices, config);
}

// Around `clock`, mostly a little before it; ties are frequent.
EngineTime DrawStamp(Choices& choices, const LiveSetConfig& config, EngineTime clock) {
  if (choices.OneIn(500)) return choices.OneOf({kBeginningOfTime, kEndOfTime});
  const auto steps = static_cast<int64_t>(choices.Below(choices.OneIn(4) ? 40 : 6)) - 2;
  return SaturatingSub(clock, Duration{steps * config.stride});
}

LiveSetEventOp DrawEvent(Choices& choices, const LiveSetConfig& config, EngineTime clock) {
  LiveSetEventOp event;
  event.series = choices.Below(config.series.size());
  event.id = choices.Below(config.ids.size());
  event.at = DrawStamp(choices, config, clock);
  event.ttl = DrawOwnTtl(choices, config);
  if (config.has_versions && !choices.OneIn(4)) event.version = choices.Below(3);
  event.payload = choices.Below(config.payloads);
  return event;
}

// The limits stay: with one below what is there an event may end several members, which the model does
// not do.
LiveSetOptions DrawOptions(Choices& choices, const LiveSetConfig& config) {
  LiveSetOptions options = config.live_set;
  options.ttl = DrawTtl(choices, config);
  if (choices.OneIn(2)) options.retention = DrawTtl(choices, config);
  if (choices.OneIn(4)) {
    options.refresh = choices.OneOf({Refresh::kLatest, Refresh::kFirst, Refresh::kReplace});
  }
  return options;
}

LiveSetVerb DrawVerb(Choices& choices, bool is_end) {
  if (is_end && choices.OneIn(40)) return LiveSetVerb::kStop;
  using enum LiveSetVerb;
  if (!choices.OneIn(3)) return kAdd;
  return choices.OneOf({kAdvance, kAdvance, kAdvance, kAdvanceSome, kBatch, kBatch, kTouch, kTouch,
                        kImport, kRemove, kRemove, kRemoveRange, kSetTtl, kClear, kRestart,
                        kSetOptions});
}

}  // namespace

LiveSetConfig DrawLiveSetConfig(Choices& choices, Axis axis, int partitions) {
  LiveSetConfig config;
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
  config.live_set.ttl = DrawTtl(choices, config);
  if (choices.OneIn(3)) config.live_set.retention = DrawTtl(choices, config);
  config.live_set.refresh = choices.OneOf(
      {Refresh::kLatest, Refresh::kLatest, Refresh::kLatest, Refresh::kFirst, Refresh::kReplace});
  if (partitions == 1) DrawLimits(choices, config.live_set.limits);
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

std::vector<LiveSetOp> DrawLiveSetOps(Choices& choices, const LiveSetConfig& config, size_t count) {
  std::vector<LiveSetOp> ops;
  EngineTime clock = kT0;
  while (ops.size() < count && !choices.exhausted()) {
    LiveSetOp op;
    op.verb = DrawVerb(choices, ops.size() > count * 9 / 10);
    if (choices.OneIn(3)) clock = SaturatingAdd(clock, Duration{config.stride});
    if (op.verb == LiveSetVerb::kAdvance || op.verb == LiveSetVerb::kAdvanceSome) {
      clock =
          SaturatingAdd(clock, Duration{config.stride * static_cast<int64_t>(choices.Below(8))});
    }
    op.event = DrawEvent(choices, config, clock);
    if (op.verb == LiveSetVerb::kAdvance || op.verb == LiveSetVerb::kAdvanceSome)
      op.event.at = clock;
    if (op.verb == LiveSetVerb::kAdvanceSome) op.budget = choices.Below(4);
    if (op.verb == LiveSetVerb::kRestart) {
      op.skips = choices.OneIn(3);
      op.reads = choices.OneIn(2);
      if (choices.OneIn(2)) op.options = DrawOptions(choices, config);
    }
    if (op.verb == LiveSetVerb::kSetOptions) op.options = DrawOptions(choices, config);
    if (op.verb == LiveSetVerb::kSetTtl) op.event.ttl = DrawTtl(choices, config);
    if (op.verb == LiveSetVerb::kBatch || op.verb == LiveSetVerb::kImport) {
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
    op.later_wins = choices.OneIn(3);
    op.ahead = Duration{config.stride * static_cast<int64_t>(choices.Below(12))};
    op.page = 1 + choices.Below(6);
    ops.push_back(std::move(op));
  }
  return ops;
}

std::ostream& operator<<(std::ostream& out, const LiveSetConfig& c) {
  constexpr std::array<std::string_view, 3> kRefreshes = {"latest", "first", "replace"};
  const LiveSetLimits& limits = c.live_set.limits;
  out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, " << c.engine.partitions
      << " partitions, watermark delay " << ShortText(c.engine.watermark_delay) << ", future_limit "
      << (c.engine.future_limit ? ShortText(*c.engine.future_limit) : "unless told") << ", ttl "
      << ShortText(c.live_set.ttl) << ", retention " << ShortText(c.live_set.retention)
      << ", refresh " << kRefreshes.at(static_cast<size_t>(c.live_set.refresh)) << ", max_series "
      << limits.max_series << ", max_members " << limits.max_members << ", max_per_series "
      << limits.max_per_series
      << (limits.on_limit == OnLiveSetLimit::kRefuse ? ", refuse" : ", drop oldest") << ", "
      << c.series.size() << " series, " << c.ids.size() << " ids"
      << (c.settles ? "" : ", not settled");
  return out;
}

namespace {

std::ostream& operator<<(std::ostream& out, const LiveSetEventOp& event) {
  out << "s" << event.series << " i" << event.id << " at " << ShortText(event.at);
  if (event.ttl != Duration{0}) out << " ttl " << ShortText(event.ttl);
  if (event.version) out << " version " << *event.version;
  return out << " payload " << event.payload;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const LiveSetOp& op) {
  constexpr std::array<std::string_view, 13> kVerbs = {
      "add",   "batch",   "touch",        "import", "remove",  "remove range", "set ttl",
      "clear", "advance", "advance some", "stop",   "restart", "set options"};
  out << kVerbs.at(static_cast<size_t>(op.verb)) << " " << op.event;
  if (op.verb == LiveSetVerb::kRemoveRange) out << " to " << ShortText(op.to);
  if (op.verb == LiveSetVerb::kRemove && !op.names_time) out << ", by the engine's time";
  if (op.verb == LiveSetVerb::kRemove && op.only_if_not_newer) out << ", only if not newer";
  if (op.verb == LiveSetVerb::kRemove && op.later_wins) out << ", later wins";
  if (op.verb == LiveSetVerb::kAdvanceSome) out << ", budget " << op.budget;
  if (op.skips) out << ", numbers skipped";
  if (op.reads) out << ", changes read at once";
  if (op.options) {
    out << ", options: ttl " << ShortText(op.options->ttl) << ", retention "
        << ShortText(op.options->retention) << ", refresh "
        << static_cast<int>(op.options->refresh);
  }
  if (op.verb == LiveSetVerb::kBatch && op.range != PartitionRange{}) {
    out << " of [" << op.range.begin << ", " << op.range.end << ")";
  }
  for (const LiveSetEventOp& event : op.events) out << "\n        " << event;
  return out << " (read " << ShortText(op.ahead) << " ahead)";
}

}  // namespace pleat::inline v0_1
