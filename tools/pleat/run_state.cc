#include "tools/pleat/run_state.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include <pleat/state_directory.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/flag_value.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// Between snapshots while no line comes: so the next run finds the clock not far ahead.
constexpr Duration kSilentInterval = std::chrono::hours(24);

// What is missing has to be put back, as the state directory says itself if that is a whole file.
constexpr std::string_view kFromBackup = " from a backup";

// All texts of the option, as on a command line.
std::string TextOf(const RunState::Options& options, std::string_view name) {
  std::string text;
  for (const auto& [each, value] : options) {
    if (each != name) continue;
    if (!text.empty()) text += " --" + each + " ";
    text += value;
  }
  return text.empty() ? "not given" : text;
}

// Limits, how lines look, and what the engine takes over, may change from run to run. Where other
// options bind one of the last, the engine says so.
bool MayChange(std::string_view command, std::string_view option) {
  constexpr std::string_view kFree[] = {"max-groups", "max-memory", "max-series",  "max-members",
                                        "max-keys",   "on-limit",   "emission-id", "no-meta"};
  constexpr std::string_view kOfFold[] = {"quiet",     "max-wait",         "max-events",
                                          "max-bytes", "allowed-lateness", "on-late"};
  constexpr std::string_view kOfLive[] = {"ttl", "refresh"};
  constexpr std::string_view kOfRollup[] = {"on-late"};
  const auto has = [option](const auto& names) {
    return std::ranges::find(names, option) != std::end(names);
  };
  return has(kFree) || (command == "fold" && has(kOfFold)) || (command == "live" && has(kOfLive)) ||
         (command == "rollup" && has(kOfRollup));
}

// What the engine calls an option, as a flag.
std::string FlagOf(std::string_view option) {
  if (option == "quiet_period") return "--quiet";
  if (option == "max_group_bytes") return "--max-bytes";
  std::string flag(option.substr(option.find('.') == option.npos ? 0 : option.find('.') + 1));
  std::ranges::replace(flag, '_', '-');
  return "--" + flag;
}

// "--quiet is 120s, and was 60s; " for each option that has changed.
std::string ChangesText(const SnapshotInfo& snapshot) {
  std::string text;
  for (const SnapshotInfo::Collection& each : snapshot.collections) {
    for (const auto& [option, now_it_is] : each.changed) {
      const auto was =
          std::ranges::find(each.options, option, [](const auto& o) { return o.first; });
      text += FlagOf(option) + " is " + now_it_is + ", and was ";
      text += (was == each.options.end() ? "not given" : was->second) + "; ";
    }
  }
  return text;
}

absl::Status CheckOptions(const RunState::Options& now, const RunState::Options& before,
                          const std::string& directory) {
  RunState::Options all = now;
  all.insert(all.end(), before.begin(), before.end());
  for (const auto& [name, text] : all) {
    const std::string is = TextOf(now, name);
    const std::string was = TextOf(before, name);
    if (is == was) continue;
    std::string why = "is ";
    why += is + ", and was ";
    why += was + " when --state ";
    why += Printable(directory) + " was begun; with another directory, all begins anew";
    return WrongFlag(name, why);
  }
  return absl::OkStatus();
}

// Of a damaged directory, with what helps. Salvage needs a snapshot whose beginning can be read.
absl::Status WithWayOut(const absl::Status& why, const std::string& directory) {
  if (!absl::IsDataLoss(why)) return why;
  const std::string name = Printable(directory);
  std::string text(why.message());
  const absl::StatusOr<StateDirectoryReport> report =
      InspectStateDirectory(directory, Depth::kBeginning);
  if (!report.ok() || report->snapshot) {
    text += "; pleat state check " + name + " says what is damaged, pleat state salvage ";
    text += name + " --out NEW-DIR saves the rest";
    return absl::DataLossError(text);
  }
  if (!text.ends_with(kFromBackup)) text += "; put it back" + std::string(kFromBackup);
  return absl::DataLossError(text +
                             "; with none nothing can be saved: begin anew with another directory");
}

// Or with as many as the system gives.
void WorkWithThreads(Restore& restore, int threads) {
  std::vector<std::thread> others;
  for (bool more = true; more && std::ssize(others) + 1 < threads;) {
    try {
      others.emplace_back([&] { restore.Work(); });
    } catch (const std::system_error&) {
      more = false;
    }
  }
  restore.Work();
  for (std::thread& other : others) other.join();
}

bool IsFile(const RunNote::Output& output, const struct stat& info) {
  return output.device == info.st_dev && output.inode == info.st_ino;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunState>> RunState::Open(const std::string& directory,
                                                         std::string_view command, Options options,
                                                         bool repeats) {
  absl::StatusOr<std::unique_ptr<StateDirectory>> state_directory =
      StateDirectory::Open(directory, {.repeats = repeats});
  if (!state_directory.ok()) return WithWayOut(state_directory.status(), directory);
  const absl::StatusOr<std::optional<SnapshotInfo>> newest = (*state_directory)->Newest();
  if (!newest.ok()) return WithWayOut(newest.status(), directory);
  const auto may_change = [&](const auto& option) { return MayChange(command, option.first); };
  std::erase_if(options, may_change);
  RunNote note;
  note.command = command;
  note.options = std::move(options);
  if (newest->has_value()) {
    absl::StatusOr<RunNote> before = RunNote::Parse((*newest)->note);
    if (!before.ok()) {
      return absl::Status(before.status().code(), "--state " + Printable(directory) + ": " +
                                                      std::string(before.status().message()));
    }
    if (before->command != command) {
      return WrongFlag("state", Printable(directory) + " belongs to pleat " + before->command);
    }
    std::erase_if(before->options, may_change);  // of versions in which they could not
    absl::Status same = CheckOptions(note.options, before->options, directory);
    if (!same.ok()) return same;
    note.clock = before->clock;
    if ((*newest)->axis == Axis::kArrival) note.clock = std::max(note.clock, (*newest)->now);
  }
  return std::unique_ptr<RunState>(
      new RunState(*std::move(state_directory), directory, std::move(note)));
}

absl::Status RunState::Recover(Engine& engine, int threads) {
  const absl::StatusOr<Recovered> recovered = state_directory_->Recover(
      engine, [&](Restore& restore) { WorkWithThreads(restore, threads); });
  if (!recovered.ok()) return WithWayOut(recovered.status(), directory_);
  if (!recovered->snapshot) return absl::OkStatus();
  absl::StatusOr<RunNote> note = RunNote::Parse(recovered->snapshot->note);
  if (!note.ok()) return note.status();
  note->options = std::move(note_.options);
  note->clock = note_.clock;
  note_ = *std::move(note);
  note_.lost += recovered->snapshot->lost.size();
  changes_ = ChangesText(*recovered->snapshot);
  goes_on_ = true;
  return absl::OkStatus();
}

void RunState::Took(const LineBlock& block, uint64_t lines) {
  lines_since_ += lines;
  note_.flushed = false;
  inputs_.Took(block, lines);
}

// --- Outputs

// A file is cut back under the name alone under which it was noted. Under another name nothing is cut:
// it goes on if it ends where a noted one did, as one does that was moved or copied with its
// directory. Any other has to be empty.
absl::StatusOr<RunState::Noted> RunState::NotedOutput(const std::string& path) const {
  const Noted none = note_.outputs.end();
  if (path == "-" || DescriptorNamed(path) >= 0) return none;
  const Noted named = note_.outputs.find(WholeName(path));
  struct stat info{};
  if (!goes_on_ || stat(path.c_str(), &info) != 0) return named;
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return named;
  const auto ends_there = [&info](const auto& noted) {
    return noted.second.bytes == static_cast<uint64_t>(info.st_size);
  };
  Noted it = std::ranges::find_if(
      note_.outputs, [&info](const auto& noted) { return IsFile(noted.second, info); });
  if (it == none && named == none) it = std::ranges::find_if(note_.outputs, ends_there);
  if (it == none) it = named;
  if (it == none || (it != named && !ends_there(*it))) return UnknownOutput(path);
  return it;
}

absl::StatusOr<uint64_t> RunState::BytesOf(const std::string& path) const {
  const absl::StatusOr<Noted> noted = NotedOutput(path);
  if (!noted.ok()) return noted.status();
  return *noted == note_.outputs.end() ? 0 : (*noted)->second.bytes;
}

absl::Status RunState::UnknownOutput(const std::string& path) const {
  std::vector<std::string> names;
  names.reserve(note_.outputs.size());
  for (const auto& [name, output] : note_.outputs) names.push_back(name);
  std::string text = Printable(path);
  text += ": has bytes that --state " + Printable(directory_);
  text += " does not know under this name, and stays as it is. The outputs that it knows: ";
  text += names.empty() ? "none" : NamesOf(names);
  return absl::FailedPreconditionError(
      text + ". Put each back there, or give a name at which there is no file yet");
}

absl::Status RunState::NoteOutput(const std::string& path, const OutputFile& file) {
  struct stat info{};
  if (fstat(file.fd(), &info) != 0) return ErrnoStatus(errno, path);
  std::erase_if(note_.outputs, [&](const auto& noted) { return IsFile(noted.second, info); });
  note_.outputs[WholeName(path)] = {
      .device = info.st_dev, .inode = info.st_ino, .bytes = file.bytes_written()};
  return absl::OkStatus();
}

// All are looked for among those of before, each of which is one output's.
absl::Status RunState::NoteNames(Engine& engine, Outputs outputs) {
  std::vector<std::pair<std::string, OutputFile*>> added;
  for (const auto& [path, file] : outputs) {
    if (file == nullptr || !file->is_cut_back()) continue;
    const absl::StatusOr<Noted> noted = NotedOutput(path);
    if (!noted.ok()) return noted.status();
    if (*noted != note_.outputs.end()) {
      if ((*noted)->first == WholeName(path)) continue;
      note_.outputs.erase(*noted);
    }
    added.emplace_back(path, file);
  }
  for (const auto& [path, file] : added) {
    if (absl::Status noted = NoteOutput(path, *file); !noted.ok()) return noted;
  }
  return !added.empty() && goes_on_ ? state_directory_->TakeSnapshot(engine, note_.Text())
                                    : absl::OkStatus();
}

// ---

bool RunState::Due(const SnapshotEvery& every, Duration now) const {
  if (every.lines > 0) return lines_since_ >= every.lines;
  return now - last_taken_ >= Interval(every);
}

Duration RunState::UntilDue(const SnapshotEvery& every, Duration now) const {
  if (every.lines > 0) return kForever;
  return std::max(Interval(every) - (now - last_taken_), Duration{0});
}

Duration RunState::Interval(const SnapshotEvery& every) const {
  return lines_since_ > 0 ? every.time : std::max(every.time, kSilentInterval);
}

// The outputs are on the disk before the snapshot that vouches for them.
absl::Status RunState::TakeSnapshot(Engine& engine, Duration now, uint64_t results, bool flushed,
                                    Outputs outputs) {
  last_taken_ = now;
  lines_since_ = 0;
  for (const auto& [path, file] : outputs) {
    if (file == nullptr || !file->is_cut_back()) continue;
    if (absl::Status synced = file->Sync(); !synced.ok()) return synced;
    if (absl::Status noted = NoteOutput(path, *file); !noted.ok()) return noted;
  }
  inputs_.Seal();
  note_.results = results;
  note_.flushed |= flushed;  // and stays so until something is taken
  return state_directory_->TakeSnapshot(engine, note_.Text());
}

std::string RunState::Sentence(uint64_t lines_before) const {
  const SnapshotState state = state_directory_->state();
  std::string text = "state directory: ";
  if (lines_before > 0) text += "went on behind " + Counted(lines_before, "line") + "; ";
  text += changes_;
  if (inputs_.skipped() > 0) text += Counted(inputs_.skipped(), "file") + " read before; ";
  text += inputs_.FilesText();
  text += Counted(state.taken, "snapshot") + " taken";
  if (note_.lost > 0) {
    text += "; " + Counted(note_.lost, "partition") +
            " lost to damage and left out by salvage, so the figures do not add up";
  }
  if (state.failed > 0) text += ", " + Grouped(state.failed) + " failed";
  if (state.bytes > 0) text += "; the newest has " + ByteText(static_cast<double>(state.bytes));
  return text;
}

}  // namespace pleat::cli
