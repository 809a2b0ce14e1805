// What only the files of the system have: modes, links, other kinds of files, other processes.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/untyped/storage.h>

#include "tests/support/storage_files.h"
#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PosixStorageTest : public testing::Test {
 protected:
  static absl::StatusOr<std::unique_ptr<StorageDirectory>> Open(
      const std::string& path, IfMissing if_missing = IfMissing::kCreate) {
    return PosixStorage().OpenDirectory(path, if_missing);
  }

  static unsigned ModeOf(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(lstat(path.c_str(), &found), 0);
    return found.st_mode & 07777;
  }

  void Link(std::string_view target, const std::string& path) {
    ASSERT_EQ(symlink(std::string(target).c_str(), path.c_str()), 0);
  }

  TemporaryDirectory above_;
  const std::string path_ = above_ / "files";
  std::unique_ptr<StorageDirectory> directory_ = *Open(path_);
};

TEST_F(PosixStorageTest, AllIsForTheOwnerAlone) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  ASSERT_TRUE(directory_->Lock().ok());
  EXPECT_EQ(ModeOf(path_), 0700u);
  EXPECT_EQ(ModeOf(path_ + "/a"), 0600u);
  EXPECT_EQ(ModeOf(path_ + "/LOCK"), 0600u);
}

TEST_F(PosixStorageTest, ALinkToADirectoryIsRefused) {
  Link("files", above_ / "link");
  Link("missing", above_ / "dangling");
  for (const char* name : {"link", "link/", "link//", "dangling", "dangling/"}) {
    for (const IfMissing if_missing : {IfMissing::kFail, IfMissing::kCreate}) {
      const absl::Status refused = Open(above_ / name, if_missing).status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << name;
      EXPECT_THAT(refused.message(), HasSubstr(" is a symbolic link")) << name;
    }
  }
  EXPECT_THAT(above_.Names(), ElementsAre("dangling", "files", "link"));
  EXPECT_THAT(TemporaryDirectory::Names(above_ / "files"), IsEmpty());
}

TEST_F(PosixStorageTest, ALinkAboveIsFollowed) {
  Link(above_.path(), above_ / "link");
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  const auto same = Open(above_ / "link/files");
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(ReadWhole(**same, "a").value(), "text");
}

TEST_F(PosixStorageTest, AFileIsNoDirectory) {
  above_.Write("file", "text");
  for (const IfMissing if_missing : {IfMissing::kFail, IfMissing::kCreate}) {
    const absl::Status refused = Open(above_ / "file", if_missing).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("Not a directory"));
  }
  EXPECT_EQ(Open(above_ / "a/b").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Open("").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Open(std::string("a\0b", 3)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PosixStorageTest, ALinkToAFileIsNeitherReadNorWrittenNorLocked) {
  const std::string outside = above_.Write("outside", "secret");
  Link(outside, path_ + "/link");
  Link(outside, path_ + "/LOCK");
  Link(above_ / "missing", path_ + "/dangling");
  const absl::Status opened = directory_->OpenFile("link").status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(opened.message(), path_ + "/link is a symbolic link");
  const absl::Status locked = directory_->Lock();
  EXPECT_EQ(locked.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(locked.message(), path_ + "/LOCK is a symbolic link");
  for (const char* name : {"link", "dangling"}) {
    EXPECT_EQ(directory_->CreateFile(name).status().code(), absl::StatusCode::kAlreadyExists);
  }
  EXPECT_EQ(Content(outside), "secret");
  EXPECT_THAT(above_.Names(), ElementsAre("files", "outside"));

  EXPECT_TRUE(directory_->Remove("link").ok());
  EXPECT_EQ(Content(outside), "secret");
}

TEST_F(PosixStorageTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo((path_ + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkdir((path_ + "/inner").c_str(), 0700), 0);
  for (const char* name : {"pipe", "inner"}) {
    const absl::Status refused = directory_->OpenFile(name).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << name;
    EXPECT_EQ(refused.message(), path_ + "/" + name + " is no regular file");
  }
  EXPECT_THAT(directory_->List().value(), ElementsAre("inner", "pipe"));
  EXPECT_EQ(directory_->Remove("inner").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PosixStorageTest, ANameThatIsTooLongIsInvalid) {
  EXPECT_EQ(directory_->CreateFile(std::string(300, 'a')).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(PosixStorageTest, ADirectoryThatWasReplacedIsNotTouched) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "ours").ok());
  std::filesystem::rename(path_, above_ / "moved");
  std::filesystem::create_directory(path_);
  above_.Write("files/a", "theirs");
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), "ours");
  ASSERT_TRUE(directory_->Rename("a", "b").ok());
  ASSERT_TRUE(WriteFile(*directory_, "c", "more").ok());
  ASSERT_TRUE(directory_->SyncDirectory().ok());
  EXPECT_THAT(directory_->List().value(), ElementsAre("b", "c"));
  EXPECT_THAT(TemporaryDirectory::Names(path_), ElementsAre("a"));
  EXPECT_THAT(TemporaryDirectory::Names(above_ / "moved"), ElementsAre("b", "c"));
}

TEST_F(PosixStorageTest, InADirectoryThatIsGoneNothingIsFound) {
  std::filesystem::remove_all(path_);
  EXPECT_EQ(directory_->CreateFile("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(directory_->Lock().code(), absl::StatusCode::kNotFound);
}

TEST_F(PosixStorageTest, WhatIsForbiddenIsSaid) {
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  ASSERT_EQ(chmod((path_ + "/a").c_str(), 0), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0500), 0);
  ASSERT_EQ(chmod(above_.path().c_str(), 0711), 0);
  // Root may do it all, so it is somebody else who tries.
  const auto tries = [&] {
    if (geteuid() == 0 && (chown(path_.c_str(), 65534, 65534) != 0 || setuid(65534) != 0)) return 9;
    const auto is_denied = [](const absl::Status& status) {
      return status.code() == absl::StatusCode::kPermissionDenied;
    };
    if (!is_denied(directory_->CreateFile("b").status())) return 1;
    if (!is_denied(directory_->OpenFile("a").status())) return 2;
    if (!is_denied(directory_->Remove("a"))) return 3;
    if (!is_denied(directory_->Rename("a", "b"))) return 4;
    if (!is_denied(directory_->Lock())) return 5;
    if (!is_denied(Open(path_ + "/inner").status())) return 6;
    return 0;
  };
  EXPECT_EXIT(std::exit(tries()), testing::ExitedWithCode(0), "");
  chmod(path_.c_str(), 0700);
}

// A limit of the process stands in for a disk that is full: it cuts a write short and refuses the
// next one.
TEST_F(PosixStorageTest, AWriterThatHasFailedFailsForEver) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto writer = *directory_->CreateFile("a");
  rlimit limited = before;
  limited.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const absl::Status full = writer->Append(std::string(1500, 'a'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);

  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(), "cannot write to " + path_ + "/a: File too large");
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), std::string(1000, 'a'));
  EXPECT_EQ(writer->Append("b"), full);
  EXPECT_EQ(writer->Sync(), full);
  EXPECT_TRUE(writer->Close().ok());
}

// A process that has locked the directory, or whatever else `act` does there, and stays.
class Holder {
 public:
  template <class Act>
  explicit Holder(const Act& act) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      act();
      if (write(ready[1], "r", 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
  }
  ~Holder() { Kill(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = -1;
};

TEST_F(PosixStorageTest, TheLockOfAnotherProcessNamesItAndEndsWithIt) {
  std::unique_ptr<StorageDirectory> held;
  Holder holder([&] {
    held = *Open(path_);
    if (!held->Lock().ok()) _exit(1);
  });
  const absl::Status locked = directory_->Lock();
  EXPECT_EQ(locked.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(locked.message(), path_ + " is locked by process " + holder.pid());
  EXPECT_EQ(Content(path_ + "/LOCK"), holder.pid());
  holder.Kill();
  EXPECT_TRUE(directory_->Lock().ok());
  EXPECT_EQ(Content(path_ + "/LOCK"), std::to_string(getpid()));
}

TEST_F(PosixStorageTest, AChildSharesTheLockUnlessItIsAnotherProgram) {
  ASSERT_TRUE(directory_->Lock().ok());
  Holder child([] {});
  directory_ = nullptr;
  auto other = *Open(path_);
  EXPECT_EQ(other->Lock().code(), absl::StatusCode::kUnavailable);
  child.Kill();
  ASSERT_TRUE(other->Lock().ok());

  Subprocess program({"/bin/cat"});
  program.Write("started");
  ASSERT_TRUE(program.AwaitOut("started"));
  other = nullptr;
  EXPECT_TRUE((*Open(path_))->Lock().ok());
  EXPECT_EQ(program.Wait(), 0);
}

TEST_F(PosixStorageTest, ALockWithoutANumberIsALock) {
  auto other = *Open(path_);
  ASSERT_TRUE(other->Lock().ok());
  for (const char* text : {"", "garbage\n", "12 "}) {
    above_.Write("files/LOCK", text);
    EXPECT_EQ(directory_->Lock().message(), path_ + " is locked by another process");
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
