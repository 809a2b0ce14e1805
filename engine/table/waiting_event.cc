#include "engine/table/waiting_event.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace pleat::inline v0_1 {
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
}

EventChunk* EventMemory::NewChunk(size_t events_bytes) {
  const size_t least = events_bytes + kBeside;
  EventChunk chunk{.next = nullptr,
                   .next_of_free = nullptr,
                   .holds = holds_,
                   .size = static_cast<uint32_t>(events_bytes),
                   .used = 0,
                   .place = 0};
  if (events_bytes > kLargest) return new (::operator new(least)) EventChunk(chunk);
  const size_t size_class = ClassOf(least);
  std::unique_ptr<Chunks>& chunks = chunks_[size_class];
  if (chunks == nullptr) chunks = std::make_unique<Chunks>(pool_, ChunkBytes(size_class));
  chunk.size = static_cast<uint32_t>(ChunkBytes(size_class) - kBeside);
  chunk.place = chunks->Allocate();
  return new (chunks->hot(chunk.place)) EventChunk(chunk);
}

void EventMemory::FreeChunk(EventChunk* chunk) noexcept {
  if (chunk->holds < holds_ && is_held()) {
    chunk->next_of_free = std::exchange(kept_, chunk);
  } else if (chunk->size > kLargest) {
    ::operator delete(chunk);
  } else {
    chunks_[ClassOf(chunk->size + kBeside)]->Free(chunk->place);
  }
}

void EventMemory::FreeAll(EventChunk* first) noexcept {
  while (first != nullptr) FreeChunk(std::exchange(first, first->next_of_free));
}

// Chunks grow with their list, to at most an eighth of it, so that little of them stays unused.
const WaitingEvent* EventMemory::Append(EventList& list, const WaitingEvent& event,
                                        const uint32_t* words, std::string_view text) {
  const uint32_t bytes = event.bytes();
  if (list.last == nullptr || list.last->size - list.last->used < bytes) {
    const size_t usual = std::min(list.bytes / 16, kLargest);
    EventChunk* const chunk = NewChunk(std::max<size_t>(usual, bytes));
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
