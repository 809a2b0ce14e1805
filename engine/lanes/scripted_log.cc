#include <pleat/scripted_log.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

class ScriptedMember;

namespace {

constexpr size_t kPollRecords = 256;

struct ScriptedRecord {
  uint64_t offset;
  EngineTime logged, stamp;
  std::string key, id, payload;

  LogRecord View() const { return {offset, logged, stamp, key, id, payload}; }
};

struct ScriptedPartition {
  std::deque<ScriptedRecord> records;
  uint64_t first = 0;
  uint64_t end = 0;
  ScriptedMember* owner = nullptr;
  std::optional<LogCommit> committed;
  std::map<uint64_t, std::string> snapshots;
  uint64_t snapshots_ever = 0;
};

class StringSink final : public ByteSink {
 public:
  absl::Status Append(std::string_view bytes) override {
    text += bytes;
    return absl::OkStatus();
  }

  std::string text;
};

class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string text) : text_(std::move(text)) {}

  absl::StatusOr<size_t> Read(std::span<char> room) override {
    const size_t size = std::min(room.size(), text_.size() - at_);
    std::memcpy(room.data(), text_.data() + at_, size);
    at_ += size;
    return size;
  }

 private:
  const std::string text_;
  size_t at_ = 0;
};

}  // namespace

struct ScriptedLog::State {
  ScriptedPartition& partition(int number) {
    PLEAT_CHECK(0 <= number && static_cast<size_t>(number) < partitions.size());
    return partitions[static_cast<size_t>(number)];
  }

  std::vector<ScriptedPartition> partitions;
  std::set<ScriptedMember*> members;
  std::function<CommitFate(const LogCommit&)> commit_fate;
  std::function<absl::Status(int)> snapshot_fate;
  bool is_reachable = true;
  size_t poll_records = kPollRecords;
};

class ScriptedMember final : public PartitionedLog, private LaneSnapshots {
 public:
  explicit ScriptedMember(ScriptedLog::State& log) : log_(log) { log_.members.insert(this); }
  ~ScriptedMember() override {
    log_.members.erase(this);
    for (ScriptedPartition& each : log_.partitions) {
      if (each.owner == this) each.owner = nullptr;
    }
  }

  void TellAssigned(int partition) { news_.push_back({partition, News::kAssigned}); }
  void TellRevoked(int partition) { news_.push_back({partition, News::kRevoked}); }
  void Repeat(int partition, uint64_t offset) {
    const auto found = reading_.find(partition);
    if (found == reading_.end()) return;
    found->second.next =
        std::min(found->second.next, std::max(offset, log_.partition(partition).first));
  }

  absl::StatusOr<bool> Poll(LogListener& listener) override {
    for (News each : std::exchange(news_, {})) Tell(each, listener);
    if (!log_.is_reachable) return absl::UnavailableError("the log cannot be reached");
    for (const auto& [partition, outcome] : std::exchange(answers_, {})) {
      if (!reading_.contains(partition)) continue;
      if (outcome == CommitOutcome::kFenced) reading_.erase(partition);
      listener.OnCommitted(partition, outcome);
    }
    bool more = false;
    for (auto& [partition, reading] : reading_) more |= HandOver(partition, reading, listener);
    return more || !answers_.empty() || !news_.empty();
  }

  void Read(int partition, uint64_t offset) override {
    reading_.at(partition).next = offset;
    reading_.at(partition).is_reading = true;
  }
  void Pause(int partition, bool paused) override { reading_.at(partition).is_paused = paused; }
  void AskEnd(int partition) override {
    reading_.at(partition).asked = log_.is_reachable ? log_.partition(partition).end : kToBeAsked;
  }
  void Commit(const LogCommit& commit) override {
    ScriptedPartition& partition = log_.partition(commit.partition);
    CommitOutcome outcome = CommitOutcome::kInDoubt;
    if (partition.owner != this) {
      outcome = CommitOutcome::kFenced;
    } else if (log_.is_reachable) {
      const CommitFate fate = log_.commit_fate ? log_.commit_fate(commit) : CommitFate::kTaken;
      if (fate != CommitFate::kLost) partition.committed = commit;
      if (fate == CommitFate::kTaken) outcome = CommitOutcome::kCommitted;
    }
    answers_.emplace_back(commit.partition, outcome);
  }
  LaneSnapshots& snapshots() override { return *this; }

 private:
  static constexpr uint64_t kToBeAsked = UINT64_MAX;
  struct News {
    int partition;
    enum { kAssigned, kRevoked } what;
  };
  struct Reading {
    uint64_t next = 0;
    bool is_reading = false;
    bool is_paused = false;
    std::optional<uint64_t> asked;  // the end when it was asked for
  };

  void Tell(const News& news, LogListener& listener) {
    std::erase_if(answers_, [&](const auto& each) { return each.first == news.partition; });
    if (reading_.erase(news.partition) > 0) listener.OnRevoked(news.partition);
    if (news.what == News::kRevoked) return;
    reading_[news.partition] = {};
    const ScriptedPartition& partition = log_.partition(news.partition);
    listener.OnAssigned(news.partition, partition.committed ? &*partition.committed : nullptr,
                        partition.first);
    const bool is_lost = partition.committed && partition.committed->offset > partition.end;
    if (is_lost) Lose(news.partition, listener);
  }
  void Lose(int partition, LogListener& listener) {
    reading_.at(partition).is_reading = false;
    listener.OnPositionLost(partition, log_.partition(partition).first);
  }

  // Whether there is more.
  bool HandOver(int number, Reading& reading, LogListener& listener) {
    const ScriptedPartition& partition = log_.partition(number);
    if (!reading.is_reading) return false;
    if (reading.next < partition.first || reading.next > partition.end) {
      return Lose(number, listener), false;
    }
    if (reading.asked == kToBeAsked) reading.asked = partition.end;
    const auto begin =
        std::ranges::lower_bound(partition.records, reading.next, {}, &ScriptedRecord::offset);
    std::vector<LogRecord> records;
    auto it = begin;
    if (!reading.is_paused) {
      for (; it != partition.records.end() && records.size() < log_.poll_records; ++it)
        records.push_back(it->View());
    }
    reading.next = it == partition.records.end() ? partition.end : it->offset;
    if (!records.empty()) listener.OnRecords(number, records);
    if (reading.asked && *reading.asked <= reading.next) {
      reading.asked.reset();
      listener.OnEnd(number);
    }
    return !reading.is_paused && it != partition.records.end();
  }

  absl::StatusOr<uint64_t> Put(int number, Write write) override {
    if (log_.snapshot_fate) {
      if (absl::Status fate = log_.snapshot_fate(number); !fate.ok()) return fate;
    }
    StringSink sink;
    if (absl::Status written = write(sink); !written.ok()) return written;
    ScriptedPartition& partition = log_.partition(number);
    partition.snapshots[++partition.snapshots_ever] = std::move(sink.text);
    return partition.snapshots_ever;
  }
  absl::StatusOr<std::unique_ptr<ByteSource>> Get(int number, uint64_t snapshot) override {
    const auto& snapshots = log_.partition(number).snapshots;
    const auto found = snapshots.find(snapshot);
    if (found == snapshots.end()) return absl::NotFoundError("there is no such snapshot");
    return std::make_unique<StringSource>(found->second);
  }
  absl::StatusOr<bool> HasAny(int number) override {
    return !log_.partition(number).snapshots.empty();
  }
  absl::Status RemoveBefore(int number, uint64_t snapshot) override {
    std::erase_if(log_.partition(number).snapshots,
                  [snapshot](const auto& each) { return each.first < snapshot; });
    return absl::OkStatus();
  }
  absl::Status Remove(int number, uint64_t snapshot) override {
    log_.partition(number).snapshots.erase(snapshot);
    return absl::OkStatus();
  }

  ScriptedLog::State& log_;
  std::vector<News> news_;
  std::vector<std::pair<int, CommitOutcome>> answers_;
  std::map<int, Reading> reading_;
};

ScriptedLog::ScriptedLog(int partitions) : state_(std::make_unique<State>()) {
  PLEAT_CHECK(partitions >= 1);
  state_->partitions.resize(static_cast<size_t>(partitions));
}
ScriptedLog::~ScriptedLog() { PLEAT_CHECK(state_->members.empty()); }

uint64_t ScriptedLog::Append(int partition, const StoreRecord& record, EngineTime logged) {
  ScriptedPartition& to = state_->partition(partition);
  to.records.push_back({.offset = to.end,
                        .logged = logged,
                        .stamp = record.stamp,
                        .key = std::string(record.key),
                        .id = std::string(record.id),
                        .payload = std::string(record.payload)});
  return to.end++;
}
uint64_t ScriptedLog::End(int partition) const { return state_->partition(partition).end; }

void ScriptedLog::Remove(int partition, uint64_t offset) {
  std::erase_if(state_->partition(partition).records,
                [offset](const ScriptedRecord& each) { return each.offset == offset; });
}
void ScriptedLog::RemoveBefore(int partition, uint64_t offset) {
  ScriptedPartition& of = state_->partition(partition);
  PLEAT_CHECK(offset <= of.end);
  of.first = std::max(of.first, offset);
  while (!of.records.empty() && of.records.front().offset < offset) of.records.pop_front();
}
void ScriptedLog::Truncate(int partition, uint64_t offset) {
  ScriptedPartition& of = state_->partition(partition);
  PLEAT_CHECK(of.first <= offset && offset <= of.end);
  of.end = offset;
  while (!of.records.empty() && of.records.back().offset >= offset) of.records.pop_back();
}

std::unique_ptr<PartitionedLog> ScriptedLog::Join() {
  return std::make_unique<ScriptedMember>(*state_);
}
void ScriptedLog::Assign(int partition, PartitionedLog& member) {
  ScriptedMember* const before = state_->partition(partition).owner;
  if (before != nullptr) before->TellRevoked(partition);
  AssignSilently(partition, member);
}
void ScriptedLog::AssignSilently(int partition, PartitionedLog& member) {
  auto& owner = static_cast<ScriptedMember&>(member);
  state_->partition(partition).owner = &owner;
  owner.TellAssigned(partition);
}

const LogCommit* ScriptedLog::Committed(int partition) const {
  const std::optional<LogCommit>& committed = state_->partition(partition).committed;
  return committed ? &*committed : nullptr;
}
void ScriptedLog::ForgetCommit(int partition) { state_->partition(partition).committed.reset(); }
void ScriptedLog::SetCommitFate(std::function<CommitFate(const LogCommit&)> fate) {
  state_->commit_fate = std::move(fate);
}
void ScriptedLog::SetReachable(bool reachable) { state_->is_reachable = reachable; }
void ScriptedLog::Repeat(int partition, uint64_t offset) {
  ScriptedMember* const owner = state_->partition(partition).owner;
  if (owner != nullptr) owner->Repeat(partition, offset);
}
void ScriptedLog::SetPollRecords(size_t records) { state_->poll_records = records; }
void ScriptedLog::SetSnapshotFate(std::function<absl::Status(int)> fate) {
  state_->snapshot_fate = std::move(fate);
}
size_t ScriptedLog::Snapshots(int partition) const {
  return state_->partition(partition).snapshots.size();
}

}  // namespace pleat::inline v0_1
