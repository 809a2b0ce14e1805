// A program that keeps its groups in a directory, and a directory that it has left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/state_directory.h>

#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {

struct Word {
  std::string_view text;
};
struct Sentence {
  std::string all;
  void Fold(const Word& word) noexcept { all += word.text; }
  template <class F>
  void Stored(F& f) {
    f(all);
  }
};

// A program that keeps its groups in a directory.
class Keeper {
 public:
  explicit Keeper(const std::string& directory)
      : engine_(*Engine::Open({.partitions = 4, .internals = {.hash_key = {{1, 2}}, .epoch = 3}})),
        words_(*engine_, "words",
               {.quiet_period = std::chrono::hours(1), .max_wait = std::chrono::hours(2)}),
        directory_(*StateDirectory::Open(directory, {.compress = false, .identity = 77})) {
    const absl::StatusOr<Recovered> recovered = directory_->Recover(*engine_);
    EXPECT_TRUE(recovered.ok()) << recovered.status().message();
  }

  void Fold(int keys, size_t bytes) {
    const std::string text(bytes, 'x');
    std::vector<std::string> names;
    for (int i = 0; i < keys; ++i) names.push_back("key " + std::to_string(i));
    std::vector<KeyedEvent<Word>> batch;
    for (const std::string& name : names) {
      batch.push_back({name, FromUnix(std::chrono::seconds(60)), {text}});
    }
    words_.FoldBatch(batch, {}, {}, SourcePosition{.source = 7, .offset = 100});
    engine_->Advance(FromUnix(std::chrono::seconds(60)));
  }
  void TakeSnapshot() {
    const absl::Status taken = directory_->TakeSnapshot(*engine_);
    ASSERT_TRUE(taken.ok()) << taken.message();
  }
  // By partition: how many groups there are.
  std::vector<size_t> Groups() {
    std::vector<size_t> groups(4);
    ScanCursor cursor;
    std::vector<OpenGroup<Sentence>> open;
    while (words_.Scan(cursor, 100, open)) {
    }
    for (const auto& each : open) ++groups[static_cast<size_t>(PartitionOf(each.key, 4))];
    return groups;
  }

 private:
  std::unique_ptr<Engine> engine_;
  Folder<Word, Sentence> words_;
  std::unique_ptr<StateDirectory> directory_;
};

class KeptDirectory : public testing::Test {
 protected:
  void Fill(int keys = 20, size_t bytes = 5) {
    Keeper keeper(directory_);
    keeper.Fold(keys, bytes);
    keeper.TakeSnapshot();
    groups_ = keeper.Groups();
  }
  void Damage(const std::string& name, size_t at) {
    std::string bytes = Content(directory_ + "/" + name);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    std::ofstream(directory_ + "/" + name, std::ios::binary) << bytes;
  }
  // Salvages, opens the copy, and compares. Returns what was lost.
  std::vector<int> Salvage() {
    const std::string out = scratch_ / "saved";
    std::filesystem::remove_all(out);
    const absl::StatusOr<SalvageReport> report = SalvageStateDirectory(directory_, out);
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (!report.ok() || report->file.empty()) return {-1};
    std::vector<size_t> left = groups_;
    for (const int each : report->lost) left[static_cast<size_t>(each)] = 0;
    EXPECT_EQ(Keeper(out).Groups(), left);
    return report->lost;
  }
  // Offsets of the blocks of the snapshot.
  std::vector<size_t> Blocks() {
    const std::string bytes = Content(directory_ + "/snapshot-1");
    std::vector<size_t> blocks;
    for (size_t at = 0; at < bytes.size();) {
      blocks.push_back(at);
      size_t size = 0;
      for (size_t i = 0; i < 4; ++i)
        size |= size_t{static_cast<uint8_t>(bytes[at + 4 + i])} << 8 * i;
      at += 24 + size;
    }
    return blocks;
  }

  TemporaryDirectory scratch_;
  const std::string directory_ = scratch_ / "state";
  std::vector<size_t> groups_;
};

}  // namespace pleat::inline v0_1
