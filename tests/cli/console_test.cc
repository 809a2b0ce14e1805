// Help that nobody reads to its end.
#include "tools/pleat/console.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <stdio_ext.h>

namespace pleat::cli {
namespace {

// What Print() returns if `fd` stands for standard output.
int PrintTo(int fd, const std::string& text = "a text\n") {
  std::fflush(stdout);
  const int saved = dup(STDOUT_FILENO);
  dup2(fd, STDOUT_FILENO);
  const int code = Print(text);
  __fpurge(stdout);
  std::clearerr(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  return code;
}

TEST(Console, AReaderThatHasGoneIsNoFailure) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto before = signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(PrintTo(ends[1]), kExitDone);
  signal(SIGPIPE, before);
  close(ends[1]);
}

TEST(Console, AFullDiskIsAFailure) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_EQ(PrintTo(full), kExitFailed);
  close(full);
}

// One that does not fit into what stdio keeps back.
TEST(Console, SoItIsForALongText) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  EXPECT_EQ(PrintTo(full, std::string(100'000, 'x')), kExitFailed);
  close(full);
}

}  // namespace
}  // namespace pleat::cli
