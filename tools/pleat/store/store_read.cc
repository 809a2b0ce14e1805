#include "tools/pleat/store/store_read.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

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
#include "tools/pleat/store/store_place.h"

namespace pleat::cli {
namespace {

constexpr int kLookAgainMs = 100;
// Of the pages of all partitions together.
constexpr size_t kPagesBytes = size_t{16} << 20;

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

// Where the reader stands in a partition.
class Cursor {
 public:
  Cursor(const EventStoreReader& store, int partition, const StoreOptions& options, size_t bytes)
      : store_(store), partition_(partition), options_(options), bytes_(bytes) {}

  // Goes to the first record that is asked for.
  absl::Status Begin() {
    absl::StatusOr<uint64_t> first = FindPlace(store_, partition_, options_.from, page_);
    if (!first.ok()) return first.status();
    next_ = *first;
    at_ = page_.records().size();
    return Load();
  }
  // Looks for records, if there were none.
  absl::Status Load() {
    while (!has_record() && !at_end_) {
      const absl::StatusOr<ReadOutcome> read = store_.Read(partition_, next_, bytes_, page_);
      if (!read.ok()) return read.status();
      at_ = 0;
      if (*read == ReadOutcome::kPositionLost) return Lost();
      if (*read == ReadOutcome::kEnd) return absl::OkStatus();
      next_ = page_.next();
      Skip();
    }
    return absl::OkStatus();
  }
  absl::Status Advance() {
    ++at_;
    Skip();
    return Load();
  }

  bool has_record() const { return at_ < page_.records().size() && !at_end_; }
  const StoredRecord& record() const { return page_.records()[at_]; }
  int partition() const { return partition_; }

 private:
  absl::Status Lost() const {
    const std::string partition = "partition " + std::to_string(partition_);
    const uint64_t first = store_.First(partition_);
    return absl::OutOfRangeError(
        next_ < first ? partition + " begins at offset " + std::to_string(first) +
                            ": what came before was removed"
                      : partition + " never came to offset " + std::to_string(next_));
  }

  // Over records of other keys, and up to the end that was asked for.
  void Skip() {
    for (; at_ < page_.records().size() && !at_end_; ++at_) {
      at_end_ = (options_.to.offset && record().offset >= *options_.to.offset) ||
                (options_.to.time && record().appended >= *options_.to.time);
      if (at_end_ || !options_.key || record().key == *options_.key) return;
    }
  }

  const EventStoreReader& store_;
  const int partition_;
  const StoreOptions& options_;
  const size_t bytes_;
  StorePage page_;
  size_t at_ = 0;
  uint64_t next_ = 0;
  bool at_end_ = false;
};

struct IsLater {
  bool operator()(const Cursor* a, const Cursor* b) const {
    if (a->record().appended != b->record().appended) {
      return a->record().appended > b->record().appended;
    }
    return a->partition() > b->partition();
  }
};

class StoreRead {
 public:
  StoreRead(EventStoreReader& store, const StoreOptions& options) : store_(store) {
    std::vector<int> partitions;
    if (options.partition) {
      partitions.push_back(*options.partition);
    } else if (options.key) {
      partitions.push_back(PartitionOf(*options.key, store.partitions()));
    } else {
      for (int p = 0; p < store.partitions(); ++p) partitions.push_back(p);
    }
    for (const int p : partitions) {
      cursors_.push_back(
          std::make_unique<Cursor>(store, p, options, kPagesBytes / partitions.size()));
    }
  }

  absl::Status Run(OutputFile& out, bool follow) {
    for (const std::unique_ptr<Cursor>& cursor : cursors_) {
      if (absl::Status begun = cursor->Begin(); !begun.ok()) return begun;
    }
    for (;;) {
      absl::Status status = WriteAll(out);
      if (status.ok()) status = out.Flush();
      if (!status.ok() || !follow || Interrupted()) return status;
      pollfd signal{InterruptFd(), POLLIN, 0};
      poll(&signal, 1, kLookAgainMs);
      if (Interrupted()) return absl::OkStatus();
      status = store_.Refresh();
      for (const std::unique_ptr<Cursor>& cursor : cursors_) status.Update(cursor->Load());
      if (!status.ok()) return status;
    }
  }

 private:
  absl::Status WriteAll(OutputFile& out) {
    std::priority_queue<Cursor*, std::vector<Cursor*>, IsLater> next;
    for (const std::unique_ptr<Cursor>& cursor : cursors_) {
      if (cursor->has_record()) next.push(cursor.get());
    }
    while (!next.empty() && !Interrupted()) {
      Cursor* const cursor = next.top();
      next.pop();
      absl::Status status = out.Append(LineOf(cursor->partition(), cursor->record()));
      if (status.ok()) status = cursor->Advance();
      if (!status.ok()) return status;
      if (cursor->has_record()) next.push(cursor);
    }
    return absl::OkStatus();
  }

  EventStoreReader& store_;
  std::vector<std::unique_ptr<Cursor>> cursors_;
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
  absl::Status status = StoreRead(**store, options).Run(*out, options.follow);
  if (status.ok()) status = out->Commit();
  if (absl::IsAborted(status)) return kExitDone;  // the reader of standard output has gone
  if (!status.ok()) return Complain("store", status);
  return Interrupted() ? kExitSignal + StopSignal() : kExitDone;
}

}  // namespace pleat::cli
