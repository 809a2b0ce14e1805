// What an episode of presence is made of: configurations and operations, drawn from choices, and how
// they are shown.
#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>

#include "tests/model/presence_episode.h"
#include "tests/model/series_draw.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

Duration DrawSteps(Choices& choices, const PresenceConfig& config, uint64_t end) {
  return Duration{config.stride * static_cast<int64_t>(choices.Below(end))};
}

void DrawSpans(Choices& choices, const PresenceConfig& config, PresenceOptions& options) {
  options.ttl = Duration{config.stride} + DrawSteps(choices, config, 12);
  options.grace = choices.OneIn(3) ? Duration{0} : DrawSteps(choices, config, 8);
  if (choices.OneIn(16))
    options.ttl = choices.OneOf({kForever, kForever - Duration{1}, kEndOfTime - kT0});
  if (choices.OneIn(16))
    options.grace = choices.OneOf({kForever, kForever - Duration{1}, kEndOfTime - kT0});
}

// Of those that are shared, each partition gets a few.
void DrawPresenceLimits(Choices& choices, PresenceConfig& config) {
  PresenceLimits& limits = config.presence.limits;
  const auto shares = static_cast<size_t>(config.engine.partitions);
  if (choices.OneIn(8)) config.presence.max_changes = shares * (1 + choices.Below(8));
  if (choices.OneIn(3)) return;
  if (choices.OneIn(3)) limits.max_per_user = 1 + choices.Below(2);
  if (choices.OneIn(3)) limits.max_per_series = 1 + choices.Below(4);
  if (choices.OneIn(3)) limits.max_series = shares * (1 + choices.Below(3));
  if (choices.OneIn(3)) limits.max_users = shares * (1 + choices.Below(5));
  if (choices.OneIn(3)) limits.max_connections = shares * (1 + choices.Below(6));
  config.few_bytes = choices.OneIn(6);
  if (config.few_bytes) limits.max_bytes = shares * (300 + choices.Below(5'000));
}

// Around `clock`, mostly a little before it; ties are frequent, and so are instants at, just before
// and just after those that decide: the stamp whose deadline is `clock`, and the future limit.
EngineTime DrawMoment(Choices& choices, const PresenceConfig& config, EngineTime clock) {
  if (choices.OneIn(500)) return choices.OneOf({kBeginningOfTime, kEndOfTime});
  const auto steps = static_cast<int64_t>(choices.Below(choices.OneIn(4) ? 40 : 6)) - 2;
  Duration back{steps * config.stride};
  if (choices.OneIn(10)) back = config.presence.ttl;
  if (choices.OneIn(40)) back = -config.engine.future_limit.value_or(Duration{0});
  if (choices.OneIn(6)) clock = SaturatingSub(clock, config.engine.watermark_delay);
  const Duration nudge{choices.OneOf({0, 0, 0, 0, 0, -1, 1})};
  return SaturatingAdd(SaturatingSub(clock, back), nudge);
}

// Mostly by a little; now and then past what decides, or exactly there.
EngineTime DrawLater(Choices& choices, const PresenceConfig& config, EngineTime clock) {
  Duration leap = DrawSteps(choices, config, 5);
  if (choices.OneIn(8)) leap = config.presence.ttl;
  if (choices.OneIn(8)) leap = config.presence.grace;
  if (leap > Duration{config.stride * 100}) leap = Duration{config.stride};  // forever
  const Duration nudge{choices.OneOf({0, 0, 0, 0, 1})};
  return SaturatingAdd(clock, leap + nudge);
}

PresenceVerb DrawPresenceVerb(Choices& choices, bool is_end) {
  using enum PresenceVerb;
  if (is_end && choices.OneIn(40)) return choices.OneOf({kStop, kClose});
  if (choices.OneIn(50)) return kRestart;
  if (choices.OneIn(40)) return kSetOptions;
  return choices.OneOf({kEnter,   kEnter,   kEnter,       kEnter, kEnter, kBeat,  kBeat,
                        kBeat,    kUpdate,  kUpdate,      kLeave, kLeave, kLeave, kAdvance,
                        kAdvance, kAdvance, kAdvanceSome, kCrowd, kWatch, kRead,  kRead});
}

}  // namespace

PresenceConfig DrawPresenceConfig(Choices& choices, Axis axis, int partitions) {
  PresenceConfig config;
  config.engine.axis = axis;
  config.engine.partitions = partitions;
  config.engine.huge_pages = HugePages::kOff;
  config.engine.internals.hash_key = {{choices.Any(), choices.Any()}};
  config.stride = choices.OneOf<int64_t>({1, 1, 1'000, 60'000'000});
  if (axis == Axis::kEvent) config.engine.watermark_delay = DrawSteps(choices, config, 10);
  if (choices.OneIn(4)) {
    config.engine.future_limit = Duration{config.stride * choices.OneOf({1, 30})};
  }
  DrawSpans(choices, config, config.presence);
  DrawPresenceLimits(choices, config);
  config.series = DrawNames(choices, 's', choices.OneOf<size_t>({1, 2, 5, 12}));
  config.users = DrawNames(choices, 'u', choices.OneOf<size_t>({1, 2, 4, 20}));
  config.connections = DrawNames(choices, 'c', choices.OneOf<size_t>({1, 2, 3}));
  if (choices.OneIn(60)) {  // large series, which are other structures than small ones
    config.series.resize(1);
    config.users = DrawNames(choices, 'u', 300);
    config.crowd = 300;
  }
  config.metadata = choices.OneOf<uint64_t>({1, 2, 3});
  config.settles = !choices.OneIn(3);
  return config;
}

std::vector<PresenceOp> DrawPresenceOps(Choices& choices, const PresenceConfig& config,
                                        size_t count) {
  std::vector<PresenceOp> ops;
  EngineTime clock = kT0;
  while (ops.size() < count && !choices.exhausted()) {
    PresenceOp op;
    op.verb = DrawPresenceVerb(choices, ops.size() > count * 9 / 10);
    const bool advances =
        op.verb == PresenceVerb::kAdvance || op.verb == PresenceVerb::kAdvanceSome;
    if (choices.OneIn(3)) clock = SaturatingAdd(clock, Duration{config.stride});
    if (advances) clock = DrawLater(choices, config, clock);
    op.series = choices.Below(config.series.size());
    op.user = choices.Below(config.users.size());
    op.connection = choices.Below(config.connections.size());
    op.metadata = choices.Below(config.metadata);
    op.at = advances ? clock : DrawMoment(choices, config, clock);
    using enum Meant;
    op.generation = choices.OneOf({kLatest, kLatest, kLatest, kLatest, kLatest, kLatest, kLatest,
                                   kLatest, kOneBefore, kNeighbours, kZero, kLargest});
    if (op.verb == PresenceVerb::kCrowd) op.crowd = choices.Below(config.crowd);
    if (op.verb == PresenceVerb::kAdvanceSome) op.budget = choices.Below(4);
    if (op.verb == PresenceVerb::kRestart) op.skips = choices.OneIn(3);
    const bool restarts = op.verb == PresenceVerb::kRestart && choices.OneIn(2);
    if (restarts || op.verb == PresenceVerb::kSetOptions) {
      op.options = config.presence;
      DrawSpans(choices, config, *op.options);
    }
    op.watcher = choices.Below(4);
    if (choices.OneIn(2)) op.prefix = choices.Below(3);
    op.max = choices.OneOf<size_t>({1, 2, 5, 50, 0});
    op.ahead = choices.OneIn(4) ? config.presence.ttl - Duration{choices.Below(2)}
                                : DrawSteps(choices, config, 12);
    op.page = 1 + choices.Below(6);
    ops.push_back(op);
  }
  return ops;
}

std::ostream& operator<<(std::ostream& out, const PresenceConfig& c) {
  const PresenceLimits& limits = c.presence.limits;
  return out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, "
             << c.engine.partitions << " partitions, watermark delay "
             << ShortText(c.engine.watermark_delay) << ", future_limit "
             << (c.engine.future_limit ? ShortText(*c.engine.future_limit) : "unless told")
             << ", ttl " << ShortText(c.presence.ttl) << ", grace " << ShortText(c.presence.grace)
             << ", max_per_user " << limits.max_per_user << ", max_per_series "
             << limits.max_per_series << ", max_series " << limits.max_series << ", max_users "
             << limits.max_users << ", max_connections " << limits.max_connections << ", max_bytes "
             << limits.max_bytes << ", max_changes " << c.presence.max_changes << ", "
             << c.series.size() << " series, " << c.users.size() << " users, "
             << c.connections.size() << " connections" << (c.settles ? "" : ", not settled");
}

std::ostream& operator<<(std::ostream& out, const PresenceOp& op) {
  constexpr std::array<std::string_view, 13> kVerbs = {
      "enter", "beat", "update", "leave", "crowd",       "advance", "advance some",
      "watch", "read", "stop",   "close", "set options", "restart"};
  constexpr std::array<std::string_view, 5> kGenerations = {
      "latest", "one before", "the neighbour's", "zero", "the largest"};
  out << kVerbs.at(static_cast<size_t>(op.verb)) << " s" << op.series << " u" << op.user << " c"
      << op.connection << " at " << ShortText(op.at) << " metadata " << op.metadata;
  if (op.generation != Meant::kLatest) {
    out << " generation " << kGenerations.at(static_cast<size_t>(op.generation));
  }
  if (op.verb == PresenceVerb::kCrowd) out << " of " << op.crowd;
  if (op.verb == PresenceVerb::kAdvanceSome) out << ", budget " << op.budget;
  if (op.verb == PresenceVerb::kWatch || op.verb == PresenceVerb::kRead) {
    out << " by " << op.watcher << ", at most " << op.max;
    if (op.prefix) out << ", a prefix of " << *op.prefix;
  }
  if (op.skips) out << ", numbers skipped";
  if (op.options) {
    out << ", options: ttl " << ShortText(op.options->ttl) << ", grace "
        << ShortText(op.options->grace);
  }
  return out << " (read " << ShortText(op.ahead) << " ahead)";
}

}  // namespace pleat::inline v0_1
