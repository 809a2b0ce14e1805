#include "engine/kafka/kafka_member.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/kafka/kafka_config.h"
#include "engine/kafka/kafka_keys.h"
#include "engine/kafka/kafka_metadata.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kBytesAPoll = size_t{1} << 19;
constexpr size_t kRecordBytes = 64;  // of a record beside its key and payload

// librdkafka frees it.
void SetMetadata(rd_kafka_topic_partition_t& to, std::string_view text) {
  to.metadata = std::malloc(text.size());
  PLEAT_CHECK(to.metadata != nullptr);
  std::memcpy(to.metadata, text.data(), text.size());
  to.metadata_size = text.size();
}

std::string_view MetadataOf(const rd_kafka_topic_partition_t& of) {
  if (of.metadata == nullptr) return {};
  return {static_cast<const char*>(of.metadata), of.metadata_size};
}

// A property of librdkafka.
uint64_t NumberOf(rd_kafka_t& client, const char* property) {
  char text[32] = "";
  size_t size = sizeof text;
  PLEAT_CHECK(rd_kafka_conf_get(rd_kafka_conf(&client), property, text, &size) == RD_KAFKA_CONF_OK);
  return std::strtoull(text, nullptr, 10);
}

std::string_view IdIn(const rd_kafka_message_t& message, const std::string& header) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (header.empty() || rd_kafka_message_headers(&message, &headers) != 0) return {};
  if (rd_kafka_header_get_last(headers, header.c_str(), &value, &size) != 0) return {};
  return {static_cast<const char*>(value), size};
}

// Brokers keep milliseconds. What has no time was written before there were any.
LogRecord RecordOf(const rd_kafka_message_t& message, const std::string& id_header) {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const int64_t milliseconds = rd_kafka_message_timestamp(&message, &type);
  const EngineTime time =
      milliseconds < 0 ? kBeginningOfTime : FromUnix(std::chrono::milliseconds(milliseconds));
  return {.offset = static_cast<uint64_t>(message.offset),
          .logged = time,
          .stamp = time,
          .key = {static_cast<const char*>(message.key), message.key_len},
          .id = IdIn(message, id_header),
          .payload = {static_cast<const char*>(message.payload), message.len}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaMember>> KafkaMember::Join(const KafkaOptions& options) {
  auto member = std::unique_ptr<KafkaMember>(new KafkaMember(options));
  const KafkaCallbacks callbacks = {
      .on_rebalance =
          [](rd_kafka_t*, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions,
             void* self) { static_cast<KafkaMember*>(self)->OnRebalance(what, partitions); },
      .on_error =
          [](rd_kafka_t*, int error, const char* reason, void* self) {
            static_cast<KafkaMember*>(self)->OnError(static_cast<rd_kafka_resp_err_t>(error),
                                                     reason);
          },
      .on_statistics =
          [](rd_kafka_t*, char* json, size_t size, void* self) {
            auto& of = *static_cast<KafkaMember*>(self);
            of.partitions_ = std::max(of.partitions_, PartitionsIn({json, size}, of.topic_));
            return 0;  // librdkafka frees it
          },
      .opaque = member.get()};
  absl::StatusOr<KafkaClient> client = OpenKafkaClient(options, callbacks);
  if (!client.ok()) return client.status();
  member->client_ = *std::move(client);
  member->topic_handle_.reset(
      rd_kafka_topic_new(member->client_.get(), options.topic.c_str(), nullptr));
  member->answers_.reset(rd_kafka_queue_new(member->client_.get()));
  member->queue_.limit = {.messages = NumberOf(*member->client_, "queued.min.messages"),
                          .bytes = NumberOf(*member->client_, "queued.max.messages.kbytes") << 10};
  const rd_kafka_resp_err_t joined = member->Subscribe();
  if (joined != 0) return KafkaStatus(joined, rd_kafka_err2str(joined));
  return member;
}

rd_kafka_resp_err_t KafkaMember::Subscribe() {
  const KafkaPartitions topic = One(RD_KAFKA_PARTITION_UA, RD_KAFKA_OFFSET_INVALID);
  return rd_kafka_subscribe(client_.get(), topic.get());
}

absl::StatusOr<bool> KafkaMember::Poll(LogListener& listener) {
  listener_ = &listener;
  TakeAnswers();
  SendCommits();
  AskCommitted();
  const bool more = TakeMessages();
  for (auto& [partition, held] : held_) HandOver(partition, held);
  if (!more) SeekFromNext();
  if (going_.is_leaving) GoOnLeaving();
  char reason[512] = "";
  if (rd_kafka_fatal_error(client_.get(), reason, sizeof reason) != 0) {
    going_.is_stranded |= !starting_.empty();
    RevokeAll();
    going_.is_left = true;
    trouble_ = absl::FailedPreconditionError(Concat("Kafka: ", reason));
  }
  listener_ = nullptr;
  absl::Status trouble = std::exchange(trouble_, absl::OkStatus());
  if (!trouble.ok()) return trouble;
  return more;
}

// --- Answers of the group's coordinator

void KafkaMember::TakeAnswers() {
  while (const KafkaEvent event{rd_kafka_queue_poll(answers_.get(), 0)}) {
    if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_OFFSET_COMMIT) {
      AnswerCommits(event.get());
    }
  }
  if (question_ == nullptr) return;
  if (const KafkaEvent event{rd_kafka_queue_poll(question_.get(), 0)}) {
    question_.reset();
    TakeCommitted(event.get());
  }
}

// What the group has committed for the partitions that it has given us. The answer to an earlier
// question goes with its queue.
void KafkaMember::AskCommitted() {
  if (starting_.empty() || question_ != nullptr) return;
  const KafkaPartitions partitions(
      rd_kafka_topic_partition_list_new(static_cast<int>(starting_.size())));
  for (const int each : starting_)
    rd_kafka_topic_partition_list_add(partitions.get(), topic_.c_str(), each);
  const KafkaGroupOffsets group(
      rd_kafka_ListConsumerGroupOffsets_new(group_.c_str(), partitions.get()));
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client_.get(), RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS));
  rd_kafka_ListConsumerGroupOffsets_t* asked = group.get();
  question_.reset(rd_kafka_queue_new(client_.get()));
  rd_kafka_ListConsumerGroupOffsets(client_.get(), &asked, 1, options.get(), question_.get());
}

void KafkaMember::TakeCommitted(rd_kafka_event_t* event) {
  const auto failed = [&](rd_kafka_resp_err_t error, const char* reason) {
    trouble_.Update(KafkaStatus(error, Concat("what was committed is not known: ", reason)));
  };
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  if (error != 0) return failed(error, rd_kafka_event_error_string(event));
  size_t count = 0;
  const rd_kafka_group_result_t** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event), &count);
  if (count != 1) return;
  std::map<int, std::optional<LogCommit>> committed;
  const rd_kafka_topic_partition_list_t* const partitions =
      rd_kafka_group_result_partitions(groups[0]);
  for (int i = 0; partitions != nullptr && i < partitions->cnt; ++i) {
    const rd_kafka_topic_partition_t& each = partitions->elems[i];
    if (each.err != 0) return failed(each.err, rd_kafka_err2str(each.err));
    std::optional<LogCommit>& of = committed[each.partition];
    if (each.offset >= 0) {
      of = KafkaCommit(each.partition, static_cast<uint64_t>(each.offset), MetadataOf(each));
    }
  }
  const bool has_all =
      std::ranges::all_of(starting_, [&](int partition) { return committed.contains(partition); });
  if (has_all) StartFetching(std::move(committed));
}

// Partitions that are held are taken over anew: librdkafka fetches them already, and stops that first.
void KafkaMember::StartFetching(std::map<int, std::optional<LogCommit>> committed) {
  const int count = static_cast<int>(starting_.size());
  const KafkaPartitions partitions(rd_kafka_topic_partition_list_new(count));
  const KafkaPartitions fetched(rd_kafka_topic_partition_list_new(count));
  for (const int each : std::exchange(starting_, {})) {
    const auto [place, is_new] = held_.try_emplace(each);
    Held& held = place->second;
    if (!is_new) {
      Unpause(each, held);
      rd_kafka_topic_partition_list_add(fetched.get(), topic_.c_str(), each);
    }
    held = {};
    held.committed = std::move(committed[each]);
    if (held.committed) held.next = static_cast<int64_t>(held.committed->offset);
    rd_kafka_topic_partition_list_add(partitions.get(), topic_.c_str(), each)->offset = held.next;
  }
  if (fetched->cnt > 0) {
    const KafkaError ignored(rd_kafka_incremental_unassign(client_.get(), fetched.get()));
  }
  const KafkaError error(rd_kafka_incremental_assign(client_.get(), partitions.get()));
  if (error != nullptr) {
    trouble_.Update(
        KafkaStatus(rd_kafka_error_code(error.get()), rd_kafka_error_string(error.get())));
  }
}

// A member that was put out may have no generation, and a group without members would take the commit
// of such a one: so none is sent.
void KafkaMember::SendCommits() {
  if (to_commit_.empty()) return;
  const std::vector<LogCommit> commits = std::exchange(to_commit_, {});
  const KafkaPartitions partitions(
      rd_kafka_topic_partition_list_new(static_cast<int>(commits.size())));
  const uint64_t number = ++commits_.last;
  for (const LogCommit& each : commits) {
    Held* const held = Find(each.partition);
    if (held == nullptr || !held->is_told) continue;
    held->commit = number;
    rd_kafka_topic_partition_t& added =
        *rd_kafka_topic_partition_list_add(partitions.get(), topic_.c_str(), each.partition);
    added.offset = static_cast<int64_t>(each.offset);
    SetMetadata(added, KafkaMetadata(each));
  }
  if (partitions->cnt == 0) return;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID;
  const bool is_member = !member_id_.empty() && MemberId() == member_id_;
  if (is_member && rd_kafka_assignment_lost(client_.get()) == 0) {
    commits_.sent.push_back(number);
    error = rd_kafka_commit_queue(client_.get(), partitions.get(), answers_.get(), nullptr,
                                  &commits_.sent.back());
  }
  if (error == 0) return;
  commits_.sent.remove(number);
  for (const LogCommit& each : commits) AnswerCommit(each.partition, number, error);
}

void KafkaMember::AnswerCommits(rd_kafka_event_t* event) {
  const uint64_t number = *static_cast<const uint64_t*>(rd_kafka_event_opaque(event));
  commits_.sent.remove(number);
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  const rd_kafka_topic_partition_list_t* const partitions =
      rd_kafka_event_topic_partition_list(event);
  for (int i = 0; partitions != nullptr && i < partitions->cnt; ++i) {
    const rd_kafka_topic_partition_t& each = partitions->elems[i];
    AnswerCommit(each.partition, number, each.err != 0 ? each.err : error);
  }
}

// An older generation alone does not say that the partition is another one's: the group may have
// formed anew with this member in it. Unless librdkafka has given up all partitions because of that.
void KafkaMember::AnswerCommit(int partition, uint64_t number, rd_kafka_resp_err_t error) {
  Held* const held = Find(partition);
  if (held == nullptr || held->commit != number) return;
  held->commit = 0;
  const bool is_lost = rd_kafka_assignment_lost(client_.get()) != 0;
  const bool is_fenced = error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
                         error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID ||
                         (error == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION && is_lost);
  if (is_fenced) {
    Fence(*held);
    listener_->OnCommitted(partition, CommitOutcome::kFenced);
    return;
  }
  listener_->OnCommitted(partition,
                         error == 0 ? CommitOutcome::kCommitted : CommitOutcome::kInDoubt);
}

// --- The group

// Partitions that are assigned are taken over when it is known what was committed for them. Until
// then the group counts this member as one that is still taking them.
void KafkaMember::OnRebalance(rd_kafka_resp_err_t what,
                              rd_kafka_topic_partition_list_t* partitions) {
  if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    was_assigned_ = true;
    going_.is_stranded |= HasFailed();
    if (going_.is_leaving) return AssignUnread(partitions);
    question_.reset();
    TakeAnew();
    for (int i = 0; i < partitions->cnt; ++i) starting_.push_back(partitions->elems[i].partition);
    if (partitions->cnt > 0) return;
    const KafkaError ignored(rd_kafka_incremental_assign(client_.get(), partitions));
    return;
  }
  for (int i = 0; i < partitions->cnt; ++i) Revoke(partitions->elems[i].partition);
  // Null in a member that was put out.
  const char* const protocol = rd_kafka_rebalance_protocol(client_.get());
  if (protocol != nullptr && std::string_view(protocol) == "COOPERATIVE") {
    const KafkaError ignored(rd_kafka_incremental_unassign(client_.get(), partitions));
  } else {
    RevokeAll();
    rd_kafka_assign(client_.get(), nullptr);
  }
}

// Fences partitions that were taken under another member id, and takes them over anew. Without an id
// the group does not count this member yet.
void KafkaMember::TakeAnew() {
  const std::string id = MemberId();
  const bool is_another = std::exchange(member_id_, id) != id;
  for (auto& [partition, held] : held_) {
    const bool was_told = held.is_told;
    if (is_another) Fence(held);
    if (is_another && was_told) listener_->OnRevoked(partition);
    if (!held.is_fenced || id.empty() || std::ranges::count(starting_, partition) > 0) continue;
    starting_.push_back(partition);
  }
}

// Nothing is to be told of it any more.
void KafkaMember::Fence(Held& held) {
  held.stage = Stage::kOver;
  held.is_told = false;
  held.is_fenced = true;
  held.commit = 0;
  held.question = Question::kNone;
  held.end.reset();
  held.records.clear();
}

void KafkaMember::Revoke(int partition) {
  if (std::erase(starting_, partition) > 0) question_.reset();
  std::erase_if(to_commit_, [&](const LogCommit& each) { return each.partition == partition; });
  const auto found = held_.find(partition);
  if (found == held_.end()) return;
  Unpause(partition, found->second);
  const bool was_told = found->second.is_told;
  held_.erase(found);
  if (was_told) listener_->OnRevoked(partition);
}

void KafkaMember::RevokeAll() {
  starting_.clear();
  question_.reset();
  while (!held_.empty()) Revoke(held_.begin()->first);
}

// That one broker of several does not answer is no trouble yet.
void KafkaMember::OnError(rd_kafka_resp_err_t error, const char* reason) {
  if (error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__RESOLVE) return;
  trouble_.Update(KafkaStatus(error, Concat(rd_kafka_err2str(error), ": ", reason)));
}

// --- Records

// Returns whether there may be more at once. One message at a time: before librdkafka 2.1 some are
// lost where a batch meets a pause.
bool KafkaMember::TakeMessages() {
  for (size_t bytes = 0; bytes < kBytesAPoll;) {
    KafkaMessage message(rd_kafka_consumer_poll(client_.get(), 0));
    if (message == nullptr) return false;
    const size_t size = message->len + message->key_len + kRecordBytes;
    bytes += size;
    queue_.taken.bytes += size;
    ++queue_.taken.messages;
    TakeMessage(std::move(message));
  }
  return true;
}

void KafkaMember::TakeMessage(KafkaMessage message) {
  const rd_kafka_resp_err_t error = message->err;
  const int partition = message->partition;
  const int64_t offset = message->offset;
  Held* const held = Find(partition);
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (held != nullptr) TakeRecord(partition, *held, std::move(message));
  } else if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    if (held != nullptr) TakeEnd(partition, *held, offset);
  } else if (error == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
    if (held != nullptr) TakeLostPlace(partition, *held, offset);
  } else {
    trouble_.Update(KafkaStatus(error, rd_kafka_message_errstr(message.get())));
  }
}

void KafkaMember::TakeRecord(int partition, Held& held, KafkaMessage message) {
  const int64_t offset = message->offset;
  if (going_.is_leaving) return;
  switch (held.stage) {
    case Stage::kStarting: return Begin(partition, held, offset, std::move(message));
    case Stage::kLosing: return TellLost(partition, held, static_cast<uint64_t>(offset));
    case Stage::kIdle:
    case Stage::kOver: return;
    case Stage::kReading: break;
  }
  if (held.is_paused) return;  // read again later
  if (held.question == Question::kSought && !held.end) {
    int64_t low = 0, high = 0;
    rd_kafka_get_watermark_offsets(client_.get(), topic_.c_str(), partition, &low, &high);
    if (high > offset) held.end = high;  // as the broker said with this record, or with a later one
  }
  held.next = offset + 1;
  held.records.push_back(std::move(message));
}

void KafkaMember::TakeEnd(int partition, Held& held, int64_t offset) {
  if (going_.is_leaving) return;
  if (held.stage == Stage::kStarting) return Begin(partition, held, offset, nullptr);
  if (held.stage == Stage::kLosing) {
    return TellLost(partition, held, static_cast<uint64_t>(offset));
  }
  if (held.stage != Stage::kReading || held.is_paused) return;
  held.next = std::max(held.next, offset);
  if (held.question == Question::kSought) held.end = offset;
  HandOver(partition, held);
}

// Where librdkafka wanted to fetch is nothing. One that is not `next` comes from before a seek.
void KafkaMember::TakeLostPlace(int partition, Held& held, int64_t offset) {
  held.fetch_stopped = true;
  HandOver(partition, held);
  const bool is_known = held.next >= 0;
  switch (held.stage) {
    case Stage::kIdle:
    case Stage::kOver: return;
    case Stage::kStarting:
    case Stage::kReading:
      if (!is_known || held.next != offset) return Restart(partition, held, held.next);
      held.stage = Stage::kLosing;
      [[fallthrough]];
    case Stage::kLosing: return Restart(partition, held, RD_KAFKA_OFFSET_BEGINNING);
  }
}

// The first answer: the log has the place. `message` is the record at `offset`, or null at the end.
void KafkaMember::Begin(int partition, Held& held, int64_t offset, KafkaMessage message) {
  uint64_t first = static_cast<uint64_t>(offset);
  if (held.committed) {
    int64_t low = 0, high = 0;
    rd_kafka_get_watermark_offsets(client_.get(), topic_.c_str(), partition, &low, &high);
    first = low >= 0 ? static_cast<uint64_t>(low) : held.committed->offset;
  } else {
    held.next = offset;
  }
  const int64_t fetched = held.next;
  Tell(partition, held, first);
  if (held.stage == Stage::kReading && held.next == fetched && !held.is_paused) {
    if (message != nullptr) TakeRecord(partition, held, std::move(message));
  } else if (held.stage == Stage::kReading) {
    Move(partition, held, held.next);
  }
  SettlePause(partition, held);
}

void KafkaMember::Tell(int partition, Held& held, uint64_t first) {
  held.stage = Stage::kIdle;
  held.is_told = true;
  held.is_being_told = true;
  listener_->OnAssigned(partition, held.committed ? &*held.committed : nullptr, first);
  held.is_being_told = false;
}

void KafkaMember::TellLost(int partition, Held& held, uint64_t first) {
  if (!held.is_told) Tell(partition, held, first);
  held.stage = Stage::kOver;
  listener_->OnPositionLost(partition, first);
  SettlePause(partition, held);
}

void KafkaMember::HandOver(int partition, Held& held) {
  if (!held.records.empty()) {
    const std::vector<KafkaMessage> records = std::exchange(held.records, {});
    records_.clear();
    for (const KafkaMessage& each : records) records_.push_back(RecordOf(*each, id_header_));
    listener_->OnRecords(partition, records_);
  }
  if (held.question == Question::kSought && held.end && *held.end <= held.next) {
    held.question = Question::kNone;
    held.end.reset();
    listener_->OnEnd(partition);
  }
}

// --- The fetcher of a partition

void KafkaMember::Move(int partition, Held& held, int64_t offset) {
  held.end.reset();
  if (held.question == Question::kAsked) held.question = Question::kSought;
  if (held.fetch_stopped) return Restart(partition, held, offset);
  held.next = offset;
  const KafkaPartitions one = One(partition, offset);
  const KafkaError ignored(rd_kafka_seek_partitions(client_.get(), one.get(), /*timeout_ms=*/0));
}

void KafkaMember::Restart(int partition, Held& held, int64_t offset) {
  held.next = offset;
  held.fetch_stopped = false;
  Unpause(partition, held);
  const KafkaPartitions one = One(partition, offset);
  const KafkaError unassigned(rd_kafka_incremental_unassign(client_.get(), one.get()));
  const KafkaError assigned(rd_kafka_incremental_assign(client_.get(), one.get()));
}

// A pause would outlast the assignment.
void KafkaMember::Unpause(int partition, Held& held) {
  if (!std::exchange(held.fetch_paused, false)) return;
  const KafkaPartitions one = One(partition, RD_KAFKA_OFFSET_INVALID);
  rd_kafka_resume_partitions(client_.get(), one.get());
}

// A pause drops the records of the partition that librdkafka has fetched: so a seek to `next` ends it.
void KafkaMember::SettlePause(int partition, Held& held) {
  const bool wanted = held.stage == Stage::kIdle || held.stage == Stage::kOver ||
                      (held.stage == Stage::kReading && held.is_paused);
  if (wanted == held.fetch_paused) return;
  const KafkaPartitions one = One(partition, RD_KAFKA_OFFSET_INVALID);
  held.fetch_paused = wanted;
  if (wanted) {
    rd_kafka_pause_partitions(client_.get(), one.get());
    return;
  }
  Move(partition, held, held.next);
  rd_kafka_resume_partitions(client_.get(), one.get());
}

// Once all that was fetched is handed over, so that a seek throws little away. When its queue is full,
// librdkafka's fetcher sleeps for up to a second, and does not see that the queue is empty: a seek wakes it.
void KafkaMember::SeekFromNext() {
  const auto& [limit, taken] = queue_;
  const bool may_sleep = rd_kafka_version() < 0x02020000 &&
                         (taken.messages > limit.messages / 2 || taken.bytes > limit.bytes / 2);
  queue_.taken = {};
  for (auto& [partition, held] : held_) {
    if (held.stage != Stage::kReading || held.is_paused) continue;
    if (may_sleep || held.question == Question::kAsked) Move(partition, held, held.next);
  }
}

void KafkaMember::Read(int partition, uint64_t offset) {
  Held& held = At(partition);
  if (held.stage != Stage::kIdle && held.stage != Stage::kReading) return;
  held.stage = Stage::kReading;
  held.records.clear();
  held.next = static_cast<int64_t>(offset);
  if (held.is_being_told) return;  // Begin() goes on from there
  if (held.fetch_paused) return SettlePause(partition, held);
  Move(partition, held, held.next);
}

void KafkaMember::Pause(int partition, bool paused) {
  Held& held = At(partition);
  held.is_paused = paused;
  if (!held.is_being_told) SettlePause(partition, held);
}

void KafkaMember::AskEnd(int partition) { At(partition).question = Question::kAsked; }

// --- Helpers

KafkaPartitions KafkaMember::One(int partition, int64_t offset) const {
  KafkaPartitions one(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(one.get(), topic_.c_str(), partition)->offset = offset;
  return one;
}
KafkaMember::Held* KafkaMember::Find(int partition) {
  const auto found = held_.find(partition);
  return found == held_.end() ? nullptr : &found->second;
}
KafkaMember::Held& KafkaMember::At(int partition) {
  Held* const held = Find(partition);
  PLEAT_CHECK(held != nullptr);
  return *held;
}

}  // namespace pleat::inline v0_1
