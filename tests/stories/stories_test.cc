// Registers a test for each story in this directory, named as the story; and a few stories that are too long to
// be written out.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/stories/story.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

class StoryTest : public testing::Test {
 public:
  explicit StoryTest(Story story) : story_(std::move(story)) {}
  void TestBody() override {
    SCOPED_TRACE(story_.file + ":" + std::to_string(story_.line));
    for (const StoryRun& run : story_.runs) Tell(run);
  }

 private:
  const Story story_;
};

std::vector<std::string> StoryFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SourceDir() + "/tests/stories")) {
    if (entry.path().extension() == ".txt" && entry.path().filename() != "CMakeLists.txt") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Before main(), as TEST() does.
const size_t kStories = [] {
  size_t stories = 0;
  for (const std::string& file : StoryFiles()) {
    for (const Story& story : ReadStories(file)) {
      testing::RegisterTest(story.suite.c_str(), story.name.c_str(), nullptr, nullptr,
                            story.file.c_str(), story.line,
                            [story]() -> StoryTest* { return new StoryTest(story); });
      ++stories;
    }
  }
  return stories;
}();

TEST(LongStories, AreNotAllThereAre) { EXPECT_GT(kStories, 60u); }

// A group shows at most 1,024 members that no option names.
TEST(LongStories, RestStopsAt1024NamesAndSaysSo) {
  std::string members;
  for (int i = 0; i < 1022; ++i) members += ",\"m" + std::to_string(i) + "\":1";
  const auto tell = [&](const std::string& more, const std::string& cut) {
    Tell({.command = "fold",
          .options = "--key k --time t --time-unit s --quiet 1m --rest first",
          .lines = {{R"({"k":1,"t":0)" + members + "}\n"},
                    {R"({"k":1,"t":0,"x":1,"m0":2,"y":1)" + more + "}\n"}},
          .out = R"({"k":1)" + members + R"(,"x":1,"y":1,"_fold":{"count":2,)" +
                 R"("first":"1970-01-01T00:00:00.000000Z","last":"1970-01-01T00:00:00.000000Z",)" +
                 R"("closed":"1970-01-01T00:00:00.000000Z","reason":"end")" + cut + "}}\n",
          .in_step = false});
  };
  tell("", "");
  tell(",\"z\":1", R"(,"cut":["_rest"])");
}

}  // namespace
}  // namespace pleat::cli
