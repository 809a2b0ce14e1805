#include "bench/kafka/contestants.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace pleat::bench {
namespace {

// Hands on the lines that have come to a file since.
class LineReader {
 public:
  explicit LineReader(std::string path) : path_(std::move(path)) {}

  template <class TakeLine>
  void Poll(const TakeLine& take) {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    if (!file) return;
    rest_.append(std::istreambuf_iterator<char>(file), {});
    read_ += rest_.size() - kept_;
    std::string_view text = rest_;
    for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      take(text.substr(0, end));
    }
    rest_.erase(0, rest_.size() - text.size());
    kept_ = rest_.size();
  }

 private:
  const std::string path_;
  size_t read_ = 0;
  size_t kept_ = 0;  // of these, as they are no line yet
  std::string rest_;
};

// What stands behind `name` in a line of JSON whose members are known.
std::string_view Behind(std::string_view line, std::string_view name) {
  const size_t begin = line.find(name);
  if (begin == line.npos) throw std::runtime_error("no line of a session: " + std::string(line));
  return line.substr(begin + name.size());
}

int64_t Number(std::string_view text) { return std::strtoll(text.data(), nullptr, 10); }

// Such as 2023-11-14T22:13:20.007000Z.
int64_t MillisecondsOf(std::string_view time) {
  const auto number = [time](size_t begin) { return static_cast<int>(Number(time.substr(begin))); };
  const std::chrono::sys_days day = std::chrono::year(number(0)) / number(5) / number(8);
  const int64_t seconds = number(11) * int64_t{3'600} + number(14) * int64_t{60} + number(17);
  const int64_t days = day.time_since_epoch().count();
  return (days * 86'400 + seconds) * 1'000 + number(20) / 1'000;
}

// {"_id":...,"user":"u0000017","_fold":{"count":2,"first":T,"last":T,...}}
class PleatAnswers final : public Answers {
 public:
  explicit PleatAnswers(const std::string& file) : lines_(file) {}

  void Take(std::vector<Session>& to) override {
    lines_.Poll([&](std::string_view line) {
      const std::string_view key = Behind(line, "\"user\":\"");
      const std::optional<uint32_t> user = UserOf(key.substr(0, key.find('"')));
      if (!user) return;
      const std::string_view fold = Behind(line, "\"_fold\":{\"count\":");
      to.push_back({*user, MillisecondsOf(Behind(fold, "\"first\":\"")),
                    MillisecondsOf(Behind(fold, "\"last\":\"")), Number(fold)});
    });
  }

 private:
  LineReader lines_;
};

class LoopAnswers final : public Answers {
 public:
  explicit LoopAnswers(const std::string& file) : lines_(file) {}

  void Take(std::vector<Session>& to) override {
    lines_.Poll([&](std::string_view line) {
      to.push_back({0, 0, Number(line.substr(line.find(' ') + 1)), Number(line)});
    });
  }

 private:
  LineReader lines_;
};

class TopicAnswers final : public Answers {
 public:
  TopicAnswers(const Broker& broker, const std::string& topic) : reader_(broker, topic) {}

  void Take(std::vector<Session>& to) override {
    reader_.Poll([&](std::string_view key, std::string_view value) {
      const std::optional<uint32_t> user = UserOf(key);
      if (!user) return;
      Session session{*user};
      char* rest = nullptr;
      const std::string text(value);
      session.first = std::strtoll(text.c_str(), &rest, 10);
      session.last = std::strtoll(rest, &rest, 10);
      session.count = std::strtoll(rest, &rest, 10);
      to.push_back(session);
    });
  }

 private:
  TopicReader reader_;
};

class Loop final : public Contestant {
 public:
  explicit Loop(std::string program)
      : Contestant("bare loop of librdkafka"), program_(std::move(program)) {}

  std::vector<std::string> Command(const Broker& broker, const Task& task) const override {
    return {program_,
            broker.address(),
            task.topic,
            task.group,
            std::to_string(task.records),
            task.own + "/output"};
  }
  std::unique_ptr<Answers> Open(Broker&, const Task& task) const override {
    return std::make_unique<LoopAnswers>(task.own + "/output");
  }
  std::vector<Session> Expected(const std::vector<KafkaRecord>& records) const override {
    Session all;
    for (const KafkaRecord& each : records) {
      ++all.count;
      all.last += static_cast<int64_t>(KeyOf(each.user).size() + PayloadOf(each).size());
    }
    return {all};
  }
  bool is_killed() const override { return false; }

 private:
  const std::string program_;
};

class Pleat final : public Contestant {
 public:
  // `more`: options of the fold.
  Pleat(std::string name, std::string program, std::vector<std::string> more)
      : Contestant(std::move(name)), program_(std::move(program)), more_(std::move(more)) {}

  std::vector<std::string> Command(const Broker& broker, const Task& task) const override {
    std::vector<std::string> words = {program_,         "run",      "--brokers",
                                      broker.address(), "--topic",  task.topic,
                                      "--group",        task.group, "--snapshots",
                                      task.shared,      "--output", task.own + "/output",
                                      "--replay-limit", "50000"};
    for (const std::string& each : task.settings) words.insert(words.end(), {"-X", each});
    if (task.is_restarted) words.insert(words.end(), {"--worker", "1/1"});
    const std::string quiet = std::to_string(task.quiet_ms) + "ms";
    words.insert(words.end(), {"fold", "--key", "user", "--quiet", quiet});
    words.insert(words.end(), more_.begin(), more_.end());
    return words;
  }
  std::unique_ptr<Answers> Open(Broker&, const Task& task) const override {
    return std::make_unique<PleatAnswers>(task.own + "/output");
  }
  bool writes_file() const override { return true; }
  bool is_killed() const override { return more_.empty(); }

 private:
  const std::string program_;
  const std::vector<std::string> more_;
};

class Streams final : public Contestant {
 public:
  Streams(std::string name, std::string way, std::vector<std::string> settings)
      : Contestant(std::move(name)), way_(std::move(way)), settings_(std::move(settings)) {}

  std::vector<std::string> Command(const Broker& broker, const Task& task) const override {
    std::vector<std::string> words = {"java",
                                      "-Xmx512m",
                                      "Sessions",
                                      broker.address(),
                                      task.topic,
                                      OutputOf(task),
                                      task.group,
                                      task.own + "/state",
                                      std::to_string(task.quiet_ms),
                                      way_,
                                      "num.stream.threads=2"};
    words.insert(words.end(), settings_.begin(), settings_.end());
    words.insert(words.end(), task.settings.begin(), task.settings.end());
    if (task.is_restarted) words.push_back("group.instance.id=" + task.group);
    return words;
  }
  std::unique_ptr<Answers> Open(Broker& broker, const Task& task) const override {
    broker.CreateTopic(OutputOf(task));
    return std::make_unique<TopicAnswers>(broker, OutputOf(task));
  }
  bool takes_long() const override { return true; }

 private:
  // Its name begins as those of all topics that are no state.
  static std::string OutputOf(const Task& task) { return "topic-of-" + task.group; }

  const std::string way_;
  const std::vector<std::string> settings_;
};

}  // namespace

// At least once Streams commits each 30 seconds unless it is told otherwise, and a suppressed session comes out with
// a commit.
std::vector<std::unique_ptr<Contestant>> AllContestants(const std::string& programs) {
  const std::vector<std::string> at_least_once = {"processing.guarantee=at_least_once",
                                                  "commit.interval.ms=1000"};
  std::vector<std::unique_ptr<Contestant>> all;
  all.push_back(std::make_unique<Loop>(programs + "/pleat_kafka_loop"));
  const std::string pleat = programs + "/pleat";
  all.push_back(
      std::make_unique<Pleat>("`pleat run`, to a file", pleat, std::vector<std::string>{}));
  all.push_back(
      std::make_unique<Pleat>("`pleat run --time`, to a file", pleat,
                              std::vector<std::string>{"--time", "at", "--time-unit", "ms"}));
  all.push_back(
      std::make_unique<Streams>("Kafka Streams, `suppress`, exactly once", "suppress",
                                std::vector<std::string>{"processing.guarantee=exactly_once_v2"}));
  all.push_back(std::make_unique<Streams>("Kafka Streams, `suppress`, at least once", "suppress",
                                          at_least_once));
  all.push_back(std::make_unique<Streams>("Kafka Streams, `onWindowClose`, at least once", "close",
                                          at_least_once));
  return all;
}

}  // namespace pleat::bench
