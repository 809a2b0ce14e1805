// Who takes part in the contest: how each is started, and where its sessions come out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/kafka/broker.h"
#include "bench/kafka/records.h"

namespace pleat::bench {

struct Task {
  std::string topic = {};
  std::string group = {};   // that nobody has had
  std::string shared = {};  // a directory of the group
  std::string own = {};     // and one of this process
  uint64_t records = 0;     // of users, with which the bare loop ends
  int64_t quiet_ms = kQuietMs;
  bool is_restarted = false;               // the group is to know it again by a fixed member id
  std::vector<std::string> settings = {};  // NAME=VALUE of the client
};

class Answers {
 public:
  virtual ~Answers() = default;
  // Appends those that have come since.
  virtual void Take(std::vector<Session>& to) = 0;
};

class Contestant {
 public:
  explicit Contestant(std::string name) : name_(std::move(name)) {}
  virtual ~Contestant() = default;
  const std::string& name() const { return name_; }

  virtual std::vector<std::string> Command(const Broker& broker, const Task& task) const = 0;
  // To be called before the command is started.
  virtual std::unique_ptr<Answers> Open(Broker& broker, const Task& task) const = 0;
  virtual std::vector<Session> Expected(const std::vector<KafkaRecord>& records) const {
    return SessionsOf(records);
  }
  // Whether what happens in silence and after a kill is to be seen. The bare loop has one answer alone: with
  // the number of records as its count, and of bytes as its last.
  virtual bool is_killed() const { return true; }
  virtual bool writes_file() const { return false; }
  virtual bool takes_long() const { return false; }  // minutes

 private:
  const std::string name_;
};

// `programs`: the directory that has pleat and pleat_kafka_loop. Java finds Sessions by CLASSPATH.
std::vector<std::unique_ptr<Contestant>> AllContestants(const std::string& programs);

}  // namespace pleat::bench
