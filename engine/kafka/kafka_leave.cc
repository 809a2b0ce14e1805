// How a member leaves its group, and how its client ends.
//
// librdkafka waits for ever for an answer to an assignment that reaches a client which is about to close
// (its issue 4527, mended in 2.4.0), and ends the process where a client goes that has joined a group
// and was not told yet who has which partitions (its issue 4312, mended in 2.3.0). So a client closes
// when neither can be: a member that leaves gives its subscription up first, which librdkafka puts off
// while partitions are on the way; and one that goes at once raises a fatal error, from which on
// librdkafka drops assignments by itself. With newer versions neither does harm.
#include <memory>
#include <string_view>
#include <utility>

#include "engine/kafka/kafka_member.h"

namespace pleat::inline v0_1 {
namespace {

// How long a client that goes is waited for, at most.
constexpr int kPatienceMs = 10'000;
constexpr int kRoundMs = 10;

}  // namespace

// Whether the group has taken this member, and librdkafka does not know yet for which partitions.
bool KafkaMember::HasHalfJoined() const {
  const char* const protocol = rd_kafka_rebalance_protocol(client_.get());
  return !was_assigned_ && protocol != nullptr && std::string_view(protocol) != "NONE";
}

bool KafkaMember::HasFailed() const { return rd_kafka_fatal_error(client_.get(), nullptr, 0) != 0; }

// Empty: the coordinator has given none, or this member has given it back.
std::string KafkaMember::MemberId() const {
  char* const id = rd_kafka_memberid(client_.get());
  if (id == nullptr) return {};
  std::string copy = id;
  rd_kafka_mem_free(client_.get(), id);
  return copy;
}

// Partitions that come while this member leaves: they are taken, as librdkafka takes only such away
// again, and nothing is done with them.
void KafkaMember::AssignUnread(const rd_kafka_topic_partition_list_t* partitions) {
  going_.is_stranded |= HasFailed();
  const KafkaPartitions unread(rd_kafka_topic_partition_list_copy(partitions));
  for (int i = 0; i < unread->cnt; ++i) unread->elems[i].offset = RD_KAFKA_OFFSET_END;
  const KafkaError ignored(rd_kafka_incremental_assign(client_.get(), unread.get()));
}

void KafkaMember::AssignStartingUnread() {
  if (starting_.empty()) return;
  const KafkaPartitions partitions(
      rd_kafka_topic_partition_list_new(static_cast<int>(starting_.size())));
  for (const int each : std::exchange(starting_, {})) {
    if (held_.contains(each)) continue;  // it was to be taken over anew
    rd_kafka_topic_partition_list_add(partitions.get(), topic_.c_str(), each);
  }
  question_.reset();
  AssignUnread(partitions.get());
}

// A member with an instance id does not tell the group: it has its partitions back when it comes back.
void KafkaMember::GoOnLeaving() {
  if (going_.is_left) return;
  if (going_.closing != nullptr) {
    going_.is_left = rd_kafka_consumer_closed(client_.get()) != 0;
    return;
  }
  AssignStartingUnread();
  if (is_static_) {
    RevokeAll();
    going_.is_left = commits_.sent.empty();
    return;
  }
  // Half a join comes to its end only while there is a subscription.
  const bool has_half_joined = HasHalfJoined();
  if (!going_.is_unsubscribed && !has_half_joined) {
    rd_kafka_unsubscribe(client_.get());
    going_.is_unsubscribed = true;
  } else if (going_.is_unsubscribed && has_half_joined && MemberId().empty()) {
    Subscribe();
    going_.is_unsubscribed = false;
  } else if (going_.is_unsubscribed && held_.empty() && MemberId().empty()) {
    going_.closing.reset(rd_kafka_queue_new(client_.get()));
    const KafkaError ignored(rd_kafka_consumer_close_queue(client_.get(), going_.closing.get()));
  }
}

// Hears of assignments that have come, and stops those that would bring records for ever.
void KafkaMember::DropMessages() {
  rd_kafka_topic_partition_list_t* assigned = nullptr;
  if (rd_kafka_assignment(client_.get(), &assigned) == 0) {
    const KafkaPartitions owned(assigned);
    rd_kafka_pause_partitions(client_.get(), owned.get());
  }
  while (const KafkaMessage ignored{rd_kafka_consumer_poll(client_.get(), 0)}) {
  }
}

// Whether the client can be destroyed in a moment, and without harm.
bool KafkaMember::ComesToRest() {
  if (going_.closing != nullptr) return true;
  for (int left = kPatienceMs / kRoundMs; left > 0; --left) {
    if (!HasHalfJoined() && commits_.sent.empty()) break;
    const KafkaMessage ignored(rd_kafka_consumer_poll(client_.get(), kRoundMs));
    TakeAnswers();
  }
  if (HasHalfJoined() || !commits_.sent.empty()) return false;
  DropMessages();
  // From here on no assignment waits for an answer but one that has come just before.
  rd_kafka_test_fatal_error(client_.get(), RD_KAFKA_RESP_ERR__FATAL, "the log is closed");
  rd_kafka_assign(client_.get(), nullptr);
  if (!was_assigned_) rd_kafka_unsubscribe(client_.get());  // so a join does not get half way
  DropMessages();
  return !going_.is_stranded && !HasHalfJoined();
}

KafkaMember::~KafkaMember() {
  if (client_ == nullptr) return;  // the options were refused
  Leave();
  AssignStartingUnread();
  held_.clear();
  if (ComesToRest()) return;
  [[maybe_unused]] rd_kafka_t* const stays = client_.release();  // and nobody polls it
}

}  // namespace pleat::inline v0_1
