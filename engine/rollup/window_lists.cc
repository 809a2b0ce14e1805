#include "engine/rollup/window_lists.h"

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

// Inline, because an event that opens a window pays for it.
[[gnu::always_inline]] inline void WindowLists::AppendHere(List& list, uint32_t counter,
                                                           uint64_t arrival) {
  if (list.tail == kNone || ChunkAt(list.tail).size == ChunkAt(list.tail).nodes.size() ||
      arrival - ChunkAt(list.tail).base > UINT32_MAX) {
    const uint32_t added = chunks_.Allocate();
    Chunk& chunk = ChunkAt(added);
    chunk.next = kNone;
    chunk.size = 0;
    chunk.base = arrival;
    if (list.tail == kNone) {
      list.first = list.chunk = added;
    } else {
      PLEAT_DCHECK(list.chunk != kNone);  // nothing is added to a list of which all was taken
      ChunkAt(list.tail).next = added;
    }
    list.tail = added;
  }
  Chunk& chunk = ChunkAt(list.tail);
  PLEAT_DCHECK(arrival >= chunk.base);
  chunk.nodes[chunk.size++] = {counter, static_cast<uint32_t>(arrival - chunk.base)};
  ++list.size;
}

void WindowLists::Append(const Name& name, uint32_t counter, uint64_t arrival) {
  Lists& open = stages_[kOpen];
  if (latest_ == open.end() || latest_->first != name) latest_ = open.try_emplace(name).first;
  PLEAT_DCHECK(!latest_->second.ended);
  AppendHere(latest_->second, counter, arrival);
}

void WindowLists::AppendTo(List& list, uint32_t counter, uint64_t arrival) {
  AppendHere(list, counter, arrival);
}

bool WindowLists::Next(const List& list, Entry& entry) const noexcept {
  if (list.chunk == kNone) return false;
  entry = EntryOf(ChunkAt(list.chunk), list.index);
  return true;
}

bool WindowLists::Ahead(const List& list, uint32_t ahead, uint32_t& counter) const noexcept {
  if (list.chunk == kNone) return false;
  const Chunk* chunk = &ChunkAt(list.chunk);
  uint32_t index = list.index + ahead;
  while (index >= chunk->size) {
    if (chunk->next == kNone) return false;
    index -= chunk->size;
    chunk = &ChunkAt(chunk->next);
  }
  counter = chunk->nodes[index].counter;
  return true;
}

void WindowLists::Pass(List& list, bool frees) noexcept {
  const Chunk& chunk = ChunkAt(list.chunk);
  ++list.passed;
  if (++list.index < chunk.size) return;
  const uint32_t passed = list.chunk;
  list.chunk = chunk.next;
  list.index = 0;
  if (!frees) return;
  PLEAT_DCHECK(list.first == passed);
  list.first = list.chunk;
  if (list.first == kNone) list.tail = kNone;
  if (saving_ != nullptr) [[unlikely]]
    return FreeLater(passed);
  chunks_.Free(passed);
}

void WindowLists::FreeLater(uint32_t chunk) {
  unfreed_.push_back(chunk);
  if (!saving_->Hold(sizeof(Chunk), [] {})) FreeUnfreed(SIZE_MAX);
}

void WindowLists::MoveFirst(Stage from, Stage to) {
  PLEAT_DCHECK(stages_[from].begin()->second.chunk == kNone);
  if (latest_ == stages_[from].begin()) latest_ = stages_[kOpen].end();
  auto moved = stages_[to].insert(stages_[from].extract(stages_[from].begin()));
  PLEAT_CHECK(moved.inserted);
  moved.position->second.chunk = moved.position->second.first;
  moved.position->second.passed = 0;
}

void WindowLists::DropFirst(Stage stage) noexcept {
  PLEAT_DCHECK(stages_[stage].begin()->second.first == kNone);
  if (latest_ == stages_[stage].begin()) latest_ = stages_[kOpen].end();
  stages_[stage].erase(stages_[stage].begin());
}

void WindowLists::DropAll(Stage stage) noexcept {
  while (Lists::value_type* const list = First(stage)) {
    for (Entry entry; Next(list->second, entry);) Pass(list->second, /*frees=*/true);
    DropFirst(stage);
  }
}

WindowLists::Rest WindowLists::RestOf(Stage stage, const Lists::value_type& list,
                                      bool frees) noexcept {
  const auto& [name, now] = list;
  const uint32_t size = frees ? now.size - now.passed : now.size;
  return {.stage = stage,
          .name = name,
          .size = size,
          .passed = frees ? 0 : now.passed,
          .left = size,
          .chunk = frees ? now.chunk : now.first,
          .index = frees ? now.index : 0};
}

bool WindowLists::EndSave(size_t max) noexcept {
  saving_ = nullptr;
  FreeUnfreed(max);
  return unfreed_.empty();
}

void WindowLists::FreeUnfreed(size_t max) noexcept {
  for (; max > 0 && !unfreed_.empty(); --max) {
    chunks_.Free(unfreed_.back());
    unfreed_.pop_back();
  }
  if (unfreed_.empty()) unfreed_ = {};
}

const WindowLists::List* WindowLists::Find(const Name& name) const noexcept {
  for (const Stage stage : {kOpen, kKept}) {
    const auto found = stages_[stage].find(name);
    if (found != stages_[stage].end()) return &found->second;
  }
  return nullptr;
}

}  // namespace pleat::inline v0_1
