#include "engine/lanes/message_stream.h"

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
  const uint64_t number = made_++;
  if (WasConfirmed(number)) return;
  Line& line = lines_[std::string(key)];
  Entry& entry = entries_[number];
  entry = {.key = std::string(key), .payload = std::move(payload), .before = line.last};
  bytes_ += BytesIn(entry);
  line.last = number;
  if (entry.before != kNone) {
    entries_.at(entry.before).behind = number;
    return;
  }
  line.first = number;
  if (number < decided_) ready_.insert(number);
}

void MessageStream::SetDecided(uint64_t decided) {
  for (auto it = entries_.lower_bound(decided_); it != entries_.end() && it->first < decided;
       ++it) {
    if (it->second.before == kNone) ready_.insert(it->first);
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

size_t MessageStream::Lend(size_t max, EngineTime now, EngineTime until, Take take) {
  while (!lent_.empty() && lent_.begin()->first <= now) {
    ready_.insert(lent_.begin()->second);
    lent_.erase(lent_.begin());
  }
  size_t lent = 0;
  for (; lent < max && !ready_.empty(); ++lent) {
    const uint64_t number = *ready_.begin();
    ready_.erase(ready_.begin());
    Entry& entry = entries_.at(number);
    entry.lent_until = until;
    lent_.emplace(until, number);
    take(number, entry);
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

// The one behind it is the first of the line now, if there is one and if this was the first.
void MessageStream::LeaveLine(uint64_t number, const Entry& entry) {
  ready_.erase(number);
  lent_.erase({entry.lent_until, number});
  const auto line = lines_.find(entry.key);
  if (entry.behind != kNone) {
    entries_.at(entry.behind).before = entry.before;
  } else {
    line->second.last = entry.before;
  }
  if (entry.before != kNone) {
    entries_.at(entry.before).behind = entry.behind;
  } else if (entry.behind == kNone) {
    lines_.erase(line);
  } else {
    line->second.first = entry.behind;
    if (entry.behind < decided_) ready_.insert(entry.behind);
  }
}

const MessageStream::Entry* MessageStream::Find(uint64_t number) const {
  const auto found = entries_.find(number);
  return found == entries_.end() || number >= decided_ ? nullptr : &found->second;
}

bool MessageStream::Confirm(uint64_t number) {
  const auto found = entries_.find(number);
  if (found == entries_.end() || number >= decided_) return false;
  LeaveLine(number, found->second);
  bytes_ -= BytesIn(found->second);
  entries_.erase(found);
  AddConfirmed(number);
  return true;
}

bool MessageStream::LendAgain(uint64_t number, EngineTime at) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  const bool was_lent = lent_.erase({entry.lent_until, number}) + ready_.erase(number) > 0;
  if (!was_lent) return false;
  entry.lent_until = at;
  lent_.emplace(at, number);
  return true;
}

}  // namespace pleat::inline v0_1
