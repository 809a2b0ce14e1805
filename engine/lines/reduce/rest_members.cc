#include "engine/lines/reduce/rest_members.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>
#include <pleat/json.h>

#include "engine/lines/reduce/small_text.h"
#include "engine/lines/reduce/stamped_text.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kIndexedMembers = 12;

struct Member {
  SmallText name;
  StampedText value;
};
using Members = std::vector<Member>;

// The index knows members by their place.
struct HashName {
  using is_transparent = void;
  const Members* members;
  size_t operator()(uint32_t place) const noexcept {
    return (*this)((*members)[place].name.view());
  }
  size_t operator()(std::string_view name) const noexcept {
    return absl::Hash<absl::string_view>{}(absl::string_view(name.data(), name.size()));
  }
};
struct EqualName {
  using is_transparent = void;
  const Members* members;
  bool operator()(uint32_t a, uint32_t b) const noexcept { return a == b; }
  bool operator()(uint32_t a, std::string_view b) const noexcept {
    return (*members)[a].name.view() == b;
  }
  bool operator()(std::string_view a, uint32_t b) const noexcept { return (*this)(b, a); }
};

}  // namespace

struct RestMembers::Table {
  Table() : index(0, HashName{&members}, EqualName{&members}) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    for (Member& member : members) {
      member.name.Clear();
      member.value.text.Clear();
    }
  }

  // The place of `name`, or members.size().
  size_t Find(std::string_view name) {
    if (members.size() < kIndexedMembers) {
      size_t place = 0;
      while (place < members.size() && members[place].name.view() != name) ++place;
      return place;
    }
    IndexUpTo(members.size());
    const auto found = index.find(name);
    return found == index.end() ? members.size() : *found;
  }

  void IndexUpTo(size_t place) {
    while (index.size() < place) index.insert(static_cast<uint32_t>(index.size()));
  }

  Members members;
  absl::flat_hash_set<uint32_t, HashName, EqualName> index;  // empty below kIndexedMembers members
  size_t text_bytes = 0;                                     // on the heap
  bool cut = false;
};

void RestMembers::Fold(std::string_view name, std::string_view value, EngineTime at, bool last) {
  if (table_ == nullptr) table_ = new Table;
  Members& members = table_->members;
  const size_t place = table_->Find(name);
  if (place == members.size()) {
    if (place == kRestMembersMax) {
      table_->cut = true;
      return;
    }
    SmallText& added = members.emplace_back().name;
    added.Assign(name);
    table_->text_bytes += added.heap_bytes();
  }
  table_->text_bytes += members[place].value.Fold(value, at, last);
}

bool RestMembers::cut() const noexcept { return table_ != nullptr && table_->cut; }

void RestMembers::AppendTo(LineWriter& out) const {
  if (table_ == nullptr) return;
  for (const Member& member : table_->members) {
    out.Put(',');
    out.Put(member.name.view());
    out.Put(':');
    out.Put(member.value.text.view());
  }
}

size_t RestMembers::heap_bytes() const noexcept {
  if (table_ == nullptr) return 0;
  return sizeof(Table) + table_->members.capacity() * sizeof(Member) +
         table_->index.capacity() * (sizeof(uint32_t) + 1) + table_->text_bytes;
}

void RestMembers::Detach() {
  if (table_ == nullptr) return;
  auto* const copy = new Table;
  copy->members = table_->members;
  copy->cut = table_->cut;
  for (Member& member : copy->members) {
    member.name.Detach();
    member.value.text.Detach();
    copy->text_bytes += member.name.heap_bytes() + member.value.text.heap_bytes();
  }
  table_ = copy;
}

void RestMembers::Clear() noexcept {
  delete table_;
  table_ = nullptr;
}

// How many and whether there was one too many; what was allocated beside them, and indexed; each.
void RestMembers::Save(FieldWriter& out) const {
  const size_t count = table_ == nullptr ? 0 : table_->members.size();
  out.PutNumber(count * 2 + (cut() ? 1 : 0));
  if (count == 0) return;
  out.PutNumber(table_->members.capacity() - count);
  out.PutNumber(table_->index.size());
  for (const Member& member : table_->members) {
    member.name.Save(out);
    member.value.Save(out);
  }
}

void RestMembers::Load(FieldReader& in) {
  const uint64_t head = in.Number();
  const uint64_t count = head / 2;
  if (!in.Expect(count <= kRestMembersMax && in.Has(count) && head != 1) || count == 0) return;
  const uint64_t spare = in.Number();
  const uint64_t indexed = in.Number();
  if (!in.Expect(spare <= count && indexed <= count)) return;
  table_ = new Table;
  table_->cut = head % 2 != 0;
  Members& members = table_->members;
  members.reserve(count + spare);
  while (members.size() < count && in.ok()) {
    Member& member = members.emplace_back();
    member.name.Load(in);
    member.value.Load(in);
    in.Expect(!member.name.empty() && !member.value.text.empty());
    table_->text_bytes += member.name.heap_bytes() + member.value.text.heap_bytes();
  }
  if (in.ok()) table_->IndexUpTo(indexed);
}

}  // namespace pleat::inline v0_1
