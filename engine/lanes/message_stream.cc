#include "engine/lanes/message_stream.h"

#include <algorithm>
#include <utility>

#include <absl/container/flat_hash_set.h>
#include <pleat/batch.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"

namespace pleat::inline v0_1 {
namespace {

uint64_t DigestWith(uint64_t digest, std::string_view key, std::string_view payload) {
  return StableHashOfWords(digest, StablePartitionHash(key), StablePartitionHash(payload), 23);
}

}  // namespace

void MessageStream::StartAt(uint64_t made, uint64_t digest, const StreamCheckpoint& last) {
  PLEAT_CHECK(made_ == 0 && made <= last.confirmed);
  made_ = first_ = made;
  digest_ = digest;
  last_ = last;
  decided_ = last.decided;
}

bool MessageStream::WasConfirmed(uint64_t number) const {
  if (number < last_.confirmed) return true;
  return std::ranges::any_of(last_.ranges, [number](const NumberRange& range) {
    return range.begin <= number && number < range.end;
  });
}

void MessageStream::Add(std::string_view key, std::string payload) {
  digest_ = DigestWith(digest_, key, payload);
  const uint64_t number = made_++;
  const bool was_confirmed = WasConfirmed(number);
  if (was_confirmed && entries_.empty()) {
    first_ = made_;
    return;
  }
  Entry& entry = entries_.emplace_back();
  entry.is_confirmed = was_confirmed;
  if (was_confirmed) {
    ++confirmed_above_;
    return;
  }
  entry.key = key;
  entry.payload = std::move(payload);
  ++waiting_;
  bytes_ += BytesIn(entry);
}

StreamCheckpoint MessageStream::Checkpoint() const {
  StreamCheckpoint checkpoint{
      .decided = made_, .digest = digest_, .confirmed = first_, .ranges = {}};
  uint64_t left = confirmed_above_;
  bool in_range = false;
  for (size_t i = 0; left > 0; ++i) {
    const uint64_t number = first_ + i;
    if (entries_[i].is_confirmed) {
      if (!in_range && checkpoint.ranges.size() == kConfirmedRangesMax) break;
      if (!in_range) checkpoint.ranges.push_back({.begin = number, .end = number});
      ++checkpoint.ranges.back().end;
      --left;
    }
    in_range = entries_[i].is_confirmed;
  }
  return checkpoint;
}

size_t MessageStream::Lend(size_t max, EngineTime now, EngineTime until, Take take) {
  const size_t looked_at = std::min(
      {entries_.size(), kLookedAtMax, static_cast<size_t>(std::max(decided_, first_) - first_)});
  absl::flat_hash_set<std::string_view> busy;
  size_t lent = 0;
  for (size_t i = 0; i < looked_at && lent < max; ++i) {
    Entry& entry = entries_[i];
    if (entry.is_confirmed || !busy.insert(entry.key).second || entry.lent_until > now) continue;
    entry.lent_until = until;
    take(first_ + i, entry);
    ++lent;
  }
  return lent;
}

MessageStream::Entry* MessageStream::Find(uint64_t number) {
  if (number < first_ || number - first_ >= entries_.size()) return nullptr;
  Entry& entry = entries_[number - first_];
  return entry.is_confirmed ? nullptr : &entry;
}

bool MessageStream::Confirm(uint64_t number) {
  Entry* const entry = Find(number);
  if (entry == nullptr) return false;
  bytes_ -= BytesIn(*entry);
  --waiting_;
  *entry = {.is_confirmed = true};
  ++confirmed_above_;
  while (!entries_.empty() && entries_.front().is_confirmed) {
    entries_.pop_front();
    ++first_;
    --confirmed_above_;
  }
  return true;
}

bool MessageStream::LendAgain(uint64_t number, EngineTime at) {
  Entry* const entry = Find(number);
  if (entry == nullptr) return false;
  entry->lent_until = at;
  return true;
}

}  // namespace pleat::inline v0_1
