// A file system that really is full: a small one in memory (tmpfs), which a process mounts for itself
// alone and lets its state directory fill. Skipped where the kernel allows no such mount.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/state_directory.h>

#include "tests/state/small_service.h"
#include "tests/support/check_whole.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using testing::HasSubstr;

constexpr int kSkipped = 77;  // how the process ends that cannot mount

// The user of a new namespace is root there. Returns nothing, or what the kernel forbids.
std::string MountForMyself(const std::string& path, const char* options) {
  const auto says = [](std::string_view call) {
    return std::string(call) + ": " + strerror(errno);
  };
  const auto put = [](const char* file, const std::string& text) { std::ofstream(file) << text; };
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return says("unshare");
  put("/proc/self/setgroups", "deny");
  put("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
  put("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  if (mount("tmpfs", path.c_str(), "tmpfs", 0, options) != 0) return says("mount");
  return "";
}

// Runs `story` in a process that has a file system of its own at `path`.
void OnSmallDisk(const std::string& path, const char* options, const std::function<void()>& story) {
  int to_me[2];
  ASSERT_EQ(pipe(to_me), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string forbidden = MountForMyself(path, options);
    if (!forbidden.empty()) {
      const bool told = write(to_me[1], forbidden.data(), forbidden.size()) >= 0;
      _exit(told ? kSkipped : 1);
    }
    story();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(to_me[1]);
  char why[200] = {};
  const ssize_t size = read(to_me[0], why, sizeof why - 1);
  close(to_me[0]);
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  ASSERT_TRUE(WIFEXITED(ended)) << "the process was ended by signal " << WTERMSIG(ended);
  if (WEXITSTATUS(ended) == kSkipped) {
    GTEST_SKIP() << "no file system can be mounted here: "
                 << std::string(why, size > 0 ? static_cast<size_t>(size) : 0);
  }
  EXPECT_EQ(WEXITSTATUS(ended), 0) << "see above";
}

class FullDisk : public testing::Test {
 protected:
  // On the disk: what takes the room, and the state directory.
  std::string Ballast(int i) const { return path_ + "/ballast" + std::to_string(i); }
  std::string Notes() const { return path_ + "/notes"; }

  void PutBallast(int i, size_t bytes) const {
    std::ofstream(Ballast(i), std::ios::binary) << std::string(bytes, 'b');
  }

  absl::Status Recover(SmallService& service) const {
    return service.Recover(Notes(), {.compress = false}).status();
  }

  // Every event once, each in its group and in order.
  static void ExpectEvents(const SmallService& service, uint64_t count) {
    EXPECT_EQ(service.Position(), count);
    EXPECT_EQ(service.notes.ledger().events, count);
    for (uint64_t key = 0; key < 5; ++key) {
      const auto group = service.notes.Peek("key " + std::to_string(key));
      ASSERT_TRUE(group.has_value());
      std::vector<uint64_t> expected;
      for (uint64_t i = key; i < count; i += 5) expected.push_back(i);
      EXPECT_EQ(group->state.numbers, expected);
    }
    CheckWhole(service.notes.any());
  }

  // What is told, and what is on the disk then.
  void ExpectFull(SmallService& service, uint64_t snapshot) const {
    const absl::Status taken = service.TakeSnapshot();
    EXPECT_EQ(taken.code(), absl::StatusCode::kResourceExhausted) << taken;
    EXPECT_THAT(taken.message(), HasSubstr("No space left on device"));
    EXPECT_THAT(taken.message(), HasSubstr(Notes() + "/"));
    EXPECT_EQ(service.directory->state().last, taken);
    EXPECT_THAT(NamesIn(PosixStorage(), Notes()),
                testing::ElementsAre("MANIFEST", "snapshot-" + std::to_string(snapshot)));
  }

  // A state directory meets a full disk behind its snapshot number `snapshot`, which has `whole`
  // events, and goes on in memory. The next process can recover if there is room for a new
  // MANIFEST, in which processes are counted, and is told otherwise. Then there is room.
  void GoOnBehind(std::unique_ptr<SmallService> service, uint64_t whole, uint64_t snapshot,
                  bool recovers, const std::function<void()>& make_room) const {
    for (int i = 0; i < 3; ++i) {
      ExpectFull(*service, snapshot);
      service->Read(100);
    }
    const uint64_t all = service->Position();
    ExpectEvents(*service, all);
    service.reset();

    SmallService next;
    absl::Status recovered = Recover(next);
    if (recovers) {
      ASSERT_TRUE(recovered.ok()) << recovered;
      ExpectEvents(next, whole);
      next.Read(all - whole);
      ExpectFull(next, snapshot);
      make_room();
    } else {
      EXPECT_EQ(recovered.code(), absl::StatusCode::kResourceExhausted) << recovered;
      EXPECT_THAT(recovered.message(), HasSubstr(Notes() + "/MANIFEST"));
      EXPECT_EQ(next.notes.ledger(), Ledger()) << "the engine is as it was";
      make_room();
      recovered = next.directory->Recover(*next.engine).status();
      ASSERT_TRUE(recovered.ok()) << recovered;
      ExpectEvents(next, whole);
      next.Read(all - whole);
    }
    const absl::Status taken = next.TakeSnapshot();
    EXPECT_TRUE(taken.ok()) << taken;
    EXPECT_EQ(NamesIn(PosixStorage(), Notes()).size(), 2u);
    next.directory.reset();

    SmallService last;
    ASSERT_TRUE(Recover(last).ok());
    ExpectEvents(last, all);
  }

  // Snapshots grow until two of them have no room beside each other.
  void FillWithSnapshots(bool to_the_last_byte) const {
    PutBallast(0, 200'000);
    auto service = std::make_unique<SmallService>();
    ASSERT_TRUE(Recover(*service).ok());
    uint64_t whole = 0;
    uint64_t snapshot = 0;
    for (service->Read(5);; service->Read(4'000)) {
      ASSERT_LT(snapshot, 100u) << "the disk is never full";
      if (!service->TakeSnapshot().ok()) break;
      whole = service->Position();
      ++snapshot;
    }
    EXPECT_GT(snapshot, 2u);
    if (to_the_last_byte) PutBallast(1, 400'000);  // as much of it as there is room for
    GoOnBehind(std::move(service), whole, snapshot, !to_the_last_byte,
               [this] { std::filesystem::remove(Ballast(0)); });
  }

  TemporaryDirectory above_;
  const std::string path_ = above_.path();
};

TEST_F(FullDisk, OneThatTheStateDirectoryFillsIsToldAndLosesNothing) {
  OnSmallDisk(path_, "size=400k", [this] { FillWithSnapshots(false); });
}

TEST_F(FullDisk, OneWithoutAByteOfRoomIsToldAndLosesNothing) {
  OnSmallDisk(path_, "size=400k", [this] { FillWithSnapshots(true); });
}

// There are bytes enough, and no more files.
TEST_F(FullDisk, OneWithoutRoomForAFileIsToldAndLosesNothing) {
  OnSmallDisk(path_, "size=4m,nr_inodes=12", [this] {
    auto service = std::make_unique<SmallService>();
    ASSERT_TRUE(Recover(*service).ok());
    service->Read(5);
    ASSERT_TRUE(service->TakeSnapshot().ok());
    int files = 0;
    while (std::ofstream(Ballast(files)).is_open()) ASSERT_LT(++files, 12);
    ASSERT_GE(files, 2);
    service->Read(100);
    GoOnBehind(std::move(service), 5, 1, false, [this] {
      std::filesystem::remove(Ballast(0));
      std::filesystem::remove(Ballast(1));
    });
  });
}

}  // namespace
}  // namespace pleat::inline v0_1
