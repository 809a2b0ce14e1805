#include "tests/model/episode.h"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include <pleat/folder.h>
#include <pleat/partition.h>

#include "tests/model/fold_model.h"

namespace pleat::inline v0 {
namespace {

// Counts its living copies: when an engine is gone, no state may be left, nor be destroyed twice.
struct Counted {
  static inline int64_t living = 0;

  Counted() noexcept { ++living; }
  Counted(const Counted&) noexcept { ++living; }
  Counted& operator=(const Counted&) noexcept = default;
  ~Counted() { --living; }
};

struct Tick {
  uint64_t value = 0;
  bool starts = false;
  bool ends = false;
  Duration quiet{0};
  std::string_view id = {};
  uint64_t content = 0;
};

// The state under test remembers every event and their order, in place and on the heap.
struct Chain {
  uint64_t hash = 0;
  std::string text;
  Counted counted;

  void Fold(const Tick& tick) noexcept {
    hash = (hash ^ tick.value) * 0x9E3779B97F4A7C15u + 1;
    text.append(1 + tick.value % 3, static_cast<char>('a' + tick.value % 26));
  }
  // What it could hold is nobody's promise; so that a cap on bytes is exact, what it does.
  size_t HeapBytes() const noexcept { return text.size(); }

  static Chain Of(const std::vector<uint64_t>& values) {
    Chain chain;
    for (const uint64_t value : values) chain.Fold({.value = value});
    return chain;
  }
};

// The rules, said once for both sides.
bool Condition(const Config& config, const Chain& chain) {
  return (chain.hash >> 32) % config.condition == 0;
}

Duration QuietAfter(const Config& config, std::string_view key, const Tick& tick) {
  if (config.quiet_by_key && key.size() % 3 == 0) return Duration{1 + key.size()};
  return tick.quiet;
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
  rules.partition = [&config](std::string_view key) {
    return PartitionOf(key, config.engine.partitions);
  };
  return rules;
}

std::string Text(EngineTime t) { return std::to_string(t.time_since_epoch().count()); }
std::string Text(Duration d) { return d == kForever ? "forever" : std::to_string(d.count()); }

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
      : choices_(choices), config_(config), clock_(config.start) {}

  Op Draw() {
    Op op{.key = DrawKey()};
    // Long batches take many folds in a row.
    const bool fold = config_.batch > 5 && !choices_.OneIn(30);
    const uint64_t dice = fold ? 0 : choices_.Below(1000);
    if (dice < 700) {
      op.verb = Verb::kFold;
      op.at = DrawStamp();
      op.n = choices_.Any();
      DrawMarks(op);
    } else if (dice < 850) {
      op.verb = choices_.OneIn(2) ? Verb::kAdvance : Verb::kAdvanceSome;
      op.at = DrawNow();
      op.n = choices_.Below(6) + (op.verb == Verb::kAdvance ? 1 : 0);
    } else if (dice < 910) {
      op.verb = config_.by_partition && !choices_.OneIn(4) ? Verb::kPopPartition : Verb::kPop;
      op.n = choices_.OneOf<uint64_t>({0, 1, 2, 7, 100, UINT64_MAX});
      op.partition =
          static_cast<int>(choices_.Below(static_cast<uint64_t>(config_.engine.partitions)));
    } else if (dice < 950) {
      op.verb = Verb::kPeek;
    } else if (dice < 960) {
      op.verb = Verb::kScan;
      op.n = choices_.OneOf<uint64_t>({1, 2, 7, 100, UINT64_MAX});
    } else if (dice < 980) {
      op.verb = Verb::kFlush;
    } else if (dice < 998) {
      op.verb = Verb::kCancel;
    } else {
      op.verb = Verb::kCloseAll;
    }
    return op;
  }

 private:
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
    if (config_.has_ids) op.id = choices_.Below(config_.ids.size());
    if (config_.has_content) op.content = choices_.OneIn(10) ? 1 : 0;
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
    if (choices_.OneIn(200)) {
      return choices_.OneOf<EngineTime>(
          {kBeginningOfTime, kEndOfTime, EngineTime::min(), EngineTime::max(), EngineTime{}});
    }
    return clock_;
  }

  EngineTime DrawNow() {
    if (choices_.OneIn(4000)) return kEndOfTime;
    // On event time the stamps move time; Advance() then is what an idle input does.
    if (config_.engine.axis == Axis::kEvent && !choices_.OneIn(4)) {
      return SaturatingSub(clock_, config_.engine.lateness);
    }
    return SaturatingSub(clock_, Around(choices_.OneOf<int64_t>({0, 1, 3, 10}) * config_.stride));
  }

  Choices& choices_;
  const Config& config_;
  EngineTime clock_;
};

class Episode {
 public:
  Episode(const Config& config, Seen& seen)
      : config_(config),
        engine_(Engine::Open(config.engine).value()),
        folder_(*engine_, "chains", config.folder, RulesOf(config)),
        model_(config.engine, config.folder, ModelRulesOf(config)),
        seen_(seen) {}

  // Nothing, or what differed and at which operation.
  std::optional<std::string> Run(const std::vector<Op>& ops) {
    for (size_t i = 0; i < ops.size() && difference_.empty(); ++i) {
      const bool gathers = ops[i].verb == Verb::kFold && config_.batch > 1;
      if (gathers) batch_.push_back(ops[i]);
      if (gathers && batch_.size() < config_.batch && i + 1 < ops.size()) continue;
      FoldBatch();
      if (!gathers) Apply(ops[i]);
      CompareCounts();
      if (difference_.empty()) continue;
      std::ostringstream where;
      where << "operation " << i << " (" << ops[i] << "): " << difference_;
      return where.str();
    }
    if (difference_.empty() && config_.drain) Drain();
    if (difference_.empty()) return std::nullopt;
    return "at the end: " + difference_;
  }

 private:
  template <class T>
  void Expect(std::string_view what, const T& engine, const T& model) {
    if (engine == model || !difference_.empty()) return;
    std::ostringstream out;
    out << what << " is " << Show(engine) << ", should be " << Show(model);
    difference_ = out.str();
  }

  static std::string Show(const std::string& text) {
    return text.size() <= 60 ? text : text.substr(0, 60) + "...";
  }
  static std::string Show(EngineTime t) { return Text(t); }
  static std::string Show(Reason reason) { return std::string(ReasonName(reason)); }
  static std::string Show(FoldOutcome outcome) {
    constexpr std::array<std::string_view, kFoldOutcomes> kNames = {
        "opened",  "folded",    "late",     "future",   "over limit",
        "stopped", "duplicate", "conflict", "corrected"};
    return std::string(kNames.at(static_cast<size_t>(outcome)));
  }
  static std::string Show(uint64_t n) { return std::to_string(n); }
  static std::string Show(EmissionId id) {
    return std::to_string(id.partition) + ":" + std::to_string(id.generation);
  }
  static std::string Show(const std::optional<EmissionId>& id) { return id ? Show(*id) : "absent"; }

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
        if (engine_->Advance(op.at, op.n)) settled_at_ = model_.now();
        return;
      case Verb::kPop: return CompareEmissions(folder_.Pop(op.n), model_.Pop(op.n));
      case Verb::kPopPartition:
        return CompareEmissions(folder_.PopPartition(op.partition, op.n),
                                model_.Pop(op.n, [&](const std::string& k) {
                                  return PartitionOf(k, config_.engine.partitions) == op.partition;
                                }));
      case Verb::kPeek: return Peek(key);
      case Verb::kScan: return Scan(op.n);
      case Verb::kFlush:
        return Expect<uint64_t>("Flush's answer", folder_.Flush(key), model_.Flush(key));
      case Verb::kCancel:
        return Expect<uint64_t>("Cancel's answer", folder_.Cancel(key), model_.Cancel(key));
      case Verb::kCloseAll:
        folder_.CloseAll();
        model_.CloseAll();
        return;
      case Verb::kStop:
        engine_->Stop();
        model_.Stop();
        return;
    }
  }

  Tick TickOf(const Op& op) const {
    return {.value = op.n,
            .starts = op.starts,
            .ends = op.ends,
            .quiet = op.quiet,
            .id = config_.has_ids ? std::string_view(config_.ids[op.id]) : std::string_view(),
            .content = op.content};
  }

  FoldOutcome FoldIntoModel(const Op& op) {
    const std::string& key = config_.keys[op.key];
    const Tick tick = TickOf(op);
    const FoldOutcome outcome = model_.Fold(key, tick.value, op.at,
                                            {.starts = tick.starts,
                                             .ends = tick.ends,
                                             .quiet_period = QuietAfter(config_, key, tick),
                                             .id = tick.id,
                                             .content = tick.content});
    seen_.outcomes.insert(outcome);
    return outcome;
  }

  void Fold(const std::string& key, const Op& op) {
    Expect("outcome", folder_.Fold(key, TickOf(op), op.at), FoldIntoModel(op));
  }

  void FoldBatch() {
    std::vector<KeyedEvent<Tick>> events;
    FoldCounts expected;
    for (const Op& op : batch_) events.push_back({config_.keys[op.key], op.at, TickOf(op)});
    std::vector<FoldOutcome> outcomes(events.size());
    const FoldCounts counts = folder_.FoldBatch(events, outcomes);
    for (size_t i = 0; i < batch_.size(); ++i) {
      const FoldOutcome outcome = FoldIntoModel(batch_[i]);
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
        difference_ = "Advance does not come to an end";
        return;
      }
    }
    settled_at_ = model_.now();
    const std::optional<EngineTime> deadline = engine_->NextDeadline();
    const std::optional<EngineTime> due = model_.FirstDue();
    // A deadline noted for a group that is gone may still be there, so it can be too early.
    if (due && (!deadline || *deadline > *due)) {
      Expect("next deadline", deadline ? Text(*deadline) : "absent", Text(*due));
    }
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
    ExpectState(group.state, model);
  }

  void ExpectState(const Chain& state, const ModelGroup& model) {
    const Chain expected = Chain::Of(model.events);
    Expect("state's hash", state.hash, expected.hash);
    Expect("state's text", state.text, expected.text);
  }

  void CompareEmissions(const std::vector<Emission<Chain>>& emissions,
                        const std::vector<ModelGroup>& expected) {
    for (size_t i = 0; i < std::min(emissions.size(), expected.size()); ++i) {
      const Emission<Chain>& emission = emissions[i];
      const ModelGroup& model = expected[i];
      Expect("emission's key", emission.key, model.key);
      Expect<uint64_t>("emission's count", emission.count, model.events.size());
      Expect("emission's first", emission.first, model.first);
      Expect("emission's last", emission.last, model.last);
      Expect("emission's reason", emission.reason, model.reason);
      Expect("emission's closed", emission.closed, model.closed);
      Expect<uint64_t>("emission's revision", emission.revision, model.revision);
      Expect<uint64_t>("emission's partial", emission.partial, model.partial);
      Expect("emission's id", emission.id, model.id);
      Expect("emission's corrects", emission.corrects, model.corrects);
      ExpectState(emission.state, model);
      seen_.reasons.insert(model.reason);
    }
    Expect<uint64_t>("number of emissions", emissions.size(), expected.size());
  }

  // Groups that are due may be closed later, by whoever comes next, and count as open until then;
  // nothing else shows it. Once Advance() has said that all is done, all columns must agree.
  void CompareCounts() {
    Expect("time", engine_->now(), model_.now());
    const Ledger ledger = folder_.ledger();
    const Ledger expected = model_.ledger();
    Expect("ledger.events", ledger.events, expected.events);
    Expect("ledger.opened", ledger.opened, expected.opened);
    Expect("ledger.folded", ledger.folded, expected.folded);
    Expect("ledger.late", ledger.late, expected.late);
    Expect("ledger.future", ledger.future, expected.future);
    Expect("ledger.refused", ledger.refused, expected.refused);
    Expect("ledger.duplicate", ledger.duplicate, expected.duplicate);
    Expect("ledger.conflict", ledger.conflict, expected.conflict);
    Expect("ledger.corrected", ledger.corrected, expected.corrected);
    Expect("ledger.cancelled", ledger.cancelled, expected.cancelled);
    Expect("ledger.popped", ledger.popped, expected.popped);
    Expect("ledger.reopened", ledger.reopened, expected.reopened);
    Expect("ledger.late_folded", ledger.late_folded, expected.late_folded);
    if (model_.now() == settled_at_) {
      Expect("ledger.closed", ledger.closed, expected.closed);
      Expect("ledger.silent", ledger.silent, expected.silent);
      Expect("ledger.partial", ledger.partial, expected.partial);
      Expect("ledger.open", ledger.open, expected.open);
      Expect("ledger.ready", ledger.ready, expected.ready);
    }
    Expect<uint64_t>("whether the ledger balances", ledger.Balances(), true);
    Expect<uint64_t>("whether the model's own ledger balances", expected.Balances(), true);
    const Sizes sizes = folder_.sizes();
    Expect<uint64_t>("sizes.open_groups", sizes.open_groups, ledger.open);
    Expect<uint64_t>("sizes.ready_emissions", sizes.ready_emissions, ledger.ready);
  }

  // Everything comes out in the end, and then nothing is held any more but what is remembered.
  void Drain() {
    folder_.CloseAll();
    model_.CloseAll();
    CompareEmissions(folder_.Pop(SIZE_MAX), model_.Pop(SIZE_MAX));
    CompareCounts();
    const bool remembers = config_.has_ids || config_.folder.count_reopened ||
                           config_.folder.on_late == OnLate::kCorrect;
    if (!remembers) Expect<uint64_t>("bytes held by nothing", folder_.sizes().bytes, 0);
  }

  const Config& config_;
  std::unique_ptr<Engine> engine_;
  Folder<Tick, Chain> folder_;
  FoldModel model_;
  Seen& seen_;
  EngineTime settled_at_ = kBeginningOfTime;  // all that was due by then has been closed
  std::vector<Op> batch_;                     // gathered, not folded yet
  std::string difference_;
};

// Leaves out ever smaller parts of the list for as long as it still fails.
std::vector<Op> Shrink(const Config& config, std::vector<Op> ops) {
  Seen ignored;
  for (size_t part = ops.size() / 2; part > 0; part /= 2) {
    for (size_t from = 0; from < ops.size();) {
      std::vector<Op> fewer = ops;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, ops.size() - from)));
      if (RunEpisode(config, fewer, ignored)) {
        ops = std::move(fewer);
      } else {
        from += part;
      }
    }
  }
  return ops;
}

}  // namespace

uint64_t Choices::Below(uint64_t end) {
  if (random_) return (*random_)() % end;
  // As many bytes as it takes, the highest first.
  uint64_t choice = 0;
  for (uint64_t rest = end - 1; rest > 0 && !bytes_.empty(); rest >>= 8) {
    choice = choice << 8 | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return choice % end;
}

uint64_t Choices::Any() { return random_ ? (*random_)() : Below(1 << 16); }

std::ostream& operator<<(std::ostream& out, const Config& c) {
  constexpr std::array<std::string_view, 3> kEdges = {"trailing", "leading", "both"};
  constexpr std::array<std::string_view, 3> kOnLate = {"reject", "fold", "correct"};
  out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, " << c.engine.partitions
      << " partitions, lateness " << Text(c.engine.lateness) << ", future_limit "
      << Text(c.engine.future_limit) << ", quiet " << Text(c.folder.quiet_period) << ", max_hold "
      << Text(c.folder.max_hold);
  if (c.folder.max_events != kNoEventCap) out << ", max_events " << c.folder.max_events;
  if (c.folder.max_group_bytes != kNoByteCap) {
    out << ", max_group_bytes " << c.folder.max_group_bytes << " (empty: " << sizeof(Chain) << ")";
  }
  out << ", edge " << kEdges.at(static_cast<size_t>(c.folder.edge)) << ", partial_every "
      << Text(c.folder.partial_every) << ", accept_limit " << Text(c.folder.accept_limit)
      << ", on_late " << kOnLate.at(static_cast<size_t>(c.folder.on_late)) << ", max_groups "
      << c.folder.max_groups
      << (c.folder.on_limit == OnLimit::kEmitOldest ? ", on_limit emit" : ", on_limit refuse");
  if (c.folder.count_reopened) out << ", count_reopened";
  if (c.starts) out << ", start marks";
  if (c.ends) out << ", end marks";
  if (c.condition > 0) out << ", condition " << c.condition;
  if (c.quiet_by_event) out << ", quiet by event";
  if (c.quiet_by_key) out << ", quiet by key";
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
      if (op.id > 0) out << ", id " << op.id;
      if (op.content > 0) out << ", content " << op.content;
      return out;
    case Verb::kAdvance: return out << "Advance " << Text(op.at) << ", whole";
    case Verb::kAdvanceSome: return out << "Advance " << Text(op.at) << ", budget " << op.n;
    case Verb::kPop: return out << "Pop " << op.n;
    case Verb::kPopPartition: return out << "PopPartition " << op.partition << ", " << op.n;
    case Verb::kPeek: return out << "Peek " << key;
    case Verb::kScan: return out << "Scan by " << op.n;
    case Verb::kFlush: return out << "Flush " << key;
    case Verb::kCancel: return out << "Cancel " << key;
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
  if (axis == Axis::kEvent) c.engine.lateness = around({0, 0, 50, 100, 130, 1000});
  if (choices.OneIn(4)) c.engine.future_limit = around({0, 100, 300, 2000});
  c.engine.hash_key = {{choices.Any(), choices.Any()}};

  FolderOptions& folder = c.folder;
  folder.quiet_period = choices.OneIn(25) ? kForever : Duration{quiet};
  folder.max_hold = kForever;
  if (choices.OneIn(2)) folder.max_hold = std::max(Duration{1}, around({30, 100, 101, 200, 500}));
  if (choices.OneIn(3)) folder.max_events = 1 + choices.Below(5);
  if (extra()) {
    folder.max_group_bytes =
        choices.OneIn(5) ? 1 + choices.Below(sizeof(Chain)) : sizeof(Chain) + 1 + choices.Below(30);
  }
  if (extra()) folder.edge = choices.OneOf({Edge::kLeading, Edge::kBoth});
  if (folder.edge != Edge::kLeading && richness > 0 && choices.OneIn(2)) {
    folder.partial_every = std::max(Duration{1}, around({3, 20, 50, 70, 100, 150, 400}));
  }
  if (choices.OneIn(3)) folder.accept_limit = around({0, 50, 100, 400});
  if (richness > 0 && !choices.OneIn(3)) {
    folder.accept_limit = around({0, 20, 50, 100, 400});
    switch (choices.Below(3)) {
      case 0: folder.on_late = OnLate::kFold; break;
      case 1: folder.on_late = OnLate::kCorrect; break;
      default:
        c.has_ids = true;
        c.has_content = !choices.OneIn(3);
        c.ids = DrawIds(choices);
    }
  }
  if (partitions == 1 && choices.OneIn(richness == 0 ? 4 : 2)) {
    folder.max_groups = 1 + choices.Below(8);
  }
  if (richness > 0 && choices.OneIn(2)) folder.on_limit = OnLimit::kEmitOldest;
  folder.count_reopened = extra();

  c.starts = extra();
  c.ends = extra();
  c.mark_every = choices.OneOf<uint64_t>({3, 10, 40, 200});
  if (extra()) c.condition = choices.OneOf<uint64_t>({3, 20, 100});
  c.quiet_by_event = extra();
  c.quiet_by_key = extra();

  c.keys = DrawKeys(choices, keys_max);
  c.start =
      choices.OneOf<EngineTime>({EngineTime{}, FromUnix(Duration{1'442'018'855'776'000}),
                                 kBeginningOfTime, kBeginningOfTime + Duration{quiet / 2},
                                 kEndOfTime - Duration{quiet * 300}, kEndOfTime - Duration{quiet}});
  // So that groups typically see from one event to dozens.
  const int64_t per_quiet =
      choices.OneOf<int64_t>({1, 3, 20}) * static_cast<int64_t>(c.keys.size());
  c.stride = std::max<int64_t>(1, 2 * quiet / per_quiet);
  c.by_partition = choices.OneIn(3);
  c.drain = !choices.OneIn(3);
  c.batch = choices.OneOf<size_t>({1, 1, 2, 5, 40, 256, 700});
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
      if (op.verb == Verb::kFold || op.verb == Verb::kPop) ops.push_back(op);
    }
  }
  return ops;
}

std::optional<std::string> RunEpisode(const Config& config, const std::vector<Op>& ops,
                                      Seen& seen) {
  std::optional<std::string> failure = Episode(config, seen).Run(ops);
  const int64_t living = std::exchange(Counted::living, 0);
  if (living != 0 && !failure) failure = std::to_string(living) + " states outlive the engine";
  return failure;
}

std::string Report(const Config& config, const std::vector<Op>& ops, const std::string& failure) {
  std::ostringstream out;
  out << failure << "\n  " << config << "\n  shrunk to:\n";
  const std::vector<Op> fewer = Shrink(config, ops);
  for (size_t i = 0; i < std::min<size_t>(fewer.size(), 60); ++i) {
    out << "    " << i << ": " << fewer[i] << "\n";
  }
  Seen ignored;
  out << "  where " << RunEpisode(config, fewer, ignored).value_or("it passes");
  return out.str();
}

}  // namespace pleat::inline v0
