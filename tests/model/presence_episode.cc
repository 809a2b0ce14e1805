#include "tests/model/presence_episode.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <pleat/batch.h>
#include <pleat/presence.h>
#include <pleat/snapshot.h>

#include "tests/model/chain.h"
#include "tests/model/presence_model.h"
#include "tests/model/presence_words.h"
#include "tests/model/shrink.h"
#include "tests/support/bytes.h"

namespace pleat::inline v0_1 {
namespace {

using Readers = Presence<Word>;

// A generation by the two names that the engine and the model gave it.
struct Generation {
  uint64_t engine = 0;
  uint64_t model = 0;
};

// All generations that were given.
class Generations {
 public:
  using Key = std::tuple<size_t, size_t, size_t>;  // series, user, connection

  // Returns whether the engine's is larger than all before it in its series.
  bool Give(const Key& key, Generation given) {
    const bool larger = given.engine > Latest(std::get<0>(key)).engine;
    of_connection_[key].push_back(given);
    of_series_[std::get<0>(key)].push_back(given);
    return larger;
  }

  Generation Find(const Key& key, Meant meant) const {
    switch (meant) {
      case Meant::kLatest: return Back(of_connection_, key, 1);
      case Meant::kOneBefore: return Back(of_connection_, key, 2);
      case Meant::kNeighbours: return Latest(std::get<0>(key));
      case Meant::kZero: return {};
      case Meant::kLargest: return {UINT64_MAX, UINT64_MAX};
    }
    return {};
  }

  // The model's name; zero: it was never given.
  uint64_t ModelOf(size_t series, uint64_t engine) const {
    const auto found = of_series_.find(series);
    if (found == of_series_.end()) return 0;
    for (const Generation& given : found->second) {
      if (given.engine == engine) return given.model;
    }
    return 0;
  }

 private:
  template <class Map, class Of>
  static Generation Back(const Map& map, const Of& of, size_t back) {
    const auto found = map.find(of);
    if (found == map.end() || found->second.size() < back) return {};
    return found->second[found->second.size() - back];
  }
  Generation Latest(size_t series) const { return Back(of_series_, series, 1); }

  std::map<Key, std::vector<Generation>> of_connection_;
  std::map<size_t, std::vector<Generation>> of_series_;
};

// Knows whether it was told since it was last asked.
class Told final : public ChangeListener {
 public:
  void MayHaveChanges() noexcept override { told_ = true; }
  bool Take() { return std::exchange(told_, false); }

 private:
  bool told_ = false;
};

// Somebody who reads the changes of a scope.
struct Watcher {
  std::string name;
  bool is_prefix = true;
  ChangeCursor cursor = {};
  size_t next = 0;       // of the model's changes
  uint64_t skipped = 0;  // numbers, when it was given its cursor
  size_t restarts = 0;   // likewise

  WatchScope scope() const { return {.name = name, .is_prefix = is_prefix}; }
};

class PresenceEpisode {
 public:
  PresenceEpisode(const PresenceConfig& config, PresenceSeen& seen)
      : config_(config),
        engine_(Engine::Open(config.engine).value()),
        presence_(*engine_, "presence", config.presence),
        model_(config.engine, config.presence,
               [partitions = config.engine.partitions](std::string_view series) {
                 return PartitionOf(series, partitions);
               }),
        kept_from_(static_cast<size_t>(config.engine.partitions)),
        seen_(seen) {
    for (Watcher& watcher : watchers_) Watch(watcher);
    any().AddListener(told_, {.is_prefix = true});
  }
  ~PresenceEpisode() { any().RemoveListener(told_); }

  std::optional<std::string> Run(const std::vector<PresenceOp>& ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      Apply(ops[i]);
      CompareReads(ops[i]);
      CompareCounts(ops[i].verb == PresenceVerb::kAdvance);
      if (difference_.empty()) continue;
      std::ostringstream where;
      where << "operation " << i << " (" << ops[i] << "): " << difference_;
      return where.str();
    }
    for (const auto& change : model_.changes()) seen_.causes.insert(CauseName(change.cause));
    End();
    if (difference_.empty()) return std::nullopt;
    return "at the end: " + difference_;
  }

 private:
  AnyPresence any() const { return presence_.any(); }

  void Expect(std::string_view what, const std::string& engine, const std::string& model) {
    if (engine == model || !difference_.empty()) return;
    difference_ = std::string(what) + " is\n    " + engine + "\n  and should be\n    " + model;
  }
  void Require(std::string_view claim, bool holds) {
    if (!holds) Expect(claim, "broken", "");
  }

  void Apply(const PresenceOp& op) {
    switch (op.verb) {
      case PresenceVerb::kEnter: return Enter(op);
      case PresenceVerb::kBeat:
      case PresenceVerb::kUpdate:
      case PresenceVerb::kLeave: return Call(op);
      case PresenceVerb::kCrowd: return EnterCrowd(op);
      case PresenceVerb::kAdvance: engine_->Advance(op.at); return model_.Advance(op.at);
      case PresenceVerb::kAdvanceSome:
        (void)engine_->Advance(op.at, op.budget);
        return model_.Advance(op.at);
      case PresenceVerb::kWatch: return WatchAnew(op);
      case PresenceVerb::kRead: return (void)Read(watchers_.at(op.watcher), op.max);
      case PresenceVerb::kStop:
        stopped_ = true;
        engine_->Stop();
        return model_.Stop();
      case PresenceVerb::kClose: return Close();
      case PresenceVerb::kRestart: return Restart(op);
      case PresenceVerb::kSetOptions: return SetOptions(*op.options);
    }
  }

  void Enter(const PresenceOp& op) {
    const auto& [series, user, connection] = NamesOf(op);
    const Entered entered = presence_.Enter(series, user, connection, Word::Of(op.metadata), op.at);
    TellOfBytes(entered.outcome);
    const Entered expected = model_.Enter(series, user, connection, op.metadata, op.at);
    ExpectOutcome(entered.outcome, expected.outcome);
    Require("a generation, if and only if it entered",
            (entered.generation > 0) == (expected.generation > 0));
    if (entered.generation == 0) return;
    Require("a generation larger than all before",
            generations_.Give(KeyOf(op), {entered.generation, expected.generation}));
  }

  void EnterCrowd(PresenceOp op) {
    for (size_t i = 0; i < op.crowd; ++i) {
      op.user = (op.user + 1) % config_.users.size();
      op.at += Duration{i % 3 == 0 ? config_.stride : 0};
      Enter(op);
    }
  }

  void Call(const PresenceOp& op) {
    const auto [engine, model] = generations_.Find(KeyOf(op), op.generation);
    const PresenceOutcome outcome = Call(presence_, op, engine, Word::Of(op.metadata));
    TellOfBytes(outcome);
    ExpectOutcome(outcome, Call(model_, op, model, op.metadata));
  }
  void TellOfBytes(PresenceOutcome outcome) {
    model_.SetFull(config_.few_bytes && outcome == PresenceOutcome::kOverLimit);
  }

  template <class Side, class Metadata>
  PresenceOutcome Call(Side& side, const PresenceOp& op, uint64_t generation,
                       const Metadata& metadata) const {
    const auto& [series, user, connection] = NamesOf(op);
    if (op.verb == PresenceVerb::kBeat) {
      return side.Beat(series, user, connection, generation, op.at);
    }
    if (op.verb == PresenceVerb::kLeave) {
      return side.Leave(series, user, connection, generation, op.at);
    }
    return side.Update(series, user, connection, generation, metadata, op.at);
  }

  void ExpectOutcome(PresenceOutcome outcome, PresenceOutcome expected) {
    seen_.outcomes.insert(expected);
    Expect("the outcome", Said(outcome), Said(expected));
  }

  void Close() {
    presence_.Close();
    model_.Close();
    closed_ = true;
  }

  void SetOptions(const PresenceOptions& options) {
    if (closed_) return;
    Expect("setting options", std::string(presence_.SetOptions(options).message()), "");
    options_ = options;
    model_.SetOptions(options);
  }

  // Other options are those of a SetOptions() at the cut. Generations of before go on naming their connections. The tables' own key is another one.
  void Restart(const PresenceOp& op) {
    if (closed_) return;
    StringSink snapshot;
    const absl::Status taken = TakeSnapshot(*engine_, snapshot);
    Expect("taking a snapshot", std::string(taken.message()), "");
    const auto times = [](const PresenceOptions& o) { return std::pair(o.ttl, o.grace); };
    const bool changes = op.options && times(*op.options) != times(options_);
    if (op.options) options_ = *op.options;
    if (changes) model_.SetOptions(options_);
    const uint64_t numbered = changes ? model_.ledger().changes : presence_.ledger().changes;
    any().RemoveListener(told_);
    EngineOptions options = config_.engine;
    ++options.internals.hash_key->front();
    engine_ = Engine::Open(options).value();
    presence_ = Readers(*engine_, "presence", options_);
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
    ++restarts_;
    ++seen_.restarts;
    any().AddListener(told_, {.is_prefix = true});
    if (changes)
      told_.MayHaveChanges();  // it listens behind the changes that the options have made
    KeepFrom(numbered);
  }

  // Changes are kept from the snapshot on, and `numbered` had a number by then. A cursor of nowhere
  // is set to the first ones.
  void KeepFrom(uint64_t numbered) {
    ChangeCursor first;
    std::vector<Change<Word>> none;
    const ReadChanges read = presence_.Read({.is_prefix = true}, first, 0, none);
    Require("a resync of a cursor of nowhere", read == ReadChanges::kResync);
    if (!difference_.empty()) return;
    for (size_t i = 0; i < kept_from_.size(); ++i) kept_from_[i] = first.next.at(i) - skipped_;
    const uint64_t all = std::accumulate(kept_from_.begin(), kept_from_.end(), uint64_t{0});
    Expect("the changes before a restart", Said(all), Said(numbered));
  }

  using Names = std::tuple<const std::string&, const std::string&, const std::string&>;
  Names NamesOf(const PresenceOp& op) const {
    return {config_.series[op.series], config_.users[op.user], config_.connections[op.connection]};
  }
  static Generations::Key KeyOf(const PresenceOp& op) {
    return {op.series, op.user, op.connection};
  }

  // Users, in words. The engine's generations are told by the model's names for them.

  std::string SaidOf(const Readers::User& user, size_t series) const {
    return SaidOfUser(user, Said(user.metadata), [&](uint64_t generation) {
      return generations_.ModelOf(series, generation);
    });
  }
  static std::string SaidOf(const PresenceModel::User& user, size_t) {
    return SaidOfUser(user, Said(Word::Of(user.metadata)), [](uint64_t same) { return same; });
  }
  template <class User>
  std::string SaidOf(const std::vector<User>& users, size_t series) const {
    std::string out;
    for (const User& user : users) out += SaidOf(user, series);
    return out;
  }
  template <class User>
  std::string SaidOf(const std::optional<User>& user, size_t series) const {
    return user ? SaidOf(*user, series) : "nobody";
  }

  // Page by page.
  static std::vector<Readers::User> ListAll(const Readers& presence, std::string_view series,
                                            ListOptions options, size_t page) {
    std::vector<Readers::User> out;
    ListCursor cursor;
    options.limit = page;
    while (presence.List(series, options, cursor, out)) {
      if (out.size() > 100'000) break;  // it need not come to an end
    }
    return out;
  }
  static std::vector<PresenceModel::User> ListAll(const PresenceModel& model,
                                                  std::string_view series,
                                                  const ListOptions& options, size_t) {
    return model.List(series, options);
  }

  static std::vector<SeriesCount> AllSeries(const Readers& presence, EngineTime now) {
    std::vector<SeriesCount> out;
    presence.any().AllSeries(now, [&](std::string_view series, size_t count) {
      out.push_back({std::string(series), count});
    });
    return out;
  }
  static std::vector<SeriesCount> AllSeries(const PresenceModel& model, EngineTime now) {
    return model.AllSeries(now);
  }

  static std::vector<SeriesCount> ScanAll(const Readers& presence, size_t step) {
    std::vector<SeriesCount> out;
    ScanCursor cursor;
    while (presence.Scan(cursor, step, out)) {
      if (out.size() > 100'000) break;
    }
    return ByName(out);
  }

  static std::vector<SeriesCount> ByName(std::vector<SeriesCount> counts) {
    std::sort(counts.begin(), counts.end(),
              [](const auto& a, const auto& b) { return a.series < b.series; });
    return counts;
  }

  template <class Side>
  std::string Reads(const Side& side, const PresenceOp& op, EngineTime now) const {
    const auto& [series, user, connection] = NamesOf(op);
    std::string out = Said(side.Count(series, now));
    out += ", user " + SaidOf(side.Find(series, user, now), op.series);
    const std::optional<EngineTime> since = SaturatingSub(op.at, Duration{config_.stride});
    for (const bool newest_first : {true, false}) {
      const ListOptions options{
          .newest_first = newest_first, .since = newest_first ? std::nullopt : since, .now = now};
      out += ", list " + SaidOf(ListAll(side, series, options, op.page), op.series);
    }
    out += ", top " + Said(side.TopSeries(op.page, now));
    return out + ", all series " + Said(AllSeries(side, now));
  }

  void CompareReads(const PresenceOp& op) {
    Expect("the time", Said(engine_->now()), Said(model_.now()));
    for (const EngineTime now : {kBeginningOfTime, SaturatingAdd(model_.now(), op.ahead)}) {
      Expect("at " + Said(now), Reads(presence_, op, now), Reads(model_, op, now));
    }
    Expect("the scan", Said(ScanAll(presence_, op.page)), Said(ByName(model_.AllSeries())));
    const EngineTime next = engine_->NextDeadline().value_or(kNever);
    const EngineTime first = model_.FirstDeadline();
    if (next > first) Expect("NextDeadline()", Said(next), Said(first));
  }

  void CompareCounts(bool advanced) {
    any().CheckWhole();
    if (closed_) return;
    const bool settled = config_.settles || advanced;
    if (settled) engine_->Advance(kBeginningOfTime);
    const PresenceLedger ledger = presence_.ledger();
    Expect("the ledger", Said(ledger, settled), Said(model_.ledger(), settled));
    Require("the ledger's balance", ledger.Balances() && model_.ledger().Balances());
    if (!settled) return;
    Expect("the sizes", Said(presence_.sizes()), Said(model_.sizes()));
    CompareBytes();
    const bool has_new = watchers_.front().next < model_.changes().size();
    Require("the listener is told", told_.Take() || !has_new);
    ReadAll(watchers_.front());
  }

  void CompareBytes() {
    Require("max_bytes", presence_.sizes().bytes <= config_.presence.limits.max_bytes);
  }

  // Watchers. The first one reads everything after every operation.

  void WatchAnew(const PresenceOp& op) {
    Watcher& watcher = watchers_.at(1 + op.watcher % (watchers_.size() - 1));
    watcher.name = config_.series[op.series].substr(0, op.prefix.value_or(std::string::npos));
    watcher.is_prefix = op.prefix.has_value();
    Watch(watcher);
  }

  void Watch(Watcher& watcher) {
    watcher.next = model_.changes().size();
    watcher.skipped = skipped_;
    watcher.restarts = restarts_;
    if (watcher.is_prefix) {
      std::vector<SeriesCount> counts;
      watcher.cursor = presence_.Watch(watcher.scope(), counts);
      std::vector<SeriesCount> expected = ByName(model_.AllSeries());
      std::erase_if(expected, [&](const auto& s) { return !watcher.scope().Covers(s.series); });
      return Expect("watching a prefix", Said(ByName(counts)), Said(expected));
    }
    std::vector<Readers::User> users;
    watcher.cursor = presence_.Watch(watcher.name, users);
    const auto series =
        static_cast<size_t>(std::find(config_.series.begin(), config_.series.end(), watcher.name) -
                            config_.series.begin());
    Expect("watching a series", SaidOf(users, series),
           SaidOf(model_.List(watcher.name, {.newest_first = false}), series));
  }

  void ReadAll(Watcher& watcher) {
    while (Read(watcher, 7) == ReadChanges::kMore && difference_.empty()) {
    }
  }

  ReadChanges Read(Watcher& watcher, size_t max) {
    const bool is_behind = !closed_ && IsBehind(watcher);
    std::vector<Change<Word>> changes;
    const ReadChanges read = presence_.Read(watcher.scope(), watcher.cursor, max, changes);
    seen_.reads.insert(read);
    Require("reading of what is closed", (read == ReadChanges::kClosed) == closed_);
    if (closed_) return read;
    if (read == ReadChanges::kResync) {
      Require("a resync only of who is behind", is_behind);
      Require("no changes before a resync", changes.empty());
      ExpectFirstChanges(watcher);
      if (watcher.restarts != restarts_) ++seen_.resyncs;
      Watch(watcher);
      return read;
    }
    if (watcher.skipped < skipped_) Require("no numbers of before a restart", !is_behind);
    CompareChanges(watcher, changes, max);
    if (read == ReadChanges::kMore) Require("more than the reader wants", changes.size() == max);
    if (read == ReadChanges::kAll) Require("all there is", NextOf(watcher) == nullptr);
    return read;
  }

  void CompareChanges(Watcher& watcher, const std::vector<Change<Word>>& changes, size_t max) {
    std::vector<std::string> told;
    for (const Change<Word>& c : changes) {
      told.push_back(SaidOfChange(c, c.series, c.id, Said(c.payload)));
    }
    std::vector<std::string> expected;
    while (expected.size() < max && NextOf(watcher) != nullptr) {
      ModelPresenceChange c = *NextOf(watcher);
      c.change.number += skipped_;
      expected.push_back(SaidOfChange(c, c.series, c.user, Said(Word::Of(c.metadata))));
      ++watcher.next;
    }
    Expect("changes", Said(told), Said(expected));
  }

  // The model's next change of the scope; null: there is none.
  const ModelPresenceChange* NextOf(Watcher& watcher) const {
    const auto& all = model_.changes();
    const auto is_meant = [&](const auto& c) { return watcher.scope().Covers(c.series); };
    while (watcher.next < all.size() && !is_meant(all[watcher.next])) ++watcher.next;
    return watcher.next < all.size() ? &all[watcher.next] : nullptr;
  }

  // How many changes each partition has had.
  std::vector<uint64_t> Totals() const {
    std::vector<uint64_t> totals(static_cast<size_t>(config_.engine.partitions));
    for (const auto& c : model_.changes()) totals[c.change.partition] = c.change.number + 1;
    return totals;
  }
  uint64_t Kept() const {
    return config_.presence.max_changes / static_cast<size_t>(config_.engine.partitions);
  }

  // Of a partition that has had `total` changes.
  uint64_t FirstKept(size_t partition, uint64_t total) const {
    return std::max(kept_from_[partition], total - std::min(total, Kept()));
  }

  // Whether the partition may have changes for the watcher. No series has a name that is too long.
  bool HasHome(const Watcher& watcher, size_t partition) const {
    if (watcher.is_prefix) return true;
    const int home = PartitionOf(watcher.name, config_.engine.partitions);
    return !IsTooLong(watcher.name) && partition == static_cast<size_t>(home);
  }

  // Whether changes that the watcher has not read may be gone.
  bool IsBehind(const Watcher& watcher) const {
    const std::vector<uint64_t> totals = Totals();
    for (size_t i = 0; i < totals.size(); ++i) {
      if (!HasHome(watcher, i)) continue;
      const uint64_t next = watcher.cursor.next.at(i) - watcher.skipped;
      if (watcher.skipped < skipped_ || next < FirstKept(i, totals[i])) return true;
    }
    return false;
  }

  // After a resync the latest max_changes are still there, but for those before a restart.
  void ExpectFirstChanges(const Watcher& watcher) {
    const std::vector<uint64_t> totals = Totals();
    for (size_t i = 0; i < totals.size(); ++i) {
      if (!HasHome(watcher, i)) continue;
      const uint64_t first = watcher.cursor.next.at(i) - skipped_;
      Require("the first change there is", first <= FirstKept(i, totals[i]));
    }
  }

  void End() {
    engine_->Advance(kEndOfTime);
    model_.Advance(kEndOfTime);
    CompareReads(PresenceOp{});
    CompareCounts(true);
    for (Watcher& watcher : watchers_) ReadAll(watcher);
  }

  const PresenceConfig& config_;
  PresenceOptions options_ = config_.presence;
  std::unique_ptr<Engine> engine_;
  Readers presence_;
  PresenceModel model_;
  Generations generations_;
  Told told_;
  std::array<Watcher, 4> watchers_;
  std::vector<uint64_t> kept_from_;  // of each partition: changes before were lost by a restart
  uint64_t skipped_ = 0;             // numbers
  size_t restarts_ = 0;
  bool stopped_ = false;
  bool closed_ = false;
  PresenceSeen& seen_;
  std::string difference_;
};

// Nothing, or what differed and at which operation.
std::optional<std::string> RunEpisode(const PresenceConfig& config,
                                      const std::vector<PresenceOp>& ops, PresenceSeen& seen) {
  std::optional<std::string> failure = PresenceEpisode(config, seen).Run(ops);
  const int64_t living = std::exchange(Counted::living, 0);
  if (living != 0 && !failure) failure = std::to_string(living) + " metadata outlive the engine";
  return failure;
}

}  // namespace

std::optional<std::string> TryPresenceEpisode(Choices& choices, Axis axis, int partitions,
                                              size_t count, PresenceSeen& seen) {
  const PresenceConfig config = DrawPresenceConfig(choices, axis, partitions);
  const std::vector<PresenceOp> ops = DrawPresenceOps(choices, config, count);
  const std::optional<std::string> failure = RunEpisode(config, ops, seen);
  if (!failure) return std::nullopt;
  PresenceSeen ignored;
  const auto run = [&](const std::vector<PresenceOp>& fewer) {
    return RunEpisode(config, fewer, ignored);
  };
  return StoryOf(config, Shrunk(ops, run), *failure, run);
}

}  // namespace pleat::inline v0_1
