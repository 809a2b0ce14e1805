#include "tools/pleat/block_queue.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace pleat::cli {
namespace {

// Handing a block to another thread costs some 10 us if a processor has to be woken up: with blocks
// of 64 KiB two threads were no faster than one. With 1 MiB the events leave the cache before they
// are folded, which is as slow.
constexpr size_t kBlockBytes = 256 * 1024;
// The first MiB of an input goes in smaller blocks, or a short file would be one or two blocks, which
// the caller reads alone. The events of such a block also take up less new memory.
constexpr size_t kFirstBlockBytes = 64 * 1024;
constexpr size_t kFirstBytes = 1024 * 1024;
// Without threads there is nothing to hand over.
constexpr size_t kLoneBlockBytes = 16 * 1024;
// Bytes of an input that the caller takes before the threads join: reading them is faster than
// waking a thread.
constexpr size_t kAloneBytes = 128 * 1024;

// Whole lines off the front of some, about `bytes` of them but at least one.
std::string_view TakeLines(std::string_view& lines, size_t bytes) {
  size_t size = lines.size();
  if (size > bytes) {
    size_t newline = lines.rfind('\n', bytes - 1);
    if (newline == std::string_view::npos) newline = lines.find('\n', bytes);
    size = std::min(newline, size - 1) + 1;
  }
  const std::string_view taken = lines.substr(0, size);
  lines.remove_prefix(size);
  return taken;
}

}  // namespace

BlockQueue::BlockQueue(NewReaders new_readers, int threads)
    : new_readers_(std::move(new_readers)), threads_wanted_(static_cast<size_t>(threads)) {
  const size_t blocks = threads > 0 ? threads_wanted_ + 2 : 1;
  for (size_t i = 0; i < blocks; ++i) ring_.push_back(std::make_unique<Block>());
}

BlockQueue::~BlockQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockQueue::Open(LineReader reader, bool live) {
  Lock lock(mutex_);
  reader_.emplace(std::move(reader));
  rest_ = {};
  bytes_taken_ = 0;
  copies_ = threads_wanted_ > 0 && !live;
  joined_ = false;
  ended_ = false;
}

// As many as there should be, or else as many as the system gives.
void BlockQueue::StartThreads() {
  try {
    while (threads_.size() < threads_wanted_) threads_.emplace_back([this] { RunThread(); });
  } catch (const std::system_error&) {
    threads_wanted_ = threads_.size();
  }
}

BlockQueue::Block& BlockQueue::Next() {
  Lock lock(mutex_);
  if (joined_) StartThreads();
  if (handed_out_) {
    at(done_++).ready = false;
    changed_.notify_all();
  }
  handed_out_ = true;
  while (done_ == taken_ || !at(done_).ready) {
    CanTake() ? Work(lock) : changed_.wait(lock);
  }
  return at(done_);
}

void BlockQueue::RunThread() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || (joined_ && CanTake()); });
    if (stop_) return;
    Work(lock);
  }
}

// Takes a block off the input and reads its lines. The lock is held only between these steps.
void BlockQueue::Work(Lock& lock) {
  Block& block = at(taken_++);
  taking_ = true;
  lock.unlock();
  TakeOffInput(block);
  const bool last = !block.status.ok() || block.kind == LineBlock::Kind::kEnd;
  lock.lock();
  taking_ = false;
  ended_ = last;
  joined_ = copies_ && bytes_taken_ >= kAloneBytes;
  lock.unlock();
  changed_.notify_all();
  if (block.kind == LineBlock::Kind::kLines) {
    if (block.lines.empty()) block.lines = new_readers_();
    for (const std::unique_ptr<JsonLines>& lines : block.lines) lines->Read(block.text);
  }
  lock.lock();
  block.ready = true;
  changed_.notify_all();
}

void BlockQueue::TakeOffInput(Block& block) {
  block.kind = LineBlock::Kind::kLines;
  if (rest_.empty()) {
    const absl::StatusOr<LineBlock> next = reader_->Next();
    block.status = next.status();
    block.kind = next.ok() ? next->kind : LineBlock::Kind::kEnd;
    block.text = next.ok() ? next->text : std::string_view();
    block.unfinished = next.ok() && next->unfinished;
    rest_unfinished_ = block.unfinished;
    if (block.kind == LineBlock::Kind::kLines) rest_ = block.text;
  }
  if (block.kind == LineBlock::Kind::kLines) {
    const size_t shared = bytes_taken_ < kFirstBytes ? kFirstBlockBytes : kBlockBytes;
    block.text = TakeLines(rest_, copies_ ? shared : kLoneBlockBytes);
    block.unfinished = rest_unfinished_;
  }
  bytes_taken_ += block.text.size();
  if (!copies_) return;
  block.bytes.resize(block.text.size() + kLinePaddingBytes);
  std::copy(block.text.begin(), block.text.end(), block.bytes.begin());
  block.text = {block.bytes.data(), block.text.size()};
}

}  // namespace pleat::cli
