// What an episode is made of: configurations and operations, drawn from choices, and how they are shown.
#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <utility>

#include "tests/model/episode.h"

namespace pleat::inline v0_1 {
namespace {

std::string Text(EngineTime t) { return std::to_string(t.time_since_epoch().count()); }
std::string Text(PartitionRange range) {
  if (range == PartitionRange{}) return "";
  return " of [" + std::to_string(range.begin) + ", " + std::to_string(range.end) + ")";
}
std::string Text(Duration d) { return d == kForever ? "forever" : std::to_string(d.count()); }

// What time leases are told it is.
std::string Now(const Op& op) { return op.at == kBeginningOfTime ? "" : ", now " + Text(op.at); }

// Which token, as episodes find it: so many before the newest.
std::string Token(const Op& op) {
  constexpr std::array<std::string_view, 7> kForgeries = {"",
                                                          ", epoch forged",
                                                          ", lease forged",
                                                          ", generation forged",
                                                          ", collection forged",
                                                          ", partition forged",
                                                          ", place forged"};
  return "token -" + std::to_string(op.n) +
         std::string(kForgeries.at(static_cast<size_t>(op.forgery)));
}

// Keys of the lengths at which representations change, with zero bytes in some.
std::vector<std::string> DrawKeys(Choices& choices, size_t keys_max) {
  const size_t count = std::min(keys_max, choices.OneOf<size_t>({1, 2, 5, 30, 300, 3000}));
  const size_t length = choices.OneOf<size_t>({0, 0, 7, 22, 23, 24, 100});
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) {
    std::string key = std::to_string(i);
    if (length > key.size()) key.insert(0, length - key.size(), i % 3 == 0 ? '\0' : 'k');
    keys.push_back(std::move(key));
  }
  if (choices.OneIn(4)) {
    keys.push_back("");
    keys.push_back(std::string(1, '\0'));
    keys.push_back(std::string(kKeyBytesMax, 'L'));
    keys.push_back(std::string(kKeyBytesMax + 1, 'L'));
  }
  return keys;
}

std::vector<std::string> DrawIds(Choices& choices) {
  const size_t count = choices.OneOf<size_t>({1, 4, 40});
  const size_t length = choices.OneOf<size_t>({0, 16, 200});
  std::vector<std::string> ids = {""};
  while (ids.size() < count) {
    ids.push_back(std::string(length, '\0') + std::to_string(ids.size()));
  }
  return ids;
}

class OpMaker {
 public:
  OpMaker(Choices& choices, const Config& config)
      : choices_(choices),
        config_(config),
        options_(config.folder),
        clock_(config.start),
        lease_clock_(config.start) {}

  Op Draw() {
    Op op{.key = DrawKey()};
    // Long batches take many folds in a row.
    const bool fold = config_.batch > 5 && !choices_.OneIn(30);
    if (!fold && config_.lends && choices_.OneIn(3)) return DrawDelivery();
    const uint64_t dice = fold ? 0 : choices_.Below(1000);
    if (dice < 700) {
      op.verb = Verb::kFold;
      op.at = DrawStamp();
      op.n = choices_.Any();
      op.range = DrawRange();
      DrawMarks(op);
    } else if (dice < 850) {
      op.verb = choices_.OneIn(2) ? Verb::kAdvance : Verb::kAdvanceSome;
      op.at = DrawNow();
      op.n = choices_.Below(6) + (op.verb == Verb::kAdvance ? 1 : 0);
    } else if (dice < 870 && config_.folder.closing.settable) {
      op.verb = Verb::kSetDeadline;
      op.at = DrawDeadline();
    } else if (dice < 910) {
      op.verb = Verb::kPop;
      op.n = DrawMax();
      op.range = DrawRange();
    } else if (dice < 950) {
      op.verb = Verb::kPeek;
    } else if (dice < 960) {
      op.verb = Verb::kScan;
      op.n = choices_.OneOf<uint64_t>({1, 2, 7, 100, UINT64_MAX});
    } else if (dice < 980) {
      op.verb = Verb::kFlush;
    } else if (dice < 992) {
      op.verb = Verb::kCancel;
    } else if (dice < 994) {
      op.verb = Verb::kSetOptions;
      ChangeOptions();
      op.options = options_;
    } else if (dice < 996) {
      op.verb = Verb::kSetDeadline;
      op.at = DrawDeadline();
    } else if (dice < 998) {
      op.verb = Verb::kRestart;
      if (choices_.OneIn(2)) {
        ChangeDescribedOptions();
        op.options = options_;
      }
    } else {
      op.verb = Verb::kCloseAll;
    }
    return op;
  }

 private:
  // What consumers do. Mostly they know what they are about; some of their tokens are stale or forged.
  Op DrawDelivery() {
    Op op{.at = DrawLeaseTime(),
          .n = choices_.Below(1 + choices_.Below(60)),
          .range = DrawRange(),
          .content = choices_.OneIn(3) ? choices_.Any() : 0,
          .span = Around(config_.span.count())};
    if (choices_.OneIn(30)) op.span = choices_.OneOf({kForever, Duration{-1}, -kForever});
    if (choices_.OneIn(15)) {
      op.forgery = choices_.OneOf({Forgery::kEpoch, Forgery::kLease, Forgery::kGeneration,
                                   Forgery::kCollection, Forgery::kPartition, Forgery::kPlace});
    }
    const uint64_t dice = choices_.Below(100);
    if (dice < 35) {
      op.verb = Verb::kLease;
      op.n = DrawMax();
      op.span = std::max(Duration{1}, op.span);
    } else if (dice < 60) {
      op.verb = Verb::kAck;
    } else if (dice < 72) {
      op.verb = Verb::kNack;
    } else if (dice < 80) {
      op.verb = Verb::kExtend;
    } else if (dice < 84) {
      op.verb = Verb::kScanDead;
      op.n = choices_.OneOf<uint64_t>({1, 2, 7, 100, UINT64_MAX});
    } else if (dice < 88) {
      op.verb = Verb::kRetryDead;
    } else if (dice < 91) {
      op.verb = Verb::kDropDead;
    } else {
      op.verb = Verb::kAdvanceLeases;
      lease_clock_ = SaturatingAdd(lease_clock_, Around(config_.span.count()));
      op.at = choices_.OneIn(10) ? SaturatingSub(lease_clock_, config_.span) : lease_clock_;
      op.n = choices_.OneOf<uint64_t>({0, 1, 3, UINT64_MAX, UINT64_MAX});
    }
    return op;
  }

  // Some of those that can change. The scale stays that of the episode.
  // Limits and leases are in no snapshot: a restart cannot tell that they have changed.
  void ChangeDescribedOptions() {
    const FolderOptions before = options_;
    ChangeOptions();
    options_.limits = before.limits;
    options_.leases = before.leases;
  }
  void ChangeOptions() {
    const FolderOptions& first = config_.folder;
    const bool learns = first.quiet_floor > Duration{0};
    const int64_t quiet = first.quiet_period == kForever ? 5 : first.quiet_period.count();
    const auto percent = [&](std::initializer_list<int64_t> factors) {
      return std::max(Duration{1}, Duration{quiet * choices_.OneOf(factors) / 100});
    };
    if (!learns && choices_.OneIn(2)) {
      options_.quiet_period = choices_.OneIn(10) ? kForever : percent({10, 50, 99, 100, 150, 700});
    }
    if (choices_.OneIn(3)) {
      options_.max_wait = choices_.OneIn(3) ? kForever : percent({30, 100, 101, 200, 500});
    }
    if (choices_.OneIn(3)) {
      options_.max_events = choices_.OneIn(2) ? kNoEventCap : 1 + choices_.Below(5);
    }
    if (choices_.OneIn(4)) {
      options_.max_group_bytes =
          choices_.OneIn(2) ? kNoByteCap : EmptyStateBytes() + 1 + choices_.Below(30);
    }
    const bool may_be_late = first.late.allowed_lateness != kForever;
    if (may_be_late && !config_.has_ids && choices_.OneIn(3)) {
      options_.late.allowed_lateness = percent({1, 20, 50, 100, 400});
      if (first.late.on_late != OnLate::kCorrect) {
        options_.late.on_late = choices_.OneOf({OnLate::kReject, OnLate::kFold});
      }
    }
    if (config_.engine.partitions == 1 && choices_.OneIn(3)) {
      options_.limits.max_groups = choices_.OneIn(2) ? 50'000'000 : 1 + choices_.Below(8);
    }
    if (choices_.OneIn(3)) {
      options_.limits.on_limit = choices_.OneOf({OnLimit::kRefuse, OnLimit::kEmitOldest});
      options_.limits.count_ready = choices_.OneIn(2);
    }
    if (config_.closes_at_once && choices_.OneIn(2)) {
      options_.limits.max_backlog = Share(choices_.OneOf<uint64_t>({3, 30}));
      options_.limits.on_backlog = choices_.OneOf({OnBacklog::kRefuse, OnBacklog::kDropOldest});
    }
    if (!config_.lends || !choices_.OneIn(2)) return;
    options_.leases.max_deliveries = choices_.OneOf<uint32_t>({1, 2, 3, 100});
    options_.leases.max_leased = choices_.OneIn(2) ? 1'000'000 : Share(5);
    options_.leases.max_age = choices_.OneIn(2) ? kForever : Duration{1} + Around(quiet);
    options_.leases.max_nack_delay = choices_.OneIn(2) ? kForever : Duration{1} + Around(quiet);
    options_.leases.max_dead_letters = choices_.OneIn(2) ? 100'000 : Share(3);
    options_.leases.on_dead_limit =
        choices_.OneOf({OnDeadLimit::kKeepTrying, OnDeadLimit::kDropOldest});
    options_.leases.wait_behind_dead = choices_.OneIn(2);
  }

  size_t Share(uint64_t most) {
    return static_cast<size_t>(config_.engine.partitions) * (1 + choices_.Below(most));
  }

  // Mostly it stays as late as it was.
  EngineTime DrawLeaseTime() {
    if (!choices_.OneIn(4)) return kBeginningOfTime;
    return SaturatingAdd(lease_clock_, Around(config_.stride));
  }

  uint64_t DrawMax() { return choices_.OneOf<uint64_t>({0, 1, 2, 7, 100, UINT64_MAX}); }

  // One partition, some, none, or more than there are.
  PartitionRange DrawRange() {
    if (!config_.by_range || choices_.OneIn(4)) return {};
    const auto partitions = static_cast<uint64_t>(config_.engine.partitions);
    const auto begin = static_cast<int>(choices_.Below(partitions + 1));
    if (choices_.OneIn(2)) return PartitionRange::One(begin);
    return {begin, static_cast<int>(choices_.Below(partitions + 3))};
  }

  // Few keys get most of the events.
  size_t DrawKey() {
    const uint64_t size = config_.keys.size();
    return choices_.OneIn(3) ? choices_.Below(size) : choices_.Below(1 + choices_.Below(size));
  }

  void DrawMarks(Op& op) {
    if (config_.starts) op.starts = choices_.OneIn(config_.mark_every);
    if (config_.ends) op.ends = choices_.OneIn(config_.mark_every);
    if (config_.quiet_by_event && choices_.OneIn(3)) {
      const Duration quiet = config_.folder.quiet_period;
      op.quiet = choices_.OneIn(20) ? kForever
                                    : Duration{1} + Around(quiet == kForever ? 5 : quiet.count());
    }
    if (config_.close_at && choices_.OneIn(3)) op.close_at = DrawDeadline();
    if (config_.has_ids) op.id = choices_.Below(config_.ids.size());
    if (config_.has_content) op.content = choices_.OneIn(10) ? 1 : 0;
  }

  // Mostly about when a group would close; sometimes past, never, or beyond all time.
  EngineTime DrawDeadline() {
    const Duration quiet = config_.folder.quiet_period;
    const int64_t scale = quiet == kForever ? 5 * config_.stride : quiet.count();
    if (choices_.OneIn(8)) return SaturatingSub(clock_, Around(scale));
    if (choices_.OneIn(10)) {
      return choices_.OneOf({kNever, kNever, kEndOfTime, EngineTime::min(), EngineTime::max()});
    }
    return SaturatingAdd(clock_, Around(choices_.OneOf<int64_t>({1, 1, 3}) * scale));
  }

  Duration Around(int64_t scale) {
    return Duration{static_cast<int64_t>(choices_.Below(static_cast<uint64_t>(2 * scale + 1)))};
  }

  // Mostly a little later than the one before, often the same, sometimes far off.
  EngineTime DrawStamp() {
    const Duration quiet = config_.folder.quiet_period;
    const uint64_t dice = choices_.Below(100);
    if (dice < 60) clock_ = SaturatingAdd(clock_, Around(config_.stride));
    if (dice >= 97) clock_ = SaturatingAdd(clock_, quiet == kForever ? Duration{5} : quiet);
    if (dice < 80) return clock_;
    if (dice < 90) return SaturatingSub(clock_, Around(config_.stride * 5));
    if (dice < 94) return SaturatingAdd(clock_, Around(config_.stride * 20));
    if (dice < 95) return SaturatingSub(clock_, quiet);
    if (dice < 96) return DrawWrongStamp();
    if (choices_.OneIn(200)) {
      return choices_.OneOf<EngineTime>(
          {kBeginningOfTime, kEndOfTime, EngineTime::min(), EngineTime::max(), EngineTime{}});
    }
    return clock_;
  }

  // On arrival time it keeps what follows out of its group. On event time it would end the episode: all else was late.
  EngineTime DrawWrongStamp() {
    if (config_.engine.axis == Axis::kEvent) return clock_;
    const Duration hold = config_.folder.max_wait;
    const EngineTime ahead = SaturatingAdd(clock_, hold == kForever ? Duration{5} : hold);
    return SaturatingAdd(
        ahead, choices_.OneIn(4) ? 400 * std::chrono::hours(24) : Around(10 * config_.stride));
  }

  EngineTime DrawNow() {
    if (choices_.OneIn(4000)) return kEndOfTime;
    // On event time the stamps move time; Advance() then is what an idle input does.
    if (config_.engine.axis == Axis::kEvent && !choices_.OneIn(4)) {
      return SaturatingSub(clock_, config_.engine.watermark_delay);
    }
    return SaturatingSub(clock_, Around(choices_.OneOf<int64_t>({0, 1, 3, 10}) * config_.stride));
  }

  Choices& choices_;
  const Config& config_;
  FolderOptions options_;  // in use
  EngineTime clock_;
  EngineTime lease_clock_;  // in LeaseTime
};

// The limits on what waits. They are divided among the partitions without a rest.
void DrawDeliveries(Choices& choices, int64_t quiet, Config& c) {
  FolderOptions& folder = c.folder;
  const auto share = [&](uint64_t most) {
    return static_cast<size_t>(c.engine.partitions) * (1 + choices.Below(most));
  };
  const auto around_span = [&] { return c.span * choices.OneOf<int64_t>({20, 100, 300}) / 100; };
  if (choices.OneIn(4)) {
    folder.limits.max_backlog = share(choices.OneOf<uint64_t>({3, 30}));
    folder.limits.on_backlog = choices.OneOf({OnBacklog::kRefuse, OnBacklog::kDropOldest});
    // On event time an event reaches its own group before the groups close that it brings due, and an
    // instant of the grid would meet another backlog.
    if (c.engine.axis == Axis::kEvent) folder.partial_every = kForever;
    c.closes_at_once = true;
  }
  if (!c.lends) return;
  c.span = Duration{std::max<int64_t>(1, quiet * choices.OneOf<int64_t>({10, 100, 500}) / 100)};
  folder.leases.max_deliveries = choices.OneOf<uint32_t>({1, 2, 3, 100});
  if (choices.OneIn(3)) folder.leases.max_leased = share(5);
  if (choices.OneIn(3)) folder.leases.max_age = std::max(Duration{1}, around_span());
  if (choices.OneIn(3)) folder.leases.max_nack_delay = std::max(Duration{1}, around_span());
  if (choices.OneIn(2)) {
    folder.leases.max_dead_letters = share(3);
    folder.leases.on_dead_limit =
        choices.OneOf({OnDeadLimit::kKeepTrying, OnDeadLimit::kDropOldest});
  }
  folder.leases.wait_behind_dead = choices.OneIn(2);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Config& c) {
  constexpr std::array<std::string_view, 3> kEdges = {"trailing", "leading", "both"};
  constexpr std::array<std::string_view, 3> kOnLate = {"reject", "fold", "correct"};
  out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, " << c.engine.partitions
      << " partitions, watermark delay " << Text(c.engine.watermark_delay) << ", future_limit "
      << (c.engine.future_limit ? Text(*c.engine.future_limit) : "unless told") << ", quiet "
      << Text(c.folder.quiet_period) << ", max_wait " << Text(c.folder.max_wait);
  if (c.folder.max_events != kNoEventCap) out << ", max_events " << c.folder.max_events;
  if (c.folder.max_group_bytes != kNoByteCap) {
    out << ", max_group_bytes " << c.folder.max_group_bytes << " (empty: " << EmptyStateBytes()
        << ")";
  }
  out << ", edge " << kEdges.at(static_cast<size_t>(c.folder.edge)) << ", partial_every "
      << Text(c.folder.partial_every) << ", allowed_lateness "
      << Text(c.folder.late.allowed_lateness) << ", on_late "
      << kOnLate.at(static_cast<size_t>(c.folder.late.on_late)) << ", max_groups "
      << c.folder.limits.max_groups
      << (c.folder.limits.on_limit == OnLimit::kEmitOldest ? ", on_limit emit"
                                                           : ", on_limit refuse");
  if (c.folder.measure.max_trace > 0) out << ", traced";
  if (c.folder.measure.gap_stats) out << ", gap_stats, max_ghosts " << c.folder.measure.max_ghosts;
  if (c.folder.limits.max_backlog < 1000) {
    out << ", max_backlog " << c.folder.limits.max_backlog
        << (c.folder.limits.on_backlog == OnBacklog::kRefuse ? " refuse" : " drop");
  }
  if (c.lends) {
    out << ", max_deliveries " << c.folder.leases.max_deliveries << ", max_leased "
        << c.folder.leases.max_leased << ", max_age " << Text(c.folder.leases.max_age)
        << ", max_nack_delay " << Text(c.folder.leases.max_nack_delay) << ", max_dead_letters "
        << c.folder.leases.max_dead_letters
        << (c.folder.leases.on_dead_limit == OnDeadLimit::kKeepTrying ? " try" : " drop");
    if (c.folder.leases.wait_behind_dead) out << ", wait_behind_dead";
  }
  if (c.starts) out << ", start marks";
  if (c.ends) out << ", end marks";
  if (c.condition > 0) out << ", condition " << c.condition;
  if (c.quiet_by_event) out << ", quiet by event";
  if (c.quiet_by_key) out << ", quiet by key";
  if (c.close_at) out << ", close_at";
  if (c.calendar > 0) out << ", calendar " << c.calendar;
  if (c.folder.closing.every != kForever) {
    out << ", closing every " << Text(c.folder.closing.every) << " at "
        << Text(c.folder.closing.phase);
  }
  if (c.folder.closing.settable) out << ", settable";
  if (c.folder.quiet_floor > Duration{0}) {
    out << ", quiet from " << Text(c.folder.quiet_floor) << " on by " << c.classes << " classes";
  }
  if (c.has_ids) out << ", " << c.ids.size() << " ids" << (c.has_content ? " with content" : "");
  return out << ", " << c.keys.size() << " keys, start " << Text(c.start) << ", batches of "
             << c.batch;
}

std::ostream& operator<<(std::ostream& out, const Op& op) {
  const std::string key = "key " + std::to_string(op.key);
  switch (op.verb) {
    case Verb::kFold:
      out << "Fold " << key << " at " << Text(op.at) << " value " << op.n;
      if (op.starts) out << ", starts";
      if (op.ends) out << ", ends";
      if (op.quiet > Duration{0}) out << ", quiet " << Text(op.quiet);
      if (op.close_at != kNever) out << ", close at " << Text(op.close_at);
      if (op.id > 0) out << ", id " << op.id;
      if (op.content > 0) out << ", content " << op.content;
      return out << Text(op.range);
    case Verb::kAdvance: return out << "Advance " << Text(op.at) << ", whole";
    case Verb::kAdvanceSome: return out << "Advance " << Text(op.at) << ", budget " << op.n;
    case Verb::kRestart:
      if (!op.options) return out << "Restart";
      out << "Restart with ";
      [[fallthrough]];
    case Verb::kSetOptions: {
      const FolderOptions& to = *op.options;
      return out << "SetOptions quiet " << Text(to.quiet_period) << ", max_wait "
                 << Text(to.max_wait) << ", max_events " << to.max_events << ", max_group_bytes "
                 << to.max_group_bytes << ", allowed_lateness " << Text(to.late.allowed_lateness)
                 << ", on_late " << static_cast<int>(to.late.on_late) << ", max_groups "
                 << to.limits.max_groups << ", on_limit " << static_cast<int>(to.limits.on_limit)
                 << ", count_ready " << to.limits.count_ready << ", max_backlog "
                 << to.limits.max_backlog << ", on_backlog "
                 << static_cast<int>(to.limits.on_backlog) << ", max_deliveries "
                 << to.leases.max_deliveries << ", max_leased " << to.leases.max_leased
                 << ", max_age " << Text(to.leases.max_age) << ", max_nack_delay "
                 << Text(to.leases.max_nack_delay) << ", max_dead_letters "
                 << to.leases.max_dead_letters << ", on_dead_limit "
                 << static_cast<int>(to.leases.on_dead_limit) << ", wait_behind_dead "
                 << to.leases.wait_behind_dead;
    }
    case Verb::kAdvanceLeases: return out << "AdvanceLeases " << Text(op.at) << ", budget " << op.n;
    case Verb::kPop: return out << "Pop " << op.n << Text(op.range);
    case Verb::kLease:
      return out << "Lease " << op.n << " for " << Text(op.span) << Text(op.range) << Now(op);
    case Verb::kAck: return out << "Ack " << Token(op);
    case Verb::kNack: return out << "Nack " << Token(op) << ", delay " << Text(op.span) << Now(op);
    case Verb::kExtend: return out << "Extend " << Token(op) << " by " << Text(op.span) << Now(op);
    case Verb::kScanDead: return out << "ScanDeadLetters by " << op.n;
    case Verb::kRetryDead: return out << "RetryDeadLetter " << Token(op);
    case Verb::kDropDead: return out << "DropDeadLetter " << Token(op);
    case Verb::kPeek: return out << "Peek " << key;
    case Verb::kScan: return out << "Scan by " << op.n;
    case Verb::kFlush: return out << "Flush " << key;
    case Verb::kCancel: return out << "Cancel " << key;
    case Verb::kSetDeadline: return out << "SetDeadline " << key << " " << Text(op.at);
    case Verb::kCloseAll: return out << "CloseAll";
    case Verb::kStop: return out << "Stop";
  }
  return out;
}

Config DrawConfig(Choices& choices, Axis axis, int partitions, size_t keys_max) {
  Config c;
  const int64_t quiet = choices.OneOf<int64_t>({1, 2, 3, 10, 1000, 4096, 5000, 60'000'000});
  const auto around = [&](std::initializer_list<int64_t> factors_percent) {
    return Duration{quiet * choices.OneOf(factors_percent) / 100};
  };
  // A third of the episodes is plain; the others have some of what comes on top, some have nearly all.
  const uint64_t richness = choices.OneOf<uint64_t>({0, 0, 1, 1, 1, 2});
  const auto extra = [&] {
    return richness == 2 ? !choices.OneIn(10) : richness == 1 && choices.OneIn(3);
  };

  c.engine.partitions = partitions;
  c.engine.axis = axis;
  if (axis == Axis::kEvent) c.engine.watermark_delay = around({0, 0, 50, 100, 130, 1000});
  if (choices.OneIn(4)) {
    c.engine.future_limit = around({0, 100, 300, 2000});
  } else if (choices.OneIn(2)) {
    c.engine.future_limit = kForever;
  }
  c.engine.internals.hash_key = {{choices.Any(), choices.Any()}};
  c.engine.internals.epoch = choices.Any();

  FolderOptions& folder = c.folder;
  folder.quiet_period = choices.OneIn(25) ? kForever : Duration{quiet};
  folder.max_wait = kForever;
  if (choices.OneIn(2)) folder.max_wait = std::max(Duration{1}, around({30, 100, 101, 200, 500}));
  if (choices.OneIn(3)) folder.max_events = 1 + choices.Below(5);
  if (extra()) {
    folder.max_group_bytes = choices.OneIn(5) ? 1 + choices.Below(EmptyStateBytes())
                                              : EmptyStateBytes() + 1 + choices.Below(30);
  }
  if (extra()) folder.edge = choices.OneOf({Edge::kLeading, Edge::kBoth});
  if (folder.edge != Edge::kTrailing && choices.OneIn(2)) {
    folder.leading_events = 2 + choices.Below(3);
  }
  if (folder.edge != Edge::kLeading && richness > 0 && choices.OneIn(2)) {
    folder.partial_every = std::max(Duration{1}, around({3, 20, 50, 70, 100, 150, 400}));
  }
  if (choices.OneIn(3)) folder.late.allowed_lateness = around({0, 50, 100, 400});
  if (richness > 0 && !choices.OneIn(3)) {
    folder.late.allowed_lateness = around({0, 20, 50, 100, 400});
    switch (choices.Below(3)) {
      case 0: folder.late.on_late = OnLate::kFold; break;
      case 1: folder.late.on_late = OnLate::kCorrect; break;
      default:
        c.has_ids = true;
        c.has_content = !choices.OneIn(3);
        c.ids = DrawIds(choices);
    }
  }
  if (partitions == 1 && choices.OneIn(richness == 0 ? 4 : 2)) {
    folder.limits.max_groups = 1 + choices.Below(8);
  }
  if (richness > 0 && choices.OneIn(2)) folder.limits.on_limit = OnLimit::kEmitOldest;
  folder.measure.gap_stats = choices.OneIn(2);
  folder.measure.max_ghosts = choices.OneOf<size_t>({0, 1, 5, 1'000'000});
  folder.measure.max_trace = choices.OneOf<size_t>({0, 1'000'000});
  c.lends = choices.OneIn(2);
  DrawDeliveries(choices, quiet, c);

  c.starts = extra();
  c.ends = extra();
  c.mark_every = choices.OneOf<uint64_t>({3, 10, 40, 200});
  if (extra()) c.condition = choices.OneOf<uint64_t>({3, 20, 100});
  c.quiet_by_event = extra();
  c.quiet_by_key = extra();
  c.close_at = extra();
  if (extra()) c.calendar = std::max<int64_t>(1, around({30, 100, 300}).count());
  folder.closing.settable = extra();
  if (extra()) {
    folder.closing.every = choices.OneIn(20) ? kForever - Duration{1}
                                             : std::max(Duration{1}, around({30, 100, 300, 1000}));
    const auto every = static_cast<uint64_t>(folder.closing.every.count());
    folder.closing.phase = Duration{static_cast<int64_t>(choices.Below(every))};
  }
  if (folder.quiet_period != kForever && quiet > 1 && choices.OneIn(4)) {
    folder.quiet_floor = std::max(Duration{1}, around({0, 1, 10, 50, 99}));
    c.classes = choices.OneOf<uint64_t>({0, 2, 4, 5000});
  }

  c.keys = DrawKeys(choices, keys_max);
  c.start =
      choices.OneOf<EngineTime>({EngineTime{}, FromUnix(Duration{1'442'018'855'776'000}),
                                 kBeginningOfTime, kBeginningOfTime + Duration{quiet / 2},
                                 kEndOfTime - Duration{quiet * 300}, kEndOfTime - Duration{quiet}});
  // So that groups typically see from one event to dozens.
  const int64_t per_quiet =
      choices.OneOf<int64_t>({1, 3, 20}) * static_cast<int64_t>(c.keys.size());
  c.stride = std::max<int64_t>(1, 2 * quiet / per_quiet);
  c.by_range = choices.OneIn(3);
  c.drain = !choices.OneIn(3);
  c.batch = choices.OneOf<size_t>({1, 1, 2, 5, 40, 256, 700});
  if (c.closes_at_once) c.batch = 1;
  return c;
}

std::vector<Op> DrawOps(Choices& choices, const Config& config, size_t count) {
  OpMaker maker(choices, config);
  std::vector<Op> ops;
  while (ops.size() < count && !choices.exhausted()) ops.push_back(maker.Draw());
  // After Stop() folds are refused, and what has closed can still be popped.
  if (choices.OneIn(10)) {
    ops.push_back({.verb = Verb::kStop});
    for (int k = 0; k < 20; ++k) {
      const Op op = maker.Draw();
      if (op.verb == Verb::kFold || op.verb == Verb::kPop || op.verb == Verb::kLease) {
        ops.push_back(op);
      }
    }
  }
  return ops;
}

}  // namespace pleat::inline v0_1
