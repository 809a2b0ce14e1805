// Two names of one file are told from two files, also if the file is yet to be made.
#include "tools/pleat/named_files.h"

#include <fcntl.h>

#include "tests/support/temporary_directory.h"

namespace pleat::cli {
namespace {

bool Overwrites(const std::string& input, const std::string& output) {
  const NamedFile inputs[] = {NamedInput(input)};
  const NamedFile outputs[] = {NamedOutput("--output", output)};
  return !CheckNoneOverwritten(inputs, outputs).ok();
}

bool Overwrite(const std::string& one, const std::string& other) {
  const NamedFile outputs[] = {NamedOutput("--late", one), NamedOutput("--invalid", other)};
  return !CheckNoneOverwritten({}, outputs).ok();
}

TEST(NamedFiles, LinksLeadToTheFileTheyStandFor) {
  TemporaryDirectory dir;
  const std::string file = dir.Write("file", "");
  ASSERT_EQ(symlink("file", (dir / "symbolic").c_str()), 0);
  ASSERT_EQ(link(file.c_str(), (dir / "hard").c_str()), 0);
  for (const char* name : {"file", "./file", "symbolic", "hard"}) {
    EXPECT_TRUE(Overwrites(file, dir / name)) << name;
    EXPECT_TRUE(Overwrite(file, dir / name)) << name;
  }
  EXPECT_FALSE(Overwrites(file, dir.Write("another", "")));
  EXPECT_FALSE(Overwrites(file, dir / "new"));
}

TEST(NamedFiles, FileYetToBeMadeIsToldByItsDirectoryAndName) {
  TemporaryDirectory dir;
  TemporaryDirectory elsewhere;
  ASSERT_EQ(symlink("new", (dir / "link").c_str()), 0);
  for (const char* name : {"new", "./new", "link"}) EXPECT_TRUE(Overwrite(dir / "new", dir / name));
  EXPECT_FALSE(Overwrite(dir / "new", dir / "other"));
  EXPECT_FALSE(Overwrite(dir / "new", elsewhere / "new"));
  EXPECT_FALSE(Overwrite("", ""));
}

TEST(NamedFiles, WhatIsNoRegularFileCanBeSharedByAll) {
  EXPECT_FALSE(Overwrite("/dev/null", "/dev/null"));
  EXPECT_FALSE(Overwrites("/dev/null", "/dev/null"));
  EXPECT_FALSE(Overwrite("/no/such/place", "/no/such/place"));
}

TEST(NamedFiles, OpenDescriptorsFollowOneAnother) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("file", "");
  const int fd = open(path.c_str(), O_WRONLY);
  const std::string name = "/dev/fd/" + std::to_string(fd);
  EXPECT_EQ(DescriptorNamed(name), fd);
  EXPECT_FALSE(Overwrite(name, name));
  EXPECT_TRUE(Overwrite(name, path));
  EXPECT_TRUE(Overwrites(path, name));
  close(fd);
}

TEST(NamedFiles, LinksAreFollowedToWhatIsNotThereYet) {
  TemporaryDirectory dir;
  ASSERT_EQ(symlink("b", (dir / "a").c_str()), 0);
  ASSERT_EQ(symlink("/nowhere/c", (dir / "b").c_str()), 0);
  EXPECT_EQ(FollowLinks(dir / "a"), "/nowhere/c");
  EXPECT_EQ(FollowLinks("plain"), "plain");
  ASSERT_EQ(symlink("round", (dir / "round").c_str()), 0);
  EXPECT_EQ(FollowLinks(dir / "round"), dir / "round");
}

}  // namespace
}  // namespace pleat::cli
