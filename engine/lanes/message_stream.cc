#include "engine/lanes/message_stream.h"

#include <iterator>
#include <utility>

#include <absl/container/flat_hash_set.h>

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
  made_ = made;
  digest_ = digest;
  decided_ = last.decided;
  confirmed_before_ = last.confirmed;
  for (const NumberRange& range : last.ranges) confirmed_above_.emplace(range.begin, range.end);
}

bool MessageStream::WasConfirmed(uint64_t number) const {
  if (number < confirmed_before_) return true;
  const auto behind = confirmed_above_.upper_bound(number);
  return behind != confirmed_above_.begin() && number < std::prev(behind)->second;
}

void MessageStream::Add(std::string_view key, std::string payload) {
  digest_ = DigestWith(digest_, key, payload);
  const uint64_t number = made_++;
  if (WasConfirmed(number)) return;
  const auto [added, is_new] =
      entries_.emplace(number, Entry{std::string(key), std::move(payload)});
  bytes_ += BytesIn(added->second);
}

StreamCheckpoint MessageStream::Checkpoint() const {
  StreamCheckpoint checkpoint{.name = name_hash_,
                              .decided = made_,
                              .digest = digest_,
                              .confirmed = confirmed(),
                              .ranges = {}};
  for (const auto& [begin, end] : confirmed_above_) {
    if (checkpoint.ranges.size() == kConfirmedRangesMax) break;
    checkpoint.ranges.push_back({.begin = begin, .end = end});
  }
  return checkpoint;
}

size_t MessageStream::Lend(size_t max, EngineTime now, EngineTime until, Take take) {
  absl::flat_hash_set<std::string_view> busy;
  size_t lent = 0;
  size_t looked_at = 0;
  for (auto& [number, entry] : entries_) {
    if (number >= decided_ || lent == max || looked_at++ == kLookedAtMax) break;
    if (!busy.insert(entry.key).second || entry.lent_until > now) continue;
    entry.lent_until = until;
    take(number, entry);
    ++lent;
  }
  return lent;
}

// Its range grows, or is a new one; those below the first message that is not confirmed go.
void MessageStream::AddConfirmed(uint64_t number) {
  uint64_t end = number + 1;
  const auto behind = confirmed_above_.lower_bound(number);
  auto range = behind;
  const bool joins_before =
      behind != confirmed_above_.begin() && std::prev(behind)->second == number;
  if (behind != confirmed_above_.end() && behind->first == end) {
    end = behind->second;
    range = confirmed_above_.erase(behind);
  }
  if (joins_before) {
    std::prev(range)->second = end;
  } else {
    confirmed_above_.emplace(number, end);
  }
  while (!confirmed_above_.empty() && confirmed_above_.begin()->first < confirmed()) {
    confirmed_above_.erase(confirmed_above_.begin());
  }
}

bool MessageStream::Confirm(uint64_t number) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return false;
  bytes_ -= BytesIn(found->second);
  entries_.erase(found);
  AddConfirmed(number);
  return true;
}

bool MessageStream::LendAgain(uint64_t number, EngineTime at) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return false;
  found->second.lent_until = at;
  return true;
}

}  // namespace pleat::inline v0_1
