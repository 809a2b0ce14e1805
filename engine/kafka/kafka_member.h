// KafkaMember is a member of a consumer group: it turns what librdkafka tells into what a LogListener
// hears. All of it happens inside Poll(), on the caller's thread.
//
// The way of a partition:
//
//   assigned    by the group. What was committed is asked for; then librdkafka begins to fetch there,
//               or at the first record if nothing was: so the first answer says whether that place is
//               still in the log, and the listener hears of the partition.
//   kStarting   until that answer is here
//   kIdle       the listener has not said yet where to read
//   kReading    records are handed over from `next` on
//   kLosing     the place is not in the log; librdkafka looks for the first record that is
//   kOver       that was told, or commits are fenced: no more records come
//
// A member that the group has put out comes back with another member id. librdkafka tells of that by
// revoking its partitions as lost, but not if it was put out in the middle of a rebalance (its pull
// request 5604): then it joins again as the owner of partitions that others may have had meanwhile,
// and keeps them without a word. So whenever partitions are assigned, be it none, the member id is
// looked at: those that were taken under another one are fenced, and taken over anew. No commit is
// sent under another one.
//
// A seek drops the records and ends that librdkafka has fetched before. So an end of partition that
// comes after a seek was seen by a broker after that seek.
//
// A place that is out of range stops librdkafka's fetcher of the partition, and no seek starts it
// again, but taking the partition out of the assignment and putting it back does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/kafka_log.h>
#include <pleat/untyped/partitioned_log.h>

#include "engine/kafka/kafka_handles.h"

namespace pleat::inline v0_1 {

class KafkaMember {
 public:
  static absl::StatusOr<std::unique_ptr<KafkaMember>> Join(const KafkaOptions& options);
  ~KafkaMember();
  KafkaMember(const KafkaMember&) = delete;
  KafkaMember& operator=(const KafkaMember&) = delete;

  // As those of KafkaLog.
  absl::StatusOr<bool> Poll(LogListener& listener);
  void Read(int partition, uint64_t offset);
  void Pause(int partition, bool paused);
  void AskEnd(int partition);
  void Commit(const LogCommit& commit) { to_commit_.push_back(commit); }
  void Leave() { going_.is_leaving = true; }
  bool left() const { return going_.is_left; }
  int partitions() const { return partitions_; }

 private:
  enum class Stage : uint8_t { kStarting, kIdle, kReading, kLosing, kOver };
  enum class Question : uint8_t { kNone, kAsked, kSought };  // of the end; and a seek has followed
  struct Held {
    Stage stage = Stage::kStarting;
    std::optional<LogCommit> committed;
    int64_t next = RD_KAFKA_OFFSET_BEGINNING;  // or an offset: where the fetcher stands
    bool is_told = false;    // to the listener, which has not heard that it is revoked or fenced
    bool is_fenced = false;  // to be taken over anew, if it is not revoked
    bool is_being_told = false;
    bool is_paused = false;      // by the listener
    bool fetch_paused = false;   // in librdkafka
    bool fetch_stopped = false;  // as the place was out of range
    uint64_t commit = 0;         // that is under way; 0: none
    Question question = Question::kNone;
    std::optional<int64_t> end;         // at or behind the one that was asked for
    std::vector<KafkaMessage> records;  // to be handed over
  };
  // An answer that comes late, after the partition was taken over anew, is of an earlier commit.
  struct Commits {
    uint64_t last = 0;         // the number of the last one that was sent
    std::list<uint64_t> sent;  // and not answered: librdkafka has pointers to these
  };
  struct Going {
    bool is_leaving = false;       // no partition is taken over any more
    bool is_unsubscribed = false;  // so the group has no more for this member, in a while
    bool is_left = false;
    bool is_stranded = false;  // librdkafka takes no answer to an assignment any more
    KafkaQueue closing;        // what librdkafka says while it closes: nothing that matters
  };

  struct Amount {
    uint64_t messages = 0;
    uint64_t bytes = 0;
  };
  // librdkafka's queue of records that it has fetched.
  struct Queue {
    Amount limit;  // it fetches no more when there is as much of one of the two
    Amount taken;  // since the queue was empty
  };

  explicit KafkaMember(const KafkaOptions& options)
      : topic_(options.topic),
        group_(options.group),
        id_header_(options.id_header),
        is_static_(!options.instance_id.empty()) {}

  rd_kafka_resp_err_t Subscribe();

  // --- Answers of the group's coordinator
  void TakeAnswers();
  void AskCommitted();
  void TakeCommitted(rd_kafka_event_t* event);
  void StartFetching(std::map<int, std::optional<LogCommit>> committed);
  void SendCommits();
  void AnswerCommits(rd_kafka_event_t* event);
  void AnswerCommit(int partition, uint64_t number, rd_kafka_resp_err_t error);

  // --- The group
  void OnRebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions);
  void TakeAnew();
  void Fence(Held& held);
  void Revoke(int partition);
  void RevokeAll();
  void OnError(rd_kafka_resp_err_t error, const char* reason);

  // --- The end, in kafka_leave.cc
  void GoOnLeaving();
  void AssignUnread(const rd_kafka_topic_partition_list_t* partitions);
  void AssignStartingUnread();
  bool HasHalfJoined() const;
  bool HasFailed() const;
  std::string MemberId() const;
  void DropMessages();
  bool ComesToRest();

  // --- Records
  bool TakeMessages();
  void TakeMessage(KafkaMessage message);
  void TakeRecord(int partition, Held& held, KafkaMessage message);
  void TakeEnd(int partition, Held& held, int64_t offset);
  void TakeLostPlace(int partition, Held& held, int64_t offset);
  void Begin(int partition, Held& held, int64_t offset, KafkaMessage message);
  void Tell(int partition, Held& held, uint64_t first);
  void TellLost(int partition, Held& held, uint64_t first);
  void HandOver(int partition, Held& held);

  // --- The fetcher of a partition
  void Move(int partition, Held& held, int64_t offset);
  void Restart(int partition, Held& held, int64_t offset);
  void Unpause(int partition, Held& held);
  void SettlePause(int partition, Held& held);
  void SeekFromNext();

  KafkaPartitions One(int partition, int64_t offset) const;
  Held* Find(int partition);
  Held& At(int partition);

  const std::string topic_;
  const std::string group_;
  const std::string id_header_;
  const bool is_static_;
  KafkaClient client_;  // outlives what follows
  // With it librdkafka knows the leaders of the partitions before they are assigned. Else it looks for the
  // beginning of a partition in vain, and again half a second later.
  KafkaTopic topic_handle_;
  KafkaQueue answers_;
  Commits commits_;
  LogListener* listener_ = nullptr;  // during Poll()
  std::map<int, Held> held_;
  std::vector<int> starting_;  // assigned, and what was committed is not known yet
  KafkaQueue question_;        // where the answer will be; null: nothing is asked
  std::vector<LogCommit> to_commit_;
  absl::Status trouble_;  // of this call of Poll()
  std::vector<LogRecord> records_;
  Queue queue_;
  std::string member_id_;      // under which partitions were taken
  bool was_assigned_ = false;  // partitions, be it none
  Going going_;
  int partitions_ = 0;  // of the topic; 0: not known yet
};

}  // namespace pleat::inline v0_1
