#include "tools/pleat/state/state_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/json_lines.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/run_note.h"

namespace pleat::cli {
namespace {

std::string Number(uint64_t n) { return std::to_string(n); }

std::string_view StateOf(const StateDirectoryReport& report, Owner owner) {
  if (!report.damage.empty()) return "damaged";
  if (owner) return "locked";
  return report.is_new() ? "new" : "ok";
}

// What collections of a kind hold. Kinds of a program's own hold "items".
std::string_view EntryOf(std::string_view kind) {
  if (kind == "folder") return "open group";
  if (kind == "live_set") return "member";
  if (kind == "presence") return "user";
  return kind == "rollup" ? "counter" : "item";
}

uint64_t AllEntries(const SnapshotInfo& info) {
  uint64_t all = 0;
  for (const SnapshotInfo::Collection& each : info.collections) all += each.entries;
  return all;
}

// Null if the engine has had no time.
std::string TimeOf(const SnapshotInfo& info) {
  return info.now == kBeginningOfTime ? "" : FormatTimestamp(info.now);
}

// All inside of one JSON array, with commas.
template <class List, class Write>
std::string Array(const List& list, const Write& write) {
  std::string out = "[";
  for (const auto& each : list) {
    if (out.size() > 1) out += ',';
    out += write(each);
  }
  return out + "]";
}

std::string DamageJson(const std::vector<Damage>& damage) {
  return Array(damage, [](const Damage& each) {
    return "{\"file\":" + JsonText(each.file) + ",\"offset\":" + Number(each.offset) +
           ",\"why\":" + JsonText(each.why) + "}";
  });
}

std::string DamageText(const std::vector<Damage>& damage) {
  std::string out;
  for (const Damage& each : damage) {
    out += each.file + ": at byte " + Number(each.offset) + ": " + each.why + "\n";
  }
  return out;
}

std::string OwnerJson(Owner owner) {
  return owner ? ",\"process\":" + std::to_string(*owner) : std::string();
}

// The inputs that a run with --state has read. None for a state directory of another program.
std::vector<RunNote::Input> InputsOf(const SnapshotInfo& info) {
  absl::StatusOr<RunNote> note = RunNote::Parse(info.note);
  if (!note.ok()) return {};
  std::erase_if(note->inputs, [](const RunNote::Input& input) { return input.is_copy; });
  return std::move(note->inputs);
}

// The marks of sources, by collection, and behind them the inputs of a run.
std::string SourcesJson(const SnapshotInfo& info) {
  std::string out;
  for (const SnapshotInfo::Collection& collection : info.collections) {
    for (const SnapshotInfo::Source& each : collection.sources) {
      if (!out.empty()) out += ',';
      // A number of a source may be a hash of 64 bits, more than a JSON number holds for most.
      out += "{\"collection\":" + JsonText(collection.name) + ",\"source\":\"" +
             Number(each.source) + "\",\"offset\":" + Number(each.lowest) +
             ",\"highest\":" + Number(each.highest) + "}";
    }
  }
  for (const RunNote::Input& input : InputsOf(info)) {
    if (!out.empty()) out += ',';
    out += "{\"file\":" + JsonText(input.name) + ",\"lines\":" + Number(input.lines) +
           ",\"bytes\":" + Number(input.bytes) +
           ",\"whole\":" + (input.read_whole ? "true" : "false") + "}";
  }
  return "[" + out + "]";
}

}  // namespace

std::string ShowText(const StateDirectoryReport& report, Owner owner) {
  std::string out = "state        " + std::string(StateOf(report, owner));
  if (owner) out += " (in use by process " + std::to_string(*owner) + ")";
  out += '\n';
  out += DamageText(report.damage);
  if (!report.snapshot) return out;
  const SnapshotInfo& info = *report.snapshot;
  const std::string time = TimeOf(info);
  out += "time         " + (time.empty() ? std::string("none yet") : time) + "\n";
  out += "partitions   " + std::to_string(info.partitions) + "\n";
  out += "bytes        " + Number(report.bytes) + " (" + report.file + ")\n";
  for (const SnapshotInfo::Collection& each : info.collections) {
    out += "collection   " + each.name + ": a " + each.kind + " with " +
           Counted(each.entries, EntryOf(each.kind)) + "\n";
    for (const SnapshotInfo::Source& source : each.sources) {
      out += "source       " + Number(source.source) + ": go on at " + Number(source.lowest);
      if (source.highest != source.lowest) {
        out += " (some partitions have taken up to " + Number(source.highest) + ")";
      }
      out += '\n';
    }
  }
  for (const RunNote::Input& input : InputsOf(info)) {
    out += "source       " + Printable(input.name) + ": " + Counted(input.lines, "line") +
           (input.read_whole ? ", read to its end\n" : ", to be read on\n");
  }
  out += "groups       " + Number(AllEntries(info)) + " in all\n";
  if (info.lost.empty()) return out;
  out += "lost         partitions";
  for (const int each : info.lost) out += " " + std::to_string(each);
  return out + ": salvage has left them out, with all that they had counted\n";
}

std::string ShowJson(const StateDirectoryReport& report, Owner owner) {
  std::string out = "{\"state\":\"" + std::string(StateOf(report, owner)) + "\"" + OwnerJson(owner);
  const SnapshotInfo info = report.snapshot.value_or(SnapshotInfo{});
  const std::string time = report.snapshot ? TimeOf(info) : "";
  out += ",\"time\":" + (time.empty() ? std::string("null") : "\"" + time + "\"");
  out += ",\"partitions\":" + std::to_string(info.partitions);
  out += ",\"collections\":" + Array(info.collections, [](const SnapshotInfo::Collection& each) {
           return "{\"name\":" + JsonText(each.name) + ",\"kind\":" + JsonText(each.kind) +
                  ",\"groups\":" + Number(each.entries) + "}";
         });
  out += ",\"groups\":" + Number(AllEntries(info)) + ",\"bytes\":" + Number(report.bytes);
  out += ",\"sources\":" + SourcesJson(info);
  if (!info.lost.empty()) {
    out += ",\"lost\":" + Array(info.lost, [](int each) { return std::to_string(each); });
  }
  return out + "}\n";
}

std::string CheckText(const StateDirectoryReport& report, Owner owner) {
  if (!report.damage.empty()) return DamageText(report.damage);
  std::string out = report.is_new() ? "new: no snapshot yet" : "ok: every block is whole";
  if (owner) out += "; in use by process " + std::to_string(*owner);
  return out + "\n";
}

std::string CheckJson(const StateDirectoryReport& report, Owner owner) {
  return "{\"state\":\"" + std::string(StateOf(report, owner)) + "\"" + OwnerJson(owner) +
         ",\"snapshots\":" + Number(report.snapshots) + ",\"damage\":" + DamageJson(report.damage) +
         "}\n";
}

std::string SalvageText(const SalvageReport& report, std::string_view out_directory) {
  std::string out = DamageText(report.damage);
  if (report.file.empty()) {
    return out +
           "nothing could be saved: no snapshot has a whole beginning. Put one back from a "
           "backup,\n"
           "or begin anew with another directory\n";
  }
  const auto all = static_cast<size_t>(report.snapshot.partitions);
  out += "saved " + Number(all - report.lost.size()) + " of " + Number(all) + " partitions of " +
         report.file + " to " + std::string(out_directory) + "\n";
  if (report.manifest_rebuilt) out += "MANIFEST was made anew: numbers of emissions skip ahead\n";
  if (report.waiting_lost) {
    out += "lost: all events and lines that waited for their turn (--reorder)\n";
  }
  if (report.lost.empty()) return out;
  out += "lost partitions:";
  for (const int each : report.lost) out += " " + std::to_string(each);
  return out + "\nlost bytes: " + Number(report.bytes_lost) +
         "\nAll that these partitions held is gone: groups, members, counters, emissions that\n"
         "waited, ids of events. They begin empty. Their events before the marks of the sources\n"
         "are not folded again.\n";
}

std::string SalvageJson(const SalvageReport& report) {
  return std::string("{\"saved\":") + (report.file.empty() ? "null" : JsonText(report.file)) +
         ",\"partitions\":" + std::to_string(report.snapshot.partitions) +
         ",\"lost\":" + Array(report.lost, [](int each) { return std::to_string(each); }) +
         ",\"bytes_lost\":" + Number(report.bytes_lost) +
         ",\"waiting_lost\":" + (report.waiting_lost ? "true" : "false") +
         ",\"manifest_rebuilt\":" + (report.manifest_rebuilt ? "true" : "false") +
         ",\"damage\":" + DamageJson(report.damage) + "}\n";
}

}  // namespace pleat::cli
