#include "engine/lines/feed/waiting_line.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {
namespace {

// Sizes of chunks: powers of two, the smallest of which holds a line or two.
constexpr size_t kSmallestChunk = 512;
constexpr size_t kLargestChunk = 64 * 1024;

// So much is kept for use again.
constexpr size_t kSpareBytesMax = size_t{1} << 20;

size_t PlaceOfSize(size_t chunk_size) noexcept {
  return static_cast<size_t>(std::countr_zero(chunk_size / kSmallestChunk));
}

}  // namespace

const WaitingLine& LineChunk::At(uint32_t offset) const noexcept {
  return *std::launder(reinterpret_cast<const WaitingLine*>(bytes() + offset));
}

void LineList::ForEach(uint32_t offset, absl::FunctionRef<void(const WaitingLine&)> see) const {
  for (const LineChunk* chunk = first; chunk != nullptr; chunk = chunk->next, offset = 0) {
    while (offset < chunk->used) {
      const WaitingLine& line = chunk->At(offset);
      offset += line.bytes();
      see(line);
    }
  }
}

const WaitingLine* LineList::Front(uint32_t offset) const noexcept {
  for (const LineChunk* chunk = first; chunk != nullptr; chunk = chunk->next, offset = 0) {
    if (offset < chunk->used) return &chunk->At(offset);
  }
  return nullptr;
}

LineMemory::~LineMemory() {
  FreeTaken();
  spare_bytes_ = kSpareBytesMax;  // nothing more is kept
  for (LineChunk* list : spare_) FreeChunks(list);
}

LineChunk* LineMemory::NewChunk(size_t size) {
  if (size <= kLargestChunk && spare_[PlaceOfSize(size)] != nullptr) {
    LineChunk*& spare = spare_[PlaceOfSize(size)];
    LineChunk* const chunk = std::exchange(spare, spare->next);
    spare_bytes_ -= size;
    chunk->next = nullptr;
    chunk->used = 0;
    return chunk;
  }
  void* const memory = ::operator new(sizeof(LineChunk) + size + kLinePaddingBytes);
  return new (memory) LineChunk{.next = nullptr, .size = static_cast<uint32_t>(size), .used = 0};
}

void LineMemory::FreeChunk(LineChunk* chunk) noexcept {
  if (chunk->size > kLargestChunk || spare_bytes_ + chunk->size > kSpareBytesMax) {
    ::operator delete(chunk);
    return;
  }
  spare_bytes_ += chunk->size;
  LineChunk*& spare = spare_[PlaceOfSize(chunk->size)];
  chunk->next = std::exchange(spare, chunk);
}

void LineMemory::FreeChunks(LineChunk* first) noexcept {
  while (first != nullptr) FreeChunk(std::exchange(first, first->next));
}

// Chunks grow with their list, so that little of them stays unused.
const WaitingLine* LineMemory::Append(LineList& list, const WaitingLine& line,
                                      const uint32_t* words, std::string_view text) {
  const uint32_t bytes = line.bytes();
  if (list.last == nullptr || list.last->size - list.last->used < bytes) {
    const size_t usual = std::clamp(list.bytes / 8, kSmallestChunk, kLargestChunk);
    const size_t least = std::max<size_t>(std::bit_floor(usual), bytes);
    LineChunk* const chunk = NewChunk(least <= kLargestChunk ? std::bit_ceil(least) : least);
    (list.last == nullptr ? list.first : list.last->next) = chunk;
    list.last = chunk;
    list.bytes += chunk->size;
  }
  char* at = list.last->bytes() + list.last->used;
  list.last->used += bytes;
  const auto* const record = new (at) WaitingLine(line);
  at += sizeof(WaitingLine);
  if (line.words > 0) std::memcpy(at, words, sizeof(uint32_t) * line.words);
  std::memcpy(at + sizeof(uint32_t) * line.words, text.data(), text.size());
  return record;
}

void LineMemory::Repack(LineList& list, std::span<WaitingEntry> entries) {
  LineList anew;
  for (WaitingEntry& each : entries) {
    each.line = Append(anew, *each.line, each.line->kept().data(), each.line->text());
  }
  Free(list);
  list = anew;
}

void LineMemory::LetGoFirst(LineList& list) noexcept {
  LineChunk* const first = list.first;
  list.bytes -= first->size;
  list.first = first->next;
  if (list.first == nullptr) list = LineList();
  first->next = std::exchange(taken_, first);
}

void LineMemory::LetGo(LineList& list) noexcept {
  if (list.first == nullptr) return;
  list.last->next = std::exchange(taken_, list.first);
  list = LineList();
}

void LineMemory::FreeTaken() noexcept { FreeChunks(std::exchange(taken_, nullptr)); }

void LineMemory::Free(LineList& list) noexcept { FreeChunks(std::exchange(list, {}).first); }

}  // namespace pleat::inline v0_1
