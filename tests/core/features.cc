#include "tests/core/features.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <pleat/batch.h>

#include "tests/support/check_whole.h"
#include "tests/support/share.h"

namespace pleat {

using namespace std::chrono_literals;

TickRules StartAndEndMarks() {
  TickRules rules;
  rules.starts = [](const Tick& tick) { return tick.marks.starts; };
  rules.ends = [](const Tick& tick) { return tick.marks.ends; };
  return rules;
}

TickRules OwnQuietPeriods() {
  TickRules rules;
  rules.quiet_period = [](std::string_view, const Tick& tick) { return tick.marks.quiet; };
  return rules;
}

TickRules Ids() {
  TickRules rules;
  rules.id = [](const Tick& tick) { return tick.marks.id; };
  rules.content = [](const Tick& tick) { return static_cast<uint64_t>(tick.value); };
  return rules;
}

std::string ShowTime(EngineTime t) {
  if (t == kBeginningOfTime) return "unmoved";
  const Duration after = t - kT0;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(after);
  return seconds == after ? std::to_string(seconds.count()) : std::to_string(after.count()) + "us";
}

void Features::Open(const FolderOptions& options, EngineOptions engine, const TickRules& rules) {
  Finish();
  sides_.clear();
  const FolderOptions unlimited;
  // What each partition has to itself: its share of the limits, and what it has learned.
  const bool limited = options.limits.max_groups != unlimited.limits.max_groups ||
                       options.limits.max_bytes != unlimited.limits.max_bytes ||
                       options.limits.max_backlog != unlimited.limits.max_backlog ||
                       options.leases.max_leased != unlimited.leases.max_leased ||
                       options.leases.max_dead_letters != unlimited.leases.max_dead_letters ||
                       options.quiet_floor != unlimited.quiet_floor;
  for (const auto& [batches, partitions] : {std::pair(false, 1), {true, 1}, {true, 7}}) {
    if (limited && partitions > 1) continue;
    engine.partitions = partitions;
    Side& side = sides_.emplace_back(Side{batches, *Engine::Open(engine), std::nullopt});
    side.folder = *Folder<Tick, Values>::Open(*side.engine, "features", options, rules);
  }
  engine.partitions = 1;
  OpenModel(options, engine, rules);
}

void Features::OpenModel(const FolderOptions& options, const EngineOptions& engine,
                         const TickRules& rules) {
  rules_ = rules;
  model_.reset();
  popped_of_model_ = {};
  if (options.limits.max_bytes != FolderOptions{}.limits.max_bytes) return;
  const auto values = [](const ModelRules::Events& events) {
    return Values{{events.begin(), events.end()}};
  };
  ModelRules model;
  if (rules.condition) {
    model.condition = [values, condition = rules.condition](const ModelRules::Events& events) {
      return condition(values(events));
    };
  }
  model.weight = [values](const ModelRules::Events& events) {
    return sizeof(Values) + values(events).HeapBytes();
  };
  model.has_ids = rules.id != nullptr;
  model.closing_time = rules.closing_time;
  model_.emplace(engine, options, model);
}

// What the rules say of an event.
EventMarks Features::MarksOf(std::string_view key, const Tick& tick) const {
  EventMarks marks;
  marks.starts = rules_.starts && rules_.starts(tick);
  marks.ends = rules_.ends && rules_.ends(tick);
  if (rules_.quiet_period) marks.quiet_period = rules_.quiet_period(key, tick);
  if (rules_.close_at) marks.close_at = rules_.close_at(key, tick);
  if (rules_.key_class) marks.key_class = rules_.key_class(key, tick);
  if (rules_.id) marks.id = rules_.id(tick);
  if (rules_.content) marks.content = rules_.content(tick);
  return marks;
}

void Features::Finish() {
  if (sides_.empty()) return;
  Advance(24h * 1000);
  CloseAll();
  Pop();
  Advance(24h * 100'000);
  for (const Side& side : sides_) EXPECT_EQ(side.folder->sizes(), Sizes{});
}

namespace {

void AddWord(std::string& words, FoldOutcome outcome) {
  words.append(words.empty() ? "" : " ").append(NameOf(outcome));
}

}  // namespace

std::string Features::FoldInto(Side& side, const std::vector<KeyedEvent<Tick>>& events) {
  std::vector<FoldOutcome> outcomes(events.size());
  if (side.batches) {
    FoldCounts counts;
    const FoldCounts said = side.folder->FoldBatch(events, outcomes);
    for (FoldOutcome outcome : outcomes) counts.Add(outcome);
    EXPECT_EQ(said, counts);
  } else {
    for (size_t i = 0; i < events.size(); ++i)
      outcomes[i] = side.folder->Fold(events[i].key, events[i].event, events[i].at);
  }
  std::string words;
  for (FoldOutcome outcome : outcomes) AddWord(words, outcome);
  return words;
}

std::string Features::FoldInto(FoldModel& model,
                               const std::vector<KeyedEvent<Tick>>& events) const {
  std::string words;
  for (const KeyedEvent<Tick>& event : events) {
    AddWord(words, model.Fold(event.key, static_cast<uint64_t>(event.event.value), event.at,
                              MarksOf(event.key, event.event)));
  }
  return words;
}

std::string Features::Fold(std::span<const Given> events) {
  std::vector<KeyedEvent<Tick>> keyed;
  for (const Given& given : events) {
    keyed.push_back({given.key, kT0 + given.at, {given.value, given.marks}});
    if (given.key.size() > kKeyBytesMax) model_.reset();
  }
  return Agreed([&](Side& side) { return FoldInto(side, keyed); },
                [&](FoldModel& model) { return FoldInto(model, keyed); });
}

void Features::Advance(Duration after) {
  for (Side& side : sides_) side.engine->Advance(kT0 + after);
  if (model_) model_->Advance(kT0 + after);
  Compare();
}

void Features::AdvanceOnly(Duration after) {
  for (Side& side : sides_) (void)side.engine->Advance(kT0 + after, 0);
  if (model_) model_->Advance(kT0 + after);
  Compare();
}

bool Features::Flush(std::string_view key) {
  return Agreed([&](Side& side) { return side.folder->Flush(key); },
                [&](FoldModel& model) { return model.Flush(key); });
}

bool Features::Cancel(std::string_view key) {
  return Agreed([&](Side& side) { return side.folder->Cancel(key); },
                [&](FoldModel& model) { return model.Cancel(key); });
}

ControlOutcome Features::SetDeadline(std::string_view key, Duration after) {
  return Agreed([&](Side& side) { return side.folder->SetDeadline(key, kT0 + after); },
                [&](FoldModel& model) {
                  const bool open = model.SetDeadline(key, kT0 + after);
                  return open ? ControlOutcome::kDone : ControlOutcome::kNoGroup;
                });
}

void Features::CloseAll() {
  for (Side& side : sides_) side.folder->CloseAll();
  if (model_) model_->CloseAll();
  Compare();
}

void Features::Stop() {
  for (Side& side : sides_) side.engine->Stop();
  if (model_) model_->Stop();
}

std::optional<std::vector<int>> Features::Peek(std::string_view key) {
  using Answer = std::optional<std::vector<int>>;
  return Agreed(
      [&](Side& side) {
        const auto group = side.folder->Peek(key);
        return group ? Answer(group->state.all) : std::nullopt;
      },
      [&](FoldModel& model) {
        const ModelGroup* group = model.Peek(key);
        return group ? Answer(std::in_place, group->events.begin(), group->events.end())
                     : std::nullopt;
      });
}

// An emission of a folder or of the model in one line.
template <class Emission, class Events>
std::string Features::Show(const Emission& e, const Events& events, Popped& popped) const {
  const auto name = [](EmissionId id) { return std::pair(id.partition, id.generation); };
  if (!ids_have_gaps_) {
    EXPECT_EQ(e.id.generation, popped.generations[e.id.partition]++);
  }
  std::string line = e.key + " [";
  for (const auto event : events) {
    line.append(line.back() == '[' ? "" : " ").append(std::to_string(static_cast<int>(event)));
  }
  line.append("] ").append(ReasonName(e.reason));
  for (EngineTime t : {e.first, e.last, e.closed}) line += " " + ShowTime(t);
  if (e.revision != 1 || e.partial) line += " r" + std::to_string(e.revision);
  if (e.partial) line += "+";
  if (e.corrects) {
    const auto it = popped.numbers.find(name(*e.corrects));
    line += " corrects ";
    line += it == popped.numbers.end() ? "unpopped" : std::to_string(it->second);
  }
  popped.numbers.emplace(name(e.id), popped.numbers.size());
  return line;
}

std::vector<std::string> Features::Pop(size_t max) {
  using Lines = std::vector<std::string>;
  return Agreed(
      [&](Side& side) {
        Lines out;
        for (const Emission<Values>& e : side.folder->Pop(max)) {
          EXPECT_EQ(e.count, e.state.all.size());
          EXPECT_EQ(e.id.partition,
                    static_cast<uint32_t>(PartitionOf(e.key, side.engine->partitions())));
          EXPECT_EQ(e.partial, e.reason == Reason::kLeading || e.reason == Reason::kPartial);
          out.push_back(Show(e, e.state.all, side.popped));
        }
        return out;
      },
      [&](FoldModel& model) {
        Lines out;
        for (const ModelGroup& e : model.Pop(max)) {
          out.push_back(Show(e, e.events, popped_of_model_));
        }
        return out;
      });
}

// Groups that are due but not visited may be counted on one side and not on the other; events may not.
void Features::Compare() {
  const auto events = [](const Ledger& l) {
    return std::tuple(l.events, l.opened, l.folded, l.late, l.future, l.over_limit, l.duplicate,
                      l.conflict, l.corrected, l.late_folded);
  };
  for (Side& side : sides_) {
    const Ledger ledger = side.folder->ledger();
    EXPECT_TRUE(ledger.Balances());
    // Takes a step for each group, so of many groups not after each call.
    if (IsWhole() || side.folder->sizes().open_groups < 100 || ++compared_ % 16 == 0)
      CheckWhole(side.folder->any());
    EXPECT_EQ(events(ledger), events(sides_[0].folder->ledger()));
    EXPECT_EQ(side.engine->now(), sides_[0].engine->now());
  }
  if (!model_) return;
  EXPECT_TRUE(model_->ledger().Balances());
  EXPECT_EQ(events(model_->ledger()), events(sides_[0].folder->ledger())) << "the model";
  EXPECT_EQ(model_->now(), sides_[0].engine->now());
}

}  // namespace pleat
