// Reads a topic, if there is a broker.
#include <memory>

#include <pleat/kafka_log.h>
#include <pleat/processor.h>

struct Echo : pleat::Handler {
  pleat::Handled Handle(const pleat::LogRecord& record, pleat::Lane& lane) override {
    lane.Emit(record.key, record.payload);
    return pleat::Handled::Done();
  }
};

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  auto log = pleat::KafkaLog::Open(
      {.brokers = argv[1], .topic = argv[2], .group = "echo", .snapshots = argv[3]});
  if (!log.ok()) return 1;
  pleat::Processor processor(**log, [](pleat::Lane&) { return std::make_unique<Echo>(); });
  return processor.Run(pleat::FromUnix(std::chrono::seconds(0))).ok() ? 0 : 1;
}
