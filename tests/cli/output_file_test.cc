// A file appears whole or not at all, and nothing that is not a file is ever replaced.
#include "tools/pleat/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temporary_directory.h"

namespace pleat::cli {
namespace {

using Mode = OutputFile::Mode;
using Names = std::vector<std::string>;

absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path, Mode mode) {
  return OutputFile::Create(NamedOutput("--output", path), mode);
}

TEST(OutputFile, AppearsUnderItsNameOnCommit) {
  TemporaryDirectory dir;
  auto file = *Create(dir / "out", Mode::kWhole);
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(access((dir / "out").c_str(), F_OK), -1);
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(dir / "out"), "one\n");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputFile, HasNoNameUntilItIsWhole) {
  TemporaryDirectory dir;
  const int fd = open(dir.path().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (fd < 0) GTEST_SKIP() << "files have names here";
  close(fd);
  // Of an earlier process of the same number.
  const std::string old = ".pleat-" + std::to_string(getpid()) + "-0";
  dir.Write(old, "old");
  auto file = *Create(dir / "out", Mode::kWhole);
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(dir.Names(), Names{old});
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(dir.Names(), (Names{old, "out"}));
  EXPECT_EQ(Content(dir / "out"), "one\n");
  EXPECT_EQ(Content(dir / old), "old");
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  TemporaryDirectory dir;
  dir.Write("out", "before");
  {
    auto file = *Create(dir / "out", Mode::kWhole);
    ASSERT_TRUE(file->Append("one\n").ok());
    ASSERT_TRUE(file->Flush().ok());
  }
  EXPECT_EQ(Content(dir / "out"), "before");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputFile, HasTheModeAnOrdinaryNewFileHas) {
  TemporaryDirectory dir;
  const mode_t old = umask(022);
  ASSERT_TRUE((*Create(dir / "out", Mode::kWhole))->Commit().ok());
  umask(old);
  struct stat info{};
  ASSERT_EQ(stat((dir / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST(OutputFile, KeepsTheModeOfTheFileItReplaces) {
  TemporaryDirectory dir;
  ASSERT_EQ(chmod(dir.Write("out", "before").c_str(), 0600), 0);
  ASSERT_TRUE((*Create(dir / "out", Mode::kWhole))->Commit().ok());
  struct stat info{};
  ASSERT_EQ(stat((dir / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(OutputFile, ReplacesWhatASymbolicLinkPointsTo) {
  TemporaryDirectory dir;
  dir.Write("target", "before");
  ASSERT_EQ(symlink("target", (dir / "link").c_str()), 0);
  auto file = *Create(dir / "link", Mode::kWhole);
  ASSERT_TRUE(file->Append("after").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(dir / "target"), "after");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
}

TEST(OutputFile, MakesWhatASymbolicLinkPointsTo) {
  TemporaryDirectory dir;
  ASSERT_EQ(mkdir((dir / "there").c_str(), 0777), 0);
  ASSERT_EQ(symlink("there/target", (dir / "link").c_str()), 0);
  ASSERT_EQ(symlink("link", (dir / "link to link").c_str()), 0);
  auto file = *Create(dir / "link to link", Mode::kWhole);
  ASSERT_TRUE(file->Append("after").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(dir / "there/target"), "after");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link to link"));
}

TEST(OutputFile, LinksThatGoRoundInCirclesAreAnError) {
  TemporaryDirectory dir;
  ASSERT_EQ(symlink("link", (dir / "link").c_str()), 0);
  EXPECT_EQ(Create(dir / "link", Mode::kWhole).status().message(),
            dir / "link" + ": Too many levels of symbolic links");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
}

TEST(OutputFile, KeepsTheOwnerOfTheFileItReplaces) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  TemporaryDirectory dir;
  const std::string path = dir.Write("out", "before");
  ASSERT_EQ(chown(path.c_str(), 12345, 23456), 0);
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE((*Create(path, Mode::kWhole))->Commit().ok());
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 12345u);
  EXPECT_EQ(info.st_gid, 23456u);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(OutputFile, WritesDirectlyToWhatIsNoRegularFile) {
  auto file = *Create("/dev/null", Mode::kWhole);
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, DirectoryIsAnError) {
  TemporaryDirectory dir;
  EXPECT_EQ(std::string(Create(dir.path(), Mode::kWhole).status().message()),
            dir.path() + ": Is a directory");
}

TEST(OutputFile, FullDiskIsAnErrorThatStays) {
  auto file = *Create("/dev/full", Mode::kStream);
  EXPECT_TRUE(file->Append("one\n").ok());
  EXPECT_EQ(std::string(file->Flush().message()), "/dev/full: No space left on device");
  EXPECT_FALSE(file->Append("two\n").ok());
  EXPECT_FALSE(file->Commit().ok());
}

TEST(OutputFile, AStreamGoesOnWhereItShouldOnceSomethingIsWritten) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("late", "before, and more");
  auto file = *Create(path, Mode::kStream);
  ASSERT_TRUE(file->GoOnAt(6).ok());
  EXPECT_TRUE(file->Flush().ok());
  EXPECT_EQ(Content(path), "before, and more");
  ASSERT_TRUE(file->Append(" after").ok());
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(Content(path), "before after");
  EXPECT_EQ(file->bytes_written(), 12u);
}

TEST(OutputFile, AStreamInWhichNothingIsWrittenIsCutWhenAskedTo) {
  TemporaryDirectory dir;
  for (const auto cut : {&OutputFile::Cut, &OutputFile::Sync, &OutputFile::Commit}) {
    const std::string path = dir.Write("late", "before, and more");
    auto file = *Create(path, Mode::kStream);
    ASSERT_TRUE(file->GoOnAt(6).ok());
    EXPECT_TRUE((*file.*cut)().ok());
    EXPECT_EQ(Content(path), "before");
  }
}

}  // namespace
}  // namespace pleat::cli
