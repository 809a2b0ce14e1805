// Reads and decompresses in a thread of its own, a few chunks ahead of the one that folds.
//
// Only for inputs that do not wait for anybody, so that its thread never has to be woken up from a
// silent pipe. The bytes are the same as without it, and so is the order of everything.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <absl/status/status.h>

#include "tools/pleat/byte_source.h"

namespace pleat::inline v0 {

class ReadAhead final : public ByteSource {
 public:
  explicit ReadAhead(std::unique_ptr<ByteSource> below);
  // Waits for the read under way, at most.
  ~ReadAhead() override;

  absl::StatusOr<size_t> Read(char* to, size_t size) override;

 private:
  static constexpr size_t kChunks = 4;

  // Chunks go round in a ring: [taken_, filled_) are ready to be read from. A chunk is touched by
  // one side only, whose turn it is by these two counts.
  struct Chunk {
    std::vector<char> bytes;
    size_t size = 0;  // 0 is the end, or an error if `status` says so
    absl::Status status;
  };

  void FillChunks();

  std::unique_ptr<ByteSource> below_;
  std::array<Chunk, kChunks> ring_;
  size_t read_from_chunk_ = 0;  // the reader's place in the chunk at taken_

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t filled_ = 0;
  uint64_t taken_ = 0;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pleat::inline v0
