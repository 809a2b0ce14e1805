// The tree keeps the rules of include_rules.h, and the sizes that the house style names.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/class_sizes.h"
#include "tests/structure/code_of.h"
#include "tests/structure/const_views.h"
#include "tests/structure/include_rules.h"
#include "tests/support/source_dir.h"

namespace pleat_structure {
namespace {

using testing::IsEmpty;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

struct SourceFile {
  std::string path;  // from the root of the tree
  std::string text;
};

// Every .h and .cc below the top-level folders that hold code.
std::vector<SourceFile> ReadSourceFiles() {
  namespace fs = std::filesystem;
  const fs::path root = pleat::SourceDir();
  std::vector<SourceFile> files;
  for (const char* folder : {"include", "engine", "tools", "examples", "bench", "fuzz", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      files.push_back({fs::relative(entry.path(), root).generic_string(), ReadFile(entry.path())});
    }
  }
  return files;
}

const std::vector<SourceFile>& SourceFiles() {
  static const std::vector<SourceFile> files = ReadSourceFiles();
  return files;
}

TEST(Tree, HasSourcesInEveryLayer) {
  const std::vector<SourceFile>& files = SourceFiles();
  for (const char* folder : {"include/pleat/", "engine/base/", "engine/table/", "engine/timer/",
                             "engine/fold/", "engine/partition/", "engine/core/"}) {
    EXPECT_TRUE(std::ranges::any_of(files, [&](const SourceFile& file) {
      return file.path.starts_with(folder);
    })) << folder;
  }
}

TEST(Tree, KeepsTheIncludeRules) {
  for (const SourceFile& file : SourceFiles())
    EXPECT_THAT(Examine(file.path, file.text), IsEmpty());
}

// The modules, each a .h and a .cc of one name, that a file includes.
std::set<std::string> ModulesIncludedBy(const SourceFile& file) {
  std::set<std::string> modules;
  const std::regex own_include(R"re(#include "([\w/]+)\.h")re");
  for (std::sregex_iterator it(file.text.begin(), file.text.end(), own_include), end; it != end;
       ++it) {
    modules.insert(it->str(1));
  }
  return modules;
}

// Goes through all that `module` leads to. Returns a circle, "a > b > a", or nothing.
std::string FindCircle(const std::map<std::string, std::set<std::string>>& includes,
                       const std::string& module, std::vector<std::string>& way,
                       std::set<std::string>& seen) {
  if (const auto begin = std::ranges::find(way, module); begin != way.end()) {
    std::string circle;
    for (auto it = begin; it != way.end(); ++it) circle += *it + " > ";
    return circle + module;
  }
  const auto found = includes.find(module);
  if (!seen.insert(module).second || found == includes.end()) return "";
  way.push_back(module);
  for (const std::string& next : found->second) {
    const std::string circle = next == module ? "" : FindCircle(includes, next, way, seen);
    if (!circle.empty()) return circle;
  }
  way.pop_back();
  return "";
}

TEST(Tree, CircleIsFound) {
  std::vector<std::string> way;
  std::set<std::string> seen;
  EXPECT_EQ(FindCircle({{"a", {"a", "b", "d"}}, {"b", {"c", "d"}}}, "a", way, seen), "");
  seen.clear();
  EXPECT_EQ(FindCircle({{"a", {"b"}}, {"b", {"c", "d"}}, {"d", {"b"}}}, "a", way, seen),
            "b > d > b");
}

TEST(Tree, ModulesIncludeEachOtherInNoCircle) {
  std::map<std::string, std::set<std::string>> includes;
  for (const SourceFile& file : SourceFiles()) {
    includes[file.path.substr(0, file.path.rfind('.'))].merge(ModulesIncludedBy(file));
  }
  std::set<std::string> seen;
  for (const auto& [module, included] : includes) {
    std::vector<std::string> way;
    EXPECT_EQ(FindCircle(includes, module, way, seen), "");
  }
}

TEST(Tree, HasNoFileAboveSixHundredLines) {
  for (const SourceFile& file : SourceFiles()) {
    EXPECT_LE(std::ranges::count(file.text, '\n'), 600) << file.path;
  }
}

// A class that has more than it may is to be split.
TEST(Tree, NoClassHasOverTwentyDataMembers) {
  for (const SourceFile& file : SourceFiles()) {
    if (file.path.starts_with("tests/") || file.path.starts_with("bench/")) continue;
    for (const auto& [name, members] : DataMembersIn(file.text)) {
      EXPECT_LE(members, 20) << name << " in " << file.path;
    }
  }
}

// What a snapshot still needs of an entry is kept by whoever changes the entry; so who only reads a
// table gets nothing to write. Those named here give what they refer to, which is not theirs.
TEST(Tree, NoConstFunctionOfTheEngineGivesWhatMayBeWritten) {
  const std::map<std::string, std::set<std::string>> handles = {
      {"engine/asio/driver_core.h", {"engine"}},
      {"engine/core/any_folder.cc", {"core"}},
      {"engine/core/any_live_set.cc", {"core"}},
      {"engine/core/any_presence.cc", {"core"}},
      {"engine/core/outbox_collection.cc", {"book", "outbox", "partition"}},
      {"engine/partition/partition.h", {"lock", "partition"}},
      {"engine/table/spelled_key.h", {"Write"}}};
  std::map<std::string, std::set<std::string>> found;
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.starts_with("engine/")) continue;
    const std::set<std::string> names = ConstThatWritesIn(file.text);
    if (!names.empty()) found[file.path] = names;
  }
  EXPECT_EQ(found, handles);
}

TEST(Tree, NoPublicHeaderIsLongOrWide) {
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.starts_with("include/")) continue;
    EXPECT_LE(std::ranges::count(file.text, '\n'), 400) << file.path;
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 100u) << file.path << ": " << line;
  }
}

// What a user of pleat has to know of. Beside them are two folders that few open: untyped/ for authors
// of adapters and detail/ for the parts of templates.
TEST(Tree, HasAtMostFortyThreePublicHeaders) {
  std::set<std::string> headers;
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.starts_with("include/")) continue;
    const std::string folder = file.path.substr(0, file.path.rfind('/'));
    if (folder == "include/pleat") headers.insert(file.path);
    EXPECT_THAT(folder,
                testing::AnyOf("include/pleat", "include/pleat/untyped", "include/pleat/detail"));
  }
  EXPECT_LE(headers.size(), 43u) << testing::PrintToString(headers);
}

// The names that a user of pleat can meet, and of these the ones beside lines of text and beside what
// authors of adapters use. A type more needs a reason: a member, an argument or a type of another kind
// will often do.
TEST(Tree, HasNoMorePublicTypesThanItNeeds) {
  const std::regex type(
      R"(\n(?:class|struct|enum class|concept) (?:PLEAT_EXPORT )?(\w+)[^;{=]*[{=])");
  int all = 0, typed = 0;
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.starts_with("include/") || file.path.starts_with("include/pleat/detail/"))
      continue;
    const std::string code = "\n" + CodeOf(file.text);
    const auto types = std::distance(std::sregex_iterator(code.begin(), code.end(), type), {});
    all += static_cast<int>(types);
    const bool of_adapters = file.path.starts_with("include/pleat/untyped/");
    if (!of_adapters && !file.path.starts_with("include/pleat/json"))
      typed += static_cast<int>(types);
  }
  EXPECT_LE(all, 267);
  EXPECT_LE(typed, 206);
}

// Programs store the numbers of answers, and know those of all kinds of collections by one table.
TEST(Tree, AnswersOfOneNameHaveOneNumberInEveryKind) {
  const std::regex answers("enum class (\\w+(Outcome|Control)) : uint8_t \\{\\n([^}]*)\\n\\};");
  const std::regex answer("\\n *(k\\w+)( = (\\d+))?,");
  std::map<std::string, std::set<std::string>> numbers;
  std::set<std::string> kinds;
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.starts_with("include/")) continue;
    using Found = std::sregex_iterator;
    for (Found e(file.text.begin(), file.text.end(), answers); e != Found(); ++e) {
      kinds.insert((*e)[1]);
      const std::string body = "\n" + (*e)[3].str();
      for (Found a(body.begin(), body.end(), answer); a != Found(); ++a) {
        EXPECT_TRUE((*a)[2].matched) << (*e)[1] << "::" << (*a)[1] << " has no number";
        numbers[(*a)[1]].insert((*a)[3]);
      }
    }
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"FoldOutcome", "AddOutcome", "LiveSetOutcome",
                                            "PresenceOutcome", "LeaseOutcome"}));
  for (const auto& [name, different] : numbers) {
    EXPECT_EQ(different.size(), 1u) << name << " has " << testing::PrintToString(different);
  }
}

TEST(Tree, EveryHeaderOpensWithACommentAndIsGuarded) {
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.ends_with(".h")) continue;
    EXPECT_TRUE(file.text.starts_with("//")) << file.path;
    EXPECT_NE(file.text.find("\n#pragma once\n"), std::string::npos) << file.path;
  }
}

TEST(Tree, NoDocumentHoldsAMergeThatWasNotFinished) {
  const std::filesystem::path root = pleat::SourceDir();
  const std::regex marker("(^|\n)(<{7}|>{7}) ");
  EXPECT_TRUE(std::regex_search("a\n<<<<<<< HEAD\nb", marker));
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    EXPECT_FALSE(std::regex_search(ReadFile(entry.path()), marker)) << entry.path();
  }
}

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Its format is told at the top of the file. Who changes a line that a mistake replaces sees it here.
TEST(Tree, EachPlantedMistakeFindsItsLinesOnce) {
  const std::filesystem::path root = pleat::SourceDir();
  std::ifstream mistakes(root / "tests/mistakes/mistakes.txt");
  std::string title, file, from;
  int titles = 0, count = 0;
  for (std::string line; std::getline(mistakes, line);) {
    if (line.starts_with("## ")) title = line.substr(3), file.clear(), from.clear(), ++titles;
    if (title.empty()) continue;
    if (line.starts_with("@ ")) file = line.substr(2);
    if (line.starts_with('-')) from += (from.empty() ? "" : "\n") + line.substr(1);
    if (!line.starts_with("! ")) continue;
    EXPECT_EQ(CountOf(from, ReadFile(root / file)), 1u) << title << "\n" << file << "\n" << from;
    ++count;
  }
  EXPECT_GT(count, 40);
  EXPECT_EQ(count, titles) << "each names its programs in one line";
}

// Before 1.0 a minor version may change anything: a program of one does not link with another.
TEST(Tree, TheInlineNamespaceIsNamedAfterTheVersion) {
  const std::filesystem::path root = pleat::SourceDir();
  const std::string project = ReadFile(root / "CMakeLists.txt");
  std::smatch version;
  ASSERT_TRUE(std::regex_search(project, version, std::regex(R"(VERSION (\d+)\.(\d+)\.\d+)")));
  const std::string name = "v" + version.str(1) + "_" + version.str(2);
  const std::regex inline_namespace(R"(pleat::inline (\w+))");
  for (const SourceFile& file : SourceFiles()) {
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), inline_namespace), end;
         it != end; ++it) {
      EXPECT_EQ(it->str(1), name) << file.path;
    }
  }
}

}  // namespace
}  // namespace pleat_structure
