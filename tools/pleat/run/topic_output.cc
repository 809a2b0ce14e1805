#include "tools/pleat/run/topic_output.h"

#include <utility>

#include "tools/pleat/run/run_log.h"
#ifdef PLEAT_CLI_KAFKA
#include <map>

#include <pleat/kafka_log.h>

#include "tools/pleat/console.h"
#include "tools/pleat/run/line_handler.h"
#include "tools/pleat/run/topic_options.h"
#endif

namespace pleat::cli {

#ifdef PLEAT_CLI_KAFKA
namespace {

// As many as a run takes at once: more would only wait in memory.
constexpr size_t kUnderWayMax = 65'536;

// A topic, and the messages that it does not have yet.
class Topic {
 public:
  absl::Status Open(const RunOptions& options, const std::string& name) {
    if (name.empty()) return absl::OkStatus();
    absl::StatusOr<KafkaOptions> kafka = TopicOptions(options, name);
    if (!kafka.ok()) return kafka.status();
    absl::StatusOr<std::unique_ptr<KafkaProducer>> producer = KafkaProducer::Open(*kafka);
    if (!producer.ok()) return producer.status();
    producer_ = *std::move(producer);
    return absl::OkStatus();
  }
  bool is_open() const { return producer_ != nullptr; }
  size_t under_way() const { return under_way_.size(); }

  absl::Status Send(const Message& message, const std::string& id, std::string_view payload) {
    const absl::StatusOr<uint64_t> number = producer_->Send(PlainKey(message.key), id, payload);
    if (!number.ok()) return number.status();
    under_way_.emplace(*number, message.id);
    return absl::OkStatus();
  }
  // Adds those that the topic has now.
  absl::Status TakeKept(std::vector<MessageId>& kept) {
    if (under_way_.empty()) return absl::OkStatus();
    const absl::StatusOr<std::vector<uint64_t>> delivered = producer_->TakeDelivered();
    if (!delivered.ok()) return delivered.status();
    for (const uint64_t number : *delivered) {
      kept.push_back(under_way_.at(number));
      under_way_.erase(number);
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<KafkaProducer> producer_;
  std::map<uint64_t, MessageId> under_way_;
};

class TopicOutput final : public MessageOutput {
 public:
  TopicOutput(const RunOptions& options, std::unique_ptr<MessageOutput> rest)
      : source_(options.consumer), rest_(std::move(rest)) {}

  absl::Status Open(const RunOptions& options) {
    absl::Status status = output_.Open(options, options.output_topic);
    if (status.ok()) status = invalid_.Open(options, options.invalid_topic);
    if (status.ok()) status = late_.Open(options, options.late_topic);
    return status;
  }

  absl::Status Write(const Message& message, EngineTime now) override {
    const bool is_line = message.stream != kEmittedStream;
    Topic& topic = is_line ? output_ : message.payload[0] == kInvalidMark ? invalid_ : late_;
    absl::Status status;
    if (topic.is_open()) {
      const std::string id = FormatMessageId(source_, message.id, message.stream);
      std::string_view payload = message.payload;
      status = topic.Send(message, id,
                          is_line ? std::string(payload) : "{" + std::string(payload.substr(1)));
      if (status.ok()) ++sent_;
    } else {
      status = rest_->Write(message, now);
      in_rest_.push_back(message.id);
    }
    written_ = sent_ + rest_->written();
    repeated_ = rest_->repeated();
    return status;
  }
  absl::Status Sync() override { return rest_->Sync(); }
  // Brokers that cannot be reached are waited for. Those that stay are told before a refusal, so that they
  // are acked.
  absl::StatusOr<std::vector<MessageId>> TakeKept(std::span<const Message>) override {
    std::vector<MessageId> kept;
    absl::Status failed;
    for (Topic* const each : {&output_, &invalid_, &late_}) {
      absl::Status status = each->TakeKept(kept);
      if (absl::IsUnavailable(status)) {
        if (std::exchange(unavailable_said_, true)) continue;
        WriteLine("pleat run: " + std::string(status.message()) + "; it is tried again");
      } else {
        failed.Update(status);
      }
    }
    if (!in_rest_.empty()) {
      if (absl::Status synced = rest_->Sync(); !synced.ok()) {
        failed.Update(synced);
      } else {
        for (const MessageId& each : std::exchange(in_rest_, {})) kept.push_back(each);
      }
    }
    if (kept.empty() && !failed.ok()) return failed;
    return kept;
  }
  size_t room() const override {
    const size_t under_way = output_.under_way() + invalid_.under_way() + late_.under_way();
    return kUnderWayMax - std::min(kUnderWayMax, under_way);
  }

 private:
  const std::string source_;
  const std::unique_ptr<MessageOutput> rest_;
  std::vector<MessageId> in_rest_;  // written there, and not synced
  Topic output_;
  Topic invalid_;
  Topic late_;
  uint64_t sent_ = 0;
  bool unavailable_said_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MessageOutput>> OpenTopicOutput(
    const RunOptions& options, std::unique_ptr<MessageOutput> rest) {
  auto output = std::make_unique<TopicOutput>(options, std::move(rest));
  if (absl::Status opened = output->Open(options); !opened.ok()) return opened;
  return std::unique_ptr<MessageOutput>(std::move(output));
}

#else

absl::StatusOr<std::unique_ptr<MessageOutput>> OpenTopicOutput(const RunOptions& options,
                                                               std::unique_ptr<MessageOutput>) {
  return CheckBrokers(options);
}

#endif

}  // namespace pleat::cli
