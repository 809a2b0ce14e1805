#include "engine/json/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat {
namespace {

using ::testing::ElementsAre;

TEST(Path, DotsNest) {
  EXPECT_THAT(*ParsePath("a"), ElementsAre("a"));
  EXPECT_THAT(*ParsePath("a.b.c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*ParsePath("a/b ~c"), ElementsAre("a/b ~c"));
}

TEST(Path, PointersDecodeTildes) {
  EXPECT_THAT(*ParsePath("/a/b"), ElementsAre("a", "b"));
  EXPECT_THAT(*ParsePath("/id.orig_h"), ElementsAre("id.orig_h"));
  EXPECT_THAT(*ParsePath("/a~1b/c~0d/~01"), ElementsAre("a/b", "c~d", "~1"));
  EXPECT_THAT(*ParsePath("/"), ElementsAre(""));
  EXPECT_THAT(*ParsePath("/a//b/"), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(*ParsePath("/0"), ElementsAre("0"));
}

TEST(Path, RefusesEmptyStepsAndUnknownTildes) {
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "/~", "/~2", "/a~", "/a~b"}) {
    EXPECT_FALSE(ParsePath(bad).ok()) << bad;
  }
}

TEST(PathTree, GivesOneSlotToOnePath) {
  PathTree paths;
  EXPECT_EQ(paths.Add({"a", "b"}), 0);
  EXPECT_EQ(paths.Add({"a"}), 1);
  EXPECT_EQ(paths.Add({"a", "b"}), 0);
  EXPECT_EQ(paths.slots(), 2);
}

}  // namespace
}  // namespace pleat
