// The elements of a `set` or `keys` merge: canonical texts, each once, in order of first appearance.
//
// They are kept the way they are printed, joined by commas, so that printing is one copy. The first
// few are compared one by one; from kIndexedSize on a hash table of their numbers does the finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_set.h>

namespace pleat::inline v0 {

class ElementSet {
 public:
  ElementSet();
  ElementSet(const ElementSet&) = delete;
  ElementSet& operator=(const ElementSet&) = delete;

  // Returns whether `element` was new.
  bool Add(std::string_view element);

  // "a","b"
  std::string_view joined() const noexcept { return joined_; }

  // What it occupies, itself included; in O(1).
  size_t heap_bytes() const noexcept;

 private:
  static constexpr size_t kIndexedSize = 12;

  struct Hash {
    using is_transparent = void;
    const ElementSet* set;
    size_t operator()(size_t number) const noexcept { return (*this)(set->at(number)); }
    size_t operator()(std::string_view element) const noexcept;
  };
  struct Equal {
    using is_transparent = void;
    const ElementSet* set;
    bool operator()(size_t a, size_t b) const noexcept { return a == b; }
    bool operator()(size_t a, std::string_view b) const noexcept { return set->at(a) == b; }
    bool operator()(std::string_view a, size_t b) const noexcept { return a == set->at(b); }
  };

  std::string_view at(size_t number) const noexcept {
    const size_t begin = number == 0 ? 0 : ends_[number - 1] + 1;
    return std::string_view(joined_).substr(begin, ends_[number] - begin);
  }
  bool Contains(std::string_view element) const;

  std::string joined_;
  std::vector<size_t> ends_;  // in joined_
  absl::flat_hash_set<size_t, Hash, Equal> index_;  // empty below kIndexedSize
};

}  // namespace pleat::inline v0
