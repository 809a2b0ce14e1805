#include "tools/pleat/store/store_consumers.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store_reader.h>
#include <pleat/json_lines.h>
#include <pleat/store_log.h>

#include "tools/pleat/clock.h"
#include "tools/pleat/console.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

// What the list says of one.
struct ConsumerReport {
  std::string name;
  std::vector<StoreCheckpoint> checkpoints;
  uint64_t unread = 0;     // records that are durable and there
  bool is_behind = false;  // records that it has not read were removed
};

absl::StatusOr<std::vector<ConsumerReport>> ReportAll(const std::string& directory,
                                                      const EventStoreReader& store) {
  const absl::StatusOr<std::vector<std::string>> names = StoreConsumer::Names(directory);
  if (!names.ok()) return names.status();
  std::vector<ConsumerReport> reports;
  for (const std::string& name : *names) {
    absl::StatusOr<std::vector<StoreCheckpoint>> checkpoints = StoreConsumer::Look(directory, name);
    if (absl::IsNotFound(checkpoints.status())) continue;  // removed just now
    if (!checkpoints.ok()) return checkpoints.status();
    ConsumerReport report{.name = name, .checkpoints = *std::move(checkpoints)};
    for (const StoreCheckpoint& each : report.checkpoints) {
      const uint64_t first = store.First(each.partition);
      const uint64_t from = std::max(each.position.offset, first);
      report.unread += std::max(store.Durable(each.partition), from) - from;
      report.is_behind |= each.position.offset < first;
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string ListText(const std::vector<ConsumerReport>& reports) {
  if (reports.empty()) return "no consumers\n";
  std::vector<SummaryRow> rows;
  rows.reserve(reports.size());
  for (const ConsumerReport& each : reports) {
    rows.push_back(
        {each.name, Grouped(each.unread),
         each.is_behind ? "unread; others that it had not read were removed" : "unread"});
  }
  return SummaryText(rows);
}

std::string ListJson(const std::vector<ConsumerReport>& reports) {
  std::string out;
  for (const ConsumerReport& each : reports) {
    out += "{\"name\":" + JsonText(each.name) + "," + MembersText({{"unread", each.unread}}) +
           ",\"removed_unread\":" + (each.is_behind ? "true" : "false") + ",\"next\":[";
    for (const StoreCheckpoint& checkpoint : each.checkpoints) {
      out += (&checkpoint == each.checkpoints.data() ? "" : ",") +
             std::to_string(checkpoint.position.offset);
    }
    out += "]}\n";
  }
  return out;
}

// A name that is mistyped makes no consumer, which would hold back `trim`.
absl::Status RequireConsumer(const std::string& directory, const std::string& name) {
  absl::Status found = StoreConsumer::Look(directory, name).status();
  if (!absl::IsNotFound(found)) return found;
  const absl::StatusOr<std::vector<std::string>> names = StoreConsumer::Names(directory);
  if (!names.ok()) return names.status();
  const std::string nearest = NearestName(name, {names->begin(), names->end()});
  if (nearest.empty()) return found;
  return absl::NotFoundError(std::string(found.message()) + "; did you mean " + nearest + "?");
}

// Whether the consumer has snapshots of the partition's lane, or what else a lane keeps.
bool HasLane(const std::string& directory, const std::string& name, int partition) {
  std::error_code error;
  const std::string begin = "lane-" + std::to_string(partition) + "-";
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(directory) / "consumers" / name, error)) {
    if (entry.path().filename().string().starts_with(begin)) return true;
  }
  return false;
}

// Where `options.from` is in each partition, or in the one that is named. The metadata stays, but for
// that of a lane, which would go on where it was.
absl::Status Move(const std::string& directory, const EventStoreReader& store,
                  const StoreOptions& options) {
  if (absl::Status there = RequireConsumer(directory, options.move); !there.ok()) return there;
  const absl::StatusOr<std::unique_ptr<StoreConsumer>> consumer =
      StoreConsumer::Open(directory, options.move);
  if (!consumer.ok()) return consumer.status();
  StoreReplay from(store, kEndOfTime,
                   options.partition ? PartitionRange::One(*options.partition) : PartitionRange());
  if (options.from.time) {
    if (absl::Status found = from.StartAt(*options.from.time); !found.ok()) return found;
  }
  std::vector<StoreCheckpoint> checkpoints;
  for (int p = 0; p < store.partitions(); ++p) {
    if (options.partition && *options.partition != p) continue;
    const uint64_t offset = options.from.offset.value_or(from.position(p).offset);
    if (offset > store.Durable(p)) {
      return absl::OutOfRangeError("partition " + std::to_string(p) + " never came to offset " +
                                   std::to_string(offset));
    }
    checkpoints.push_back((*consumer)->checkpoint(p));
    checkpoints.back().position = offset;
    std::string& metadata = checkpoints.back().metadata;
    const bool is_lane = metadata.starts_with(kLaneMetadata) ||
                         (metadata.empty() && HasLane(directory, options.move, p));
    if (is_lane) metadata = kLaneMetadata;
  }
  return (*consumer)->Commit(checkpoints);
}

}  // namespace

int ShowConsumers(const std::string& directory, const StoreOptions& options) {
  if (!options.remove.empty()) {
    absl::Status removed = StoreConsumer::Remove(directory, options.remove);
    if (absl::IsNotFound(removed)) removed = RequireConsumer(directory, options.remove);
    if (!removed.ok()) return Complain("store", removed);
    return Print("removed " + options.remove + "\n");
  }
  const absl::StatusOr<std::unique_ptr<EventStoreReader>> store = EventStoreReader::Open(directory);
  if (!store.ok()) return Complain("store", store.status());
  if (options.partition && *options.partition >= (*store)->partitions()) {
    return Complain("store",
                    WrongFlag("partition", "the store has partitions 0 to " +
                                               std::to_string((*store)->partitions() - 1)));
  }
  if (!options.move.empty()) {
    const absl::Status moved = Move(directory, **store, options);
    if (!moved.ok()) return Complain("store", moved);
  }
  absl::StatusOr<std::vector<ConsumerReport>> reports = ReportAll(directory, **store);
  if (!reports.ok()) return Complain("store", reports.status());
  if (!options.move.empty()) {
    std::erase_if(*reports, [&](const ConsumerReport& each) { return each.name != options.move; });
  }
  return Print(options.json ? ListJson(*reports) : ListText(*reports));
}

int TrimStore(const std::string& directory, const StoreOptions& options) {
  // A directory that is mistyped is not made.
  absl::Status there = EventStoreReader::Open(directory).status();
  if (!there.ok()) return Complain("store", there);
  const absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open(directory);
  if (!store.ok()) return Complain("store", store.status());
  RetentionOptions keep{.unread = !options.ignore_consumers};
  if (options.keep > Duration{0}) {
    keep.appended_since = SaturatingAdd(MonotoneClock().Now(), -options.keep);
  }
  if (options.keep_bytes > 0) keep.bytes_max = options.keep_bytes;
  const absl::StatusOr<TrimAnswer> trimmed = (*store)->Trim(keep);
  if (!trimmed.ok()) return Complain("store", trimmed.status());
  for (const std::string& name : trimmed->lost_by) {
    WriteLine("pleat store: consumer " + name + " had not read all that was removed");
  }
  if (absl::Status closed = (*store)->Close(); !closed.ok()) return Complain("store", closed);
  const uint64_t left = (*store)->state().bytes;
  if (options.json) {
    return Print(
        "{" +
        MembersText({{"files", trimmed->files}, {"bytes", trimmed->bytes}, {"bytes_left", left}}) +
        "}\n");
  }
  return Print("removed " + Counted(trimmed->files, "file") + " of " + Grouped(trimmed->bytes) +
               " bytes; " + Grouped(left) + " bytes are left\n");
}

}  // namespace pleat::cli
