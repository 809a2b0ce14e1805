#include <pleat/time.h>

#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;

TEST(SaturatingAdd, KeepsToTheYears0001To9999) {
  const EngineTime t = FromUnix(1s);
  EXPECT_EQ(SaturatingAdd(t, 2us), FromUnix(1'000'002us));
  EXPECT_EQ(SaturatingAdd(t, kForever), kEndOfTime);
  EXPECT_EQ(SaturatingAdd(kEndOfTime, 1us), kEndOfTime);
  EXPECT_EQ(SaturatingAdd(kBeginningOfTime, -1us), kBeginningOfTime);
  EXPECT_EQ(SaturatingAdd(FromUnix(Duration::min()), Duration::min()), kBeginningOfTime);
  EXPECT_EQ(SaturatingAdd(FromUnix(Duration::max()), Duration::max()), kEndOfTime);
}

TEST(SaturatingSub, TakesEvenTheLeastDuration) {
  EXPECT_EQ(SaturatingSub(FromUnix(5s), 2s), FromUnix(3s));
  EXPECT_EQ(SaturatingSub(FromUnix(0s), Duration::min()), kEndOfTime);
  EXPECT_EQ(SaturatingSub(FromUnix(0s), kForever), kBeginningOfTime);
}

}  // namespace
}  // namespace pleat
