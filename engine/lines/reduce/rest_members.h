// The members of a group's events that no option names, each with its first or its last value, in
// order of first appearance.
//
// The senders of events choose the names. So there are at most kRestMembersMax of them, and from
// kIndexedSize on a hash table finds them. This is plain data, like SmallText: all zeros is "none",
// the bytes may be moved, and the owner calls Clear(). A group without such members owns no heap
// memory.
#pragma once

#include <cstddef>
#include <string_view>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/lines/reduce/line_writer.h"

namespace pleat::inline v0_1 {

class RestMembers {
 public:
  // Both texts are canonical, the name with its quotes.
  void Fold(std::string_view name, std::string_view value, EngineTime at, bool last);

  // Whether there was one name too many.
  bool cut() const noexcept;

  // Appends the members, each with a comma before it.
  void AppendTo(LineWriter& out) const;

  // The heap memory that the members own, in O(1).
  size_t heap_bytes() const noexcept;

  // Makes members that are a copy of others' bytes own their heap memory.
  void Detach();

  void Clear() noexcept;

  // Loaded members have the same heap_bytes(), but for what SmallText::Save() says.
  void Save(FieldWriter& out) const;
  // REQUIRES: there are none.
  void Load(FieldReader& in);

 private:
  struct Table;

  Table* table_;  // null: none
};
static_assert(sizeof(RestMembers) == 8);

}  // namespace pleat::inline v0_1
