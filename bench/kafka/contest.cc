// The contest on a Kafka broker: pleat run, Kafka Streams and a bare loop of librdkafka, on the same topics.
//
//   pleat_kafka_contest RECORDS [ROUNDS [WORD [read|trouble]]]
//
// `./dev bench kafka` calls it. PLEAT_KAFKA_BROKERS names the broker and PLEAT_KAFKA_DIRECTORY the directory
// with its data, below which contestants get directories of their own. Prints one table. Ends with 1 if a
// contestant's answers are not those that a plain loop over the records gives.
//
// ROUNDS: so often those read the topic that take seconds, by turns, and the median counts (default 5).
// WORD: only contestants with it in their names. read, trouble: only that half of the table.
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "bench/kafka/contestants.h"
#include "bench/kafka/process.h"

namespace pleat::bench {
namespace {

constexpr uint32_t kUsers = 20'000;
constexpr double kPatience = 900;  // seconds

double Now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}
int64_t NowMs() { return static_cast<int64_t>(Now() * 1e3); }
void WaitABit() { poll(nullptr, 0, 5); }

// A contestant with a task, while it runs.
class Run {
 public:
  Run(Broker& broker, const std::string& directory, const Contestant& contestant, Task task)
      : broker_(broker), directory_(directory), contestant_(contestant), task_(std::move(task)) {
    static int runs = 0;
    task_.group = "group-" + std::to_string(++runs);
    task_.shared = directory_ + "/" + task_.group + "-shared";
    std::filesystem::create_directories(task_.shared);
    Move();
    Start();
  }

  Process& process() { return *process_; }
  const std::vector<Session>& answers() const { return taken_; }

  // Those that have come since, each with no other one before it that is the same. Throws if the process
  // has ended.
  size_t Take() {
    process_->CheckRuns();
    const size_t before = taken_.size();
    for (const auto& each : answers_) each->Take(taken_);
    return taken_.size() - before;
  }
  void Kill() { process_->Kill(); }
  void Stop() {
    process_->Stop();
    for (const auto& each : answers_) each->Take(taken_);
  }
  // Again, where it was or as another process that has none of its files.
  void StartAgain() {
    if (!task_.is_restarted) Move();
    Start();
  }
  double OutputBytes() const {
    return contestant_.writes_file()
               ? static_cast<double>(std::filesystem::file_size(task_.own + "/output"))
               : 0;
  }

 private:
  void Move() {
    task_.own = directory_ + "/" + task_.group + "-" + std::to_string(++moves_);
    std::filesystem::create_directories(task_.own);
    if (answers_.empty() || contestant_.writes_file()) {
      answers_.push_back(contestant_.Open(broker_, task_));
    }
  }
  void Start() {
    process_ = std::make_unique<Process>(contestant_.Command(broker_, task_), task_.own + "/log");
  }

  Broker& broker_;
  const std::string& directory_;
  const Contestant& contestant_;
  Task task_;
  int moves_ = 0;
  std::vector<std::unique_ptr<Answers>> answers_;
  std::vector<Session> taken_;
  std::unique_ptr<Process> process_;
};

// What was measured of a contestant.
struct Figures {
  double seconds = 0;  // from its start to its last answer
  double cpu_seconds = 0;
  double memory = 0;      // bytes, at most
  double to_brokers = 0;  // bytes beside the answers
  double to_disk = 0;     // the same
};

struct Row {
  std::vector<Figures> rounds;
  std::string silence;
  std::string takeover;
  std::string restart;
};

class Contest {
 public:
  Contest(size_t records, int rounds, const std::string& programs, const std::string& word)
      : records_(RandomRecords(records, kUsers)),
        rounds_(rounds),
        broker_(Variable("PLEAT_KAFKA_BROKERS"), Variable("PLEAT_KAFKA_DIRECTORY") + "/data-1"),
        directory_(Variable("PLEAT_KAFKA_DIRECTORY") + "/contest"),
        contestants_(AllContestants(programs)) {
    std::erase_if(contestants_,
                  [&](const auto& each) { return each->name().find(word) == std::string::npos; });
    rows_.resize(contestants_.size());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  bool has_failed() const { return has_failed_; }
  void MeasureReading();
  void MeasureTrouble();
  void Print() const;

 private:
  static std::string Variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr)
      throw std::runtime_error(std::string(name) + " is not set: call ./dev bench kafka");
    return value;
  }

  std::string NewTopic() {
    const std::string topic = "topic-" + std::to_string(++topics_);
    broker_.CreateTopic(topic);
    return topic;
  }
  void Append(const std::string& topic, const KafkaRecord& record) {
    broker_.Append(topic, PartitionOf(record.user), KeyOf(record.user), PayloadOf(record),
                   record.stamp);
  }
  void AppendTimes(const std::string& topic, int64_t stamp) {
    for (int i = 0; i < kPartitions; ++i) {
      broker_.Append(topic, i, TimeKeyOf(i), TimePayloadOf(i, stamp), stamp);
    }
  }

  bool Try(const std::function<void()>& measure);
  void Fill();
  Figures ReadAll(const Contestant& contestant);
  std::string FallSilent(const Contestant& contestant);
  std::string TakeOver(const Contestant& contestant, bool is_restarted);

  const std::vector<KafkaRecord> records_;
  const int rounds_;
  Broker broker_;
  const std::string directory_;
  std::vector<std::unique_ptr<Contestant>> contestants_;
  std::vector<Row> rows_;
  int topics_ = 0;
  bool has_failed_ = false;
  std::string full_;  // the topic with the records
  double bytes_ = 0;  // of these
};

void Say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

void Contest::Fill() {
  Say("appending " + std::to_string(records_.size()) + " records");
  full_ = NewTopic();
  for (const KafkaRecord& each : records_) {
    Append(full_, each);
    bytes_ += static_cast<double>(KeyOf(each.user).size() + PayloadOf(each).size());
  }
  AppendTimes(full_, LastTimeOf(records_));
  broker_.Flush();
}

Figures Contest::ReadAll(const Contestant& contestant) {
  const std::vector<Session> expected = contestant.Expected(records_);
  const double state = static_cast<double>(broker_.BytesBeside("topic-"));
  const double begin = Now();
  bench::Run run(broker_, directory_, contestant, {.topic = full_, .records = records_.size()});
  double moved = begin + 10;
  while (run.answers().size() < expected.size()) {
    if (run.Take() > 0) continue;
    if (Now() - begin > kPatience) throw std::runtime_error("has not answered in time");
    // onWindowClose looks for sessions at most once a second, and when a record comes.
    if (Now() > moved + 2) {
      moved = Now();
      AppendTimes(full_, LastTimeOf(records_));
    }
    WaitABit();
  }
  Figures figures{Now() - begin, run.process().CpuSeconds(), run.process().PeakBytes()};
  figures.to_disk =
      std::max(0.0, static_cast<double>(run.process().BytesToDisk()) - run.OutputBytes());
  figures.to_brokers = static_cast<double>(broker_.BytesBeside("topic-")) - state;
  run.Stop();
  const std::string difference = Difference(run.answers(), expected);
  if (!difference.empty()) throw std::runtime_error(difference);
  return figures;
}

// The topic goes quiet. Answers how long after the end of the quiet period the last session is out. Times are not
// compared: a record that is under way for longer than pleat's margin is taken at the lane's time.
std::string Contest::FallSilent(const Contestant& contestant) {
  constexpr int64_t kShortQuietMs = 5'000;
  constexpr double kLimit = 20;
  const std::string topic = NewTopic();
  bench::Run run(broker_, directory_, contestant, {.topic = topic, .quiet_ms = kShortQuietMs});
  // Until each partition is seen to be read, by the sessions that later records close.
  std::vector<Session> expected;
  int64_t last = 0;
  std::set<int> heard;
  const double begin = Now();
  while (heard.size() < kPartitions) {
    if (Now() - begin > kPatience)
      throw std::runtime_error("does not answer a topic that is alive");
    for (int i = 0; i < kPartitions; ++i) {
      const KafkaRecord record{static_cast<uint32_t>(expected.size()), NowMs()};
      Append(topic, record);
      expected.push_back({.user = record.user, .count = 1});
      last = record.stamp;
    }
    for (int i = 0; i < 20; ++i) {
      run.Take();
      WaitABit();
    }
    for (const Session& each : run.answers()) heard.insert(PartitionOf(each.user));
  }
  broker_.Flush();
  const double due = static_cast<double>(last + kShortQuietMs) / 1e3;
  while (run.answers().size() < expected.size() && Now() < due + kLimit) {
    run.Take();
    WaitABit();
  }
  char text[80];
  if (run.answers().size() == expected.size()) {
    std::snprintf(text, sizeof text, "%.1f s", Now() - due);
    std::vector<Session> answers = run.answers();
    for (Session& each : answers) each.first = each.last = 0;
    const std::string difference = Difference(answers, expected);
    if (!difference.empty()) throw std::runtime_error(difference);
  } else {
    std::snprintf(text, sizeof text, "not in %.0f s: %zu of %zu open", kLimit,
                  expected.size() - run.answers().size(), expected.size());
  }
  run.Stop();
  return text;
}

// One session after the other ends while the contestant is killed. Answers for how long nothing came out of some
// partition.
std::string Contest::TakeOver(const Contestant& contestant, bool is_restarted) {
  constexpr int64_t kSpreadMs = 200'000;
  constexpr int64_t kFirstMs = 30'000;  // from now, the first session ends
  constexpr double kLate = 5;           // seconds, which nobody is who keeps up
  const std::string topic = NewTopic();
  const int64_t begin = NowMs();
  const auto users = static_cast<int64_t>(records_.size() / 5 * 21 / 20);
  std::vector<Session> all;
  for (int64_t i = 0; i < users; ++i) {
    const KafkaRecord record{static_cast<uint32_t>(i),
                             begin + kFirstMs - kQuietMs + i * kSpreadMs / users};
    Append(topic, record);
    all.push_back({record.user, record.stamp, record.stamp, 1});
  }
  broker_.Flush();
  bench::Run run(broker_, directory_, contestant,
                 {.topic = topic,
                  .is_restarted = is_restarted,
                  .settings = {"session.timeout.ms=6000", "heartbeat.interval.ms=500"}});
  std::set<Session> heard;
  double beaten = 0;
  // Calls `take` for each session that has not come before.
  const auto beat = [&](const auto& take) {
    if (Now() > beaten + 0.1) {
      beaten = Now();
      AppendTimes(topic, NowMs());
    }
    const size_t before = run.answers().size();
    run.Take();
    for (size_t i = before; i < run.answers().size(); ++i) {
      const Session& each = run.answers()[i];
      if (each.user >= all.size() || each != all[each.user]) {
        throw std::runtime_error("answered " + each.Text() + ", which is wrong");
      }
      if (heard.insert(each).second) take(each);
    }
    if (NowMs() > begin + static_cast<int64_t>(kPatience * 1e3))
      throw std::runtime_error("has not answered in time");
    WaitABit();
  };
  const auto ignore = [](const Session&) {};
  // How many sessions have ended by then.
  const auto ended = [&](double at) {
    const double since = at * 1e3 - static_cast<double>(begin + kFirstMs);
    return static_cast<size_t>(std::max(0.0, since / static_cast<double>(kSpreadMs)) *
                               static_cast<double>(users));
  };
  while (ended(Now()) * 40 < all.size() || heard.size() < ended(Now() - kLate)) beat(ignore);

  run.Kill();
  const double killed = Now();
  run.StartAgain();
  while (Now() < killed + 0.1) beat(ignore);  // what had come out before
  std::map<int, double> resumed;
  while (resumed.size() < kPartitions) {
    beat([&](const Session& each) { resumed.try_emplace(PartitionOf(each.user), Now()); });
  }
  double silence = 0;
  for (const auto& [partition, at] : resumed) silence = std::max(silence, at - killed);
  // Nothing may be lost: all that has ended comes, in order.
  const size_t due = ended(Now());
  while (std::distance(heard.begin(), heard.lower_bound({static_cast<uint32_t>(due)})) <
         static_cast<std::ptrdiff_t>(due)) {
    beat(ignore);
  }
  run.Stop();
  char text[80];
  std::snprintf(text, sizeof text, "%.1f s", silence);
  return text;
}

// The others go on where one fails.
bool Contest::Try(const std::function<void()>& measure) {
  try {
    measure();
    return true;
  } catch (const std::exception& error) {
    Say(std::string("  FAILED: ") + error.what());
    has_failed_ = true;
    return false;
  }
}

void Contest::MeasureReading() {
  Fill();
  for (int round = 0; round < rounds_; ++round) {
    for (size_t i = 0; i < contestants_.size(); ++i) {
      if (contestants_[i]->takes_long() && round > 0) continue;
      Say("reading it all: " + contestants_[i]->name());
      const bool is_done = Try([&] { rows_[i].rounds.push_back(ReadAll(*contestants_[i])); });
      if (!is_done) continue;
      Say("  " + std::to_string(rows_[i].rounds.back().seconds) + " s, of a processor " +
          std::to_string(rows_[i].rounds.back().cpu_seconds));
    }
  }
}

void Contest::MeasureTrouble() {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    const Contestant& each = *contestants_[i];
    if (!each.is_killed()) continue;
    Say("silence and kills: " + each.name());
    Try([&] { rows_[i].silence = FallSilent(each); });
    Try([&] { rows_[i].takeover = TakeOver(each, /*is_restarted=*/false); });
    Try([&] { rows_[i].restart = TakeOver(each, /*is_restarted=*/true); });
    Say("  " + rows_[i].silence + ", " + rows_[i].takeover + ", " + rows_[i].restart);
  }
}

double Median(const Row& row, double Figures::* figure) {
  std::vector<double> all;
  for (const Figures& each : row.rounds) all.push_back(each.*figure);
  std::ranges::sort(all);
  return all.empty() ? std::numeric_limits<double>::quiet_NaN() : all[all.size() / 2];
}

// Three digits, by thousands.
std::string Thousands(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g k", number / 1e3);
  return text;
}

void Contest::Print() const {
  constexpr const char* kColumns[] = {"contestant",
                                      "records/s",
                                      "records for a second of processor",
                                      "memory",
                                      "state to brokers, for a byte read",
                                      "state to its disk",
                                      "last group of a quiet topic",
                                      "killed, another takes over",
                                      "killed, and back"};
  std::printf("|");
  for (const char* const each : kColumns) std::printf(" %s |", each);
  std::printf("\n| ---");
  for (size_t i = 1; i < std::size(kColumns); ++i) std::printf(" | ---:");
  std::printf(" |\n");
  const auto count = static_cast<double>(records_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    std::printf("| %s | %s | %s | %.0f MiB | %.4f | %.4f | %s | %s | %s |\n",
                contestants_[i]->name().c_str(),
                Thousands(count / Median(row, &Figures::seconds)).c_str(),
                Thousands(count / Median(row, &Figures::cpu_seconds)).c_str(),
                Median(row, &Figures::memory) / (1 << 20),
                Median(row, &Figures::to_brokers) / bytes_, Median(row, &Figures::to_disk) / bytes_,
                row.silence.c_str(), row.takeover.c_str(), row.restart.c_str());
  }
}

int Main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string programs = std::filesystem::path(argv[0]).parent_path();
  try {
    Contest contest(std::strtoull(argv[1], nullptr, 10), argc > 2 ? std::atoi(argv[2]) : 5,
                    programs, argc > 3 ? argv[3] : "");
    const std::string half = argc > 4 ? argv[4] : "";
    if (half != "trouble") contest.MeasureReading();
    if (half != "read") contest.MeasureTrouble();
    contest.Print();
    if (contest.has_failed()) return 1;
  } catch (const std::exception& error) {
    Say(std::string("pleat_kafka_contest: ") + error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace pleat::bench

int main(int argc, char** argv) { return pleat::bench::Main(argc, argv); }
