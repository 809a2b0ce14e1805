// Events that wait in the reorder stage, and the memory that they take.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/time.h>

#include "engine/base/page_pool.h"
#include "engine/base/prefetch.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

// So much can be read behind a text, as readers of lines need it.
inline constexpr size_t kPaddingBytes = 64;

// An event as its owner wrote it: a text, such as a line or the fields of an event, and words, such as
// places in that text. They follow it in memory.
struct WaitingEvent {
  EngineTime at;
  uint64_t position;  // of arrival, among all events
  uint32_t size;      // of the text
  uint32_t words;
  bool is_control;  // a line that changes a collection, and has its turn as events have

  std::span<const uint32_t> kept() const noexcept {
    return {reinterpret_cast<const uint32_t*>(this + 1), words};
  }
  // kPaddingBytes readable bytes follow it.
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(kept().data() + words), size};
  }
  // In memory. The next one begins at a multiple of eight.
  uint32_t bytes() const noexcept {
    const size_t used = sizeof(WaitingEvent) + sizeof(uint32_t) * words + size;
    return static_cast<uint32_t>((used + 7) & ~size_t{7});
  }
};

// What events are sorted by, beside them: looking at each would miss the cache.
struct WaitingEntry {
  EngineTime at;
  uint64_t position;
  const WaitingEvent* event;

  static WaitingEntry Of(const WaitingEvent& event) noexcept {
    return {event.at, event.position, &event};
  }
  bool operator<(const WaitingEntry& other) const noexcept {
    return at != other.at ? at < other.at : position < other.position;
  }
  // For a heap with the first event at its top.
  bool operator>(const WaitingEntry& other) const noexcept { return other < *this; }
};

// Memory for events behind one another. The bytes follow it.
struct EventChunk {
  EventChunk* next;          // in its list; stays when the chunk is let go
  EventChunk* next_of_free;  // among those that were let go
  uint64_t holds;            // of the memory, before the chunk was made
  uint32_t size;             // of its bytes
  uint32_t used;
  uint32_t place;  // in the slab of its size

  char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  const WaitingEvent& At(uint32_t offset) const noexcept;
};

// Events in the order in which they were appended.
struct EventList {
  // As much as an event usually takes.
  static constexpr size_t kFetched = 192;

  EventChunk* first = nullptr;
  EventChunk* last = nullptr;
  size_t bytes = 0;  // of all chunks
  size_t dead = 0;   // of events that were taken, and have left holes

  // The events from that place in the first chunk on.
  void ForEach(uint32_t offset, absl::FunctionRef<void(const WaitingEvent&)> see) const;

  // The first event from that place on. Null: there is none.
  const WaitingEvent* Front(uint32_t offset) const noexcept;

  // Fetches the end of the list, in two steps: where it is, and then what is there.
  void FetchEnd(bool is_near) const noexcept {
    if (last == nullptr) return;
    if (!is_near) return Prefetch(last);
    PrefetchAll<kFetched>(last->bytes() + last->used);
  }

  // Whether Repack() pays.
  bool has_holes() const noexcept {
    constexpr size_t kWorthIt = size_t{256} << 10;
    return dead > kWorthIt && dead > bytes / 2;
  }
};

// Where chunks come from and go to: the pages of a pool, which are huge ones where much waits, as events
// out of order touch them at random. A chunk for an event that is larger than a page has memory of its own.
//
// While it is held, another thread may read what was there at the beginning: events and the chunks that
// follow one another stay as they were, and those that are freed are kept. Chunks that are made meanwhile
// are not: so what is kept is no more than what was there.
class EventMemory {
 public:
  EventMemory() : pool_(kPlainBytes) {}
  ~EventMemory();
  EventMemory(const EventMemory&) = delete;
  EventMemory& operator=(const EventMemory&) = delete;

  const WaitingEvent* Append(EventList& list, const WaitingEvent& event, const uint32_t* words,
                             std::string_view text);
  // Writes the events of `entries` anew, without holes: they are all that is left of `list`.
  void Repack(EventList& list, std::span<WaitingEntry> entries);

  // Events of what is let go stay valid until FreeTaken().
  void LetGoFirst(EventList& list) noexcept;  // its first chunk
  void LetGo(EventList& list) noexcept;
  void FreeTaken() noexcept;
  // At once.
  void Free(EventList& list) noexcept;

  void Hold() noexcept {
    ++holds_;
    held_.store(true, std::memory_order_relaxed);
  }
  // Any thread. Other threads free what was kept, with the next that they free.
  void EndHold() noexcept { held_.store(false, std::memory_order_release); }
  bool is_held() const noexcept { return held_.load(std::memory_order_acquire); }

 private:
  EventChunk* NewChunk(size_t events_bytes);  // at least
  void FreeChunk(EventChunk* chunk) noexcept;
  void FreeAll(EventChunk* first) noexcept;  // by next_of_free

  // Chunks are a page, half of one, and so on. The smallest, of 512 bytes, hold an event or two.
  static constexpr size_t kSizes = 8;
  static constexpr size_t ChunkBytes(size_t size_class) noexcept {
    return PagePool::kPageBytes >> size_class;
  }
  // Of the smallest chunk that has so many bytes.
  static size_t ClassOf(size_t bytes) noexcept {
    return std::min(kSizes, static_cast<size_t>(std::bit_width(PagePool::kPageBytes / bytes))) - 1;
  }
  // The bytes of a chunk that are not for events, and how many are in the largest one.
  static constexpr size_t kBeside = sizeof(EventChunk) + kPaddingBytes;
  static constexpr size_t kLargest = PagePool::kPageBytes - kBeside;
  using Chunks = Slab<NoCold, kSizes - 1>;  // a page has 2^(kSizes - 1) of the smallest

  // If no more than this waits, memory comes as it is touched.
  static constexpr size_t kPlainBytes = size_t{4} << 20;

  PagePool pool_;
  std::array<std::unique_ptr<Chunks>, kSizes> chunks_;  // null: none of this size was needed
  EventChunk* taken_ = nullptr;
  EventChunk* kept_ = nullptr;  // what would be free, if the memory were not held
  uint64_t holds_ = 0;
  std::atomic<bool> held_ = false;
};

}  // namespace pleat::inline v0_1
