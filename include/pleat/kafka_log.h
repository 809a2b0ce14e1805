// A KafkaLog lets a Processor (processor.h) read a topic of a broker that speaks Kafka's protocol.
//
//   auto log = *pleat::KafkaLog::Open({.brokers = "kafka-1:9092,kafka-2:9092",
//                                      .topic = "orders",
//                                      .group = "mail",
//                                      .snapshots = "/var/lib/mail"});
//   pleat::Processor processor(*log, make_handler);
//   while (!stopping) {
//     absl::StatusOr<bool> more = processor.Run(now);  // now: Unix time, as brokers stamp records
//     ...                                              // deliver messages, and ack them
//   }
//
// Each process is a member of the group, which deals out the partitions; lanes move when a member
// comes, leaves or falls silent. A lane's commit is an offset that the group commits, with what the
// next owner has to know as its metadata, so brokers fence who has lost a partition. Transactions
// are not used.
//
// `logged` is the time at which the broker took the record, where the topic says so
// (message.timestamp.type=LogAppendTime), and else what the producer has stamped: then
// ProcessorOptions::margin is to be longer than a producer holds a record and tries again.
// Transactions of producers are seen when they are committed.
//
// The end of a partition. No call of librdkafka before 2.3 asks for it without waiting. So reading
// goes back to where it stands: the answer to the fetch request that follows is younger than the
// question, and says that there is nothing more, or up to where there is. That takes two
// fetch.wait.max.ms at most, 100 ms each unless `properties` say otherwise.
//
// librdkafka is 2.0.2 or newer, and has threads of its own; its log lines are dropped. Nothing here
// waits for the network. That a log was cut off is seen only by offsets beyond its end.
//
// A KafkaProducer takes messages of a processor, of whatever log, to a topic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>
#include <pleat/untyped/partitioned_log.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

struct KafkaOptions {
  std::string brokers;  // "host:port,host:port"
  std::string topic;    // has to be there
  std::string group;
  // Names this member for good, so that a process that starts again within session.timeout.ms has
  // its partitions back at once. Of two processes of one name the older is put out. Empty: none.
  std::string instance_id = {};
  // A directory of the lanes' snapshots, which is made if it is not there. All members of a group,
  // on all machines, need the same one, and no other group uses it.
  std::string snapshots;
  // The header of a record that has its id. Empty: records have no ids.
  std::string id_header = {};
  // What kind of brokers these are, "kafka", "event-hubs", "redpanda" or "warpstream": settings of
  // librdkafka for them, before `properties`; and with "event-hubs" a partition has three commits a
  // second at most, since those brokers take four. docs/howto-processors.md has what each sets.
  std::string profile = "kafka";
  // More of librdkafka's settings, as "name=value", such as "security.protocol=SSL",
  // "session.timeout.ms=6000". No error repeats a value, as it may be a secret.
  std::vector<std::string> properties = {};
  Storage* storage = nullptr;  // where `snapshots` is, and outlives this; null: files of the system
};

class PLEAT_EXPORT KafkaLog final : public PartitionedLog {
 public:
  // Joins the group in the background; partitions are assigned during Poll().
  // Errors: kInvalidArgument: a property that librdkafka does not know, has otherwise, or that is
  // set here; kInternal: librdkafka cannot start; and those of Storage.
  static absl::StatusOr<std::unique_ptr<KafkaLog>> Open(const KafkaOptions& options);
  // Does not leave the group: others have the partitions when session.timeout.ms is over. In the
  // middle of joining, or of a commit, it waits until the group has answered: 10 seconds at most,
  // then the client stays behind with its threads, and does nothing any more.
  ~KafkaLog() override;

  // To be called at least every max.poll.interval.ms, 5 minutes, or the member is put out. Commits
  // since the last call are sent here, all in one request. An error is told once, and reading goes
  // on by itself.
  // Errors: kUnavailable: no broker can be reached, or another error that may pass; kNotFound:
  // there is no such topic; kPermissionDenied; kUnauthenticated; kFailedPrecondition, from now on:
  // another process has the instance id, or librdkafka has given up. Open another one.
  absl::StatusOr<bool> Poll(LogListener& listener) override;
  void Read(int partition, uint64_t offset) override;
  void Pause(int partition, bool paused) override;
  void AskEnd(int partition) override;
  // kFenced: the group has put this member out. It joins again by itself, as another one, and what
  // it has then is told by OnAssigned().
  void Commit(const LogCommit& commit) override;
  Duration commit_interval_min() const override;
  LaneSnapshots& snapshots() override;

  // How many partitions the topic has. 0: not known yet, some seconds after Open().
  int partitions() const;
  // Whether a producer puts a record with this key into this partition: in Java, by murmur2, or of
  // librdkafka, by CRC-32. True while the number of partitions is not known. A collection whose
  // keys do not belong to their partitions may have a group of one key in several of them.
  bool MayHold(int partition, std::string_view key) const;

  // Leaves the group, so that others have the partitions at once: call Poll() until left(). A
  // processor is stopped first. With an instance id the group waits for the process to come back.
  void Leave();
  bool left() const;

 private:
  class Core;
  explicit KafkaLog(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

// Idempotent: the broker has each record once for each Send(), and those of a key in order.
// Thread safety: one call at a time.
class PLEAT_EXPORT KafkaProducer {
 public:
  // Of the options these are taken: brokers, topic, id_header, profile and properties. Keys go to
  // partitions as from producers in Java, unless `properties` have another partitioner.
  // Errors: as those of KafkaLog::Open().
  static absl::StatusOr<std::unique_ptr<KafkaProducer>> Open(const KafkaOptions& options);
  // Waits for nothing: what was not delivered yet may come to the topic or not.
  ~KafkaProducer();
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;

  // Copies a record, to be sent. `id` becomes the header id_header, if that is not empty. Returns
  // the number by which the record is known: one more for each. Errors: kResourceExhausted: too
  // many wait to be delivered; kInvalidArgument: it is larger than message.max.bytes;
  // kFailedPrecondition: librdkafka has given up, as TakeDelivered() says.
  absl::StatusOr<uint64_t> Send(std::string_view key, std::string_view id,
                                std::string_view payload);
  // The numbers of records that the topic has, all its replicas in sync, since the last call.
  // Errors, when all these were told: kUnavailable, once: no broker can be reached, or none lets
  // this client in, and it is tried again for ever; others: a record was refused for good, and
  // nothing more is to be sent.
  absl::StatusOr<std::vector<uint64_t>> TakeDelivered();

 private:
  class Core;
  explicit KafkaProducer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace pleat::inline v0_1
