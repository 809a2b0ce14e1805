#include "tools/pleat/store/store_read.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/escaping.h>
#include <pleat/batch.h>
#include <pleat/event_store_reader.h>
#include <pleat/json_lines.h>

#include "tools/pleat/console.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/output_file.h"

namespace pleat::cli {
namespace {

constexpr int kStoreLookMs = 100;

std::string Base64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

// A payload that is a JSON object gets one more member; any other one is a member itself.
std::string BeginningOf(std::string_view payload) {
  const size_t first = payload.find_first_not_of(" \t\r\n");
  const size_t last = payload.find_last_not_of(" \t\r\n");
  const bool is_object = first != payload.npos && payload[first] == '{' && payload[last] == '}';
  if (!is_object) {
    std::string line = IsUtf8(payload) ? "{\"payload\":" : "{\"payload_base64\":";
    return line += JsonText(IsUtf8(payload) ? std::string(payload) : Base64(payload));
  }
  std::string line(payload.substr(first, last - first));
  // Between members they are blanks, and inside of texts JSON has none.
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\r', ' ');
  return line;
}

std::string LineOf(int partition, const StoredRecord& record) {
  std::string line = BeginningOf(record.payload);
  if (line.find_first_not_of(" \t", 1) != line.npos) line += ',';
  line += "\"_store\":{\"partition\":" + std::to_string(partition) +
          ",\"offset\":" + std::to_string(record.offset) + ",\"key\":" + JsonText(record.key);
  if (!record.id.empty()) line += ",\"id\":" + JsonText(record.id);
  return line + ",\"stamp\":\"" + FormatTimestamp(record.stamp) + "\",\"appended\":\"" +
         FormatTimestamp(record.appended) + "\"}}\n";
}

PartitionRange PartitionsOf(const EventStoreReader& store, const StoreOptions& options) {
  if (options.partition) return PartitionRange::One(*options.partition);
  if (options.key) return PartitionRange::One(PartitionOf(*options.key, store.partitions()));
  return {};
}

// `--to` leaves out the instant that it names.
EngineTime LastOf(const StoreOptions& options) {
  return options.to.time ? *options.to.time - Duration{1} : kEndOfTime;
}

class StoreRead {
 public:
  StoreRead(EventStoreReader& store, const StoreOptions& options)
      : store_(store),
        options_(options),
        partitions_(PartitionsOf(store, options)),
        records_(store, LastOf(options), partitions_) {}

  absl::Status Run(OutputFile& out) {
    if (options_.from.time) {
      if (absl::Status found = records_.StartAt(*options_.from.time); !found.ok()) return found;
    }
    if (options_.from.offset) records_.StartAt(partitions_.begin, *options_.from.offset);
    for (;;) {
      absl::Status status = WriteAll(out);
      if (status.ok()) status = out.Flush();
      if (!status.ok() || !options_.follow || Interrupted()) return status;
      pollfd signal{InterruptFd(), POLLIN, 0};
      poll(&signal, 1, kStoreLookMs);
      if (Interrupted()) return absl::OkStatus();
      if (absl::Status refreshed = store_.Refresh(); !refreshed.ok()) return refreshed;
    }
  }

 private:
  absl::Status WriteAll(OutputFile& out) {
    while (!Interrupted()) {
      const absl::StatusOr<ReadOutcome> next = records_.Next();
      if (!next.ok()) return next.status();
      if (*next == ReadOutcome::kPositionLost) return Lost();
      if (*next == ReadOutcome::kEnd) break;
      const StoredRecord& record = records_.record();
      if (options_.to.offset && record.offset >= *options_.to.offset) break;
      if (options_.key && record.key != *options_.key) continue;
      absl::Status written = out.Append(LineOf(records_.partition(), record));
      if (!written.ok()) return written;
    }
    return absl::OkStatus();
  }

  absl::Status Lost() const {
    const std::string partition = "partition " + std::to_string(records_.partition());
    const uint64_t next = records_.position(records_.partition()).offset;
    const uint64_t first = store_.First(records_.partition());
    return absl::OutOfRangeError(next < first
                                     ? partition + " begins at offset " + std::to_string(first) +
                                           ": what came before was removed"
                                     : partition + " never came to offset " + std::to_string(next));
  }

  EventStoreReader& store_;
  const StoreOptions& options_;
  const PartitionRange partitions_;
  StoreReplay records_;
};

}  // namespace

int ReadStore(const std::string& directory, const StoreOptions& options) {
  const absl::StatusOr<std::unique_ptr<EventStoreReader>> store = EventStoreReader::Open(directory);
  if (!store.ok()) return Complain("store", store.status());
  if (options.partition && *options.partition >= (*store)->partitions()) {
    return Complain("store",
                    WrongFlag("partition", "the store has partitions 0 to " +
                                               std::to_string((*store)->partitions() - 1)));
  }
  std::unique_ptr<OutputFile> out;
  const WantedOutput wanted{NamedOutput("--output", options.output), OutputFile::Mode::kStream,
                            out};
  if (absl::Status opened = OpenWanted({}, {&wanted, 1}); !opened.ok()) {
    return Complain("store", opened);
  }
  absl::Status status = StoreRead(**store, options).Run(*out);
  if (status.ok()) status = out->Commit();
  if (absl::IsAborted(status)) return kExitDone;  // the reader of standard output has gone
  if (!status.ok()) return Complain("store", status);
  return Interrupted() ? kExitSignal + StopSignal() : kExitDone;
}

}  // namespace pleat::cli
