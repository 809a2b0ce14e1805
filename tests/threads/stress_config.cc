#include "tests/threads/stress_config.h"

#include <array>

namespace pleat::inline v0_1 {

using namespace std::chrono_literals;

StressConfig DrawConfig(Choices& choices) {
  StressConfig config;
  EngineOptions& engine = config.engine;
  engine.partitions = choices.Between(1, 4);
  engine.huge_pages = HugePages::kOff;
  if (choices.OneIn(2)) {
    engine.axis = Axis::kEvent;
    engine.watermark_delay = choices.Ticks(0, 10);
  } else {
    config.stamps_ahead = choices.OneIn(3);
  }
  if (choices.OneIn(3)) engine.future_limit = 30us;

  FolderOptions& folder = config.folder;
  const auto limit = [&](size_t& option, int low, int high) {
    if (choices.OneIn(2)) option = static_cast<size_t>(choices.Between(low, high));
  };
  const int partitions = engine.partitions;
  folder.quiet_period = choices.Ticks(5, 60);
  folder.max_wait = choices.OneIn(3) ? kForever : choices.Ticks(20, 200);
  limit(folder.max_events, 1, 8);
  if (folder.max_events == kNoEventCap) folder.max_events = 64;
  limit(folder.limits.max_groups, partitions, 8);
  limit(folder.limits.max_backlog, partitions, 32);
  limit(folder.leases.max_leased, partitions, 6);
  limit(folder.leases.max_dead_letters, partitions, 6);
  if (choices.OneIn(4))
    folder.limits.max_bytes = static_cast<size_t>(partitions * choices.Between(1'000, 8'000));
  if (choices.OneIn(8)) folder.max_group_bytes = 200;
  if (choices.OneIn(2)) folder.limits.on_limit = OnLimit::kEmitOldest;
  if (choices.OneIn(2)) folder.limits.on_backlog = OnBacklog::kDropOldest;
  if (choices.OneIn(2)) folder.leases.on_dead_limit = OnDeadLimit::kDropOldest;
  folder.leases.max_deliveries = static_cast<uint32_t>(choices.Between(1, 4));
  folder.leases.max_age = choices.Ticks(20, 100);
  folder.leases.max_nack_delay = choices.Ticks(1, 50);
  if (choices.OneIn(4)) folder.edge = choices.OneIn(2) ? Edge::kLeading : Edge::kBoth;
  if (folder.edge != Edge::kLeading && choices.OneIn(4))
    folder.partial_every = choices.Ticks(3, 20);
  if (choices.OneIn(3)) {
    folder.late.allowed_lateness = choices.Ticks(0, 20);
    folder.late.on_late =
        std::array{OnLate::kReject, OnLate::kFold, OnLate::kCorrect}[choices.Below(3)];
  }

  auto& rules = config.rules;
  const auto marked = [](TrackedEvent::Mark mark) {
    return [mark](const TrackedEvent& event) { return (event.marks & mark) != 0; };
  };
  if (choices.OneIn(4)) rules.starts = marked(TrackedEvent::kStarts);
  if (choices.OneIn(4)) rules.ends = marked(TrackedEvent::kEnds);
  if (choices.OneIn(4)) {
    rules.condition = [](const TrackedEvents& state) { return state.all().size() % 5 == 4; };
  }
  if (choices.OneIn(4)) {
    rules.quiet_period = [](std::string_view, const TrackedEvent& event) {
      return (event.marks & TrackedEvent::kShort) != 0 ? 3us : 0us;
    };
  }
  if (choices.OneIn(4)) {
    folder.late.allowed_lateness = choices.Ticks(0, 20);
    folder.late.on_late = OnLate::kReject;
    rules.id = [](const TrackedEvent& event) { return std::string_view(&event.id, 1); };
    if (choices.OneIn(2)) rules.content = [](const TrackedEvent& event) { return event.marks; };
  }
  config.remembers = rules.id || folder.late.on_late == OnLate::kCorrect;

  const int keys = choices.Between(1, 12);
  for (int i = 0; i < keys; ++i) {
    const auto number = static_cast<size_t>(i);
    config.keys.push_back(i % 3 == 2 ? std::string(20 + number, 'k') + std::to_string(i)
                                     : std::string(number, 'k'));
  }
  return config;
}

std::string Describe(const StressConfig& config) {
  const FolderOptions& f = config.folder;
  std::string out;
  const auto say = [&out](const char* name, auto value) {
    out += std::string(" ") + name + "=" + std::to_string(value);
  };
  const auto is = [&out](const char* name, bool holds) {
    if (holds) out += std::string(" ") + name;
  };
  say("partitions", config.engine.partitions);
  say("keys", config.keys.size());
  say("event_time", config.engine.axis == Axis::kEvent);
  say("quiet", f.quiet_period.count());
  say("max_wait", f.max_wait.count());
  say("max_events", f.max_events);
  say("edge", static_cast<int>(f.edge));
  say("partial_every", f.partial_every.count());
  say("allowed_lateness", f.late.allowed_lateness.count());
  say("on_late", static_cast<int>(f.late.on_late));
  say("max_groups", f.limits.max_groups);
  say("max_bytes", f.limits.max_bytes);
  say("max_group_bytes", f.max_group_bytes);
  say("max_backlog", f.limits.max_backlog);
  say("max_deliveries", f.leases.max_deliveries);
  say("max_leased", f.leases.max_leased);
  say("max_dead_letters", f.leases.max_dead_letters);
  is("emits_oldest", f.limits.on_limit == OnLimit::kEmitOldest);
  is("drops_oldest", f.limits.on_backlog == OnBacklog::kDropOldest);
  is("drops_oldest_dead", f.leases.on_dead_limit == OnDeadLimit::kDropOldest);
  is("stamps_ahead", config.stamps_ahead);
  is("engine_goes", config.engine_goes);
  is("starts", static_cast<bool>(config.rules.starts));
  is("ends", static_cast<bool>(config.rules.ends));
  is("condition", static_cast<bool>(config.rules.condition));
  is("quiet_periods", static_cast<bool>(config.rules.quiet_period));
  is("ids", static_cast<bool>(config.rules.id));
  return out;
}

}  // namespace pleat::inline v0_1
