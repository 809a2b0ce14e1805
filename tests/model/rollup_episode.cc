#include "tests/model/rollup_episode.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <pleat/rollup.h>
#include <pleat/snapshot.h>

#include "tests/model/rollup_model.h"
#include "tests/model/rollup_words.h"
#include "tests/model/shrink.h"
#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"

namespace pleat::inline v0_1 {
namespace {

template <class Side>
std::string RollupReads(const Side& side, const RollupConfig& config, const RollupOp& op) {
  std::string out;
  for (const std::string& key : config.keys) out += SaidOfValues(side, key) + "\n      ";
  const std::string& key = config.keys[op.event.key];
  out += "history " + Said(side.History(key, kBeginningOfTime - config.rollup.windows.back(),
                                        kNever, op.resolution));
  out += ", from " + Said(side.History(key, op.around, op.event.at, op.resolution));
  return out + ", top " + Said(side.Top(op.top, op.around, op.resolution));
}

constexpr SnapshotOptions kPlain{.compress = false};

class RollupEpisode {
 public:
  RollupEpisode(const RollupConfig& config, RollupSeen& seen)
      : config_(config),
        engine_(Engine::Open(config.engine).value()),
        counter_(*engine_, "rollup", config.rollup),
        model_(config.engine, config.rollup),
        seen_(seen) {}

  std::optional<std::string> Run(const std::vector<RollupOp>& ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      Apply(ops[i]);
      Compare(ops[i]);
      if (difference_.empty()) continue;
      std::ostringstream where;
      where << "operation " << i << " (" << ops[i] << "): " << difference_;
      return where.str();
    }
    End();
    if (difference_.empty()) return std::nullopt;
    return "at the end: " + difference_;
  }

 private:
  void Expect(std::string_view what, const std::string& engine, const std::string& model) {
    if (engine == model || !difference_.empty()) return;
    difference_ = std::string(what) + " is\n    " + engine + "\n  and should be\n    " + model;
  }

  void Apply(const RollupOp& op) {
    const std::string& key = KeyOf(op.event);
    switch (op.verb) {
      case RollupVerb::kAdd: {
        const AddOutcome expected =
            Saw(model_.Add(key, DeltaOf(op.event), op.event.at, IdOf(op.event)));
        return Expect("the outcome",
                      Said(counter_.Add(key, DeltaOf(op.event), op.event.at, IdOf(op.event))),
                      Said(expected));
      }
      case RollupVerb::kAddAndGet: {
        const AddedCount expected =
            model_.AddAndGet(key, DeltaOf(op.event), op.event.at, IdOf(op.event));
        return Expect("the answer",
                      Said(counter_.AddAndGet(key, DeltaOf(op.event), op.event.at, IdOf(op.event))),
                      Said(expected));
      }
      case RollupVerb::kClear: {
        if (!config_.rollup.clears) return;
        const AddOutcome expected = Saw(model_.Clear(key, op.event.at, IdOf(op.event)));
        return Expect("the outcome", Said(counter_.Clear(key, op.event.at, IdOf(op.event))),
                      Said(expected));
      }
      case RollupVerb::kBatch: return AddBatch(op);
      case RollupVerb::kCloseAll: counter_.CloseAll(); return model_.CloseAll();
      case RollupVerb::kAdvance: engine_->Advance(op.event.at); return model_.Advance(op.event.at);
      case RollupVerb::kAdvanceSome:
        (void)engine_->Advance(op.event.at, op.budget);
        return model_.Advance(op.event.at);
      case RollupVerb::kPop: return Pop(op.n, op.range);
      case RollupVerb::kLease: return Lease(op);
      case RollupVerb::kAck:
      case RollupVerb::kNack: return EndLease(op);
      case RollupVerb::kAdvanceLeases:
        (void)engine_->AdvanceLeases(LeaseTime(op.event.at));
        return model_.AdvanceLeases(LeaseTime(op.event.at));
      case RollupVerb::kRef: {
        if (refs_.contains(key)) return;
        CounterRef ref = counter_.Ref(key);
        Expect("whether there is a reference", ref.empty() ? "no" : "yes",
               model_.Ref(key) ? "yes" : "no");
        if (!ref.empty()) refs_[key] = std::move(ref);
        return;
      }
      case RollupVerb::kDropRef:
        // A counter that was held when its time came is forgotten at some later visit.
        dropped_ |= refs_.erase(key) > 0;
        return model_.DropRef(key);
      case RollupVerb::kStop:
        stopped_ = true;
        engine_->Stop();
        return model_.Stop();
      case RollupVerb::kSetOptions: SetOptions(*op.options); return model_.SetOptions(*op.options);
      case RollupVerb::kRestart: return Restart(op);
    }
  }

  void SetOptions(const RollupOptions& options) {
    Expect("setting options", std::string(counter_.SetOptions(options).message()), "");
    options_ = options;
    ++seen_.changes;
  }

  // References belong to a process: they go before it. With other options the next engine is as this
  // one where they are set at the cut, to the byte.
  void Restart(const RollupOp& op) {
    for (const auto& [key, ref] : std::exchange(refs_, {})) {
      model_.DropRef(key);
      dropped_ = true;
    }
    StringSink snapshot;
    const absl::Status taken = TakeSnapshot(*engine_, snapshot, kPlain);
    Expect("taking a snapshot", std::string(taken.message()), "");
    StringSink same = snapshot;
    if (op.options && !IsSame(*op.options, options_)) {
      SetOptions(*op.options);
      model_.SetOptions(*op.options);
      same = {};
      Expect("its snapshot", std::string(TakeSnapshot(*engine_, same, kPlain).message()), "");
    }
    EngineOptions options = config_.engine;
    if (options.internals.hash_key) ++options.internals.hash_key->front();
    engine_ = Engine::Open(options).value();
    counter_ = RollupCounter(*engine_, "rollup", options_);
    StringSource source(snapshot.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    Expect("restoring it", std::string(restored.message()), "");
    if (stopped_) engine_->Stop();
    StringSink again;
    Expect("taking another one", TakeSnapshot(*engine_, again, kPlain).ok() ? "right" : "wrong",
           "right");
    const bool equal =
        op.options ? InAnyOrder(again.bytes) == InAnyOrder(same.bytes) : again.bytes == same.bytes;
    Expect("its bytes", equal ? "the same" : "others", "the same");
  }

  // The bytes of a snapshot but for checksums, sorted. Windows that only an emission needs stand in the
  // order of their places, and a table from which some were freed takes those first.
  static std::string InAnyOrder(std::string bytes) {
    for (size_t block = 0; block + 24 <= bytes.size();) {
      uint32_t size = 0;
      std::memcpy(&size, &bytes[block + 4], sizeof(size));
      std::memset(&bytes[block + 16], 0, 8);
      block += 24 + size;
    }
    std::ranges::sort(bytes);
    return bytes;
  }

  // Whether a restart has nothing to change.
  static bool IsSame(const RollupOptions& a, const RollupOptions& b) {
    const auto changing = [](const RollupOptions& o) {
      return std::tuple(o.on_late, o.retention, o.forget_after);
    };
    return changing(a) == changing(b);
  }

  const std::string& KeyOf(const RollupEventOp& op) const { return config_.keys[op.key]; }
  const std::string& IdOf(const RollupEventOp& op) const { return config_.ids[op.id]; }
  Delta DeltaOf(const RollupEventOp& op) const { return config_.deltas[op.delta]; }

  AddOutcome Saw(AddOutcome outcome) {
    seen_.outcomes.insert(outcome);
    return outcome;
  }

  AddOutcome AddToModel(const RollupEventOp& op, PartitionRange only) {
    const std::string& key = KeyOf(op);
    const std::string_view home = IsTooLong(key) ? "" : std::string_view(key);
    const bool here = only.Contains(PartitionOf(home, config_.engine.partitions));
    return Saw(here ? model_.Add(key, DeltaOf(op), op.at, IdOf(op))
                    : model_.PassBy(key, op.at, IdOf(op)));
  }

  void AddBatch(const RollupOp& op) {
    std::vector<KeyedEvent<CounterEvent>> events;
    for (const RollupEventOp& event : op.events) {
      events.push_back({KeyOf(event), event.at, {.delta = DeltaOf(event), .id = IdOf(event)}});
    }
    std::vector<AddOutcome> outcomes(events.size());
    const RollupCounts results = counter_.AddBatch(events, outcomes, op.range);
    std::vector<AddOutcome> expected;
    RollupCounts expected_results;
    for (const RollupEventOp& event : op.events) {
      expected.push_back(AddToModel(event, op.range));
      expected_results.Add(expected.back());
    }
    Expect("the outcomes", Said(outcomes), Said(expected));
    Expect("the results", Said(results), Said(expected_results));
  }

  void Saw(const ModelGroup& emission) {
    seen_.reasons.insert(emission.reason);
    seen_.corrected_one |= emission.corrects.has_value();
    seen_.saturated |= model_.StateOf(emission.id).amount.saturated;
  }

  void Pop(size_t max, PartitionRange from) {
    std::vector<std::string> said;
    for (const Emission<CountedWindow>& emission : counter_.Pop(max, from)) {
      said.push_back(Said(emission));
    }
    std::vector<std::string> expected;
    for (const ModelGroup& emission : model_.Pop(max, from)) {
      Saw(emission);
      expected.push_back(Said(emission, model_.StateOf(emission.id)));
    }
    Expect("emissions are", Said(said), Said(expected));
  }

  // The n-th token of the engine is the model's delivery n.
  void Lease(const RollupOp& op) {
    constexpr Duration kTtl{10};
    const LeaseTime now(op.event.at);
    std::vector<std::string> said;
    const auto look = [&](const auto& lease) {
      const Emission<CountedWindow> emission{lease, std::string(lease.key), lease.state};
      said.push_back(Said(emission) + " delivery " + Said(size_t{lease.delivery.deliveries}));
      tokens_.push_back(lease.delivery.token);
    };
    if (leases_++ % 2 == 0) {
      std::ranges::for_each(counter_.Lease(op.n, kTtl, now, op.range), look);
    } else {
      counter_.LeaseEach(op.n, kTtl, now, look, op.range);
    }
    std::vector<std::string> expected;
    for (const ModelLease& lease : model_.Lease(op.n, kTtl, now, op.range)) {
      Saw(lease.emission);
      expected.push_back(Said(lease.emission, model_.StateOf(lease.emission.id)) + " delivery " +
                         Said(size_t{lease.deliveries}));
    }
    Expect("leases are", Said(said), Said(expected));
  }

  // Of one of the last ones, whether it has ended or not.
  void EndLease(const RollupOp& op) {
    if (tokens_.empty()) return;
    const size_t delivery = tokens_.size() - op.n % tokens_.size();
    const LeaseToken& token = tokens_[delivery - 1];
    const bool acks = op.verb == RollupVerb::kAck;
    if (acks && delivery % 2 == 0) return AckAndTake(token, delivery);
    Expect("the outcome", Said(acks ? counter_.Ack(token) : counter_.Nack(token)),
           Said(acks ? model_.Ack(delivery) : model_.Nack(delivery)));
  }

  void AckAndTake(const LeaseToken& token, size_t delivery) {
    const std::optional<ModelGroup> lent = model_.LentBy(delivery);
    const Acked<CountedWindow> acked = counter_.AckAndTake(token);
    Expect("the outcome", Said(acked.outcome), Said(model_.Ack(delivery)));
    Expect("what was acked", acked.emission ? Said(*acked.emission) : "nothing",
           lent ? Said(*lent, model_.StateOf(lent->id)) : "nothing");
  }

  void Compare(const RollupOp& op) {
    Expect("the time", Said(engine_->now()), Said(model_.now()));
    if (op.looks) CompareReads(op);
    const bool visits = config_.settles || op.verb == RollupVerb::kAdvance;
    const Settled settled = !visits    ? Settled::kNo
                            : dropped_ ? Settled::kButForForgotten
                                       : Settled::kYes;
    if (visits) engine_->Advance(kBeginningOfTime);
    Expect("the ledger", Said(counter_.ledger(), settled), Said(model_.ledger(), settled));
    if (!counter_.ledger().Balances()) Expect("the ledger's balance", "broken", "");
    if (visits) CompareSettled(settled);
    CheckWhole(counter_.any());
  }

  void CompareReads(const RollupOp& op) {
    Expect("what is read", RollupReads(counter_, config_, op), RollupReads(model_, config_, op));
  }

  void CompareSettled(Settled settled) {
    Expect("the sizes", Said(counter_.sizes(), settled), Said(model_.sizes(), settled));
    if (counter_.sizes().ids < model_.sizes().ids) Expect("the number of ids", "too small", "");
    for (const auto& [key, ref] : refs_) {
      Expect("by a reference", Said(std::optional(ref.Eventual())), Said(model_.Eventual(key)));
    }
    const EngineTime next = engine_->NextDeadline().value_or(kNever);
    const EngineTime first = model_.FirstDue().value_or(kNever);
    if (next > first) Expect("NextDeadline()", Said(next), Said(first));
  }

  // All that closes in the end is handed out; what is lent stays so.
  void End() {
    counter_.CloseAll();
    model_.CloseAll();
    engine_->Advance(kEndOfTime);
    model_.Advance(kEndOfTime);
    const RollupOp op{.verb = RollupVerb::kAdvance};
    Compare(op);
    Pop(SIZE_MAX, {});
    Compare(op);
    seen_.forgot |= model_.ledger().forgotten > 0;
  }

  const RollupConfig& config_;
  RollupOptions options_ = config_.rollup;
  std::unique_ptr<Engine> engine_;
  RollupCounter counter_;
  RollupModel model_;
  RollupSeen& seen_;
  std::map<std::string, CounterRef> refs_;
  bool dropped_ = false;  // a reference
  bool stopped_ = false;
  std::vector<LeaseToken> tokens_;
  size_t leases_ = 0;
  std::string difference_;
};

// Leaves out events of batches for as long as it still fails.
template <class Run>
void ShrinkRollupBatches(const Run& run, std::vector<RollupOp>& ops) {
  for (size_t i = 0; i < ops.size(); ++i) {
    for (size_t event = 0; event < ops[i].events.size();) {
      std::vector<RollupOp> fewer = ops;
      fewer[i].events.erase(fewer[i].events.begin() + static_cast<std::ptrdiff_t>(event));
      if (run(fewer)) {
        ops = std::move(fewer);
      } else {
        ++event;
      }
    }
  }
}

template <class Run>
std::optional<std::string> StoryIfAny(const RollupConfig& config, const std::vector<RollupOp>& ops,
                                      const std::optional<std::string>& failure, const Run& run) {
  if (!failure) return std::nullopt;
  std::vector<RollupOp> fewer = Shrunk(ops, run);
  ShrinkRollupBatches(run, fewer);
  return StoryOf(config, fewer, *failure, run);
}

// Outcomes and emissions of the events of an episode, in words.
class RollupReplay {
 public:
  struct Told {
    std::string outcomes;
    std::string emissions;
    std::string values;

    friend bool operator==(const Told&, const Told&) = default;
  };

  RollupReplay(const RollupConfig& config, int partitions)
      : config_(config),
        engine_(Engine::Open(With(config.engine, partitions)).value()),
        counter_(*engine_, "rollup", config.rollup) {}

  // Event by event, and nobody looks before the end.
  Told RunPlainly(const std::vector<RollupOp>& ops) {
    for (const RollupOp& op : ops) {
      for (const RollupEventOp& event : EventsOf(op)) {
        told_.outcomes += Said(counter_.Add(config_.keys[event.key], config_.deltas[event.delta],
                                            event.at, config_.ids[event.id])) +
                          " ";
      }
      Do(op);
    }
    return End();
  }

  // Each operation says what else is done: its `n` which visit, its `budget` and `top` where
  // batches are cut.
  Told RunOtherwise(const std::vector<RollupOp>& ops) {
    for (const RollupOp& op : ops) {
      const std::vector<RollupEventOp> events = EventsOf(op);
      waiting_.insert(waiting_.end(), events.begin(), events.end());
      const bool goes_on = !events.empty() && op.n % 2 == 0 && waiting_.size() < 40;
      if (goes_on) continue;
      AddWaiting(op.top);
      Visit(op);
      Do(op);
    }
    AddWaiting(SIZE_MAX);
    return End();
  }

 private:
  static EngineOptions With(EngineOptions options, int partitions) {
    options.partitions = partitions;
    return options;
  }

  static std::vector<RollupEventOp> EventsOf(const RollupOp& op) {
    const bool is_one = op.verb == RollupVerb::kAdd || op.verb == RollupVerb::kAddAndGet;
    return is_one ? std::vector<RollupEventOp>{op.event} : op.events;
  }

  // What is input, besides events.
  void Do(const RollupOp& op) {
    switch (op.verb) {
      case RollupVerb::kClear:
        if (!config_.rollup.clears) return;
        told_.outcomes +=
            Said(counter_.Clear(config_.keys[op.event.key], op.event.at, config_.ids[op.event.id]));
        return;
      case RollupVerb::kAdvance:
      case RollupVerb::kAdvanceSome: (void)engine_->Advance(op.event.at, op.budget); return;
      case RollupVerb::kCloseAll: return counter_.CloseAll();
      case RollupVerb::kSetOptions: (void)counter_.SetOptions(*op.options); return;
      default: return;
    }
  }

  void AddWaiting(size_t piece) {
    std::vector<KeyedEvent<CounterEvent>> events;
    for (const RollupEventOp& op : waiting_) {
      events.push_back({config_.keys[op.key],
                        op.at,
                        {.delta = config_.deltas[op.delta], .id = config_.ids[op.id]}});
    }
    waiting_.clear();
    for (std::span<const KeyedEvent<CounterEvent>> rest(events); !rest.empty();) {
      const auto batch = rest.first(std::min(piece, rest.size()));
      rest = rest.subspan(batch.size());
      std::vector<AddOutcome> outcomes(batch.size());
      counter_.AddBatch(batch, outcomes);
      for (const AddOutcome outcome : outcomes) told_.outcomes += Said(outcome) + " ";
    }
  }

  void Visit(const RollupOp& op) {
    switch (op.n) {
      case 0:
      case 1: return Pop(op.top);
      case 2:
      case 3: return engine_->Advance(kBeginningOfTime);
      case 4: (void)engine_->Advance(kBeginningOfTime, 1); return;
      default: (void)RollupReads(counter_, config_, op);
    }
  }

  void Pop(size_t max) {
    for (const Emission<CountedWindow>& emission : counter_.Pop(max)) {
      told_.emissions += SaidWithoutName(emission) + "\n      ";
    }
  }

  Told End() {
    counter_.CloseAll();
    Pop(SIZE_MAX);
    const RollupOp op{};
    told_.values =
        RollupReads(counter_, config_, op) + "\n      " + Said(counter_.ledger(), Settled::kNo);
    return told_;
  }

  const RollupConfig& config_;
  std::unique_ptr<Engine> engine_;
  RollupCounter counter_;
  std::vector<RollupEventOp> waiting_;
  Told told_;
};

std::optional<std::string> RunReplay(const RollupConfig& config, const std::vector<RollupOp>& ops) {
  const RollupReplay::Told plain = RollupReplay(config, 1).RunPlainly(ops);
  const RollupReplay::Told other = RollupReplay(config, config.engine.partitions).RunOtherwise(ops);
  if (plain == other) return std::nullopt;
  const auto both = [](const std::string& one, const std::string& two) {
    return "plainly\n      " + one + "\n    and otherwise\n      " + two;
  };
  if (plain.outcomes != other.outcomes) return both(plain.outcomes, other.outcomes);
  if (plain.emissions != other.emissions) return both(plain.emissions, other.emissions);
  return both(plain.values, other.values);
}

}  // namespace

std::optional<std::string> TryRollupEpisode(Choices& choices, Axis axis, int partitions,
                                            size_t count, RollupSeen& seen) {
  const RollupConfig config = DrawRollupConfig(choices, axis, partitions);
  const std::vector<RollupOp> ops = DrawRollupOps(choices, config, count);
  RollupSeen ignored;
  const auto run = [&](const std::vector<RollupOp>& fewer) {
    return RollupEpisode(config, ignored).Run(fewer);
  };
  return StoryIfAny(config, ops, RollupEpisode(config, seen).Run(ops), run);
}

std::optional<std::string> TryRollupReplay(Choices& choices, Axis axis, int partitions,
                                           size_t count) {
  RollupConfig config = DrawRollupConfig(choices, axis, partitions);
  config.rollup.limits = {};
  const std::vector<RollupOp> ops = DrawRollupOps(choices, config, count);
  const auto run = [&](const std::vector<RollupOp>& fewer) { return RunReplay(config, fewer); };
  return StoryIfAny(config, ops, run(ops), run);
}

}  // namespace pleat::inline v0_1
