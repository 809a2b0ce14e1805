// The elements of a `set` or `keys` merge: canonical texts, each once, in order of first appearance.
//
// They lie one after the other in one block, a length before each. The first few are compared one by
// one; from kIndexedSize on a hash table of their places does the finding. Like SmallText it is
// plain data: all zeros is the empty set, its bytes may be moved, and the owner calls Clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pleat::inline v0 {

class ElementSet {
 public:
  // Adds `element` unless it is in.
  void Add(std::string_view element);

  // Appends the elements to `out`, joined by commas.
  void AppendTo(std::string& out) const;

  // What it owns, in O(1).
  size_t heap_bytes() const noexcept;

  void Clear() noexcept;

 private:
  struct Block;

  bool Contains(std::string_view element) const;
  void Reserve(size_t more);

  Block* block_;
};

}  // namespace pleat::inline v0
