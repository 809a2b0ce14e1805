// WindowLists list the counters that have a window, by the end of the window. So all windows that
// end at one instant have one deadline, and close in the order of their first events.
//
// A list goes through up to three stages, in the order of ends; lists of one end follow each other
// finer resolution first:
//
//   open ---- final ----> kept ---- retention is over ----> last ---- forget_after is over ----> gone
//
// The owner decides how long after a window's end each stage is over, and takes the entries of a
// list one after the other, with a budget. Stages that the owner does not need are left out.
//
// An entry is 8 bytes: the number of a counter, and the distance of its position from that of its
// chunk. Chunks are 128 bytes of a slab, so that a list of a million counters grows without moving.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <pleat/time.h>

#include "engine/base/copies.h"
#include "engine/base/page_pool.h"
#include "engine/table/slab.h"

namespace pleat::inline v0_1 {

class WindowLists {
 public:
  enum Stage : uint8_t { kOpen, kKept, kLast, kStages };
  static constexpr uint32_t kNone = UINT32_MAX;
  // The bytes of an entry, with its share of the chunk; and the bytes of a list.
  static constexpr size_t kEntryBytes = 9;
  static constexpr size_t kListBytes = 256;

  struct Name {
    EngineTime end;
    uint8_t resolution;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  struct Entry {
    uint32_t counter;
    uint64_t arrival;
  };
  struct List {
    uint32_t first = kNone;  // chunks
    uint32_t tail = kNone;
    uint32_t chunk = kNone;  // of the next entry to take
    uint32_t index = 0;
    uint32_t size = 0;    // of all entries
    uint32_t passed = 0;  // of them
    bool ended = false;   // its windows were handed out before they were final
  };
  using Lists = std::map<Name, List>;
  // How far the saving of one list is, which is saved as it was at BeginSave().
  struct Rest {
    Stage stage;
    Name name;
    uint32_t size;    // of all entries that are saved
    uint32_t passed;  // of them
    uint32_t left;    // to take
    uint32_t chunk;   // where the next one is
    uint32_t index;
  };

  explicit WindowLists(Pages& pool) : chunks_(pool, sizeof(Chunk)) {}

  // Adds a counter to the open list of this name. REQUIRES: positions do not go back.
  void Append(const Name& name, uint32_t counter, uint64_t arrival);
  // For loading: a list of any stage, without entries so far, and an entry behind its last one.
  // REQUIRES: there is no list of this name; none stays without entries.
  List& Add(Stage stage, const Name& name) { return stages_[stage][name]; }
  void AppendTo(List& list, uint32_t counter, uint64_t arrival);

  // The first list of a stage, or null.
  Lists::value_type* First(Stage stage) noexcept {
    return stages_[stage].empty() ? nullptr : &*stages_[stage].begin();
  }
  EngineTime FirstEnd(Stage stage) const noexcept {
    return stages_[stage].empty() ? kNever : stages_[stage].begin()->first.end;
  }
  // Of any stage.
  EngineTime FirstEnd() const noexcept {
    return std::min({FirstEnd(kOpen), FirstEnd(kKept), FirstEnd(kLast)});
  }
  // Reads the next entry to take, or the counter of the entry that is `ahead` entries after it.
  // Returns false if there is none.
  bool Next(const List& list, Entry& entry) const noexcept;
  bool Ahead(const List& list, uint32_t ahead, uint32_t& counter) const noexcept;
  // Passes the next entry. `frees`: passed entries are not needed any more.
  void Pass(List& list, bool frees) noexcept;
  // Moves the first list of a stage to another one, to be taken again; or drops it.
  // REQUIRES: all its entries were taken; to be dropped, with `frees`.
  void MoveFirst(Stage from, Stage to);
  void DropFirst(Stage stage) noexcept;

  // Frees all lists of a stage. REQUIRES: passed entries of the stage are not needed.
  void DropAll(Stage stage) noexcept;
  bool Has(const Name& name) const noexcept {
    return std::ranges::any_of(stages_, [&](const Lists& lists) { return lists.contains(name); });
  }

  // The list of a window that is open or kept, or null.
  const List* Find(const Name& name) const noexcept;
  const Lists& at(Stage stage) const noexcept { return stages_[stage]; }
  const Lists& open() const noexcept { return stages_[kOpen]; }
  Lists& open() noexcept { return stages_[kOpen]; }
  size_t size() const noexcept {
    return stages_[kOpen].size() + stages_[kKept].size() + stages_[kLast].size();
  }

  // Calls `visit(entry)` for all entries of a list of which none was freed.
  template <class Visit>
  void ForEach(const List& list, const Visit& visit) const {
    for (uint32_t at = list.first; at != kNone; at = ChunkAt(at).next) {
      const Chunk& chunk = ChunkAt(at);
      for (uint32_t i = 0; i < chunk.size; ++i) visit(EntryOf(chunk, i));
    }
  }
  // The same for those that were not taken.
  template <class Visit>
  void ForEachLeft(const List& list, const Visit& visit) const {
    uint32_t index = list.index;
    for (uint32_t at = list.chunk; at != kNone; at = ChunkAt(at).next, index = 0) {
      const Chunk& chunk = ChunkAt(at);
      for (uint32_t i = index; i < chunk.size; ++i) visit(EntryOf(chunk, i));
    }
  }

  // --- Saving. Entries never change, and are only added at the end: all that it takes is to free no
  // chunk meanwhile.

  // The list as it is now; `frees`: without the entries that were passed.
  static Rest RestOf(Stage stage, const Lists::value_type& list, bool frees) noexcept;
  void BeginSave(Copies& copies) { saving_ = std::make_unique<Saving>(copies); }
  // Calls `visit(entry)` for the next entries of a list, at most `max`.
  template <class Visit>
  void Take(Rest& rest, uint32_t max, const Visit& visit) const {
    for (; max > 0 && rest.left > 0; --max, --rest.left) {
      if (rest.index == ChunkAt(rest.chunk).size) {
        rest.chunk = ChunkAt(rest.chunk).next;
        rest.index = 0;
      }
      visit(EntryOf(ChunkAt(rest.chunk), rest.index++));
    }
  }
  // Once all was taken, or will not be: frees at most `max` of the chunks that had to stay. Returns
  // whether that was all.
  bool EndSave(size_t max) noexcept;

 private:
  // A call, because Pass() pays for each instruction of an inline one.
  [[gnu::cold, gnu::noinline]] void FreeLater(uint32_t chunk);
  inline void AppendHere(List& list, uint32_t counter, uint64_t arrival);

  void FreeUnfreed(size_t max) noexcept;

  struct Saving final : Copies::Holder {
    explicit Saving(Copies& copies) : Holder(copies) {}
    ~Saving() override { Leave(); }
    using Holder::Hold;
    void Free() noexcept override {}  // only the partition's holder can
  };

  struct Node {
    uint32_t counter;
    uint32_t behind;
  };
  struct Chunk {
    uint32_t next;
    uint32_t size;
    uint64_t base;
    std::array<Node, 14> nodes;
  };
  static_assert(sizeof(Chunk) == 128);

  const Chunk& ChunkAt(uint32_t number) const noexcept {
    return *reinterpret_cast<const Chunk*>(chunks_.hot(number));
  }
  Chunk& ChunkAt(uint32_t number) noexcept {
    return *reinterpret_cast<Chunk*>(chunks_.hot(number));
  }
  static Entry EntryOf(const Chunk& chunk, uint32_t index) noexcept {
    return {chunk.nodes[index].counter, chunk.base + chunk.nodes[index].behind};
  }

  Slab<NoCold, 12> chunks_;
  std::array<Lists, kStages> stages_;
  std::unique_ptr<Saving> saving_;                 // null: nothing is being saved
  std::vector<uint32_t> unfreed_;                  // chunks, because of the saving
  Lists::iterator latest_ = stages_[kOpen].end();  // the list of the latest Append()
};

}  // namespace pleat::inline v0_1
