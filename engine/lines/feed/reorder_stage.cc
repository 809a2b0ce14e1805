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

// Chunks grow with their piece, so that little of them stays unused.
inline const WaitingLine* ReorderStage::Append(Piece& piece, const WaitingLine& line,
                                               const uint32_t* words, std::string_view text) {
  const uint32_t bytes = RecordBytes(line);
  if (piece.last == nullptr || piece.last->size - piece.last->used < bytes) {
    const size_t usual = std::clamp(piece.bytes / 8, kSmallestChunk, kLargestChunk);
    const size_t least = std::max<size_t>(std::bit_floor(usual), bytes);
    Chunk* const chunk = NewChunk(least <= kLargestChunk ? std::bit_ceil(least) : least);
    (piece.last == nullptr ? piece.first : piece.last->next) = chunk;
    piece.last = chunk;
    piece.bytes += chunk->size;
  }
  char* at = piece.last->bytes() + piece.last->used;
  piece.last->used += bytes;
  const auto* const record = new (at) WaitingLine(line);
  at += sizeof(WaitingLine);
  if (line.words > 0) std::memcpy(at, words, sizeof(uint32_t) * line.words);
  std::memcpy(at + sizeof(uint32_t) * line.words, text.data(), text.size());
  piece.in_order &=
      piece.last_at < line.at || (piece.last_at == line.at && piece.last_position <= line.position);
  piece.last_at = line.at;
  piece.last_position = line.position;
  return record;
}

void ReorderStage::Put(const WaitingLine& line, const uint32_t* words, std::string_view text) {
  PLEAT_DCHECK(line.size == text.size());
  PLEAT_DCHECK(line.at >= frontier() && line.at <= newest_ && HasPlaceFor(line.at));
  const int64_t number = PieceOf(line.at);
  if (waiting() == 0 && is_open_) Close();
  if (waiting() == 0 || number < lowest_) lowest_ = number;
  occupied_[SlotOf(number) / 64] |= uint64_t{1} << (SlotOf(number) % 64);
  bytes_ += BytesOf(line.size, line.words);
  waiting_.Add(1);
  Piece& piece = At(number);
  const bool is_next = !piece.in_order || piece.last_at <= line.at;
  if (!is_open_ || open_ != number || (!has_index_ && is_next)) {
    Append(piece, line, words, text);
    return;
  }
  heap_.push_back({line.at, line.position, Append(beside_, line, words, text)});
  std::ranges::push_heap(heap_, std::greater<>());
}

// --- Lines out

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
  offset_ = 0;
  const Piece& opened = At(piece);
  has_index_ = !opened.in_order;
  if (!has_index_) return;
  ForEachIn(opened.first, 0,
            [this](const WaitingLine& line) { index_.push_back({line.at, line.position, &line}); });
  std::ranges::sort(index_, std::less<>());
}

// It has no lines any more.
void ReorderStage::Close() {
  for (Piece* piece : {&At(open_), &beside_}) {
    if (piece->first == nullptr) continue;
    piece->last->next = taken_;
    taken_ = piece->first;
    *piece = Piece();
  }
  occupied_[SlotOf(open_) / 64] &= ~(uint64_t{1} << (SlotOf(open_) % 64));
  index_.clear();
  next_in_index_ = 0;
  dead_bytes_ = 0;
  is_open_ = false;
}

// The next line of the open piece that is not in the heap. Null: there is none.
inline const WaitingLine* ReorderStage::FirstInOrder() noexcept {
  if (has_index_) {
    if (next_in_index_ == index_.size()) return nullptr;
    constexpr size_t kAhead = 4;
    if (next_in_index_ + kAhead < index_.size()) {
      const char* const soon = reinterpret_cast<const char*>(index_[next_in_index_ + kAhead].line);
      for (size_t i = 0; i < 4; ++i) __builtin_prefetch(soon + 64 * i);
    }
    return index_[next_in_index_].line;
  }
  Piece& piece = At(open_);
  while (offset_ == piece.first->used) {
    if (piece.first == piece.last) return nullptr;
    Chunk* const read = std::exchange(piece.first, piece.first->next);
    piece.bytes -= read->size;
    read->next = std::exchange(taken_, read);
    offset_ = 0;
  }
  return LineAt(piece.first->bytes() + offset_);
}

// The next line of the open piece. Null: there is none.
inline const WaitingLine* ReorderStage::First() {
  const WaitingLine* const first = FirstInOrder();
  if (heap_.empty()) return first;
  const Entry& beside = heap_.front();
  const bool is_beside = first == nullptr || beside < Entry{first->at, first->position, first};
  return is_beside ? beside.line : first;
}

inline const WaitingLine* ReorderStage::Take(const WaitingLine* line) {
  if (!heap_.empty() && line == heap_.front().line) {
    std::ranges::pop_heap(heap_, std::greater<>());
    heap_.pop_back();
    dead_bytes_ += RecordBytes(*line);
  } else if (has_index_) {
    ++next_in_index_;
    dead_bytes_ += RecordBytes(*line);
  } else {
    offset_ += RecordBytes(*line);
  }
  bytes_ -= BytesOf(line->size, line->words);
  waiting_.Add(~uint64_t{0});
  return line;
}

const WaitingLine* ReorderStage::TakeDue() {
  for (;;) {
    if (!is_open_) {
      if (waiting() == 0 || !FindLowest() || lowest_ > PieceOf(watermark_)) return nullptr;
      Open(lowest_);
    }
    if (const WaitingLine* const line = First(); line != nullptr) {
      return line->at <= watermark_ ? Take(line) : nullptr;
    }
    Close();
  }
}

const WaitingLine* ReorderStage::TakeOverLimit() {
  if (!is_over_limit()) return nullptr;
  for (;;) {
    if (!is_open_) {
      [[maybe_unused]] const bool found = FindLowest();
      PLEAT_DCHECK(found);
      Open(lowest_);
    }
    if (const WaitingLine* const line = First(); line != nullptr) {
      if (line->at > watermark_) early_.Add(1);
      taken_early_ = std::max(taken_early_, line->at);
      return Take(line);
    }
    Close();
  }
}

void ReorderStage::FreeTaken() noexcept {
  FreeChunks(std::exchange(taken_, nullptr));
  constexpr size_t kWorthIt = size_t{1} << 20;
  const size_t held = beside_.bytes + (is_open_ && has_index_ ? At(open_).bytes : 0);
  if (dead_bytes_ > kWorthIt && dead_bytes_ > held / 2) Compact();
}

// Writes what is left of the open piece anew, in order: lines that were taken leave no holes.
void ReorderStage::Compact() {
  std::vector<Entry> left = std::exchange(heap_, {});
  if (has_index_) {
    left.insert(left.end(), index_.begin() + static_cast<std::ptrdiff_t>(next_in_index_),
                index_.end());
  } else {
    ForEachIn(At(open_).first, offset_, [&left](const WaitingLine& line) {
      left.push_back({line.at, line.position, &line});
    });
  }
  std::ranges::sort(left, std::less<>());
  Piece anew;
  for (const Entry& each : left) {
    Append(anew, *each.line, each.line->kept().data(), each.line->text());
  }
  Close();
  FreeChunks(std::exchange(taken_, nullptr));
  if (left.empty()) return;
  At(open_) = anew;
  occupied_[SlotOf(open_) / 64] |= uint64_t{1} << (SlotOf(open_) % 64);
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
  for (size_t slot = 0; slot < pieces_.size(); ++slot) {
    if (is_open_ && slot == SlotOf(open_)) continue;
    ForEachIn(pieces_[slot].first, 0, see);
  }
  if (!is_open_) return;
  for (const Entry& each : heap_) see(*each.line);
  if (has_index_) {
    for (size_t i = next_in_index_; i < index_.size(); ++i) see(*index_[i].line);
  } else {
    ForEachIn(pieces_[SlotOf(open_)].first, offset_, see);
  }
}

std::optional<EngineTime> ReorderStage::next() const {
  if (waiting() == 0) return std::nullopt;
  EngineTime least = kNever;
  const auto see = [&least](const WaitingLine& line) { least = std::min(least, line.at); };
  // Pieces come in the order of time, and the first that has lines has the smallest stamp.
  for (int64_t piece = lowest_; least == kNever; ++piece) {
    if (!is_open_ || piece != open_) {
      ForEachIn(pieces_[SlotOf(piece)].first, 0, see);
      continue;
    }
    if (!heap_.empty()) see(*heap_.front().line);
    if (has_index_ && next_in_index_ < index_.size()) see(*index_[next_in_index_].line);
    if (!has_index_) ForEachIn(pieces_[SlotOf(piece)].first, offset_, see);
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
  for (Piece& piece : pieces_) FreeChunks(std::exchange(piece, {}).first);
  FreeChunks(std::exchange(beside_, {}).first);
  FreeChunks(std::exchange(taken_, nullptr));
  occupied_ = {};
  index_.clear();
  heap_.clear();
  next_in_index_ = 0;
  dead_bytes_ = bytes_ = 0;
  is_open_ = false;
  waiting_.Add(~waiting_.value() + 1);
}

}  // namespace pleat::inline v0_1
