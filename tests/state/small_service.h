// The smallest program that keeps its state in a directory: one engine, one folder, one state
// directory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/state_directory.h>

#include "tests/support/start.h"
#include "tests/support/storage_files.h"

namespace pleat::inline v0_1 {

struct Note {
  uint64_t number;
};

// The numbers of its events, in order.
struct Notes {
  std::vector<uint64_t> numbers;

  void Fold(const Note& note) noexcept { numbers.push_back(note.number); }
  template <class F>
  void Stored(F& f) {
    f(numbers);
  }
};

inline constexpr uint64_t kNotesSource = 7;
inline constexpr FolderOptions kNotesOptions{.quiet_period = std::chrono::seconds(60),
                                             .max_wait = std::chrono::minutes(60)};

struct SmallService {
  explicit SmallService(int partitions = 2, const FolderOptions& options = kNotesOptions)
      : engine(Engine::Open({.partitions = partitions,
                             .huge_pages = HugePages::kOff,
                             .internals = {.hash_key = {{1, 2}}, .epoch = 3}})
                   .value()),
        notes(*engine, "notes", options) {}

  // Opens and recovers.
  absl::StatusOr<Recovered> Recover(std::string_view path, const StateDirectoryOptions& options) {
    absl::StatusOr<std::unique_ptr<StateDirectory>> opened = StateDirectory::Open(path, options);
    if (!opened.ok()) return opened.status();
    directory = *std::move(opened);
    return directory->Recover(*engine);
  }
  absl::Status TakeSnapshot() const { return directory->TakeSnapshot(*engine); }

  // Folds `count` events of the source from where it stands.
  void Read(uint64_t count) {
    static const std::vector<std::string> keys = {"key 0", "key 1", "key 2", "key 3", "key 4"};
    std::vector<KeyedEvent<Note>> batch;
    const uint64_t begin = Position();
    for (uint64_t i = begin; i < begin + count; ++i) batch.push_back({keys[i % 5], kT0, {i}});
    notes.FoldBatch(batch, {}, {}, SourcePosition{.source = kNotesSource, .offset = begin});
  }
  uint64_t Position() const {
    uint64_t position = engine->SourcePositionOf(kNotesSource, 0);
    for (int i = 1; i < engine->partitions(); ++i) {
      position = std::min(position, engine->SourcePositionOf(kNotesSource, i));
    }
    return position;
  }

  std::unique_ptr<Engine> engine;
  Folder<Note, Notes> notes;
  std::unique_ptr<StateDirectory> directory;
};

// What the directory holds, but for LOCK. Nothing if there is no directory.
inline std::map<std::string, std::string> FilesIn(Storage& storage, std::string_view path) {
  std::map<std::string, std::string> files;
  const auto directory = storage.OpenDirectory(path, IfMissing::kFail);
  if (!directory.ok()) return files;
  const std::vector<std::string> names = (*directory)->List().value();
  for (const std::string& name : names) files[name] = ReadWhole(**directory, name).value();
  return files;
}

inline std::vector<std::string> NamesIn(Storage& storage, std::string_view path) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : FilesIn(storage, path)) names.push_back(name);
  return names;
}

// Puts `bytes` in place of a file, or makes it.
inline void PutFile(Storage& storage, std::string_view path, std::string_view name,
                    std::string_view bytes) {
  const auto directory = storage.OpenDirectory(path, IfMissing::kCreate);
  ASSERT_TRUE(directory.ok());
  (*directory)->Remove(name).IgnoreError();
  ASSERT_TRUE(WriteFile(**directory, name, bytes).ok());
  ASSERT_TRUE((*directory)->SyncDirectory().ok());
}

}  // namespace pleat::inline v0_1
