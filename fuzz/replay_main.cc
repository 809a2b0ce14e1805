// Runs a fuzz target over the files of its corpus, so that every test build, of any compiler, checks
// what the fuzzers have learned so far.
//
//   event_replay fuzz/corpus/event      a directory: all its files, in the order of their names
//   event_replay build/fuzz/crash-1a2b  or single files
//
// Each file is named before it is run: the last one named is the one that broke a claim.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.h"

namespace {

namespace fs = std::filesystem;

// Empty if there is nothing at `path`.
std::vector<fs::path> FilesAt(const fs::path& path) {
  if (fs::is_regular_file(path)) return {path};
  std::vector<fs::path> files;
  if (!fs::is_directory(path)) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool Replay(const fs::path& file) {
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  std::ifstream in(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  if (in.bad()) return false;
  // A copy of its own size, so that reading behind it is seen.
  const std::vector<uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::vector<fs::path> files = FilesAt(argv[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s: nothing to replay\n", argv[i]);
      return 1;
    }
    for (const fs::path& file : files) {
      if (!Replay(file)) {
        std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
        return 1;
      }
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs == 0 ? 1 : 0;
}
