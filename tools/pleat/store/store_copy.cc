#include "tools/pleat/store/store_copy.h"

#include <string>

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

template <class List, class Write>
std::string ArrayJson(const List& list, const Write& write) {
  std::string out = "[";
  for (const auto& each : list) {
    if (out.size() > 1) out += ',';
    out += write(each);
  }
  return out + "]";
}

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

std::string CopyJson(const StoreCopyReport& report) {
  std::string out = "{";
  out += MembersText({{"partitions", static_cast<uint64_t>(report.partitions)},
                      {"records", report.records},
                      {"notes", report.notes},
                      {"times_held_back", report.times_held_back}});
  const auto name = [](const std::string& each) { return JsonText(each); };
  out += ",\"consumers\":" + ArrayJson(report.consumers, name);
  return out + ",\"left_behind\":" + ArrayJson(report.left_behind, name) + "}\n";
}

absl::Status WithAdvice(const absl::Status& refused) {
  std::string message(refused.message());
  if (absl::IsDataLoss(refused)) message += "; pleat store salvage copies what is whole";
  if (absl::IsFailedPrecondition(refused) && message.ends_with("ignore them")) {
    message += " with --ignore-consumers";
  }
  return absl::Status(refused.code(), message);
}

// Lost records by partition: "partition 3: 12 to 16, 40".
std::string LostText(const StoreSalvageReport& report) {
  std::string out;
  uint64_t records = 0;
  int partition = -1;
  for (const LostRecords& lost : report.lost) {
    records += lost.end - lost.begin;
    out += lost.partition == partition ? ", "
                                       : (out.empty() ? "  partition " : "\n  partition ") +
                                             std::to_string(lost.partition) + ": ";
    partition = lost.partition;
    out += std::to_string(lost.begin);
    if (lost.end - lost.begin > 1) out += " to " + std::to_string(lost.end - 1);
  }
  if (records == 0) return {};
  return "lost " + Counted(records, "record") + ", at these offsets of the damaged store:\n" + out +
         "\nBehind them the offsets in the copy are smaller by as many.\n";
}

std::string SalvageText(const StoreSalvageReport& report, const std::string& to) {
  std::string out;
  for (const UnusableBytes& each : report.damage) {
    out += each.file + ": at byte " + std::to_string(each.offset) + ": " + each.why;
    if (each.bytes > 0) out += " (" + Counted(each.bytes, "byte") + ")";
    out += "\n";
  }
  for (const std::string& name : report.lost_files) {
    out += name + ": blocks behind a hole, which salvage does not read either\n";
  }
  if (report.partitions == 0) {
    return out +
           "nothing could be saved: MANIFEST and the heads of all segments are damaged. Put "
           "MANIFEST back from\na backup, or begin anew with another directory\n";
  }
  out += "saved " + Counted(report.records, "record") + " and " + Counted(report.notes, "note") +
         " in " + Counted(static_cast<uint64_t>(report.partitions), "partition") + " to " + to +
         "\n" + LostText(report);
  if (report.notes_lost > 0) {
    out += "lost " + Counted(report.notes_lost, "note") +
           ": a value may be an older one, and who goes on by it appends records again\n";
  }
  if (report.begin_is_unknown) out += "there may have been records before those that were saved\n";
  if (report.end_is_unknown) out += "there may have been records behind those that were saved\n";
  for (const std::string& name : report.left_behind) {
    out += "consumer " + name + " did not go along\n";
  }
  return out;
}

std::string SalvageJson(const StoreSalvageReport& report) {
  std::string out = "{";
  out += MembersText({{"partitions", static_cast<uint64_t>(report.partitions)},
                      {"records", report.records},
                      {"notes", report.notes}});
  out += ",\"lost\":" + ArrayJson(report.lost, [](const LostRecords& each) {
           std::string lost = "{";
           lost += MembersText({{"partition", static_cast<uint64_t>(each.partition)},
                                {"begin", each.begin},
                                {"end", each.end}});
           return lost + "}";
         });
  out += "," + MembersText({{"notes_lost", report.notes_lost}});
  out += std::string(",\"begin_unknown\":") + (report.begin_is_unknown ? "true" : "false");
  out += std::string(",\"end_unknown\":") + (report.end_is_unknown ? "true" : "false");
  out += ",\"damage\":" + ArrayJson(report.damage, [](const UnusableBytes& each) {
           return "{\"file\":" + JsonText(each.file) + "," +
                  MembersText({{"offset", each.offset}, {"bytes", each.bytes}}) +
                  ",\"why\":" + JsonText(each.why) + "}";
         });
  const auto name = [](const std::string& each) { return JsonText(each); };
  out += ",\"lost_files\":" + ArrayJson(report.lost_files, name);
  return out + ",\"left_behind\":" + ArrayJson(report.left_behind, name) + "}\n";
}

absl::Status CheckApart(const std::string& from, const std::string& to) {
  const NamedFile output{.role = to, .path = to};
  return CheckNoneInside({.role = "the store", .path = from}, {&output, 1});
}

int Stopped(const std::string& to) {
  WriteLine("pleat store: " + to + " is not finished: remove it");
  return kExitSignal + StopSignal();
}

}  // namespace

int CopyStore(const std::string& from, const std::string& to, const StoreOptions& options) {
  if (absl::Status apart = CheckApart(from, to); !apart.ok()) return Complain("store", apart);
  CopyProgress progress;
  const absl::StatusOr<StoreCopyReport> report =
      CopyEventStore(from, to,
                     {.partitions = options.partitions,
                      .ignore_consumers = options.ignore_consumers,
                      .progress = [&](const auto& so_far) { return progress.Show(so_far); }});
  progress.Clear();
  if (absl::IsCancelled(report.status())) return Stopped(to);
  if (!report.ok()) return Complain("store", WithAdvice(report.status()));
  return Print(options.json ? CopyJson(*report) : CopyText(*report, to));
}

int SalvageStore(const std::string& from, const std::string& to, const StoreOptions& options) {
  if (absl::Status apart = CheckApart(from, to); !apart.ok()) return Complain("store", apart);
  CopyProgress progress;
  const absl::StatusOr<StoreSalvageReport> report = SalvageEventStore(
      from, to, /*storage=*/nullptr, [&](const auto& so_far) { return progress.Show(so_far); });
  progress.Clear();
  if (absl::IsCancelled(report.status())) return Stopped(to);
  if (!report.ok()) return Complain("store", report.status());
  const int printed = Print(options.json ? SalvageJson(*report) : SalvageText(*report, to));
  return printed == kExitDone && !report->whole() ? kExitFailed : printed;
}

}  // namespace pleat::cli
