#include "engine/lines/reduce/element_set.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>
#include <pleat/json_lines.h>

#include "engine/lines/reduce/short_text.h"
#include "engine/lines/scan/normal.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kIndexedSize = 12;
constexpr size_t kFirstBytes = 128;  // at least

using Length = uint32_t;  // of one element in a block: at most a line's

// A stored set begins with the number of its elements, above these flags.
constexpr uint64_t kStoredCut = 1;
constexpr uint64_t kStoredIndexed = 2;
constexpr int kStoredFlags = 2;

bool IsSameText(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && SameText(a.data(), b.data(), a.size());
}

// The element at a place, which is where its length is.
template <class AnyLength = Length>
std::string_view ElementAt(const char* place) noexcept {
  AnyLength length;
  std::memcpy(&length, place, sizeof(length));
  return {place + sizeof(length), length};
}

template <class AnyLength>
void PutElement(std::string_view element, char* place) noexcept {
  const auto length = static_cast<AnyLength>(element.size());
  std::memcpy(place, &length, sizeof(length));
  CopyText(place + sizeof(length), element.data(), element.size());
}

// Calls `visit(place, element)` for the elements in `used` bytes until it returns false; returns
// whether it never did.
template <class AnyLength, class Visit>
bool ForEach(const char* bytes, size_t used, Visit visit) {
  for (size_t place = 0; place < used;) {
    const std::string_view element = ElementAt<AnyLength>(bytes + place);
    if (!visit(place, element)) return false;
    place += sizeof(AnyLength) + element.size();
  }
  return true;
}

template <class AnyLength, class Separator>
void Append(const char* bytes, size_t used, Separator separator, LineWriter& out) {
  ForEach<AnyLength>(bytes, used, [&](size_t place, std::string_view element) {
    if (place != 0) out.Put(separator);
    out.Put(element);
    return true;
  });
}

// Whether the normal form of `element`, which may be odd, is `normal`.
bool HasNormalForm(std::string_view element, std::string_view normal) {
  return IsSameText(element, normal) || (!IsNormalElement(element) && Normal(element) == normal);
}

// Elements are looked for by their normal form. Places are offsets, because the block moves when it grows;
// `bytes` says where it is.
class Index {
 public:
  explicit Index(const char* bytes) : bytes_(bytes), places_(0, Hash{this}, Equal{this}) {}

  bool Contains(std::string_view element) const { return places_.contains(element); }
  void Insert(size_t place) { places_.insert(place); }
  // From now on elements may be odd.
  void SetOdd() noexcept { odd_ = true; }
  void MoveTo(const char* bytes) noexcept { bytes_ = bytes; }
  size_t heap_bytes() const noexcept {
    return sizeof(*this) + places_.capacity() * (sizeof(size_t) + 1);
  }

 private:
  std::string_view at(size_t place) const noexcept { return ElementAt(bytes_ + place); }

  struct Hash {
    using is_transparent = void;
    const Index* index;
    size_t operator()(size_t place) const {
      const std::string_view element = index->at(place);
      if (!index->odd_ || IsNormalElement(element)) return (*this)(element);
      return (*this)(std::string_view(Normal(element)));
    }
    size_t operator()(std::string_view element) const noexcept {
      return absl::Hash<absl::string_view>{}(absl::string_view(element.data(), element.size()));
    }
  };
  struct Equal {
    using is_transparent = void;
    const Index* index;
    bool operator()(size_t a, size_t b) const noexcept { return a == b; }
    bool operator()(size_t a, std::string_view b) const {
      return index->odd_ ? HasNormalForm(index->at(a), b) : index->at(a) == b;
    }
    bool operator()(std::string_view a, size_t b) const { return (*this)(b, a); }
  };

  const char* bytes_;
  bool odd_ = false;
  absl::flat_hash_set<size_t, Hash, Equal> places_;
};

}  // namespace

// Followed by `capacity` bytes.
struct ElementSet::Block {
  size_t used;
  size_t capacity;
  size_t count;
  Index* index;  // null until it is looked for something among kIndexedSize elements
  bool odd;      // some element may be

  const char* bytes() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }

  // `element` is in normal form.
  bool Contains(std::string_view element) {
    if (count < kIndexedSize && odd) {
      return !ForEach<Length>(bytes(), used, [&](size_t, std::string_view each) {
        return !HasNormalForm(each, element);
      });
    }
    if (count < kIndexedSize) {
      return !ForEach<Length>(
          bytes(), used, [&](size_t, std::string_view each) { return !IsSameText(each, element); });
    }
    if (index == nullptr) BuildIndex();
    return index->Contains(element);
  }

  void BuildIndex() {
    index = new Index(bytes());
    if (odd) index->SetOdd();
    ForEach<Length>(bytes(), used,
                    [&](size_t place, std::string_view) { return index->Insert(place), true; });
  }

  void SetOdd() noexcept {
    odd = true;
    if (index != nullptr) index->SetOdd();
  }

  static Block* Make(size_t capacity) {
    auto* const block = static_cast<Block*>(::operator new(sizeof(Block) + capacity));
    *block = {0, capacity, 0, nullptr, false};
    return block;
  }

  // Another one with the same elements, and no index until it needs one.
  Block* Copy(size_t with_capacity) {
    Block* const copy = Make(with_capacity);
    copy->used = used;
    copy->count = count;
    copy->odd = odd;
    std::memcpy(copy->bytes(), bytes(), used);
    return copy;
  }

  // `old` with room for `more` bytes.
  static Block* Grown(Block* old, size_t more) {
    Block* const block = old->Copy(old->used + std::max(old->used, more));
    block->index = old->index;
    if (block->index != nullptr) block->index->MoveTo(block->bytes());
    ::operator delete(old);
    return block;
  }

  // REQUIRES: there is room.
  void Put(std::string_view element) {
    const size_t place = used;
    PutElement<Length>(element, bytes() + place);
    used += sizeof(Length) + element.size();
    ++count;
    if (index != nullptr) index->Insert(place);
  }
};

const ElementSet::Block* ElementSet::block() const noexcept {
  const Block* block;
  std::memcpy(&block, bytes_, sizeof(Block*));
  return block;
}
ElementSet::Block* ElementSet::block() noexcept {
  return const_cast<Block*>(std::as_const(*this).block());
}

void ElementSet::set_block(Block* block) noexcept {
  std::memcpy(bytes_, &block, sizeof(Block*));
  state_ = static_cast<uint8_t>(kOnHeap | (state_ & kCut));
}

void ElementSet::Add(std::string_view element, uint64_t bound) {
  if (AddInPlace(element, bound) || cut()) return;
  if (on_heap() && block()->Contains(element)) return;
  count() < bound ? Put(element) : Cut();
}

void ElementSet::AddOdd(std::string_view element, uint64_t bound) {
  if (cut()) return;
  const std::string normal = Normal(element);
  // Elements that lie in place are in normal form.
  const auto differs = [&](size_t, std::string_view each) { return each != normal; };
  const bool contains = on_heap() ? block()->Contains(normal)
                                  : !ForEach<InlineLength>(bytes_, inline_used(), differs);
  if (contains) return;
  if (count() >= bound) return Cut();
  if (!on_heap()) MoveToHeap();
  block()->SetOdd();
  Put(element);
}

void ElementSet::Push(std::string_view element, uint64_t bound) {
  if (cut()) return;
  count() < bound ? Put(element) : Cut();
}

// REQUIRES: it is not cut.
void ElementSet::Put(std::string_view element) {
  if (!on_heap()) {
    const size_t used = inline_used() + sizeof(InlineLength) + element.size();
    if (used <= kInlineBytes) {
      PutElement<InlineLength>(element, bytes_ + inline_used());
      state_ = static_cast<uint8_t>(used);
      return;
    }
    MoveToHeap();
  }
  const size_t more = sizeof(Length) + element.size();
  if (more > block()->capacity - block()->used) set_block(Block::Grown(block(), more));
  block()->Put(element);
}

void ElementSet::MoveToHeap() {
  // Texts of concat may be empty: then the lengths, which grow, are all there is.
  const size_t lengths = count() * (sizeof(Length) - sizeof(InlineLength));
  Block* const block = Block::Make(std::max(kFirstBytes, inline_used() + lengths));
  ForEach<InlineLength>(bytes_, inline_used(), [&](size_t, std::string_view element) {
    return block->Put(element), true;
  });
  set_block(block);
}

uint64_t ElementSet::count() const noexcept {
  if (on_heap()) return block()->count;
  uint64_t count = 0;
  ForEach<InlineLength>(bytes_, inline_used(),
                        [&](size_t, std::string_view) { return ++count, true; });
  return count;
}

void ElementSet::AppendTo(LineWriter& out) const {
  if (on_heap()) return Append<Length>(block()->bytes(), block()->used, ',', out);
  char* to = out.Reserve(kInlineBytes);  // a comma takes no more than the length
  ForEach<InlineLength>(bytes_, inline_used(), [&](size_t place, std::string_view element) {
    if (place != 0) *to++ = ',';
    CopyText(to, element.data(), element.size());
    to += element.size();
    return true;
  });
  out.TakeUpTo(to);
}

void ElementSet::AppendTo(LineWriter& out, std::string_view separator) const {
  if (on_heap()) return Append<Length>(block()->bytes(), block()->used, separator, out);
  Append<InlineLength>(bytes_, inline_used(), separator, out);
}

size_t ElementSet::BlockBytes() const noexcept {
  const size_t index = block()->index == nullptr ? 0 : block()->index->heap_bytes();
  return sizeof(Block) + block()->capacity + index;
}

// One that would fit in place is as large as MoveToHeap() makes it, because it is stored as if it did.
void ElementSet::Detach() {
  if (on_heap()) set_block(block()->Copy(FitsInPlace() ? kFirstBytes : block()->used));
}

// REQUIRES: it is on the heap.
bool ElementSet::FitsInPlace() const noexcept {
  return block()->used - block()->count * (sizeof(Length) - sizeof(InlineLength)) <= kInlineBytes;
}

void ElementSet::Clear() noexcept {
  if (on_heap()) {
    delete block()->index;
    ::operator delete(block());
  }
  state_ = 0;
}

bool ElementSet::All(absl::FunctionRef<bool(std::string_view element)> holds) const {
  const auto visit = [&](size_t, std::string_view element) { return holds(element); };
  if (on_heap()) return ForEach<Length>(block()->bytes(), block()->used, visit);
  return ForEach<InlineLength>(bytes_, inline_used(), visit);
}

// The number of elements and flags; the bytes of all elements; of a block, the bytes that are free;
// the elements. Whether there is a block follows from the sizes.
void ElementSet::Save(FieldWriter& out) const {
  const bool indexed = on_heap() && block()->index != nullptr;
  const uint64_t count = this->count();
  out.PutNumber(count << kStoredFlags | (cut() ? kStoredCut : 0) | (indexed ? kStoredIndexed : 0));
  if (count == 0) return;
  const auto put = [&](size_t, std::string_view element) { return out.PutBytes(element), true; };
  if (!on_heap()) {
    out.PutNumber(inline_used() - count * sizeof(InlineLength));
    ForEach<InlineLength>(bytes_, inline_used(), put);
    return;
  }
  out.PutNumber(block()->used - count * sizeof(Length));
  if (!FitsInPlace()) out.PutNumber(block()->capacity - block()->used);
  ForEach<Length>(block()->bytes(), block()->used, put);
}

// The index is made now, not when it is needed: what a group takes must not depend on whether it
// was loaded. Its size is that of before, because it grows by the number of elements alone.
void ElementSet::Load(FieldReader& in, bool may_be_odd) {
  const uint64_t head = in.Number();
  if ((head & kStoredCut) != 0) Cut();
  const uint64_t count = head >> kStoredFlags;
  if (count == 0) return;
  const size_t text_bytes = in.Count();
  if (!in.Expect(in.Has(count))) return;
  const bool is_inline = count * sizeof(InlineLength) + text_bytes <= kInlineBytes;
  is_inline ? LoadInline(in, count, text_bytes) : LoadBlock(in, count, text_bytes);
  if (!in.ok()) return;
  if (may_be_odd &&
      !All([](std::string_view each) { return each.empty() || IsNormalElement(each); })) {
    if (!on_heap()) MoveToHeap();
    block()->SetOdd();
  }
  if ((head & kStoredIndexed) == 0) return;
  if (in.Expect(on_heap() && block()->count >= kIndexedSize)) block()->BuildIndex();
}

void ElementSet::LoadInline(FieldReader& in, size_t count, size_t text_bytes) {
  const size_t size = count * sizeof(InlineLength) + text_bytes;
  size_t used = 0;
  for (; count > 0; --count) {
    const std::string_view element = in.Bytes();
    if (!in.Expect(used + sizeof(InlineLength) + element.size() <= size)) break;
    PutElement<InlineLength>(element, bytes_ + used);
    used += sizeof(InlineLength) + element.size();
  }
  in.Expect(used == size);
  state_ = static_cast<uint8_t>(used | (state_ & kCut));
}

void ElementSet::LoadBlock(FieldReader& in, size_t count, size_t text_bytes) {
  const size_t size = count * sizeof(Length) + text_bytes;
  const uint64_t spare = in.Number();
  if (!in.Expect(spare <= std::max(size, kFirstBytes))) return;
  set_block(Block::Make(size + spare));
  for (; count > 0; --count) {
    const std::string_view element = in.Bytes();
    const size_t used = block()->used + sizeof(Length) + element.size();
    if (!in.Expect(element.size() <= kLineBytesMax && used <= size)) return;
    block()->Put(element);
  }
  in.Expect(block()->used == size);
}

}  // namespace pleat::inline v0_1
