// The engine against the model: the same random operations go to both, and after every one of them
// all that can be observed must agree: the answer, the time, the ledger, every field of every
// emission and their order, for several partition counts, on both axes, under many configurations.
//
// An episode is a configuration and a list of operations, both drawn from one seed. The operations
// carry all that they need, so that any part of the list is a valid episode too: when an episode
// fails, it is shrunk by leaving out parts of it while it still fails, and what remains is printed.
//
//   PLEAT_SEED=17           run only the episode of that seed, for each axis and partition count
//   PLEAT_MODEL_OPS=50000000   run about so many operations in total, from seed 1 (or PLEAT_SEED)
//   on
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/partition.h>

#include "tests/model/fold_model.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0 {
namespace {

constexpr uint64_t kOpsDefault = kSanitized ? 100'000 : 1'200'000;
constexpr size_t kOpsPerEpisode = 1'000;
constexpr uint64_t kInstances = 8;  // two axes, four partition counts

// Counts its living copies: when an engine is gone, no state may be left, nor be destroyed twice.
struct Counted {
  static inline int64_t living = 0;

  Counted() noexcept { ++living; }
  Counted(const Counted&) noexcept { ++living; }
  Counted& operator=(const Counted&) noexcept = default;
  ~Counted() { --living; }
};

// The state under test remembers every event and their order, in place and on the heap.
struct Tick {
  uint64_t value;
};
struct Chain {
  uint64_t hash = 0;
  std::string text;
  Counted counted;

  void Fold(const Tick& tick) noexcept {
    hash = (hash ^ tick.value) * 0x9E3779B97F4A7C15u + 1;
    text.push_back(static_cast<char>('a' + tick.value % 26));
  }
  size_t HeapBytes() const noexcept { return text.capacity(); }
};

enum class Verb {
  kFold,
  kAdvance,
  kAdvanceSome,
  kPop,
  kPopPartition,
  kPeek,
  kFlush,
  kCancel,
  kCloseAll,
  kStop
};

struct Op {
  Verb verb = Verb::kFold;
  size_t key = 0;  // index in Config::keys
  EngineTime at;   // the stamp, or the time to advance to
  uint64_t n = 0;  // the event's value; a budget; how many to pop
  int partition = 0;
};

struct Config {
  EngineOptions engine;
  FolderOptions folder;
  std::vector<std::string> keys;
  EngineTime start;
  int64_t stride = 1;  // typical microseconds between two events
  bool by_partition = false;
  size_t batch = 1;   // so many folds in a row become one FoldBatch; 1: Fold
  bool drain = true;  // pop everything before the engine goes, or leave it all to the destructor
};

using Random = std::mt19937_64;

uint64_t Below(Random& random, uint64_t end) { return random() % end; }

template <class T>
T OneOf(Random& random, std::initializer_list<T> choices) {
  return *(choices.begin() + Below(random, choices.size()));
}

std::string Text(EngineTime t) { return std::to_string(t.time_since_epoch().count()); }
std::string Text(Duration d) { return d == kForever ? "forever" : std::to_string(d.count()); }

std::ostream& operator<<(std::ostream& out, const Config& c) {
  return out << (c.engine.axis == Axis::kEvent ? "event" : "arrival") << " axis, "
             << c.engine.partitions << " partitions, lateness " << Text(c.engine.lateness)
             << ", future_limit " << Text(c.engine.future_limit) << ", quiet "
             << Text(c.folder.quiet_period) << ", max_hold " << Text(c.folder.max_hold)
             << ", max_events " << c.folder.max_events << ", accept_limit "
             << Text(c.folder.accept_limit) << ", max_groups " << c.folder.max_groups << ", "
             << c.keys.size() << " keys, start " << Text(c.start) << ", batches of " << c.batch;
}

std::ostream& operator<<(std::ostream& out, const Op& op) {
  const std::string key = "key " + std::to_string(op.key);
  switch (op.verb) {
    case Verb::kFold: return out << "Fold " << key << " at " << Text(op.at) << " value " << op.n;
    case Verb::kAdvance: return out << "Advance " << Text(op.at) << ", whole";
    case Verb::kAdvanceSome: return out << "Advance " << Text(op.at) << ", budget " << op.n;
    case Verb::kPop: return out << "Pop " << op.n;
    case Verb::kPopPartition: return out << "PopPartition " << op.partition << ", " << op.n;
    case Verb::kPeek: return out << "Peek " << key;
    case Verb::kFlush: return out << "Flush " << key;
    case Verb::kCancel: return out << "Cancel " << key;
    case Verb::kCloseAll: return out << "CloseAll";
    case Verb::kStop: return out << "Stop";
  }
  return out;
}

// Keys of the lengths at which representations change, with zero bytes in some.
std::vector<std::string> DrawKeys(Random& random) {
  const size_t count = OneOf<size_t>(random, {1, 2, 5, 30, 300, 3000});
  const size_t length = OneOf<size_t>(random, {0, 0, 7, 22, 23, 24, 100});
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) {
    std::string key = std::to_string(i);
    if (length > key.size()) key.insert(0, length - key.size(), i % 3 == 0 ? '\0' : 'k');
    keys.push_back(std::move(key));
  }
  if (Below(random, 4) == 0) {
    keys.push_back("");
    keys.push_back(std::string(1, '\0'));
    keys.push_back(std::string(kKeyBytesMax, 'L'));
    keys.push_back(std::string(kKeyBytesMax + 1, 'L'));
  }
  return keys;
}

Config DrawConfig(Random& random, Axis axis, int partitions) {
  Config c;
  const int64_t quiet = OneOf<int64_t>(random, {1, 2, 3, 10, 1000, 4096, 5000, 60'000'000});
  const auto around = [&](std::initializer_list<int64_t> factors_percent) {
    return Duration{quiet * OneOf(random, factors_percent) / 100};
  };
  c.engine.partitions = partitions;
  c.engine.axis = axis;
  if (axis == Axis::kEvent) c.engine.lateness = around({0, 0, 50, 100, 130, 1000});
  if (Below(random, 4) == 0) c.engine.future_limit = around({0, 100, 300, 2000});
  c.engine.hash_key = {{random(), random()}};

  c.folder.quiet_period = Below(random, 25) == 0 ? kForever : Duration{quiet};
  c.folder.max_hold = kForever;
  if (Below(random, 2) == 0) {
    c.folder.max_hold = std::max(Duration{1}, around({30, 100, 101, 200, 500}));
  }
  if (Below(random, 3) == 0) c.folder.max_events = 1 + Below(random, 5);
  if (Below(random, 3) == 0) c.folder.accept_limit = around({0, 50, 100, 400});
  if (partitions == 1 && Below(random, 4) == 0) c.folder.max_groups = 1 + Below(random, 8);

  c.keys = DrawKeys(random);
  c.start =
      OneOf<EngineTime>(random, {EngineTime{}, FromUnix(Duration{1'442'018'855'776'000}),
                                 kBeginningOfTime, kBeginningOfTime + Duration{quiet / 2},
                                 kEndOfTime - Duration{quiet * 300}, kEndOfTime - Duration{quiet}});
  // So that groups typically see from one event to dozens.
  const int64_t per_quiet =
      OneOf<int64_t>(random, {1, 3, 20}) * static_cast<int64_t>(c.keys.size());
  c.stride = std::max<int64_t>(1, 2 * quiet / per_quiet);
  c.by_partition = Below(random, 3) == 0;
  c.drain = Below(random, 3) > 0;
  c.batch = OneOf<size_t>(random, {1, 1, 2, 5, 40, 256, 700});
  return c;
}

class OpMaker {
 public:
  OpMaker(Random& random, const Config& config)
      : random_(random), config_(config), clock_(config.start) {}

  Op Draw() {
    Op op{.key = DrawKey(), .n = random_()};
    op.partition =
        static_cast<int>(Below(random_, static_cast<uint64_t>(config_.engine.partitions)));
    // Long batches take many folds in a row.
    const bool fold = config_.batch > 5 && Below(random_, 30) > 0;
    const uint64_t dice = fold ? 0 : Below(random_, 1000);
    if (dice < 700) {
      op.verb = Verb::kFold;
      op.at = DrawStamp();
    } else if (dice < 850) {
      op.verb = Below(random_, 2) == 0 ? Verb::kAdvance : Verb::kAdvanceSome;
      op.at = DrawNow();
      op.n = Below(random_, 6) + (op.verb == Verb::kAdvance ? 1 : 0);
    } else if (dice < 910) {
      op.verb = config_.by_partition && Below(random_, 4) > 0 ? Verb::kPopPartition : Verb::kPop;
      op.n = OneOf<uint64_t>(random_, {0, 1, 2, 7, 100, UINT64_MAX});
    } else if (dice < 960) {
      op.verb = Verb::kPeek;
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
    return Below(random_, 3) == 0 ? Below(random_, size) : Below(random_, 1 + Below(random_, size));
  }

  Duration Around(int64_t scale) {
    return Duration{static_cast<int64_t>(Below(random_, static_cast<uint64_t>(2 * scale + 1)))};
  }

  // Mostly a little later than the one before, often the same, sometimes far off.
  EngineTime DrawStamp() {
    const Duration quiet = config_.folder.quiet_period;
    const uint64_t dice = Below(random_, 100);
    if (dice < 60) clock_ = SaturatingAdd(clock_, Around(config_.stride));
    if (dice >= 97) clock_ = SaturatingAdd(clock_, quiet == kForever ? Duration{5} : quiet);
    if (dice < 80) return clock_;
    if (dice < 90) return SaturatingSub(clock_, Around(config_.stride * 5));
    if (dice < 94) return SaturatingAdd(clock_, Around(config_.stride * 20));
    if (dice < 95) return SaturatingSub(clock_, quiet);
    if (Below(random_, 200) == 0) {
      return OneOf<EngineTime>(random_, {kBeginningOfTime, kEndOfTime, EngineTime::min(),
                                         EngineTime::max(), EngineTime{}});
    }
    return clock_;
  }

  EngineTime DrawNow() {
    if (Below(random_, 4000) == 0) return kEndOfTime;
    // On event time the stamps move time; Advance() then is what an idle input does.
    if (config_.engine.axis == Axis::kEvent && Below(random_, 4) > 0) {
      return SaturatingSub(clock_, config_.engine.lateness);
    }
    return SaturatingSub(clock_, Around(OneOf<int64_t>(random_, {0, 1, 3, 10}) * config_.stride));
  }

  Random& random_;
  const Config& config_;
  EngineTime clock_;
};

// What was seen at all, so that the test cannot become empty without anyone noticing.
struct Seen {
  std::set<FoldOutcome> outcomes;
  std::set<Reason> reasons;
};

class Episode {
 public:
  Episode(const Config& config, Seen* seen)
      : config_(config),
        engine_(Engine::Open(config.engine).value()),
        folder_(*engine_, "chains", config.folder),
        model_(config.engine, config.folder),
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
    constexpr std::array kNames = {"opened", "folded", "late", "future", "over limit", "stopped"};
    return kNames[static_cast<size_t>(outcome)];
  }
  static std::string Show(uint64_t n) { return std::to_string(n); }

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

  void Fold(const std::string& key, const Op& op) {
    const FoldOutcome outcome = folder_.Fold(key, Tick{op.n}, op.at);
    Expect("outcome", outcome, model_.Fold(key, op.n, op.at));
    seen_->outcomes.insert(outcome);
  }

  void FoldBatch() {
    std::vector<KeyedEvent<Tick>> events;
    FoldCounts expected;
    for (const Op& op : batch_) events.push_back({config_.keys[op.key], op.at, Tick{op.n}});
    std::vector<FoldOutcome> outcomes(events.size());
    const FoldCounts counts = folder_.FoldBatch(events, outcomes);
    for (size_t i = 0; i < batch_.size(); ++i) {
      const Op& op = batch_[i];
      const FoldOutcome outcome = model_.Fold(config_.keys[op.key], op.n, op.at);
      Expect("outcome in a batch", outcomes[i], outcome);
      expected.Add(outcome);
      seen_->outcomes.insert(outcome);
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
    if (!group || model == nullptr) return;
    Expect<uint64_t>("count", group->count, model->events.size());
    Expect("first", group->first, model->first);
    Expect("last", group->last, model->last);
    ExpectState(group->state, *model);
  }

  void ExpectState(const Chain& state, const ModelGroup& model) {
    Chain expected;
    for (const uint64_t value : model.events) expected.Fold(Tick{value});
    Expect("state's hash", state.hash, expected.hash);
    Expect("state's text", state.text, expected.text);
  }

  void CompareEmissions(const std::vector<Emission<Chain>>& emissions,
                        const std::vector<ModelGroup>& expected) {
    for (size_t i = 0; i < std::min(emissions.size(), expected.size()); ++i) {
      Expect("emission's key", emissions[i].key, expected[i].key);
      Expect<uint64_t>("emission's count", emissions[i].count, expected[i].events.size());
      Expect("emission's first", emissions[i].first, expected[i].first);
      Expect("emission's last", emissions[i].last, expected[i].last);
      Expect("emission's closed", emissions[i].closed, expected[i].closed);
      Expect("emission's reason", emissions[i].reason, expected[i].reason);
      ExpectState(emissions[i].state, expected[i]);
      const int partition = PartitionOf(emissions[i].key, config_.engine.partitions);
      const EmissionId id = emissions[i].id;
      Expect<uint64_t>("id's partition", id.partition, static_cast<uint64_t>(partition));
      if (!ids_.emplace(id.partition, id.generation).second) {
        Expect<std::string>("emission's id", "one seen before", "unique");
      }
      seen_->reasons.insert(emissions[i].reason);
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
    Expect("ledger.cancelled", ledger.cancelled, expected.cancelled);
    Expect("ledger.popped", ledger.popped, expected.popped);
    if (model_.now() == settled_at_) {
      Expect("ledger.closed", ledger.closed, expected.closed);
      Expect("ledger.open", ledger.open, expected.open);
      Expect("ledger.ready", ledger.ready, expected.ready);
    }
    ExpectBalance(ledger);
    ExpectBalance(expected);
    const Sizes sizes = folder_.sizes();
    Expect<uint64_t>("sizes.open_groups", sizes.open_groups, ledger.open);
    Expect<uint64_t>("sizes.ready_emissions", sizes.ready_emissions, ledger.ready);
  }

  void ExpectBalance(const Ledger& l) {
    Expect("opened + folded + late + future + refused",
           l.opened + l.folded + l.late + l.future + l.refused, l.events);
    Expect("closed + cancelled + open", l.closed + l.cancelled + l.open, l.opened);
    Expect("popped + ready", l.popped + l.ready, l.closed);
  }

  // Everything comes out in the end, and then nothing is held any more.
  void Drain() {
    folder_.CloseAll();
    model_.CloseAll();
    CompareEmissions(folder_.Pop(SIZE_MAX), model_.Pop(SIZE_MAX));
    CompareCounts();
    Expect<uint64_t>("bytes held by nothing", folder_.sizes().bytes, 0);
  }

  const Config& config_;
  std::unique_ptr<Engine> engine_;
  Folder<Tick, Chain> folder_;
  FoldModel model_;
  Seen* seen_;
  EngineTime settled_at_ = kBeginningOfTime;  // all that was due by then has been closed
  std::set<std::pair<uint32_t, uint64_t>> ids_;
  std::vector<Op> batch_;  // gathered, not folded yet
  std::string difference_;
};

std::optional<std::string> RunEpisode(const Config& config, const std::vector<Op>& ops,
                                      Seen* seen) {
  std::optional<std::string> failure = Episode(config, seen).Run(ops);
  const int64_t living = std::exchange(Counted::living, 0);
  if (living != 0 && !failure) failure = std::to_string(living) + " states outlive the engine";
  return failure;
}

// Leaves out ever smaller parts of the list for as long as it still fails.
std::vector<Op> Shrink(const Config& config, std::vector<Op> ops) {
  Seen ignored;
  for (size_t part = ops.size() / 2; part > 0; part /= 2) {
    for (size_t from = 0; from < ops.size();) {
      std::vector<Op> fewer = ops;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, ops.size() - from)));
      if (RunEpisode(config, fewer, &ignored)) {
        ops = std::move(fewer);
      } else {
        from += part;
      }
    }
  }
  return ops;
}

std::string Report(const Config& config, const std::vector<Op>& ops, const std::string& failure) {
  std::ostringstream out;
  out << failure << "\n  " << config << "\n  shrunk to:\n";
  const std::vector<Op> fewer = Shrink(config, ops);
  for (size_t i = 0; i < std::min<size_t>(fewer.size(), 60); ++i) {
    out << "    " << i << ": " << fewer[i] << "\n";
  }
  Seen ignored;
  out << "  where " << RunEpisode(config, fewer, &ignored).value_or("it passes");
  return out.str();
}

std::optional<uint64_t> FromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

class FoldModelProperty : public testing::TestWithParam<std::tuple<Axis, int>> {};

TEST_P(FoldModelProperty, EngineAgreesInEverything) {
  const auto [axis, partitions] = GetParam();
  const std::optional<uint64_t> seed = FromEnvironment("PLEAT_SEED");
  const std::optional<uint64_t> ops_wanted = FromEnvironment("PLEAT_MODEL_OPS");
  const uint64_t first_seed = seed.value_or(1);
  const uint64_t ops_total = ops_wanted.value_or(seed ? 1 : kOpsDefault);
  const uint64_t episodes = 1 + ops_total / kInstances / kOpsPerEpisode;

  Seen seen;
  for (uint64_t i = 0; i < episodes; ++i) {
    SCOPED_TRACE("PLEAT_SEED=" + std::to_string(first_seed + i));
    std::seed_seq mixed{first_seed + i, static_cast<uint64_t>(axis == Axis::kEvent),
                        static_cast<uint64_t>(partitions)};
    Random random(mixed);
    const Config config = DrawConfig(random, axis, partitions);
    OpMaker maker(random, config);
    std::vector<Op> ops(kOpsPerEpisode);
    for (Op& op : ops) op = maker.Draw();
    // After Stop() folds are refused, and what has closed can still be popped.
    if (Below(random, 10) == 0) {
      ops.push_back({.verb = Verb::kStop});
      for (int k = 0; k < 20; ++k) {
        Op op = maker.Draw();
        if (op.verb == Verb::kFold || op.verb == Verb::kPop) ops.push_back(op);
      }
    }
    const std::optional<std::string> failure = RunEpisode(config, ops, &seen);
    ASSERT_FALSE(failure.has_value()) << Report(config, ops, *failure);
  }
  if (episodes < 50) return;  // too few to see everything
  EXPECT_EQ(seen.outcomes.size(), 6u);
  EXPECT_EQ(seen.reasons.size(), 5u);
}

std::string InstanceName(const testing::TestParamInfo<std::tuple<Axis, int>>& instance) {
  const auto [axis, partitions] = instance.param;
  return (axis == Axis::kArrival ? "Arrival" : "Event") + std::to_string(partitions);
}

INSTANTIATE_TEST_SUITE_P(AxesAndPartitions, FoldModelProperty,
                         testing::Combine(testing::Values(Axis::kArrival, Axis::kEvent),
                                          testing::Values(1, 2, 7, 16)),
                         InstanceName);

}  // namespace
}  // namespace pleat::inline v0
