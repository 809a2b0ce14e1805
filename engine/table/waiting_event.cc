#include "engine/table/waiting_event.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace pleat::inline v0_1 {
namespace {

// Sizes of chunks: powers of two, the smallest of which holds an event or two.
constexpr size_t kSmallestChunk = 512;
constexpr size_t kLargestChunk = 64 * 1024;

// So much is kept for use again.
constexpr size_t kSpareBytesMax = size_t{1} << 20;

size_t PlaceOfSize(size_t chunk_size) noexcept {
  return static_cast<size_t>(std::countr_zero(chunk_size / kSmallestChunk));
}

}  // namespace

const WaitingEvent& EventChunk::At(uint32_t offset) const noexcept {
  return *std::launder(reinterpret_cast<const WaitingEvent*>(bytes() + offset));
}

void EventList::ForEach(uint32_t offset, absl::FunctionRef<void(const WaitingEvent&)> see) const {
  for (const EventChunk* chunk = first; chunk != nullptr; chunk = chunk->next, offset = 0) {
    while (offset < chunk->used) {
      const WaitingEvent& event = chunk->At(offset);
      offset += event.bytes();
      see(event);
    }
  }
}

const WaitingEvent* EventList::Front(uint32_t offset) const noexcept {
  for (const EventChunk* chunk = first; chunk != nullptr; chunk = chunk->next, offset = 0) {
    if (offset < chunk->used) return &chunk->At(offset);
  }
  return nullptr;
}

EventMemory::~EventMemory() {
  EndHold();
  FreeTaken();
  spare_bytes_ = kSpareBytesMax;  // nothing more is kept
  for (EventChunk* list : spare_) FreeAll(list);
}

EventChunk* EventMemory::NewChunk(size_t size) {
  if (size <= kLargestChunk && spare_[PlaceOfSize(size)] != nullptr) {
    EventChunk*& spare = spare_[PlaceOfSize(size)];
    EventChunk* const chunk = std::exchange(spare, spare->next_of_free);
    spare_bytes_ -= size;
    chunk->next = nullptr;
    chunk->holds = holds_;
    chunk->used = 0;
    return chunk;
  }
  void* const memory = ::operator new(sizeof(EventChunk) + size + kPaddingBytes);
  return new (memory) EventChunk{.next = nullptr,
                                 .next_of_free = nullptr,
                                 .holds = holds_,
                                 .size = static_cast<uint32_t>(size),
                                 .used = 0};
}

void EventMemory::FreeChunk(EventChunk* chunk) noexcept {
  if (chunk->holds < holds_ && is_held()) {
    chunk->next_of_free = std::exchange(kept_, chunk);
    return;
  }
  if (chunk->size > kLargestChunk || spare_bytes_ + chunk->size > kSpareBytesMax) {
    ::operator delete(chunk);
    return;
  }
  spare_bytes_ += chunk->size;
  EventChunk*& spare = spare_[PlaceOfSize(chunk->size)];
  chunk->next_of_free = std::exchange(spare, chunk);
}

void EventMemory::FreeAll(EventChunk* first) noexcept {
  while (first != nullptr) FreeChunk(std::exchange(first, first->next_of_free));
}

// Chunks grow with their list, so that little of them stays unused.
const WaitingEvent* EventMemory::Append(EventList& list, const WaitingEvent& event,
                                        const uint32_t* words, std::string_view text) {
  const uint32_t bytes = event.bytes();
  if (list.last == nullptr || list.last->size - list.last->used < bytes) {
    const size_t usual = std::clamp(list.bytes / 8, kSmallestChunk, kLargestChunk);
    const size_t least = std::max<size_t>(std::bit_floor(usual), bytes);
    EventChunk* const chunk = NewChunk(least <= kLargestChunk ? std::bit_ceil(least) : least);
    (list.last == nullptr ? list.first : list.last->next) = chunk;
    list.last = chunk;
    list.bytes += chunk->size;
  }
  char* at = list.last->bytes() + list.last->used;
  list.last->used += bytes;
  const auto* const record = new (at) WaitingEvent(event);
  at += sizeof(WaitingEvent);
  if (event.words > 0) std::memcpy(at, words, sizeof(uint32_t) * event.words);
  std::memcpy(at + sizeof(uint32_t) * event.words, text.data(), text.size());
  return record;
}

void EventMemory::Repack(EventList& list, std::span<WaitingEntry> entries) {
  EventList anew;
  for (WaitingEntry& each : entries) {
    each.event = Append(anew, *each.event, each.event->kept().data(), each.event->text());
  }
  Free(list);
  list = anew;
}

void EventMemory::LetGoFirst(EventList& list) noexcept {
  EventChunk* const first = list.first;
  list.bytes -= first->size;
  list.first = first->next;
  if (list.first == nullptr) list = EventList();
  first->next_of_free = std::exchange(taken_, first);
}

void EventMemory::LetGo(EventList& list) noexcept {
  for (EventChunk* chunk = list.first; chunk != nullptr; chunk = chunk->next) {
    chunk->next_of_free = std::exchange(taken_, chunk);
  }
  list = EventList();
}

void EventMemory::FreeTaken() noexcept {
  FreeAll(std::exchange(taken_, nullptr));
  if (kept_ != nullptr && !is_held()) FreeAll(std::exchange(kept_, nullptr));
}

void EventMemory::Free(EventList& list) noexcept {
  for (EventChunk* chunk = std::exchange(list, {}).first; chunk != nullptr;) {
    FreeChunk(std::exchange(chunk, chunk->next));
  }
}

}  // namespace pleat::inline v0_1
