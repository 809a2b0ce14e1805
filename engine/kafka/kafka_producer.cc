#include <array>
#include <memory>
#include <string>
#include <utility>

#include <pleat/kafka_log.h>

#include "engine/base/concat.h"
#include "engine/kafka/kafka_config.h"

namespace pleat::inline v0_1 {

// What librdkafka tells is told inside rd_kafka_poll(), on the caller's thread.
class KafkaProducer::Core {
 public:
  explicit Core(const KafkaOptions& options) : topic_(options.topic), header_(options.id_header) {}

  absl::Status Open(const KafkaOptions& options) {
    const KafkaDelivery delivery = {
        .on_delivered = [](rd_kafka_t*, const rd_kafka_message_t* message,
                           void* self) { static_cast<Core*>(self)->OnDelivered(*message); },
        .on_error =
            [](rd_kafka_t*, int error, const char* reason, void* self) {
              static_cast<Core*>(self)->OnError(static_cast<rd_kafka_resp_err_t>(error), reason);
            },
        .opaque = this};
    absl::StatusOr<KafkaClient> client = OpenKafkaProducer(options, delivery);
    if (!client.ok()) return client.status();
    client_ = *std::move(client);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Send(std::string_view key, std::string_view id,
                                std::string_view payload) {
    std::array<rd_kafka_vu_t, 6> parts{};
    parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    parts[0].u.cstr = topic_.c_str();
    parts[1].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[1].u.i = RD_KAFKA_MSG_F_COPY;
    parts[2].vtype = RD_KAFKA_VTYPE_KEY;
    parts[2].u.mem = {Bytes(key), key.size()};
    parts[3].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[3].u.mem = {Bytes(payload), payload.size()};
    parts[4].vtype = RD_KAFKA_VTYPE_OPAQUE;
    parts[4].u.ptr = reinterpret_cast<void*>(static_cast<uintptr_t>(last_ + 1));  // NOLINT
    parts[5].vtype = RD_KAFKA_VTYPE_HEADER;
    parts[5].u.header = {header_.c_str(), id.data(), static_cast<ssize_t>(id.size())};
    const KafkaError error(
        rd_kafka_produceva(client_.get(), parts.data(), header_.empty() ? 5 : parts.size()));
    if (error == nullptr) return ++last_;
    const std::string text = Concat("Kafka: topic ", topic_, " takes no record of ", payload.size(),
                                    " bytes: ", rd_kafka_error_string(error.get()));
    switch (rd_kafka_error_code(error.get())) {
      case RD_KAFKA_RESP_ERR__QUEUE_FULL: return absl::ResourceExhaustedError(text);
      case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        return absl::InvalidArgumentError(Concat(text, "; message.max.bytes may be raised"));
      default: return absl::FailedPreconditionError(text);
    }
  }

  absl::StatusOr<std::vector<uint64_t>> TakeDelivered() {
    while (rd_kafka_poll(client_.get(), 0) > 0) {
    }
    char reason[512] = "";
    if (rd_kafka_fatal_error(client_.get(), reason, sizeof reason) != 0) {
      refused_.Update(absl::FailedPreconditionError(Concat("Kafka: ", reason)));
    }
    // What was delivered is told first.
    if (!delivered_.empty()) return std::exchange(delivered_, {});
    if (!refused_.ok()) return refused_;
    if (!trouble_.ok()) return std::exchange(trouble_, absl::OkStatus());
    return std::vector<uint64_t>();
  }

 private:
  // librdkafka copies them. An empty key is a key.
  static void* Bytes(std::string_view of) { return const_cast<char*>(of.empty() ? "" : of.data()); }

  void OnDelivered(const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      delivered_.push_back(reinterpret_cast<uintptr_t>(message._private));
      return;
    }
    const absl::Status status = KafkaStatus(
        message.err,
        Concat("topic ", topic_, " has refused a record: ", rd_kafka_err2str(message.err)));
    // There is no trying again: that would not be in order.
    refused_.Update(absl::IsUnavailable(status) ? absl::FailedPreconditionError(status.message())
                                                : status);
  }
  void OnError(rd_kafka_resp_err_t error, const char* reason) {
    if (error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__RESOLVE) return;
    // Also one of authentication may pass: librdkafka tries again.
    trouble_.Update(
        absl::UnavailableError(Concat("Kafka: ", rd_kafka_err2str(error), ": ", reason)));
  }

  const std::string topic_;
  const std::string header_;
  std::vector<uint64_t> delivered_;
  absl::Status refused_;  // for good
  absl::Status trouble_;
  uint64_t last_ = 0;
  KafkaClient client_;  // goes first
};

KafkaProducer::KafkaProducer(std::unique_ptr<Core> core) : core_(std::move(core)) {}
KafkaProducer::~KafkaProducer() = default;

absl::StatusOr<std::unique_ptr<KafkaProducer>> KafkaProducer::Open(const KafkaOptions& options) {
  auto core = std::make_unique<Core>(options);
  if (absl::Status opened = core->Open(options); !opened.ok()) return opened;
  return std::unique_ptr<KafkaProducer>(new KafkaProducer(std::move(core)));
}

absl::StatusOr<uint64_t> KafkaProducer::Send(std::string_view key, std::string_view id,
                                             std::string_view payload) {
  return core_->Send(key, id, payload);
}
absl::StatusOr<std::vector<uint64_t>> KafkaProducer::TakeDelivered() {
  return core_->TakeDelivered();
}

}  // namespace pleat::inline v0_1
