// Blocks come in order and whole, whoever read them, and a queue can be given up at any time.
#include "tools/pleat/block_queue.h"

#include "tests/cli/fixtures.h"

namespace pleat::cli {
namespace {

class BlockQueueTest : public ::testing::TestWithParam<int> {
 protected:
  BlockQueueTest() {
    FoldSpec spec;
    spec.event.key = {{.name = "k", .path = "k"}};
    spec.folder.quiet_period = std::chrono::minutes(1);
    engine_ = *Engine::Open(EngineOptionsFor(spec.event));
    folder_ = *JsonFolder::Open(*engine_, "blocks", spec);
  }

  BlockQueue NewQueue() {
    const auto new_reader = [this] {
      std::vector<std::unique_ptr<JsonLines>> readers;
      readers.push_back(std::make_unique<JsonLines>(folder_->plan()));
      return readers;
    };
    return BlockQueue(new_reader, GetParam());
  }

  std::string ReadAll(std::unique_ptr<ByteSource> source) {
    BlockQueue queue = NewQueue();
    return ReadAll(queue, std::move(source));
  }

  // All texts one after the other, and behind them the error. Counts lines on the way.
  std::string ReadAll(BlockQueue& queue, std::unique_ptr<ByteSource> source, bool live = false) {
    queue.Open(LineReader(std::move(source)), live);
    std::string text;
    for (;;) {
      BlockQueue::Block& block = queue.Next();
      if (!block.status.ok()) return text + "[" + std::string(block.status.message()) + "]";
      if (block.kind == LineBlock::Kind::kEnd) return text;
      text += block.text;
      if (block.kind != LineBlock::Kind::kLines) continue;
      lines_ += folder_->Fold(*block.lines.front(), SIZE_MAX, kBeginningOfTime,
                              [](const UnusualLine&) { return true; });
    }
  }

  size_t lines_ = 0;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonFolder> folder_;
};

TEST_P(BlockQueueTest, GivesAllLinesInOrder) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "{\"k\":" + std::to_string(i) + "}\n";
  EXPECT_TRUE(ReadAll(std::make_unique<TextSource>(text, 100'000)) == text);
  EXPECT_EQ(lines_, 100'000u);
  EXPECT_EQ(folder_->counts().events, 100'000u);
  folder_->CloseAll();
  std::string out;
  folder_->Pop(SIZE_MAX, out);
  EXPECT_LT(out.find("{\"k\":7,"), out.find("{\"k\":99999,"));
}

TEST_P(BlockQueueTest, GivesLinesOfAnyLength) {
  std::string text;
  for (const size_t size : {10u, 70'000u, 1u, 300'000u, 2'000'000u, 5u, 1'048'576u, 1'048'577u}) {
    text += std::string(size, 'x') + "\n\n";
  }
  text += "the end";
  EXPECT_TRUE(ReadAll(std::make_unique<TextSource>(text)) == text);
}

TEST_P(BlockQueueTest, NothingGivesNothing) {
  EXPECT_EQ(ReadAll(std::make_unique<TextSource>("")), "");
}

TEST_P(BlockQueueTest, GivesWhatCameBeforeAnErrorAndThenTheError) {
  EXPECT_EQ(ReadAll(std::make_unique<TextSource>("a\nb\n", 2, absl::UnavailableError("unplugged"))),
            "a\nb\n[unplugged]");
}

TEST_P(BlockQueueTest, CanBeGivenUpAtAnyTime) {
  std::string text;
  while (text.size() < size_t{4} << 20) text += "{\"k\":\"a line\"}\n";
  for (int blocks = 0; blocks < 8; ++blocks) {
    BlockQueue queue = NewQueue();
    queue.Open(LineReader(std::make_unique<TextSource>(text)), /*live=*/false);
    for (int i = 0; i < blocks; ++i) EXPECT_EQ(queue.Next().kind, LineBlock::Kind::kLines);
  }
}

TEST_P(BlockQueueTest, ReadsInputsOneAfterTheOther) {
  std::string large;
  while (large.size() < size_t{400} << 10) large += "{\"k\":\"a line\"}\n";
  BlockQueue queue = NewQueue();
  for (const std::string& text : {large, std::string("{\"k\":1}\n"), std::string(), large}) {
    for (const bool live : {false, true}) {
      EXPECT_TRUE(ReadAll(queue, std::make_unique<TextSource>(text, 10'000), live) == text);
    }
  }
}

TEST_P(BlockQueueTest, StartsThreadsForWhatIsLargeOnlyAndOnce) {
  const auto threads = static_cast<size_t>(GetParam());
  std::string large;
  while (large.size() < size_t{400} << 10) large += "{\"k\":\"a line\"}\n";
  BlockQueue queue = NewQueue();
  ReadAll(queue, std::make_unique<TextSource>(large), /*live=*/true);
  for (int i = 0; i < 10; ++i) {
    ReadAll(queue, std::make_unique<TextSource>(std::string(large, 0, 100'000)));
  }
  EXPECT_EQ(queue.started(), 0u);
  for (int i = 0; i < 3; ++i) {
    ReadAll(queue, std::make_unique<TextSource>(large));
    EXPECT_EQ(queue.started(), threads);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, BlockQueueTest, ::testing::Values(0, 1, 2, 5));

}  // namespace
}  // namespace pleat::cli
