#include "tests/model/live_set_episode.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <pleat/live_set.h>
#include <pleat/snapshot.h>

#include "tests/model/chain.h"
#include "tests/model/live_set_model.h"
#include "tests/model/live_set_words.h"
#include "tests/model/shrink.h"
#include "tests/support/bytes.h"

namespace pleat::inline v0_1 {
namespace {

using Words = LiveSet<Word>;

// Page by page.
std::vector<Words::Member> ListAll(const Words& live_set, std::string_view series,
                                   ListOptions options, size_t page) {
  std::vector<Words::Member> out;
  ListCursor cursor;
  options.limit = page;
  while (live_set.List(series, options, cursor, out)) {
    if (out.size() > 100'000) break;  // it need not come to an end
  }
  return out;
}
std::vector<LiveSetModel::Member> ListAll(const LiveSetModel& model, std::string_view series,
                                          const ListOptions& options, size_t) {
  return model.List(series, options);
}

std::vector<SeriesCount> ScanAll(const Words& live_set, size_t step) {
  std::vector<SeriesCount> out;
  ScanCursor cursor;
  while (live_set.Scan(cursor, step, out)) {
    if (out.size() > 100'000) break;
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.series < b.series; });
  return out;
}
std::vector<SeriesCount> ScanAll(const LiveSetModel& model, size_t) { return model.Scan(); }

// Calls that are the same on both sides.
template <class Side>
std::string Call(Side& side, const LiveSetConfig& config, const LiveSetOp& op) {
  const std::string& series = config.series[op.event.series];
  const std::string& id = config.ids[op.event.id];
  switch (op.verb) {
    case LiveSetVerb::kTouch: return Said(side.Touch(series, id, op.event.at));
    case LiveSetVerb::kRemove: {
      RemoveOptions options{.only_if_not_newer = op.only_if_not_newer, .later_wins = op.later_wins};
      if (op.names_time) options.at = op.event.at;
      return Said(side.Remove(series, id, options));
    }
    case LiveSetVerb::kRemoveRange: return Said(side.Remove(series, op.event.at, op.to));
    case LiveSetVerb::kSetTtl: return Said(side.SetTtl(series, op.event.ttl));
    case LiveSetVerb::kClear: return Said(side.Clear(series));
    default: return "";
  }
}

template <class Side>
std::string Reads(const Side& side, const LiveSetConfig& config, const LiveSetOp& op,
                  EngineTime now) {
  const std::string& series = config.series[op.event.series];
  const std::string& id = config.ids[op.event.id];
  std::string out = "count " + Said(side.Count(series, now));
  out += ", since " + Said(side.CountSince(series, op.event.at, now));
  out += ", between " + Said(side.CountBetween(series, op.event.at, op.to, now));
  out += ", member " + Said(side.Find(series, id, now));
  out += ", rank " + Said(side.Rank(series, id, now));
  out += ", newest " + Said(ListAll(side, series, {.now = now}, op.page));
  const ListOptions oldest{.newest_first = false, .since = op.event.at, .now = now};
  out += ", oldest " + Said(ListAll(side, series, oldest, op.page));
  out += ", top " + Said(side.TopSeries(op.page, now));
  return out;
}

class Episode {
 public:
  Episode(const LiveSetConfig& config, LiveSetSeen& seen)
      : config_(config),
        engine_(Engine::Open(config.engine).value()),
        live_set_(*engine_, "live_set", config.live_set),
        model_(config.engine, config.live_set),
        cursor_(AnyLiveSet(live_set_.any())
                    .Watch({.is_prefix = true}, [](std::string_view, size_t) {})),
        partitions_(static_cast<size_t>(config.engine.partitions)),
        seen_(seen) {}

  std::optional<std::string> Run(const std::vector<LiveSetOp>& ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      Apply(ops[i]);
      CompareReads(ops[i]);
      CompareCounts(ops[i]);
      if (difference_.empty()) continue;
      std::ostringstream where;
      where << "operation " << i << " (" << ops[i] << "): " << difference_;
      return where.str();
    }
    for (const ModelChange& change : model_.changes()) seen_.causes.insert(CauseName(change.cause));
    End();
    if (difference_.empty()) return std::nullopt;
    return "at the end: " + difference_;
  }

 private:
  void Expect(std::string_view what, const std::string& engine, const std::string& model) {
    if (engine == model || !difference_.empty()) return;
    difference_ = std::string(what) + " is\n    " + engine + "\n  and should be\n    " + model;
  }

  void Apply(const LiveSetOp& op) {
    switch (op.verb) {
      case LiveSetVerb::kAdd: return Add(op.event);
      case LiveSetVerb::kBatch: return AddBatch(op);
      case LiveSetVerb::kImport: return Import(op);
      case LiveSetVerb::kAdvance: engine_->Advance(op.event.at); return model_.Advance(op.event.at);
      case LiveSetVerb::kAdvanceSome:
        (void)engine_->Advance(op.event.at, op.budget);
        return model_.Advance(op.event.at);
      case LiveSetVerb::kStop:
        stopped_ = true;
        engine_->Stop();
        return model_.Stop();
      case LiveSetVerb::kRestart: return Restart(op);
      case LiveSetVerb::kSetOptions:
        Expect("setting options", std::string(live_set_.SetOptions(*op.options).message()), "");
        options_ = *op.options;
        return model_.SetOptions(*op.options);
      default: {
        const std::string expected = Call(model_, config_, op);
        Expect("the answer", Call(live_set_, config_, op), expected);
      }
    }
  }

  // The tables' own key is another one. Other options are those of a SetOptions() at the cut.
  void Restart(const LiveSetOp& op) {
    StringSink snapshot;
    const absl::Status taken = TakeSnapshot(*engine_, snapshot);
    Expect("taking a snapshot", std::string(taken.message()), "");
    EngineOptions options = config_.engine;
    ++options.internals.hash_key->front();
    engine_ = Engine::Open(options).value();
    const bool changes =
        op.options && std::tuple(options_.ttl, options_.retention, options_.refresh) !=
                          std::tuple(op.options->ttl, op.options->retention, op.options->refresh);
    if (op.options) options_ = *op.options;
    if (changes) model_.SetOptions(options_);
    live_set_ = Words(*engine_, "live_set", options_);
    const uint64_t skip = op.skips ? RestoreOptions().skip_numbers : 0;
    StringSource source(snapshot.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = skip});
    Expect("restoring it", std::string(restored.message()), "");
    if (stopped_) engine_->Stop();
    StringSink again;
    Expect("taking another one", std::string(TakeSnapshot(*engine_, again).message()), "");
    const bool same = skip > 0 || changes || again.bytes == snapshot.bytes;
    Expect("its bytes", same ? "the same" : "others", "the same");
    skipped_ += skip;
    behind_ |= skip > 0;
    restarted_ = true;
    ++seen_.restarts;
    if (op.reads) CompareChanges();
  }

  Words::Event EventOf(const LiveSetEventOp& op) const {
    return {.id = config_.ids[op.id],
            .ttl = op.ttl,
            .version = op.version,
            .payload = Word::Of(op.payload)};
  }
  LiveSetModel::Event ModelEventOf(const LiveSetEventOp& op) const {
    return {.id = config_.ids[op.id], .ttl = op.ttl, .version = op.version, .payload = op.payload};
  }

  void Add(const LiveSetEventOp& op) {
    const std::string& series = config_.series[op.series];
    const LiveSetOutcome expected = model_.Add(series, ModelEventOf(op), op.at);
    seen_.outcomes.insert(expected);
    Expect("the outcome", Said(live_set_.Add(series, EventOf(op), op.at)), Said(expected));
  }

  LiveSetOutcome AddToModel(const LiveSetEventOp& op, PartitionRange only) {
    const std::string& series = config_.series[op.series];
    const std::string_view home = series.size() > 64 * 1024 ? "" : std::string_view(series);
    const bool here = only.Contains(PartitionOf(home, config_.engine.partitions));
    return here ? model_.Add(series, ModelEventOf(op), op.at)
                : model_.PassBy(series, config_.ids[op.id], op.at);
  }

  void AddBatch(const LiveSetOp& op) {
    std::vector<KeyedEvent<Words::Event>> events;
    for (const LiveSetEventOp& event : op.events) {
      events.push_back({config_.series[event.series], event.at, EventOf(event)});
    }
    std::vector<LiveSetOutcome> outcomes(events.size());
    const LiveSetCounts counts = live_set_.AddBatch(events, outcomes, op.range);
    std::vector<LiveSetOutcome> expected;
    LiveSetCounts expected_counts;
    for (const LiveSetEventOp& event : op.events) {
      expected.push_back(AddToModel(event, op.range));
      expected_counts.Add(expected.back());
      seen_.outcomes.insert(expected.back());
    }
    Expect("the outcomes", Said(outcomes), Said(expected));
    Expect("the counts", Said(counts), Said(expected_counts));
  }

  void Import(const LiveSetOp& op) {
    const std::string& series = config_.series[op.event.series];
    std::vector<KeyedEvent<Words::Event>> rows;
    std::vector<LiveSetModel::Row> model_rows;
    for (const LiveSetEventOp& row : op.events) {
      rows.push_back({"", row.at, EventOf(row)});
      model_rows.push_back({"", row.at, ModelEventOf(row)});
    }
    const LiveSetCounts expected = model_.Import(series, model_rows);
    Expect("the counts", Said(live_set_.Import(series, rows)), Said(expected));
  }

  void CompareReads(const LiveSetOp& op) {
    Expect("the time", Said(engine_->now()), Said(model_.now()));
    const EngineTime later = SaturatingAdd(model_.now(), op.ahead);
    Expect("at the engine's time", Reads(live_set_, config_, op, kBeginningOfTime),
           Reads(model_, config_, op, kBeginningOfTime));
    Expect("at " + Said(later), Reads(live_set_, config_, op, later),
           Reads(model_, config_, op, later));
    Expect("the scan", Said(ScanAll(live_set_, op.page)), Said(ScanAll(model_, op.page)));
    CompareCountMany(later);
    const EngineTime next = engine_->NextDeadline().value_or(kNever);
    const EngineTime first = model_.FirstDeadline();
    if (next > first) Expect("NextDeadline()", Said(next), Said(first));
  }

  void CompareCountMany(EngineTime now) {
    const std::vector<KeyView> series(config_.series.begin(), config_.series.end());
    std::vector<size_t> counts(series.size());
    live_set_.CountMany(series, counts, now);
    std::vector<size_t> expected;
    for (const KeyView name : series) expected.push_back(model_.Count(name, now));
    Expect("the counts of all series", Said(counts), Said(expected));
  }

  void CompareCounts(const LiveSetOp& op) {
    const bool settled = config_.settles || op.verb == LiveSetVerb::kAdvance;
    if (settled) engine_->Advance(kBeginningOfTime);
    Expect("the ledger", Said(live_set_.ledger(), settled), Said(model_.ledger(), settled));
    if (!live_set_.ledger().Balances()) Expect("the ledger's balance", "broken", "");
    if (settled) Expect("the sizes", Said(live_set_.sizes()), Said(model_.sizes()));
    if (settled) CompareChanges();
    live_set_.any().CheckWhole();
  }

  // All that are new, of all series: in order, and numbered in their partitions without a gap.
  void CompareChanges() {
    if (std::exchange(restarted_, false)) ReadBehindARestart();
    std::vector<std::string> told;
    const auto see = [&](const AnyChange& change) {
      told.push_back(Said(change.cause, change.series, change.id, PayloadOf(change), change.at,
                          change.count, change.stamp, change.deadline));
      const size_t home = HomeOf(change.series);
      const ChangeId expected{.partition = static_cast<uint32_t>(home),
                              .number = partitions_[home].next++ + skipped_};
      if (change.change != expected) Expect("the number of a change", told.back(), "another");
    };
    AnyLiveSet any = live_set_.any();
    ReadChanges read = ReadChanges::kMore;
    while (read == ReadChanges::kMore) read = any.Read({.is_prefix = true}, cursor_, 7, see);
    if (read != ReadChanges::kAll) Expect("reading changes", "a resync", "all");
    std::vector<std::string> expected;
    for (; changes_ < model_.changes().size(); ++changes_) {
      const ModelChange& c = model_.changes()[changes_];
      Reading& home = partitions_[HomeOf(c.series)];
      if (home.passed++ < home.first) continue;
      expected.push_back(
          Said(c.cause, c.series, c.id, Word::Of(c.payload), c.at, c.count, c.stamp, c.deadline));
    }
    Expect("changes", Said(told), Said(expected));
  }

  // Nobody has kept changes since, so that a reader who has not read all of them before has to start
  // over, behind those that were numbered. If numbers are skipped, every reader has to.
  void ReadBehindARestart() {
    const uint64_t numbered = live_set_.ledger().changes;
    const auto sum = [&](uint64_t Reading::* of) {
      return std::accumulate(partitions_.begin(), partitions_.end(), uint64_t{0},
                             [of](uint64_t all, const Reading& each) { return all + each.*of; });
    };
    const bool misses = std::exchange(behind_, false) || sum(&Reading::next) != numbered;
    const ReadChanges read =
        AnyLiveSet(live_set_.any()).Read({.is_prefix = true}, cursor_, 0, [](const AnyChange&) {});
    const bool resync = read == ReadChanges::kResync;
    Expect("a reader of before a restart", resync ? "resync" : "on", misses ? "resync" : "on");
    if (!resync) return;
    ++seen_.resyncs;
    for (size_t i = 0; i < partitions_.size(); ++i) {
      const uint64_t first = cursor_.next.at(i) - skipped_;
      if (first < partitions_[i].next) Expect("the first change", "before those read", "behind");
      partitions_[i].first = partitions_[i].next = first;
    }
    Expect("what it has missed ends at", Said(sum(&Reading::first)), Said(numbered));
  }

  size_t HomeOf(std::string_view series) const {
    return static_cast<size_t>(PartitionOf(series, config_.engine.partitions));
  }

  static Word PayloadOf(const AnyChange& change) {
    return change.payload != nullptr ? *static_cast<const Word*>(change.payload) : Word{};
  }

  void End() {
    engine_->Advance(kEndOfTime);
    model_.Advance(kEndOfTime);
    const LiveSetOp op{.verb = LiveSetVerb::kAdvance};
    CompareReads(op);
    CompareCounts(op);
  }

  const LiveSetConfig& config_;
  LiveSetOptions options_ = config_.live_set;
  std::unique_ptr<Engine> engine_;
  Words live_set_;
  LiveSetModel model_;
  ChangeCursor cursor_;
  // Of one partition, by the numbers that its changes have if none are skipped.
  struct Reading {
    uint64_t first = 0;   // what comes before is not read again
    uint64_t next = 0;    // to be read
    uint64_t passed = 0;  // of the model's
  };
  std::vector<Reading> partitions_;
  size_t changes_ = 0;    // of the model: compared
  uint64_t skipped_ = 0;  // numbers
  bool behind_ = false;   // numbers were skipped since the last reading
  bool restarted_ = false;
  bool stopped_ = false;
  LiveSetSeen& seen_;
  std::string difference_;
};

// Leaves out events of batches and imports for as long as it still fails.
template <class Run>
void ShrinkBatches(const Run& run, std::vector<LiveSetOp>& ops) {
  for (size_t i = 0; i < ops.size(); ++i) {
    for (size_t event = 0; event < ops[i].events.size();) {
      std::vector<LiveSetOp> fewer = ops;
      fewer[i].events.erase(fewer[i].events.begin() + static_cast<std::ptrdiff_t>(event));
      if (run(fewer)) {
        ops = std::move(fewer);
      } else {
        ++event;
      }
    }
  }
}

// Nothing, or what differed and at which operation.
std::optional<std::string> RunEpisode(const LiveSetConfig& config,
                                      const std::vector<LiveSetOp>& ops, LiveSetSeen& seen) {
  std::optional<std::string> failure = Episode(config, seen).Run(ops);
  const int64_t living = std::exchange(Counted::living, 0);
  if (living != 0 && !failure) failure = std::to_string(living) + " payloads outlive the engine";
  return failure;
}

}  // namespace

std::optional<std::string> TryLiveSetEpisode(Choices& choices, Axis axis, int partitions,
                                             size_t count, LiveSetSeen& seen) {
  const LiveSetConfig config = DrawLiveSetConfig(choices, axis, partitions);
  const std::vector<LiveSetOp> ops = DrawLiveSetOps(choices, config, count);
  const std::optional<std::string> failure = RunEpisode(config, ops, seen);
  if (!failure) return std::nullopt;
  LiveSetSeen ignored;
  const auto run = [&](const std::vector<LiveSetOp>& fewer) {
    return RunEpisode(config, fewer, ignored);
  };
  std::vector<LiveSetOp> fewer = Shrunk(ops, run);
  ShrinkBatches(run, fewer);
  return StoryOf(config, fewer, *failure, run);
}

}  // namespace pleat::inline v0_1
