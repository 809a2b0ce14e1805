// Where a value is in a document: the steps from the outermost object to the value.
//
// As text a path is either dotted, `a.b`, or a JSON Pointer, `/a/b` with ~1 for / and ~0 for ~. A step
// is the name of a member where the value is an object. Where it is an array, a step that is an index
// leads to an element, 0 being the first: so a.0 finds 5 in {"a":[5]} as in {"a":{"0":5}}.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace pleat::inline v0_1 {

using Path = std::vector<std::string>;

// The index that a step means in an array: digits without a leading zero. kNoIndex if the step is no
// such number, or too large for any array of a line.
inline constexpr uint32_t kNoIndex = UINT32_MAX;
uint32_t IndexOf(std::string_view step) noexcept;

// Errors: kInvalidArgument, a phrase to follow the path: `... has an empty step`.
absl::StatusOr<Path> ParsePath(std::string_view text);

// A search in a list: of its elements, the first object whose member `name` is `value`; and the way on
// from there. A text is `value` itself; a number, true, false and null are what `value` reads as, unless
// it was written in quotes.
struct PathSearch {
  std::string name;
  std::string value;
  bool text_only = false;
  Path steps;

  friend bool operator==(const PathSearch&, const PathSearch&) = default;
};

// A way to a value: by names, and then maybe by searches.
struct PathWay {
  Path steps;
  std::vector<PathSearch> searches;

  friend bool operator==(const PathWay&, const PathWay&) = default;
};

// A path as options have it (written_path.h): the value is the first one that is there and not null.
struct WrittenPath {
  std::vector<PathWay> ways;
  bool optional = false;  // it may be absent, and is null then

  // Whether it is a path and no more.
  bool plain() const noexcept { return ways.size() == 1 && ways[0].searches.empty() && !optional; }
};

// A digest of a name's size, first and last bytes, to tell most names apart without comparing them.
// Its value depends on the machine's byte order and is never kept.
inline uint32_t Fingerprint(std::string_view name) noexcept {
  const auto load = []<class Word>(const char* from, Word word) noexcept -> uint64_t {
    std::memcpy(&word, from, sizeof(word));
    return word;
  };
  const char* const p = name.data();
  const size_t size = name.size();
  uint64_t word = 0;
  if (size >= 8) {
    word = load(p, uint64_t{}) + 0x9e3779b97f4a7c15 * load(p + size - 8, uint64_t{});
  } else if (size >= 4) {
    word = load(p, uint32_t{}) | load(p + size - 4, uint32_t{}) << 32;
  } else if (size > 0) {
    word = load(p, uint8_t{}) | load(p + size / 2, uint8_t{}) << 8 |
           load(p + size - 1, uint8_t{}) << 16;
  }
  word = (word ^ size) * 0xd6e8feb86659fd93;
  return static_cast<uint32_t>(word >> 32);
}

// All paths of a spec as one tree of names, so that one walk over a line finds all their values.
// Each distinct path gets a slot: 0, 1, 2... A value with several ways to it, or with a search on its
// way, has a slot of its own, and is derived from those of its ways when the walk is over.
class PathTree {
 public:
  static constexpr int kNone = -1;
  static constexpr int kRoot = 0;

  PathTree() : nodes_(1) {}

  // The slot of `path`; the same one for the same path.
  int Add(const Path& path);

  // The same for a path as options have it. Whether it is optional makes no difference.
  int AddWritten(const WrittenPath& path);

  struct DerivedWay {
    int slot;  // up to the first search
    std::vector<PathSearch> searches;

    friend bool operator==(const DerivedWay&, const DerivedWay&) = default;
  };
  struct Derived {
    int slot;
    std::vector<DerivedWay> ways;
  };
  const std::vector<Derived>& derived() const noexcept { return derived_; }
  bool has_derived() const noexcept { return !derived_.empty(); }

  // The whole document is kept or shown as well, whatever the paths are.
  void AskForAll() noexcept { asks_for_all_ = true; }
  bool asks_for_all() const noexcept { return asks_for_all_; }

  int slots() const noexcept { return slots_; }
  int nodes() const noexcept { return static_cast<int>(nodes_.size()); }

  // The slot that a value at `node` belongs to, or kNone.
  int Slot(int node) const noexcept { return nodes_[static_cast<size_t>(node)].slot; }

  // The node below `node` for the member `name`, or kNone if no path goes there.
  int Child(int node, std::string_view name, uint32_t fingerprint) const noexcept {
    for (const Branch& branch : nodes_[static_cast<size_t>(node)].branches) {
      if (branch.fingerprint == fingerprint && branch.name == name) return branch.node;
    }
    return kNone;
  }

  // How many elements of an array at `node`, which may be kNone, some path may lead to: those behind
  // them need not be looked up.
  uint32_t Elements(int node) const noexcept {
    return node == kNone ? 0 : nodes_[static_cast<size_t>(node)].elements;
  }

  // The node below `node` for the element `index` of an array, or kNone if no path goes there.
  int Element(int node, uint32_t index) const noexcept {
    for (const Branch& branch : nodes_[static_cast<size_t>(node)].branches) {
      if (branch.index == index) return branch.node;
    }
    return kNone;
  }

 private:
  struct Branch {
    std::string name;
    uint32_t fingerprint;
    uint32_t index;  // that the name is, or kNoIndex
    int node;
  };
  struct Node {
    int slot = kNone;
    uint32_t elements = 0;  // the largest index below, and one
    std::vector<Branch> branches;
  };

  std::vector<Node> nodes_;
  std::vector<Derived> derived_;
  int slots_ = 0;
  bool asks_for_all_ = false;
};

}  // namespace pleat::inline v0_1
