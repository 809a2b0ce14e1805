// Files that `pleat run` writes: each message once, in whatever order messages come.
#include "tools/pleat/run/message_output.h"

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/subprocess.h"
#include "tests/support/temporary_directory.h"
#include "tools/pleat/run/run_handler.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;

Message Invalid(uint64_t number) {
  return {.id = {.partition = 0, .stream = 0, .life = 1, .number = number},
          .stream = std::string(kEmittedStream),
          .key = "\"ann\"",
          .payload = std::string(1, kInvalidMark) + "\"n\":" + std::to_string(number) + "}"};
}

RunOptions OptionsIn(const TemporaryDirectory& scratch) {
  RunOptions options;
  options.store = scratch / "store";
  options.consumer = "c";
  options.output_file = scratch / "out";
  options.invalid_file = scratch / "invalid";
  return options;
}

// A late line that is on its way into a topic holds up an invalid line of its key, and no line of others.
TEST(MessageOutput, ALineThatComesBehindLaterOnesIsWritten) {
  const TemporaryDirectory scratch;
  const RunOptions options = OptionsIn(scratch);
  const auto output = *OpenOutput(options);
  for (const uint64_t number : {2, 1, 2, 5, 1, 4, 3, 5}) {
    ASSERT_TRUE(output->Write(Invalid(number), EngineTime{}).ok());
  }
  ASSERT_TRUE(output->Sync().ok());
  std::vector<std::string> numbers;
  for (const std::string& line : WholeLines(Content(options.invalid_file))) {
    numbers.push_back(line.substr(line.rfind(':') + 1));
  }
  EXPECT_THAT(numbers, ElementsAre("2}", "1}", "5}", "4}", "3}"));
  EXPECT_EQ(output->written(), 5u);
  EXPECT_EQ(output->repeated(), 3u);
}

TEST(MessageOutput, OfDrawnOrdersEachLineIsWrittenOnce) {
  ForEachSeed(1, 20, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const TemporaryDirectory scratch;
    const RunOptions options = OptionsIn(scratch);
    const auto output = *OpenOutput(options);
    std::set<uint64_t> numbers;
    for (int i = 0; i < 300; ++i) {
      const uint64_t number = 1'000 + random() % 200;
      numbers.insert(number);
      ASSERT_TRUE(output->Write(Invalid(number), EngineTime{}).ok());
      ASSERT_EQ(output->written(), numbers.size());
    }
  });
}

}  // namespace
}  // namespace pleat::cli
