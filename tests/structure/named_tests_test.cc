// Every test that docs/reliability.md names exists; so does every section that a document links to,
// and every file that it names. Each page says whom it is for, and those that open the way are short.
#include "tests/structure/named_tests.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/source_dir.h"

namespace pleat_structure {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::filesystem::path Document(const char* path) {
  return std::filesystem::path(pleat::SourceDir()) / path;
}

// The README, the documents in docs/, and the one about the tests.
std::vector<std::filesystem::path> Documents() {
  std::vector<std::filesystem::path> documents = {Document("README.md"),
                                                  Document("tests/README.md")};
  for (const auto& entry : std::filesystem::directory_iterator(Document("docs"))) {
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  }
  return documents;
}

TEST(NamedTests, AreFoundInSources) {
  EXPECT_THAT(
      TestsIn("TEST(A, One) {\n  TEST(B, NotHere)\n}\nTEST_F(C, Two) {\nTEST_P(D,\n     Three) {"),
      ElementsAre("A.One", "C.Two", "D.Three"));
}

TEST(NamedTests, AreFoundInStories) {
  EXPECT_THAT(StoriesIn("# === C.Comment\n=== A.One\n$ pleat fold\n> === B.Input\n=== A.Two\n"),
              ElementsAre("A.One", "A.Two"));
}

TEST(NamedTests, AreFoundInTablesOnly) {
  EXPECT_THAT(TestsNamedIn("`A.Text`\n| `B.One`, `B.Two` | [x](semantics.md#x) | `a.b` | C.No |\n"),
              ElementsAre("B.One", "B.Two"));
}

TEST(NamedTests, SectionsAreFoundByTheirHeadings) {
  EXPECT_THAT(SectionsOf("# `closed`\ntext # no\n## What happens, in this order\n"),
              UnorderedElementsAre("closed", "what-happens-in-this-order"));
  EXPECT_THAT(SectionsOf("# A\n## B c\n### D\n", 2), UnorderedElementsAre("b-c"));
  EXPECT_THAT(SectionsLinkedIn("[a](b.md#c-d), [e](f.md), [g](../h/b.md#i), [j](#k)"),
              ElementsAre("b.md#c-d", "../h/b.md#i", "#k"));
}

TEST(NamedTests, FilesAreFoundInLinks) {
  EXPECT_THAT(FilesLinkedIn("[a](b.md#c-d), ![e](f.svg), [g](../h), [j](#k), [l](https://m.org/n)"),
              ElementsAre("b.md", "f.svg", "../h"));
}

TEST(NamedTests, PathsAreFoundBetweenBackquotes) {
  EXPECT_THAT(PathsNamedIn("`engine/a/b.h`, `tests/x_*_test.cc`, `fuzz/<name>.cc`, tools/c, `d/e`, "
                           "`tests`, `tests/f`"),
              ElementsAre("engine/a/b.h", "tests/f"));
}

TEST(FeatureTable, NamesTestsThatExist) {
  namespace fs = std::filesystem;
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(Document("tests"))) {
    if (entry.path().extension() == ".cc") tests.merge(TestsIn(Read(entry.path())));
    if (entry.path().extension() == ".txt") tests.merge(StoriesIn(Read(entry.path())));
  }
  const std::vector<std::string> named = TestsNamedIn(Read(Document("docs/reliability.md")));
  EXPECT_GT(named.size(), 80u);
  std::vector<std::string> missing;
  for (const std::string& name : named) {
    if (!tests.contains(name)) missing.push_back(name);
  }
  EXPECT_THAT(missing, IsEmpty());
}

TEST(FeatureTable, HasARowForEachFeature) {
  const std::set<std::string> features = SectionsOf(Read(Document("docs/features.md")), 3);
  EXPECT_GT(features.size(), 30u);
  const std::vector<std::string> links = SectionsLinkedIn(Read(Document("docs/reliability.md")));
  for (const std::string& feature : features) {
    EXPECT_THAT(links, Contains("features.md#" + feature));
  }
}

TEST(Documents, LinkToSectionsThatExist) {
  namespace fs = std::filesystem;
  std::map<fs::path, std::set<std::string>> sections;
  for (const fs::path& document : Documents()) sections[document] = SectionsOf(Read(document));
  for (const auto& [document, names] : sections) {
    for (const std::string& link : SectionsLinkedIn(Read(document))) {
      const size_t mark = link.find('#');
      const fs::path file =
          mark == 0 ? document : (document.parent_path() / link.substr(0, mark)).lexically_normal();
      EXPECT_TRUE(sections[file].contains(link.substr(mark + 1))) << document << ": " << link;
    }
  }
}

TEST(Documents, LinkToFilesThatExist) {
  for (const std::filesystem::path& document : Documents()) {
    for (const std::string& file : FilesLinkedIn(Read(document))) {
      EXPECT_TRUE(std::filesystem::exists(document.parent_path() / file))
          << document << ": " << file;
    }
  }
}

// Below the title, "*For those who ...*".
TEST(Documents, OpenWithWhomTheyAreFor) {
  for (const std::filesystem::path& document : Documents()) {
    if (document == Document("README.md")) continue;
    const std::string text = Read(document);
    EXPECT_EQ(text.find("\n\n*For "), text.find('\n')) << document;
  }
}

TEST(Documents, ThatOpenTheWayAreShort) {
  const auto words = [](const char* path) {
    std::istringstream text(Read(Document(path)));
    return std::distance(std::istream_iterator<std::string>(text), {});
  };
  EXPECT_LE(words("README.md"), 900);
  EXPECT_LE(words("docs/benchmarks.md"), 2'500);
}

TEST(Documents, TheGlossaryIsShortAndHasEachTermOnce) {
  std::istringstream lines(Read(Document("docs/glossary.md")));
  std::set<std::string> terms;
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| term ") || line.starts_with("| --- "))
      continue;
    ++rows;
    std::istringstream cell(line.substr(2, line.find(" | ") - 2));
    for (std::string term; std::getline(cell, term, ',');) {
      EXPECT_TRUE(terms.insert(term.substr(term.find_first_not_of(' '))).second) << term;
    }
  }
  EXPECT_GT(rows, 50);
  EXPECT_LE(rows, 70);
}

TEST(Documents, NameFilesThatExist) {
  for (const std::filesystem::path& document : Documents()) {
    for (const std::string& path : PathsNamedIn(Read(document))) {
      EXPECT_TRUE(std::filesystem::exists(Document(path.c_str()))) << document << ": " << path;
    }
  }
}

}  // namespace
}  // namespace pleat_structure
