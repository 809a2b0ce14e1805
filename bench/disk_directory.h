// Where the benchmarks that measure a disk have their files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace pleat::bench {

// A directory on the disk under test: that of PLEAT_BENCH_DIR in the environment, or of temporary files. It goes with
// all that is in it.
class DiskDirectory {
 public:
  DiskDirectory() {
    const char* const wanted = std::getenv("PLEAT_BENCH_DIR");
    path_ = wanted != nullptr ? wanted : std::filesystem::temp_directory_path().string();
    path_ += "/pleat-bench-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("no directory on the disk under test");
  }
  ~DiskDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DiskDirectory(const DiskDirectory&) = delete;
  DiskDirectory& operator=(const DiskDirectory&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace pleat::bench
