// Mistakes of the caller's that end the program, with one sentence that says what is wrong.
// Compiled with optimization in every build: g++ lost the sentence of a constructor then.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;

const EngineTime kT0 = FromUnix(1'700'000'000s);
constexpr FolderOptions kOptions{.quiet_period = 5min, .max_hold = 1h};

struct Count {
  int events = 0;
  void Fold(const int&) noexcept { ++events; }
};

void OpenTwo(Engine& engine, const FolderOptions& first, const FolderOptions& second) {
  const Folder<int, Count> good(engine, "good", first);
  const Folder<int, Count> bad(engine, "bad", second);
}

TEST(ProgramEnd, AFolderThatCannotBeOpenedSaysWhy) {
  auto engine = *Engine::Open({.partitions = 2});
  EXPECT_DEATH(OpenTwo(*engine, kOptions, {.quiet_period = 5min}),
               "^pleat: folder \"bad\": max_hold: must be given[^\n]*\n$");
  EXPECT_DEATH(OpenTwo(*engine, {.max_hold = 1h}, kOptions),
               "^pleat: folder \"good\": quiet_period: must be above zero\n$");
}

}  // namespace
}  // namespace pleat
