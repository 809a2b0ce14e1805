// The member names of earlier lines, in the orders in which they came.
//
// The lines of a log repeat the same names in the same order. So the scanner looks a name up behind
// the names before it in its object, as in an earlier line. If the bytes are the same, all results
// of that line hold again: the escapes are fine, no earlier name of the object is equal, and the
// name leads to the same node of the path tree. This takes one comparison, nearly always with the
// name that came next in the line before.
//
//   {"a":1,"b":2,"c":3}     beginning -- a -- b -- c     each name knows the name before it, the names
//   {"a":1,"c":3}                         \            that came behind it, and the beginning of
//                                            c           the object that was its value
//
// The tree is small: names that are long, or far into an object, or the 17th in one place, are not
// remembered, and a full tree forgets everything and starts over. That only costs time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/lines/scan/path.h"
#include "engine/lines/scan/sixteen.h"

namespace pleat::inline v0_1 {

class NameTree {
 public:
  using Id = uint32_t;
  static constexpr Id kNone = UINT32_MAX;

  // How far into an object names are remembered.
  static constexpr uint16_t kPositionMax = 32;

  // The beginning of an object to which no path leads.
  static constexpr Id kNowhere = 0;

  // A name in its place, or the beginning of an object, which has no text.
  struct Name {
    char quoted_head[16] = {};     // the first bytes of
    const char* quoted = nullptr;  // the name as in the line, quotes and a colon included
    uint32_t quoted_size = 0;
    int node = PathTree::kNone;    // of the path tree, that the value belongs to
    int object = PathTree::kNone;  // and that of the object it stands in
    int slot = PathTree::kNone;    // of `node`
    Id guess = kNowhere;           // the name that came next the last time; else a beginning
    Id inner = kNone;              // the beginning of the object that is its value
    Id before = kNone;
    Id behind = kNone;   // the first of those that have come behind it,
    Id sibling = kNone;  // a list through this
    uint16_t behind_count = 0;
    uint16_t position = 0;  // in its object, from 1; 0 is the beginning
    uint32_t fingerprint = 0;
    uint32_t text_size = 0;
    const char* text_data = nullptr;  // unescaped

    std::string_view text() const noexcept { return {text_data, text_size}; }
  };

  // Borrows `paths`, which must be complete.
  explicit NameTree(const PathTree& paths);

  // Where an object whose path is `node` begins, if nothing more is known of its place.
  static Id BeginningAt(int node) noexcept { return static_cast<Id>(node + 1); }

  // Where the object begins that is the value of `id`.
  Id Inner(Id id) { return names_[id].inner != kNone ? names_[id].inner : AddBeginning(id); }

  const Name& operator[](Id id) const noexcept { return names_[id]; }

  // Whether the name at `at`, `size` bytes with its quotes and a colon, is the one that came behind
  // `id` the last time. If so, moves `id` on to it. REQUIRES: 16 bytes can be read.
  bool Follows(const char* at, size_t size, Id& id) const noexcept {
    const Id guess = names_[id].guess;
    const Name& name = names_[guess];
    if (name.quoted_size != size) return false;
    if (!SameBytes(at, name.quoted_head, std::min<size_t>(size, 16))) return false;
    if (size > 16 && std::memcmp(at + 16, name.quoted + 16, size - 16) != 0) return false;
    id = guess;
    return true;
  }

  // The name behind `id` that is written `quoted`, without a colon, or kNone.
  Id Find(Id id, std::string_view quoted) noexcept;

  // Whether `text` is `id` or one of the names before `id`.
  bool HasBefore(Id id, std::string_view text, uint32_t fingerprint) const noexcept;

  // Remembers that the name `quoted`, unescaped `text`, came behind `id`. kNone if there is no
  // room.
  Id Add(Id id, std::string_view quoted, std::string_view text, uint32_t fingerprint);

  // To be called between lines.
  void ForgetIfFull() {
    if (full_) Forget();
  }

 private:
  static constexpr size_t kNamesMax = 2048;  // beside the beginnings that are always there
  static constexpr size_t kBytesMax = 64 * 1024;
  static constexpr size_t kQuotedMax = 128;
  static constexpr uint16_t kBehindMax = 16;

  Id AddBeginning(Id id);
  void Forget();
  bool Full() noexcept;
  const char* Keep(std::string_view bytes, char end);

  const PathTree& paths_;
  std::vector<Name> names_;
  std::unique_ptr<char[]> bytes_;
  size_t bytes_used_ = 0;
  bool full_ = false;
};

}  // namespace pleat::inline v0_1
