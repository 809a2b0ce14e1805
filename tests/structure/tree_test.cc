// The tree keeps the rules of include_rules.h, and the sizes that the house style names.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/include_rules.h"

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
std::vector<SourceFile> SourceFiles() {
  namespace fs = std::filesystem;
  const fs::path root = PLEAT_SOURCE_DIR;
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

TEST(Tree, HasSourcesInEveryLayer) {
  const std::vector<SourceFile> files = SourceFiles();
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

TEST(Tree, HasNoFileAboveSixHundredLines) {
  for (const SourceFile& file : SourceFiles()) {
    EXPECT_LE(std::ranges::count(file.text, '\n'), 600) << file.path;
  }
}

TEST(Tree, EveryHeaderOpensWithACommentAndIsGuarded) {
  for (const SourceFile& file : SourceFiles()) {
    if (!file.path.ends_with(".h")) continue;
    EXPECT_TRUE(file.text.starts_with("//")) << file.path;
    EXPECT_NE(file.text.find("\n#pragma once\n"), std::string::npos) << file.path;
  }
}

// Before 1.0 a minor version may change anything: a program of one does not link with another.
TEST(Tree, TheInlineNamespaceIsNamedAfterTheVersion) {
  const std::filesystem::path root = PLEAT_SOURCE_DIR;
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
