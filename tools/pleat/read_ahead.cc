#include "tools/pleat/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pleat::inline v0 {
namespace {

constexpr size_t kChunkBytes = 256 * 1024;

}  // namespace

ReadAhead::ReadAhead(std::unique_ptr<ByteSource> below) : below_(std::move(below)) {
  for (Chunk& chunk : ring_) chunk.bytes.resize(kChunkBytes);
  thread_ = std::thread([this] { FillChunks(); });
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::FillChunks() {
  for (uint64_t next = 0;; ++next) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || next - taken_ < kChunks; });
      if (stop_) return;
    }
    Chunk& chunk = ring_[next % kChunks];
    absl::StatusOr<size_t> got = below_->Read(chunk.bytes.data(), chunk.bytes.size());
    chunk.status = got.status();
    chunk.size = got.ok() ? *got : 0;
    const bool last = chunk.size == 0;  // before the reader may take it
    {
      std::lock_guard lock(mutex_);
      filled_ = next + 1;
    }
    changed_.notify_all();
    if (last) return;
  }
}

absl::StatusOr<size_t> ReadAhead::Read(char* to, size_t size) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return filled_ > taken_; });
  }
  const Chunk& chunk = ring_[taken_ % kChunks];
  if (chunk.size == 0) {  // stays where it is: to be found again by the next call
    if (!chunk.status.ok()) return chunk.status;
    return size_t{0};
  }
  const size_t bytes = std::min(size, chunk.size - read_from_chunk_);
  std::memcpy(to, chunk.bytes.data() + read_from_chunk_, bytes);
  read_from_chunk_ += bytes;
  if (read_from_chunk_ == chunk.size) {
    read_from_chunk_ = 0;
    {
      std::lock_guard lock(mutex_);
      ++taken_;
    }
    changed_.notify_all();
  }
  return bytes;
}

}  // namespace pleat::inline v0
