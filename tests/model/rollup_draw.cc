// What an episode of a rollup counter is made of: configurations and operations, drawn from
// choices, and how they are shown.
#include <algorithm>
#include <array>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/model/rollup_episode.h"
#include "tests/model/rollup_words.h"
#include "tests/model/series_draw.h"
#include "tests/support/start.h"
#include "tests/support/uneven_calendar.h"

namespace pleat::inline v0_1 {
namespace {

// Sums of these depend on no order, but for those that leave their type. A clear splits a window in
// the order of stamps, so that with clears no sum may.
std::vector<Delta> DrawDeltas(Choices& choices, bool may_saturate) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  switch (choices.Below(may_saturate ? 6 : 4)) {
    case 0: return {1};
    case 1: return {1, 2, -1, 0, 1'000'000'007, Delta::None()};
    case 2: return {0.25, -0.25, 0.75, 1e6};
    case 3: return {Delta::None(), -2, 0.25, Delta::None(), 0};
    case 4: return {INT64_MAX, INT64_MIN, 1, -1, Delta::Above(), Delta::Below()};
    default: return {1e308, -1e308, kInfinity, -kInfinity, kNoNumber, 1};
  }
}

Duration Around(Choices& choices, const RollupConfig& config, uint64_t most) {
  return Duration{config.stride * static_cast<int64_t>(choices.Below(most))};
}

// Whether events that bring windows due may meet a full backlog: then no counter is forgotten, because
// one that is over has all that is due closed first.
bool MeetsBacklog(const RollupConfig& config) {
  return config.engine.axis == Axis::kEvent &&
         config.rollup.limits.max_backlog != RollupLimits().max_backlog;
}

// What may change while a counter runs.
void DrawPeriods(Choices& choices, const RollupConfig& config, RollupOptions& rollup) {
  rollup.retention = choices.OneIn(2) ? Around(choices, config, 40) : Duration{0};
  rollup.forget_after =
      choices.OneIn(3) ? rollup.retention + Around(choices, config, 30) : kForever;
  if (choices.OneIn(20)) rollup.retention = rollup.forget_after = kForever;
}

RollupOptions DrawOthers(Choices& choices, const RollupConfig& config) {
  RollupOptions others = config.rollup;
  DrawPeriods(choices, config, others);
  if (others.on_late != OnLateAdd::kCorrect) {
    others.on_late = choices.OneOf({OnLateAdd::kReject, OnLateAdd::kClamp});
  }
  if (MeetsBacklog(config)) others.forget_after = kForever;
  return others;
}

void DrawRules(Choices& choices, RollupConfig& config) {
  RollupOptions& rollup = config.rollup;
  rollup.windows = {Duration{1} + Around(choices, config, 10)};
  for (uint64_t more = choices.Below(3); more > 0; --more) {
    const auto times = static_cast<int64_t>(2 + choices.Below(3));
    const Duration last = rollup.windows.back();
    if (last < kEndOfTime - kBeginningOfTime) {
      rollup.windows.push_back(rollup.windows.front() *
                               (last / rollup.windows.front() + times - 1));
    }
  }
  if (config.stride > 1 && choices.OneIn(3)) {
    rollup.windows = {10 * Duration{config.stride}};
    if (choices.OneIn(2)) rollup.windows.push_back(3 * rollup.windows.front());
    MakeUneven(rollup);
  } else if (choices.OneIn(30)) {
    rollup.windows = {Duration{1} + (kEndOfTime - kT0)};
  }
  rollup.allowed_lateness = Around(choices, config, choices.OneOf<uint64_t>({1, 4, 12, 40}));
  if (choices.OneIn(3)) rollup.margin = Around(choices, config, 12);
  if (choices.OneIn(60)) rollup.margin = kForever - Duration{1};
  rollup.on_late = choices.OneOf({OnLateAdd::kReject, OnLateAdd::kClamp, OnLateAdd::kCorrect});
  if (choices.OneIn(2)) {
    rollup.deduplication_window = rollup.allowed_lateness + Around(choices, config, 20);
  }
  DrawPeriods(choices, config, rollup);
  rollup.clears = choices.OneIn(3);
  if (choices.OneIn(3)) rollup.leases.max_deliveries = 1 + static_cast<uint32_t>(choices.Below(3));
  rollup.leases.wait_behind_dead = rollup.leases.max_deliveries % 2 == 1;
}

void DrawRollupLimits(Choices& choices, RollupConfig& config) {
  if (choices.OneIn(2)) return;
  if (choices.OneIn(2)) config.rollup.limits.max_keys = 1 + choices.Below(3);
  if (choices.OneIn(2)) return;
  // What an event meets depends on what has been closed before.
  config.rollup.limits.max_backlog = 1 + choices.Below(6);
  config.settles = true;
  if (!MeetsBacklog(config)) return;
  config.batch = 2;
  config.rollup.forget_after = kForever;
}

// Around `clock`, mostly a little before it; ties are frequent.
EngineTime DrawRollupStamp(Choices& choices, const RollupConfig& config, EngineTime clock) {
  if (choices.OneIn(800)) return choices.OneOf({kBeginningOfTime, kEndOfTime});
  const auto steps = static_cast<int64_t>(choices.Below(choices.OneIn(4) ? 60 : 12)) - 3;
  return SaturatingSub(clock, Duration{steps * config.stride});
}

RollupEventOp DrawRollupEvent(Choices& choices, const RollupConfig& config, EngineTime clock) {
  return {.key = choices.Below(config.keys.size()),
          .id = choices.OneIn(3) ? 0 : choices.Below(config.ids.size()),
          .delta = choices.Below(config.deltas.size()),
          .at = DrawRollupStamp(choices, config, clock)};
}

RollupVerb DrawRollupVerb(Choices& choices, const RollupConfig& config, bool is_end) {
  using enum RollupVerb;
  if (is_end && choices.OneIn(40)) return kStop;
  if (!choices.OneIn(3)) return choices.OneIn(6) ? kAddAndGet : kAdd;
  if (config.rollup.clears && choices.OneIn(4)) return kClear;
  if (choices.OneIn(40)) return kCloseAll;
  if (choices.OneIn(12)) return kRestart;
  if (choices.OneIn(16)) return kSetOptions;
  return choices.OneOf({kAdvance, kAdvance, kAdvance, kAdvanceSome, kBatch, kBatch, kPop, kPop,
                        kLease, kLease, kAck, kAck, kNack, kAdvanceLeases, kRef, kDropRef});
}

bool MovesTime(RollupVerb verb) {
  return verb == RollupVerb::kAdvance || verb == RollupVerb::kAdvanceSome;
}

}  // namespace

RollupConfig DrawRollupConfig(Choices& choices, Axis axis, int partitions) {
  RollupConfig config;
  config.engine.axis = axis;
  config.engine.partitions = partitions;
  config.engine.huge_pages = HugePages::kOff;
  config.engine.internals.hash_key = {{choices.Any(), choices.Any()}};
  config.stride = choices.OneOf<int64_t>({1, 1, 1, 60'000'000});
  config.start = choices.OneOf({EngineTime{}, EngineTime{}, EngineTime{}, kT0, kBeginningOfTime,
                                kEndOfTime - Duration{40 * config.stride}});
  if (axis == Axis::kEvent && choices.OneIn(2)) {
    config.engine.watermark_delay = Around(choices, config, 10);
  }
  if (choices.OneIn(4)) {
    config.engine.future_limit = Duration{config.stride * choices.OneOf({2, 30})};
  }
  DrawRules(choices, config);
  config.keys = DrawNames(choices, 'k', choices.OneOf<size_t>({1, 2, 5, 20}));
  config.ids = {""};
  if (choices.OneIn(2)) {
    for (std::string& id : DrawNames(choices, 'i', choices.OneOf<size_t>({1, 3, 30}))) {
      config.ids.push_back(std::move(id));
    }
  }
  config.deltas = DrawDeltas(choices, /*may_saturate=*/!config.rollup.clears);
  if (choices.OneIn(6)) config.batch = 200;
  config.by_range = partitions > 1 && choices.OneIn(3);
  config.settles = !choices.OneIn(2);
  if (partitions == 1) DrawRollupLimits(choices, config);
  return config;
}

std::vector<RollupOp> DrawRollupOps(Choices& choices, const RollupConfig& config, size_t count) {
  std::vector<RollupOp> ops;
  EngineTime clock = config.start;
  while (ops.size() < count && !choices.exhausted()) {
    RollupOp op;
    op.verb = DrawRollupVerb(choices, config, ops.size() > count * 9 / 10);
    if (choices.OneIn(3)) clock = SaturatingAdd(clock, Duration{config.stride});
    if (MovesTime(op.verb)) clock = SaturatingAdd(clock, Around(choices, config, 8));
    op.event = DrawRollupEvent(choices, config, clock);
    if (MovesTime(op.verb) || op.verb == RollupVerb::kAdvanceLeases) op.event.at = clock;
    if (op.verb == RollupVerb::kAdvanceSome) op.budget = choices.Below(4);
    if (op.verb == RollupVerb::kBatch) {
      const size_t events = choices.Below(choices.OneIn(8) ? config.batch : 8) % config.batch;
      while (op.events.size() < events) {
        op.events.push_back(DrawRollupEvent(choices, config, clock));
      }
    }
    if (config.by_range) {
      op.range.begin = static_cast<int>(choices.Below(2));
      op.range.end =
          1 + static_cast<int>(choices.Below(static_cast<uint64_t>(config.engine.partitions)));
    }
    op.n = choices.Below(6);
    const bool changes =
        op.verb == RollupVerb::kRestart ? choices.OneIn(2) : op.verb == RollupVerb::kSetOptions;
    if (changes) op.options = DrawOthers(choices, config);
    op.looks = choices.OneIn(3);
    op.top = choices.OneOf<size_t>({1, 2, 100});
    op.around = DrawRollupStamp(choices, config, clock);
    op.resolution = config.rollup.windows[choices.Below(config.rollup.windows.size())];
    if (choices.OneIn(4)) op.resolution = choices.OneOf({Duration{0}, Duration{13}});
    ops.push_back(std::move(op));
  }
  return ops;
}

namespace {

// The options that may change.
std::string ChangedOf(const RollupOptions& r) {
  constexpr std::array<std::string_view, 3> kLate = {"reject", "clamp", "correct"};
  return std::string(kLate.at(static_cast<size_t>(r.on_late))) + ", retention " +
         ShortText(r.retention) + ", forget_after " + ShortText(r.forget_after);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RollupConfig& c) {
  const RollupOptions& r = c.rollup;
  out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, " << c.engine.partitions
      << " partitions, watermark delay " << ShortText(c.engine.watermark_delay) << ", future_limit "
      << (c.engine.future_limit ? ShortText(*c.engine.future_limit) : "unless told") << ", windows";
  for (const Duration window : r.windows) out << " " << ShortText(window);
  if (r.calendar) out << " by a calendar";
  return out << ", allowed_lateness " << ShortText(r.allowed_lateness) << ", margin "
             << ShortText(r.margin) << ", " << ChangedOf(r) << ", horizon "
             << ShortText(r.deduplication_window) << (r.clears ? ", clears" : "") << ", max_keys "
             << r.limits.max_keys << ", max_backlog " << r.limits.max_backlog << ", max_deliveries "
             << r.leases.max_deliveries
             << (r.leases.wait_behind_dead ? ", wait_behind_dead, " : ", ") << c.keys.size()
             << " keys, " << c.ids.size() << " ids, deltas " << Said(c.deltas)
             << (c.settles ? "" : ", not settled");
}

namespace {

// By the numbers of keys, ids and deltas in the configuration. Id 0 is none.
std::ostream& operator<<(std::ostream& out, const RollupEventOp& event) {
  out << "k" << event.key << " delta " << event.delta << " at " << Said(event.at);
  if (event.id != 0) out << " id " << event.id;
  return out;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const RollupOp& op) {
  constexpr std::array<std::string_view, 17> kVerbs = {
      "add",          "add and get", "batch", "clear",       "close all", "advance",
      "advance some", "pop",         "lease", "ack",         "nack",      "advance leases",
      "ref",          "drop ref",    "stop",  "set options", "restart"};
  out << kVerbs.at(static_cast<size_t>(op.verb)) << " " << op.event;
  if (op.verb == RollupVerb::kAdvanceSome) out << ", budget " << op.budget;
  if (op.range != PartitionRange{}) {
    out << " of [" << op.range.begin << ", " << op.range.end << ")";
  }
  for (const RollupEventOp& event : op.events) out << "\n        " << event;
  if (op.options) out << ", options: " << ChangedOf(*op.options);
  out << " (n " << op.n;
  if (op.looks) {
    out << ", look at top " << op.top << " around " << Said(op.around) << " by "
        << ShortText(op.resolution);
  }
  return out << ")";
}

}  // namespace pleat::inline v0_1
