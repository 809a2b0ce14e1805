// The events of a group that happened last: the N with the largest stamps, of equal ones the latest
// to arrive. What `--raw-last` keeps.
//
// They lie in a heap whose root is the one that happened first, which a newer event replaces. So an
// event costs O(log N) in whatever order events come. This is plain data, like SmallText: all zeros
// is "none", the bytes may be moved, and the owner calls Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/lines/reduce/line_writer.h"

namespace pleat::inline v0_1 {

class LastEvents {
 public:
  // Keeps `event`, a canonical text, unless `bound` events that happened later are there already.
  void Fold(std::string_view event, EngineTime at, uint64_t bound);

  // Whether some event is not among them.
  bool cut() const noexcept;

  // Appends the events in the order in which they happened, joined by commas.
  void AppendTo(LineWriter& out) const;

  // The heap memory that the events own, in O(1).
  size_t heap_bytes() const noexcept;

  // Makes events that are a copy of others' bytes own their heap memory.
  void Detach();

  void Clear() noexcept;

  // Loaded events have the same heap_bytes(), but for what SmallText::Save() says.
  void Save(FieldWriter& out) const;
  // REQUIRES: there are none.
  void Load(FieldReader& in, uint64_t bound);

 private:
  struct Heap;

  Heap* heap_;  // null: none
};
static_assert(sizeof(LastEvents) == 8);

}  // namespace pleat::inline v0_1
