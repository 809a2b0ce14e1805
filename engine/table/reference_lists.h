// ReferenceLists keeps unsorted lists of references, which are numbers of entries. Its memory is
// *chunks*: cache lines of 14 references each, which all lists of an owner take from one slab.
//
// A list is a chain of chunks. Only the first one, its *head*, may be partly filled: references are
// pushed there and taken from there. So a reference takes 4.6 bytes, and a long list is read one
// cache line at a time, while the next one is fetched. Example: 1,000 entries that are due within
// one slot of time are a list of 72 chunks.
//
// A `List` is a plain value. Before one that is not empty goes, its owner calls Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "engine/base/check.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class ReferenceLists {
 public:
  struct Chunk {
    static constexpr size_t kRefs = 14;
    uint32_t number;  // in `chunks_`
    uint32_t next;    // kNoChunk: none
    uint32_t refs[kRefs];
  };
  static_assert(sizeof(Chunk) == 64);

  struct List {
    Chunk* head = nullptr;
    size_t head_size = 0;

    bool empty() const noexcept { return head == nullptr; }
  };

  explicit ReferenceLists(Pages& pool) : chunks_(pool, sizeof(Chunk)) {}

  // How many chunks are in use.
  size_t chunks() const noexcept { return chunk_count_; }
  void Reserve(size_t chunks) { chunks_.Reserve(chunks); }

  void Push(List& list, uint32_t number) {
    if (list.empty() || list.head_size == Chunk::kRefs) AddHead(list);
    list.head->refs[list.head_size++] = number;
  }
  // Gives back the first chunk, with what is in there.
  void DropHead(List& list) noexcept {
    Chunk* const after = After(*list.head);
    chunks_.Free(list.head->number, reinterpret_cast<std::byte*>(list.head));
    --chunk_count_;
    list = {.head = after, .head_size = after == nullptr ? 0 : Chunk::kRefs};
  }
  void Clear(List& list) noexcept {
    while (!list.empty()) DropHead(list);
  }

  // The chunk behind this one, or null.
  const Chunk* After(const Chunk& chunk) const noexcept {
    return chunk.next == kNoChunk ? nullptr
                                  : reinterpret_cast<const Chunk*>(chunks_.hot(chunk.next));
  }
  Chunk* After(const Chunk& chunk) noexcept {
    return const_cast<Chunk*>(std::as_const(*this).After(chunk));
  }

  // Calls `visit(number)` for every reference of the list.
  template <class Visit>
  void ForEach(const List& list, const Visit& visit) const {
    size_t refs = list.head_size;
    for (const Chunk* chunk = list.head; chunk != nullptr; chunk = After(*chunk)) {
      for (size_t i = 0; i < refs; ++i) visit(chunk->refs[i]);
      refs = Chunk::kRefs;
    }
  }

  // Ends the process unless the list has references in each chunk. Returns how many chunks it has.
  size_t CheckList(const List& list) const {
    PLEAT_CHECK(list.empty() || (list.head_size > 0 && list.head_size <= Chunk::kRefs));
    size_t chunks = 0;
    for (const Chunk* chunk = list.head; chunk != nullptr; chunk = After(*chunk)) ++chunks;
    return chunks;
  }
  // Ends the process unless as many chunks are taken as are in use. O(chunks); for tests.
  void CheckWhole() const { PLEAT_CHECK(chunk_count_ == chunks_.CheckWhole()); }

 private:
  static constexpr uint32_t kNoChunk = UINT32_MAX;

  void AddHead(List& list) {
    const uint32_t number = chunks_.Allocate();
    ++chunk_count_;
    auto* const chunk = ::new (chunks_.hot(number)) Chunk;
    chunk->number = number;
    chunk->next = list.empty() ? kNoChunk : list.head->number;
    list = {.head = chunk, .head_size = 0};
  }

  Slab<> chunks_;
  size_t chunk_count_ = 0;
};

}  // namespace pleat::inline v0_1
