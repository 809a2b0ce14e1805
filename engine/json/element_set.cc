#include "engine/json/element_set.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

namespace pleat::inline v0 {
namespace {

constexpr size_t kIndexedSize = 12;
constexpr size_t kFirstCapacity = 64;

using Length = uint32_t;  // of one element: at most a line's

// The element at a place, which is where its length is.
std::string_view ElementAt(const char* place) noexcept {
  Length length;
  std::memcpy(&length, place, sizeof(length));
  return {place + sizeof(length), length};
}

// Places are offsets, because the block moves when it grows; `bytes` says where it is.
class Index {
 public:
  explicit Index(const char* bytes) : bytes_(bytes), places_(0, Hash{this}, Equal{this}) {}

  bool Contains(std::string_view element) const { return places_.contains(element); }
  void Insert(size_t place) { places_.insert(place); }
  void MoveTo(const char* bytes) noexcept { bytes_ = bytes; }
  size_t heap_bytes() const noexcept {
    return sizeof(*this) + places_.capacity() * (sizeof(size_t) + 1);
  }

 private:
  std::string_view at(size_t place) const noexcept { return ElementAt(bytes_ + place); }

  struct Hash {
    using is_transparent = void;
    const Index* index;
    size_t operator()(size_t place) const noexcept { return (*this)(index->at(place)); }
    size_t operator()(std::string_view element) const noexcept {
      return absl::Hash<absl::string_view>{}(absl::string_view(element.data(), element.size()));
    }
  };
  struct Equal {
    using is_transparent = void;
    const Index* index;
    bool operator()(size_t a, size_t b) const noexcept { return a == b; }
    bool operator()(size_t a, std::string_view b) const noexcept { return index->at(a) == b; }
    bool operator()(std::string_view a, size_t b) const noexcept { return a == index->at(b); }
  };

  const char* bytes_;
  absl::flat_hash_set<size_t, Hash, Equal> places_;
};

}  // namespace

// Followed by `capacity` bytes.
struct ElementSet::Block {
  size_t used;
  size_t capacity;
  size_t count;
  Index* index;  // null below kIndexedSize elements

  char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }

  // Calls `visit(place, element)` until it returns false; returns whether it never did.
  template <class Visit>
  bool ForEach(Visit visit) {
    for (size_t place = 0; place < used;) {
      const std::string_view element = ElementAt(bytes() + place);
      if (!visit(place, element)) return false;
      place += sizeof(Length) + element.size();
    }
    return true;
  }
};

bool ElementSet::Contains(std::string_view element) const {
  if (block_ == nullptr) return false;
  if (block_->index != nullptr) return block_->index->Contains(element);
  return !block_->ForEach([&](size_t, std::string_view each) { return each != element; });
}

void ElementSet::Reserve(size_t more) {
  const size_t used = block_ == nullptr ? 0 : block_->used;
  if (block_ != nullptr && more <= block_->capacity - used) return;
  const size_t capacity = std::max(kFirstCapacity, used + std::max(used, more));
  auto* const block = static_cast<Block*>(::operator new(sizeof(Block) + capacity));
  if (block_ == nullptr) {
    *block = {0, capacity, 0, nullptr};
  } else {
    *block = {used, capacity, block_->count, block_->index};
    std::memcpy(block->bytes(), block_->bytes(), used);
    ::operator delete(block_);
  }
  block_ = block;
  if (block_->index != nullptr) block_->index->MoveTo(block_->bytes());
}

void ElementSet::Add(std::string_view element) {
  if (Contains(element)) return;
  Reserve(sizeof(Length) + element.size());
  const size_t place = block_->used;
  const auto length = static_cast<Length>(element.size());
  std::memcpy(block_->bytes() + place, &length, sizeof(length));
  std::memcpy(block_->bytes() + place + sizeof(length), element.data(), element.size());
  block_->used += sizeof(length) + element.size();
  ++block_->count;
  if (block_->index != nullptr) {
    block_->index->Insert(place);
  } else if (block_->count == kIndexedSize) {
    block_->index = new Index(block_->bytes());
    block_->ForEach(
        [&](size_t each, std::string_view) { return block_->index->Insert(each), true; });
  }
}

void ElementSet::AppendTo(std::string& out) const {
  if (block_ == nullptr) return;
  block_->ForEach([&](size_t place, std::string_view element) {
    if (place != 0) out += ',';
    out += element;
    return true;
  });
}

size_t ElementSet::heap_bytes() const noexcept {
  if (block_ == nullptr) return 0;
  const size_t index = block_->index == nullptr ? 0 : block_->index->heap_bytes();
  return sizeof(Block) + block_->capacity + index;
}

void ElementSet::Clear() noexcept {
  if (block_ == nullptr) return;
  delete block_->index;
  ::operator delete(block_);
  block_ = nullptr;
}

}  // namespace pleat::inline v0
