#include "tools/pleat/store/store_copy.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/store_copy.h>

#include "tools/pleat/console.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/store/copy_progress.h"
#include "tools/pleat/summary_text.h"

namespace pleat::cli {
namespace {

std::string CopyText(const StoreCopyReport& report, const std::string& to) {
  std::string out = "copied " + Counted(report.records, "record") + " and " +
                    Counted(report.notes, "note") + " into " +
                    Counted(static_cast<uint64_t>(report.partitions), "partition") + " of " + to +
                    "\n";
  if (report.times_held_back > 0) {
    out += Counted(report.times_held_back, "record") +
           " got the time of the record before: log time does not go back\n";
  }
  for (const std::string& name : report.consumers) out += "consumer " + name + " went along\n";
  for (const std::string& name : report.left_behind)
    out += "consumer " + name + " did not go along\n";
  return out;
}

std::string NamesJson(const std::vector<std::string>& names) {
  std::string out = "[";
  for (const std::string& name : names) out += (out.size() > 1 ? "," : "") + JsonText(name);
  return out + "]";
}

std::string CopyJson(const StoreCopyReport& report) {
  std::string out = "{";
  out += MembersText({{"partitions", static_cast<uint64_t>(report.partitions)},
                      {"records", report.records},
                      {"notes", report.notes},
                      {"times_held_back", report.times_held_back}});
  out += ",\"consumers\":" + NamesJson(report.consumers);
  return out + ",\"left_behind\":" + NamesJson(report.left_behind) + "}\n";
}

absl::Status WithAdvice(const absl::Status& refused) {
  std::string message(refused.message());
  if (absl::IsDataLoss(refused)) message += "; pleat store salvage copies what is whole";
  if (absl::IsFailedPrecondition(refused) && message.ends_with("ignore them")) {
    message += " with --ignore-consumers";
  }
  return absl::Status(refused.code(), message);
}

}  // namespace

int CopyStore(const std::string& from, const std::string& to, const StoreOptions& options) {
  const NamedFile output{.role = to, .path = to};
  const absl::Status apart = CheckNoneInside({.role = "the store", .path = from}, {&output, 1});
  if (!apart.ok()) return Complain("store", apart);
  CopyProgress progress;
  const absl::StatusOr<StoreCopyReport> report =
      CopyEventStore(from, to,
                     {.partitions = options.partitions,
                      .ignore_consumers = options.ignore_consumers,
                      .progress = [&](const auto& so_far) { return progress.Show(so_far); }});
  progress.Clear();
  if (absl::IsCancelled(report.status())) {
    WriteLine("pleat store: " + to + " is not finished: remove it");
    return kExitSignal + StopSignal();
  }
  if (!report.ok()) return Complain("store", WithAdvice(report.status()));
  return Print(options.json ? CopyJson(*report) : CopyText(*report, to));
}

}  // namespace pleat::cli
