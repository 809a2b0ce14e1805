// What docs/features.md names exists; and what finds that out finds it.
#include "tests/structure/named_tests.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat_structure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(NamedTests, AreFoundInSources) {
  EXPECT_THAT(
      TestsIn("TEST(A, One) {\n  TEST(B, NotHere)\n}\nTEST_F(C, Two) {\nTEST_P(D,\n     Three) {"),
      ElementsAre("A.One", "C.Two", "D.Three"));
}

TEST(NamedTests, AreFoundInTablesOnly) {
  EXPECT_THAT(TestsNamedIn("`A.Text`\n| `B.One`, `B.Two` | [x](semantics.md#x) | `a.b` | C.No |\n"),
              ElementsAre("B.One", "B.Two"));
}

TEST(NamedTests, SectionsAreFoundByTheirHeadings) {
  EXPECT_THAT(SectionsOf("# `closed`\ntext # no\n## What happens, in this order\n"),
              UnorderedElementsAre("closed", "what-happens-in-this-order"));
  EXPECT_THAT(SectionsLinkedIn("[a](b.md#c-d), [e](f.md), [g](b.md#h)"),
              ElementsAre("b.md#c-d", "b.md#h"));
}

TEST(FeatureTable, NamesTestsThatExist) {
  namespace fs = std::filesystem;
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(PLEAT_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() == ".cc") tests.merge(TestsIn(Read(entry.path())));
  }
  const std::vector<std::string> named =
      TestsNamedIn(Read(fs::path(PLEAT_SOURCE_DIR) / "docs/features.md"));
  EXPECT_GT(named.size(), 80u);
  std::vector<std::string> missing;
  for (const std::string& name : named) {
    if (!tests.contains(name)) missing.push_back(name);
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(FeatureTable, LinksToSectionsThatExist) {
  const std::filesystem::path docs = std::filesystem::path(PLEAT_SOURCE_DIR) / "docs";
  for (const std::string& link : SectionsLinkedIn(Read(docs / "features.md"))) {
    const size_t mark = link.find('#');
    EXPECT_TRUE(SectionsOf(Read(docs / link.substr(0, mark))).contains(link.substr(mark + 1)))
        << link;
  }
}

}  // namespace
}  // namespace pleat_structure
