// Where a value is in a document: the member names on the way to it, from the outermost object.
//
// As text a path is either dotted, `a.b`, or a JSON Pointer, `/a/b` with ~1 for / and ~0 for ~. It
// leads through objects only: /0 is the member "0", never the first element of an array.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

namespace pleat::inline v0 {

using Path = std::vector<std::string>;

// Errors: kInvalidArgument, a phrase to follow the path: `... has an empty step`.
absl::StatusOr<Path> ParsePath(std::string_view text);

// All paths of a spec as one tree of names, so that one walk over a line finds all their values.
// Each distinct path gets a slot: 0, 1, 2...
class PathTree {
 public:
  static constexpr int kNone = -1;
  static constexpr int kRoot = 0;

  PathTree() : nodes_(1) {}

  // The slot of `path`; the same one for the same path.
  int Add(const Path& path);

  int slots() const noexcept { return slots_; }

  // The slot that a value at `node` belongs to, or kNone.
  int Slot(int node) const noexcept { return nodes_[static_cast<size_t>(node)].slot; }

  // The node below `node` for the member `name`, or kNone if no path goes there.
  int Child(int node, std::string_view name) const noexcept {
    for (const Branch& branch : nodes_[static_cast<size_t>(node)].branches) {
      if (branch.name == name) return branch.node;
    }
    return kNone;
  }

 private:
  struct Branch {
    std::string name;
    int node;
  };
  struct Node {
    int slot = kNone;
    std::vector<Branch> branches;
  };

  std::vector<Node> nodes_;
  int slots_ = 0;
};

}  // namespace pleat::inline v0
