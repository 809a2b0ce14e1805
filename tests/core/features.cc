#include "tests/core/features.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <pleat/partition.h>

#include "tests/support/check_whole.h"

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

std::string_view OutcomeName(FoldOutcome outcome) {
  switch (outcome) {
    case FoldOutcome::kOpened: return "opened";
    case FoldOutcome::kFolded: return "folded";
    case FoldOutcome::kLate: return "late";
    case FoldOutcome::kFuture: return "future";
    case FoldOutcome::kOverLimit: return "over_limit";
    case FoldOutcome::kStopped: return "stopped";
    case FoldOutcome::kDuplicate: return "duplicate";
    case FoldOutcome::kConflict: return "conflict";
    case FoldOutcome::kCorrected: return "corrected";
    case FoldOutcome::kOverloaded: return "overloaded";
    case FoldOutcome::kWouldDeadlock: return "would_deadlock";
    case FoldOutcome::kElsewhere: return "elsewhere";
  }
  return "unknown";
}

void Features::Open(const FolderOptions& options, EngineOptions engine, const TickRules& rules) {
  Finish();
  sides_.clear();
  const FolderOptions unlimited;
  // What each partition has to itself: its share of the limits, and what it has learned.
  const bool limited = options.limits.max_groups != unlimited.limits.max_groups ||
                       options.limits.max_bytes != unlimited.limits.max_bytes ||
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
  popped_of_model_.clear();
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
  model_.emplace(engine, options, model);
}

// What the rules say of an event.
EventMarks Features::MarksOf(std::string_view key, const Tick& tick) const {
  EventMarks marks;
  marks.starts = rules_.starts && rules_.starts(tick);
  marks.ends = rules_.ends && rules_.ends(tick);
  if (rules_.quiet_period) marks.quiet_period = rules_.quiet_period(key, tick);
  if (rules_.key_class) marks.key_class = rules_.key_class(key, tick);
  if (rules_.id) marks.id = rules_.id(tick);
  if (rules_.content) marks.content = rules_.content(tick);
  return marks;
}

void Features::TearDown() { Finish(); }

// Whatever a test leaves behind goes when time does.
void Features::Finish() {
  if (sides_.empty()) return;
  Advance(24h * 1000);
  CloseAll();
  Pop();
  Advance(24h * 100'000);
  for (const Side& side : sides_) EXPECT_EQ(side.folder->sizes(), Sizes{});
}

std::vector<FoldOutcome> Features::Fold(Side& side, const std::vector<KeyedEvent<Tick>>& events) {
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
  return outcomes;
}

std::string Features::Fold(std::initializer_list<Given> events) {
  std::vector<KeyedEvent<Tick>> keyed;
  for (const Given& given : events)
    keyed.push_back({given.key, kT0 + given.at, {given.value, given.marks}});
  std::vector<std::string> answers;
  for (Side& side : sides_) {
    std::string& words = answers.emplace_back();
    for (FoldOutcome outcome : Fold(side, keyed))
      words.append(words.empty() ? "" : " ").append(OutcomeName(outcome));
    EXPECT_EQ(words, answers[0]) << side.engine->partitions() << " partitions, in a batch";
  }
  FoldIntoModel(keyed, answers[0]);
  Compare();
  return answers[0];
}

void Features::FoldIntoModel(const std::vector<KeyedEvent<Tick>>& events,
                             const std::string& answer) {
  std::string words;
  for (const KeyedEvent<Tick>& event : events) {
    if (event.key.size() > kKeyBytesMax) model_.reset();
    if (!model_) return;
    const FoldOutcome outcome = model_->Fold(event.key, static_cast<uint64_t>(event.event.value),
                                             event.at, MarksOf(event.key, event.event));
    words.append(words.empty() ? "" : " ").append(OutcomeName(outcome));
  }
  EXPECT_EQ(words, answer) << "the model";
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
  std::vector<bool> answers;
  for (Side& side : sides_) {
    answers.push_back(side.folder->Flush(key));
    EXPECT_EQ(answers.back(), answers[0]);
  }
  if (model_) {
    EXPECT_EQ(model_->Flush(key), answers[0]);
  }
  Compare();
  return answers[0];
}

bool Features::Cancel(std::string_view key) {
  std::vector<bool> answers;
  for (Side& side : sides_) {
    answers.push_back(side.folder->Cancel(key));
    EXPECT_EQ(answers.back(), answers[0]);
  }
  if (model_) {
    EXPECT_EQ(model_->Cancel(key), answers[0]);
  }
  Compare();
  return answers[0];
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
  std::vector<std::optional<std::vector<int>>> answers;
  for (const Side& side : sides_) {
    const auto group = side.folder->Peek(key);
    answers.push_back(group ? std::optional(group->state.all) : std::nullopt);
    EXPECT_EQ(answers.back(), answers[0]);
  }
  if (model_) {
    const ModelGroup* group = model_->Peek(key);
    EXPECT_EQ(group != nullptr, answers[0].has_value());
    if (group != nullptr) {
      EXPECT_TRUE(std::ranges::equal(group->events, *answers[0]));
    }
  }
  return answers[0];
}

namespace {

// An emission of the folder or of the model in one line; `corrects` is empty if it corrects nothing.
template <class Emission, class Events>
std::string Show(const Emission& e, const Events& events, const std::string& corrects) {
  std::string line = e.key + " [";
  for (const auto event : events) {
    line.append(line.back() == '[' ? "" : " ").append(std::to_string(static_cast<int>(event)));
  }
  line.append("] ").append(ReasonName(e.reason));
  for (EngineTime t : {e.first, e.last, e.closed}) line += " " + ShowTime(t);
  if (e.revision != 1 || e.partial) line += " r" + std::to_string(e.revision);
  if (e.partial) line += "+";
  return corrects.empty() ? line : line + " corrects " + corrects;
}

}  // namespace

std::vector<std::string> Features::Pop(Side& side, size_t max) {
  std::vector<std::string> out;
  for (const Emission<Values>& e : side.folder->Pop(max)) {
    EXPECT_EQ(e.count, e.state.all.size());
    EXPECT_EQ(e.id.partition, static_cast<uint32_t>(PartitionOf(e.key, side.engine->partitions())));
    EXPECT_EQ(e.id.generation, side.generations[e.id.partition]++);
    EXPECT_EQ(e.partial, e.reason == Reason::kLeading || e.reason == Reason::kPartial);

    std::string corrects;
    if (e.corrects) {
      const auto it = side.popped.find({e.corrects->partition, e.corrects->generation});
      corrects = it == side.popped.end() ? "unpopped" : std::to_string(it->second);
    }
    out.push_back(Show(e, e.state.all, corrects));
    side.popped.emplace(std::pair(e.id.partition, e.id.generation), side.popped.size());
  }
  return out;
}

std::vector<std::string> Features::PopModel(size_t max) {
  std::vector<std::string> out;
  for (const ModelGroup& e : model_->Pop(max)) {
    EXPECT_EQ(e.id.generation, popped_of_model_.size());
    std::string corrects;
    if (e.corrects) {
      const auto it = popped_of_model_.find(e.corrects->generation);
      corrects = it == popped_of_model_.end() ? "unpopped" : std::to_string(it->second);
    }
    out.push_back(Show(e, e.events, corrects));
    popped_of_model_.emplace(e.id.generation, popped_of_model_.size());
  }
  return out;
}

std::vector<std::string> Features::Pop(size_t max) {
  std::vector<std::vector<std::string>> answers;
  for (Side& side : sides_) {
    answers.push_back(Pop(side, max));
    EXPECT_EQ(answers.back(), answers[0]) << side.engine->partitions() << " partitions";
  }
  if (model_) {
    EXPECT_EQ(PopModel(max), answers[0]) << "the model";
  }
  Compare();
  return answers[0];
}

// Groups that are due but not visited may be counted on one side and not on the other; events may not.
void Features::Compare() {
  const auto events = [](const Ledger& l) {
    return std::tuple(l.events, l.opened, l.folded, l.late, l.future, l.refused, l.duplicate,
                      l.conflict, l.corrected, l.late_folded);
  };
  for (Side& side : sides_) {
    const Ledger ledger = side.folder->ledger();
    EXPECT_TRUE(ledger.Balances());
    CheckWhole(side.folder->any());
    EXPECT_EQ(events(ledger), events(sides_[0].folder->ledger()));
    EXPECT_EQ(side.engine->now(), sides_[0].engine->now());
  }
  if (!model_) return;
  EXPECT_TRUE(model_->ledger().Balances());
  EXPECT_EQ(events(model_->ledger()), events(sides_[0].folder->ledger())) << "the model";
  EXPECT_EQ(model_->now(), sides_[0].engine->now());
}

std::string Features::Columns() {
  const Ledger l = ledger();
  std::string out;
  for (const auto& [name, count] : {
           std::pair("events", l.events),
           {"opened", l.opened},
           {"folded", l.folded},
           {"late", l.late},
           {"future", l.future},
           {"refused", l.refused},
           {"duplicate", l.duplicate},
           {"conflict", l.conflict},
           {"corrected", l.corrected},
           {"closed", l.closed},
           {"cancelled", l.cancelled},
           {"silent", l.silent},
           {"partial", l.partial},
           {"popped", l.popped},
           {"open", l.open},
           {"ready", l.ready},
           {"late_folded", l.late_folded},
       }) {
    if (count != 0)
      out.append(out.empty() ? "" : " ").append(name).append(" ").append(std::to_string(count));
  }
  return out;
}

}  // namespace pleat
