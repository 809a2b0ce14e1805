// A file appears whole or not at all, and nothing that is not a file is ever replaced.
#include "tools/pleat/output_file.h"

#include <sys/stat.h>

#include "tests/cli/fixtures.h"

namespace pleat {
namespace {

using Mode = OutputFile::Mode;
using Names = std::vector<std::string>;

TEST(OutputFile, AppearsUnderItsNameOnCommit) {
  TemporaryDirectory dir;
  auto file = *OutputFile::Create(dir / "out", Mode::kWhole);
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(access((dir / "out").c_str(), F_OK), -1);
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(dir / "out"), "one\n");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  TemporaryDirectory dir;
  dir.Write("out", "before");
  {
    auto file = *OutputFile::Create(dir / "out", Mode::kWhole);
    ASSERT_TRUE(file->Append("one\n").ok());
    ASSERT_TRUE(file->Flush().ok());
  }
  EXPECT_EQ(Content(dir / "out"), "before");
  EXPECT_EQ(dir.Names(), Names{"out"});
}

TEST(OutputFile, HasTheModeAnOrdinaryNewFileHas) {
  TemporaryDirectory dir;
  const mode_t old = umask(022);
  ASSERT_TRUE((*OutputFile::Create(dir / "out", Mode::kWhole))->Commit().ok());
  umask(old);
  struct stat info{};
  ASSERT_EQ(stat((dir / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

TEST(OutputFile, KeepsTheModeOfTheFileItReplaces) {
  TemporaryDirectory dir;
  ASSERT_EQ(chmod(dir.Write("out", "before").c_str(), 0600), 0);
  ASSERT_TRUE((*OutputFile::Create(dir / "out", Mode::kWhole))->Commit().ok());
  struct stat info{};
  ASSERT_EQ(stat((dir / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(OutputFile, ReplacesWhatASymbolicLinkPointsTo) {
  TemporaryDirectory dir;
  dir.Write("target", "before");
  ASSERT_EQ(symlink("target", (dir / "link").c_str()), 0);
  auto file = *OutputFile::Create(dir / "link", Mode::kWhole);
  ASSERT_TRUE(file->Append("after").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(dir / "target"), "after");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
}

TEST(OutputFile, WritesDirectlyToWhatIsNoRegularFile) {
  auto file = *OutputFile::Create("/dev/null", Mode::kWhole);
  ASSERT_TRUE(file->Append("one\n").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputFile, MissingDirectoryIsAnErrorAtOnce) {
  TemporaryDirectory dir;
  for (const Mode mode : {Mode::kWhole, Mode::kStream}) {
    const auto file = OutputFile::Create(dir / "no/out", mode);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(std::string(file.status().message()), dir / "no/out" + ": No such file or directory");
  }
}

TEST(OutputFile, DirectoryIsAnError) {
  TemporaryDirectory dir;
  EXPECT_EQ(std::string(OutputFile::Create(dir.path(), Mode::kWhole).status().message()),
            dir.path() + ": Is a directory");
}

TEST(OutputFile, FullDiskIsAnErrorThatStays) {
  auto file = *OutputFile::Create("/dev/full", Mode::kStream);
  EXPECT_TRUE(file->Append("one\n").ok());
  EXPECT_EQ(std::string(file->Flush().message()), "/dev/full: No space left on device");
  EXPECT_FALSE(file->Append("two\n").ok());
  EXPECT_FALSE(file->Commit().ok());
}

TEST(OutputFile, StreamIsEmptiedOnlyWhenAskedTo) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("late", "before");
  auto file = *OutputFile::Create(path, Mode::kStream);
  EXPECT_TRUE(file->Is(path));
  EXPECT_FALSE(file->Is(dir.path()));
  EXPECT_EQ(Content(path), "before");
  ASSERT_TRUE(file->StartOver().ok());
  ASSERT_TRUE(file->Append("after").ok());
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(Content(path), "after");
}

}  // namespace
}  // namespace pleat
