// What a command chooses by itself.
#include "tools/pleat/job_options.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace pleat::cli {
namespace {

TEST(JobOptions, ThreadsAreForLargeFilesAndAtMostThree) {
  TemporaryDirectory dir;
  const std::string small = dir.Write("small", std::string((1 << 20) - 1, 'x'));
  const std::string large = dir.Write("large", std::string(1 << 20, 'x'));
  EXPECT_EQ(ThreadsFor({small}, 64), 1);
  EXPECT_EQ(ThreadsFor({small, small}, 64), 1);
  EXPECT_EQ(ThreadsFor({small, large}, 64), 3);
  EXPECT_EQ(ThreadsFor({large}, 2), 2);
  EXPECT_EQ(ThreadsFor({large}, 1), 1);
  EXPECT_EQ(ThreadsFor({large}, 0), 1);  // the system does not say
  EXPECT_EQ(ThreadsFor({"/dev/zero", dir / "none"}, 64), 1);
}

TEST(JobOptions, ThreadsThatWereGivenStay) {
  TemporaryDirectory dir;
  JobOptions options;
  options.inputs = {dir.Write("large", std::string(1 << 20, 'x'))};
  const Flag threads = CommonFlag(options, "threads", "their number");
  EXPECT_EQ(threads.value.text(), "");
  ASSERT_TRUE(threads.value.set("threads", "1").ok());
  EXPECT_EQ(threads.value.text(), "1");
  Complete(options);
  EXPECT_EQ(options.threads, 1);
}

}  // namespace
}  // namespace pleat::cli
