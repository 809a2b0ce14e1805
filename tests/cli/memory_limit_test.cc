// --max-memory and --max-groups as a user of `pleat fold` meets them: nothing is refused for what
// only waits to be written, the same is refused however the input comes, and memory stays within
// bounds.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/run_pleat.h"
#include "tests/support/resident.h"
#include "tests/support/sanitized.h"

namespace pleat::cli {
namespace {

std::string EventOfBytes(int64_t seconds, const std::string& key, size_t bytes) {
  return "{\"k\":\"" + key + "\",\"t\":" + std::to_string(seconds) + ",\"v\":\"" +
         std::string(bytes, 'x') + "\"}\n";
}

const std::string kByTime = "--key k --time t --time-unit s ";

// What comes of it by a file, with several threads, and by a pipe, which must be the same.
FoldResult FoldAllWays(const std::string& options, const std::string& input) {
  TemporaryDirectory dir;
  const std::string from_file = kByTime + options + " " + dir.Write("in", input);
  FoldResult file = Fold(from_file);
  const FoldResult threads = Fold(from_file + " --threads 3");
  EXPECT_TRUE(threads.out == file.out) << "too long to print";
  EXPECT_EQ(threads.stats, file.stats);
  const FoldResult pipe = Fold(kByTime + options, input);
  EXPECT_TRUE(pipe.out == file.out) << "too long to print";
  EXPECT_EQ(pipe.stats, file.stats);
  return file;
}

TEST(MemoryLimit, WhatWaitsToBeWrittenTakesNoRoom) {
  std::string input;
  for (int i = 0; i < 3'000; ++i) input += EventOfBytes(i * 10, "k" + std::to_string(i), 10'000);
  for (const std::string bytes : {"1Mi", "15000"}) {  // the latter has room for a single one
    const FoldResult r = FoldAllWays("--quiet 5s --raw 1 --max-memory " + bytes, input);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Stat(r, "over_limit"), 0);
    EXPECT_EQ(Stat(r, "emissions"), 3'000);
  }
}

TEST(MemoryLimit, TheSameIsRefusedHoweverTheInputComes) {
  std::string input;
  for (int i = 0; i < 20'000; ++i) {
    input +=
        EventOfBytes(i / 100, std::to_string(i * 7919 % 1'601), static_cast<size_t>(i * 31 % 997));
  }
  for (const std::string quiet : {"10s", "adaptive:5s..10s"}) {
    const FoldResult r = FoldAllWays("--quiet " + quiet + " --raw 10 --max-memory 200000", input);
    EXPECT_EQ(r.code, 1);
    EXPECT_GT(Stat(r, "over_limit"), 100);
    EXPECT_GT(Stat(r, "emissions"), 100);
  }
}

TEST(MemoryLimit, TheEventThatNeedsTheRoomTakesIt) {
  std::string input;
  for (int i = 0; i < 100; ++i) input += EventOfBytes(i, "a", 10'000);
  for (const std::string bytes : {"200000", "20000", "100"}) {
    const FoldResult r =
        FoldAllWays("--quiet 1h --raw 1000 --max-memory " + bytes + " --on-limit emit", input);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Stat(r, "over_limit"), 0);
    EXPECT_EQ(Stat(r, "opened") + Stat(r, "folded"), 100);
  }
}

TEST(MemoryLimit, TheOneThatWasMetIsNamed) {
  // Two of three groups, and three fifths of the memory, are taken when it has no room for the
  // third.
  const std::string input = EventOfBytes(0, "a", 0) + EventOfBytes(0, std::string(60'000, 'b'), 0) +
                            EventOfBytes(0, std::string(60'000, 'c'), 0);
  const std::string both = kByTime + "--quiet 1h --max-groups 3 --max-memory 100000";
  const FoldResult memory = Fold(both, input);
  EXPECT_EQ(memory.code, 1);
  EXPECT_EQ(
      memory.err,
      "<stdin>:3: event refused: --max-memory 100000 reached; further refusals are counted, not "
      "shown\n");
  const FoldResult groups =
      Fold(both, EventOfBytes(0, std::string(60'000, 'b'), 0) + EventOfBytes(0, "a", 0) +
                     EventOfBytes(0, "c", 0) + EventOfBytes(0, "d", 0));
  EXPECT_EQ(groups.err,
            "<stdin>:4: event refused: --max-groups 3 reached; further refusals are counted, not "
            "shown\n");
}

// `pleat fold` with each event in its group's output, within this much memory.
Finished RunWithin(const std::string& kilobytes, const std::string& more) {
  return RunToEnd({"/bin/sh", "-c",
                   "ulimit -v " + kilobytes + " && exec \"$0\" fold " + kByTime +
                       "--quiet 5s --raw 1 --quiet-summary " + more,
                   PleatProgram()});
}

TEST(MemoryLimit, LongLinesThatCloseSoonTakeLittle) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all the addresses there are";
  TemporaryDirectory dir;
  std::string input;
  for (int i = 0; i < 50; ++i) input += EventOfBytes(i * 10, std::to_string(i), 1'000'000);
  const std::string path = dir.Write("in", input);
  for (const std::string threads : {"1", "2"}) {
    const Finished r =
        RunWithin("80000", "--output " + (dir / "out") + " --threads " + threads + " " + path);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_GT(Content(dir / "out").size(), 50'000'000u);
  }
}

TEST(MemoryLimit, LongLinesThatCloseAtOnceTakeLittleMoreThanTheirGroups) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all the addresses there are";
  TemporaryDirectory dir;
  std::string input;
  for (int i = 0; i < 50; ++i) input += EventOfBytes(0, std::to_string(i), 1'000'000);
  const std::string path = dir.Write("in", input);
  const Finished r =
      RunWithin("130000", "--output " + (dir / "out") + " --open " + (dir / "open") + " " + path);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_GT(Content(dir / "out").size(), 50'000'000u);
}

// --- What a run holds, resident, at any time: a tenth more than --max-memory, and 16 MiB; 4 MiB more with
// the libraries of librdkafka

constexpr size_t kMiB = size_t{1} << 20;

struct ResidentRun {
  std::string words;
  std::string log = "log";

  friend std::ostream& operator<<(std::ostream& out, const ResidentRun& run) {
    return out << run.words << ", " << run.log;
  }
};

// A million keys, a thousand of them a second; or, in the log `at_once`, all with one stamp.
#ifdef PLEAT_CLI_KAFKA
constexpr size_t kBesideLimit = 20 * kMiB;
#else
constexpr size_t kBesideLimit = 16 * kMiB;
#endif

class ResidentMemory : public testing::TestWithParam<ResidentRun> {
 protected:
  static void SetUpTestSuite() {
    if (kSanitized) return;
    dir_ = new TemporaryDirectory;
    std::ofstream log(*dir_ / "log");
    std::ofstream at_once(*dir_ / "at_once");
    for (int i = 0; i < 1'000'000; ++i) {
      log << "{\"m\":\"member" << i << "\",\"t\":" << i / 1000 << "}\n";
      at_once << "{\"m\":\"member" << i << "\",\"t\":0}\n";
    }
    std::ofstream(*dir_ / "later") << "{\"m\":\"later\",\"t\":20000}\n";
  }
  static void TearDownTestSuite() { delete std::exchange(dir_, nullptr); }

  // The most that a run with these words held. A run that refuses events is one, too: its memory is
  // full.
  static size_t MostHeldBy(const std::string& words, const std::string& log) {
    Words argv = Pleat(words + " --time t --time-unit s --quiet-summary --output " +
                       (*dir_ / "out") + " " + (*dir_ / log) + " " + (*dir_ / "later"));
    std::vector<char*> arguments;
    for (std::string& word : argv) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    EXPECT_LT(ResidentBytes(), 24 * kMiB) << "what this process holds, a child holds at first";
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(open("/dev/null", O_RDWR), STDERR_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    int status = 0;
    rusage used{};
    EXPECT_EQ(wait4(pid, &status, 0, &used), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
    EXPECT_GT(std::filesystem::file_size(*dir_ / "out"), 1000u);
    return static_cast<size_t>(used.ru_maxrss) * 1024;
  }

  static std::string Aside(const std::string& name) { return *dir_ / name; }

 private:
  static inline TemporaryDirectory* dir_ = nullptr;
};

TEST_P(ResidentMemory, StaysWithinTheLimit) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory would be measured";
  auto [words, log] = GetParam();
  if (const size_t at = words.find("OPEN"); at != std::string::npos) {
    words.replace(at, 4, Aside("open"));
  }
  for (const size_t limit : {size_t{32'000'000}, size_t{100'000'000}}) {
    const size_t held = MostHeldBy(words + " --max-memory " + std::to_string(limit), log);
    EXPECT_LE(held, limit + limit / 10 + kBesideLimit) << GetParam() << ", limit " << limit;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, ResidentMemory,
    testing::Values(ResidentRun{"fold --key m --quiet 1h --at-end drop"},
                    ResidentRun{"fold --key m --quiet 1h", "at_once"},
                    ResidentRun{"fold --key m --quiet 9h"},
                    ResidentRun{"fold --key m --quiet 9h --close-every 1h"},
                    ResidentRun{"fold --key m --quiet 9h --raw 1"},
                    ResidentRun{"fold --key m --quiet 9h --open OPEN"},
                    ResidentRun{"fold --key m --quiet 9h --partial-every 100s"},
                    ResidentRun{"rollup --key m --window 1m --allowed-lateness 9h"},
                    ResidentRun{"rollup --key m --window 1m --allowed-lateness 9h --open OPEN"},
                    ResidentRun{"rollup --key m --window 1m,1h --allowed-lateness 9h"},
                    ResidentRun{"rollup --key m --window 1h --allowed-lateness 1h"},
                    ResidentRun{
                        "rollup --key m --window 1h --allowed-lateness 1h --on-late correct"},
                    ResidentRun{"live --key '' --member m --ttl 9h"},
                    ResidentRun{"live --key '' --member m --ttl 1h"},
                    ResidentRun{"live --key '' --member m --ttl 9h --open OPEN"},
                    ResidentRun{"live --key m --member t --ttl 9h --open OPEN"},
                    ResidentRun{"analyze --key m"}));

}  // namespace
}  // namespace pleat::cli
