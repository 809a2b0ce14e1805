#include "engine/json/element_set.h"

#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

namespace pleat::inline v0 {

ElementSet::ElementSet() : index_(0, Hash{this}, Equal{this}) {}

size_t ElementSet::Hash::operator()(std::string_view element) const noexcept {
  return absl::Hash<absl::string_view>{}(absl::string_view(element.data(), element.size()));
}

bool ElementSet::Contains(std::string_view element) const {
  if (ends_.size() >= kIndexedSize) return index_.contains(element);
  for (size_t i = 0; i < ends_.size(); ++i) {
    if (at(i) == element) return true;
  }
  return false;
}

bool ElementSet::Add(std::string_view element) {
  if (Contains(element)) return false;
  if (!ends_.empty()) joined_ += ',';
  joined_ += element;
  ends_.push_back(joined_.size());
  if (ends_.size() > kIndexedSize) {
    index_.insert(ends_.size() - 1);
  } else if (ends_.size() == kIndexedSize) {
    for (size_t i = 0; i < kIndexedSize; ++i) index_.insert(i);
  }
  return true;
}

size_t ElementSet::heap_bytes() const noexcept {
  return sizeof(*this) + joined_.capacity() + ends_.capacity() * sizeof(size_t) +
         index_.capacity() * (sizeof(size_t) + 1);
}

}  // namespace pleat::inline v0
