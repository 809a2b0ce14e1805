#include "engine/lines/scan/path.h"

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
  for (const char* invalid : {"", ".", "a.", ".a", "a..b", "/~", "/~2", "/a~", "/a~b"}) {
    EXPECT_FALSE(ParsePath(invalid).ok()) << invalid;
  }
}

TEST(Path, IndexIsDigitsWithoutALeadingZero) {
  EXPECT_EQ(IndexOf("0"), 0u);
  EXPECT_EQ(IndexOf("10"), 10u);
  EXPECT_EQ(IndexOf("1048576"), 1048576u);
  for (const char* none :
       {"", "00", "01", "-1", "+1", "1.0", "a", "1a", " 1", "4294967295", "99999999"}) {
    EXPECT_EQ(IndexOf(none), kNoIndex) << none;
  }
}

TEST(PathTree, StepThatIsAnIndexLeadsToMemberAndElement) {
  PathTree paths;
  paths.Add({"a", "2"});
  paths.Add({"a", "b"});
  const int a = paths.Child(PathTree::kRoot, "a", Fingerprint("a"));
  EXPECT_EQ(paths.Elements(a), 3u);
  EXPECT_EQ(paths.Element(a, 2), paths.Child(a, "2", Fingerprint("2")));
  EXPECT_EQ(paths.Element(a, 0), PathTree::kNone);
  EXPECT_EQ(paths.Elements(PathTree::kRoot), 0u);
  EXPECT_EQ(paths.Elements(PathTree::kNone), 0u);
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
