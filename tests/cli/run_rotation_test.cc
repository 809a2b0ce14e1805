// A log that is written in pieces cut anywhere and rotated, and `pleat fold --state` after each
// step: in the end the output is that of one run over the whole log.
//
//   PLEAT_ROTATIONS=500   logs; a few by default
//   PLEAT_SEED=17         this one
//
// And logs that are rotated between the look of a run at its FILEs and its reading.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::cli {
namespace {

const std::string kMark = "\xef\xbb\xbf";

uint64_t ChosenLogs() {
  const char* const text = std::getenv("PLEAT_ROTATIONS");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
                         : ShareOf({.whole = 21, .usual = 14, .sanitized = 7});
}

// The texts of a log in one format.
struct LogFormat {
  std::string input;
  std::string begin;    // of each file,
  std::string end;      // and where it is given up
  std::string between;  // records
  std::string options = "--key k --time t --merge 's=sum(v)'";
};

const LogFormat kFormats[] = {
    {"ndjson", "", "", ""},
    {"csv", "k,t,v\n", "", ""},
    {"tsv", "k\tt\tv\r\n", "", ""},
    {"logfmt", "", "", ""},
    {"json", "", "", ""},
    {"json", "[\n", "]\n", ",\n"},
    {"access", "", "", "", "--key k=host --time time --merge 's=sum(bytes)'"},
};

class RotatedLog {
 public:
  RotatedLog(uint64_t seed, const TemporaryDirectory& dir)
      : random_(seed), dir_(dir), format_(kFormats[seed % std::size(kFormats)]) {
    has_mark_ = Draw(3) == 0;
    BeginFile();
  }

  // Writes up to somewhere in the middle of a record, or rotates, or does what a person does.
  void Step() {
    if (is_copied_) return StepInGap();
    switch (Draw(8)) {
      case 0: return Rotate(/*copies=*/false);
      case 1: return Rotate(/*copies=*/true);
      case 2: return Compress();
      case 3: return Move();
      case 4: return RemoveOldest();
      default: return Write(Draw(8) == 0 ? 1000 : Draw(12));
    }
  }

  // Everything that is left, and most times the last record without its newline.
  void WriteRest() {
    if (is_copied_ && !gap_unread_) EmptyOriginal();
    has_invalid_ = false;  // a run without a usable line keeps nothing
    Write(1 + Draw(5));
    if (!pending_.empty()) Append(pending_);
    Append(format_.end);
    whole_ += format_.end;
  }

  // The FILEs from the oldest on; all, or some of the oldest. A copy may be missing beside its original.
  std::string Files(bool all) {
    std::vector<std::string> paths;
    for (size_t i = old_.size(); i > 0; --i) paths.push_back(PathOf(i - 1));
    if (all && is_copied_ && Draw(2) == 0) paths.pop_back();
    paths.push_back(dir_ / "app.log");
    if (!all) paths.resize(1 + Draw(static_cast<uint32_t>(paths.size())));
    given_ = all ? old_.size() + 1 : paths.size();
    std::string words;
    for (const std::string& path : paths) words += " " + path;
    return words;
  }
  // A run has kept what these FILEs had.
  void NoteRead() {
    for (size_t i = old_.size(); i > 0 && old_.size() - i < given_; --i) {
      old_[i - 1].was_read = true;
    }
    const bool has_records = std::filesystem::file_size(dir_ / "app.log") > 400;  // in any format
    was_read_ |= given_ > old_.size() && has_records;
    gap_unread_ &= given_ <= old_.size();
  }

  std::string Options() const {
    return "--input " + format_.input + " --quiet 30s --merge 'n=count()' " + format_.options;
  }
  // Without the byte order marks of the files.
  const std::string& whole() const { return whole_; }
  uint32_t Draw(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

 private:
  struct OldFile {
    std::string compression;
    bool was_read = false;
  };

  std::string PathOf(size_t number) const {
    return dir_ / ("app.log." + std::to_string(number + 1) + old_[number].compression);
  }

  void BeginFile() {
    pending_ = (has_mark_ ? kMark : "") + format_.begin;
    whole_ += format_.begin;
    is_first_ = true;
    was_read_ = false;
    std::ofstream(dir_ / "app.log", std::ios::app);
  }

  void Append(const std::string& text) const {
    std::ofstream(dir_ / "app.log", std::ios::app | std::ios::binary) << text;
  }

  void Write(uint32_t records) {
    for (uint32_t i = 0; i < records; ++i) {
      const std::string record = (is_first_ ? "" : format_.between) + Record();
      is_first_ = false;
      whole_ += record;
      pending_ += record;
    }
    const size_t size = Draw(4) == 0 ? pending_.size() : random_() % (pending_.size() + 1);
    Append(pending_.substr(0, size));
    pending_.erase(0, size);
  }

  void Rotate(bool copies) {
    const bool has_gap = copies && was_read_ && format_.end.empty();
    const bool cuts_record = has_gap && format_.input == "ndjson" && Draw(2) == 0;
    if (!cuts_record) Append(std::exchange(pending_, "") + format_.end);
    whole_ += format_.end;
    for (size_t i = old_.size(); i > 0; --i) {
      const std::string from = PathOf(i - 1);
      const std::string to = dir_ / ("app.log." + std::to_string(i + 1) + old_[i - 1].compression);
      std::filesystem::rename(from, to);
    }
    old_.insert(old_.begin(), OldFile());
    if (copies) {
      std::filesystem::copy(dir_ / "app.log", PathOf(0));
      is_copied_ = true;
      gap_unread_ = cuts_record;
      if (has_gap) return Append(std::exchange(pending_, ""));
      if (was_read_ && Draw(3) > 0) return;  // a run finds both
      return EmptyOriginal();
    }
    std::filesystem::rename(dir_ / "app.log", PathOf(0));
    BeginFile();
  }

  // What is written between the copy and the emptying is in the original alone: a run has to read it.
  void StepInGap() {
    if (!gap_unread_ && Draw(2) == 0) return EmptyOriginal();
    if (!format_.end.empty()) return;
    Write(1 + Draw(Draw(8) == 0 ? 1000 : 12));
    Append(std::exchange(pending_, ""));
    gap_unread_ = true;
  }

  void EmptyOriginal() {
    is_copied_ = false;
    std::filesystem::resize_file(dir_ / "app.log", 0);
    BeginFile();
  }

  void Compress() {
    if (old_.empty()) return;
    const size_t number = Draw(static_cast<uint32_t>(old_.size()));
    if (!old_[number].compression.empty()) return;
    const std::string from = PathOf(number);
    const bool gzip = Draw(2) == 0;
    old_[number].compression = gzip ? ".gz" : ".zst";
    const std::string text = Content(from);
    std::ofstream(PathOf(number), std::ios::binary) << (gzip ? Gzip(text) : Zstd(text));
    std::filesystem::remove(from);
  }

  // To another inode, as a copy from one disk to another does.
  void Move() {
    const std::string from = old_.empty() ? dir_ / "app.log" : PathOf(old_.size() - 1);
    std::filesystem::copy(from, dir_ / "copy");
    std::filesystem::rename(dir_ / "copy", from);
  }

  void RemoveOldest() {
    if (old_.empty() || !old_.back().was_read) return;
    std::filesystem::remove(PathOf(old_.size() - 1));
    old_.pop_back();
  }

  std::string Record() {
    seconds_ += static_cast<int>(Draw(20));
    const std::string key(1, "abcde"[Draw(5)]);
    const std::string value = std::to_string(++records_);  // so that no two files begin alike
    if (records_ > 1 && Draw(16) == 0 && has_invalid_) return InvalidRecord(value);
    char time[64];
    const auto part = [this](int unit) { return seconds_ / unit % 60; };
    const bool access = format_.input == "access";
    std::snprintf(time, sizeof(time),
                  access ? "12/Sep/2015:%02d:%02d:%02d +0000" : "2015-09-12T%02d:%02d:%02dZ",
                  part(3600), part(60), part(1));
    if (access) {
      return key + " - - [" + time + "] \"GET /x HTTP/1.1\" 200 " + value + "\n";
    }
    if (format_.input == "csv") {
      const std::string quote = Draw(2) == 0 ? "\"" : "";
      return "\"" + key + "\n\"\"\"," + time + "," + quote + value + quote + "\n";
    }
    if (format_.input == "tsv") return key + "\t" + time + "\t" + value + "\r\n";
    if (format_.input == "logfmt") {
      return "k=\"" + key + "\\n\" t=" + time + " v=" + value + "\n";
    }
    const std::string space = format_.input == "json" && Draw(2) == 0 ? "\n  " : " ";
    return "{\"k\":" + space + "\"" + key + "\\\"}\"," + space + "\"t\":\"" + time +
           "\",\"v\":" + value + space + "}" + (format_.between.empty() ? "\n" : "");
  }

  // One that no other record is lost with.
  std::string InvalidRecord(const std::string& value) {
    if (format_.input == "csv") return "\"x\ny\"z," + value + "\n";
    if (format_.input == "json")
      return format_.between.empty() ? value + "\n" : "\"[" + value + "\"";
    if (format_.input == "ndjson" && !has_long_line_ && Draw(8) == 0) {
      has_long_line_ = true;
      return value + std::string((size_t{1} << 20) + Draw(300'000), 'x') + "\n";
    }
    return "nonsense" + value + "\n";
  }

  std::mt19937_64 random_;
  const TemporaryDirectory& dir_;
  const LogFormat& format_;
  bool has_mark_ = false;
  bool has_long_line_ = false;
  bool has_invalid_ = true;  // there may be invalid records
  bool is_first_ = true;
  bool was_read_ = false;    // records of app.log were
  bool is_copied_ = false;   // it is to be emptied,
  bool gap_unread_ = false;  // and has lines that no run has read, and the copy has not
  int seconds_ = 0;
  int records_ = 0;
  std::string pending_;  // was logged, and is not in the file yet
  std::string whole_;
  std::vector<OldFile> old_;  // app.log.1 first
  size_t given_ = 0;          // FILEs to the latest run
};

TEST(RunRotation, ALogInPiecesUnderAnyNamesIsReadOnce) {
  ForEachSeed(1, ChosenLogs(), [](uint64_t seed) {
    TemporaryDirectory dir;
    RotatedLog log(seed, dir);
    const auto fold = [&](const std::string& name, const std::string& more) {
      return Fold(log.Options() + " --output " + (dir / name) + " --invalid " +
                  (dir / (name + "-invalid")) + " " + more);
    };
    const uint32_t steps = 4 + log.Draw(12);
    for (uint32_t i = 0; i < steps; ++i) {
      log.Step();
      if (log.Draw(3) == 0) continue;
      const RunResult kept =
          fold("out", "--at-end keep --state " + (dir / "j") + log.Files(/*all=*/log.Draw(4) > 0));
      if (kept.code == 1 && kept.err.find("no line was usable") != std::string::npos) continue;
      ASSERT_EQ(kept.code, 0) << kept.err;
      log.NoteRead();
    }
    log.WriteRest();
    const RunResult last = fold("out", "--state " + (dir / "j") + log.Files(/*all=*/true));
    const RunResult whole = fold("whole", dir.Write("whole.log", log.whole()));
    ASSERT_EQ(last.code, 0) << last.err;
    EXPECT_EQ(last.stats, whole.stats);
    EXPECT_TRUE(Content(dir / "out") == Content(dir / "whole"));
    EXPECT_TRUE(Content(dir / "out-invalid") == Content(dir / "whole-invalid"));
  });
}

// --- Rotation while a run waits

// A run that has looked at its FILEs, and waits for a pipe that it reads first.
class RotatedMeanwhile : public testing::Test {
 protected:
  static constexpr int kPiped = 300;  // the number of the line that comes through the pipe

  // Lines by number; each has a key of its own.
  static std::string Numbered(int first, int last) {
    std::string lines;
    for (int i = first; i <= last; ++i) lines += At(i, "k" + std::to_string(i));
    return lines;
  }
  std::string WordsFor(const std::string& files) const {
    std::string words = "--key k --time t --quiet 1h --at-end keep --output " + (dir_ / "out") +
                        " --open " + (dir_ / "open") + " --state " + (dir_ / "j");
    for (const std::string& file : WordsOf(files)) words += " " + (dir_ / file);
    return words;
  }
  RunResult Read(const std::string& files) {
    const RunResult result = Fold(WordsFor(files));
    EXPECT_EQ(result.code, 0) << result.err;
    return result;
  }
  // What a run of these files says, having ended with exit code 1. Once `before` are read, it waits for
  // a pipe, and meanwhile the files are rotated.
  template <class Rotate>
  std::string RefusedAfter(const std::string& files, Rotate rotate,
                           const std::string& before = "") {
    EXPECT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
    Subprocess process(Pleat("fold --no-summary " + WordsFor(before + " fifo " + files)));
    const int writer = open((dir_ / "fifo").c_str(), O_WRONLY | O_CLOEXEC);  // waits for its reader
    rotate();
    const std::string line = Numbered(kPiped, kPiped);
    EXPECT_EQ(write(writer, line.data(), line.size()), std::ssize(line));
    close(writer);
    EXPECT_EQ(process.Wait(), 1) << process.err();
    std::filesystem::remove(dir_ / "fifo");
    return process.err();
  }
  void Move(const std::string& from, const std::string& to) {
    std::filesystem::rename(dir_ / from, dir_ / to);
  }
  std::string Replaced(const std::string& file) const {
    return "pleat fold: " + (dir_ / file) + ": was replaced or cut while the run was under way";
  }
  // Each of the numbers, and the one of the pipe, counts once.
  void ExpectRead(const RunResult& result, int last) {
    EXPECT_EQ(Stat(result, "events"), last + 1);
    EXPECT_EQ(Stat(result, "open"), last + 1);
  }

  TemporaryDirectory dir_;
};

// The file that has the inode of the first original has other lines, and not all of them are read.
TEST_F(RotatedMeanwhile, WhatIsReadOfAnEmptiedOriginalCountsForItsOwnCopyAlone) {
  dir_.Write("app.log", Numbered(1, 100));
  Read("app.log");
  dir_.Write("app.log.1", Numbered(1, 150));
  dir_.Write("app.log", Numbered(151, 260));
  Read("app.log.1 app.log");
  dir_.Write("app.log", Numbered(151, 290));
  Move("app.log.1", "app.log.2");
  dir_.Write("app.log.1", Numbered(151, 290));
  RefusedAfter("app.log.1 app.log", [&] { dir_.Write("app.log", ""); }, "app.log.2");
  ExpectRead(Read("app.log.2 app.log.1 app.log"), 290);
}

TEST_F(RotatedMeanwhile, ADirectoryInThePlaceOfAnotherIsNotTakenForIt) {
  for (const std::string name : {"logs", "new"}) std::filesystem::create_directory(dir_ / name);
  dir_.Write("logs/app.log", Numbered(1, 100));
  dir_.Write("new/app.log", Numbered(101, 200));
  const std::string said = RefusedAfter("logs/app.log", [&] {
    Move("logs", "logs.old");
    Move("new", "logs");
  });
  EXPECT_TRUE(HasLine(said, Replaced("logs/app.log"))) << said;
  ExpectRead(Read("logs.old/app.log"), 100);
  ExpectRead(Read("logs.old/app.log logs/app.log"), 200);
}

TEST_F(RotatedMeanwhile, NoFileIsReadUnderTheNameOfAnother) {
  dir_.Write("app.log", Numbered(1, 100));
  Read("app.log");
  dir_.Write("app.log.1", Numbered(101, 150));
  const std::string said = RefusedAfter("app.log.1 app.log", [&] {
    Move("app.log.1", "app.log.2");
    Move("app.log", "app.log.1");
    dir_.Write("app.log", "");
  });
  EXPECT_TRUE(HasLine(said, Replaced("app.log.1"))) << said;
  ExpectRead(Read("app.log.2 app.log.1 app.log"), 150);
}

TEST_F(RotatedMeanwhile, AFileThatWasEmptiedOrIsGoneWaitsForTheNextRun) {
  dir_.Write("app.log", Numbered(1, 100));
  std::string said = RefusedAfter("app.log", [&] {
    std::filesystem::copy(dir_ / "app.log", dir_ / "app.log.1");
    dir_.Write("app.log", Numbered(101, 110));
  });
  EXPECT_TRUE(HasLine(said, Replaced("app.log"))) << said;
  ExpectRead(Read("app.log.1 app.log"), 110);
  std::ofstream(dir_ / "app.log", std::ios::app) << Numbered(111, 120);
  said = RefusedAfter("app.log", [&] { Move("app.log", "app.log.1"); });
  EXPECT_TRUE(HasLine(said, "pleat fold: " + (dir_ / "app.log") + ": No such file")) << said;
  EXPECT_EQ(Stat(Read("app.log.1"), "events"), 122) << "the second line of the pipe, too";
}

TEST_F(RotatedMeanwhile, AFileInThePlaceOfAPipeIsNotReadWithoutAPlace) {
  ASSERT_EQ(mkfifo((dir_ / "app.log").c_str(), 0600), 0);
  const std::string said = RefusedAfter("app.log", [&] {
    std::filesystem::remove(dir_ / "app.log");
    dir_.Write("app.log", Numbered(1, 10));
  });
  EXPECT_TRUE(HasLine(said, Replaced("app.log"))) << said;
  ExpectRead(Read("app.log"), 10);
  ExpectRead(Read("app.log"), 10);
}

}  // namespace
}  // namespace pleat::cli
