#include "engine/lanes/message_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

void MessageStream::CountConfirmed(uint64_t number) {
  if (!WasConfirmed(number)) AddConfirmed(number);
}

bool MessageStream::WasConfirmed(uint64_t number) const {
  if (number < confirmed_before_) return true;
  const auto behind = confirmed_above_.upper_bound(number);
  return behind != confirmed_above_.begin() && number < std::prev(behind)->second;
}

void MessageStream::Add(std::string_view key, std::string payload) {
  digest_ = DigestWith(digest_, key, payload);
  const uint64_t number = made_;
  if (WasConfirmed(number)) {
    if (!entries_.empty()) entries_.push_back(nullptr);
    ++made_;
    return;
  }
  const auto last = last_of_keys_.find(key);
  const uint64_t before = last == last_of_keys_.end() ? kNone : *last;
  if (before != kNone) {
    at(before).behind = number;
    last_of_keys_.erase(last);
  }
  entries_.push_back(std::make_unique<Entry>(
      Entry{.key = std::string(key), .payload = std::move(payload), .before = before}));
  ++made_;
  ++waiting_;
  bytes_ += BytesIn(*entries_.back());
  last_of_keys_.insert(number);
  if (before == kNone && number < decided_) ready_.insert(number);
}

void MessageStream::SetDecided(uint64_t decided) {
  for (uint64_t number = std::max(decided_, confirmed()); number < decided; ++number) {
    const Entry* const entry = Find(number);
    if (entry != nullptr && entry->before == kNone) ready_.insert(ready_.end(), number);
  }
  decided_ = decided;
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

size_t MessageStream::Lend(size_t max, EngineTime now, EngineTime until, LeaseKeys keys,
                           Take take) {
  while (!lent_.empty() && lent_.begin()->first <= now) {
    const uint64_t number = lent_.begin()->second;
    at(number).is_lent = false;
    if (at(number).before == kNone) ready_.insert(number);
    lent_.erase(lent_.begin());
  }
  size_t lent = 0;
  std::vector<uint64_t> behind;
  for (; lent < max && !ready_.empty(); ++lent) {
    const uint64_t number = *ready_.begin();
    ready_.erase(ready_.begin());
    Entry& entry = at(number);
    entry.lent_until = until;
    entry.is_lent = true;
    lent_.emplace_hint(lent_.end(), until, number);
    if (keys == LeaseKeys::kTogether && MakeReady(entry.behind)) behind.push_back(entry.behind);
    take(number, entry);
  }
  // Those that had no room in this call wait for the ones before them.
  for (const uint64_t number : behind) {
    if (!at(number).is_lent) ready_.erase(number);
  }
  return lent;
}

// If there is one that may be lent.
bool MessageStream::MakeReady(uint64_t number) {
  return number < decided_ && !at(number).is_lent && ready_.insert(number).second;
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

// The one behind it is the first of the line now, if there is one and if this was the first.
void MessageStream::LeaveLine(uint64_t number, const Entry& entry) {
  if (lent_.erase({entry.lent_until, number}) == 0) ready_.erase(number);
  if (entry.behind != kNone) {
    at(entry.behind).before = entry.before;
  } else {
    last_of_keys_.erase(number);
    if (entry.before != kNone) last_of_keys_.insert(entry.before);
  }
  if (entry.before != kNone) {
    at(entry.before).behind = entry.behind;
  } else {
    MakeReady(entry.behind);
  }
}

bool MessageStream::Confirm(uint64_t number) {
  const Entry* const entry = FindDecided(number);
  if (entry == nullptr) return false;
  LeaveLine(number, *entry);
  bytes_ -= BytesIn(*entry);
  --waiting_;
  entries_[number - confirmed()].reset();
  while (!entries_.empty() && entries_.front() == nullptr) entries_.pop_front();
  AddConfirmed(number);
  return true;
}

bool MessageStream::LendAgain(uint64_t number, EngineTime at) {
  if (Find(number) == nullptr) return false;
  Entry& entry = this->at(number);
  const bool was_lent = lent_.erase({entry.lent_until, number}) + ready_.erase(number) > 0;
  if (!was_lent) return false;
  entry.lent_until = at;
  entry.is_lent = true;
  lent_.emplace(at, number);
  return true;
}

}  // namespace pleat::inline v0_1
