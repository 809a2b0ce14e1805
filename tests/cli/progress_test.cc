// What the line of progress says, in as many columns as there are.
#include "tools/pleat/progress.h"

#include <gtest/gtest.h>

namespace pleat::cli {
namespace {

using std::chrono::seconds;

constexpr Progress::State kState{
    .bytes = 25'000'000, .lines = 1'234'567, .found = 98'765, .found_what = "folded"};

std::string Text(size_t width, uint64_t bytes_total = 100'000'000) {
  return Progress::Text(kState, seconds(10), bytes_total, width);
}

TEST(ProgressText, SaysAllThereIsRoomFor) {
  EXPECT_EQ(Text(200), "25.0 MB  1,234,567 lines  123,456 lines/s  98,765 folded  25 %  30 s left");
  EXPECT_EQ(Text(200, 0), "25.0 MB  1,234,567 lines  123,456 lines/s  98,765 folded");
}

TEST(ProgressText, OneIsOne) {
  EXPECT_EQ(
      Progress::Text({.bytes = 22, .lines = 1, .found = 1, .found_what = "key"}, seconds(1), 0, 80),
      "22 B  1 line  1 lines/s  1 key");
}

TEST(ProgressText, SpeaksOfOtherThingsThanLines) {
  EXPECT_EQ(Progress::Text({.bytes = 22, .lines = 30, .line_what = "record"}, seconds(1), 44, 80),
            "22 B  30 records  30 records/s  50 %  1 s left");
}

TEST(ProgressText, LeavesOutWhatIsLessWanted) {
  EXPECT_EQ(Text(72), "25.0 MB  123,456 lines/s  98,765 folded  25 %  30 s left");
  EXPECT_EQ(Text(40), "25.0 MB  98,765 folded  25 %  30 s left");
  EXPECT_EQ(Text(30), "25.0 MB  25 %  30 s left");
  EXPECT_EQ(Text(20), "25.0 MB  30 s left");
  EXPECT_EQ(Text(10), "25.0 MB");
  EXPECT_EQ(Text(4), "25.0");
  for (size_t width = 0; width < 100; ++width) EXPECT_LE(Text(width).size(), width);
}

}  // namespace
}  // namespace pleat::cli
