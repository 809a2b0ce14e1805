#include "bench/job.h"

#include <algorithm>
#include <cstring>

namespace pleat::bench {
namespace {

// The finalizer of splitmix64: spreads every bit of its argument over all.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Of a key's end, where keys differ most.
uint64_t LastBytes(std::string_view key) {
  uint64_t bytes = 0;
  if (key.size() >= sizeof(bytes)) {
    std::memcpy(&bytes, key.data() + key.size() - sizeof(bytes), sizeof(bytes));
  } else {
    std::memcpy(&bytes, key.data(), key.size());
  }
  return bytes;
}

}  // namespace

void Emissions::Add(std::string_view key, int64_t tick, std::span<const Name> names) {
  uint64_t set = 0;
  for (const Name& name : names) set += name.Hash();
  ++groups_;
  names_ += names.size();
  hash_ += Mix(LastBytes(key) + Mix(set + static_cast<uint64_t>(tick)));
  if (!keep_rows_) return;
  rows_.push_back({tick, std::string(key), {names.begin(), names.end()}});
  std::sort(rows_.back().names.begin(), rows_.back().names.end());
}

void Emissions::Add(const Emissions& other) {
  groups_ += other.groups_;
  names_ += other.names_;
  hash_ += other.hash_;
  rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
}

std::string Emissions::Row::Text() const {
  std::string text = key + " at " + std::to_string(tick) + " with";
  for (const Name& name : names) text.append(" ").append(name.text());
  return text;
}

std::string Emissions::Difference(Emissions a, Emissions b) {
  std::sort(a.rows_.begin(), a.rows_.end());
  std::sort(b.rows_.begin(), b.rows_.end());
  if (a.keep_rows_ && b.keep_rows_) {
    const auto [in_a, in_b] =
        std::mismatch(a.rows_.begin(), a.rows_.end(), b.rows_.begin(), b.rows_.end());
    if (in_a != a.rows_.end() || in_b != b.rows_.end()) {
      return (in_a == a.rows_.end() ? "no more rows" : in_a->Text()) + ", but " +
             (in_b == b.rows_.end() ? "no more rows" : in_b->Text());
    }
  }
  if (a.groups_ != b.groups_ || a.names_ != b.names_) {
    return std::to_string(a.groups_) + " groups with " + std::to_string(a.names_) + " names, but " +
           std::to_string(b.groups_) + " with " + std::to_string(b.names_);
  }
  return a.hash_ == b.hash_ ? "" : "as many groups and names, but other ones";
}

}  // namespace pleat::bench
