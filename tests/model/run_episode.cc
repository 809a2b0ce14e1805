#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include <pleat/batch.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>
#include <pleat/stats.h>

#include "tests/model/agreement.h"
#include "tests/model/chain.h"
#include "tests/model/delivery_episode.h"
#include "tests/model/episode.h"
#include "tests/model/fold_model.h"
#include "tests/model/shrink.h"
#include "tests/model/trace_agreement.h"
#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/show.h"

namespace pleat::inline v0_1 {
namespace {

// The columns that change when groups that are due are visited, or emissions that come back.
constexpr std::array kOfClosing = {&Ledger::closed, &Ledger::silent, &Ledger::partial,
                                   &Ledger::open};
constexpr std::array kOfReturns = {&Ledger::ran_out, &Ledger::ready, &Ledger::unacked,
                                   &Ledger::dead, &Ledger::dropped};

// The rules, said once for both sides.
bool Condition(const Config& config, const Chain& chain) {
  return (chain.hash >> 32) % config.condition == 0;
}

Duration QuietAfter(const Config& config, std::string_view key, const Tick& tick) {
  if (config.quiet_by_key && key.size() % 3 == 0) return Duration{1 + key.size()};
  return tick.quiet;
}

// Days of unequal length, some without a closing time.
EngineTime CalendarAfter(const Config& config, EngineTime opened) {
  const int64_t day = config.calendar;
  const int64_t at = opened.time_since_epoch().count();
  const int64_t begun = at / day - (at % day < 0 ? 1 : 0);
  if (begun % 7 == 3) return kNever;
  return EngineTime{Duration{(begun + 1) * day + (begun % 3 == 0 ? day / 2 : 0)}};
}

uint32_t ClassOf(const Config& config, std::string_view key, const Tick& tick) {
  return config.classes == 0 ? 0
                             : static_cast<uint32_t>((key.size() + tick.value) % config.classes);
}

FoldRules<Tick, Chain> RulesOf(const Config& config) {
  FoldRules<Tick, Chain> rules;
  if (config.starts) rules.starts = [](const Tick& tick) { return tick.starts; };
  if (config.ends) rules.ends = [](const Tick& tick) { return tick.ends; };
  if (config.condition > 0) {
    rules.condition = [&config](const Chain& chain) { return Condition(config, chain); };
  }
  if (config.quiet_by_event || config.quiet_by_key) {
    rules.quiet_period = [&config](std::string_view key, const Tick& tick) {
      return QuietAfter(config, key, tick);
    };
  }
  if (config.close_at) {
    rules.close_at = [](std::string_view, const Tick& tick) { return tick.close_at; };
  }
  if (config.calendar > 0) {
    rules.closing_time = [&config](EngineTime opened) { return CalendarAfter(config, opened); };
  }
  if (config.classes > 0) {
    rules.key_class = [&config](std::string_view key, const Tick& tick) {
      return ClassOf(config, key, tick);
    };
  }
  if (config.has_ids) rules.id = [](const Tick& tick) { return tick.id; };
  if (config.has_content) rules.content = [](const Tick& tick) { return tick.content; };
  return rules;
}

ModelRules ModelRulesOf(const Config& config) {
  ModelRules rules;
  if (config.condition > 0) {
    rules.condition = [&config](const std::vector<uint64_t>& values) {
      return Condition(config, Chain::Of(values));
    };
  }
  rules.weight = [](const std::vector<uint64_t>& values) {
    return sizeof(Chain) + Chain::Of(values).HeapBytes();
  };
  rules.has_ids = config.has_ids;
  if (config.calendar > 0) {
    rules.closing_time = [&config](EngineTime opened) { return CalendarAfter(config, opened); };
  }
  rules.partition = [&config](std::string_view key) {
    return PartitionOf(key, config.engine.partitions);
  };
  return rules;
}

class Episode {
 public:
  Episode(const Config& config, Seen& seen)
      : config_(config),
        options_(config.folder),
        engine_(Engine::Open(config.engine).value()),
        folder_(*engine_, "chains", config.folder, RulesOf(config)),
        model_(config.engine, config.folder, ModelRulesOf(config)),
        deliveries_(config_, folder_, model_, agreement_, seen),
        seen_(seen) {
    trace_.Follow(folder_);
  }

  // Nothing, or what differed and at which operation.
  std::optional<std::string> Run(const std::vector<Op>& ops) {
    for (size_t i = 0; i < ops.size() && agreement_.holds(); ++i) {
      const bool gathers = ops[i].verb == Verb::kFold && (config_.batch > 1 || config_.by_range);
      if (gathers) batch_.push_back(ops[i]);
      if (gathers && batch_.size() < config_.batch && i + 1 < ops.size()) continue;
      FoldBatch();
      if (!gathers) Apply(ops[i]);
      if (config_.closes_at_once) CloseAllThatIsDue();
      CompareCounts();
      trace_.Read(model_.now(), agreement_);
      if (agreement_.holds()) continue;
      std::ostringstream where;
      where << "operation " << i << " (" << ops[i] << "): " << agreement_.difference();
      return where.str();
    }
    if (agreement_.holds() && config_.drain) Drain();
    if (agreement_.holds() && config_.folder.measure.max_trace > 0) CompareTraces();
    if (agreement_.holds()) return std::nullopt;
    return "at the end: " + agreement_.difference();
  }

 private:
  void CompareTraces() {
    CloseAllThatIsDue();
    trace_.Read(model_.now(), agreement_);
    trace_.Compare(model_, agreement_, seen_.steps);
  }

  // Time stays as it is.
  void CloseAllThatIsDue() {
    AdvanceWhole(kBeginningOfTime, SIZE_MAX);
    AdvanceLeases(LeaseTime(kBeginningOfTime), SIZE_MAX);
  }

  template <class T>
  void Expect(std::string_view what, const T& engine, const T& model) {
    agreement_.Expect(what, engine, model);
  }

  void Apply(const Op& op) {
    const std::string& key = config_.keys[op.key];
    switch (op.verb) {
      case Verb::kFold: return Fold(key, op);
      case Verb::kAdvance:
        model_.Advance(op.at);
        AdvanceWhole(op.at, op.n);
        return;
      case Verb::kAdvanceSome:
        model_.Advance(op.at);
        if (engine_->Advance(op.at, op.n) && op.n > 0) visited_at_ = model_.now();
        return;
      case Verb::kAdvanceLeases: return AdvanceLeases(LeaseTime(op.at), op.n);
      case Verb::kPeek: return Peek(key);
      case Verb::kScan: return Scan(op.n);
      case Verb::kFlush:
        return Expect<uint64_t>("Flush's answer", folder_.Flush(key), model_.Flush(key));
      case Verb::kCancel:
        return Expect<uint64_t>("Cancel's answer", folder_.Cancel(key), model_.Cancel(key));
      case Verb::kSetDeadline: return SetDeadline(key, op.at);
      case Verb::kCloseAll:
        folder_.CloseAll();
        model_.CloseAll();
        return;
      case Verb::kStop:
        stopped_ = true;
        engine_->Stop();
        model_.Stop();
        return;
      case Verb::kSetOptions: return SetOptions(*op.options);
      case Verb::kRestart: return Restart(op);
      default: return deliveries_.Apply(op);
    }
  }

  // All that is due is closed by that, too.
  void SetOptions(const FolderOptions& options) {
    const absl::Status set = folder_.SetOptions(options);
    if (!set.ok()) return agreement_.Fail("SetOptions: " + std::string(set.message()));
    options_ = options;
    model_.SetOptions(options);
  }

  // Tokens of before go on naming their deliveries. The tables' own key is another one. Other options
  // are those of a SetOptions() at the cut.
  void Restart(const Op& op) {
    trace_.Read(model_.now(), agreement_);
    StringSink snapshot;
    const uint64_t deaths = folder_.deaths();
    const uint64_t letters = folder_.ledger().dead;
    const absl::Status taken = TakeSnapshot(*engine_, snapshot);
    if (!taken.ok()) return agreement_.Fail("TakeSnapshot: " + std::string(taken.message()));
    EngineOptions options = config_.engine;
    if (options.internals.hash_key) ++options.internals.hash_key->front();
    const FolderOptions before = options_;
    if (op.options) options_ = *op.options;
    engine_ = Engine::Open(options).value();
    folder_ = Folder<Tick, Chain>(*engine_, "chains", options_, RulesOf(config_));
    StringSource source(snapshot.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    if (!restored.ok()) {
      return agreement_.Fail("RestoreSnapshot: " + std::string(restored.message()));
    }
    if (op.options && Changes(before, options_)) model_.SetOptions(options_);
    if (stopped_) engine_->Stop();
    deaths_before_ += deaths - letters;
    trace_.Follow(folder_);
    StringSink again;
    Expect<uint64_t>("whether a second snapshot can be taken", TakeSnapshot(*engine_, again).ok(),
                     true);
    if (op.options) return;
    Expect<uint64_t>("whether it has the bytes of the first", again.bytes == snapshot.bytes, true);
  }
  // Whether options differ that a snapshot has, all of which are drawn here.
  static bool Changes(const FolderOptions& before, const FolderOptions& now) {
    const auto described = [](const FolderOptions& o) {
      return std::tuple(o.quiet_period, o.max_wait, o.max_events, o.max_group_bytes,
                        o.late.allowed_lateness, o.late.on_late);
    };
    return described(before) != described(now);
  }

  Tick TickOf(const Op& op) const {
    return {.value = op.n,
            .starts = op.starts,
            .ends = op.ends,
            .quiet = op.quiet,
            .close_at = op.close_at,
            .id = config_.has_ids ? std::string_view(config_.ids[op.id]) : std::string_view(),
            .content = op.content};
  }

  FoldOutcome FoldIntoModel(const Op& op, PartitionRange only) {
    const std::string& key = config_.keys[op.key];
    const Tick tick = TickOf(op);
    const EventMarks marks{.starts = tick.starts,
                           .ends = tick.ends,
                           .quiet_period = QuietAfter(config_, key, tick),
                           .close_at = config_.close_at ? tick.close_at : kNever,
                           .key_class = ClassOf(config_, key, tick),
                           .id = tick.id,
                           .content = tick.content};
    const std::string_view home = key.size() > kKeyBytesMax ? "" : std::string_view(key);
    const bool here = only.Contains(PartitionOf(home, config_.engine.partitions));
    const FoldOutcome outcome =
        here ? model_.Fold(key, tick.value, op.at, marks) : model_.PassBy(key, op.at);
    seen_.outcomes.insert(outcome);
    return outcome;
  }

  void Fold(const std::string& key, const Op& op) {
    Expect("outcome", folder_.Fold(key, TickOf(op), op.at), FoldIntoModel(op, {}));
  }

  // With a range, which its first event brings along, a batch leaves the other partitions alone.
  void FoldBatch() {
    if (batch_.empty()) return;
    const PartitionRange only = batch_.front().range;
    std::vector<KeyedEvent<Tick>> events;
    FoldCounts expected;
    for (const Op& op : batch_) events.push_back({config_.keys[op.key], op.at, TickOf(op)});
    std::vector<FoldOutcome> outcomes(events.size());
    const FoldCounts counts = folder_.FoldBatch(events, outcomes, only);
    for (size_t i = 0; i < batch_.size(); ++i) {
      const FoldOutcome outcome = FoldIntoModel(batch_[i], only);
      Expect("outcome " + std::to_string(i) + " of a batch", outcomes[i], outcome);
      expected.Add(outcome);
    }
    Expect<uint64_t>("agreement of the batch's counts", counts == expected, true);
    batch_.clear();
  }

  // Any budget gets there in the end; afterwards the next deadline is known.
  void AdvanceWhole(EngineTime now, uint64_t budget) {
    int calls = 1;
    while (!engine_->Advance(now, budget)) {
      if (++calls > 1'000'000) {
        return agreement_.Fail("Advance does not come to an end");
      }
    }
    visited_at_ = model_.now();
    ExpectDeadline("next deadline", engine_->NextDeadline(), model_.FirstDue());
  }

  void AdvanceLeases(LeaseTime now, uint64_t budget) {
    model_.AdvanceLeases(now);
    if (!engine_->AdvanceLeases(now, budget) || budget == 0) return;
    leases_visited_at_ = model_.lease_now();
    ExpectDeadline("next lease deadline", engine_->NextLeaseDeadline(), model_.FirstLeaseDue());
  }

  // A deadline noted for what is gone may still be there, so it can be too early.
  template <class Time>
  void ExpectDeadline(std::string_view what, std::optional<Time> engine,
                      std::optional<Time> model) {
    if (!model || (engine && *engine <= *model)) return;
    const std::string shown = engine ? Agreement::Show(*engine) : "absent";
    Expect(what, shown, Agreement::Show(*model));
  }

  void SetDeadline(const std::string& key, EngineTime deadline) {
    const ControlOutcome outcome = folder_.SetDeadline(key, deadline);
    ControlOutcome expected = ControlOutcome::kNotSettable;
    if (config_.folder.closing.settable) {
      const bool open = model_.SetDeadline(key, deadline);
      expected = open ? ControlOutcome::kDone : ControlOutcome::kNoGroup;
    }
    Expect("SetDeadline's answer", static_cast<uint64_t>(outcome), static_cast<uint64_t>(expected));
  }

  void Peek(const std::string& key) {
    const std::optional<OpenGroup<Chain>> group = folder_.Peek(key);
    const ModelGroup* model = model_.Peek(key);
    Expect<uint64_t>("presence of a group to peek at", group.has_value(), model != nullptr);
    if (group && model != nullptr) ExpectOpenGroup(*group, *model);
  }

  // At rest a scan sees every open group once, whatever the size of its steps.
  void Scan(uint64_t step) {
    std::vector<OpenGroup<Chain>> groups;
    ScanCursor cursor;
    for (bool more = true; more;) {
      const size_t before = groups.size();
      more = folder_.Scan(cursor, step, groups);
      Expect<uint64_t>("whether a step of Scan is too long", groups.size() - before > step, false);
      if (groups.size() > model_.ledger().open) break;  // it need not come to an end
    }
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    const std::vector<ModelGroup> expected = model_.Scan();
    Expect<uint64_t>("number of groups scanned", groups.size(), expected.size());
    for (size_t i = 0; i < std::min(groups.size(), expected.size()); ++i) {
      ExpectOpenGroup(groups[i], expected[i]);
    }
  }

  void ExpectOpenGroup(const OpenGroup<Chain>& group, const ModelGroup& model) {
    Expect("open group's key", group.key, model.key);
    Expect<uint64_t>("open group's count", group.count, model.events.size());
    Expect("open group's first", group.first, model.first);
    Expect("open group's last", group.last, model.last);
    ExpectState(group.state, model, agreement_);
  }

  // What is due may be visited later, by whoever comes next, and is counted then; nothing else shows it.
  // Once Advance() has said that all is done, all columns must agree.
  void CompareCounts() {
    Expect("time", engine_->now(), model_.now());
    const Ledger ledger = folder_.ledger();
    const Ledger expected = model_.ledger();
    const bool closed = model_.now() == visited_at_;
    const bool returned = closed && LeasesAreVisited();
    for (const auto& [name, count] : kColumns) {
      const auto is_of = [column = count](auto columns) {
        return std::ranges::count(columns, column) > 0;
      };
      if (is_of(kOfClosing) && !closed) continue;
      if (is_of(kOfReturns) && !returned) continue;
      Expect("ledger." + std::string(name), ledger.*count, expected.*count);
    }
    CheckWhole(folder_.any());
    Expect<uint64_t>("whether the ledger balances", ledger.Balances(), true);
    Expect<uint64_t>("whether the model's own ledger balances", expected.Balances(), true);
    const Sizes sizes = folder_.sizes();
    Expect<uint64_t>("sizes.open_groups", sizes.open_groups, ledger.open);
    Expect<uint64_t>("sizes.ready_emissions", sizes.ready_emissions, ledger.ready);
    Expect<uint64_t>("sizes.unacked_emissions", sizes.unacked_emissions, ledger.unacked);
    Expect<uint64_t>("sizes.dead_letters", sizes.dead_letters, ledger.dead);
    if (!returned) return;
    Expect<uint64_t>("deaths", deaths_before_ + folder_.deaths(), model_.deaths());
    Expect<uint64_t>("whether more wait behind letters than there are",
                     sizes.behind_dead > model_.behind_dead(), false);
  }

  // At the end of time a lease is over as soon as it is given.
  bool LeasesAreVisited() const {
    if (model_.lease_now() == LeaseTime(kEndOfTime)) return false;
    return model_.lease_now() == leases_visited_at_;
  }

  // Everything comes out in the end, and then nothing is held any more but what is remembered.
  void Drain() {
    folder_.CloseAll();
    model_.CloseAll();
    deliveries_.Pop(SIZE_MAX, {});
    CompareCounts();
    CompareGaps();
    trace_.Read(model_.now(), agreement_);
    if (config_.lends) EndAllLeases();
    const bool remembers = config_.has_ids || config_.folder.late.on_late == OnLate::kCorrect ||
                           config_.folder.quiet_floor > Duration{0};
    if (!remembers) Expect<uint64_t>("bytes held by nothing", folder_.sizes().bytes, 0);
  }

  // With gap_stats all else is as without it, and each event, group and emission was measured.
  void CompareGaps() {
    const auto stats = folder_.gap_stats();
    Expect("whether gaps are measured", stats != nullptr, config_.folder.measure.gap_stats);
    if (stats == nullptr) return;
    const Ledger ledger = folder_.ledger();
    uint64_t emissions = 0;
    for (const uint64_t of_reason : ledger.emissions) emissions += of_reason;
    Expect("events with gaps", stats->events, ledger.opened + ledger.folded);
    Expect("spans", stats->spans.count(), ledger.closed);
    Expect("emissions with sizes", stats->fold_sizes.count(), emissions);
    const bool known = ledger.folded <= stats->gaps.count() && stats->gaps.count() <= stats->events;
    Expect("gaps of at least those that folded", known, true);
  }

  // Those whose last delivery this was are dead letters then; the others can be popped.
  void EndAllLeases() {
    model_.Advance(kEndOfTime);
    AdvanceWhole(kEndOfTime, SIZE_MAX);
    AdvanceLeases(LeaseTime(kEndOfTime), SIZE_MAX);
    deliveries_.Pop(SIZE_MAX, {});
    Expect<uint64_t>("sizes.behind_dead", folder_.sizes().behind_dead, model_.behind_dead());
    deliveries_.ScanDeadLetters(7);
    deliveries_.DropAllDeadLetters();
    deliveries_.Pop(SIZE_MAX, {});
    CompareCounts();
    Expect<uint64_t>("emissions that are still waited for", folder_.ledger().unacked, 0);
  }

  const Config& config_;
  FolderOptions options_;  // in use
  std::unique_ptr<Engine> engine_;
  Folder<Tick, Chain> folder_;
  FoldModel model_;
  uint64_t deaths_before_ = 0;  // the restarts, beside those that a snapshot had
  Agreement agreement_;
  DeliveryEpisode deliveries_;
  TraceAgreement trace_;
  Seen& seen_;
  EngineTime visited_at_ = kBeginningOfTime;  // all that was due by then has been visited
  LeaseTime leases_visited_at_{kBeginningOfTime};
  bool stopped_ = false;
  std::vector<Op> batch_;  // gathered, not folded yet
};

// Nothing, or what differed and at which operation.
std::optional<std::string> RunEpisode(const Config& config, const std::vector<Op>& ops,
                                      Seen& seen) {
  std::optional<std::string> failure = Episode(config, seen).Run(ops);
  const int64_t living = std::exchange(Counted::living, 0);
  if (living != 0 && !failure) failure = std::to_string(living) + " states outlive the engine";
  return failure;
}

}  // namespace

size_t EmptyStateBytes() { return sizeof(Chain); }

std::optional<std::string> TryEpisode(Choices& choices, Axis axis, int partitions, size_t count,
                                      Seen& seen, size_t keys_max) {
  const Config config = DrawConfig(choices, axis, partitions, keys_max);
  const std::vector<Op> ops = DrawOps(choices, config, count);
  const std::optional<std::string> failure = RunEpisode(config, ops, seen);
  if (!failure) return std::nullopt;
  Seen ignored;
  const auto run = [&](const std::vector<Op>& fewer) { return RunEpisode(config, fewer, ignored); };
  return StoryOf(config, Shrunk(ops, run), *failure, run);
}

}  // namespace pleat::inline v0_1
