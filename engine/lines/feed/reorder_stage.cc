#include "engine/lines/feed/reorder_stage.h"

#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include <pleat/json_lines.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// Sizes of chunks: powers of two, the smallest of which holds a line or two.
constexpr size_t kSmallestChunk = 512;
constexpr size_t kLargestChunk = 64 * 1024;

// So much is kept for use again.
constexpr size_t kSpareBytesMax = size_t{1} << 20;

// How many lines the heap may have before others go to the pieces: its entries fit the nearest cache.
constexpr size_t kHeapLines = 256;

// As many pieces as the ring has may be occupied: those of a span of D, which may begin and end
// within one.
int ShiftFor(Duration bound, int64_t pieces) noexcept {
  const Duration longest = kEndOfTime - kBeginningOfTime;
  const int64_t span = std::min(bound, longest).count();
  int shift = 0;
  while ((span >> shift) > pieces - 2) ++shift;
  return shift;
}

// What a record takes in a chunk. The next one begins at a multiple of eight.
uint32_t RecordBytes(size_t size, size_t words) noexcept {
  const size_t bytes = sizeof(WaitingLine) + sizeof(uint32_t) * words + size;
  return static_cast<uint32_t>((bytes + 7) & ~size_t{7});
}
uint32_t RecordBytes(const WaitingLine& line) noexcept {
  return RecordBytes(line.size, line.words);
}

const WaitingLine* LineAt(const char* bytes) noexcept {
  return std::launder(reinterpret_cast<const WaitingLine*>(bytes));
}

}  // namespace

ReorderStage::ReorderStage(Duration bound, Duration future_limit, size_t max_bytes)
    : bound_(bound),
      future_limit_(future_limit),
      max_bytes_(max_bytes),
      shift_(ShiftFor(bound, kPieces)),
      pieces_(kPieces) {
  PLEAT_DCHECK(bound > Duration{0});
}

ReorderStage::~ReorderStage() {
  Clear();
  spare_bytes_ = kSpareBytesMax;  // nothing more is kept
  for (Chunk* list : spare_) FreeChunks(list);
}

// --- Time

void ReorderStage::Advance(EngineTime now) noexcept {
  watermark_ = std::max(watermark_, now);
  ahead_ = std::max(ahead_, SaturatingAdd(now, bound_));
}

// --- Lines in

ReorderStage::Chunk* ReorderStage::NewChunk(size_t size) {
  const bool is_usual = size <= kLargestChunk;
  Chunk*& spare = spare_[is_usual ? std::countr_zero(size / kSmallestChunk) : 0];
  if (is_usual && spare != nullptr) {
    Chunk* const chunk = std::exchange(spare, spare->next);
    spare_bytes_ -= size;
    chunk->next = nullptr;
    chunk->used = 0;
    return chunk;
  }
  void* const memory = ::operator new(sizeof(Chunk) + size + kLinePaddingBytes);
  return new (memory) Chunk{.next = nullptr, .size = static_cast<uint32_t>(size), .used = 0};
}

void ReorderStage::FreeChunk(Chunk* chunk) noexcept {
  if (chunk->size > kLargestChunk || spare_bytes_ + chunk->size > kSpareBytesMax) {
    ::operator delete(chunk);
    return;
  }
  spare_bytes_ += chunk->size;
  Chunk*& spare = spare_[std::countr_zero(chunk->size / kSmallestChunk)];
  chunk->next = std::exchange(spare, chunk);
}

void ReorderStage::FreeChunks(Chunk* first) noexcept {
  while (first != nullptr) FreeChunk(std::exchange(first, first->next));
}

// Chunks grow with what they belong to, so that little of them stays unused.
inline const WaitingLine* ReorderStage::Append(Records& records, const WaitingLine& line,
                                               const uint32_t* words, std::string_view text) {
  const uint32_t bytes = RecordBytes(line);
  if (records.last == nullptr || records.last->size - records.last->used < bytes) {
    const size_t usual = std::clamp(records.bytes / 8, kSmallestChunk, kLargestChunk);
    const size_t least = std::max<size_t>(std::bit_floor(usual), bytes);
    Chunk* const chunk = NewChunk(least <= kLargestChunk ? std::bit_ceil(least) : least);
    (records.last == nullptr ? records.first : records.last->next) = chunk;
    records.last = chunk;
    records.bytes += chunk->size;
  }
  char* at = records.last->bytes() + records.last->used;
  records.last->used += bytes;
  const auto* const record = new (at) WaitingLine(line);
  at += sizeof(WaitingLine);
  if (line.words > 0) std::memcpy(at, words, sizeof(uint32_t) * line.words);
  std::memcpy(at + sizeof(uint32_t) * line.words, text.data(), text.size());
  return record;
}

// Writes the records of `entries`, which are all that wait there, anew, without holes.
void ReorderStage::Repack(Records& records, std::span<Entry> entries) {
  Records anew;
  for (Entry& each : entries) {
    each.line = Append(anew, *each.line, each.line->kept().data(), each.line->text());
  }
  FreeChunks(std::exchange(records, anew).first);
}

void ReorderStage::Put(const WaitingLine& line, const uint32_t* words, std::string_view text) {
  PLEAT_DCHECK(line.size == text.size());
  PLEAT_DCHECK(line.at >= frontier() && line.at <= newest_ && HasPlaceFor(line.at));
  bytes_ += BytesOf(line.size, line.words);
  waiting_.Add(1);
  const bool is_next =
      run_end_ < line.at || (run_end_ == line.at && run_end_position_ < line.position);
  if (is_next || run_.first == nullptr) {
    run_end_ = line.at;
    run_end_position_ = line.position;
    Append(run_, line, words, text);
    return;
  }
  const int64_t piece = PieceOf(line.at);
  if (heap_.size() < kHeapLines || (is_open_ && open_ == piece)) {
    PutInHeap(line, words, text);
  } else {
    PutInPiece(piece, line, words, text);
  }
}

void ReorderStage::PutInHeap(const WaitingLine& line, const uint32_t* words,
                             std::string_view text) {
  heap_.push_back({line.at, line.position, Append(beside_, line, words, text)});
  std::ranges::push_heap(heap_, std::greater<>());
}

void ReorderStage::PutInPiece(int64_t piece, const WaitingLine& line, const uint32_t* words,
                              std::string_view text) {
  if (in_pieces_ == 0 && is_open_) Close();
  if (in_pieces_ == 0 || piece < lowest_) lowest_ = piece;
  ++in_pieces_;
  occupied_[SlotOf(piece) / 64] |= uint64_t{1} << (SlotOf(piece) % 64);
  Append(At(piece), line, words, text);
}

// --- Lines out

// The first line of the run. Null: it has none.
inline const WaitingLine* ReorderStage::RunFront() noexcept {
  if (run_.first == nullptr) return nullptr;
  while (run_offset_ == run_.first->used) {
    Chunk* const read = run_.first;
    run_.first = read->next;
    run_.bytes -= read->size;
    read->next = std::exchange(taken_, read);
    run_offset_ = 0;
    if (run_.first != nullptr) continue;
    run_ = Records();
    return nullptr;
  }
  return LineAt(run_.first->bytes() + run_offset_);
}

// Moves lowest_ on to the first piece that has lines. Returns false if there is none.
bool ReorderStage::FindLowest() noexcept {
  constexpr size_t kWords = kPieces / 64;
  const size_t slot = SlotOf(lowest_);
  size_t word = slot / 64;
  uint64_t bits = occupied_[word] & (~uint64_t{0} << (slot % 64));
  for (size_t i = 0; bits == 0; ++i) {
    if (i == kWords) return false;
    word = (word + 1) % kWords;
    bits = occupied_[word];
  }
  const size_t found = word * 64 + static_cast<size_t>(std::countr_zero(bits));
  lowest_ += static_cast<int64_t>((found - slot) % kPieces);
  return true;
}

void ReorderStage::Open(int64_t piece) {
  is_open_ = true;
  open_ = piece;
  ForEachIn(At(piece).first, 0,
            [this](const WaitingLine& line) { index_.push_back({line.at, line.position, &line}); });
  std::ranges::sort(index_, std::less<>());
}

// Its lines were taken.
void ReorderStage::Close() noexcept {
  Records& closed = At(open_);
  closed.last->next = taken_;
  taken_ = closed.first;
  closed = Records();
  occupied_[SlotOf(open_) / 64] &= ~(uint64_t{1} << (SlotOf(open_) % 64));
  index_.clear();
  next_in_index_ = 0;
  is_open_ = false;
}

// The next line, if its stamp is not behind `limit`; else null.
const WaitingLine* ReorderStage::TakeUpTo(EngineTime limit) {
  enum class From : uint8_t { kRun, kHeap, kIndex };
  if (is_open_ && next_in_index_ == index_.size()) Close();
  Entry first{.at = kNever, .position = 0, .line = nullptr};
  From from = From::kRun;
  if (const WaitingLine* const line = RunFront(); line != nullptr) {
    first = {line->at, line->position, line};
  }
  if (!heap_.empty() && heap_.front() < first) {
    first = heap_.front();
    from = From::kHeap;
  }
  if (!is_open_ && in_pieces_ > 0 && FindLowest() &&
      lowest_ <= PieceOf(std::min(first.at, limit))) {
    Open(lowest_);
  }
  if (is_open_) {
    constexpr size_t kAhead = 4;
    const Entry* const next = &index_[next_in_index_];
    if (next_in_index_ + kAhead < index_.size()) {
      const char* const soon = reinterpret_cast<const char*>(next[kAhead].line);
      for (size_t i = 0; i < 4; ++i) __builtin_prefetch(soon + 64 * i);
    }
    if (*next < first) {
      first = *next;
      from = From::kIndex;
    }
  }
  if (first.at > limit) return nullptr;
  const WaitingLine* const line = first.line;
  switch (from) {
    case From::kRun: run_offset_ += RecordBytes(*line); break;
    case From::kHeap:
      std::ranges::pop_heap(heap_, std::greater<>());
      heap_.pop_back();
      beside_.dead += RecordBytes(*line);
      break;
    case From::kIndex:
      ++next_in_index_;
      --in_pieces_;
      At(open_).dead += RecordBytes(*line);
      break;
  }
  bytes_ -= BytesOf(line->size, line->words);
  waiting_.Add(~uint64_t{0});
  return line;
}

const WaitingLine* ReorderStage::TakeDue() { return TakeUpTo(watermark_); }

const WaitingLine* ReorderStage::TakeOverLimit() {
  if (!is_over_limit()) return nullptr;
  const WaitingLine* const line = TakeUpTo(kEndOfTime);
  if (line->at > watermark_) early_.Add(1);
  taken_early_ = std::max(taken_early_, line->at);
  return line;
}

// Where lines were taken between others, holes are no more than half.
void ReorderStage::FreeTaken() noexcept {
  constexpr size_t kWorthIt = size_t{256} << 10;
  FreeChunks(std::exchange(taken_, nullptr));
  const auto has_holes = [](const Records& records) {
    return records.dead > kWorthIt && records.dead > records.bytes / 2;
  };
  if (has_holes(beside_)) Repack(beside_, heap_);
  if (!is_open_ || !has_holes(At(open_))) return;
  index_.erase(index_.begin(), index_.begin() + static_cast<std::ptrdiff_t>(next_in_index_));
  next_in_index_ = 0;
  index_.empty() ? Close() : Repack(At(open_), index_);
}

// From that place in the chunk on.
void ReorderStage::ForEachIn(const Chunk* chunk, uint32_t offset,
                             absl::FunctionRef<void(const WaitingLine&)> see) {
  for (; chunk != nullptr; chunk = chunk->next, offset = 0) {
    while (offset < chunk->used) {
      const WaitingLine* const line = LineAt(chunk->bytes() + offset);
      offset += RecordBytes(*line);
      see(*line);
    }
  }
}

void ReorderStage::ForEach(absl::FunctionRef<void(const WaitingLine&)> see) const {
  ForEachIn(run_.first, run_offset_, see);
  for (const Entry& each : heap_) see(*each.line);
  for (size_t i = next_in_index_; i < index_.size(); ++i) see(*index_[i].line);
  for (size_t slot = 0; slot < pieces_.size(); ++slot) {
    if (!is_open_ || slot != SlotOf(open_)) ForEachIn(pieces_[slot].first, 0, see);
  }
}

std::optional<EngineTime> ReorderStage::next() const {
  if (waiting() == 0) return std::nullopt;
  EngineTime least = heap_.empty() ? kNever : heap_.front().at;
  if (next_in_index_ < index_.size()) least = std::min(least, index_[next_in_index_].at);
  const auto see = [&least](const WaitingLine& line) { least = std::min(least, line.at); };
  ForEachIn(run_.first, run_offset_, see);
  if (next_in_index_ == index_.size() && in_pieces_ > 0) {
    int64_t piece = lowest_;
    while ((is_open_ && piece == open_) || At(piece).first == nullptr) ++piece;
    ForEachIn(At(piece).first, 0, see);
  }
  return least;
}

// --- Snapshots

void ReorderStage::SaveTimes(FieldWriter& out) const {
  out(newest_, ahead_, watermark_, taken_early_, arrived_, early_.value());
}

void ReorderStage::LoadTimes(FieldReader& in) {
  PLEAT_DCHECK(waiting() == 0);
  for (EngineTime* each : {&newest_, &ahead_, &watermark_, &taken_early_}) {
    in(*each);
    if (!in.Expect(Clamp(*each) == *each)) *each = kBeginningOfTime;
  }
  arrived_ = in.Number();
  early_.Load(in);
}

void ReorderStage::Clear() noexcept {
  for (Records& piece : pieces_) FreeChunks(std::exchange(piece, {}).first);
  for (Records* records : {&run_, &beside_}) FreeChunks(std::exchange(*records, {}).first);
  FreeChunks(std::exchange(taken_, nullptr));
  occupied_ = {};
  index_.clear();
  heap_.clear();
  next_in_index_ = run_offset_ = 0;
  bytes_ = in_pieces_ = 0;
  is_open_ = false;
  waiting_.Add(~waiting_.value() + 1);
}

}  // namespace pleat::inline v0_1
