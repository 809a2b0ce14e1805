// The tree keeps the rules of include_rules.h, and the sizes that the house style names.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/structure/include_rules.h"

namespace pleat_structure {
namespace {

using testing::IsEmpty;

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
      std::ifstream in(entry.path());
      files.push_back({fs::relative(entry.path(), root).generic_string(),
                       std::string(std::istreambuf_iterator<char>(in), {})});
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

}  // namespace
}  // namespace pleat_structure
