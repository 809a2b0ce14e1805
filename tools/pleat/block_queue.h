// The blocks of inputs, read into events by several threads and handed out in order.
//
// A block goes through three steps:
// 1. Its bytes are taken off the input and decompressed, by one thread at a time. That thread gives
//    the block its place in the order.
// 2. Its lines are read, by any number of threads at a time.
// 3. Its events are folded, by the caller of Next(). While the next block is not ready, the caller
//    helps with steps 1 and 2. Without threads the caller does everything and copies nothing.
//
// The threads join when kAloneBytes of an input have been taken, and start when that happens for
// the first time: many small files start none. If the system gives no threads, the caller goes on
// alone.
//
// The events and their order do not depend on the number of threads. Memory is bounded: there are
// two blocks more than threads, each of about kBlockBytes or one long line.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <pleat/json.h>

#include "tools/pleat/line_reader.h"

namespace pleat::cli {

inline constexpr int kThreadsMax = 256;

class BlockQueue {
 public:
  struct Block {
    absl::Status status;  // if not OK, there is nothing else, and nothing comes after
    LineBlock::Kind kind = LineBlock::Kind::kEnd;
    std::string_view text;
    bool unfinished = false;                        // as in LineBlock
    std::vector<std::unique_ptr<JsonLines>> lines;  // of a block of kLines, as each reader sees it

    std::vector<char> bytes;  // the text, where it has to outlive the reader's
    bool ready = false;
  };

  // Makes the readers of a block's lines: one JsonLines, or several for several sets of paths.
  // Called by any of the threads.
  using NewReaders = std::function<std::vector<std::unique_ptr<JsonLines>>()>;

  // `threads` beside the caller's, at most.
  BlockQueue(NewReaders new_readers, int threads);
  // Waits for the blocks under way.
  ~BlockQueue();

  // Begins with an input, the first or, after kEnd, another one, where the reader stands. With one
  // that is live, as it waits for its writer, the caller is alone, so that nothing ever has to be
  // woken up from a silent pipe.
  void Open(LineReader reader, bool live);

  // The next block in order, until the next call. Not to be called after an error or kEnd.
  Block& Next();

  // How many threads were started.
  size_t started() const { return threads_.size(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  Block& at(uint64_t number) { return *ring_[number % ring_.size()]; }
  bool CanTake() const { return !taking_ && !ended_ && taken_ - done_ < ring_.size(); }
  void StartThreads();
  void Work(Lock& lock);
  void TakeOffInput(Block& block);
  void RunThread();

  const NewReaders new_readers_;
  size_t threads_wanted_;
  bool copies_ = false;
  std::optional<LineReader> reader_;
  std::string_view rest_;  // of the reader's block
  bool rest_unfinished_ = false;
  size_t bytes_taken_ = 0;  // off this input
  std::vector<std::unique_ptr<Block>> ring_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Blocks are numbered. [done_, taken_) are in the ring, the first of them with the caller of
  // Next().
  uint64_t done_ = 0;
  uint64_t taken_ = 0;
  bool handed_out_ = false;
  bool taking_ = false;  // a thread is at the input
  bool ended_ = true;    // nothing more can be taken
  bool joined_ = false;  // the threads take part
  bool stop_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace pleat::cli
