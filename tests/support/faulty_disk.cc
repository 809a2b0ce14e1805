#include "tests/support/faulty_disk.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {

FaultyDisk::File& FaultyDisk::Own(FileId file) {
  std::shared_ptr<const File>& place = files_.at(file);
  if (place.use_count() > 1) place = std::make_shared<File>(*place);
  return const_cast<File&>(*place);  // made as one that can change
}

FaultyDisk::Directory& FaultyDisk::OwnDirectory(const std::string& path) {
  std::shared_ptr<const Directory>& place = directories_.at(path);
  if (place.use_count() > 1) place = std::make_shared<Directory>(*place);
  return const_cast<Directory&>(*place);
}

std::vector<std::string> FaultyDisk::Paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, directory] : directories_) paths.push_back(path);
  return paths;
}

void FaultyDisk::MakeDirectory(const std::string& path) {
  directories_.emplace(path, std::make_shared<Directory>());
}

void FaultyDisk::SyncParentOf(const std::string& path) {
  if (!directories_.at(path)->durable) OwnDirectory(path).durable = true;
}

FaultyDisk::FileId FaultyDisk::Find(const std::string& directory, std::string_view name) const {
  const Entries& entries = directories_.at(directory)->entries;
  const auto found = entries.find(name);
  return found == entries.end() ? kNoFile : found->second;
}

std::vector<std::string> FaultyDisk::Names(const std::string& directory) const {
  std::vector<std::string> names;
  for (const auto& [name, file] : directories_.at(directory)->entries) names.push_back(name);
  const std::string inside = directory + "/";
  for (const auto& [path, each] : directories_) {
    if (!path.starts_with(inside)) continue;
    if (std::string name = path.substr(inside.size()); name.find('/') == name.npos) {
      names.push_back(std::move(name));
    }
  }
  std::ranges::sort(names);
  return names;
}

void FaultyDisk::Apply(const Step& step, Entries& entries) {
  if (!step.leaves.empty()) entries.erase(step.leaves);
  if (!step.enters.empty()) entries[step.enters] = step.file;
}

void FaultyDisk::Do(const std::string& path, Step step) {
  Directory& directory = OwnDirectory(path);
  Apply(step, directory.entries);
  directory.steps.push_back(std::move(step));
}

FaultyDisk::FileId FaultyDisk::Create(const std::string& directory, std::string_view name) {
  const FileId file = ++last_file_;
  files_.emplace(file, std::make_shared<File>());
  Do(directory, {.leaves = {}, .enters = std::string(name), .file = file});
  return file;
}

void FaultyDisk::Rename(const std::string& directory, std::string_view from, std::string_view to) {
  const FileId file = Find(directory, from);
  const FileId replaced = Find(directory, to);
  if (replaced == file) return;
  if (replaced != kNoFile) older_ = files_.at(replaced);
  Do(directory, {.leaves = std::string(from), .enters = std::string(to), .file = file});
}

void FaultyDisk::Remove(const std::string& directory, std::string_view name) {
  older_ = files_.at(Find(directory, name));
  Do(directory, {.leaves = std::string(name), .enters = {}});
}

void FaultyDisk::SyncDirectory(const std::string& path) {
  Directory& directory = OwnDirectory(path);
  for (Step& step : directory.steps) {
    if (step.state == Step::State::kUnsynced) step.state = Step::State::kSynced;
  }
  // Behind a step that is uncertain, one that is synced waits for its turn.
  const auto first = std::ranges::find_if(
      directory.steps, [](const Step& step) { return step.state != Step::State::kSynced; });
  std::for_each(directory.steps.begin(), first,
                [&](const Step& step) { Apply(step, directory.on_disk); });
  directory.steps.erase(directory.steps.begin(), first);
}

void FaultyDisk::FailSyncDirectory(const std::string& path) {
  for (Step& step : OwnDirectory(path).steps) {
    if (step.state == Step::State::kUnsynced) step.state = Step::State::kUncertain;
  }
}

void FaultyDisk::Append(FileId file, std::string_view bytes) {
  if (bytes.empty()) return;
  File& own = Own(file);
  const uint64_t begin = own.bytes.size();
  own.bytes += bytes;
  const uint64_t end = own.bytes.size();
  for (uint64_t size = begin / kSectorBytes * kSectorBytes; size < end; size += kSectorBytes) {
    if (size > begin) own.unsynced.insert(size);
  }
  own.unsynced.insert(end);
}

void FaultyDisk::Overwrite(FileId file, std::string_view bytes) {
  File& own = Own(file);
  own.bytes.replace(0, bytes.size(), bytes);
  own.durable = own.bytes.size();
}

void FaultyDisk::Sync(FileId file) {
  if (files_.at(file)->unsynced.empty()) return;
  File& own = Own(file);
  own.durable = own.bytes.size();
  own.unsynced.clear();
}

void FaultyDisk::FailSync(FileId file, FailedSync how) {
  File& own = Own(file);
  own.owes_error = how == FailedSync::kToldLater;
  if (how == FailedSync::kShowsOld) {
    std::fill(own.bytes.begin() + static_cast<ptrdiff_t>(own.durable), own.bytes.end(), '\0');
  }
}

uint64_t FaultyDisk::Room() const {
  uint64_t used = 0;
  for (const auto& [path, directory] : directories_) {
    for (const auto& [name, file] : directory->entries) used += files_.at(file)->bytes.size();
  }
  return capacity_ - std::min(capacity_, used);
}

void FaultyDisk::Collect(const std::set<FileId>& open) {
  std::set<FileId> reachable = open;
  for (const auto& [path, directory] : directories_) {
    for (const auto& [name, file] : directory->entries) reachable.insert(file);
    for (const auto& [name, file] : directory->on_disk) reachable.insert(file);
    for (const Step& step : directory->steps) reachable.insert(step.file);
  }
  std::erase_if(files_, [&](const auto& file) { return !reachable.contains(file.first); });
}

void FaultyDisk::Plant(const std::string& directory, std::string_view name,
                       std::string_view bytes) {
  Append(Create(directory, name), bytes);
  Sync(last_file_);
  SyncDirectory(directory);
}

std::shared_ptr<const FaultyDisk::File> FaultyDisk::FileAfterPowerLoss(
    const std::shared_ptr<const File>& file, Pick pick) const {
  if (file->unsynced.empty()) return file;
  auto left = std::make_shared<File>();
  const uint32_t chosen = pick(static_cast<uint32_t>(file->unsynced.size()) + 1);
  left->durable = chosen == 0 ? file->durable : *std::next(file->unsynced.begin(), chosen - 1);
  left->bytes = file->bytes.substr(0, left->durable);
  uint64_t at = file->durable;
  while (at < left->durable) {
    const uint64_t end = std::min(left->durable, (at / kSectorBytes + 1) * kSectorBytes);
    if (pick(2) == 0) {
      for (uint64_t i = at; i < end; ++i) {
        const bool older = lost_ == Lost::kOlderFile && older_ && i < older_->bytes.size();
        left->bytes[i] = older ? older_->bytes[i] : '\0';
      }
    }
    at = end;
  }
  return left;
}

FaultyDisk::Directories FaultyDisk::DirectoriesAfterPowerLoss(Pick pick) const {
  Directories left;
  for (const auto& [path, directory] : directories_) {
    if (IsCertain(*directory)) {
      left.emplace(path, directory);
      continue;
    }
    if (!directory->durable && pick(2) == 0) continue;
    auto kept = std::make_shared<Directory>();
    kept->durable = true;
    kept->on_disk = directory->on_disk;
    for (const Step& step : directory->steps) {
      if (step.state == Step::State::kSynced || pick(2) != 0) Apply(step, kept->on_disk);
    }
    kept->entries = kept->on_disk;
    left.emplace(path, std::move(kept));
  }
  return left;
}

// Only files that can be reached are asked for: how others end makes no difference.
FaultyDisk FaultyDisk::AfterPowerLoss(Pick pick) const {
  FaultyDisk left;
  left.last_file_ = last_file_;
  left.lost_ = lost_;
  left.capacity_ = capacity_;
  left.older_ = older_;
  left.directories_ = DirectoriesAfterPowerLoss(pick);
  for (const auto& [path, directory] : left.directories_) {
    for (const auto& [name, file] : directory->entries) {
      if (left.files_.contains(file)) continue;
      left.files_.emplace(file, FileAfterPowerLoss(files_.at(file), pick));
    }
  }
  left.machine_run_ = machine_run_ + 1;
  return left;
}

uint64_t FaultyDisk::PowerLossesOf(const File& file) {
  uint64_t count = 1;
  for (const uint64_t size : file.unsynced) {
    const uint64_t sectors = (size + kSectorBytes - 1) / kSectorBytes - file.durable / kSectorBytes;
    if (sectors >= 62) return kTooMany;
    count = std::min(kTooMany, count + (uint64_t{1} << sectors));
  }
  return count;
}

uint64_t FaultyDisk::PowerLosses() const {
  size_t steps = 0;
  for (const auto& [path, directory] : directories_) steps += directory->steps.size();
  if (steps > 12) return kTooMany;  // more than anybody waits for
  uint64_t count = 0;
  EveryChoice choices;
  do {
    uint64_t ways = 1;
    std::set<FileId> counted;
    for (const auto& [path, directory] : DirectoriesAfterPowerLoss(choices.pick())) {
      for (const auto& [name, file] : directory->entries) {
        if (!counted.insert(file).second) continue;
        const uint64_t more = PowerLossesOf(*files_.at(file));
        ways = more > kTooMany / ways ? kTooMany : ways * more;
      }
    }
    count = std::min(kTooMany, count + ways);
  } while (choices.Next());
  return count;
}

}  // namespace pleat::inline v0_1
