// Each call of PosixStorage() when the system says no, cuts it short or is interrupted.
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/untyped/storage.h>

#include "tests/state/failing_system.h"
#include "tests/support/storage_files.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::HasSubstr;

class PosixFaultsTest : public testing::Test {
 protected:
  ~PosixFaultsTest() override { g_fault = {}; }

  TemporaryDirectory above_;
  const std::string path_ = above_ / "files";
  std::unique_ptr<StorageDirectory> directory_ =
      *PosixStorage().OpenDirectory(path_, IfMissing::kCreate);
};

// Each function that calls the system, by the call that fails in it.
std::vector<std::pair<std::string_view, std::function<absl::Status()>>> CallsOf(
    StorageDirectory& directory, StorageWriter& writer, StorageReader& reader) {
  const auto open = [&directory](IfMissing if_missing) {
    return PosixStorage().OpenDirectory(directory.path(), if_missing).status();
  };
  const auto read = [&reader] {
    char buffer[4];
    return reader.ReadAt(0, absl::MakeSpan(buffer)).status();
  };
  return {{"write", [&writer] { return writer.Append("more"); }},
          {"fdatasync", [&writer] { return writer.Sync(); }},
          {"close", [&writer] { return writer.Close(); }},
          {"pread", read},
          {"openat", [&directory] { return directory.CreateFile("new").status(); }},
          {"openat", [&directory] { return directory.OpenFile("a").status(); }},
          {"openat", [&directory] { return directory.List().status(); }},
          {"openat", [&directory] { return directory.Lock(); }},
          {"flock", [&directory] { return directory.Lock(); }},
          {"renameat", [&directory] { return directory.Rename("a", "c"); }},
          {"unlinkat", [&directory] { return directory.Remove("a"); }},
          {"fsync", [&directory] { return directory.SyncDirectory(); }},
          {"mkdir", [open] { return open(IfMissing::kCreate); }},
          {"fsync", [open] { return open(IfMissing::kCreate); }},
          {"openat", [open] { return open(IfMissing::kCreate); }}};
}

TEST_F(PosixFaultsTest, EachErrorOfEachCallIsToldWithPathAndReason) {
  const std::map<int, absl::StatusCode> errors = {
      {EIO, absl::StatusCode::kInternal},
      {ENOSPC, absl::StatusCode::kResourceExhausted},
      {EDQUOT, absl::StatusCode::kResourceExhausted},
      {EMFILE, absl::StatusCode::kResourceExhausted},
      {ENFILE, absl::StatusCode::kResourceExhausted},
      {ENOMEM, absl::StatusCode::kResourceExhausted},
      {EROFS, absl::StatusCode::kPermissionDenied},
      {EPERM, absl::StatusCode::kPermissionDenied},
      {ENOENT, absl::StatusCode::kNotFound},
      {ELOOP, absl::StatusCode::kFailedPrecondition},
      {EISDIR, absl::StatusCode::kFailedPrecondition},
  };
  ASSERT_TRUE(WriteFile(*directory_, "a", "text").ok());
  const auto reader = *directory_->OpenFile("a");
  for (const auto& [error, code] : errors) {
    for (size_t i = 0;; ++i) {
      const auto writer = *directory_->CreateFile("b");
      const auto calls = CallsOf(*directory_, *writer, *reader);
      ASSERT_TRUE(directory_->Remove("b").ok());
      if (i == calls.size()) break;
      g_fault = {.call = calls[i].first, .error = error, .times = 1};
      const absl::Status failed = calls[i].second();
      g_fault = {};
      EXPECT_EQ(failed.code(), code) << i << " " << failed;
      EXPECT_THAT(failed.message(), HasSubstr("cannot ")) << i;
      EXPECT_THAT(failed.message(), HasSubstr(path_)) << i;
      EXPECT_THAT(failed.message(), HasSubstr(strerror(error))) << i;
    }
  }
  EXPECT_TRUE(directory_->Lock().ok());
}

TEST_F(PosixFaultsTest, InterruptionsAreNotSeen) {
  for (const char* call : {"write", "pread", "fdatasync", "fsync", "close", "openat", "flock"}) {
    g_fault = {.call = call, .error = EINTR, .times = call == std::string_view("close") ? 1 : 3};
    auto other = PosixStorage().OpenDirectory(path_, IfMissing::kCreate);
    ASSERT_TRUE(other.ok()) << call;
    EXPECT_TRUE((*other)->Lock().ok()) << call;
    EXPECT_TRUE(WriteFile(**other, "a", "text").ok()) << call;
    EXPECT_EQ(ReadWhole(**other, "a").value(), "text") << call;
    EXPECT_TRUE((*other)->SyncDirectory().ok()) << call;
    EXPECT_TRUE((*other)->Remove("a").ok()) << call;
    EXPECT_EQ(g_fault.times, 0) << call;
  }
}

TEST_F(PosixFaultsTest, ShortWritesAndReadsGoOn) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::to_string(i);
  g_fault = {.call = "write", .most = 7};
  ASSERT_TRUE(WriteFile(*directory_, "a", bytes).ok());
  EXPECT_GT(g_fault.seen, 400);
  g_fault = {.call = "pread", .most = 7};
  EXPECT_EQ(ReadWhole(*directory_, "a").value(), bytes);
  EXPECT_GT(g_fault.seen, 400);
}

TEST_F(PosixFaultsTest, AWriteThatDoesNothingIsAnError) {
  const auto writer = *directory_->CreateFile("a");
  g_fault = {.call = "write", .most = 0};
  EXPECT_EQ(writer->Append("text").code(), absl::StatusCode::kInternal);
}

TEST_F(PosixFaultsTest, ASyncIsNotTriedAgain) {
  const auto writer = *directory_->CreateFile("a");
  ASSERT_TRUE(writer->Append("text").ok());
  g_fault = {.call = "fdatasync", .error = EIO, .times = 1};
  const absl::Status failed = writer->Sync();
  EXPECT_EQ(failed.message(), "cannot sync " + path_ + "/a: Input/output error");
  EXPECT_EQ(writer->Sync(), failed);
  EXPECT_EQ(writer->Append("more"), failed);
  EXPECT_EQ(g_fault.seen, 1);
}

// The one that found it may have been killed before it synced the directory above.
TEST_F(PosixFaultsTest, ADirectoryThatIsFoundIsSyncedIntoTheOneAbove) {
  g_fault = {.call = "fsync"};
  ASSERT_TRUE(PosixStorage().OpenDirectory(path_, IfMissing::kCreate).ok());
  EXPECT_EQ(g_fault.seen, 1);
  ASSERT_TRUE(PosixStorage().OpenDirectory(path_, IfMissing::kFail).ok());
  EXPECT_EQ(g_fault.seen, 1);
}

TEST_F(PosixFaultsTest, ADirectoryAboveThatCannotBeReadIsNoObstacle) {
  g_fault = {.call = "openat", .error = EACCES, .times = 1};
  EXPECT_TRUE(PosixStorage().OpenDirectory(path_, IfMissing::kCreate).ok());
  EXPECT_EQ(g_fault.times, 0);
}

}  // namespace
}  // namespace pleat::inline v0_1
