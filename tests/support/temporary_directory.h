// A directory for one test to write to.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {

// A directory of its own for one test, removed after it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(testing::TempDir()) {}
  // In `above`, whose name ends with a slash.
  explicit TemporaryDirectory(const std::string& above) : path_(above + "pleat-test-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

  std::string Write(std::string_view name, std::string_view content) const {
    const std::string path = *this / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // The names in it, sorted.
  std::vector<std::string> Names() const { return Names(path_); }
  static std::vector<std::string> Names(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

// Where to put the files of a process that is killed: in memory, because a disk's syncs take long and
// a kill does not touch them. PLEAT_KILL_DIR names another place.
inline std::string PlaceForKills() {
  const char* const chosen = std::getenv("PLEAT_KILL_DIR");
  if (chosen != nullptr) return std::string(chosen) + "/";
  return access("/dev/shm", R_OK | W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
}

// A block at a time: tests are not optimized, and read large files.
inline std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(content).str();
}

}  // namespace pleat::inline v0_1
