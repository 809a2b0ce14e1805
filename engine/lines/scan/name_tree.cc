#include "engine/lines/scan/name_tree.h"

namespace pleat::inline v0_1 {

NameTree::NameTree(const PathTree& paths)
    : paths_(paths), bytes_(std::make_unique_for_overwrite<char[]>(kBytesMax)) {
  names_.reserve(kNamesMax + static_cast<size_t>(paths.nodes()) + 1);
  Forget();
}

// Keeps the beginnings that BeginningAt() returns: one for each node, and one for none.
void NameTree::Forget() {
  names_.clear();
  bytes_used_ = 0;
  full_ = false;
  for (int node = PathTree::kNone; node < paths_.nodes(); ++node) {
    Name beginning;
    beginning.node = beginning.object = node;
    beginning.slot = node == PathTree::kNone ? PathTree::kNone : paths_.Slot(node);
    beginning.inner = BeginningAt(node);
    names_.push_back(beginning);
  }
}

// Tells ForgetIfFull() that there was no room.
bool NameTree::Full() noexcept {
  full_ |= names_.size() == names_.capacity() || kBytesMax - bytes_used_ < 2 * (kQuotedMax + 1);
  return full_;
}

NameTree::Id NameTree::AddBeginning(Id id) {
  const int node = names_[id].node;
  if (Full()) return BeginningAt(node);
  const auto inner = static_cast<Id>(names_.size());
  Name beginning;
  beginning.node = beginning.object = node;
  names_.push_back(beginning);
  names_[id].inner = inner;
  return inner;
}

NameTree::Id NameTree::Find(Id id, std::string_view quoted) noexcept {
  for (Id next = names_[id].behind; next != kNone; next = names_[next].sibling) {
    const Name& name = names_[next];
    if (name.quoted_size != quoted.size() + 1) continue;
    if (std::memcmp(name.quoted, quoted.data(), quoted.size()) != 0) continue;
    names_[id].guess = next;
    return next;
  }
  return kNone;
}

bool NameTree::HasBefore(Id id, std::string_view text, uint32_t fingerprint) const noexcept {
  for (; names_[id].position != 0; id = names_[id].before) {
    if (names_[id].fingerprint == fingerprint && names_[id].text() == text) return true;
  }
  return false;
}

const char* NameTree::Keep(std::string_view bytes, char end) {
  char* const kept = bytes_.get() + bytes_used_;
  if (!bytes.empty()) std::memcpy(kept, bytes.data(), bytes.size());
  kept[bytes.size()] = end;
  bytes_used_ += bytes.size() + 1;
  return kept;
}

NameTree::Id NameTree::Add(Id id, std::string_view quoted, std::string_view text,
                           uint32_t fingerprint) {
  if (quoted.size() > kQuotedMax || names_[id].position == kPositionMax) return kNone;
  if (names_[id].behind_count == kBehindMax) return kNone;
  if (Full()) return kNone;
  Name name;
  name.quoted = Keep(quoted, ':');
  name.quoted_size = static_cast<uint32_t>(quoted.size() + 1);
  std::memcpy(name.quoted_head, name.quoted, std::min<size_t>(name.quoted_size, 16));
  const bool as_written = text == quoted.substr(1, quoted.size() - 2);
  name.text_data = as_written ? name.quoted + 1 : Keep(text, '\0');
  name.text_size = static_cast<uint32_t>(text.size());
  name.fingerprint = fingerprint;
  name.object = names_[id].object;
  if (name.object != PathTree::kNone) name.node = paths_.Child(name.object, text, fingerprint);
  if (name.node != PathTree::kNone) name.slot = paths_.Slot(name.node);
  name.before = id;
  name.position = static_cast<uint16_t>(names_[id].position + 1);
  name.sibling = names_[id].behind;
  const auto added = static_cast<Id>(names_.size());
  names_.push_back(name);
  names_[id].behind = names_[id].guess = added;
  ++names_[id].behind_count;
  return added;
}

}  // namespace pleat::inline v0_1
