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

TEST(FromUnix, KeepsToTheYears0001To9999InEveryUnit) {
  using namespace std::chrono;
  EXPECT_EQ(FromUnix(hours::max()), kEndOfTime);
  EXPECT_EQ(FromUnix(hours::min()), kBeginningOfTime);
  EXPECT_EQ(FromUnix(days(4'000'000)), kEndOfTime);
  EXPECT_EQ(FromUnix(milliseconds::max()), kEndOfTime);
  EXPECT_EQ(FromUnix(milliseconds::min()), kBeginningOfTime);
  EXPECT_EQ(FromUnix(microseconds::max()), kEndOfTime);
  EXPECT_EQ(FromUnix(microseconds::min()), kBeginningOfTime);
  EXPECT_EQ(FromUnix(duration<uint64_t>(UINT64_MAX)), kEndOfTime);
  EXPECT_EQ(FromUnix(duration<uint64_t, std::micro>(UINT64_MAX)), kEndOfTime);
  EXPECT_EQ(FromUnix(duration<uint64_t, std::micro>(uint64_t{1} << 63)), kEndOfTime);
  EXPECT_EQ(FromUnix(duration<int64_t, std::ratio<2, 3'000'000>>(INT64_MAX)), kEndOfTime);
  EXPECT_EQ(FromUnix(duration<int64_t, std::ratio<2, 3'000'000>>(INT64_MIN)), kBeginningOfTime);
  EXPECT_EQ(FromUnix(duration<int64_t, std::ratio<999'999, 1'000'003>>(INT64_MAX)), kEndOfTime);
  EXPECT_EQ(FromUnix(duration<double>(1e300)), kEndOfTime);
  EXPECT_EQ(FromUnix(duration<double>(-1e300)), kBeginningOfTime);
  EXPECT_EQ(FromUnix(duration<double, std::nano>(1e300)), kEndOfTime);
}

TEST(FromUnix, IsExactToTheEndOfTime) {
  using namespace std::chrono;
  EXPECT_EQ(FromUnix(253'402'300'799s), kEndOfTime - 999'999us);
  EXPECT_EQ(FromUnix(253'402'300'800s), kEndOfTime);
  EXPECT_EQ(FromUnix(-62'135'596'800s), kBeginningOfTime);
  EXPECT_EQ(FromUnix(-62'135'596'799s), kBeginningOfTime + 1s);
  EXPECT_EQ(FromUnix(nanoseconds(-1)), EngineTime{} - 1us);
  EXPECT_EQ(FromUnix(nanoseconds::max()), EngineTime{floor<microseconds>(nanoseconds::max())});
  EXPECT_EQ(FromUnix(duration<double>(1.5)), EngineTime{} + 1'500ms);
  EXPECT_EQ(FromUnix(duration<uint64_t, std::nano>(UINT64_MAX)),
            EngineTime{Duration{static_cast<int64_t>(UINT64_MAX / 1'000)}});
  EXPECT_EQ(FromUnix(duration<int64_t, std::ratio<1, 3>>(4)), EngineTime{} + 1'333'333us);
  EXPECT_EQ(FromUnix(duration<int64_t, std::ratio<1, 3>>(-4)), EngineTime{} - 1'333'334us);
  EXPECT_EQ(FromUnix(duration<uint32_t, std::ratio<60>>(2u)), EngineTime{} + 2min);
  EXPECT_EQ(FromUnix(duration<int16_t, std::ratio<3600>>(int16_t{-2})), EngineTime{} - 2h);
}

TEST(SaturatingSub, TakesEvenTheLeastDuration) {
  EXPECT_EQ(SaturatingSub(FromUnix(5s), 2s), FromUnix(3s));
  EXPECT_EQ(SaturatingSub(FromUnix(0s), Duration::min()), kEndOfTime);
  EXPECT_EQ(SaturatingSub(FromUnix(0s), kForever), kBeginningOfTime);
}

}  // namespace
}  // namespace pleat
