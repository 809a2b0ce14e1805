// Rollup counters: how often each title was played, by the minute and in all, each play once.
//
// Producers send a play again when no answer came, so plays have ids. Two instances of the service
// read the same log and share a store of checkpoints. One of them is lost. Its successor takes the
// checkpoints, reads the log from there on, and has the same numbers as the one that went on.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/rollup.h>
#include <pleat/rollup_values.h>

using namespace std::chrono_literals;

const pleat::EngineTime kNoon = pleat::FromUnix(1'700'049'600s);
const std::string kTitles[] = {"title 1", "title 2"};

struct Play {
  std::string title;
  std::string id;
  pleat::EngineTime at;
};

Play PlayOf(int second) {
  return {kTitles[second % 4 == 0 ? 1 : 0], "play " + std::to_string(second),
          kNoon + std::chrono::seconds(second)};
}

// Ten minutes of plays, one a second, as they arrived. Of every third one the answer was lost, and
// it comes again seven seconds later.
std::vector<Play> TheLog() {
  std::vector<Play> log;
  for (int second = 0; second < 600; ++second) {
    log.push_back(PlayOf(second));
    if (second >= 7 && second % 3 == 0) log.push_back(PlayOf(second - 7));
  }
  return log;
}

// Where each minute of each title is stored. It sees every final number, from both instances.
class Rows {
 public:
  void Store(const std::string& title, pleat::EngineTime minute, int64_t plays) {
    const auto [row, is_new] = rows_.try_emplace({title, minute}, plays);
    if (!is_new && row->second != plays) std::printf("a final number has changed\n");
  }
  int64_t Sum(const std::string& title, pleat::EngineTime until) const {
    int64_t sum = 0;
    for (const auto& [row, plays] : rows_) {
      if (row.first == title && row.second < until) sum += plays;
    }
    return sum;
  }

 private:
  std::map<std::pair<std::string, pleat::EngineTime>, int64_t> rows_;
};

class Instance {
 public:
  Instance(std::shared_ptr<pleat::CheckpointStore> store, Rows& rows)
      : engine_(*pleat::Engine::Open({.partitions = 4, .axis = pleat::Axis::kEvent})),
        plays_(*engine_, "plays",
               {.windows = {1min}, .allowed_lateness = 10s, .store = std::move(store)}),
        rows_(rows) {}

  // Counts plays from the log. Their stamps move the time of the engine, and time makes minutes final.
  void Read(std::span<const Play> log) {
    if (!log.empty()) begin_ = std::min(begin_, log.front().at);
    for (const Play& play : log) plays_.Add(play.title, 1, play.at, play.id);
    for (const auto& minute : plays_.Pop(1'000)) {
      // Of the minutes before its log begins, an instance has seen nothing but retries.
      if (minute.state.start < begin_) continue;
      rows_.Store(minute.key, minute.state.start, minute.state.amount.sum);
    }
    plays_.Publish();
  }

  void Print(const char* when_and_who) const {
    for (const std::string& title : kTitles) {
      const pleat::AccurateCount now = plays_.Accurate(title);
      const auto final = plays_.Eventual(title);
      std::printf("%s  %s: %lld plays, %lld of them final, until 12:%02d\n", when_and_who,
                  title.c_str(), static_cast<long long>(now.amount.sum),
                  static_cast<long long>(final->amount.sum),
                  static_cast<int>((final->as_of - kNoon) / 1min));
    }
  }

  uint64_t retries() const { return plays_.ledger().duplicate; }

 private:
  std::unique_ptr<pleat::Engine> engine_;
  pleat::RollupCounter plays_;
  Rows& rows_;
  pleat::EngineTime begin_ = pleat::kEndOfTime;
};

int main() {
  const std::vector<Play> log = TheLog();
  const auto at = [&](pleat::EngineTime instant) {  // where the log has its first play from then on
    const auto is_there = [&](const Play& play) { return play.at >= instant; };
    return static_cast<size_t>(std::ranges::find_if(log, is_there) - log.begin());
  };
  const std::span<const Play> whole = log;
  const auto store = std::make_shared<pleat::MemoryCheckpointStore>();
  Rows rows;

  Instance one(store, rows);
  auto two = std::make_unique<Instance>(store, rows);
  const size_t crash = at(kNoon + 4min + 30s);
  one.Read(whole.first(crash));
  two->Read(whole.first(crash));
  one.Print("12:04:30  one");
  two->Print("12:04:30  two");

  // Two is lost, with its open minutes, and one goes on.
  two.reset();
  const size_t restart = at(kNoon + 7min + 45s);
  one.Read(whole.subspan(crash, restart - crash));

  // Its successor reads the log again, from the oldest checkpoint on.
  pleat::EngineTime from = pleat::kEndOfTime;
  for (const std::string& title : kTitles) from = std::min(from, store->Load(title)->until);
  two = std::make_unique<Instance>(store, rows);
  two->Read(whole.subspan(at(from), restart - at(from)));
  one.Print("12:07:45  one");
  two->Print("12:07:45  two");

  one.Read(whole.subspan(restart));
  two->Read(whole.subspan(restart));
  one.Print("12:10:00  one");
  two->Print("12:10:00  two");
  for (const std::string& title : kTitles) {
    std::printf("stored until 12:09, %s: %lld plays\n", title.c_str(),
                static_cast<long long>(rows.Sum(title, kNoon + 9min)));
  }
  std::printf("one was sent %llu plays again, and counted none of them twice\n",
              static_cast<unsigned long long>(one.retries()));
}
